"""What is a tensor, or a device, whatever way the program takes: a proof, where values say what is most likely meant.

A value may rest on what callers pass today, on what one of two paths leaves, or on an attribute that a subclass binds anew.
Here a name is a tensor only where everything in the file that binds it is one, in whatever order it runs.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Protocol

from .evaluator import Evaluator
from .lookup import lookup
from .module import Function, Module
from .nodes import OPERATORS
from .promises import promised
from .values import Value

_KEEPS_CLASS = (
    rb"\b(?:tv_tensors|datapoints|ToImage|wrap_dataset_for_transforms_v2)\b",
    rb"\b(?:import|from) monai\b",
    rb"\bas_subclass\b",
)
"""How a program uses subclasses of Tensor that are none of its own: those of torchvision stay what they are by some methods alone."""
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OVERRIDE = rb"__torch_(?:function|dispatch)__\b"
"""How a class says that functions of torch do something else with its objects, or as long as it is entered."""
_NESTED = (ast.Tuple, ast.List, ast.Starred)


class Code(Protocol):
    """What is asked of the project."""

    def value(self, function: Function, node: ast.expr) -> Value: ...
    def inside(self, function: Function, ask: Callable[[Evaluator], Value]) -> Value: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def definers(self, name: str) -> list[str]: ...
    def any_holds(self, pattern: bytes, places: str = "", *, word: bytes = b"") -> bool: ...


class _Certain(ABC):
    """The expressions of a module that surely are of one kind."""

    def __init__(self, code: Code, module: Module) -> None:
        self._code = code
        self._module = module
        self._scopes = lookup(module)
        self._taken: set[ast.AST] = set()
        """What binds the names that are looked into: a name that is bound to something made of itself is what else binds it."""

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression is of that kind wherever it has a value."""
        match node:
            case ast.Name():
                binders = self._scopes.binders(node, node.id)
                return self._is_own(node, binders) and all(self._is_bound(one) for one in binders)
            case ast.NamedExpr():
                return self.holds(node.value)
            case ast.IfExp():
                return self.holds(node.body) and self.holds(node.orelse)
        return self._is_made(node)

    @abstractmethod
    def _is_made(self, node: ast.expr) -> bool:
        """Whether an expression that passes nothing on is of that kind."""

    @abstractmethod
    def _is_meant(self, promise: Value) -> bool:
        """Whether the annotation of a parameter says so."""

    def _stays(self, change: ast.AugAssign) -> bool:
        """Whether `x += y` leaves x of that kind."""
        return False

    def _part_of(self, value: ast.expr, target: ast.expr) -> bool:
        """Whether what a target gets of a value, one of its parts or rows, is of that kind."""
        return False

    def _is_own(self, read: ast.Name, binders: list[ast.AST]) -> bool:
        """Whether only its file binds a name."""
        return bool(binders)

    def _is_bound(self, binder: ast.AST) -> bool:
        if binder in self._taken:
            return True
        self._taken.add(binder)
        if isinstance(binder, ast.arg):
            return self._is_promised(binder)
        return isinstance(binder, ast.Name) and (isinstance(binder.ctx, ast.Del) or self._is_assigned(binder))

    def _is_promised(self, parameter: ast.arg) -> bool:
        given = self._scopes.parent(parameter)
        rest = isinstance(given, ast.arguments) and parameter in (given.vararg, given.kwarg)
        annotation = parameter.annotation
        if rest or annotation is None:
            return False
        return self._is_meant(self._code.inside(self._function(parameter), lambda values: promised(values, annotation)))

    def _is_assigned(self, target: ast.Name) -> bool:
        """Whether what a name is assigned is of that kind: by itself, as a part, or row by row."""
        path: list[ast.expr] = [target]
        around = self._scopes.parent(target)
        while isinstance(around, _NESTED):
            path.append(around)
            around = self._scopes.parent(around)
        match around:
            case ast.Assign(value=value) | ast.NamedExpr(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return self._is_put(value, path)
            case ast.AugAssign():
                return self._stays(around)
            case ast.For() | ast.comprehension():
                return len(path) == 1 and self._part_of(around.iter, target)
        return False

    def _is_put(self, value: ast.expr, path: list[ast.expr]) -> bool:
        """Whether what is assigned to the last of nested targets gives the first one something of that kind."""
        *inner, target = path
        if not inner:
            return self.holds(value)
        if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(one, ast.Starred) for one in target.elts):
            return False
        if not isinstance(value, ast.Tuple | ast.List):
            return len(inner) == 1 and self._part_of(value, inner[0])
        if len(value.elts) != len(target.elts) or any(isinstance(one, ast.Starred) for one in value.elts):
            return False
        at = next(index for index, one in enumerate(target.elts) if one is inner[-1])
        return self._is_put(value.elts[at], inner)

    def _value(self, node: ast.expr) -> Value:
        return self._code.value(self._function(node), node)

    def _function(self, node: ast.AST) -> Function:
        """The function that a node belongs to."""
        around = self._scopes.parent(node)
        while around is not None and around not in self._module.function_of:
            around = self._scopes.parent(around)
        return self._module.function_of[around] if around is not None else self._module.body


