"""Where a file has a class of torch for more than to call it, by whatever name."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from . import names
from .nodes import defaults_of, local_name

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Kept:
    """The names that one file has for a class, and what it does with them."""

    def __init__(self, nodes: list[ast.AST], dotted: Collection[str], shared: Collection[str] = ()) -> None:
        """`nodes` are all of the file, `dotted` what the class is called in torch, `shared` by what names other files may give it."""
        self._nodes = nodes
        self._dotted = dotted
        self._shared = shared
        self._imported = dict(_imported(nodes, dotted))
        self._calling = {part for node in nodes for one in _calling(node) for part in _choices(one)}

    def is_given_on(self, annotations: Collection[ast.AST]) -> bool:
        """Whether the class is read where it is neither called nor an annotation: `SAVERS[GradScaler] = save`, `isinstance(x, kind)`."""
        kept = self._read()
        found = set(kept)
        while found:
            if any(one not in self._calling and one not in annotations for one in found):
                return True
            found = set[ast.AST](read for target in self._bound_to(kept) for read in self._reads(target)) - kept
            kept |= found
        return False

    def names(self) -> set[str]:
        """The names under which other files may have the class from this one."""
        bound = self._bound_to(self._read())
        assigned = {one.id for one in bound if isinstance(one, ast.Name) and self._own(one) is None}
        return assigned | {name for name, dotted in self._imported.items() if self._is_class(dotted)}

    def _read(self) -> set[ast.AST]:
        """What reads the class by a name that is imported."""
        return {node for node in self._nodes if isinstance(node, ast.expr) and self._is_class(self._name(node))}

    def _is_class(self, name: str) -> bool:
        module, _, member = name.rpartition(".")
        return name in self._dotted or (member in self._shared and module.partition(".")[0] != "torch")

    def _name(self, node: ast.expr) -> str:
        """The dotted name of what is read, if it begins with an import."""
        parts = names.chain(node) if isinstance(getattr(node, "ctx", None), ast.Load) else None
        return ".".join((self._imported[parts[0]], *parts[1:])) if parts and parts[0] in self._imported else ""

    def _bound_to(self, kept: Collection[ast.AST]) -> Iterator[ast.expr]:
        """The names and attributes that are bound to one of some expressions."""
        for node in self._nodes:
            match node:
                case ast.Assign(targets=targets, value=value):
                    bound = targets
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    bound = [target]
                case ast.keyword(arg=str() as name, value=value):
                    bound = [ast.Name(name)]  # a parameter of some function
                case ast.arguments():
                    yield from (ast.Name(name) for name, one in defaults_of(node) if one in kept)
                    continue
                case _:
                    continue
            if any(part in kept for part in _choices(value)):
                yield from bound

    def _reads(self, target: ast.expr) -> Iterator[ast.expr]:
        """What reads a name in its function, or anywhere as a name or an attribute where it is no function's own."""
        name = names.last(target)
        inside = self._own(target) if isinstance(target, ast.Name) else None
        for node in ast.walk(inside) if inside is not None else self._nodes:
            kinds = ast.Name if inside is not None else (ast.Name, ast.Attribute)
            if (
                isinstance(node, kinds)
                and isinstance(node.ctx, ast.Load)
                and names.last(node) == name
                and not self._name(node)
            ):
                yield node

    def _own(self, target: ast.Name) -> ast.AST | None:
        """The innermost function that a name is bound in; None for a name of the module or a class."""
        around = [
            node for node in self._nodes if isinstance(node, (*_FUNCTION, ast.ClassDef)) and target in ast.walk(node)
        ]
        inner = around[-1] if around else None
        said = (ast.Global, ast.Nonlocal)
        if inner is None or any(isinstance(one, said) and target.id in one.names for one in ast.walk(inner)):
            return None
        return inner if isinstance(inner, _FUNCTION) else None


def _imported(nodes: list[ast.AST], dotted: Collection[str]) -> Iterator[tuple[str, str]]:
    """What the file's imports bind, by name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = local_name(node, alias)
                yield bound, alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield local_name(node, alias), f"{'.' * node.level}{node.module or ''}.{alias.name}"
            if node.names[0].name == "*":
                of_module = (name.rpartition(".") for name in dotted)
                yield from ((name, f"{module}.{name}") for module, _, name in of_module if module == node.module)


def _choices(value: ast.expr) -> Iterator[ast.expr]:
    """What an expression may be: both sides of `a if on else b`, and of `a or b`."""
    yield value
    match value:
        case ast.IfExp(body=one, orelse=other):
            yield from (*_choices(one), *_choices(other))
        case ast.BoolOp(values=values):
            for one in values:
                yield from _choices(one)


def _calling(node: ast.AST) -> Iterator[ast.expr]:
    """Where a class only makes objects, is bound to a name, is given to who calls it, or is asked whether there is one."""
    match node:
        case ast.Call(func=func, args=args):
            yield func
            if names.last(func) == "partial":
                yield from args[:1]
        case ast.Assign(targets=targets, value=value):
            if all(isinstance(target, ast.Name | ast.Attribute) for target in targets):
                yield value
        case ast.AnnAssign(target=ast.Name() | ast.Attribute(), value=ast.expr() as value):
            yield value
        case ast.keyword(arg=str(), value=value) | ast.Return(value=ast.expr() as value):
            yield value
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            yield test
        case ast.UnaryOp(op=ast.Not(), operand=value) | ast.Expr(value=value):
            yield value
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield left
        case ast.Attribute(value=value, attr="__name__" | "__qualname__"):
            yield value
        case ast.arguments():
            yield from (default for _, default in defaults_of(node))
        case ast.ClassDef(bases=bases):
            yield from bases
