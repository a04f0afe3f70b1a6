"""Calls that may run a constructor whose class the program chooses as it runs, by the keywords that they give.

`trainer_class = make(config["trainer"])`, `trainer_class(model=model, train_dataloader=loader)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Protocol

from ..facts.module import Function, Module
from ..facts.values import Value
from ..query.question import Asking, question
from ..system.stamp import as_bytes
from .calling import CallSite

_LEAST = 3
"""So many keywords, and nothing else, tell which constructors may be meant."""
_TELLING = 8
"""How long the name of a parameter is at least that few others have."""
_MOST = 4
"""How many files that give such a keyword are looked at."""


class Code(Asking, Protocol):
    """What is asked of the project."""

    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]: ...
    def module_for_name(self, path: str, name: str) -> Module | None: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...


@question("calls by keywords", [])
def calls(code: Code, init: Function) -> list[CallSite]:
    """The calls of nobody knows what that give a constructor all that it asks for, each by its name; nothing of other functions."""
    if init.cls is None or init.name != "__init__":
        return []
    named = max((one.arg for one in init.parameters[1:]), key=len, default="")
    if len(named) < _TELLING or len(init.parameters) <= _LEAST:
        return []
    word = as_bytes(named)
    paths = code.holders(rb"\b%s[ \t]?=(?!=)" % re.escape(word), word=word)
    return list(_fitting(code, init, named, sorted(paths))) if len(paths) <= _MOST else []


def _fitting(code: Code, init: Function, named: str, paths: list[str]) -> Iterator[CallSite]:
    for path in paths:
        module = code.module_for_name(path, named)
        for function in module.functions_at(module.lines_holding(named)) if module is not None else ():
            for call in function.flow.calls:
                given = [one.arg for one in call.keywords]
                if named not in given or call.args or len(given) < _LEAST or not init.takes(call):
                    continue
                if code.resolve(function, call.func) is None and not code.value(function, call.func):
                    yield CallSite(function, call)
