"""What the table of torch's operators says that a call gives for its arguments, and where that is."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..torch_api.operators import Atom, Condition, Operator, Result, When, operator
from . import torch_table as table
from .arguments import Arguments, device_of
from .moves import INTEGER_DTYPES
from .values import (
    BOOL,
    CONTEXT,
    DEVICE,
    DTYPE,
    EXTENT,
    INTEGER,
    NDARRAY,
    NONE,
    NUMBER,
    SIZE,
    STR,
    TENSOR,
    UNKNOWN,
    Device,
    Tensor,
    Tuple,
    Value,
    replace,
    sequence,
    tensor,
)

INTEGERS = frozenset(("int64", "int32"))
_MAKING = frozenset(("factory", "host"))
_OF_FIRST = frozenset(("self", "view", "maybe"))
"""What gives its first tensor, or a part of it: `x.add_(y)`, `x.expand_as(y)`."""
DEFAULT_DEVICE = b"set_default_device("
SETS_TYPE = b"set_default_tensor_type"
DEFAULT_TYPE = rb"(?m)^[ \t]*(?:torch\.)?set_default_tensor_type\([^\n]*cuda"
"""A statement that has tensors made on an accelerator, in whatever file."""
_ANYTHING = frozenset(("unknown",))
_PLAIN: dict[str, Value] = {
    "int": INTEGER,
    "bool": BOOL,
    "number": NUMBER,
    "float": NUMBER,
    "str": STR,
    "dtype": DTYPE,
    "device": DEVICE,
    "size": SIZE,
    "extent": EXTENT,
    "list": sequence(NUMBER),
    "ndarray": NDARRAY,
    "context": CONTEXT,
    "none": NONE,
}
"""What the results of operators that are no tensors are, by the table's word."""


def result_of(row: Operator | None, args: Arguments) -> Result | None:
    """What the table says that a call gives for its arguments; None where that is not known."""
    if row is None:
        return None
    for condition, result in row.when:
        held = _all_hold(row, condition, args)
        if held is not False:
            return result if held else None
    return row.returns


def holds(row: Operator, when: When, args: Arguments) -> bool | None:
    """Whether one of several conditions of a row holds for a call; None where the arguments don't tell."""
    held: bool | None = False
    for condition in when:
        one = _all_hold(row, condition, args)
        if one:
            return True
        held = None if one is None else held
    return held


def _all_hold(row: Operator, condition: Condition, args: Arguments) -> bool | None:
    held: bool | None = True
    for atom in condition:
        one = _asked(row, atom, args)
        if one is atom.negated:
            return False
        held = None if one is None else held
    return held


def _asked(row: Operator, atom: Atom, args: Arguments) -> bool | None:
    """What a condition asks of one argument, before it is negated."""
    at = row.position(atom.argument)
    value = args.get(at, atom.argument)
    if atom.asks == "unknown":
        return None
    if value is None:
        return None if args.open else False
    if value.kind == "none":
        return None if value.other_kinds else False
    if atom.asks == "given":
        others = row.params[at] if at >= 0 and atom.argument not in args.keywords else {}
        if len(others) < 2:
            return None if "none" in value.other_kinds else True
        if any(atom.argument in names for names in row.params[at + 1 : len(args.positional)]):
            return True  # further behind, as in the other overload
        # Overloads have another argument in its place: what stands there tells which.
        if value.kind in ("unknown", "batch") or not value.proven:
            return None
        return others[atom.argument] == {"tensor": "tensor", "list": "tensors", "tuple": "tensors"}.get(
            value.kind, "other"
        )
    if atom.asks == "tensor":
        if value.kind in ("unknown", "batch") or value.other_kinds or (value.kind == "tensor" and not value.proven):
            return None
        return value.kind == "tensor"
    if value.const is None:
        return None
    return value.const is True if atom.asks == "true" else str(value.const) == atom.value


def mixed(*values: Value) -> Device:
    """Where an operation on these values runs."""
    devices = {v.device for v in values if v.kind in ("tensor", "module", "batch") or (v.device == "cpu" and not v)}
    if "accelerator" in devices:
        return "accelerator"
    # A tensor of the host that is not known to have dimensions goes along with one of the device: what a model gave has some.
    has_dimensions = any(isinstance(v, Tensor) and v.on_cpu and (v.sized or v.grad) and not v.scalar for v in values)
    return "cpu" if devices == {"cpu"} or has_dimensions else ""


