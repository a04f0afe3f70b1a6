"""What an expression is and where it lives, as far as the source tells."""

from __future__ import annotations

import ast
import functools
from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal

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
    "list",  # also sets, generators and other iterables; `element` is what iterating gives
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


class Certainty(IntEnum):
    """How well founded a value's kind is."""

    UNKNOWN = 0
    LIKELY = 1
    """A name or a use suggests it."""
    PROVEN = 2


# Read as names of this module: an attribute of an enumeration takes five times as long.
LIKELY: Final = Certainty.LIKELY
PROVEN: Final = Certainty.PROVEN


@dataclass(unsafe_hash=True, slots=True)  # that of a frozen one takes three times as long to make
class Value:
    """What one expression evaluates to; nobody changes one.

    `device` is "" where unknown; a module's device is its parameters'. `class_name` is the dotted name of the class of
    an instance, module, optimizer, or of an imported name. `other_kinds` are those that other paths give (`none`,
    `number`, ...).
    """

    kind: Kind = "unknown"
    certainty: Certainty = Certainty.UNKNOWN
    device: Device = ""
    class_name: str = ""
    element: Value | None = None
    items: tuple[Value, ...] | None = None
    entries: dict[str, Value] | None = None
    function: Function | None = None
    class_: Class | None = None
    classes: tuple[Class, ...] = ()
    """The classes of an instance or module that is one of several."""
    choices: tuple[Value, ...] = ()
    """The functions, or imported names, that it is one of."""
    made_by: ast.expr | None = None
    """The call or literal that made it, where there is exactly one."""
    made_in: Module | None = None
    """The module `made_by` stands in."""
    const: object = None
    other_kinds: frozenset[str] = frozenset()
    scalar: bool = False
    """A tensor of no dimensions (a loss, a sum)."""
    boolean: bool = False
    """A tensor of bools (a comparison)."""
    grad: bool = False
    """A tensor that carries autograd history of a model's output or a loss."""
    from_loader: bool = False
    """Comes out of a loader, not moved yet."""
    pinned: bool | None = None
    """A loader, or a batch of one: pin_memory=True (False: proven not pinned)."""
    loader_calls: frozenset[ast.expr] = frozenset()
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
    def proven(self) -> bool:
        """Whether its kind is proven, on the paths that `other_kinds` leaves."""
        return self.certainty >= PROVEN

    @property
    def is_tensor(self) -> bool:
        """Proven to be a tensor."""
        return self.kind == "tensor" and self.certainty >= PROVEN

    @property
    def only_tested(self) -> bool:
        """A tensor by nothing but a test of its type, such as `isinstance(x, torch.Tensor)`: it may live anywhere."""
        return self.is_tensor and "unknown" in self.other_kinds and not self.device

    @property
    def may_be_tensor(self) -> bool:
        return self.kind == "tensor"

    @property
    def may_be_anything(self) -> bool:
        """Another thing on each path, and not known on one: what goes through nested data gives that."""
        return self.certainty < PROVEN and "unknown" in self.other_kinds and len(self.other_kinds) > 2

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
NUMBER = Value("number", PROVEN)
INTEGER = Value("number", PROVEN, integer=True)
EXTENT = Value("number", PROVEN, integer=True, class_name="size")
"""How long one dimension is."""
BOOL = Value("number", PROVEN, integer=True, class_name="bool")
ON_ACCELERATOR = replace(BOOL, device="accelerator")
"""A test that holds where there is an accelerator: `torch.cuda.is_available()`."""
STR = Value("str", PROVEN)
NONE = Value("none", PROVEN)
NDARRAY = Value("ndarray", PROVEN)
TENSOR = Value("tensor", PROVEN)
LIKELY_TENSOR = Value("tensor", LIKELY)
DEVICE = Value("device", PROVEN)
CPU = Value("device", PROVEN, device="cpu")
CUDA = Value("device", PROVEN, device="accelerator")
DTYPE = Value("dtype", PROVEN)
SIZE = Value("size", PROVEN, element=EXTENT)
CONTEXT = Value("context", PROVEN)


def constant(value: Hashable) -> Value:
    """The value of a literal."""
    return _constant(value.__class__, value)


@functools.lru_cache(maxsize=4096)
def _constant(kind: type, value: Hashable) -> Value:
    # The class is part of the key, since 1 == 1.0 == True.
    if value is None:
        return NONE
    if isinstance(value, str):
        return Value("str", PROVEN, const=value)
    if isinstance(value, bool):
        return Value("number", PROVEN, const=value, integer=True, class_name="bool")
    if isinstance(value, int):
        return Value("number", PROVEN, const=value, integer=True)
    if isinstance(value, float | complex):
        return Value("number", PROVEN, const=value)
    return Value("unknown")


