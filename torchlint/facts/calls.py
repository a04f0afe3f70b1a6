"""What a call gives, from the torch tables and the values of its arguments."""

from __future__ import annotations

import ast

from ..torch_api.operators import operator
from . import torch_table as table
from .arguments import Arguments, device_of
from .batches import VIEWS, loader, view_of_mapping
from .legacy_tensors import makes_on_device, makes_on_host
from .module_calls import causal_mask
from .moves import MOVES, fetched_by_type, move, sent_by_type
from .nodes import argument_of, is_constant
from .operator_results import INTEGERS, _is_boolean, mixed, operation
from .values import (
    BOOL,
    CONTEXT,
    CPU,
    CUDA,
    DEVICE,
    INTEGER,
    LIKELY,
    NONE,
    NUMBER,
    ON_ACCELERATOR,
    TENSOR,
    UNKNOWN,
    Dataset,
    Device,
    Distribution,
    Instance,
    ModuleValue,
    Optimizer,
    Scaler,
    Scheduler,
    Tensor,
    Tuple,
    Value,
    join_all,
    replace,
    sequence,
    tensor,
)

_SERVICES = frozenset(
    """cpu amp autograd profiler jit distributed backends compiler onnx export _dynamo _inductor library multiprocessing hub
    ao quantization func fx overrides testing version nested masked package futures""".split()
)
"""Modules of torch that calculate no tensors."""
_CONTEXTS = frozenset("autocast detect_anomaly profile record_function no_grad set_grad_enabled inference_mode".split())

_PACKERS = frozenset(("pack_padded_sequence", "pack_sequence"))
_WHOLE_VIEWS = frozenset("view view_as unsqueeze squeeze unflatten transpose swapaxes permute movedim t".split())
"""Methods that give all of a tensor's memory, as it lies there: pinned where the tensor is."""
_SHAPES = frozenset(("reshape", "flatten"))
_OF_ARRAYS = frozenset(
    """all any argmax argmin argsort clip cumprod cumsum diagonal dot flatten max mean min prod ravel repeat reshape round sort squeeze
    std sum swapaxes take trace transpose var view""".split()
)
"""Methods that arrays of NumPy have as well."""
"""The same of what lies in one piece; of what was turned they make a copy."""


def _of_distribution(args: Arguments) -> Device:
    """Where a distribution draws: it makes tensors of the host of what is given as numbers, and draws where the one does that it goes around."""
    given = (*args.positional, *args.keywords.values())
    inner = next((value for value in given if value.kind == "distribution"), None)
    if inner is not None:
        return inner.device
    numbers = given and not args.open and all(value.kind == "number" and not value.other_kinds for value in given)
    return "cpu" if numbers else mixed(*given)


def torch_call(name: str, node: ast.Call, args: Arguments) -> Value:
    """What a call of `torch....` gives."""
    parts = name.split(".")
    last = parts[-1]
    second = parts[1] if len(parts) > 1 else ""
    if second == "nn":
        return _nn_call(parts, last, node, args)
    if second == "optim":
        if "lr_scheduler" in parts or last.endswith("LR"):
            return Scheduler(class_name=name, made_by=node)
        return Optimizer(class_name=name, made_by=node) if last[:1].isupper() else UNKNOWN
    if name == "torch.utils.data.DataLoader":
        return loader(node, args)
    if second == "utils":
        return _dataset(name, node, args)
    if second == "distributions":
        if last in table.DISTRIBUTIONS:
            return Distribution(class_name=name, made_by=node, device=_of_distribution(args))
        return tensor() if last == "kl_divergence" else UNKNOWN
    if last == "GradScaler":
        return Scaler(class_name=name, made_by=node)
    if second in ("cuda", "xpu", "mps", "accelerator", "npu"):
        return _device_module(last, args)
    if second in _SERVICES:
        return _service(second, last, name, args)
    if last == "device":
        value = args.first
        return {"cpu": CPU, "accelerator": CUDA}.get(device_of(value), DEVICE)
    if last in table.TENSOR_CLASSES:
        return _tensor_class(node, args)
    return operation(operator(name), node, args)


_SAMPLERS = frozenset(("RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"))
"""Classes of `torch.utils.data` that give the numbers of samples."""


