"""Who may use a class, as far as texts tell."""

from __future__ import annotations

from ..system.regex import regex
from ..text.source import Source
from .place import Place


def naming(place: Place, name: str) -> list[Source]:
    """The texts that may name a class of the place's file: that of the file, and those of the files that take it from there."""
    module = place.function.module
    paths = (module.path, *place.project.named_by(module, name))
    return [source for source in map(place.project.source, paths) if source is not None]


def makes(source: Source, name: str) -> bool:
    """Whether a text makes an object of a class, `Scale(2)`; `class Scale(Function)` makes none."""
    return source.holds(regex(rb"(?<!class )\b%s\(" % name.encode()))
