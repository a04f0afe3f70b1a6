"""One module a format; each is a function from findings to text."""
