"""What an expression is and where it lives, as far as the source tells."""

from __future__ import annotations

import ast
import functools
from collections.abc import Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .module import Class, Function, Module

Kind = Literal[
    "unknown",
    "tensor",
    "module",  # an nn.Module
    "optimizer",
    "scheduler",
    "scaler",  # a GradScaler
    "loader",  # a DataLoader, or what wraps one
    "batch",  # what a loader gives: a tensor, or a tuple or dict of tensors
    "dataset",
    "distribution",  # a torch.distributions object
    "accelerator",  # accelerate's Accelerator, lightning's Fabric
    "ndarray",
    "number",
    "str",
    "none",
    "list",  # also sets, generators and other iterables; `elem` is what iterating gives
    "tuple",
    "dict",
    "device",
    "dtype",
    "size",  # torch.Size
    "context",  # a context manager
    "function",
    "class",
    "name",  # an imported module or member; `cls` is its dotted name
    "instance",  # an object of class `cls`
]
Device = Literal["", "cpu", "accelerator"]


@dataclass(unsafe_hash=True, slots=True)  # that of a frozen one takes three times as long to make
class Value:
    """What one expression evaluates to; nobody changes one.

    `sure`: 1 likely (a name or a use suggests it), 2 proven. `device` is "" where unknown; a module's device is its
    parameters'. `cls` is the dotted name of the class of an instance, module, optimizer, or of an imported name.
    `others` are the kinds that other paths give (`none`, `number`, ...).
    """

    kind: Kind = "unknown"
    sure: int = 0
    device: Device = ""
    cls: str = ""
    elem: Value | None = None
    items: tuple[Value, ...] | None = None
    keys: dict[str, Value] | None = None
    function: Function | None = None
    klass: Class | None = None
    either: tuple[Class, ...] = ()
    """The classes of an instance or module that is one of several."""
    choices: tuple[Value, ...] = ()
    """The functions, or imported names, that it is one of."""
    origin: ast.expr | None = None
    """The call or literal that made it, where there is exactly one."""
    home: Module | None = None
    """The module `origin` stands in."""
    const: object = None
    others: frozenset[str] = frozenset()
    scalar: bool = False
    """A tensor of no dimensions (a loss, a sum)."""
    boolean: bool = False
    """A tensor of bools (a comparison)."""
    grad: bool = False
    """A tensor that carries autograd history of a model's output or a loss."""
    batch: bool = False
    """Comes out of a loader, not moved yet."""
    pinned: bool | None = None
    """A loader, or a batch of one: pin_memory=True (False: proven not pinned)."""
    feeders: frozenset[ast.expr] = frozenset()
    """The calls that made the loaders which a batch comes from."""
    managed: bool = False
    """A loader whose batches a framework moves (accelerate, fabric)."""
    compiled: bool = False
    """A module or function that went through torch.compile."""
    parameter: bool = False
    """A parameter or buffer of a module."""
    integer: bool = False
    """A number proven to be an int, or a tensor of integers."""

    @property
    def is_tensor(self) -> bool:
        """Proven to be a tensor."""
        return self.kind == "tensor" and self.sure >= 2

    @property
    def may_be_tensor(self) -> bool:
        return self.kind == "tensor"

    @property
    def may_be_anything(self) -> bool:
        """Another thing on each path, and not known on one: what goes through nested data gives that."""
        return self.sure < 2 and "unknown" in self.others and len(self.others) > 2

    @property
    def on_cpu(self) -> bool:
        """Proven to live in host memory."""
        return self.kind in ("ndarray", "number", "str", "none") or self.device == "cpu"

    def __bool__(self) -> bool:
        return self.kind != "unknown"


_FIELDS = attrgetter(*Value.__slots__)


def replace(value: Value, **changes: Any) -> Value:
    """A value with other fields, as `dataclasses.replace` gives, in a third of its time."""
    new = Value(*_FIELDS(value))
    for name, field in changes.items():
        setattr(new, name, field)
    return new


UNKNOWN = Value()
NUMBER = Value("number", 2)
INTEGER = Value("number", 2, integer=True)
EXTENT = Value("number", 2, integer=True, cls="size")
"""How long one dimension is."""
BOOL = Value("number", 2, integer=True, cls="bool")
ON_ACCELERATOR = replace(BOOL, device="accelerator")
"""A test that holds where there is an accelerator: `torch.cuda.is_available()`."""
STR = Value("str", 2)
NONE = Value("none", 2)
NDARRAY = Value("ndarray", 2)
TENSOR = Value("tensor", 2)
LIKELY_TENSOR = Value("tensor", 1)
DEVICE = Value("device", 2)
CPU = Value("device", 2, device="cpu")
CUDA = Value("device", 2, device="accelerator")
DTYPE = Value("dtype", 2)
SIZE = Value("size", 2, elem=EXTENT)
CONTEXT = Value("context", 2)


def constant(value: Hashable) -> Value:
    """The value of a literal."""
    return _constant(value.__class__, value)


@functools.lru_cache(maxsize=4096)
def _constant(kind: type, value: Hashable) -> Value:
    # The class is part of the key, since 1 == 1.0 == True.
    if value is None:
        return NONE
    if isinstance(value, str):
        return Value("str", 2, const=value)
    if isinstance(value, bool):
        return Value("number", 2, const=value, integer=True, cls="bool")
    if isinstance(value, int):
        return Value("number", 2, const=value, integer=True)
    if isinstance(value, float | complex):
        return Value("number", 2, const=value)
    return Value("unknown")


