"""A program as far as its imports lead: the questions about whether something is switched on anywhere in it."""

from __future__ import annotations

import ast
import re
from typing import Protocol

from . import syntax
from .module import Module

DEPTH = 3
"""How many imports away a file still counts as part of a script's program."""


class Files(Protocol):
    """What is asked of a project."""

    def find(self, dotted: str, near: Module) -> str | None: ...
    def module(self, path: str) -> Module | None: ...


def program(files: Files, module: Module) -> list[Module]:
    """The file and those of the project that it imports, directly or through others."""
    found = [module]
    edge = [module]
    for _ in range(DEPTH):
        paths = {path for one in edge for name in _imported(one) if (path := _path(files, name, one)) is not None}
        edge = [m for m in map(files.module, sorted(paths)) if m is not None and m not in found]
        found += edge
    return found


def _imported(module: Module) -> set[str]:
    return {origin for function in module.functions for origin in function.imports.values()} | set(module.stars)


def _path(files: Files, name: str, near: Module) -> str | None:
    """The file of a module, or of the module that a member comes from."""
    return files.find(name, near) or files.find(name.rpartition(".")[0] or name, near)


def mentions(files: Files, module: Module, pattern: re.Pattern[bytes]) -> bool:
    """Whether any file of the program holds the pattern."""
    return any(pattern.search(one.source.data) for one in program(files, module))


def is_first_backward(module: Module, call: ast.Call) -> bool:
    """Whether no call of `backward` stands before this one in the file: the place where a program's advice is given."""
    return not any(
        other.lineno < call.lineno
        for function in module.functions
        for other, _ in syntax.method_calls(function.flow, "backward")
    )