_JOINS = frozenset(f"torch.{name}" for name in ("cat", "concat", "stack", "hstack", "vstack"))
"""What gives a tensor with dimensions, whatever it is given."""
_OF_TWO = frozenset(("min", "max", "minimum", "maximum"))
"""What picks of two tensors element by element, and keeps their dtype."""
_OF_TENSORS = ("clone", "detach")
_OF_DATA = ("torch.tensor", "torch.as_tensor")
"""What gives a tensor the type of the numbers that it is given."""


def operation(row: Operator | None, node: ast.Call, args: Arguments) -> Value:
    """What a function or method of torch gives; of a method the tensor is the first argument."""
    result = result_of(row, args)
    if row is None or result is None:
        return UNKNOWN
    if result.kind in _PLAIN:
        return _PLAIN[result.kind]
    # What a factory is given says nothing of what it makes: it may be long to tell.
    values = [] if row.device in _MAKING and not row.alias else [*args.positional, *args.keywords.values()]
    device = _place(row, args, values)
    grad = not row.device and any(value.grad for value in values)
    if result.kind not in ("tensor", "int64"):
        return made(result, device, grad)
    integer = result.kind == "int64" or row.dtype in INTEGERS
    boolean = row.dtype == "bool"
    if row.alias and not row.dtype and values and values[0].kind == "tensor":
        # A view has the dtype of what it shows, unless it is asked for another one.
        shown = values[0] if not any(value.kind == "dtype" for value in values[1:]) else TENSOR
        integer, boolean = integer or shown.integer, shown.boolean
    elif row.name.rpartition(".")[2] in table.KEEP_DTYPE and values:
        # Of several tensors, `torch.stack((a, b))`, each has to be of that dtype.
        first = values[0].element or (values[0].items or values)[0]
        integer, boolean = integer or first.integer, boolean or _is_boolean(first)
    elif row.name.rpartition(".")[2] in _OF_TWO and len(values) == 2 and all(one.kind == "tensor" for one in values):
        # The least of two masks is one.
        integer, boolean = all(one.integer for one in values), all(map(_is_boolean, values))
    elif row.name in _OF_DATA and values and values[0].kind == "list":
        each = values[0].element
        boolean = each is not None and each.kind == "number" and each.boolean and not each.other_kinds
    elif row.name == "torch.arange":
        bounds = [
            *args.positional,
            *(args.keywords[name] for name in ("start", "end", "step") if name in args.keywords),
        ]
        integer = bool(bounds) and all(one.kind == "number" and one.integer and not one.other_kinds for one in bounds)
    given = args.keywords.get("dtype")
    if given is not None and given.class_name:
        boolean, integer = given.class_name == "torch.bool", given.class_name in INTEGER_DTYPES
    is_loss = _is_loss_row(row)
    data = values[0] if values else UNKNOWN
    of_number = row.device == "data" and data.kind == "number"
    if data.kind == "tensor" and row.name.rpartition(".")[2] in table.UNARY:
        of_number = data.scalar
    pinned = args.keywords.get("pin_memory") if row.device in ("factory", "data") else None
    return Tensor(
        device=device,
        pinned=True if pinned is not None and pinned.const is True else None,
        scalar=of_number or (holds(row, row.scalar, args) is True and not (is_loss and _is_unreduced(row, args))),
        boolean=boolean,
        grad=(grad or is_loss) and not boolean and not integer,
        integer=integer,
        sized=_has_dimensions(row, args)
        or row.name in _JOINS
        or (data.kind == "tensor" and data.sized and _is_elementwise(row)),
        made_by=node,
        other_kinds=_ANYTHING if not device and _are_only_tested(values) else frozenset(),
    )


def _has_dimensions(row: Operator, args: Arguments) -> bool:
    """Whether a factory makes a tensor with dimensions: `torch.zeros(n)`, `torch.arange(n)`, not `torch.zeros(())`."""
    if row.device not in _MAKING or row.alias or not args.positional:
        return False
    size = args.first
    return size.kind in ("number", "size", "unknown") or (size.kind in ("tuple", "list") and size.items != ())


def _is_elementwise(row: Operator) -> bool:
    """Whether a function or method gives a tensor of the shape of its first one."""
    return row.name.rpartition(".")[2] in table.UNARY


