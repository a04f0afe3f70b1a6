"""How a pattern sees a node of libcst: in the words of `on_ast`, told by the names of classes, so that nothing imports libcst here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .on_ast import View

if TYPE_CHECKING:
    import libcst as cst

_BINARY = {
    "Add": "Add",
    "Subtract": "Sub",
    "Multiply": "Mult",
    "MatrixMultiply": "MatMult",
    "Divide": "Div",
    "Modulo": "Mod",
    "Power": "Pow",
    "LeftShift": "LShift",
    "RightShift": "RShift",
    "BitOr": "BitOr",
    "BitXor": "BitXor",
    "BitAnd": "BitAnd",
    "FloorDivide": "FloorDiv",
}
_UNARY = {"Not": "Not", "Minus": "USub", "Plus": "UAdd", "BitInvert": "Invert"}
_COMPARED = {
    "Equal": "Eq",
    "NotEqual": "NotEq",
    "LessThan": "Lt",
    "LessThanEqual": "LtE",
    "GreaterThan": "Gt",
    "GreaterThanEqual": "GtE",
    "Is": "Is",
    "IsNot": "IsNot",
    "In": "In",
    "NotIn": "NotIn",
}


def _kind(node: object) -> str:
    return node.__class__.__name__


def _elements(nodes: Sequence[Any]) -> list[Any]:
    return [None if _kind(node) == "StarredElement" else node.value for node in nodes]


def _positional(arguments: Sequence[Any]) -> list[Any]:
    return [None if a.star else a.value for a in arguments if a.keyword is None and a.star != "**"]


def _call(node: Any) -> View:
    named = [a for a in node.args if a.keyword is not None or a.star == "**"]
    return (
        "call",
        node.func,
        _positional(node.args),
        [(a.keyword.value if a.keyword is not None else None, a.value) for a in named],
    )


def _subscript(node: Any) -> View:
    elements = node.slice
    if len(elements) > 1 or not _is_alone(elements[0]):
        return "subscript", node.value, tuple(elements)
    inner = elements[0].slice
    return "subscript", node.value, inner.value if _kind(inner) == "Index" else inner


def _is_alone(element: Any) -> bool:
    """Whether the one element of an index is it: no `x[a,]`, no `x[*a]`, which are tuples."""
    return _kind(element.comma) == "MaybeSentinel" and not getattr(element.slice, "star", None)


def _items(elements: tuple[Any, ...]) -> View:
    """`a, b` of `x[a, b]`, which has no node of its own."""
    inner = [element.slice for element in elements]
    return "tuple", [None if getattr(i, "star", None) else i.value if _kind(i) == "Index" else i for i in inner]


def _compare(node: Any) -> View:
    if len(node.comparisons) > 1:
        return ("chain",)
    only = node.comparisons[0]
    return "compare", _COMPARED[_kind(only.operator)], node.left, only.comparator


def _comprehension(node: Any) -> View:
    return f"comprehension of {_kind(node)}", node.elt, node.for_in.target, node.for_in.iter


def _dict_comprehension(node: Any) -> View:
    return "comprehension of DictComp", node.key, node.value, node.for_in.target, node.for_in.iter


def _name(node: Any) -> View:
    if node.value in ("True", "False", "None"):
        return _literal(node)
    return "name", node.value


def _literal(node: Any) -> View:
    value = ast.literal_eval(node.value)
    return "constant", type(value).__name__, value


def _strings(node: Any) -> View:
    value = node.evaluated_value
    return ("constant", type(value).__name__, value) if value is not None else ("",)


def _decorators(node: Any) -> list[Any]:
    return [decorator.decorator for decorator in node.decorators]


_VIEWS: dict[str, Callable[[Any], View]] = {
    "Name": _name,
    "Integer": _literal,
    "Float": _literal,
    "Imaginary": _literal,
    "SimpleString": _literal,
    "ConcatenatedString": _strings,
    "Ellipsis": lambda n: ("constant", "ellipsis", ...),
    "Attribute": lambda n: ("attribute", n.value, n.attr.value),
    "Call": _call,
    "Subscript": _subscript,
    "tuple": _items,
    "Slice": lambda n: ("slice", n.lower, n.upper, n.step),
    "BinaryOperation": lambda n: ("binary", _BINARY[_kind(n.operator)], n.left, n.right),
    "UnaryOperation": lambda n: ("unary", _UNARY[_kind(n.operator)], n.expression),
    "Comparison": _compare,
    "BooleanOperation": lambda n: ("logic", _kind(n.operator)),
    "IfExp": lambda n: ("ternary", n.test, n.body, n.orelse),
    "Tuple": lambda n: ("tuple", _elements(n.elements)),
    "List": lambda n: ("list", _elements(n.elements)),
    "ListComp": _comprehension,
    "SetComp": _comprehension,
    "GeneratorExp": _comprehension,
    "DictComp": _dict_comprehension,
    "Expr": lambda n: ("expression", n.value),
    "Return": lambda n: ("return", n.value),
    "Assign": lambda n: ("assign", [target.target for target in n.targets], n.value),
    "AnnAssign": lambda n: ("assign", [n.target], n.value) if n.value is not None else ("",),
    "AugAssign": lambda n: ("augmented", _BINARY[_kind(n.operator).removesuffix("Assign")], n.target, n.value),
    "Assert": lambda n: ("assert", n.test),
    "If": lambda n: ("if", n.test),
    "While": lambda n: ("while", n.test),
    "For": lambda n: ("for", n.target, n.iter) if n.asynchronous is None else ("",),
    "With": lambda n: ("with", [item.item for item in n.items]),
    "FunctionDef": lambda n: ("def", n.name.value, _decorators(n)),
    "ClassDef": lambda n: ("class", n.name.value, _decorators(n), _positional(n.bases)),
}


def view(node: Any) -> View:
    """The node in the terms of a pattern; of no kind where no pattern speaks of such."""
    read = _VIEWS.get(_kind(node))
    return read(node) if read is not None else ("",)


def expressions(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and what is below it, but white space, commas and the like."""
    yield node
    for child in node.children:
        yield from expressions(child)


def parsed(node: cst.CSTNode | tuple[cst.CSTNode, ...]) -> ast.expr:
    """The expression as `ast` has it, without its place."""
    import libcst

    parts = node if isinstance(node, tuple) else (node,)
    code = "".join(map(libcst.Module(body=[]).code_for_node, parts))
    if isinstance(node, tuple) or _kind(node) == "Slice":
        index = ast.parse(f"_[{code}\n]", mode="eval").body
        assert isinstance(index, ast.Subscript)
        return index.slice
    return ast.parse(f"({code}\n)", mode="eval").body


def written(node: cst.CSTNode | tuple[cst.CSTNode, ...]) -> str:
    """The node as `on_ast` would write it."""
    return ast.unparse(parsed(node))


def name(node: Any) -> ast.expr | None:
    """The node where it is a dotted name, to be looked up: as `ast` has it."""
    if _kind(node) == "Name":
        return ast.Name(node.value, ast.Load())
    owner = name(node.value) if _kind(node) == "Attribute" else None
    return ast.Attribute(owner, node.attr.value, ast.Load()) if owner is not None else None
