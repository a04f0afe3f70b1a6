"""What each kind of expression evaluates to, and the values of a function that are told so."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..query.database import Database
from . import batches, common_names, fixed_options, names, operations, operator_results
from . import torch_table as table
from .binding_values import BINDINGS, tested
from .call_values import CASTS, call
from .elements import element, subscript
from .evaluator import Evaluator, Reader, World
from .fetched import fetched, source
from .literals import holds
from .members import attribute, by_operator
from .module import Function
from .nodes import none_test, string
from .syntax import gives_places, same
from .used_as_tensor import gives_tensor
from .values import (
    ACCELERATORS,
    BOOL,
    LIKELY,
    LIST,
    NDARRAY,
    NUMBER,
    ON_ACCELERATOR,
    Device,
    Dict,
    FunctionValue,
    List,
    Tensor,
    Text,
    Tuple,
    Value,
    bounded,
    constant,
    device_of_string,
    join,
    join_all,
    replace,
)

_OF_COMPARED = CASTS | table.TENSOR_ONLY | {"byte", "cpu", "cuda", "to", "type"}
"""Methods of tensors that neither a bool of Python nor an array of them has."""


def _joined(values: Evaluator, node: ast.JoinedStr) -> Value:
    text = string(node.values[0]) if node.values else None
    return Text(device=device_of_string(text.rstrip(":")) if text else "")


def _unary(values: Evaluator, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        held = holds(values, node)
        return BOOL if held is None else constant(held)
    value = values.expr(node.operand)
    if isinstance(node.op, ast.USub) and isinstance(value.const, int | float):
        return constant(-value.const)
    return value.without_const()


def _binary(values: Evaluator, node: ast.BinOp) -> Value:
    left, right = values.expr(node.left), values.expr(node.right)
    if given := by_operator(values, left, node.op):
        return given
    return operations.binary(_weighed(node.left, left, right), _weighed(node.right, right, left), node.op)


def _weighed(node: ast.expr, value: Value, other: Value) -> Value:
    """A number, where an option of the program is calculated with a number or a single value: `args.weight * loss`."""
    single = value.kind == "unknown" and (other.kind == "number" or (other.kind == "tensor" and other.scalar))
    named = single and isinstance(node, ast.Attribute) and common_names.OPTIONS_NAME.search(names.last(node.value))
    return replace(NUMBER, certainty=LIKELY) if named else value


def _boolop(values: Evaluator, node: ast.BoolOp) -> Value:
    value = values.expr(node.values[0])
    for other in node.values[1:]:
        both = value, values.expr(other)
        value = join(*both)
        if value.kind == "number" and any(v.kind == "number" and v.needs_accelerator for v in both):
            value = replace(value, needs_accelerator=True)
    return value


def _compare(values: Evaluator, node: ast.Compare) -> Value:
    if (held := holds(values, node)) is not None:
        return constant(held)
    if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
        return BOOL
    sides = [values.expr(node.left), *map(values.expr, node.comparators)]
    if isinstance(node.left, ast.Attribute) and node.left.attr == "type" and isinstance(node.ops[0], ast.Eq):
        # `device.type == "cuda"` holds where there is one.
        return ON_ACCELERATOR if sides[1].const in ACCELERATORS else BOOL
    tensors = [v for v in sides if v.kind == "tensor"]
    others = [v for v in sides if v.kind != "tensor"]
    if tensors and not any(v.kind in ("none", "str") for v in others):
        certainty = max(v.certainty for v in tensors)
        scalar = all(v.scalar for v in tensors) and all(v.kind == "number" for v in others)
        return Tensor(certainty, device=_compared_on(sides), boolean=True, scalar=scalar)
    if any(v.kind == "ndarray" for v in sides):
        return NDARRAY
    if _is_of_moved(sides):
        return Tensor(LIKELY, device="accelerator", boolean=True)
    if _asked_as_tensor(values, node):
        return Tensor(LIKELY, device=operator_results.mixed(*sides), boolean=True)
    return BOOL


def _is_of_moved(sides: list[Value]) -> bool:
    """Whether numbers are compared with what was moved to the device: neither a module nor a batch is more or less than one."""
    moved = [side for side in sides if side.kind == "unknown" and side.device == "accelerator"]
    return bool(moved) and all(side in moved or (side.kind == "number" and not side.other_kinds) for side in sides)


def _compared_on(sides: list[Value]) -> Device:
    """Where a comparison runs: beside a tensor of the host, what only may be a tensor is a number, or on the host as well."""
    if any(side.is_tensor and side.on_cpu for side in sides):
        sides = [side for side in sides if side.kind != "tensor" or side.proven or side.device]
    return operator_results.mixed(*sides)


def _asked_as_tensor(values: Evaluator, node: ast.Compare) -> bool:
    """`(x >= y).float()`, `(x >= y).nonzero().view(-1)`, `(x > 0).any(dim=1)`: neither a bool of Python nor an array of them has such a method."""
    around = values.function.flow.parents.get(node)
    if not isinstance(around, ast.Attribute):
        return False
    if around.attr in _OF_COMPARED:
        return True
    call = values.function.flow.parents.get(around)
    if not isinstance(call, ast.Call):
        return False
    return gives_places(values.function.flow, call) if around.attr == "nonzero" else gives_tensor(around.attr, call)


def _ifexp(values: Evaluator, node: ast.IfExp) -> Value:
    if _is_scripting(node.test):
        return values.expr(node.orelse)
    held = fixed_options.truth(values.function.module, node.test)
    if held is None:
        held = holds(values, node.test)
    if held is not None:
        return values.expr(node.body if held else node.orelse)
    name = fetched(node.test, node.body)
    if name is not None and name == source(node.orelse):
        return values.expr(node.body)
    one, other = values.expr(node.body), _otherwise(values, node)
    if one.kind != other.kind and (given := _is_given(values, node.test)) is not None:
        return one if given else other
    return join(one, other)


def _is_given(values: Evaluator, test: ast.expr) -> bool | None:
    """Whether `size is not None` holds of a parameter that all calls give something; None where that is not known."""
    asked = none_test(test)
    name = asked[0].id if asked is not None and isinstance(asked[0], ast.Name) else None
    if asked is None or name not in values.parameters or name in values.function.flow.stores:
        return None
    passed = values.world.parameter(values.function, name)
    is_there = passed.proven and passed.kind not in ("unknown", "none") and not {"none", "unknown"} & passed.other_kinds
    return not asked[1] if is_there else None


def _otherwise(values: Evaluator, node: ast.IfExp) -> Value:
    """What an expression is where a test is false; one of `x["a"].item() if hasattr(x["a"], "item") else x["a"]` is no tensor."""
    asked = names.type_tested(node.test) or names.asked_for_method(node.test)
    if isinstance(asked, ast.Subscript) and isinstance(node.test, ast.Call) and same(asked, node.orelse):
        return tested(values, node.test, False)
    return values.expr(node.orelse)


def _tuple(values: Evaluator, node: ast.Tuple) -> Value:
    items = tuple(values.expr(e) for e in node.elts)
    if any(isinstance(e, ast.Starred) for e in node.elts):
        return Tuple(element=join_all(items))
    return Tuple(items=items)


def _list(values: Evaluator, node: ast.List | ast.Set) -> Value:
    items = [values.expr(e) for e in node.elts]
    if not items:
        return LIST
    known = tuple(items) if not any(isinstance(e, ast.Starred) for e in node.elts) and len(items) <= 8 else None
    return bounded(List(element=join_all(items), items=known, made_by=node))


def _dict(values: Evaluator, node: ast.Dict) -> Value:
    keys: dict[str, Value] = {}
    elem: Value | None = None
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = values.expr(value_node)
        if key is None:
            keys.update(value.entries or {})
            given = batches.held(value)
            elem = given if elem is None else join(elem, given)
            continue
        name = string(key)
        if name is not None:
            keys[name] = value
        elem = value if elem is None else join(elem, value)
    return bounded(Dict(entries=keys, element=elem, made_by=node))


def _is_scripting(test: ast.expr) -> bool:
    """Whether a condition holds in torch.jit only: `torch.jit.is_tracing() and ...`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_is_scripting, test.values))
    return isinstance(test, ast.Call) and names.last(test.func) in ("is_tracing", "is_scripting")


EXPRESSIONS: dict[type[ast.expr], Reader] = {
    ast.Constant: lambda values, node: constant(node.value),
    ast.JoinedStr: _joined,
    ast.Name: Evaluator.name,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolop,
    ast.Compare: _compare,
    ast.IfExp: _ifexp,
    ast.NamedExpr: lambda values, node: values.expr(node.value),
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.GeneratorExp),
        lambda values, node: List(element=values.expr(node.elt), made_by=node),
    ),
    ast.DictComp: lambda values, node: Dict(element=values.expr(node.value)),
    ast.Lambda: lambda values, node: FunctionValue(LIKELY, made_by=node, made_in=values.function.module),
    ast.Starred: lambda values, node: element(values, values.expr(node.value), None),
    ast.Await: lambda values, node: values.expr(node.value),
    ast.Call: call,
}


def evaluator(function: Function, world: World, database: Database, given: Mapping[str, Value]) -> Evaluator:
    """The values in one function; `given` is what parameters are for one call, or one object, among many."""
    return Evaluator(function, world, database, EXPRESSIONS, BINDINGS, given)