def _dataset(name: str, node: ast.Call, args: Arguments) -> Value:
    """`TensorDataset(x, y)`, what is taken from one dataset or joined of several, and samplers; anything else of `torch.utils` is unknown."""
    last = name.rpartition(".")[2]
    if last in _SAMPLERS:
        return sequence(NUMBER)
    if last == "BatchSampler" and args.first.kind == "list":
        return sequence(args.first)
    if last == "random_split":
        return sequence(args.first) if args.first.kind == "dataset" else UNKNOWN
    if not last.endswith(("Dataset", "Subset")):
        return UNKNOWN
    of = args.first if last == "Subset" else args.first.element if last == "ConcatDataset" else None
    if of is not None and of.kind == "dataset":
        return replace(of, made_by=node)
    held = {one.device for one in args.positional} if last == "TensorDataset" else set[Device]()
    device: Device = "accelerator" if "accelerator" in held else "cpu" if held == {"cpu"} else ""
    return Dataset(class_name=name, made_by=node, device=device)


def _tensor_class(node: ast.Call, args: Arguments) -> Value:
    """`torch.FloatTensor(...)`"""
    given = args.keywords.get("device")
    device = device_of(given) if given is not None else ("" if args.named else "cpu")
    return Tensor(device=device, made_by=node)


def _nn_call(parts: list[str], last: str, node: ast.Call, args: Arguments) -> Value:
    name = ".".join(parts)
    if last in _PACKERS:
        return _packed(args.first if last == "pack_padded_sequence" else args.first.element or UNKNOWN, args)
    if "functional" in parts or "utils" in parts:
        return operation(operator(name), node, args)
    if "init" in parts:
        made = operation(operator(name), node, args)
        return args.first if made.kind == args.first.kind == "tensor" else made
    if last in ("Parameter", "Buffer"):
        return (
            replace(args.first, parameter=True, grad=False, device="")
            if args.first.kind == "tensor"
            else Tensor(parameter=True)
        )
    if name == table.CAUSAL_MASK:
        return causal_mask(node, args)
    if last in ("parallel", "data_parallel"):
        return tensor("accelerator", grad=True)
    if last in ("ModuleList", "ModuleDict", "Sequential"):
        return _container(name, node, args)
    if last[:1].isupper():
        device = device_of(args.keywords.get("device"))
        return ModuleValue(class_name=name, made_by=node, device=device)
    return UNKNOWN


def _packed(given: Value, args: Arguments) -> Value:
    """A packed sequence, by the name of its fields: all but its sizes are where its tensors are; what was sorted before keeps no order."""
    asked = args.keywords.get("enforce_sorted", BOOL)
    order = replace(tensor(given.device), integer=True) if asked.const is False else NONE
    sizes = replace(tensor("cpu"), integer=True)
    data = tensor(given.device, grad=given.grad)
    fields: dict[str, Value] = {"data": data, "batch_sizes": sizes, "sorted_indices": order, "unsorted_indices": order}
    return Tuple(items=tuple(fields.values()), entries=fields)


def _container(name: str, node: ast.Call, args: Arguments) -> Value:
    """A module that holds modules: `items` in their order, `entries` by name, `element` what they have in common."""
    first = args.first
    if name.endswith("ModuleDict") and first.entries is not None:
        return ModuleValue(class_name=name, made_by=node, entries=first.entries, element=first.element)
    items: tuple[Value, ...] | None
    if name.endswith("Sequential") and first.kind == "module":
        items = None if args.open else tuple(args.positional)
    else:
        items = first.items
    elem = join_all(items) if items else first.element
    return ModuleValue(class_name=name, made_by=node, element=elem, items=items)


def _device_module(last: str, args: Arguments) -> Value:
    if last in ("is_available", "is_bf16_supported", "is_initialized"):
        return ON_ACCELERATOR
    if last in ("device_count", "current_device", "memory_allocated", "max_memory_allocated", "memory_reserved"):
        return INTEGER
    if last in ("Stream", "Event", "CUDAGraph", "current_stream", "default_stream"):
        return Instance(class_name=f"torch.cuda.{last}")
    if last in ("FloatTensor", "LongTensor", "HalfTensor", "IntTensor", "ByteTensor", "BoolTensor", "DoubleTensor"):
        return tensor("accelerator")
    if last == "current_accelerator":
        return CUDA
    if last in ("device", "stream", "graph", "autocast"):
        return CONTEXT
    return UNKNOWN


