"""Classes whose objects have as attributes what they are given by name: `for k, v in kwargs.items(): setattr(self, k, v)`."""

from __future__ import annotations

import ast

from ..text.source import Words
from . import names
from .module import Function
from .nodes import given_to

_SETS = Words(b"setattr(", b"__dict__", b"vars(self)")


def keeps_keywords(init: Function) -> bool:
    """Whether `__init__` makes attributes of its object of what it is given by names that are no parameters."""
    if not init.keywords or not init.module.source.holds(_SETS):
        return False
    return any(_sets(init, call) for call in init.flow.calls_named("setattr")) or any(
        _updates(init, call) for call in init.flow.calls_named("update")
    )


def _sets(init: Function, call: ast.Call) -> bool:
    """`setattr(self, k, v)` in `for k, v in kwargs.items():`, or `setattr(self, k, kwargs[k])` in `for k in kwargs:`."""
    loop = next((one for one in init.flow.loops(call) if isinstance(one, ast.For)), None)
    if loop is None or len(call.args) != 3 or names.last(call.args[0]) != init.own_name:
        return False
    over = names.chain(loop.iter.func if isinstance(loop.iter, ast.Call) else loop.iter) or []
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    return over[:1] == [init.keywords] and ast.unparse(call.args[1]) == ast.unparse(target)


def _updates(init: Function, call: ast.Call) -> bool:
    """`self.__dict__.update(kwargs)`, `vars(self).update(**kwargs)`"""
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    given = [*given_to(call)]
    own = (f"{init.own_name}.__dict__", f"vars({init.own_name})")
    return owner in own and any(isinstance(one, ast.Name) and one.id == init.keywords for one in given)
