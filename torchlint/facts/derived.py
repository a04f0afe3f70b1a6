"""What is made of some values in one function, through the names that they are bound to."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from .flow import Comprehension, Flow
from .module import key_of
from .nodes import bound_names
from .operator_calls import carries_no_graph


class Derived:
    """The expressions of a function that hold one of some values, or what is made of it; what a call is given, its result is made of.

    What is read from a value, `loss.item()`, or cut off, `out.detach()`, has nothing of its graph, and is not.
    """

    def __init__(self, flow: Flow, values: Collection[ast.expr]) -> None:
        self._values = frozenset(values)
        self._names: set[str] = set()
        known = -1
        while known < len(self._names):
            known = len(self._names)
            for node in flow.nodes:
                made, targets = _binding(node)
                if made is not None and self.holds(made):
                    self._names.update(name for target in targets for name in _dotted(target))

    def holds(self, node: ast.AST) -> bool:
        """Whether a part of the node is one of the values, or a name for something made of them."""
        return any(part in self._values or not self._names.isdisjoint(_own(part)) for part in _with_graph(node))


def _with_graph(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node, but for those whose graph a method of a tensor drops."""
    todo = [node]
    while todo:
        part = todo.pop()
        yield part
        func = part.func if isinstance(part, ast.Call) else None
        drops = isinstance(func, ast.Attribute) and (
            func.attr == "detach" or carries_no_graph(f"torch.Tensor.{func.attr}")
        )
        todo += (child for child in ast.iter_child_nodes(part) if not (drops and child is func))


def made_of(flow: Flow, nodes: Collection[ast.AST]) -> frozenset[str]:
    """The names that some expressions of a function hold, and those that what they hold is made of."""
    found = {name for node in nodes for name in _read(node)}
    bound = [(made, targets) for node in reversed(flow.nodes) for made, targets in [_binding(node)] if made is not None]
    known = -1
    while known < len(found):
        known = len(found)
        for made, targets in bound:
            if any(not found.isdisjoint(_dotted(target)) for target in targets):
                found.update(_read(made))
    return frozenset(found)


def _read(node: ast.AST) -> Iterator[str]:
    """The names and dotted names in an expression, but for those that comprehensions in it bind for themselves."""
    todo: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while todo:
        part, bound = todo.pop()
        yield from (name for name in _own(part) if name.partition(".")[0] not in bound)
        inner = bound
        if isinstance(part, Comprehension):
            todo.append((part.generators[0].iter, bound))  # this is read outside
            inner = bound | {name for one in part.generators for name in bound_names(one.target)}
        todo += ((child, inner) for child in ast.iter_child_nodes(part))


def _binding(node: ast.AST) -> tuple[ast.expr | None, list[ast.expr]]:
    """What a node binds, and to what."""
    if isinstance(node, ast.Assign):
        return node.value, node.targets
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        return node.value, [node.target]
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return node.iter, [node.target]
    return None, []


def _dotted(target: ast.expr) -> set[str]:
    """The names and dotted names in an expression or a target; of `kept[i]` the name of what keeps it."""
    return {name for part in ast.walk(target) for name in _own(part)}


def _own(node: ast.AST) -> set[str]:
    key = key_of(node) if isinstance(node, ast.Name | ast.Attribute) else None
    return {key} if key is not None else set()
