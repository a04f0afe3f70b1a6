"""Functions, loops and calls by where they stand: plain data for other processes, that outlives a file's tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeVar

from .facts.flow import Loop
from .facts.module import Function
from .project import Project

Place = tuple[str, int, int]
"""Where a function or a loop begins: path, line and column as in `ast`; line 0 for the body of a module."""
CallPlace = tuple[str, int, int, int, int]
"""Where a call begins and ends."""

S = TypeVar("S")
K = TypeVar("K")
R = TypeVar("R")

Ask = Callable[[Callable[[S, K], R], Sequence[K]], Sequence[R]]
"""Puts a question to some S about each key; how it asks does not show in the answers."""


def asked_here(subject: S) -> Callable[[Callable[[S, K], R], Sequence[K]], list[R]]:
    """Questions are answered in this process."""
    return lambda question, keys: [question(subject, key) for key in keys]


def place_of(function: Function) -> Place:
    """Where a function begins."""
    node = function.node
    return (
        (function.module.path, 0, 0)
        if isinstance(node, ast.Module)
        else (function.module.path, node.lineno, node.col_offset)
    )


def loop_place(function: Function, loop: Loop) -> Place:
    """Where a loop of a function begins."""
    return (function.module.path, loop.lineno, loop.col_offset)


def call_place(function: Function, call: ast.Call) -> CallPlace:
    """Where a call in a function begins and ends."""
    return (function.module.path, call.lineno, call.col_offset, call.end_lineno or 0, call.end_col_offset or 0)


def function_at(project: Project, place: Place) -> Function:
    """The function of a place, which some process has seen there."""
    module = project.module(place[0])
    assert module is not None
    functions: dict[Place, Function] | None = module.__dict__.get("functions_by_place")
    if functions is None:
        functions = module.__dict__["functions_by_place"] = {place_of(one): one for one in module.functions}
    return functions[place]


def loop_at(function: Function, place: Place) -> Loop:
    """The loop of a place in a function."""
    loops: dict[Place, Loop] | None = function.__dict__.get("loops_by_place")
    if loops is None:
        found = (node for node in function.flow.nodes if isinstance(node, ast.For | ast.AsyncFor | ast.While))
        loops = function.__dict__["loops_by_place"] = {loop_place(function, loop): loop for loop in found}
    return loops[place]
