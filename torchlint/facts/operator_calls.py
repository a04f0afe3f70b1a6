"""Calls of torch's operators as the table of operators (torch_api/) describes them."""

from __future__ import annotations

import ast

from ..torch_api.operators import Operator, operator
from .arguments import Arguments
from .operator_results import holds
from .place import Place
from .values import Value


def operator_call(place: Place, call: ast.Call) -> tuple[Operator, Arguments] | None:
    """The operator that a call calls, as a function or as a method of what may be a tensor, and its arguments."""
    args = Arguments.of(call, place.value)
    name = place.resolve(call.func)
    if name is None and isinstance(call.func, ast.Attribute):
        name = f"torch.Tensor.{call.func.attr}"
        base = place.value(call.func.value)
        if base.kind != "tensor" and not is_sent(base):
            return None
        args = Arguments([base, *args.positional], args.keywords, args.open)
    row = operator(name) if name is not None else None
    return (row, args) if row is not None else None


def is_sent(value: Value) -> bool:
    """Whether something was sent to the device, `y.cuda()`: with a tensor's method, or in the place of one, it is a tensor, whatever else is known."""
    return value.kind in ("tensor", "unknown") and value.device == "accelerator" and not value.other_kinds


def waits(place: Place, call: ast.Call) -> bool:
    """Whether an operator makes the host wait for the device, unless its tensors, or those that it reads, are all in host memory."""
    found = operator_call(place, call)
    if found is None:
        return False
    row, args = found
    if not row.waits or holds(row, row.waits, args) is not True:
        return False
    read = [args.get(row.position(name), name) for name in row.reads]
    given = read if read else (*args.positional, *args.keywords.values())
    tensors = [value for value in given if value is not None and value.kind == "tensor"]
    return not tensors or not all(value.on_cpu for value in tensors)


def has_dynamic_shape(place: Place, call: ast.Call) -> bool:
    """Whether the shape of what an operator gives depends on values."""
    found = operator_call(place, call)
    return found is not None and holds(found[0], found[0].dynamic, found[1]) is True


def changes_its_tensor(method: str) -> bool:
    """Whether a method writes into the tensor that it is called on: `add_`, `copy_`; `requires_grad_` changes no values."""
    row = operator(f"torch.Tensor.{method}") if method.endswith("_") and method != "requires_grad_" else None
    return row is not None and row.alias == "self"


_NO_TENSOR = frozenset("int bool number float str dtype device size extent list ndarray int64 int64s".split())
_NO_GRADIENT = frozenset(("bool", "int64", "int32"))


def carries_no_graph(name: str) -> bool:
    """Whether an operator gives a Python object of values or sizes, a tensor of booleans or integers, or a new one that is like another."""
    row = operator(name)
    if row is None:
        return False
    results = (row.returns, *(result for _, result in row.when))
    is_like = row.device == "like" and (name.endswith("_like") or ".new_" in name)
    return is_like or row.dtype in _NO_GRADIENT or all(result.kind in _NO_TENSOR for result in results)
