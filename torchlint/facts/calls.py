"""What a call gives, from the torch tables and the values of its arguments."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

from ..system.regex import regex
from ..torch_api.operators import Atom, Condition, Operator, Result, When, operator
from . import names
from . import torch_table as table
from .values import (
    BOOL,
    CONTEXT,
    CPU,
    CUDA,
    DEVICE,
    DTYPE,
    EXTENT,
    INTEGER,
    LIKELY,
    LIKELY_TENSOR,
    NDARRAY,
    NONE,
    NUMBER,
    ON_ACCELERATOR,
    SIZE,
    STR,
    TENSOR,
    UNKNOWN,
    Batch,
    Dataset,
    Device,
    Dict,
    Distribution,
    FunctionValue,
    Instance,
    Loader,
    ModuleValue,
    Optimizer,
    Scaler,
    Scheduler,
    Tensor,
    Tuple,
    Value,
    constant,
    device_of_string,
    join,
    replace,
    sequence,
    tensor,
)

PARAMETERS = sequence(Tensor(parameter=True))
NAMED_PARAMETERS = sequence(Tuple(items=(STR, Tensor(parameter=True))))
STATE_DICT = Dict(element=TENSOR)

# Names that people give to models and losses; what calling one gives is likely a tensor.
MODEL_NAME = regex(
    r"(?:^|_)(?:model|net|network|criterion|loss_?fn|loss_?func|loss_?function|generator|discriminator|denoiser|backbone|unet|vae"
    r"|transformer|critic|actor|policy|teacher|student|q_network|qf\d|classifier|encoder|decoder|ddp|lm|gpt|llm"
    r"|net[GD]|mse_loss|ce_loss|l1_loss)\d*(?:_model|_target)?$",
    re.IGNORECASE,
)
LOSS_NAME = regex(r"(?:^|_)(?:loss|losses|criterion|criterions|criteria|objective|objectives)\d*$", re.IGNORECASE)
LOADER_NAME = regex(
    r"(?:^|_)(?:data)?loaders?\d*$|(?:^|_)dataloaders?\d*(?:_|$)|(?:^|_)(?:train|val|valid|test|eval)_?(?:dl|loader|iter|iterator)$",
    re.IGNORECASE,
)
OPTIMIZER_NAME = regex(
    r"(?:^|_)(?:optim|optimizer|optimizers|opt)(?:\d+|_?[a-zA-Z]|_\w+)?$|_(?:optim|optimizer|opt)$|^optimizer|optimizer$",
    re.IGNORECASE,
)
DEVICE_NAME = regex(r"(?:^|_)(?:device|dev)$", re.IGNORECASE)


_DEVICE_WORDS = ("device", "rank", "gpu", "cuda", "gpu_id", "local_rank")


def named_like_device(node: ast.expr) -> bool:
    """Whether people give such a name to a device: `self.device`, `local_rank`."""
    return names.last(node).lower().strip("_").endswith(_DEVICE_WORDS)


class Arguments:
    """The values of a call's arguments, each worked out when asked for.

    `open` tells that `*` or `**` may bring more, `starred` what stands behind a `*`.
    """

    __slots__ = ("keywords", "open", "positional", "starred")

    def __init__(
        self,
        positional: Sequence[Value],
        keywords: Mapping[str, Value],
        open: bool = False,
        starred: Sequence[Value] = (),
    ) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = open
        self.starred = starred

    @classmethod
    def of(cls, node: ast.Call, read: Callable[[ast.expr], Value]) -> Arguments:
        """The arguments of a call; `read` tells what an expression is."""
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        given: dict[str, ast.expr | Value] = {}
        rest: dict[str, Value] = {}
        is_open = len(plain) < len(node.args)
        for keyword in node.keywords:
            if keyword.arg is not None:
                given[keyword.arg] = keyword.value
            else:
                is_open = True
                rest.update(read(keyword.value).entries or {})
        for name, value in rest.items():
            given.setdefault(name, value)
        starred: Sequence[Value] = ()
        if len(plain) < len(node.args):
            starred = _Positional([one.value for one in node.args if isinstance(one, ast.Starred)], read)
        return cls(_Positional(plain, read), _Keywords(given, read) if given else {}, is_open, starred)

    def get(self, position: int, keyword: str) -> Value | None:
        if keyword in self.keywords:
            return self.keywords[keyword]
        return self.positional[position] if 0 <= position < len(self.positional) else None

    @property
    def first(self) -> Value:
        if self.positional:
            return self.positional[0]
        return next(iter(self.keywords.values()), UNKNOWN)

    def __len__(self) -> int:
        return len(self.positional) + len(self.keywords)


class _Positional(Sequence[Value]):
    __slots__ = ("_nodes", "_read", "_values")

    def __init__(self, nodes: Sequence[ast.expr], read: Callable[[ast.expr], Value]) -> None:
        self._nodes = nodes
        self._read = read
        self._values: dict[int, Value] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> list[Value]: ...
    def __getitem__(self, at: int | slice) -> Value | list[Value]:
        if isinstance(at, slice):
            return [self[place] for place in range(len(self._nodes))[at]]
        if at not in self._values:
            self._values[at] = self._read(self._nodes[at])
        return self._values[at]


class _Keywords(Mapping[str, Value]):
    __slots__ = ("_given", "_read")

    def __init__(self, given: dict[str, ast.expr | Value], read: Callable[[ast.expr], Value]) -> None:
        self._given = given
        self._read = read

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __getitem__(self, name: str) -> Value:
        value = self._given[name]
        if isinstance(value, ast.expr):
            value = self._given[name] = self._read(value)
        return value


def device_of(value: Value | None) -> Device:
    """The place that a device argument names; "" where it is unknown."""
    if value is None:
        return ""
    if value.kind in ("device", "tensor", "module"):
        return value.device
    if value.kind == "str" and isinstance(value.const, str):
        return device_of_string(value.const)
    if value.kind == "str" and value.device:
        return value.device
    if value.kind == "number" and value.integer and not value.boolean:
        return "accelerator"  # a device index or a rank
    return ""


def is_device(value: Value | None) -> bool:
    """Whether an argument names a device, not a dtype or a shape."""
    if value is None:
        return False
    if value.kind == "device":
        return True
    if value.kind == "str":
        return value.const is None or bool(device_of_string(str(value.const)))
    return value.kind == "number" and value.integer and not value.boolean


def mixed(*values: Value) -> Device:
    """Where an operation on these values runs."""
    devices = {v.device for v in values if v.kind in ("tensor", "module", "batch") or (v.device == "cpu" and not v)}
    if "accelerator" in devices:
        return "accelerator"
    # A tensor of the host that is not known to have dimensions goes along with one of the device.
    return "cpu" if devices == {"cpu"} else ""


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
        if last.endswith(("Dataset", "Subset")):
            return Dataset(class_name=name, made_by=node)
        return UNKNOWN
    if second == "distributions":
        if last in table.DISTRIBUTIONS:
            return Distribution(
                class_name=name,
                made_by=node,
                device=mixed(*args.positional, *args.keywords.values()),
            )
        return tensor() if last == "kl_divergence" else UNKNOWN
    if last == "GradScaler":
        return Scaler(class_name=name, made_by=node)
    if second in ("cuda", "xpu", "mps", "accelerator", "npu"):
        return _device_module(last, args)
    if second in (
        "cpu",
        "amp",
        "autograd",
        "profiler",
        "jit",
        "distributed",
        "backends",
        "compiler",
        "onnx",
        "export",
        "_dynamo",
        "_inductor",
        "library",
        "multiprocessing",
        "hub",
        "ao",
        "quantization",
        "func",
        "fx",
        "overrides",
        "testing",
        "version",
        "nested",
        "masked",
        "package",
        "futures",
    ):
        return _service(second, last, name)
    if last == "device":
        value = args.first
        return {"cpu": CPU, "accelerator": CUDA}.get(device_of(value), DEVICE)
    if last in table.TENSOR_CLASSES:
        return _tensor_class(node, args)
    return operation(operator(name), node, args)


def _tensor_class(node: ast.Call, args: Arguments) -> Value:
    """`torch.FloatTensor(...)`"""
    given = args.keywords.get("device")
    device = device_of(given) if given is not None else ("" if args.open else "cpu")
    return Tensor(device=device, made_by=node)


def _nn_call(parts: list[str], last: str, node: ast.Call, args: Arguments) -> Value:
    name = ".".join(parts)
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
    if last in ("parallel", "data_parallel"):
        return tensor("accelerator", grad=True)
    if last in ("ModuleList", "ModuleDict", "Sequential"):
        return _container(name, node, args)
    if last[:1].isupper():
        device = device_of(args.keywords.get("device"))
        return ModuleValue(class_name=name, made_by=node, device=device)
    return UNKNOWN


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
    elem = first.element if first.element is not None and not items else None
    for item in items or ():
        elem = item if elem is None else join(elem, item)
    return ModuleValue(class_name=name, made_by=node, element=elem, items=items)


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


def _service(second: str, last: str, name: str) -> Value:
    if last in (
        "autocast",
        "detect_anomaly",
        "profile",
        "record_function",
        "no_grad",
        "set_grad_enabled",
        "inference_mode",
    ):
        return CONTEXT
    if second == "distributed":
        if last in ("get_rank", "get_world_size", "get_local_rank", "get_node_local_rank"):
            return INTEGER
        if last.startswith("is_"):
            return BOOL
    if second == "autograd" and last == "grad":
        return sequence(TENSOR)
    if name.startswith("torch.compiler.is_") or name.endswith((".is_compiling", ".is_scripting", ".is_tracing")):
        return BOOL
    return UNKNOWN


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
        return False
    if atom.asks == "given":
        others = row.params[at] if at >= 0 and atom.argument not in args.keywords else {}
        if len(others) < 2:
            return None if "none" in value.other_kinds else True
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
        return _made(result, device, grad)
    integer = result.kind == "int64" or row.dtype in _INTEGERS
    boolean = row.dtype == "bool"
    if row.alias and not row.dtype and values and values[0].kind == "tensor":
        # A view has the dtype of what it shows, unless it is asked for another one.
        shown = values[0] if not any(value.kind == "dtype" for value in values[1:]) else TENSOR
        integer, boolean = integer or shown.integer, shown.boolean
    elif row.name.rpartition(".")[2] in table.KEEP_DTYPE and values:
        # Of several tensors, `torch.stack((a, b))`, each has to be of that dtype.
        first = values[0].element or (values[0].items or values)[0]
        integer, boolean = integer or first.integer, boolean or _is_boolean(first)
    given = args.keywords.get("dtype")
    if given is not None and given.class_name:
        boolean, integer = given.class_name == "torch.bool", given.class_name in _INTEGER_DTYPES
    is_loss = _is_loss_row(row)
    from_number = row.device == "data" and bool(values) and values[0].kind == "number"
    return Tensor(
        device=device,
        scalar=from_number or holds(row, row.scalar, args) is True,
        boolean=boolean,
        grad=(grad or is_loss) and not boolean and not integer,
        integer=integer,
        made_by=node,
    )


_INTEGERS = frozenset(("int64", "int32"))
_MAKING = frozenset(("factory", "host"))


DEFAULT_DEVICE = b"set_default_device("
DEFAULT_TYPE = rb"(?m)^[ \t]*(?:torch\.)?set_default_tensor_type\([^\n]*cuda"
"""A statement that has tensors made on an accelerator, in whatever file."""


def hangs_on_default(name: str, args: Arguments) -> bool:
    """Whether a call makes a tensor where `torch.set_default_device` says: a factory that is given no device."""
    row = operator(name)
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
    if row.device == "data" and values and values[0].kind == "tensor":
        return values[0].device
    if row.device in ("factory", "data"):
        return "" if args.open else "cpu"
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
    if _is_loss_row(row) and "cpu" in devices and "accelerator" not in devices:
        return "cpu"  # a loss takes all of its tensors from one device
    return mixed(*parts)


def _is_loss_row(row: Operator) -> bool:
    return any(atom.argument == "reduction" for condition in row.scalar for atom in condition)


def _held(value: Value) -> Sequence[Value]:
    """The tensors of `torch.cat([a, b])`; a value that is no list itself."""
    if value.kind not in ("list", "tuple"):
        return (value,)
    return value.items if value.items is not None else (value.element,) if value.element is not None else ()


def gives_no_tensor(method: str) -> bool:
    """Whether a tensor has a method of that name, which gives something else."""
    row = operator(f"torch.Tensor.{method}")
    return row is not None and (row.returns.kind in _PLAIN or row.returns.kind == "object")


def _made(result: Result, device: Device, grad: bool) -> Value:
    """A result of the table, or one item of it, as a value."""
    if result.kind == "tuple":
        items = tuple(_made(item, device, grad) for item in result.items)
        named = {name: one for name, one in zip(result.names, items, strict=True) if name}
        return Tuple(items=items, entries=named)
    if result.kind in ("tensors", "int64s"):
        return sequence(_made(Result(result.kind[:-1]), device, grad))
    if result.kind == "tensor":
        return tensor(device, grad=grad)
    if result.kind in _INTEGERS:
        return replace(tensor(device), integer=True)
    return _PLAIN.get(result.kind, UNKNOWN)


def loader(node: ast.Call, args: Arguments) -> Loader:
    """A DataLoader; `pinned` is True or False where the source proves it."""
    given = args.keywords.get("pin_memory")
    if given is None and len(args.positional) > 7:
        given = args.positional[7]
    if given is not None:
        on_accelerator = given.kind == "number" and given.needs_accelerator
        pinned = given.const if isinstance(given.const, bool) else True if on_accelerator else None
    else:
        pinned = None if args.open else False
    dataset = args.first
    return made_loader(Loader(class_name="torch.utils.data.DataLoader", made_by=node, class_=dataset.class_), pinned)


def made_loader(value: Loader, pinned: bool | None) -> Loader:
    """A loader, pinned or not, with the batches that it gives."""
    feeders = frozenset((value.made_by,)) if value.made_by is not None else frozenset[ast.expr]()
    batch = Batch(device="cpu", from_loader=True, pinned=pinned, loader_calls=feeders)
    return replace(value, pinned=pinned, element=batch)


def likely_loader(told: ast.expr) -> Loader:
    """A loader by its name, which may send its batches to the device itself; `told` says whether it pins."""
    batch = Batch(LIKELY, loader_calls=frozenset((told,)))
    return Loader(LIKELY, made_by=told, element=batch)


def batch_entry(batch: Batch, key: object) -> Value:
    """What a batch has under a key: what was put there, or else one of its tensors."""
    put = batch.entries.get(key) if batch.entries and isinstance(key, str) else None
    return put if put is not None else batch_tensor(batch)


def batch_tensor(batch: Batch) -> Tensor:
    """One tensor of a batch."""
    return Tensor(
        batch.certainty,
        device=batch.device,
        from_loader=batch.from_loader,
        pinned=batch.pinned,
        loader_calls=batch.loader_calls,
        managed=batch.managed,
    )


def tensor_method(base: Tensor, attr: str, node: ast.Call, args: Arguments) -> Value:
    """What a method of a tensor gives."""
    if attr in MOVES:
        return move(base, attr, args)
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
        return replace(base, boolean=row.dtype == "bool", integer=row.dtype in _INTEGERS, made_by=node)
    if attr in ("clone", "contiguous", "requires_grad_"):
        return replace(base, made_by=node)
    # A method that torch does not have: no tensor, or a subclass of the project's.
    made = operation(row, node, Arguments([base, *args.positional], args.keywords, args.open))
    # A view of what a loader gave, and of what was moved since, comes from that loader.
    if row is not None and row.alias in ("view", "maybe") and made.kind == "tensor" and base.loader_calls:
        return replace(made, loader_calls=base.loader_calls)
    return made


VIEWS = frozenset(("items", "popitem", "values", "keys"))
"""Methods that show what a mapping holds."""


def view_of_mapping(mapping: Value, attr: str, key: Value = STR) -> Value:
    """What one of `VIEWS` gives of a mapping."""
    if attr == "keys":
        return sequence(key)
    if attr == "values":
        return sequence(held(mapping))
    pair = Tuple(items=(key, held(mapping)))
    return sequence(pair) if attr == "items" else pair


def held(mapping: Value) -> Value:
    """What a mapping holds under its keys, whichever."""
    if mapping.kind == "batch":
        return batch_tensor(mapping)
    if mapping.kind == "tensor" and (mapping.grad or mapping.from_loader):
        return mapping  # a model, or a loader, gave a dictionary of tensors
    if mapping.kind == "dict" and mapping.entries and not mapping.proven:
        return UNKNOWN  # what it had before nobody knows
    if mapping.kind == "dict":
        each = list((mapping.entries or {}).values())
        return mapping.element or (functools.reduce(join, each) if each else UNKNOWN)
    return UNKNOWN


def _is_boolean(value: Value) -> bool:
    return value.kind == "tensor" and value.boolean


def compiled(given: Value) -> Value:
    """What torch.compile makes of a value."""
    if given.kind in ("module", "function", "name", "class", "instance"):
        return replace(given, compiled=True)
    return FunctionValue(LIKELY, compiled=True)


def calculated(value: Value) -> Value:
    """A value like another one, that was calculated."""
    return replace(value, from_loader=False) if value.kind in ("tensor", "batch") else value.without_const()


_Movable = TypeVar("_Movable", Tensor, Batch, ModuleValue)


MOVES = frozenset(("to", "cuda", "cpu", "xpu", "npu"))


def move(base: _Movable, attr: str, args: Arguments) -> _Movable:
    """A tensor, module or batch after `.to(...)`, `.cuda()`, `.cpu()`."""
    if base.kind == "batch" and base.entries:
        base = replace(base, entries=None)  # which are moved as well
    if attr == "cpu":
        return replace(base, device="cpu")
    if attr in ("cuda", "xpu", "npu"):
        return _moved(base, "accelerator")
    dtype = next((value for value in (*args.positional, *args.keywords.values()) if value.kind == "dtype"), None)
    if dtype is not None and isinstance(base, Tensor):
        base = replace(base, boolean=dtype.class_name == "torch.bool", integer=dtype.class_name in _INTEGER_DTYPES)
    target = args.get(0, "device")
    if target is None:
        target = args.get(0, "other")
    if target is None or target.kind == "dtype":
        return base
    device = device_of(target)
    if device == "cpu":
        return replace(base, device="cpu")
    if device or is_device(target) or target.kind == "tensor" or not target:
        return _moved(base, device)
    return base


def _moved(base: _Movable, device: Device) -> _Movable:
    return (
        replace(base, device=device)
        if isinstance(base, ModuleValue)
        else replace(base, device=device, from_loader=False)
    )


_INTEGER_DTYPES = frozenset(f"torch.{name}" for name in "long int short int64 int32 int16 int8 uint8".split())


def module_method(base: ModuleValue, attr: str, node: ast.Call, args: Arguments) -> Value | None:
    """What the methods that every nn.Module has give; None for others."""
    if attr in MOVES:
        return move(base, attr, args)
    if attr in ("train", "eval", "half", "float", "double", "bfloat16", "requires_grad_", "apply", "to_empty", "type"):
        return base
    if attr == "parameters":
        return sequence(Tensor(parameter=True, device=base.device))
    if attr == "buffers":
        return sequence(Tensor(device=base.device))
    if attr == "named_parameters":
        return NAMED_PARAMETERS
    if attr == "named_buffers":
        return sequence(Tuple(items=(STR, TENSOR)))
    if attr in ("modules", "children"):
        return sequence(ModuleValue(LIKELY))
    if attr in ("named_modules", "named_children"):
        return sequence(Tuple(items=(STR, ModuleValue(LIKELY))))
    if attr == "state_dict":
        return STATE_DICT
    if attr in ("zero_grad", "load_state_dict", "register_buffer", "register_parameter", "add_module", "compile"):
        return NONE
    if attr == "clip_grad_norm_":  # FSDP's
        return tensor(base.device, scalar=True)
    if attr == "get_parameter":
        return Tensor(parameter=True)
    return None


def module_result(base: ModuleValue) -> Value:
    """What calling a module of torch, or one we can't see into, gives."""
    likely = Tensor(LIKELY, device=base.device, grad=True)
    row = operator(f"{base.class_name}.forward")
    result = result_of(row, _made_with(base.made_by)) if row is not None else None
    if result is None or result.kind == "unknown":
        return likely
    value = replace(_made(result, base.device, True), certainty=base.certainty)
    if base.class_name.endswith("Loss") and value.kind == "tensor":
        reduction = None
        if isinstance(base.made_by, ast.Call):
            reduction = next((k.value for k in base.made_by.keywords if k.arg == "reduction"), None)
        none = isinstance(reduction, ast.Constant) and reduction.value == "none"
        return replace(value, scalar=not none, device="")
    return value