def tensor(
    device: Device = "", *, scalar: bool = False, boolean: bool = False, grad: bool = False, sure: int = 2
) -> Value:
    if device == "" and not (scalar or boolean or grad) and sure == 2:
        return TENSOR
    return Value("tensor", sure, device=device, scalar=scalar, boolean=boolean, grad=grad)


def sequence(elem: Value) -> Value:
    return Value("list", 2, elem=elem)


def anywhere(value: Value) -> Value:
    """A value as if nobody knew where it lives, and which one it is."""
    return replace(
        value,
        device="",
        batch=False,
        pinned=None,
        const=None,
        elem=value.elem and anywhere(value.elem),
        items=value.items and tuple(map(anywhere, value.items)),
        keys=value.keys and {key: anywhere(each) for key, each in value.keys.items()},
    )


def join(a: Value, b: Value) -> Value:
    """What holds on both of two paths."""
    if a is b or a == b:
        return a
    if a.kind == "none" and b:
        return replace(b, others=b.others | {"none"}, const=None)
    if b.kind == "none" and a:
        return replace(a, others=a.others | {"none"}, const=None)
    if a.kind == b.kind:
        return _same_kind(a, b)
    for tensor_, other in ((a, b), (b, a)):
        if tensor_.kind == "tensor":
            sure = tensor_.sure if other.kind == "number" else 1
            return replace(tensor_, sure=sure, others=tensor_.others | other.others | {other.kind})
    # A module or its parallel wrapper; a context manager or nullcontext: the known one is what matters.
    if a.kind == "unknown":
        return replace(b, sure=min(b.sure, 1), others=b.others | {"unknown"})
    if b.kind == "unknown":
        return replace(a, sure=min(a.sure, 1), others=a.others | {"unknown"})
    if {a.kind, b.kind} == {"str", "device"}:
        return _device(a, b)
    return UNKNOWN


def _device(a: Value, b: Value) -> Value:
    devices = {_device_of(a), _device_of(b)}
    # `"cuda" if torch.cuda.is_available() else "cpu"`: the accelerator is what the program is for.
    return Value("device", 2, device="accelerator" if "accelerator" in devices else "")


def _device_of(value: Value) -> Device:
    if value.device:
        return value.device
    if value.kind == "str" and isinstance(value.const, str):
        return device_of_string(value.const)
    return ""


def device_of_string(text: str) -> Device:
    root = text.partition(":")[0]
    if root == "cpu":
        return "cpu"
    return "accelerator" if root in ACCELERATORS else ""


ACCELERATORS = frozenset(("cuda", "xpu", "mps", "npu", "hpu", "xla", "mlu", "musa", "gpu"))


def _classes(*values: Value) -> tuple[Class, ...]:
    found: dict[Class, None] = {}
    for value in values:
        found.update(dict.fromkeys(value.either))
        if value.klass is not None:
            found[value.klass] = None
    return tuple(found)


_MOST_CHOICES = 8


def _choices(a: Value, b: Value) -> tuple[Value, ...]:
    """The functions that one of two is, where each of them is known."""
    if a.kind not in ("function", "name"):
        return ()
    found = list(a.choices or (a,))
    found += [one for one in b.choices or (b,) if one not in found]
    known = all(one.function or one.cls or isinstance(one.origin, ast.Lambda) for one in found)
    return tuple(found) if known and len(found) <= _MOST_CHOICES else ()


def _same_kind(a: Value, b: Value) -> Value:
    if a.kind == "str" and _device_of(a) and _device_of(b):
        return _device(a, b)
    if a.kind in ("device", "module", "tensor") and a.device != b.device:
        # On one path it was moved: where a program can use an accelerator, that path is the one that matters.
        device: Device = "accelerator" if "accelerator" in (a.device, b.device) else ""
    else:
        device = a.device
    # What one path moved is no longer as the loader gave it.
    moved = "accelerator" in (a.device, b.device) and a.device != b.device
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
    keys = None
    if a.keys is not None and b.keys is not None:
        # A key that one path sets may be there: keep it, since what it turns on is turned on for somebody.
        keys = {**a.keys, **b.keys, **{key: join(a.keys[key], b.keys[key]) for key in a.keys.keys() & b.keys.keys()}}
    return Value(
        a.kind,
        min(a.sure, b.sure),
        device=device,
        cls=a.cls if a.cls == b.cls else "",
        elem=join(a.elem, b.elem) if a.elem and b.elem else (a.elem or b.elem),
        items=items,
        keys=keys,
        function=a.function if a.function is b.function else None,
        klass=a.klass if a.klass is b.klass else None,
        either=() if a.klass is b.klass else _classes(a, b),
        choices=_choices(a, b),
        origin=a.origin if a.origin is b.origin else None,
        home=a.home if a.home is b.home else None,
        const=a.const if a.const == b.const and type(a.const) is type(b.const) else None,
        others=a.others | b.others,
        scalar=a.scalar and b.scalar,
        boolean=a.boolean and b.boolean,
        grad=a.grad or b.grad,
        batch=(a.batch and b.batch) if moved else (a.batch or b.batch),
        pinned=a.pinned if a.pinned == b.pinned else (True if True in (a.pinned, b.pinned) else None),
        feeders=a.feeders | b.feeders,
        managed=a.managed or b.managed,
        compiled=a.compiled or b.compiled,
        parameter=a.parameter and b.parameter,
        integer=a.integer and b.integer,
    )
