"""Whether one program may hold two files: a project may have several, whose names have nothing to do with each other."""

from __future__ import annotations

from ..query.question import question
from ..system.stamp import as_bytes
from .project import Project

_MOST_USERS = 200
"""Files that import a part of a library are not gone through any further."""


def are_together(project: Project, path: str, other: str) -> bool:
    """Whether a file imports two files, or one of them the other one, directly or through others."""
    stem = project.home(path).rpartition("/")[2].removesuffix(".py")
    if as_bytes(stem) in project.import_words(other):
        return True  # under a name that may be found elsewhere
    users, others = _users_of(project, path), _users_of(project, other)
    return not (users and others and users.isdisjoint(others))


def meet(project: Project, path: str, other: str) -> bool:
    """Whether a file is known to import two files, or one of them the other one, directly or through others."""
    return not _users_of(project, path).isdisjoint(_users_of(project, other))


@question("users", frozenset())
def _users_of(project: Project, path: str) -> frozenset[str]:
    """A file with those that import it, directly or through others; none where these are too many to tell."""
    seen, edge = {path}, [path]
    while edge and len(seen) <= _MOST_USERS:
        edge = sorted({user for one in edge for user in project.importers(one)} - seen)
        seen.update(edge)
    return frozenset(seen if len(seen) <= _MOST_USERS else ())
