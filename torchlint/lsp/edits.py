"""Edits of a file's lines, and whether a function says the same after one."""

from __future__ import annotations

import ast
import warnings
from typing import Any, NamedTuple

from ..facts.module import FunctionNode, first_line
from ..text.source import parsed


class Edit(NamedTuple):
    """The lines `first` to `last` (none, where `last` is the one above `first`) are others now, `more` of them than before."""

    first: int
    last: int
    more: int

    def line(self, line: int) -> int:
        """The number of a line outside of the edit after it."""
        return line + self.more if line > self.last else line


def edit_between(before: list[bytes], after: list[bytes]) -> Edit | None:
    """What is another one among some lines; None where all are the same."""
    most = min(len(before), len(after))
    head = next((number for number, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), most)
    if head == len(before) == len(after):
        return None
    ends = zip(reversed(before), reversed(after), strict=False)
    tail = next((number for number, (a, b) in enumerate(ends) if a != b), most)
    return Edit(head + 1, len(before) - min(tail, most - head), len(after) - len(before))


def holds_no_code(line: bytes) -> bool:
    """Whether nothing stands on a line but a comment."""
    return not line.strip() or line.lstrip().startswith(b"#")


def parsed_function(text: bytes, line: int, column: int) -> FunctionNode | None:
    """The tree of a function whose text begins on that line of a file, at that column; None where it isn't just one function."""
    before = b"\n" * (line - 2) + b"if 1:\n" if column else b"\n" * (line - 1)
    if column and line < 2:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = parsed((before + text).decode()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if column and len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        body = body[0].body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return body[0]


def has_same_head(one: FunctionNode, other: FunctionNode) -> bool:
    return one.__class__ is other.__class__ and _head(one) == _head(other)


def _head(node: FunctionNode) -> list[object]:
    parts = [
        node.args,
        *node.decorator_list,
        *([node.returns] if node.returns else []),
        *getattr(node, "type_params", ()),
    ]
    dumped = [ast.dump(part, include_attributes=True) for part in parts]
    return [node.name, node.lineno, node.col_offset, *dumped]


def says_same(old: ast.AST, new: ast.AST, edit: Edit, is_bare: bool) -> bool:
    """Whether two functions say the same whose texts differ by an edit only; of statements outside of it that is sure."""
    if edit.more and not is_bare:
        return False
    todo: list[tuple[Any, Any]] = [(old, new)]
    while todo:
        one, other = todo.pop()
        if one.__class__ is not other.__class__:
            return False
        if isinstance(one, list):
            if len(one) != len(other):
                return False
            todo.extend(zip(one, other, strict=True))
        elif not isinstance(one, ast.AST):
            if repr(one) != repr(other):
                return False
        else:
            if _position(one, edit) != _position(other):
                return False
            if isinstance(one, ast.stmt) and (first_line(one) > edit.last or (one.end_lineno or 0) < edit.first):
                continue
            todo.extend((getattr(one, field, None), getattr(other, field, None)) for field in one._fields)
    return True


def _position(node: ast.AST, edit: Edit | None = None) -> tuple[object, ...]:
    """The lines and columns of a node, after an edit if there is one; nothing for nodes that have none."""
    places = node.__dict__
    if "lineno" not in places:
        return ()
    lines = places["lineno"], places["end_lineno"]
    if edit is not None:
        lines = edit.line(lines[0]), edit.line(lines[1])
    return *lines, places["col_offset"], places["end_col_offset"]