def _service(second: str, last: str, name: str, args: Arguments) -> Value:
    if last in _CONTEXTS:
        return CONTEXT
    if second == "distributed":
        if last in ("get_rank", "get_world_size", "get_local_rank", "get_node_local_rank"):
            return INTEGER
        if last.startswith("is_"):
            return BOOL
    if second == "autograd" and last == "grad":
        records = args.keywords.get("create_graph")
        return sequence(tensor(grad=True) if records is not None and records.const is True else TENSOR)
    if name.startswith("torch.compiler.is_") or name.endswith((".is_compiling", ".is_scripting", ".is_tracing")):
        return BOOL
    return UNKNOWN


def tensor_method(base: Tensor, attr: str, node: ast.Call, args: Arguments) -> Value:
    """What a method of a tensor gives."""
    if attr in MOVES:
        return move(base, attr, args)
    if attr == "type" and makes_on_device(args.first):
        return sent_by_type(base, args.first)
    if attr == "type" and makes_on_host(args.first):
        made = operation(
            operator("torch.Tensor.type"), node, Arguments([base, *args.positional], args.keywords, args.open)
        )
        return fetched_by_type(made, args.first) if made.kind == "tensor" else made
    if attr == "type" and args.first.kind == "dtype":
        return replace(move(base, "to", args), made_by=node)
    if attr == "pin_memory":
        return replace(base, pinned=True)
    if attr in ("detach", "detach_"):
        return replace(base, grad=False)
    if attr == "as_subclass":
        return replace(base, certainty=min(base.certainty, LIKELY), made_by=node)
    if attr == "type_as":
        return replace(base, device=args.first.device, boolean=_is_boolean(args.first), integer=args.first.integer)
    if attr in VIEWS and (base.grad or base.from_loader) and not args.positional:
        return view_of_mapping(base, attr)
    row = operator(f"torch.Tensor.{attr}")
    if row is not None and row.alias == "itself" and row.returns.kind == "tensor":
        return replace(base, boolean=row.dtype == "bool", integer=row.dtype in INTEGERS, made_by=node)
    if attr == "clone" and base.from_loader:
        return replace(base, made_by=node, pinned=False)  # in memory of its own, which nobody pinned
    if attr in ("clone", "contiguous", "requires_grad_"):
        return replace(base, made_by=node)
    # A method that torch does not have: no tensor, or a subclass of the project's.
    made = operation(row, node, Arguments([base, *args.positional], args.keywords, args.open))
    if made.kind == "tensor" and "ndarray" in base.other_kinds and attr in _OF_ARRAYS:
        # What may be an array, which has the method too, makes another one.
        made = replace(made, certainty=min(made.certainty, LIKELY), other_kinds=made.other_kinds | {"ndarray"})
    # A view of what a loader gave, and of what was moved since, comes from that loader.
    if row is not None and row.alias in ("view", "maybe") and made.kind == "tensor" and base.loader_calls:
        if base.proven and (attr in _WHOLE_VIEWS or (attr in _SHAPES and _is_whole(base))):
            made = replace(made, from_loader=base.from_loader, pinned=base.pinned, managed=base.managed)
        return replace(made, loader_calls=base.loader_calls)
    return made


def _is_whole(base: Tensor) -> bool:
    """Whether a tensor lies in one piece, as the default `collate_fn` stacks it, and nothing was done to it since."""
    return base.made_by is None and all(isinstance(call, ast.Call) and _stacks(call) for call in base.loader_calls)


def _stacks(loader: ast.Call) -> bool:
    """Whether a loader puts samples together by default: no `collate_fn`, and no `batch_size=None`, which gives samples as they are."""
    size = argument_of(loader, "batch_size", 1)
    told = {one.arg for one in loader.keywords}
    return len(loader.args) < 7 and "collate_fn" not in told and None not in told and not is_constant(size, None)


def calculated(value: Value) -> Value:
    """A value like another one, that was calculated."""
    return replace(value, from_loader=False) if value.kind in ("tensor", "batch") else value.without_const()
