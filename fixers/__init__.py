"""One module a fixer, named like the rule it serves and holding one function, `fix`."""