def tensor(
    device: Device = "",
    *,
    scalar: bool = False,
    boolean: bool = False,
    grad: bool = False,
    certainty: Certainty = PROVEN,
) -> Value:
    if device == "" and not (scalar or boolean or grad) and certainty == PROVEN:
        return TENSOR
    return Value("tensor", certainty, device=device, scalar=scalar, boolean=boolean, grad=grad)


def sequence(element: Value) -> Value:
    return Value("list", PROVEN, element=element)


def anywhere(value: Value) -> Value:
    """A value as if nobody knew where it lives, and which one it is."""
    return replace(
        value,
        device="",
        from_loader=False,
        pinned=None,
        const=None,
        element=value.element and anywhere(value.element),
        items=value.items and tuple(map(anywhere, value.items)),
        entries=value.entries and {key: anywhere(each) for key, each in value.entries.items()},
    )


def join(a: Value, b: Value) -> Value:
    """What holds on both of two paths."""
    if a is b or a == b:
        return a
    if a.kind == "none" and b:
        return replace(b, other_kinds=b.other_kinds | {"none"}, const=None)
    if b.kind == "none" and a:
        return replace(a, other_kinds=a.other_kinds | {"none"}, const=None)
    if a.kind == b.kind:
        return _same_kind(a, b)
    for tensor_, other in ((a, b), (b, a)):
        if tensor_.kind == "tensor":
            certainty = tensor_.certainty if other.kind == "number" else LIKELY
            return replace(
                tensor_, certainty=certainty, other_kinds=tensor_.other_kinds | other.other_kinds | {other.kind}
            )
    # A module or its parallel wrapper; a context manager or nullcontext: the known one is what matters.
    if a.kind == "unknown":
        return replace(b, certainty=min(b.certainty, LIKELY), other_kinds=b.other_kinds | {"unknown"})
    if b.kind == "unknown":
        return replace(a, certainty=min(a.certainty, LIKELY), other_kinds=a.other_kinds | {"unknown"})
    if {a.kind, b.kind} == {"str", "device"}:
        return _device(a, b)
    return UNKNOWN


def _device(a: Value, b: Value) -> Value:
    devices = {_device_of(a), _device_of(b)}
    # `"cuda" if torch.cuda.is_available() else "cpu"`: the accelerator is what the program is for.
    return Value("device", PROVEN, device="accelerator" if "accelerator" in devices else "")


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
        found.update(dict.fromkeys(value.classes))
        if value.class_ is not None:
            found[value.class_] = None
    return tuple(found)


_MOST_CHOICES = 8


def _choices(a: Value, b: Value) -> tuple[Value, ...]:
    """The functions that one of two is, where each of them is known."""
    if a.kind not in ("function", "name"):
        return ()
    found = list(a.choices or (a,))
    found += [one for one in b.choices or (b,) if one not in found]
    known = all(one.function or one.class_name or isinstance(one.made_by, ast.Lambda) for one in found)
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
    if a.entries is not None and b.entries is not None:
        # A key that one path sets may be there: keep it, since what it turns on is turned on for somebody.
        keys = {
            **a.entries,
            **b.entries,
            **{key: join(a.entries[key], b.entries[key]) for key in a.entries.keys() & b.entries.keys()},
        }
    return Value(
        a.kind,
        min(a.certainty, b.certainty),
        device=device,
        class_name=a.class_name if a.class_name == b.class_name else "",
        element=join(a.element, b.element) if a.element and b.element else (a.element or b.element),
        items=items,
        entries=keys,
        function=a.function if a.function is b.function else None,
        class_=a.class_ if a.class_ is b.class_ else None,
        classes=() if a.class_ is b.class_ else _classes(a, b),
        choices=_choices(a, b),
        made_by=a.made_by if a.made_by is b.made_by else None,
        made_in=a.made_in if a.made_in is b.made_in else None,
        const=a.const if a.const == b.const and type(a.const) is type(b.const) else None,
        other_kinds=a.other_kinds | b.other_kinds,
        scalar=a.scalar and b.scalar,
        boolean=a.boolean and b.boolean,
        grad=a.grad or b.grad,
        from_loader=(a.from_loader and b.from_loader) if moved else (a.from_loader or b.from_loader),
        pinned=a.pinned if a.pinned == b.pinned else (True if True in (a.pinned, b.pinned) else None),
        loader_calls=a.loader_calls | b.loader_calls,
        managed=a.managed or b.managed,
        compiled=a.compiled or b.compiled,
        parameter=a.parameter and b.parameter,
        integer=a.integer and b.integer,
    )
