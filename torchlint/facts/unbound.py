"""Names that a function annotates and never binds, `x: Tensor`: what reads one of them raises, and nothing behind that runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..system.cached import kept
from ..text.normal_form import AnnotatedAssign
from .flow import NEAREST, Block, Flow
from .nodes import bound_by

_HEADERS: dict[type[ast.AST], str] = {
    ast.If: "test",
    ast.While: "test",
    ast.For: "iter",
    ast.AsyncFor: "iter",
    ast.Match: "subject",
    ast.BoolOp: "values",
    ast.IfExp: "test",
    ast.Compare: "left",
    ast.comprehension: "iter",
    ast.ListComp: "generators",
    ast.SetComp: "generators",
    ast.DictComp: "generators",
    ast.GeneratorExp: "generators",
    ast.With: "items",
    ast.AsyncWith: "items",
    ast.withitem: "context_expr",
    ast.AnnAssign: "value",
    AnnotatedAssign: "value",
}
"""The part that is evaluated in any case, of what evaluates others later, or not always; the first one of several."""
_NOT_ALWAYS = (
    *(ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assert, ast.ExceptHandler, ast.match_case),
    *(kind for name in ("Try", "TryStar") if (kind := getattr(ast, name, None)) is not None),
)


def is_behind_unbound(flow: Flow, node: ast.AST) -> bool:
    """Whether what reads a name that the function only annotates stands before a place, or in the place itself."""
    unbound = kept(flow, "unbound", lambda: _unbound(flow))
    if not unbound:
        return False
    around = [(child, parent) for child, parent in flow.around(node, NEAREST) if isinstance(child, ast.stmt)]
    return _reads(node, unbound) or any(_is_behind(flow, *one, unbound) for one in around)


def _is_behind(flow: Flow, statement: ast.stmt, parent: ast.AST, unbound: frozenset[str]) -> bool:
    """Whether such a read stands before a statement in its block, or where that begins."""
    block = flow.block(statement)
    return _reads(parent, unbound) or (
        block is not None and _first_reading(flow, block, unbound) < block.index[statement]
    )


def _first_reading(flow: Flow, block: Block, unbound: frozenset[str]) -> int:
    known: dict[ast.stmt, int] = kept(flow, "unbound reads", dict)
    first = block.statements[0]
    if first not in known:
        reading = (at for at, one in enumerate(block.statements) if _reads(one, unbound))
        known[first] = next(reading, len(block.statements))
    return known[first]


def _unbound(flow: Flow) -> frozenset[str]:
    """The names that a function annotates, and neither it nor one inside of it binds."""
    function = flow.function
    # What a decorator compiles may take annotations for declarations.
    if isinstance(function.node, ast.Module) or function.decorators:
        return frozenset()
    bare = [one.target for one in flow.nodes if isinstance(one, ast.AnnAssign) and one.value is None]
    declared = {one.id for one in bare if isinstance(one, ast.Name) and not _is_of_class(flow, one)}
    if not declared:
        return frozenset()
    apart = set(bare)
    bound = {name for node in ast.walk(function.node) if node not in apart for name in _bound_by(node)}
    return frozenset(declared - bound)


def _is_of_class(flow: Flow, node: ast.AST) -> bool:
    """Whether a node stands in the body of a class, whose names are its own."""
    return any(isinstance(one, ast.ClassDef) for one in flow.ancestors(node))


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    else:
        yield from bound_by(node)


def _reads(node: ast.AST, unbound: frozenset[str]) -> bool:
    """Whether one of some names is read whenever a node is evaluated; of a compound statement, whenever it begins."""
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in unbound:
            return True
        if isinstance(part, _NOT_ALWAYS):
            continue
        header = _HEADERS.get(type(part))
        if header is None:
            todo += ast.iter_child_nodes(part)
        elif (held := getattr(part, header)) is not None:
            todo.append(held[0] if isinstance(held, list) else held)
    return False
