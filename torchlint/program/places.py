"""Functions, loops and calls by where they stand: plain data for other processes, that outlives a file's tree, and edits elsewhere in it."""

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

Place = tuple[str, str, int]
"""A function: path, qualified name, and the number among those of that name in the file."""
LoopPlace = tuple[str, str, int, int]
"""A loop: the place of its function, and its number among the loops of that; -1 where it is none of them."""
CallPlace = tuple[str, str, int, int]
"""A call, likewise."""


class Subject(Protocol):
    """What asks about a project."""

    project: Project


S = TypeVar("S", bound=Subject)
K = TypeVar("K")
R = TypeVar("R")
N = TypeVar("N")

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
        return fault(f"`{question.__qualname__}`", error, *_told_line(subject.project, key))


def whole(project: Project, part: str, find: Callable[[], R], nothing: R) -> R:
    """What is found out about the whole project; `nothing`, of which the run is told, where torchlint fails at it."""
    try:
        return find()
    except (MemoryError, Failure):
        raise
    except Exception as error:  # noqa: BLE001 - it costs this part
        project.faults.append(fault(part, error, "."))
        return nothing


def where(key: Any) -> str:
    """The file that a question is about."""
    return key if isinstance(key, str) else _function_of(key)[0]


def _function_of(key: Any) -> Place:
    place: Place = getattr(key, "function", key)  # a question may be a named tuple, a place is a plain one
    return place


def _told_line(project: Project, key: Any) -> tuple[str, int]:
    """The file and the line that a question is about; 0 for all of the file."""
    path = where(key)
    module = project.parsed.get(path)
    function = module.numbered(*_function_of(key)[1:]) if module is not None and not isinstance(key, str) else None
    return path, function.first_line if function is not None and function.parent is not None else 0


def place_of(function: Function) -> Place:
    """The place of a function."""
    return function.module.path, function.qualname, function.module.number_of(function)


def told_place(project: Project, function: Function) -> Place:
    """The place of a function, for an answer that tells it."""
    project.note_place(function)
    return place_of(function)


def loop_place(function: Function, loop: Loop) -> LoopPlace:
    """The place of a loop of a function."""
    return *place_of(function), kept(function, "loop_numbers", lambda: _numbers(_loops(function))).get(loop, -1)


def call_place(function: Function, call: ast.Call) -> CallPlace:
    """The place of a call in a function."""
    return *place_of(function), kept(function, "call_numbers", lambda: _numbers(function.flow.calls)).get(call, -1)


def function_at(project: Project, place: Place) -> Function:
    """The function of a place, which some process has seen there."""
    function = project.numbered(*place)
    assert function is not None, place
    return function


def functions_at(project: Project, places: Iterable[Place]) -> list[Function]:
    """The functions of some places, less those of files that torchlint fails to parse here."""
    return [function for place in places if (function := project.numbered(*place)) is not None]


def loop_at(function: Function, place: LoopPlace) -> Loop:
    """The loop of a place in a function."""
    return kept(function, "loops", lambda: _loops(function))[place[-1]]


def _loops(function: Function) -> list[Loop]:
    return [node for node in function.flow.nodes if isinstance(node, ast.For | ast.AsyncFor | ast.While)]


def _numbers(nodes: Iterable[N]) -> dict[N, int]:
    return {node: number for number, node in enumerate(nodes)}
