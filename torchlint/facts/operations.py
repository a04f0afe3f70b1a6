"""What operators, attributes and methods give for values, whatever function they stand in; and what names promise."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from . import batches, calls, common_names, moves, names, operator_results
from . import torch_table as table
from .arguments import Arguments
from .nodes import string
from .values import (
    ARRAY_OR_NUMBER,
    CONTEXT,
    DTYPE,
    EXTENT,
    INTEGER,
    LIKELY,
    LIKELY_DEVICE,
    LIKELY_TENSOR,
    NDARRAY,
    NONE,
    NUMBER,
    SIZE,
    STR,
    TUPLE,
    UNKNOWN,
    Accelerator,
    Batch,
    ClassValue,
    Device,
    DeviceValue,
    Loader,
    ModuleValue,
    Number,
    Optimizer,
    Scheduler,
    Tensor,
    Text,
    Tuple,
    Unknown,
    Value,
    constant,
    device_of_string,
    join,
    replace,
    sequence,
    tensor,
)

_ACCELERATOR_CONTEXTS = frozenset(
    "autocast accumulate no_sync no_backward_sync main_process_first init_module local_main_process_first".split()
)


def binary(left: Value, right: Value, op: ast.operator) -> Value:
    """What an operator gives for two values."""
    kinds = {left.kind, right.kind}
    if "str" in kinds and isinstance(op, ast.Mod | ast.Add | ast.Mult):
        return _filled(left)
    if isinstance(op, ast.Add) and left.kind == "list" and left.proven and _may_be_list(right):
        return _longer(left, right)  # a tensor does not take a list: `[0] + counts` says that `counts` is one
    if isinstance(op, ast.Mult) and left.kind == "list" and left.proven and (right.is_tensor or _repeats(left, right)):
        return _longer(left, right)  # `[size] * chunks.sum()`: as many times as the number says
    if isinstance(op, ast.Mult) and right.kind == "list" and right.proven and left.kind == "number":
        return UNKNOWN if _may_be_array(left) else _longer(right, left)  # `len(x) * [size]`
    if "tensor" in kinds:
        sides = [v for v in (left, right) if v.kind == "tensor"]
        other = right if left.kind == "tensor" else left
        certainty = max(v.certainty for v in sides)
        # `torch.tensor(0.5) * x`: one number of the host goes along with whatever `x` is, and may stay there.
        goes_along = not other and not other.device and all(v.scalar and v.on_cpu for v in sides)
        return Tensor(
            certainty,
            device="" if goes_along else operator_results.mixed(left, right),
            scalar=all(v.scalar for v in sides) and (len(sides) == 2 or other.kind == "number"),
            sized=any(v.sized for v in sides),
            boolean=all(v.boolean for v in sides) and isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor),
            grad=left.grad or right.grad,
            other_kinds=_other_kinds(left, right) | ({"unknown"} if goes_along else frozenset()),
        )
    if "ndarray" in kinds:
        # `x.cpu() / array`: what was moved is a tensor, and so is what comes out.
        moved: Device = next((side.device for side in (left, right) if side.kind == "unknown"), "")
        if moved:
            return tensor(moved, certainty=LIKELY)
        whole = any(side.kind == "ndarray" and not _may_be_number(side) for side in (left, right))
        return NDARRAY if whole else ARRAY_OR_NUMBER  # what is unknown may be a number: a factor of what an array holds
    if kinds == {"number"}:
        folded = _fold(left, right, op)
        if folded is not None:
            return folded
        if isinstance(left, Number) and left.extent and right.integer and isinstance(op, ast.FloorDiv):
            return EXTENT  # half of the rows, where a batch holds pairs
        number = INTEGER if left.integer and right.integer and not isinstance(op, ast.Div | ast.Pow) else NUMBER
        if "unknown" in left.other_kinds | right.other_kinds:
            # `loss = 0` and `loss += unknown` in a loop: what is divided afterwards is no surer a number.
            return replace(number, certainty=LIKELY, other_kinds=frozenset(("unknown",)))
        return number
    if left.kind in ("list", "tuple") and isinstance(op, ast.Add | ast.Mult):
        return _longer(left, right)
    if left.kind == "size" and isinstance(op, ast.Add):
        return SIZE  # `x.size() + (3,)`
    # `x.cpu() - y`: what is calculated with something on the host is there.
    return Unknown(device="cpu") if "cpu" in (left.device, right.device) and kinds <= {"unknown", "number"} else UNKNOWN


def _may_be_list(value: Value) -> bool:
    return value.kind != "ndarray" and not value.is_tensor


def _repeats(listed: Value, times: Value) -> bool:
    """Whether a list of one thing, or what was repeated already, is so by what may be a tensor: an array is calculated with several."""
    alone = listed.items is None or len(listed.items) == 1
    return alone and times.kind == "tensor" and not _may_be_array(times)


def _longer(left: Value, right: Value) -> Value:
    """A list or tuple with another one behind it, or several times."""
    if left.kind == right.kind and left.element and right.element:
        return sequence(join(left.element, right.element))
    if left.kind == "tuple" and right.kind == "tuple" and left.items is not None and right.items is not None:
        return Tuple(items=left.items + right.items)
    if right.kind == "list" and not left.element:
        return right
    return replace(left, items=None, element=left.element and left.element.without_const())


def _filled(value: Value) -> Value:
    """A string with something behind it or in its place: `"cuda:" + str(n)`, `"cuda:%d" % n`, `"cuda:{}".format(n)`."""
    device = device_of_string(value.const) if isinstance(value.const, str) and ":" in value.const else ""
    return Text(device=device) if device else STR


def _other_kinds(left: Value, right: Value) -> frozenset[str]:
    """What tensors, as they may be, calculated with one another may be else: a number or an array only where both sides may be one."""
    if all(map(_may_be_number, (left, right))):
        return frozenset(("number",))
    arrays = [_may_be_array(side) for side in (left, right)]
    both = any(arrays) and all(
        array or side.kind == "number" for array, side in zip(arrays, (left, right), strict=True)
    )
    return frozenset(("ndarray",)) if both else frozenset()


def _may_be_array(value: Value) -> bool:
    return value.kind == "ndarray" or "ndarray" in value.other_kinds


def _may_be_number(value: Value) -> bool:
    return value.kind == "number" or "number" in value.other_kinds


_FOLDS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def _fold(left: Value, right: Value, op: ast.operator) -> Value | None:
    """Integers that are known, calculated with."""
    a, b = left.const, right.const
    if not isinstance(a, int) or not isinstance(b, int) or abs(a) > 1 << 40 or abs(b) > 1 << 40:
        return None
    if isinstance(op, ast.FloorDiv):
        return constant(a // b) if b else None
    fold = _FOLDS.get(type(op))
    return constant(fold(a, b)) if fold is not None else None


_OF_ATTRIBUTES: dict[str, Value] = {"size": SIZE, "dtype": DTYPE, "number": INTEGER}


def tensor_attribute(base: Tensor, attr: str) -> Value:
    """An attribute of a tensor."""
    kind = table.ATTRIBUTES_NOT_TENSOR.get(attr)
    if kind == "device":
        return DeviceValue(device=base.device)
    if kind is not None:
        return _OF_ATTRIBUTES.get(kind, UNKNOWN)
    if attr == "grad" and base.only_tested:
        return replace(base, grad=False, other_kinds=frozenset())  # what has a gradient is trained, where that is done
    if attr in ("data", "grad"):
        return replace(base, grad=False)
    if attr in table.TENSOR_ATTRIBUTES:
        return base
    if not base.proven and attr in ("loss", "logits", "sample", "last_hidden_state", "hidden_states"):
        # What looked like a tensor is a model's output object.
        return replace(base, certainty=LIKELY, scalar=attr == "loss")
    return UNKNOWN


def named_tuple_class(node: ast.Call) -> Value:
    """`namedtuple("Data", "dataset loader")`: a class whose keys are the fields; `NamedTuple("Data", [("x", Tensor)])`."""
    fields = node.args[1] if len(node.args) > 1 else None
    found: list[object] = []
    text = string(fields)
    if text is not None:
        found += text.replace(",", " ").split()
    elif isinstance(fields, ast.List | ast.Tuple):
        parts = [one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one for one in fields.elts]
        found += [part.value if isinstance(part, ast.Constant) else None for part in parts]
    known: dict[str, Value] = {field: UNKNOWN for field in found if isinstance(field, str)}
    return ClassValue(entries=known) if known and len(known) == len(found) else UNKNOWN


def named_tuple(fields: list[str], args: Arguments) -> Value:
    """A tuple whose parts have names, as a call makes it."""
    if args.open:
        return TUPLE
    items = tuple(args.get(place, field) or UNKNOWN for place, field in enumerate(fields))
    return Tuple(items=items, entries=dict(zip(fields, items, strict=True)))


def with_grad(value: Value, device: Device) -> Value:
    """The results of a model, as autograd and its device make them: all have a graph, where it is not known of some beside others."""
    tensors = [one for one in value.items or () if one.kind == "tensor"]
    told = any(one.grad for one in tensors)  # `return loss, accuracy`
    items = value.items and tuple(
        replace(i, grad=i.grad or not (told and i.proven), device=device or i.device) if i.kind == "tensor" else i
        for i in value.items
    )
    return replace(value, items=items)


def batch_method(base: Batch, attr: str, args: Arguments) -> Value:
    """A method of a batch, which may be a tensor or hold some."""
    if attr in ("to", "cuda", "cpu"):
        return moves.move(base, attr, args)
    if attr in batches.VIEWS:
        return batches.view_of_mapping(base, attr)
    if attr in ("pop", "get"):
        return batches.batch_entry(base, args.first.const)
    if (
        operator_results.gives_no_tensor(attr)
        or attr in table.TENSOR_ONLY
        or attr in ("view", "reshape", "float", "long", "transpose", "t")
    ):
        return calls.tensor_method(batches.batch_tensor(base), attr, ast.Call(ast.Name("x"), [], []), args)
    return UNKNOWN


def container_method(base: Value, attr: str, args: Arguments) -> Value:
    """A method of a string, a dictionary or a list."""
    if base.kind == "str" and attr == "format":
        return _filled(base)
    if base.kind == "str":
        return STR if attr not in ("split", "splitlines") else sequence(STR)
    if base.kind == "dict":
        if attr in batches.VIEWS:
            return batches.view_of_mapping(base, attr, STR if base.entries else UNKNOWN)
        if attr in ("get", "pop", "setdefault"):
            return batches.entry(base, args.first.const)
        if attr == "update":
            return NONE
        if attr == "copy":
            return base
    if base.kind == "list":
        if attr in ("append", "add", "insert", "extend", "appendleft"):
            return NONE
        if attr in ("pop", "popleft", "__getitem__"):
            return UNKNOWN if base.element is None else base.element
        if attr == "copy":
            return base
        if attr in ("index", "count"):
            return INTEGER
    return UNKNOWN


def accelerator_method(attr: str, args: Arguments) -> Value:
    """A method of what prepares models and loaders (Accelerate, Fabric)."""
    if attr in ("prepare", "setup", "setup_dataloaders", "setup_module", "setup_optimizers"):
        if attr == "setup_dataloaders":
            # Whatever it is given is a loader, and what it gives moves its batches unless it is told not to.
            given: list[Value] = [v if v.kind == "loader" else Loader(LIKELY) for v in args.positional]
        else:
            given = list(args.positional)
        stay = args.keywords.get("move_to_device", UNKNOWN).const is False
        made = tuple(given if stay else map(prepared, given))
        return made[0] if len(made) == 1 else Tuple(items=made)
    if attr in ("gather", "gather_for_metrics", "reduce", "all_reduce", "all_gather"):
        gathered = args.first if args.first.kind == "tensor" else LIKELY_TENSOR
        return replace(gathered, grad=False, device="accelerator")
    if attr in ("clip_grad_norm_", "clip_gradients"):
        return Tensor(scalar=True, device="accelerator")
    if attr in _ACCELERATOR_CONTEXTS:
        return CONTEXT
    if attr in ("unwrap_model", "skip_first_batches"):
        return args.first
    return UNKNOWN


def prepared(value: Value) -> Value:
    """A model or loader as `prepare` returns it."""
    if value.kind == "loader":
        parts = value.element.parts if value.element is not None and value.element.kind == "batch" else None
        elem = Batch(device="accelerator", managed=True, pinned=value.pinned, parts=parts)
        return replace(value, managed=True, element=elem, device="accelerator")
    if value.kind == "module":
        return replace(value, device="accelerator")
    return value


def pretrained(name: str) -> Value:
    """What `from_pretrained` of a library gives, by the name of its class."""
    owner = name.split(".")[-2]
    if owner.endswith(table.NO_MODULE_SUFFIXES):
        return Scheduler(LIKELY, class_name=name) if owner.endswith("Scheduler") else UNKNOWN
    return ModuleValue(class_name=name.rpartition(".")[0])


def by_name(name: str) -> Value:
    """What a parameter's name says where nothing else does."""
    if common_names.DEVICE_NAME.search(name):
        return LIKELY_DEVICE
    if common_names.LOADER_NAME.search(name):
        return Loader(LIKELY, element=Batch(LIKELY, from_loader=True))
    if name in ("optimizer", "optim", "opt") or name.endswith("_optimizer"):
        return Optimizer(LIKELY)
    if common_names.MODEL_NAME.search(name):
        return ModuleValue(LIKELY)
    if name in ("accelerator", "fabric"):
        return Accelerator(LIKELY)
    if name in ("loss", "logits"):
        return tensor(certainty=LIKELY, scalar=name == "loss")
    return UNKNOWN


def looks_like_loader(node: ast.expr) -> bool:
    """Whether something that is iterated over is a loader by its name."""
    if isinstance(node, ast.Call) and node.args:
        # enumerate(loader), tqdm(loader), accelerator.skip_first_batches(loader, n)
        return looks_like_loader(node.args[0])
    parts = names.chain(node)
    return parts is not None and bool(common_names.LOADER_NAME.search(parts[-1]))
