"""Which import a name means at a place, whatever way the program took to it: names are looked up as Python does.

Unknown is None: a name that is bound twice, below, on one branch only, or that a star import may bind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..system.cached import kept
from ..text.normal_form import KINDS_OF_NODES
from .nodes import bound_by, is_constant, local_name

if TYPE_CHECKING:
    from .module import Module

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in ("ctx", "op", "ops")) for kind in KINDS_OF_NODES
}
"""The parts of each kind of node that names may stand in."""
_INNER = frozenset((*_SCOPES, *_COMPREHENSIONS, ast.comprehension))
"""Of these some parts are evaluated in another scope."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_BINDERS = frozenset(
    (
        *(ast.Name, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
        *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping),
    )
)


@dataclass(slots=True, eq=False)
class _Scope:
    """What has names of its own: the module, a function, a lambda, a class, a comprehension."""

    node: ast.AST
    around: _Scope | None
    binders: dict[str, list[ast.AST]] = field(default_factory=dict)
    """The statements and targets that bind each name, `del` among them."""


class Lookup:
    """The scopes of a module, and where each place of it lies."""

    def __init__(self, module: Module) -> None:
        self._stars = bool(module.stars)
        self._parents: dict[ast.AST, ast.AST] = {}
        self._homes: dict[ast.AST, _Scope] = {}
        """The scope in which each node is evaluated."""
        self._at: dict[ast.AST, tuple[int, int]] = {}
        """The block that each statement stands in, and its place there."""
        self._declared: set[str] = set()
        """Names that any function declares `global` or `nonlocal`."""
        self._binders: dict[str, list[ast.AST]] = {}
        """What binds each name, anywhere."""
        self._origins: dict[tuple[int, str], dict[str, list[ast.AST]]] = {}
        """What binds a name in a scope, or anywhere, by what an import says of where it comes from."""
        self._outermost = _Scope(module.tree, None)
        self._walk(self._outermost)

    def imported(self, place: ast.AST, name: str) -> str | None:
        """The dotted name that an import has bound to `name` whenever the place is reached; None where that isn't sure."""
        if self._stars or name in self._declared:
            return None
        origins = self._by_origin(self._seen(place, name), name)
        origin = next(iter(origins), "")
        if len(origins) > 1 or not _is_outside(origin):
            return None
        return origin if any(self._runs_before(binder, place) for binder in origins[origin]) else None

    def free(self, place: ast.AST, name: str, origin: str) -> bool:
        """Whether an import at the top of the file would give the place the name, and nobody another one.

        Nothing in the module binds it but imports of that origin, and none of these makes it a local of the place.
        """
        if self._stars or name in self._declared:
            return False
        seen = self._seen(place, name)
        found = self._by_origin(self._binders.get(name, []), name)
        return seen == self._outermost.binders.get(name, []) and found.keys() <= {origin} and _is_outside(origin)

    def binders(self, place: ast.AST, name: str) -> list[ast.AST]:
        """All that binds the name which a place reads, or deletes it; nothing where others may do so, too."""
        if self._stars:
            return []
        return self._binders.get(name, []) if name in self._declared else self._seen(place, name)

    def given(self, name: str) -> frozenset[str]:
        """What a name of the module itself may stand for, by what an import says of where it comes from; "" for what is no import.

        None in place of an import that failed is left out.
        """
        found = self._by_origin(self._outermost.binders.get(name, []), name)
        return frozenset(origin for origin, ones in found.items() if not all(map(self._is_none, ones)))

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that a node is a part of."""
        return self._parents.get(node)

    def may_be_another(self, place: ast.AST, name: str, origin: str) -> bool:
        """Whether a name that an import of that origin binds may be something else when the place is reached.

        What stands in for an import that failed, `torch = None`, is nothing that such a place is reached with. Star imports
        are not looked at.
        """
        binders = self._binders.get(name, []) if name in self._declared else self._seen(place, name)
        found = {
            written
            for written, ones in self._by_origin(binders, name).items()
            if any(not self._is_none(one) and not self._is_later(one, place) for one in ones)
        }
        return found != {origin} and not (len(found) == 1 and next(iter(found)).startswith("."))

    def _by_origin(self, binders: list[ast.AST], name: str) -> dict[str, list[ast.AST]]:
        """What binds a name, in order, by what an import says of where it comes from; "" for what is no import."""
        if not binders:
            return {}
        key = id(binders), name  # lists of this object stay as long as it does
        if key not in self._origins:
            found = self._origins[key] = {}
            for binder in sorted(binders, key=_begin):
                found.setdefault(_written(binder, name), []).append(binder)
        return self._origins[key]

    def _is_none(self, binder: ast.AST) -> bool:
        """Whether a name is bound to None: `torch = None`."""
        value = getattr(self._parents.get(binder), "value", None)
        return is_constant(value, None)

    def _is_later(self, binder: ast.AST, place: ast.AST) -> bool:
        """Whether a name is not bound yet when the place is reached: below it in the same scope, and in no loop around both."""
        home = self._homes[place]
        if self._homes[binder] is not home or isinstance(home.node, _COMPREHENSIONS):
            return False
        if _end(place) > self._from(binder):
            return False
        again = {node for node in self._around(binder) if isinstance(node, _LOOPS)}
        return again.isdisjoint(self._around(place))

    def _from(self, binder: ast.AST) -> tuple[int, int]:
        """From where on a name is bound: what is assigned to it comes first."""
        outer = next(node for node in self._around(binder) if not isinstance(node, ast.Tuple | ast.List | ast.Starred))
        if isinstance(outer, ast.Assign | ast.AnnAssign):
            return _end(outer)
        return _begin(binder)

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def _seen(self, place: ast.AST, name: str) -> list[ast.AST]:
        """What binds the name in the scope that it is looked up in."""
        home = self._homes[place]
        scope: _Scope | None = home
        while scope is not None:
            # The names of a class are its body's alone, and not those of its methods.
            if name in scope.binders and (scope is home or not isinstance(scope.node, ast.ClassDef)):
                return scope.binders[name]
            scope = scope.around
        return []

    def _runs_before(self, binder: ast.AST, place: ast.AST) -> bool:
        """Whether a statement stands before the place in a block around both, so that it has run when the place is reached."""
        block, index = self._at.get(binder, (-1, 0))
        node: ast.AST | None = place
        while node is not None:
            own, at = self._at.get(node, (-2, 0))
            if own == block:
                return index < at
            node = self._parents.get(node)
        return False

    def _walk(self, outermost: _Scope) -> None:
        todo: list[tuple[ast.AST, _Scope]] = [(outermost.node, outermost)]
        while todo:
            node, scope = todo.pop()
            kind = node.__class__
            self._homes[node] = scope
            if isinstance(node, ast.Global | ast.Nonlocal):
                self._declared.update(node.names)
            if kind in _BINDERS:
                for name in bound_by(node):
                    self._bind(name, node, self._target(node, scope))
            children = list(self._parts(node))
            self._parents.update(dict.fromkeys(children, node))
            if kind in _INNER:
                todo += zip(children, self._scopes(node, children, scope), strict=True)
            else:
                todo += [(child, scope) for child in children]

    def _parts(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes below a node; where statements stand in their block is noted."""
        for name in _FIELDS[node.__class__]:
            value: Any = getattr(node, name, None)
            if value.__class__ is list:
                if value and isinstance(value[0], ast.stmt):
                    self._at.update((one, (id(value), index)) for index, one in enumerate(value))
                yield from (one for one in value if one.__class__ in _FIELDS)
            elif value.__class__ in _FIELDS:
                yield value

    def _bind(self, name: str, node: ast.AST, scope: _Scope) -> None:
        scope.binders.setdefault(name, []).append(node)
        self._binders.setdefault(name, []).append(node)

    def _target(self, node: ast.AST, scope: _Scope) -> _Scope:
        """The scope that a node binds its names in: `:=` in a comprehension binds outside of it."""
        if isinstance(self._parents.get(node), ast.NamedExpr):
            while isinstance(scope.node, _COMPREHENSIONS) and scope.around is not None:
                scope = scope.around
        return scope

    def _scopes(self, node: ast.AST, children: list[ast.AST], scope: _Scope) -> Iterator[_Scope]:
        """The scope that each part of a node is evaluated in."""
        inside: set[int] = set()
        own = scope
        if isinstance(node, _SCOPES):
            own = _Scope(node, scope)
            inside = {id(part) for part in node.body} if isinstance(node.body, list) else {id(node.body)}
            if not isinstance(node, ast.ClassDef):
                for parameter in _parameters(node.args):
                    self._bind(parameter.arg, parameter, own)
        elif isinstance(node, _COMPREHENSIONS):
            own = _Scope(node, scope)
            inside = set(map(id, children))
        elif isinstance(node, ast.comprehension) and self._is_first(node) and scope.around is not None:
            own = scope.around  # the first iterable is evaluated outside
            inside = {id(node.iter)}
        return (own if id(child) in inside else scope for child in children)

    def _is_first(self, node: ast.comprehension) -> bool:
        owner = self._parents[node]
        return isinstance(owner, _COMPREHENSIONS) and owner.generators[0] is node


def lookup(module: Module) -> Lookup:
    """The scopes of a module, looked for once."""
    return kept(module, "lookup", lambda: Lookup(module))


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _begin(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _parameters(given: ast.arguments) -> Iterator[ast.arg]:
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    yield from (one for one in (given.vararg, given.kwarg) if one is not None)


def _is_outside(written: str) -> bool:
    """Whether a name is that of what an import takes from outside of the project."""
    return bool(written) and not written.startswith(".")


def _written(binder: ast.AST, name: str) -> str:
    """What an import says of where a name comes from, with the dots in front; "" for what is no import."""
    if isinstance(binder, ast.Import):
        found = {alias.name if alias.asname else name for alias in binder.names if local_name(binder, alias) == name}
    elif isinstance(binder, ast.ImportFrom):
        home = "." * binder.level + (binder.module or "")
        found = {f"{home}.{alias.name}" for alias in binder.names if local_name(binder, alias) == name}
    else:
        return ""
    return found.pop() if len(found) == 1 else ""
