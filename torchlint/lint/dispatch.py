"""Which rules want to be shown which node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

from ..facts import names
from ..facts.module import Function
from ..facts.nearby import nodes_on
from ..pattern.words import KINDS
from ..program.project import Project
from ..rule import Rule, Scope
from ..system.cached import cached_property
from .sieve import Sieve

Shown = Scope | Literal["unnamed"]
"""Where functions are shown: `unnamed` is on the lines of `unnamed.lines`, for what no name tells."""
Asked = tuple[str, Rule, tuple[str, ...]]
"""The word of some patterns of a rule, the rule, and those patterns."""

_NAMES = frozenset(KINDS.values())


def searchable(trigger: str) -> bool:
    """Whether the sieve can look for the trigger: no kinds of nodes, no builtins, which are everywhere."""
    return trigger not in _NAMES and not (trigger.endswith("()") and "." not in trigger)


def last_word(trigger: str) -> str:
    """The part of a trigger that stands in the code whatever the thing is called by."""
    return trigger.removesuffix("()").rpartition(".")[2]


def _shown(rule: Rule, trigger: str, scope: Shown, with_calls: bool) -> bool:
    """Whether a rule is shown what a trigger names where that scope is: what has no name only where functions are shown whole."""
    if rule.scope == "any" and not searchable(trigger):
        return scope in ("hot", "unnamed")
    if rule.scope == "hot" and with_calls:
        return trigger.endswith("()") and searchable(trigger)
    return rule.scope == scope


def _named_at(node: ast.AST) -> int:
    """The line of what a node without a name is told by: an index, the header of a statement."""
    return node.slice.lineno if isinstance(node, ast.Subscript) else node.lineno  # type: ignore[attr-defined]


class Dispatch:
    """What some rules ask for, by kind of node and by the last word of a name."""

    def __init__(self, rules: Iterable[Rule], project: Project, scope: Shown, *, with_calls: bool = False) -> None:
        """`with_calls`: also the calls that rules of steps ask for, which a loop in another function may run."""
        self.project = project
        self.name = f"{scope} with calls" if with_calls else scope
        asked: list[Asked] = [
            (trigger, rule, patterns)
            for rule in rules
            for trigger, patterns in rule.on.items()
            if _shown(rule, trigger, scope, with_calls)
        ]
        self.triggers = sorted({trigger for trigger, _, _ in asked})
        self._kinds: dict[type[ast.AST], list[Asked]] = {}
        self._methods: dict[str, list[Asked]] = {}
        self._attributes: dict[str, list[Asked]] = {}
        self._calls: dict[str, list[Asked]] = {}
        self._uses: dict[str, list[Asked]] = {}
        for one in asked:
            self._add(one)
        self._all_kinds = frozenset((ast.Call, ast.Attribute, ast.Name, *self._kinds))
        for table in (self._calls, self._uses):
            for alias, originals in project.renames.items():
                renamed = [asked for name in originals for asked in table.get(name, ())]
                if renamed:
                    table[alias] = [*table.get(alias, ()), *renamed]

    @cached_property
    def sieve(self) -> Sieve:
        """The search for what the rules ask for."""
        return Sieve(filter(searchable, self.triggers), self.project.import_words, self.project.renames)

    def __bool__(self) -> bool:
        return bool(self.triggers)

    def _add(self, asked: Asked) -> None:
        trigger = asked[0]
        word = last_word(trigger)
        if trigger in _NAMES:
            for kind, name in KINDS.items():
                if name == trigger:
                    self._kinds.setdefault(kind, []).append(asked)
        elif trigger.startswith("."):
            table = self._methods if trigger.endswith("()") else self._attributes
            table.setdefault(word, []).append(asked)
        else:
            table = self._calls if trigger.endswith("()") else self._uses
            table.setdefault(word, []).append(asked)

    def nodes(
        self, function: Function, lines: Collection[int] | None, fail: Callable[[Exception, ast.AST], None]
    ) -> Iterator[tuple[ast.AST, ast.AST, Asked]]:
        """The nodes of a function that rules ask for, each with its parent and what asks; only those named on `lines` where given.

        `fail` is told of nodes whose names torchlint fails to look up; the others are given all the same.
        """
        kinds, attributes, uses = self._kinds, self._attributes, self._uses
        imported = function.module.import_names
        for node, parent in self._shown(function, lines):
            try:
                # Most nodes are names and attributes, of which few are told.
                if type(node) is ast.Name:
                    word = node.id
                    if (word in imported or word in uses) and (lines is None or node.lineno in lines):
                        for asked in self._used(function, node, parent, word):
                            yield node, parent, asked
                    continue
                if type(node) is ast.Attribute:
                    word = node.attr
                    if (word in attributes or word in uses) and (lines is None or node.end_lineno in lines):
                        for asked in attributes.get(word, ()):
                            yield node, parent, asked
                        for asked in self._used(function, node, parent, word):
                            yield node, parent, asked
                    continue
                kind = type(node)
                if kind in kinds and (lines is None or _named_at(node) in lines):
                    for asked in kinds[kind]:
                        yield node, parent, asked
                if type(node) is ast.Call:
                    func = node.func
                    if lines is None or func.end_lineno in lines:
                        for asked in self._called(function, func):
                            yield node, parent, asked
            except Exception as error:  # noqa: BLE001 - it costs what rules would say of this node
                fail(error, node)

    def _shown(self, function: Function, lines: Collection[int] | None) -> Iterable[tuple[ast.AST, ast.AST]]:
        if lines is None:
            flow = function.flow
            return ((node, flow.parents[node]) for node in flow.nodes)
        return nodes_on(function, lines, self._all_kinds)

    def _called(self, function: Function, func: ast.expr) -> Iterable[Asked]:
        if isinstance(func, ast.Attribute):
            last = func.attr
        elif isinstance(func, ast.Name):
            last = func.id
            origin = names.imported(function, last, func)
            if origin is not None:
                # `from torch.nn import DataParallel as DP`
                last = origin.rpartition(".")[2]
        else:
            return ()
        calls = self._calls.get(last, ())
        methods = self._methods.get(last, ()) if isinstance(func, ast.Attribute) else ()
        if not calls and not methods:
            return ()
        name = self.project.resolve(function, func)
        if name is None:
            return methods
        wanted = f"{name}()"
        found = [asked for asked in calls if asked[0] == wanted]
        if methods and self._of_object(function, func):
            found += methods
        return found

    def _of_object(self, function: Function, func: ast.expr) -> bool:
        """Whether a method's object was imported by name: `from utils import LOGGER`."""
        parts = names.chain(func)
        origin = names.imported(function, parts[0], func) if parts is not None else None
        if origin is None or "." not in origin or origin.startswith(("torch.", "numpy.")):
            return False
        return not self.project.is_namespace(origin, function.module)

    def _used(self, function: Function, node: ast.Attribute | ast.Name, parent: ast.AST, word: str) -> Iterable[Asked]:
        if not self._uses or isinstance(parent, ast.Attribute):
            return ()
        if isinstance(node, ast.Name):
            origin = names.imported(function, word, node)
            if origin is not None:
                word = origin.rpartition(".")[2]
        pairs = self._uses.get(word)
        if not pairs:
            return ()
        name = self.project.resolve(function, node)
        return [asked for asked in pairs if asked[0] == name]
