"""Facts that cross functions and files."""
