"""Which exceptions are waited for."""

from __future__ import annotations

import ast

from . import names
from .module import Function
from .place import Place

_OTHERS = frozenset(
    """KeyboardInterrupt SystemExit ImportError ModuleNotFoundError StopIteration FileNotFoundError KeyError AttributeError
    OSError EOFError""".split()
)
"""What no computation raises."""
_CALLERS = 2


def is_caught(place: Place, function: Function, node: ast.AST, depth: int = _CALLERS) -> bool:
    """Whether a handler waits for what a place raises, around it or around a call that leads there."""
    flow = function.flow
    for child, parent in flow.upwards(node):
        if isinstance(parent, ast.Try) and flow.inside(parent, "body", child) and any(map(_waits, parent.handlers)):
            return True
    sites = place.project.call_sites(function) or () if depth else ()
    return any(is_caught(place, site.function, site.call, depth - 1) for site in sites)


def _waits(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or names.last(kind) not in _OTHERS for kind in kinds)
