"""Which masked loads of a Triton kernel reach a reduction with their masked elements undefined."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from . import triton
from .triton import Kernel

REDUCTIONS = frozenset(
    ("sum", "max", "min", "argmax", "argmin", "xor_sum", "cumsum", "cumprod", "softmax", "reduce", "dot")
)
_ELEMENTWISE = frozenset(
    ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "sigmoid", "cos", "sin", "maximum", "minimum", "cast", "fma")
)
_METHODS = frozenset(("to", "cast"))


class _Holes(NamedTuple):
    """Undefined elements: the load they come from, and the dimensions along which the mask cuts; of how many."""

    load: ast.Call
    axes: frozenset[int]
    dims: int


_State = dict[str, tuple[_Holes, ...]]


def unfilled(kernel: Kernel) -> list[tuple[ast.Call, str]]:
    """The masked loads without `other` that are reduced along a masked dimension, each with the first reduction."""
    found: dict[ast.Call, str] = {}
    assert not isinstance(kernel.node, ast.Module)
    _Walk(kernel, found).block(kernel.node.body, {})
    return sorted(found.items(), key=lambda item: item[0].lineno)


class _Walk:
    """One pass over the statements in order; a loop's body is gone through once."""

    def __init__(self, kernel: Kernel, found: dict[ast.Call, str]) -> None:
        self.kernel = kernel
        self.found = found

    def block(self, body: list[ast.stmt], state: _State) -> None:
        for statement in body:
            for expression in _own(statement):
                self.look(expression, state)
            self.bind(statement, state)
            if isinstance(statement, ast.If):
                other = dict(state)
                self.block(statement.body, state)
                self.block(statement.orelse, other)
                for name in state.keys() | other.keys():
                    state[name] = tuple(dict.fromkeys((*state.get(name, ()), *other.get(name, ()))))
            elif isinstance(statement, ast.For | ast.While):
                self.block(statement.body, state)

    def bind(self, statement: ast.stmt, state: _State) -> None:
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            state[statement.targets[0].id] = self.holes(statement.value, state)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            state[statement.target.id] = (*state.get(statement.target.id, ()), *self.holes(statement.value, state))

    def look(self, expression: ast.expr, state: _State) -> None:
        """Note the reductions in an expression that take undefined elements."""
        for node in ast.walk(expression):
            name = triton.language(self.kernel.function, node.func) if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and name in REDUCTIONS and node.args:
                assert name is not None
                for argument, axis in _reduced(name, node):
                    for hole in self.holes(argument, state):
                        if axis is None or axis % hole.dims in hole.axes:
                            self.found.setdefault(hole.load, name)

    def holes(self, expression: ast.expr, state: _State) -> tuple[_Holes, ...]:
        if isinstance(expression, ast.Name):
            return state.get(expression.id, ())
        if isinstance(expression, ast.UnaryOp):
            return self.holes(expression.operand, state)
        if isinstance(expression, ast.BinOp):
            return (*self.holes(expression.left, state), *self.holes(expression.right, state))
        if isinstance(expression, ast.Subscript):
            return tuple(
                _broadcast(hole, expression.slice)
                for hole in self.holes(expression.value, state)
                if _spread(expression.slice)
            )
        if isinstance(expression, ast.Call):
            return tuple(self.of_call(expression, state))
        return ()

    def of_call(self, call: ast.Call, state: _State) -> Iterator[_Holes]:
        function = self.kernel.function
        name = triton.language(function, call.func)
        if name == "load" and (mask := triton.mask_of("load", call)) is not None and triton.other_of(call) is None:
            axes, dims = self.axes(mask)
            if axes:
                yield _Holes(call, axes, dims)
        elif name in _ELEMENTWISE or (name is not None and name.startswith("math.")):
            for argument in call.args:
                yield from self.holes(argument, state)
        elif name is None and isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
            yield from self.holes(call.func.value, state)

    def axes(self, mask: ast.expr) -> tuple[frozenset[int], int]:
        """The dimensions that a mask cuts, and how many there are; none where a block of it can't be told apart."""
        subscripts = [node.slice for node in self.kernel.made_of(mask) if isinstance(node, ast.Subscript)]
        spread = [slices for slices in subscripts if _spread(slices)]
        if len(spread) != len(subscripts):
            return frozenset(), 0
        if not spread:
            return (frozenset((0,)), 1) if "arange" in self.kernel.uses(mask) else (frozenset(), 0)
        dims = {len(s.elts) for s in spread if isinstance(s, ast.Tuple)}
        return frozenset(_place(s) for s in spread), max(dims)


def _own(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement itself, not of the statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield child


def _reduced(name: str, call: ast.Call) -> Iterator[tuple[ast.expr, int | None]]:
    """The arguments of a reduction, each with the dimension that is reduced (None: all)."""
    if name == "dot":
        yield from zip(call.args[:2], (-1, -2), strict=False)
        return
    axis = next(
        (k.value for k in call.keywords if k.arg in ("axis", "dim")), call.args[1] if len(call.args) > 1 else None
    )
    default = {"cumsum": 0, "cumprod": 0}.get(name)
    if axis is None:
        yield call.args[0], default
    elif isinstance(axis, ast.Constant) and (axis.value is None or isinstance(axis.value, int)):
        yield call.args[0], axis.value


def _spread(slices: ast.expr) -> bool:
    """Whether a subscript makes a block of more dimensions out of one: `[:, None]`."""
    return (
        isinstance(slices, ast.Tuple)
        and sum(isinstance(s, ast.Slice) for s in slices.elts) == 1
        and len(slices.elts) > 1
    )


def _place(slices: ast.expr) -> int:
    assert isinstance(slices, ast.Tuple)
    return next(at for at, s in enumerate(slices.elts) if isinstance(s, ast.Slice))


def _broadcast(hole: _Holes, slices: ast.expr) -> _Holes:
    assert isinstance(slices, ast.Tuple)
    return _Holes(hole.load, frozenset((_place(slices),)), len(slices.elts))
