"""Which exceptions are waited for."""

from __future__ import annotations

import ast
from typing import Any, Protocol

from . import names
from .module import Function

_OTHERS = frozenset(
    """KeyboardInterrupt SystemExit ImportError ModuleNotFoundError StopIteration FileNotFoundError KeyError AttributeError
    OSError EOFError""".split()
)
"""What no computation raises."""
_CALLERS = 2


class Asked(Protocol):
    """What is asked of a place (a Site)."""

    @property
    def project(self) -> Any: ...


def is_caught(place: Asked, function: Function, node: ast.AST, depth: int = _CALLERS) -> bool:
    """Whether a handler waits for what a place raises, around it or around a call that leads there."""
    flow = function.flow
    child = node
    for parent in flow.ancestors(node):
        if isinstance(parent, ast.Try) and flow.inside(parent, "body", child) and any(map(_waits, parent.handlers)):
            return True
        child = parent
    sites = place.project.call_sites(function) or () if depth else ()
    return any(is_caught(place, site.function, site.call, depth - 1) for site in sites)


def _waits(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or names.last(kind) not in _OTHERS for kind in kinds)
