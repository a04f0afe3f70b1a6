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
_SWALLOWS = frozenset(("suppress", "raises", "ignore"))
_MAKERS = frozenset(("contextmanager", "asynccontextmanager"))


def is_caught(place: Place, function: Function, node: ast.AST, depth: int = _CALLERS) -> bool:
    """Whether a handler waits for what a place raises, around it or around a call that leads there."""
    flow = function.flow
    for child, parent in flow.upwards(node):
        if isinstance(parent, ast.Try) and flow.inside(parent, "body", child) and any(map(_waits, parent.handlers)):
            return True
    sites = place.project.call_sites(function) or () if depth else ()
    return any(is_caught(place, site.function, site.call, depth - 1) for site in sites)


def swallows(place: Place, entered: ast.expr) -> bool:
    """Whether the program goes on behind `with` where something is raised inside: `suppress(...)`, or what of the project does so."""
    if not isinstance(entered, ast.Call):
        return False
    if names.last(entered.func) in _SWALLOWS:
        return True
    classes = place.value(entered).any_class
    leaves = (place.project.method(one, name) for one in classes for name in ("__exit__", "__aexit__"))
    if any(_says_so(method) for method in leaves if method is not None):
        return True
    called = place.project.targets(place.function, entered)
    return any(not _MAKERS.isdisjoint(one.decorator_names) and _yields_in_try(one) for one in called)


def _says_so(leaves: Function) -> bool:
    """Whether an `__exit__` may give something true."""
    given = (node.value for node in leaves.flow.returns)
    return any(one is not None and not (isinstance(one, ast.Constant) and not one.value) for one in given)


def _yields_in_try(function: Function) -> bool:
    """Whether a generator yields where a handler takes what is raised, and raises nothing itself."""
    return any(
        isinstance(parent, ast.Try)
        and function.flow.inside(parent, "body", child)
        and any(not isinstance(handler.body[-1], ast.Raise) for handler in parent.handlers)
        for node in function.flow.nodes
        if isinstance(node, ast.Yield)
        for child, parent in function.flow.upwards(node)
    )


def _waits(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or names.last(kind) not in _OTHERS for kind in kinds)