def _made_with(origin: ast.expr | None) -> Arguments:
    """The literals that a module was made with: a flag of a module stands there."""
    if not isinstance(origin, ast.Call):
        return Arguments((), {}, open=True)
    return Arguments.of(origin, lambda node: constant(node.value) if isinstance(node, ast.Constant) else UNKNOWN)


_MAKES_MODEL = regex(r"(?:build|create|make|load|init|setup|construct|define|instantiate)_")


def called_by_name(name: str) -> Value:
    """What calling something gives that is named like a model: `Net(16)`, `build_model(16)` make one, `net(x)`, `netD(x)` run one."""
    makes = (name[:1].isupper() and name[1:2].islower()) or _MAKES_MODEL.match(name) is not None
    return ModuleValue(LIKELY) if makes else likely_module_result()


def is_loss(name: str, args: Arguments) -> bool:
    """Whether something that is named like a loss is called with a model's output: it computes one, whoever made it."""
    return bool(LOSS_NAME.search(name)) and any(one.grad for one in args.positional)


def likely_module_result() -> Value:
    return replace(LIKELY_TENSOR, grad=True)


_NUMPY_NUMBERS = frozenset("prod ceil floor log2 log10 round".split())
_NUMPY_ELEMENTWISE = frozenset(
    """log log1p exp expm1 exp2 sqrt cbrt square abs absolute fabs sign negative reciprocal power float_power maximum minimum
    fmax fmin clip mod sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh deg2rad rad2deg radians degrees""".split()
)
"""What gives a number of numbers."""


# Draws of one number, up to so many positional arguments; one more is a shape.
_DRAWS = {
    "rand": 0,
    "randn": 0,
    "random": 0,
    "randint": 2,
    "uniform": 2,
    "normal": 2,
    "choice": 1,
    "beta": 2,
    "poisson": 1,
}


NUMPY_REDUCES = frozenset("mean sum min max amin amax std var median prod argmax argmin average any all".split())
"""What gives one number of all elements, where no axis is given."""


def numpy_call(name: str, args: Arguments) -> Value:
    last = name.rpartition(".")[2]
    if last in _NUMPY_NUMBERS and args.first.kind in ("number", "size", "tuple"):
        return NUMBER
    if (
        last in _NUMPY_ELEMENTWISE
        and not (args.open or args.keywords)
        and args.positional
        and all(one.kind == "number" for one in args.positional)
    ):
        return NUMBER
    if last in NUMPY_REDUCES and len(args) == 1 and not args.open:
        return NUMBER
    if last in ("load", "savez", "save", "savez_compressed"):
        return UNKNOWN
    if (
        name.startswith("numpy.random.")
        and "size" not in args.keywords
        and len(args.positional) <= _DRAWS.get(last, -1)
    ):
        return NUMBER
    return NDARRAY
