"""What a turn of a loop leaves for the next one."""

from __future__ import annotations

import ast

from .names import last
from .nodes import addends, bound_names, names_in

_GROWS = frozenset(("cat", "concat", "concatenate"))


def left_for_next(loop: ast.For) -> set[str]:
    """The names that a turn reads before it binds them, but for sums and what grows: what the turn before has left."""
    return _read_first(loop.body, bound_in(loop.body), bound_names(loop.target)) - _counted(loop)


def bound_in(block: list[ast.stmt]) -> set[str]:
    """The names that statements bind."""
    return {name for one in block for name in bound_names(one)}


def _counted(loop: ast.For) -> set[str]:
    """The names that each turn adds a number to, and that nothing else binds: `n += 1` is told by the turn."""
    steps = (one for one in loop.body if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add))
    counted = {
        one.target.id for one in steps if isinstance(one.target, ast.Name) and isinstance(one.value, ast.Constant)
    }
    stores = [
        node.id
        for one in loop.body
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in counted
    ]
    return {name for name in counted if stores.count(name) == 1}


def _read_first(block: list[ast.stmt], stored: set[str], bound: set[str]) -> set[str]:
    """What statements read of some names before it is bound; what any of several branches binds counts as bound."""
    found: set[str] = set()
    for statement in block:
        inner = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
        within = {id(node) for part in inner for one in part for node in ast.walk(one)}
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and id(n) not in within]
        own = _own_names(statement) if any(isinstance(n, ast.comprehension) for n in ast.walk(statement)) else set()
        found |= {n.id for n in names if isinstance(n.ctx, ast.Load)} & stored - bound - own - _summed(statement)
        bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
        before = set(bound)
        for part in inner:
            branch = set(before)
            found |= _read_first(part, stored, branch)
            bound |= branch
    return found


def _own_names(statement: ast.stmt) -> set[str]:
    """What the comprehensions of a statement call their elements: names of their own."""
    loops = [node for node in ast.walk(statement) if isinstance(node, ast.comprehension)]
    return {name.id for loop in loops for name in ast.walk(loop.target) if isinstance(name, ast.Name)}


def _summed(statement: ast.stmt) -> set[str]:
    """The name of `total = total + x`, `total = x + y + total`, `rows = torch.cat((rows, x))`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, added = statement.targets[0], _joined(statement.value) or list(addends(statement.value))
        if isinstance(target, ast.Name) and len(added) > 1:
            inside = {name for one in added if not isinstance(one, ast.Name) for name in names_in(one)}
            return {target.id} & {one.id for one in added if isinstance(one, ast.Name)} - inside
    return set()


def _joined(node: ast.expr) -> list[ast.expr]:
    """What `torch.cat((rows, x))` puts behind each other, as a list would."""
    if not isinstance(node, ast.Call) or last(node.func) not in _GROWS or not node.args:
        return []
    return node.args[0].elts if isinstance(node.args[0], ast.Tuple | ast.List) else []