def _are_only_tested(values: Sequence[Value]) -> bool:
    """Whether a test of its type is all that tells of each tensor: what is calculated of them may live anywhere, as they may."""
    tensors = [value for value in values if value.kind == "tensor"]
    return bool(tensors) and all(value.only_tested for value in tensors)


def hangs_on_default(name: str, args: Arguments) -> bool:
    """Whether a call makes a tensor where `torch.set_default_device` says: a factory that is given no device."""
    row = operator("torch.full" if name == table.CAUSAL_MASK else name)
    if row is None or row.device not in ("factory", "data") or "device" in args.keywords:
        return False
    return row.device == "factory" or not args.positional or args.first.kind != "tensor"


def _place(row: Operator, args: Arguments, values: Sequence[Value]) -> Device:
    """Where the tensors that a call gives live."""
    if row.device == "host":
        return "cpu"
    given = args.keywords.get("device") if row.device else None
    if given is not None:
        return device_of(given)
    if (row.device == "data" or row.alias in _OF_FIRST) and values and values[0].kind == "tensor":
        # Of a tensor `torch.tensor` warns: what only seems to be one, a parameter, is mostly a number there.
        is_tensor = values[0].proven or row.name != "torch.tensor" or is_copied(values[0])
        return values[0].device if is_tensor else "cpu"
    if row.device in ("factory", "data"):
        out = args.keywords.get("out")
        if out is not None:
            return out.device if out.is_tensor else ""
        return "" if args.named else "cpu"  # `*sizes` brings no device, which is given by name
    # `torch.div(size, 2)`: what is calculated from Python's numbers lives in host memory. A comparison may be a tensor.
    numbers = (
        bool(args.positional)
        and not args.open
        and all(v.kind == "number" and not v.boolean and "unknown" not in v.other_kinds for v in args.positional)
    )
    if numbers:
        return "cpu"
    parts = [part for value in (*values, *args.starred) for part in _held(value)]
    devices = {part.device for part in parts}
    alike = _is_loss_row(row) or any(value.kind in ("list", "tuple") for value in values[:1])
    if alike and "cpu" in devices and "accelerator" not in devices:
        return "cpu"  # a loss takes all of its tensors from one device, as does `torch.cat([a, b])`
    if row.name in _JOINS and parts and all(part.device == "accelerator" for part in parts):
        return "accelerator"  # whatever `x` of `torch.stack([x.cuda() for x in xs])` is
    return mixed(*parts)


def is_copied(value: Value) -> bool:
    """`x.clone()`, `x.detach()`: what no number has."""
    made = value.made_by
    return isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in _OF_TENSORS


def _is_loss_row(row: Operator) -> bool:
    return any(atom.argument == "reduction" for condition in row.scalar for atom in condition)


def _is_unreduced(row: Operator, args: Arguments) -> bool:
    """Whether a loss may be told by its old argument, `reduce=False`, to give the loss of each element."""
    reduce = args.get(row.position("reduce"), "reduce")
    return reduce is not None and reduce.const is not True and reduce.kind != "none"


def _held(value: Value) -> Sequence[Value]:
    """The tensors of `torch.cat([a, b])`; a value that is no list itself."""
    if value.kind not in ("list", "tuple"):
        return (value,)
    return value.items if value.items is not None else (value.element,) if value.element is not None else ()


def gives_no_tensor(method: str) -> bool:
    """Whether a tensor has a method of that name, which gives something else."""
    row = operator(f"torch.Tensor.{method}")
    return row is not None and (row.returns.kind in _PLAIN or row.returns.kind == "object")


def made(result: Result, device: Device, grad: bool) -> Value:
    """A result of the table, or one item of it, as a value."""
    if result.on_host:
        device, grad = "cpu", False
    if result.kind == "tuple":
        items = tuple(made(item, device, grad) for item in result.items)
        named = {name: one for name, one in zip(result.names, items, strict=True) if name}
        return Tuple(items=items, entries=named)
    if result.kind in ("tensors", "int64s"):
        return sequence(made(Result(result.kind[:-1]), device, grad))
    if result.kind == "tensor":
        return tensor(device, grad=grad)
    if result.kind in INTEGERS:
        return replace(tensor(device), integer=True)
    return _PLAIN.get(result.kind, UNKNOWN)


def _is_boolean(value: Value) -> bool:
    return value.kind == "tensor" and value.boolean
