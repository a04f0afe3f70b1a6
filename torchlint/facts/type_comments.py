"""Types that comments state for parameters, as PEP 484 has them and TorchScript reads them.

One comment for all, `# type: (Tensor, List[int]) -> Tensor`, or one beside each: `images,  # type: List[Tensor]`.
"""

from __future__ import annotations

import ast

from ..system.cached import kept
from ..system.regex import regex
from .module import Function

_WORD = b"# type:"
_COMMENT = regex(r"#\s*type:\s*([^#\n]+)")
_IGNORED = "ignore"


def annotation_of(function: Function, parameter: ast.arg) -> ast.expr | None:
    """The annotation of a parameter, or the type that a comment states for it."""
    if parameter.annotation is not None or not function.module.source.holds(_WORD):
        return parameter.annotation
    return kept(function, "type comments", lambda: _stated(function)).get(parameter.arg)


def _stated(function: Function) -> dict[str, ast.expr]:
    """The types that comments between a `def` and what it holds state, by the names of parameters."""
    node = function.node
    if isinstance(node, ast.Module):
        return {}
    source = function.module.text_of(node)
    first = node.body[0].lineno
    start, end = source.span(node.lineno, max(node.lineno, first - 1))
    lines = source.data[start:end].decode(errors="replace").split("\n")
    said = {node.lineno + at: match[1].strip() for at, line in enumerate(lines) if (match := _COMMENT.search(line))}
    found: dict[str, ast.expr] = {}
    own = function.parameters[1:] if function.own_name else function.parameters
    beside = {parameter.end_lineno: parameter for parameter in own}
    for line, text in said.items():
        if text.startswith(_IGNORED):
            continue
        if text.startswith("(") and "->" in text:
            found |= {one.arg: type_ for one, type_ in zip(own, _of_function(text), strict=False)}
        elif line in beside and (type_ := _parsed(text)) is not None:
            found[beside[line].arg] = type_
    return found


def _of_function(text: str) -> list[ast.expr]:
    """The types of the arguments in `(Tensor, int) -> Tensor`; of `(...) -> Tensor` none."""
    try:
        types = ast.parse(text, mode="func_type").argtypes
    except (SyntaxError, ValueError):
        return []
    return [] if any(isinstance(one, ast.Constant) and one.value is Ellipsis for one in types) else types


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.rstrip(","), mode="eval").body
    except (SyntaxError, ValueError):
        return None
