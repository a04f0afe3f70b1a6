"""The files that a file works with: what it imports, what imports it, and what those import beside it, each through packages that hand it on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .module import Module
from .place import Place

_MOST = 20
"""A file that more files import works with anything."""


def holds(place: Place, pattern: re.Pattern[bytes]) -> bool:
    """Whether the file of a place holds a pattern, or one that it works with."""
    return place.function.module.source.holds(pattern) or beside(place, pattern)


def beside(place: Place, pattern: re.Pattern[bytes]) -> bool:
    """Whether a file that a place's own works with holds a pattern; any file of the project where it works with many."""
    return bool(_paths(place, pattern))


def modules(place: Place, pattern: re.Pattern[bytes]) -> Iterator[Module]:
    """The file of a place and those that it works with, as far as they hold a pattern."""
    own = place.function.module
    if own.source.holds(pattern):
        yield own
    yield from place.project.modules(sorted(_paths(place, pattern)))


def _paths(place: Place, pattern: re.Pattern[bytes]) -> set[str]:
    """The other files that hold a pattern, of those that the place's own works with."""
    project, module = place.project, place.function.module
    if not project.any_holds(pattern.pattern):
        return set()
    return {
        path for path in place.once(("works with", module), lambda: _works_with(place)) if project.holds(path, pattern)
    }


def _works_with(place: Place) -> set[str]:
    """The other files that the place's own works with."""
    project, module = place.project, place.function.module
    users = project.users_of(module.path)
    if len(users) > _MOST:
        return {*project.paths} - {module.path}
    near = [module, *project.modules(users)]
    return {*users, *(one.path for each in near for one in project.used_by(each))} - {module.path}
