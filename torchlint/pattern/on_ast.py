"""How a pattern sees a node of `ast`: what it is, and its parts, in the terms that `on_libcst` uses too."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..text.normal_form import AnnotatedAssign, PairedAssign

View = tuple[Any, ...]
"""What a node is, in a word, and its parts: nodes, lists of nodes, words. None stands for `*x` among elements and arguments."""


def _elements(nodes: list[ast.expr]) -> list[ast.expr | None]:
    return [None if isinstance(node, ast.Starred) else node for node in nodes]


def _call(node: ast.Call) -> View:
    return "call", node.func, _elements(node.args), [(keyword.arg, keyword.value) for keyword in node.keywords]


def _comprehension(node: Any) -> View:
    first = node.generators[0]
    return f"comprehension of {type(node).__name__}", node.elt, first.target, first.iter


def _dict_comprehension(node: ast.DictComp) -> View:
    first = node.generators[0]
    return "comprehension of DictComp", node.key, node.value, first.target, first.iter


def _compare(node: ast.Compare) -> View:
    if len(node.ops) > 1:
        return ("chain",)
    return "compare", type(node.ops[0]).__name__, node.left, node.comparators[0]


_VIEWS: dict[type[ast.AST], Callable[[Any], View]] = {
    ast.Name: lambda n: ("name", n.id),
    ast.Constant: lambda n: ("constant", type(n.value).__name__, n.value),
    ast.Attribute: lambda n: ("attribute", n.value, n.attr),
    ast.Call: _call,
    ast.Subscript: lambda n: ("subscript", n.value, n.slice),
    ast.Slice: lambda n: ("slice", n.lower, n.upper, n.step),
    ast.BinOp: lambda n: ("binary", type(n.op).__name__, n.left, n.right),
    ast.UnaryOp: lambda n: ("unary", type(n.op).__name__, n.operand),
    ast.Compare: _compare,
    ast.BoolOp: lambda n: ("logic", type(n.op).__name__),
    ast.IfExp: lambda n: ("ternary", n.test, n.body, n.orelse),
    ast.Tuple: lambda n: ("tuple", _elements(n.elts)),
    ast.List: lambda n: ("list", _elements(n.elts)),
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Expr: lambda n: ("expression", n.value),
    ast.Return: lambda n: ("return", n.value),
    ast.Assign: lambda n: ("assign", n.targets, n.value),
    AnnotatedAssign: lambda n: ("assign", n.targets, n.value),
    PairedAssign: lambda n: ("assign", n.targets, n.value),
    ast.AugAssign: lambda n: ("augmented", type(n.op).__name__, n.target, n.value),
    ast.Assert: lambda n: ("assert", n.test),
    ast.If: lambda n: ("if", n.test),
    ast.While: lambda n: ("while", n.test),
    ast.For: lambda n: ("for", n.target, n.iter),
    ast.With: lambda n: ("with", [item.context_expr for item in n.items]),
    ast.AsyncWith: lambda n: ("with", [item.context_expr for item in n.items]),
    ast.FunctionDef: lambda n: ("def", n.name, n.decorator_list),
    ast.AsyncFunctionDef: lambda n: ("def", n.name, n.decorator_list),
    ast.ClassDef: lambda n: ("class", n.name, n.decorator_list, _elements(n.bases)),
}


def view(node: ast.AST) -> View:
    """The node in the terms of a pattern; of no kind where no pattern speaks of such."""
    read = _VIEWS.get(node.__class__)
    return read(node) if read is not None else ("",)


def written(node: ast.AST) -> str:
    """The node as it would be written, alike for a read and a store of the same."""
    return ast.unparse(node)


def name(node: ast.AST) -> ast.expr | None:
    """The node where it is a dotted name, to be looked up."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return node if isinstance(inner, ast.Name) and isinstance(node, ast.expr) else None
