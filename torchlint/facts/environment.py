"""Switches of the environment that are off where nobody sets them: `CHECKED = os.environ.get("CHECKED") == "1"`."""

from __future__ import annotations

import ast

from ..text.source import Words
from . import names
from .flow import Flow

_READS = Words(b"environ", b"getenv")
_DEEP = 20
"""How many parts of an expression, each in the next, are looked into."""
_DIGITS = 20
"""How long a number is at most: Python refuses to read very long ones."""
_UNKNOWN = object()


def is_off(test: ast.expr, flow: Flow) -> bool:
    """Whether a condition does not hold in an environment that sets nothing: an expression, or a name of the module for one."""
    value = _by_default(test, flow)
    return value is not _UNKNOWN and not value


def is_on(given: ast.expr, flow: Flow) -> bool:
    """Whether an option is on in an environment that sets nothing: `PINNED = os.getenv("PINNED", "1") == "1"`."""
    return _by_default(given, flow) is True


def _by_default(node: ast.expr, flow: Flow) -> object:
    """What an expression that asks the environment is where that sets nothing, or a name of the module for one."""
    module = flow.function.module
    if not isinstance(node, ast.Name | ast.Compare | ast.Call) or not module.source.holds(_READS):
        return _UNKNOWN
    if not isinstance(node, ast.Name):
        return _asked(node)
    known: dict[str, object] = module.__dict__.setdefault("environment switches", {})
    if node.id not in known:
        made = module.assigned.get(node.id)
        known[node.id] = _asked(made) if made is not None else _UNKNOWN
    return _UNKNOWN if flow.function.binds(node.id) else known[node.id]


def _asked(node: ast.expr) -> object:
    value = _unset(node, _DEEP)
    asks = any(isinstance(part, ast.Call | ast.Compare) and _asks(part) for part in ast.walk(node))
    return value if asks else _UNKNOWN


def _asks(part: ast.Call | ast.Compare) -> bool:
    if isinstance(part, ast.Compare):
        return names.last(part.comparators[0]) == "environ"
    called = names.chain(part.func)
    return called is not None and (called[-2:] == ["environ", "get"] or called[-1] == "getenv")


def _unset(node: ast.expr, deep: int) -> object:
    """What an expression is where the environment sets nothing."""
    if not deep:
        return _UNKNOWN
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [_unset(one, deep - 1) for one in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = _unset(node.operand, deep - 1)
        return value if value is _UNKNOWN else not value
    if isinstance(node, ast.BoolOp):
        return _joined([_unset(one, deep - 1) for one in node.values], any_=isinstance(node.op, ast.Or))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node, deep)
    return _called(node, deep) if isinstance(node, ast.Call) else _UNKNOWN


def _joined(parts: list[object], *, any_: bool) -> object:
    known = [bool(part) for part in parts if part is not _UNKNOWN]
    if any_ in known:
        return any_
    return not any_ if len(known) == len(parts) else _UNKNOWN


def _compared(node: ast.Compare, deep: int) -> object:
    op, right = node.ops[0], node.comparators[0]
    if names.last(right) == "environ":
        return isinstance(op, ast.NotIn) if isinstance(op, ast.In | ast.NotIn) else _UNKNOWN
    one, other = _unset(node.left, deep - 1), _unset(right, deep - 1)
    if one is _UNKNOWN or other is _UNKNOWN:
        return _UNKNOWN
    if isinstance(op, ast.Eq | ast.Is):
        return one == other
    if isinstance(op, ast.NotEq | ast.IsNot):
        return one != other
    if isinstance(op, ast.In | ast.NotIn) and isinstance(other, list) and _UNKNOWN not in other:
        return (one in other) == isinstance(op, ast.In)
    return _UNKNOWN


def _called(node: ast.Call, deep: int) -> object:
    if _asks(node):
        return _unset(node.args[1], deep - 1) if len(node.args) > 1 else _UNKNOWN if node.keywords else None
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "upper", "strip") and not node.args:
        value = _unset(node.func.value, deep - 1)
        return getattr(value, node.func.attr)() if isinstance(value, str) else _UNKNOWN
    if isinstance(node.func, ast.Name) and node.func.id in ("bool", "int", "str") and len(node.args) == 1:
        value = _unset(node.args[0], deep - 1)
        if node.func.id == "str":
            return value if value is _UNKNOWN else str(value)
        if value is _UNKNOWN or node.func.id == "bool":
            return value if value is _UNKNOWN else bool(value)
        if isinstance(value, str):
            return int(value) if value.isdecimal() and len(value) <= _DIGITS else _UNKNOWN
        return value if isinstance(value, int) else _UNKNOWN
    return _UNKNOWN
