"""The one exception that ends a command."""

from __future__ import annotations


class Failure(Exception):
    """The work can't be done. Its text is the reason, for people; a command then ends with exit code 2."""
