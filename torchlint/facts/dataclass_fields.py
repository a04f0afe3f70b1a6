"""What calls of dataclasses give for their fields, as far as these are written out."""

from __future__ import annotations

import ast

from . import names
from .module import Class
from .nodes import callee, is_constant, keyword_of, spreads
from .values import Value

_ODD = frozenset(("ClassVar", "InitVar", "KW_ONLY"))
"""Annotations of what calls of a dataclass don't give by place."""


def is_plain(klass: Class) -> bool:
    """Whether a class is a dataclass, by itself, whose calls give all of its fields in their order."""
    decorators = [names.last(callee(one)) for one in klass.decorators]
    if decorators != ["dataclass"] or klass.bases or "__init__" in klass.methods:
        return False
    return not any(_is_odd(one) for one in klass.assigned.values() if isinstance(one, ast.AnnAssign))


def _is_odd(field: ast.AnnAssign) -> bool:
    """`count: ClassVar[int] = 0`, `width: int = field(default=1, init=False)`"""
    made = field.value
    options = {one.arg for one in made.keywords} if isinstance(made, ast.Call) else set()
    annotated = {names.last(part) for part in ast.walk(field.annotation) if isinstance(part, ast.Name | ast.Attribute)}
    return not options.isdisjoint(("init", "kw_only")) or not annotated.isdisjoint(_ODD)


def of(klass: Class) -> list[str]:
    """The names of the fields of a dataclass, in their order."""
    return [one for one, statement in klass.assigned.items() if isinstance(statement, ast.AnnAssign)]


def call_of(made: Value) -> ast.Call | None:
    """The call of its class by name that made an object: `Options(workers=8)`."""
    klass, call = made.class_, made.made_by
    if klass is None or not isinstance(call, ast.Call) or names.last(call.func) != klass.name:
        return None
    return call


def argument(klass: Class, call: ast.Call, name: str) -> ast.expr | None:
    """What a call of a dataclass gives for a field."""
    named, at = keyword_of(call, name), of(klass).index(name)
    return call.args[at] if named is None and at < len(call.args) else named


def given(made: Value, name: str) -> ast.expr | None:
    """What the call that made an object of a plain dataclass gives for a field."""
    klass, call = made.class_, call_of(made)
    if klass is None or call is None or name not in klass.assigned or not is_plain(klass) or name not in of(klass):
        return None
    return argument(klass, call, name)


def may_give(klass: Class, call: ast.Call, name: str) -> bool:
    """Whether a call may give another value for a field than the class says; a constructor that is written out tells by itself."""
    if "__init__" in klass.methods:
        return False
    if keyword_of(call, name) is not None or spreads(call):
        return True
    if not is_plain(klass) or name not in of(klass):
        return bool(call.args)
    return argument(klass, call, name) is not None


def is_kept(klass: Class) -> bool:
    """Whether objects of a class are what they are made with for good: `@dataclass(frozen=True)`."""
    return is_plain(klass) and any(
        isinstance(one, ast.Call) and is_constant(keyword_of(one, "frozen"), True) for one in klass.decorators
    )
