"""Which names are a function's own, from its statements: expressions are looked into only where they can bind one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..system.regex import regex
from ..system.stamp import as_bytes
from .flow import CHILDREN

if TYPE_CHECKING:
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


def may_bind(function: Function, name: str) -> bool:
    """Whether a name may be among those, by the text alone: `torch` that only ever stands before a dot is not."""
    node = function.node
    source = function.module.source
    data = source.data
    start, end = 0, len(data)
    if not isinstance(node, ast.Module):
        start = source.offset(node.lineno, node.col_offset)
        end = source.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
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
        source = function.module.source
        start = source.offset(node.lineno, node.col_offset)
        end = source.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        data = source.data
        if data.find(b":=", start, end) < 0 and (
            data.find(b"for", start, end) < 0 or _FOR.search(data, start, end) is None
        ):
            return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.add(part.id)
