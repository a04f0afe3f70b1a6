"""Which loops of a project are step loops, and why a place runs on every training step."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container
from typing import TypeVar

from ..facts import guards
from ..facts.flow import Flow, Loop
from ..facts.module import Function
from ..query.question import question
from ..system.cached import cached_property
from . import losses
from .conditions import in_training
from .places import LoopPlace, Place, asked_here, function_at, functions_at, loop_at, loop_place, place_of
from .project import Project
from .step_index import StepIndex, Why, step_index
from .stepping import is_beside_steps

T = TypeVar("T")


class Hot:
    """Why a place runs on every training step: the loop, and the call that leads from it to the function."""

    __slots__ = ("_project", "_why")

    def __init__(self, project: Project, why: Why) -> None:
        self._project = project
        self._why = why

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hot) and self._why == other._why

    def __hash__(self) -> int:
        return hash(self._why)

    @property
    def function(self) -> Function:
        return function_at(self._project, self._why.function)

    @property
    def loop(self) -> Loop | None:
        """None for a function that runs on each step whoever calls it."""
        return loop_at(self.function, self._why.loop) if self._why.loop is not None else None

    @property
    def weak(self) -> bool:
        """Behind a condition that thins out micro-steps only (`accelerator.sync_gradients`)."""
        return self._why.weak

    @property
    def depth(self) -> int:
        """How many calls lie between the loop and the place."""
        return self._why.depth

    @property
    def line(self) -> int:
        loop = self.loop
        return loop.lineno if loop is not None else self.function.first_line


class Steps:
    """The step loops of a project, and the functions that run on each step."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.ask = project.ask
        self._statements: dict[ast.AST, tuple[ast.stmt, bool]] = {}

    @cached_property
    def index(self) -> StepIndex:
        """What is known of the whole project."""
        return self.project.indexed("steps", lambda: step_index(self.project, self.project.asking(asked_here(self))))

    def refresh(self) -> None:
        """Forget what holds for one run."""
        for name in ("index", "_by_function", "_training"):
            self.__dict__.pop(name, None)
        self._statements.clear()

    def know(self, index: StepIndex) -> None:
        """Take over what another process has found out."""
        self.__dict__["index"] = index

    @cached_property
    def _by_function(self) -> dict[Place, list[LoopPlace]]:
        found: dict[Place, list[LoopPlace]] = {}
        for loop, function in self.index.loops.items():
            found.setdefault(function, []).append(loop)
        return found

    def loops_of(self, function: Function) -> list[Loop]:
        """The step loops that stand in a function."""
        self.project.note("steps", function.module.path)
        return [loop_at(function, place) for place in self._by_function.get(place_of(function), ())]

    def is_step_loop(self, function: Function, loop: Loop) -> bool:
        """Whether a loop of a function steps an optimizer."""
        self.project.note("steps", function.module.path)
        return loop_place(function, loop) in self.index.loops

    def functions_in(self, paths: Container[str]) -> list[Function]:
        """The functions of some files that hold a step loop or run on each step."""
        places = dict.fromkeys((*self.index.loops.values(), *self.index.functions))
        return functions_at(self.project, (place for place in places if place[0] in paths))

    @question("trains", False)
    def trains(self, path: str) -> bool:
        """Whether something of a file runs on each step, or of one that imports it, directly or through others."""
        seen, edge = {path}, [path]
        for _ in range(_IMPORTS):
            for one in edge:
                self.project.note("steps", one)
                if one in self._training and not self.project.in_test(one, ""):
                    return True
            edge = [user for one in edge for user in self.project.importers(one) if user not in seen]
            seen.update(edge)
            if len(seen) > _MOST_USERS:
                break  # a part of a library
        return False

    @cached_property
    def _training(self) -> frozenset[str]:
        """The files with step loops, or functions that run on each step."""
        return frozenset(place[0] for place in (*self.index.loops.values(), *self.index.functions))

    def losses_in(self, path: str) -> list[Function]:
        """The losses of a file that are there for who trains."""
        module = self.project.module(path) if self.project.fact(path, "defines a loss", losses.defines_loss) else None
        return [function for function in module.functions if self._is_loss(function)] if module is not None else []

    def hot(self, function: Function, node: ast.AST) -> Hot | None:
        """Why the place runs on every training step, or None."""
        own = place_of(function)
        if own not in self._by_function and own not in self.index.functions:
            self.project.note("steps", own[0])
            if not self._is_loss(function):
                return None
        return self.of_statement("hot", self._hot, function, node)

    def _is_loss(self, function: Function) -> bool:
        """Whether a function is a loss without a known caller; asked for each by itself, since many files define losses."""
        if not losses.is_loss(self.project, function) or self.project.is_tested(function):
            return False
        return losses.is_for_who_trains(self.project, function)

    def of_statement(self, kind: str, find: Callable[[Function, ast.AST], T], function: Function, node: ast.AST) -> T:
        """What is found for a place: once a statement, for all of it that runs whenever the statement does."""
        around = self._statements.get(node)
        if around is None:
            around = self._statements[node] = _statement(function.flow, node)
        statement, plain = around
        if not plain:
            return find(function, node)
        nothing: T = None  # type: ignore[assignment]
        return self.ask((kind, function, statement), lambda: find(function, statement), nothing)

    def _hot(self, function: Function, node: ast.AST) -> Hot | None:
        own = place_of(function)
        for loop in function.flow.loops(node) if own in self._by_function else ():
            if self.is_step_loop(function, loop):
                weight = in_training(self.project, function, node, loop)
                if weight in guards.RARE or is_beside_steps(self.project, function, node, loop):
                    return None
                return Hot(self.project, Why(own, loop_place(function, loop), weight == "weak"))
        self.project.note("steps", own[0])
        why = self.index.functions.get(own) or (Why(own, None) if self._is_loss(function) else None)
        if why is None:
            return None
        weight = in_training(self.project, function, node, None)
        if weight in guards.RARE or is_beside_steps(self.project, function, node, None, why.given):
            return None
        return Hot(self.project, why._replace(weak=why.weak or weight == "weak"))

    def holds_step_loop(self, function: Function) -> bool:
        self.project.note("steps", function.module.path)
        return place_of(function) in self._by_function


def _statement(flow: Flow, node: ast.AST) -> tuple[ast.stmt, bool]:
    """The statement around a place, and whether the place runs whenever the statement does, as often as it does."""
    plain = True
    parent: ast.AST = node if isinstance(node, ast.stmt) else flow.function.node  # for the defaults of a function
    for child, parent in flow.around(node):
        if isinstance(child, ast.stmt):
            return child, plain
        if (
            parent.__class__ in _PARTLY
            or (isinstance(parent, ast.While) and child is parent.test)
            or (isinstance(parent, ast.Assert) and child is parent.msg)
        ):
            plain = False
    assert isinstance(parent, ast.stmt), "an expression outside of statements"
    return parent, plain


_IMPORTS = 4
"""Through how many imports a file that trains is looked for."""
_MOST_USERS = 60
"""What more files import is a part of a library."""
_PARTLY = frozenset((ast.Lambda, ast.IfExp, ast.BoolOp, ast.ExceptHandler))
