"""The source text of an expression for another place: in parentheses where it would mean something else there without."""

from __future__ import annotations

import ast
import warnings
from enum import Enum
from typing import TYPE_CHECKING

from ..text.source import parsed
from ..text.tree import NoNode

if TYPE_CHECKING:
    from .site import Site

_HOLE = "_hole_"
_HOLE_DUMP = ast.dump(ast.Name(_HOLE, ast.Load()))


class Place(Enum):
    """Where the text of an expression is put; the values are code that has such places."""

    RECEIVER = ("{}._", "{}(_)", "{}[_]")
    """Before a dot, a call's parenthesis or a subscript's bracket; behind `await`."""
    OPERAND = ("{} ** _", "_ ** {}", "-{}", "{} if {} else {}", "[*{}]", "_(**{})", "[_ for _ in {} if {}]")
    """Beside an operator, in a condition or a comprehension, behind a star."""
    ARGUMENT = ("_({}, _)", "_(_, {})", "[{}, _]")
    """Between the commas of a call or a list."""
    VALUE = ("_(_={}, _=_)", "_[{}]", "_[{}:{}]", "{_: {}}", "{{}: _}")
    """Behind `keyword=`, as an index or in a slice, in a dictionary."""
    ELEMENT = ("_ = _, {}, _", "while {}: _")
    """Between commas without brackets around them, and whatever else stands free: a value that is assigned or returned."""


def operand(site: Site, node: ast.expr | ast.keyword, place: Place, instead: ast.expr | None = None) -> str:
    """The text of a part of the file for a place of that kind, parenthesised as needed.

    `instead` is the expression that the text is put in place of: where it begins there already, brackets around it that let
    its lines end do so on. A keyword of a call is given whole. Raises NoNode for what can't stand there (`*rest` before a dot), and for what has
    no position of its own (inside f-strings).
    """
    text = site.text(node)
    if isinstance(node, ast.keyword):
        if place is not Place.ARGUMENT:
            raise NoNode(f"a keyword can't stand at a place of kind {place.name}")
        return text
    wanted = _dump(node)
    begins = instead is not None and (node.lineno, node.col_offset) == (instead.lineno, instead.col_offset)
    for code in (text, f"({text})"):
        if all(_means(one, code, wanted) or (begins and _means(f"({one})", code, wanted)) for one in place.value):
            return code
    raise NoNode(f"ast.{type(node).__name__} can't stand at a place of kind {place.name}")


def place_of(site: Site, node: ast.expr) -> Place:
    """The kind of place that an expression stands at: what takes its place has to fit there."""
    parent = site.flow.parents[node]
    match parent:
        case ast.Attribute() | ast.Await():
            return Place.RECEIVER
        case ast.Subscript():
            return Place.RECEIVER if parent.value is node else Place.VALUE
        case ast.Call():
            return Place.RECEIVER if parent.func is node else Place.ARGUMENT
        case ast.List() | ast.Set():
            return Place.ARGUMENT
        case ast.keyword() if parent.arg is not None:
            return Place.VALUE
        case ast.Slice():
            return Place.VALUE
        case ast.Dict() if None not in parent.keys:
            return Place.VALUE
        case ast.expr() | ast.keyword() | ast.comprehension():
            return Place.ELEMENT if isinstance(parent, ast.Tuple) else Place.OPERAND
        case _:
            return Place.ELEMENT


def _means(template: str, code: str, wanted: str) -> bool:
    """Whether the code, put into every hole of the template, is the expression wanted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _dump(parsed(template.replace("{}", code)))
    except SyntaxError:
        return False
    return found == _dump(ast.parse(template.replace("{}", _HOLE))).replace(_HOLE_DUMP, wanted)


def _dump(node: ast.AST) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")
