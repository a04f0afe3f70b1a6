"""How what files say by themselves is found, by name: a later run finds it again to know whether it is what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .declared import called_in, class_names, classes_in, functions_in, made_for, made_in, renamed_in
from .source import Source

_FINDERS: dict[str, Callable[[Source], Any]] = {
    "called behind": called_in,
    "class names": class_names,
    "classes": classes_in,
    "functions": functions_in,
    "made": made_in,
    "renames": renamed_in,
}
"""How facts of files are found."""
_FINDERS_OF_WORDS: dict[str, Callable[[Source, str], Any]] = {"made as": made_for}
"""How those are found that are about a word, which their names end with."""
F = TypeVar("F", bound=Callable[[Source], Any])
W = TypeVar("W", bound=Callable[[Source, str], Any])


def fact_of_files(name: str) -> Callable[[F], F]:
    """A function that finds a fact of that name."""

    def known(find: F) -> F:
        _FINDERS[name] = find
        return find

    return known


def fact_of_words(name: str) -> Callable[[W], W]:
    """A function that finds a fact about a word, whose name is that with the word behind it."""

    def known(find: W) -> W:
        _FINDERS_OF_WORDS[name] = find
        return find

    return known


def found_by_name(name: str) -> Callable[[Source], Any] | None:
    """How a fact of that name is found, where that is known."""
    about, _, word = name.rpartition(" ")
    if name not in _FINDERS and about in _FINDERS_OF_WORDS:
        return lambda source: _FINDERS_OF_WORDS[about](source, word)
    return _FINDERS.get(name)
