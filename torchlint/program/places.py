"""Functions, loops and calls by where they stand: plain data for other processes, that outlives a file's tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from ..facts.flow import Loop
from ..facts.module import Function
from ..system.cached import kept
from ..system.failure import Failure
from ..system.fault import FileError, fault
from ..system.stack import with_room
from .project import Project

Place = tuple[str, int, int]
"""Where a function or a loop begins: path, label of the line and column as in `ast`; label 0 for the body of a module."""
CallPlace = tuple[str, int, int, int, int]
"""Where a call begins and ends."""


class Subject(Protocol):
    """What asks about a project."""

    project: Project


S = TypeVar("S", bound=Subject)
K = TypeVar("K")
R = TypeVar("R")

Asked = Callable[[Callable[[S, K], R], Sequence[K]], Sequence[R | FileError]]
"""Puts a question to some S about each key; how it asks does not show in the answers."""
Ask = Callable[[Callable[[S, K], R], Sequence[K], R], list[R]]
"""The same, with what is to be said instead where torchlint fails at an answer."""


def soundly(project: Project, asked: Asked[S, K, R]) -> Ask[S, K, R]:
    """Questions whose answers are used whether torchlint fails at some or not; the project notes what it failed at."""
    return lambda question, keys, instead: project.sound(asked(question, keys), instead)


def asked_here(subject: S) -> Callable[[Callable[[S, K], R], Sequence[K]], list[R | FileError]]:
    """Questions are answered in this process."""
    return lambda question, keys: [answer(subject, question, key) for key in keys]


def answer(subject: S, question: Callable[[S, K], R], key: K) -> R | FileError:
    """The answer to one question about the whole project; what is to be told where torchlint fails at it."""
    try:
        return with_room(lambda: question(subject, key))
    except (MemoryError, Failure):
        raise
    except Exception as error:  # noqa: BLE001 - it costs what this place tells of others
        path, label = where(key)
        module = subject.project.parsed.get(path)
        line = module.line(label) if module is not None else label
        return fault(f"`{question.__qualname__}`", error, path, line)


def whole(project: Project, part: str, find: Callable[[], R], nothing: R) -> R:
    """What is found out about the whole project; `nothing`, of which the run is told, where torchlint fails at it."""
    try:
        return find()
    except (MemoryError, Failure):
        raise
    except Exception as error:  # noqa: BLE001 - it costs this part
        project.faults.append(fault(part, error, "."))
        return nothing


def where(key: Any) -> tuple[str, int]:
    """The file and the label of the line that a question is about; 0 for all of the file."""
    if isinstance(key, str):
        return key, 0
    place: Place = getattr(key, "function", key)  # a question may be a named tuple, a place is a plain one
    return place[0], place[1]


def place_of(function: Function) -> Place:
    """Where a function begins."""
    return (function.module.path, *function.start)


def told_place(project: Project, function: Function) -> Place:
    """Where a function begins, for an answer that tells it: lines above move it."""
    project.note_lines(function.module)
    return place_of(function)


def loop_place(function: Function, loop: Loop) -> Place:
    """Where a loop of a function begins."""
    return (function.module.path, function.module.label(loop.lineno), loop.col_offset)


def call_place(function: Function, call: ast.Call) -> CallPlace:
    """Where a call in a function begins and ends."""
    label = function.module.label
    return (
        function.module.path,
        label(call.lineno),
        call.col_offset,
        label(call.end_lineno or 0),
        call.end_col_offset or 0,
    )


def function_at(project: Project, place: Place) -> Function:
    """The function of a place, which some process has seen there."""
    module = project.module(place[0])
    assert module is not None
    return module.function_from[place[1:]]


def functions_at(project: Project, places: Iterable[Place]) -> list[Function]:
    """The functions of some places, less those of files that torchlint fails to parse here."""
    return [function_at(project, place) for place in places if project.module(place[0]) is not None]


def loop_at(function: Function, place: Place) -> Loop:
    """The loop of a place in a function."""
    return kept(function, "loops_by_place", lambda: _loops(function))[place]


def _loops(function: Function) -> dict[Place, Loop]:
    found = (node for node in function.flow.nodes if isinstance(node, ast.For | ast.AsyncFor | ast.While))
    return {loop_place(function, loop): loop for loop in found}