class Valued(_Certain):
    """What surely has a value of some kind: a device, and no dtype or tensor that `.to` takes as well."""

    def __init__(self, code: Code, module: Module, accepts: Callable[[Value], bool]) -> None:
        super().__init__(code, module)
        self._accepts = accepts

    def _is_made(self, node: ast.expr) -> bool:
        value = self._value(node)
        return self._accepts(value) and value.proven and not value.other_kinds - {"none"}

    def _is_meant(self, promise: Value) -> bool:
        return self._accepts(promise)


class Made(_Certain):
    """What a function surely got from calls of some functions of torch."""

    def __init__(self, code: Code, module: Module, by: Collection[str]) -> None:
        super().__init__(code, module)
        self._by = by

    def _is_made(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._code.resolve(self._function(node), node.func) in self._by

    def _is_meant(self, promise: Value) -> bool:
        return False

    def _is_own(self, read: ast.Name, binders: list[ast.AST]) -> bool:
        return bool(binders) and all(self._function(read) is self._function(binder) for binder in binders)


class Tensors(_Certain):
    """What surely is a tensor."""

    def __init__(self, code: Code, module: Module) -> None:
        super().__init__(code, module)
        self.words: set[str] = set()
        """The functions and methods of torch that the proof rests on."""

    def holds(self, node: ast.expr) -> bool:
        return not self._code.any_holds(_OVERRIDE) and super().holds(node)

    def _is_made(self, node: ast.expr) -> bool:
        match node:
            case ast.UnaryOp():
                return not isinstance(node.op, ast.Not) and self.holds(node.operand)
            case ast.BinOp():
                return self._is_calculated(node)
            case ast.Compare(left=left, ops=[order], comparators=[right]):
                return isinstance(order, _ORDERS) and self.holds(left) and (self._is_number(right) or self.holds(right))
            case ast.Subscript():
                return self.holds(node.value)
            case ast.Attribute():
                return self._value(node).is_tensor and self.holds(node.value)
            case ast.Call():
                return self._value(node).is_tensor and self._is_of_torch(node)
        return False

    def _is_meant(self, promise: Value) -> bool:
        return (
            promise.is_tensor and promise.other_kinds <= {"none"} and not any(map(self._code.any_holds, _KEEPS_CLASS))
        )

    def _stays(self, change: ast.AugAssign) -> bool:
        return self._leaves(change.op, change.value)

    def _part_of(self, value: ast.expr, target: ast.expr) -> bool:
        if isinstance(value, ast.Call) and not self._value(value).is_tensor:
            return self._value(target).is_tensor and self._is_of_torch(value)  # one of several that it gives
        return self.holds(value)

    def _is_own(self, read: ast.Name, binders: list[ast.AST]) -> bool:
        # Other files may bind what a function reads of its module.
        body = self._module.body
        local = self._function(read) is body or all(self._function(binder) is not body for binder in binders)
        return bool(binders) and local

    def _is_calculated(self, node: ast.BinOp) -> bool:
        if self._tried(node.left):
            return self._leaves(node.op, node.right)
        plain = isinstance(node.left, ast.Constant | ast.UnaryOp)
        return plain and self._is_number(node.left) and self.holds(node.right)

    def _leaves(self, operator: ast.operator, right: ast.expr) -> bool:
        """Whether what stands behind an operator leaves the result to the tensor before it."""
        return self._is_number(right) or self._tried(right) or not self._may_take_over(operator)

    def _may_take_over(self, operator: ast.operator) -> bool:
        """Whether a class of the project has its own method for what stands on the right, by a `def` or `__rmul__ = __mul__`."""
        method = f"__r{OPERATORS[type(operator)]}__"
        word = method.encode()
        return bool(self._code.definers(method)) or self._code.any_holds(rb"\b%s *=" % word, word=word)

    def _tried(self, node: ast.expr) -> bool:
        """Whether it holds, where the proof may go on without it: what was taken for granted on the way is not any more."""
        taken = self._taken.copy()
        found = self.holds(node)
        if not found:
            self._taken = taken
        return found

    def _is_number(self, node: ast.expr) -> bool:
        return self._value(node).kind == "number"

    def _is_of_torch(self, call: ast.Call) -> bool:
        """Whether a call is one of torch: of a function, or of a method of what surely is a tensor."""
        func = call.func
        name = self._code.resolve(self._function(call), func) or ""
        method = func.attr if isinstance(func, ast.Attribute) else ""
        if not name.startswith("torch.") and not (isinstance(func, ast.Attribute) and self.holds(func.value)):
            return False
        self.words.add(name.rpartition(".")[2] or method)
        return True
