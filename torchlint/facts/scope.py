"""Which names are a function's own, from its statements: expressions are looked into only where they can bind one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..system.regex import regex
from ..system.stamp import as_bytes
from .flow import CHILDREN
from .nodes import bound_by

if TYPE_CHECKING:
    from .flow import Flow
    from .module import Function


_WORD = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" + bytes(range(128, 256))
_PART = frozenset(_WORD + b".")
"""What stands in front of a name that is part of another, or an attribute."""
_READ = frozenset(_WORD + b".(")
"""What stands behind a name that is part of another, or that is read, or defined by `def` and `class`."""
_DEFINES = (b"def", b"class", b"\\")
_FOR = regex(rb"\bfor\b")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DECLARATIONS = (ast.Global, ast.Nonlocal)
_CAPTURES: dict[type[ast.AST], str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}
"""The field of the name that each of these binds, where it has one."""
_BINDS_NOTHING = frozenset((ast.Import, ast.ImportFrom, ast.Pass, ast.Break, ast.Continue))
_SPREADS = frozenset((ast.Tuple, ast.List, ast.Starred))


def bound(function: Function) -> frozenset[str]:
    """Parameters, and what the function assigns and defines, in comprehensions too; imports are not among them."""
    names: set[str] = set()
    declared: set[str] = set()
    node = function.node
    stack: list[ast.AST] = list(node.body)
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind in _BINDS_NOTHING:
            continue
        if isinstance(part, _DEFINITIONS):
            # The names in the body of a class are the class's.
            names.add(part.name)
            for decorator in part.decorator_list:
                _expression(function, decorator, names)
        elif isinstance(part, _DECLARATIONS):
            declared.update(part.names)
        else:
            if kind in _CAPTURES and (captured := getattr(part, _CAPTURES[kind])) is not None:
                names.add(captured)
            for field in CHILDREN[kind]:
                value = getattr(part, field)
                for child in value if type(value) is list else (value,):
                    if isinstance(child, ast.expr):
                        _expression(function, child, names)
                    elif child is not None:
                        stack.append(child)
    names -= declared
    if not isinstance(node, ast.Module):
        names |= {p.arg for p in (*function.parameters, node.args.vararg, node.args.kwarg) if p is not None}
    return frozenset(names)


def rebinding(function: Function, name: str) -> tuple[ast.AST, ...]:
    """What binds an imported name to something else behind its import, on the same path: `transforms = transforms.Compose(...)`.

    What stands beside the import, in an `except` or an `else`, takes its place where the import is not reached.
    """
    flow = function.flow
    binders = [node for node in flow.nodes if _binds(node, name) and _is_own(function, node)]
    imports = [node for node in binders if isinstance(node, ast.Import | ast.ImportFrom)]
    return tuple(
        node
        for node in binders
        if node not in imports
        and any(_end(flow, one) < _start(node) and not _beside(flow, one, node) for one in imports)
    )


def is_rebound(function: Function, name: str, reader: Function, place: ast.expr | None) -> bool:
    """Whether a name that a function imports may mean something else at a place of a reader: itself, or a function inside.

    Inside it means what a definition or an assignment gave it last; the name of a loop or a `with` is none that a function
    would use for an import, too.
    """
    flow = function.flow
    again = function.rebound[name]
    if reader is function:
        stands = hasattr(place, "lineno")  # a name that only asks what it means has no place
        return stands and any(_end(flow, binder) < _start(place) for binder in again)
    return any(
        isinstance(binder, ast.stmt) or isinstance(flow.parents[binder], ast.Assign | ast.AnnAssign) for binder in again
    )


def _start(node: ast.AST | None) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[union-attr]


def _end(flow: Flow, binder: ast.AST) -> tuple[int, int]:
    """From where on a name is bound: the value of a plain statement comes first, the target of a loop before its body."""
    node = binder if isinstance(binder, ast.stmt) else flow.statement(binder)
    holds_blocks = hasattr(node, "body") or hasattr(node, "cases")
    last = binder if holds_blocks and not isinstance(node, _DEFINITIONS) else node
    return last.end_lineno, last.end_col_offset  # type: ignore[attr-defined]


def _binds(node: ast.AST, name: str) -> bool:
    return name in bound_by(node) and not isinstance(getattr(node, "ctx", None), ast.Del)


def _is_own(function: Function, binder: ast.AST) -> bool:
    """Whether a node binds its name in the function itself: not in a comprehension or the body of a class."""
    return not any(isinstance(around, ast.comprehension | ast.ClassDef) for around in function.flow.ancestors(binder))


def _beside(flow: Flow, one: ast.AST, other: ast.AST) -> bool:
    """Whether two statements stand in branches of which only one runs, or the second where the first has failed."""
    above = {one: one} | {around: child for child, around in flow.upwards(one)}
    for child, around in flow.upwards(other):
        if around in above:
            return _apart(around, above[around], child)
    return False


def _apart(around: ast.AST, one: ast.AST, other: ast.AST) -> bool:
    match around:
        case ast.If():
            return (one in around.body) != (other in around.body)
        case ast.Try() | ast.TryStar():
            return one is not other and (isinstance(one, ast.ExceptHandler) or isinstance(other, ast.ExceptHandler))
        case ast.Match():
            return one is not other
    return False


def may_bind(function: Function, name: str) -> bool:
    """Whether a name may be among those, by the text alone: `torch` that only ever stands before a dot is not."""
    node = function.node
    source = function.module.text
    data = source.data
    start, end = 0, len(data)
    if not isinstance(node, ast.Module):
        start = source.start_of(node)
        end = source.end_of(node)
    word = as_bytes(name)
    place = data.find(word, start, end)
    while place >= 0:
        after = place + len(word)
        if (place == 0 or data[place - 1] not in _PART) and (after >= end or data[after] not in _READ):
            return True
        if data[place - 1 : place].isspace() and data[max(place - 20, 0) : place].rstrip().endswith(_DEFINES):
            return True
        place = data.find(word, after, end)
    return False


def _expression(function: Function, node: ast.expr, names: set[str]) -> None:
    """Take in the names that an expression binds: a target, or what holds a comprehension or `:=`."""
    kind = type(node)
    if kind is ast.Name:
        if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
            names.add(node.id)  # type: ignore[attr-defined]
        return
    if kind is ast.Constant:
        return
    if kind not in _SPREADS or type(node.ctx) is ast.Load:  # type: ignore[attr-defined]
        source = function.module.text
        start = source.start_of(node)
        end = source.end_of(node)
        data = source.data
        if data.find(b":=", start, end) < 0 and (
            data.find(b"for", start, end) < 0 or _FOR.search(data, start, end) is None
        ):
            return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.add(part.id)
