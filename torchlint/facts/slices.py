"""Which statements of a function decide what one of its expressions is: the rest need not be read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .module import Function

# Methods that change what their receiver is known to be: a module moved in place, a list or dict that grows.
MUTATORS = frozenset("to cuda cpu xpu npu train eval append add insert extend appendleft update half float".split())
_TESTS = frozenset(("isinstance", "is_tensor"))


class Slices:
    """The statements of a function as bits of an int, and for each the names it reads and binds.

    A name is a variable, or `self.x` for an attribute of the first parameter; other attributes count as their root.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.index: dict[ast.stmt, int] = {}
        self.uses: list[set[str]] = []
        self.definers: dict[str, int] = {}
        self.returns = 0
        """The statements that return or yield."""
        self._parents: list[int] = []
        self._closures: dict[int, int] = {}
        self._owner = function.parameters[0].arg if function.is_method and function.parameters else ""
        self.leaving: set[int] = set()
        """The statements that end their block: `return`, `raise`, and an `if` both sides of which do."""
        self._read()
        self.all = (1 << len(self.uses)) - 1
        for statement, number in reversed(self.index.items()):
            if self._leaves(statement):
                self.leaving.add(number)

    def _read(self) -> None:
        flow = self.function.flow
        own_attributes: set[ast.AST] = set()
        current = -1
        for node in flow.nodes:
            if isinstance(node, ast.stmt):
                current = self._statement(node)
            elif current < 0:
                continue  # a default of the function itself
            elif isinstance(node, ast.match_case | ast.ExceptHandler):
                # Its pattern and guard, or the name it binds, belong to the statement around it.
                parent = flow.parents[node]
                assert isinstance(parent, ast.stmt)
                current = self.index[parent]
            elif isinstance(node, ast.Name):
                if node not in own_attributes:
                    self._name(node.id, node.ctx, current)
            elif isinstance(node, ast.Attribute):
                value = node.value
                if isinstance(value, ast.Name):
                    if value.id == self._owner:
                        own_attributes.add(value)
                        self._name(f"{value.id}.{node.attr}", node.ctx, current)
                    elif not isinstance(node.ctx, ast.Load):
                        self._defines(value.id, current)
                elif not isinstance(node.ctx, ast.Load):
                    self._touches(value, current)
            elif isinstance(node, ast.Call):
                self._call(node, current)
            elif isinstance(node, ast.Subscript):
                if not isinstance(node.ctx, ast.Load):
                    self._touches(node.value, current)
            elif isinstance(node, ast.Yield):
                self.returns |= 1 << current

    def _statement(self, node: ast.stmt) -> int:
        number = len(self.uses)
        self.index[node] = number
        self.uses.append(set())
        parent = self.function.flow.parents.get(node)
        while parent is not None and not isinstance(parent, ast.stmt):
            parent = self.function.flow.parents.get(parent)
        self._parents.append(self.index.get(parent, -1) if isinstance(parent, ast.stmt) else -1)
        if isinstance(node, ast.Return):
            self.returns |= 1 << number
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._defines(node.name, number)
        return number

    def _name(self, name: str, context: ast.expr_context, statement: int) -> None:
        if isinstance(context, ast.Load):
            self.uses[statement].add(name)
        else:
            self._defines(name, statement)
            if isinstance(context, ast.Store):
                # `x += 1` and `x[i] = 1` keep what was there.
                self.uses[statement].add(name)

    def _defines(self, name: str, statement: int) -> None:
        self.definers[name] = self.definers.get(name, 0) | 1 << statement

    def _touches(self, node: ast.expr, statement: int) -> None:
        """A part of a variable is assigned, or the variable changed in place."""
        while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self._owner:
                self._defines(f"{self._owner}.{node.attr}", statement)
                return
            node = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Name):
            self._defines(node.id, statement)

    def _call(self, node: ast.Call, statement: int) -> None:
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if isinstance(func, ast.Attribute) and last in MUTATORS:
            self._touches(func.value, statement)
        elif last in _TESTS and node.args:
            self._touches(node.args[0], statement)

    def _leaves(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return True
        if isinstance(statement, ast.If):
            return self._any_leaves(statement.body) and self._any_leaves(statement.orelse)
        if isinstance(statement, ast.With | ast.AsyncWith):
            return self._any_leaves(statement.body)
        if isinstance(statement, ast.Try):
            tried = self._any_leaves([*statement.body, *statement.orelse])
            handled = all(self._any_leaves(handler.body) for handler in statement.handlers)
            return self._any_leaves(statement.finalbody) or (tried and handled)
        return False

    def _any_leaves(self, body: list[ast.stmt]) -> bool:
        return any(self.index[statement] in self.leaving for statement in body)

    def closure(self, seed: int) -> int:
        """The statements that decide what the statements of `seed` bind and read."""
        known = self._closures.get(seed)
        if known is not None:
            return known
        mask = 0
        todo = seed
        seen: set[str] = set()
        while todo:
            mask |= todo
            wanted: set[str] = set()
            while todo:
                low = todo & -todo
                wanted |= self.uses[low.bit_length() - 1]
                todo ^= low
            wanted -= seen
            seen |= wanted
            for name in wanted:
                todo |= self.definers.get(name, 0)
            todo &= ~mask
        self._closures[seed] = mask
        return mask

    def active(self, mask: int) -> set[int]:
        """The numbers of the statements of a closure, and of those around them."""
        found: set[int] = set()
        while mask:
            low = mask & -mask
            number = low.bit_length() - 1
            mask ^= low
            while number >= 0 and number not in found:
                found.add(number)
                number = self._parents[number]
        return found

    def of(self, node: ast.AST) -> int:
        """The statement that holds a node; 0 for a default of the function itself."""
        flow = self.function.flow
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = flow.parents.get(current)
        number = self.index.get(current) if current is not None else None
        return 0 if number is None else 1 << number
