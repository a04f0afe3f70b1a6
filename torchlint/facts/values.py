"""What an expression is and where it lives, as far as the source tells.

A `Value` is of one of the classes here, a class for each kind, told apart by `kind`: behind `value.kind == "tensor"`
or `value.is_tensor` it has what only tensors have. What is asked of any value (`Answers`) every kind answers.
Where two paths give one kind, its class says what holds on both (`on_both`). A new kind is a class, and its name in `Value`.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Hashable, Iterable
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform

    from .module import Class, Function, Module
else:

    def dataclass_transform(**told: object) -> Callable[[type], type]:
        """That of Python 3.11, which is for type checkers alone."""
        return lambda cls: cls


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


class Answers:
    """What is asked of any value, with the answers of a kind that has no such thing."""

    is_on_host: ClassVar[bool] = False
    """Whether all of its kind live in host memory."""
    device: Device = ""
    """Where it lives, "" where that is unknown; a module's device is its parameters'."""
    class_name: str = ""
    """The dotted name of the class of an object, or of what was imported."""
    class_: Class | None = None
    """The class of the project, of an object or the class itself."""
    classes: tuple[Class, ...] = ()
    """The classes of what is one of several."""
    function: Function | None = None
    """The function of the project."""

    @property
    def any_class(self) -> tuple[Class, ...]:
        """The class, or each of those that it is one of."""
        return (self.class_,) if self.class_ is not None else self.classes

    const: object = None
    """The number or string that it is, where it is a literal or folds to one."""
    element: Value | None = None
    """What iterating gives."""
    items: tuple[Value, ...] | None = None
    """What stands at each place."""
    entries: dict[str, Value] | None = None
    """What stands under each name."""
    integer: bool = False
    """An int, or a tensor of integers."""
    parameter: bool = False
    """A parameter or buffer of a module."""
    grad: bool = False
    """May carry autograd history of a model's output or a loss."""
    from_loader: bool = False
    """Comes out of a loader, not moved yet."""
    compiled: bool = False
    """Went through torch.compile."""


@dataclass_transform(eq_default=False)
class Fields:
    """Has fields as a dataclass has them: an object holds those that it was given, and its class answers the others.

    `dataclasses.dataclass` compiles code for each class, at every start: 0.3 ms for one, 4 ms for all kinds of values.
    """

    _names: ClassVar[dict[str, None]] = {}
    _all: ClassVar[attrgetter[object]]

    def __init_subclass__(cls) -> None:
        cls._names = {name: None for base in reversed(cls.__mro__[1:]) for name in base.__dict__.get("_names", ())}
        own = (name for name, annotation in cls.__annotations__.items() if not annotation.startswith("ClassVar"))
        cls._names.update(dict.fromkeys(own))
        cls._all = attrgetter("__class__", *cls._names)

    def __init__(self, *given: object, **named: object) -> None:
        if given:
            named.update(zip(self._names, given))  # noqa: B905 # as few as are given
        self.__dict__ = named

    def __eq__(self, other: object) -> bool:
        return self is other or (self.__class__ is other.__class__ and self._all(self) == self._all(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(f'{name}={field!r}' for name, field in vars(self).items())})"


class Common(Fields, Answers):
    """What every value has. Nobody changes one: see `replace`."""

    kind: ClassVar[str]

    certainty: Certainty = PROVEN
    other_kinds: frozenset[str] = frozenset()
    """The kinds that other paths give: `none`, `number`, ..."""
    made_by: ast.expr | None = None
    """The call or literal that made it, where there is exactly one."""
    made_in: Module | None = None
    """The module that `made_by` stands in."""

    @property
    def proven(self) -> bool:
        """Whether its kind is proven, on the paths that `other_kinds` leaves."""
        return self.certainty >= PROVEN

    @property
    def may_be_anything(self) -> bool:
        """Another thing on each path, and not known on one: what goes through nested data gives that."""
        return self.certainty < PROVEN and "unknown" in self.other_kinds and len(self.other_kinds) > 2

    @property
    def on_cpu(self) -> bool:
        """Proven to live in host memory."""
        return self.is_on_host or self.device == "cpu"

    def on_both(self, other: Self) -> dict[str, Any]:
        """The fields where one of two paths gives this value and the other one `other`: those that both have."""
        theirs = vars(other)
        same = {name: field for name, field in vars(self).items() if name in theirs and theirs[name] == field}
        same["certainty"] = min(self.certainty, other.certainty)
        same["other_kinds"] = self.other_kinds | other.other_kinds
        return same

    def joined(self, other: Self) -> Self | DeviceValue:
        """What holds on both of two paths that give this kind."""
        return self.__class__(**self.on_both(other))

    def anywhere(self) -> Self:
        """The value as if nobody knew where it lives, and which one it is."""
        return replace(self, device="") if self.device else self

    def without_const(self) -> Self:
        """The value as if nobody knew which one it is."""
        return self


class NotTensor(Common):
    """What is no tensor."""

    is_tensor: ClassVar[Literal[False]] = False
    may_be_tensor: ClassVar[Literal[False]] = False
    only_tested: ClassVar[Literal[False]] = False


class Unknown(NotTensor):
    """Anything. Proven where it is something that is not asked for, such as no tensor."""

    kind: ClassVar[Literal["unknown"]] = "unknown"
    certainty: Certainty = Certainty.UNKNOWN
    device: Device = ""

    def __bool__(self) -> Literal[False]:
        return False


class FromLoader(Common):
    """What may come out of a loader."""

    device: Device = ""
    from_loader: bool = False
    pinned: bool | None = None
    """Whether the loader pins memory; None where that is not known."""
    managed: bool = False
    """A framework moves the loader's batches (accelerate, fabric)."""
    loader_calls: frozenset[ast.expr] = frozenset()
    """The calls that made the loaders which it comes from."""

    def on_both(self, other: Self) -> dict[str, Any]:
        # What one path moved is no longer as the loader gave it.
        moved = self.device != other.device and (
            "accelerator" in (self.device, other.device) or self.is_moved or other.is_moved
        )
        from_loader = self.from_loader, other.from_loader
        return super().on_both(other) | {
            "device": _device_of_moved(self, other),
            "from_loader": all(from_loader) if moved else any(from_loader),
            "pinned": _pinned(self.pinned, other.pinned),
            "managed": self.managed or other.managed,
            "loader_calls": self.loader_calls | other.loader_calls,
        }

    @property
    def is_moved(self) -> bool:
        """Whether a loader gave it, and somebody moved it since, wherever to."""
        return self.proven and bool(self.loader_calls) and not (self.from_loader or self.device)

    def anywhere(self) -> Self:
        return replace(self, device="", from_loader=False, pinned=None)


class Tensor(FromLoader):
    kind: ClassVar[Literal["tensor"]] = "tensor"
    may_be_tensor: ClassVar[Literal[True]] = True

    scalar: bool = False
    """Of no dimensions (a loss, a sum)."""
    sized: bool = False
    """Known to have dimensions (`torch.zeros(n)`)."""
    boolean: bool = False
    """Of bools (a comparison)."""
    integer: bool = False
    parameter: bool = False
    grad: bool = False

    @property
    def is_tensor(self) -> bool:
        """Proven to be a tensor."""
        return self.certainty >= PROVEN

    @property
    def only_tested(self) -> bool:
        """A tensor by nothing but a test of its type, such as `isinstance(x, torch.Tensor)`: it may live anywhere."""
        return self.is_tensor and "unknown" in self.other_kinds and not self.device

    def on_both(self, other: Self) -> dict[str, Any]:
        return super().on_both(other) | {"grad": self.grad or other.grad}


class Batch(NotTensor, FromLoader):
    """What a loader gives: a tensor, or a tuple or dict of tensors; `entries` are those that were put there since."""

    kind: ClassVar[Literal["batch"]] = "batch"

    entries: dict[str, Value] | None = None
    flat: bool = False
    """Only its tensors were moved, one by one: what is in a dictionary that it holds stayed."""
    parts: tuple[Value, ...] | None = None
    """What it is a tuple of, where its loader's collate function tells: numbers and text, and unknown for all that may be tensors."""
    left: tuple[str, ...] = ()
    """The fields that stay on the host where its class moves it, which its loader's collate function tells."""

    def on_both(self, other: Self) -> dict[str, Any]:
        put = self.entries or other.entries
        same = super().on_both(other) | ({"entries": _all_entries(self, other)} if put else {})
        # Wherever one path moved it to.
        return same | {"from_loader": self.from_loader and other.from_loader, "flat": self.flat or other.flat}

    def anywhere(self) -> Self:
        return replace(super().anywhere(), entries=None)


class Loader(NotTensor):
    """A DataLoader, or what wraps one."""

    kind: ClassVar[Literal["loader"]] = "loader"

    class_name: str = ""
    class_: Class | None = None
    """The class of its dataset."""
    device: Device = ""
    element: Value | None = None
    pinned: bool | None = None
    """Whether it pins memory; None where that is not known."""
    managed: bool = False
    """A framework moves its batches (accelerate, fabric)."""
    begun: bool = False
    """It is an iterator, which goes on where it is: `iter(loader)`."""

    def on_both(self, other: Self) -> dict[str, Any]:
        return super().on_both(other) | {
            "begun": self.begun or other.begun,
            "element": _element(self, other),
            "pinned": _pinned(self.pinned, other.pinned),
            "managed": self.managed or other.managed,
        }

    def anywhere(self) -> Self:
        return replace(self, device="", pinned=None, element=self.element and self.element.anywhere())


class Named(NotTensor):
    """Something of which no more is known than the dotted name of its class."""

    class_name: str = ""


class Optimizer(Named):
    kind: ClassVar[Literal["optimizer"]] = "optimizer"


class Scheduler(Named):
    kind: ClassVar[Literal["scheduler"]] = "scheduler"


class Scaler(Named):
    """A GradScaler."""

    kind: ClassVar[Literal["scaler"]] = "scaler"


class Dataset(Named):
    kind: ClassVar[Literal["dataset"]] = "dataset"

    device: Device = ""
    """Where the tensors of a `TensorDataset` are."""


class Accelerator(Named):
    """accelerate's Accelerator, lightning's Fabric."""

    kind: ClassVar[Literal["accelerator"]] = "accelerator"


class Dtype(Named):
    kind: ClassVar[Literal["dtype"]] = "dtype"


class Distribution(Named):
    """A torch.distributions object."""

    kind: ClassVar[Literal["distribution"]] = "distribution"
    device: Device = ""


class Callee(NotTensor):
    """A function, or something that was imported."""

    class_name: str = ""
    """Its own dotted name."""
    function: Function | None = None
    choices: tuple[FunctionValue | ImportedName, ...] = ()
    """The functions, or imported names, that it is one of."""
    entries: dict[str, Value] | None = None
    """What `functools.partial` has given it by name."""
    compiled: bool = False

    @property
    def is_known(self) -> bool:
        return bool(self.function or self.class_name or isinstance(self.made_by, ast.Lambda))

    def on_both(self, other: Self) -> dict[str, Any]:
        return super().on_both(other) | {"choices": _choices(self, other), "compiled": self.compiled or other.compiled}


class FunctionValue(Callee):
    kind: ClassVar[Literal["function"]] = "function"


class ImportedName(Callee):
    """An imported module or member."""

    kind: ClassVar[Literal["name"]] = "name"


class OfClass(NotTensor):
    """An object of a class, or the class."""

    class_name: str = ""
    class_: Class | None = None
    classes: tuple[Class, ...] = ()
    entries: dict[str, Value] | None = None
    compiled: bool = False

    def on_both(self, other: Self) -> dict[str, Any]:
        return super().on_both(other) | {
            "classes": _classes(self, other),
            "entries": _entries(self, other),
            "compiled": self.compiled or other.compiled,
        }


class Instance(OfClass):
    kind: ClassVar[Literal["instance"]] = "instance"


class ClassValue(OfClass):
    """A class; one that `namedtuple` made has its fields as `entries`."""

    kind: ClassVar[Literal["class"]] = "class"


class ModuleValue(OfClass):
    """An nn.Module; one that holds modules has them as `items` in their order, or as `entries` by name."""

    kind: ClassVar[Literal["module"]] = "module"
    device: Device = ""
    element: Value | None = None
    items: tuple[Value, ...] | None = None

    @property
    def of_any_class(self) -> bool:
        """Whether nobody knows what class it is of: none of the project, no layer of torch or another library."""
        return self.class_ is None and not self.classes and self.class_name in ("", "torch.nn.Module")

    def on_both(self, other: Self) -> dict[str, Any]:
        return super().on_both(other) | {
            "device": _device_of_moved(self, other),
            "element": _element(self, other),
            "items": _items(self, other),
        }

    def anywhere(self) -> Self:
        return replace(self, device="", **_parts_anywhere(self))


class Collection(NotTensor):
    """What holds other values."""

    element: Value | None = None
    items: tuple[Value, ...] | None = None
    entries: dict[str, Value] | None = None

    def on_both(self, other: Self) -> dict[str, Any]:
        return super().on_both(other) | {
            "element": _element(self, other),
            "items": _items(self, other),
            "entries": _entries(self, other),
        }

    def anywhere(self) -> Self:
        return replace(self, **_parts_anywhere(self))


class List(Collection):
    """Also a set, a generator and other iterables."""

    kind: ClassVar[Literal["list"]] = "list"


class Tuple(Collection):
    """One whose places have names has them as `entries`, too."""

    kind: ClassVar[Literal["tuple"]] = "tuple"

    by_length: tuple[tuple[Value, ...], ...] = ()
    """What stands at each place, for each length that it has on some path, where these differ."""

    def on_both(self, other: Self) -> dict[str, Any]:
        return super().on_both(other) | {"by_length": _by_length(self, other)}

    def anywhere(self) -> Self:
        lengths = tuple(tuple(one.anywhere() for one in items) for items in self.by_length)
        return replace(super().anywhere(), by_length=lengths)


class Dict(Collection):
    kind: ClassVar[Literal["dict"]] = "dict"


class Size(Collection):
    """torch.Size"""

    kind: ClassVar[Literal["size"]] = "size"


class Number(NotTensor):
    kind: ClassVar[Literal["number"]] = "number"
    is_on_host: ClassVar[bool] = True

    const: int | float | complex | None = None
    integer: bool = False
    boolean: bool = False
    extent: bool = False
    """How long one dimension is."""
    needs_accelerator: bool = False
    """A test that holds only where there is an accelerator: `torch.cuda.is_available()`."""

    def __eq__(self, other: object) -> bool:
        same = super().__eq__(other)
        return same and isinstance(other, Number) and self.const.__class__ is other.const.__class__  # 1 == 1.0 == True

    __hash__ = None  # type: ignore[assignment]

    def on_both(self, other: Self) -> dict[str, Any]:
        same_type = self.const.__class__ is other.const.__class__  # 1 == 1.0 == True
        return super().on_both(other) | ({} if same_type else {"const": None})

    def anywhere(self) -> Self:
        return replace(self, const=None, needs_accelerator=False)

    def without_const(self) -> Self:
        return replace(self, const=None)


class Text(NotTensor):
    """A string."""

    kind: ClassVar[Literal["str"]] = "str"
    is_on_host: ClassVar[bool] = True

    const: str | None = None
    device: Device = ""
    """The place that its beginning names: `f"cuda:{rank}"`."""

    @property
    def named_device(self) -> Device:
        """The place that it names, as an argument `device=`."""
        return self.device or (device_of_string(self.const) if self.const is not None else "")

    def joined(self, other: Self) -> Self | DeviceValue:
        if self.named_device and other.named_device:
            return _named_device(self, other)
        return self.__class__(**self.on_both(other))

    def anywhere(self) -> Self:
        return replace(self, const=None, device="")

    def without_const(self) -> Self:
        return replace(self, const=None)


class Nothing(NotTensor):
    """None."""

    kind: ClassVar[Literal["none"]] = "none"
    is_on_host: ClassVar[bool] = True


class Array(NotTensor):
    """A NumPy array, a data frame."""

    kind: ClassVar[Literal["ndarray"]] = "ndarray"
    is_on_host: ClassVar[bool] = True


class Context(NotTensor):
    """A context manager."""

    kind: ClassVar[Literal["context"]] = "context"


class DeviceValue(NotTensor):
    """A torch.device."""

    kind: ClassVar[Literal["device"]] = "device"
    device: Device = ""
    by_default_host: bool = False
    """Whether it is the host where nobody says otherwise: `x.device if x is not None else torch.empty(0).device`."""

    def anywhere(self) -> Self:
        return replace(super().anywhere(), by_default_host=self.by_default_host or self.device == "cpu")

    def on_both(self, other: Self) -> dict[str, Any]:
        device = _device_of_moved(self, other)
        host = self.by_default_host or other.by_default_host or "cpu" in (self.device, other.device)
        return super().on_both(other) | {"device": device, "by_default_host": host and not device}


Value = (
    Unknown
    | Tensor
    | Batch
    | Loader
    | ModuleValue
    | Optimizer
    | Scheduler
    | Scaler
    | Dataset
    | Distribution
    | Accelerator
    | Array
    | Number
    | Text
    | Nothing
    | List
    | Tuple
    | Dict
    | Size
    | DeviceValue
    | Dtype
    | Context
    | FunctionValue
    | ClassValue
    | ImportedName
    | Instance
)
_V = TypeVar("_V", bound=Common)


def replace(value: _V, **changes: Any) -> _V:
    """A value with other fields. Raises TypeError where its kind has no such field."""
    if not changes.keys() <= value._names.keys():
        raise TypeError(f"no field of {value.kind}: {', '.join(changes.keys() - value._names.keys())}")
    new = object.__new__(value.__class__)
    new.__dict__ = {**vars(value), **changes}
    return new


_DEEPEST = 8
_LARGEST = 10_000


def bounded(value: Value) -> Value:
    """The value; of what holds too much, or too deep in each other, it is not known what it holds.

    `a = (a, a)` holds twice as much as before, and a literal list each of its items in two ways.
    """
    lengths = value.by_length if isinstance(value, Tuple) else ()
    if value.element is None and value.items is None and value.entries is None and not lengths:
        return value
    if _is_bounded(value):
        return value
    fields = [name for name in ("element", "items", "entries") if name in value._names]
    unknown = replace(value, **dict.fromkeys(fields))
    return replace(unknown, by_length=()) if isinstance(unknown, Tuple) else unknown


def _is_bounded(value: Value) -> bool:
    level: list[Value] = [value]
    seen = 0
    for _ in range(_DEEPEST):
        below: list[Value] = []
        for one in level:
            if one.element is not None:
                below.append(one.element)
            below += one.items or ()
            below += (one.entries or {}).values()
            below += itertools.chain.from_iterable(one.by_length if isinstance(one, Tuple) else ())
        seen += len(below)
        if not below or seen > _LARGEST:
            break
        level = below
    return not below


# Joins


def join(a: Value, b: Value) -> Value:
    """What holds on both of two paths."""
    if a is b or a == b:
        return a
    if a.kind == b.kind:
        return _same_kind(a, b)
    for one, other in ((a, b), (b, a)):
        if one.kind == "none" and (other or other.device):
            return _beside(other.without_const(), one, PROVEN)
    for one, other in ((a, b), (b, a)):
        if one.kind == "tensor":
            if other.kind == "dict" and other.element is not None and one.grad and _is_of_tensors(other):
                # Losses by their names, as they come or summed over processes: what the criterion gave is a dictionary, too.
                return replace(other, element=join(one, other.element))
            return _beside(one, other, PROVEN if other.kind == "number" else LIKELY)
    for one, other in ((a, b), (b, a)):
        if one.kind == "unknown":
            # A module or its parallel wrapper; a context manager or nullcontext: the known one is what matters.
            # The host beside what is not known is chosen where there is no device.
            return _beside(other.anywhere() if _place_named(other) == "cpu" else other, one, LIKELY)
    if {a.kind, b.kind} == {"str", "device"}:
        return _named_device(a, b)
    for one, other in ((a, b), (b, a)):
        if one.kind in ("instance", "module") and other.kind == "function":
            # `nn.GELU() if smooth else swish`: something to call, however it is made.
            return _beside(one, other, LIKELY)
    for one, other in ((a, b), (b, a)):
        if one.kind == "loader" and other.kind == "instance":
            # A loader, and an object of the project that gives batches in a way of its own.
            return _beside(one, other, LIKELY)
    return UNKNOWN


def join_all(values: Iterable[Value]) -> Value:
    """What holds of each of several values; there is one at least."""
    return functools.reduce(join, values)


def _same_kind(a: _V, b: _V) -> _V | DeviceValue:
    return a.joined(b)


def _beside(value: _V, other: Common, most: Certainty) -> _V:
    """A value that is of another kind on another path."""
    certainty = min(value.certainty, most, other.certainty if other else PROVEN)
    return replace(value, certainty=certainty, other_kinds=value.other_kinds | other.other_kinds | {other.kind})


def _is_of_tensors(mapping: Dict) -> bool:
    """`{name: loss / count for name, loss in losses.items()}`, of which no single key is known."""
    element = mapping.element
    return not mapping.entries and element is not None and element.proven and element.kind == "tensor"


def _device_of_moved(a: Common, b: Common) -> Device:
    """Where something is that was moved on one path: what a program that can use an accelerator does there matters."""
    if a.device == b.device:
        return a.device
    return "accelerator" if "accelerator" in (a.device, b.device) else ""


def _place_named(one: Value) -> Device:
    """The place that a device, or the name of one, tells; "" where it is neither."""
    return one.named_device if isinstance(one, Text) else one.device if isinstance(one, DeviceValue) else ""


def _named_device(a: Value, b: Value) -> DeviceValue:
    # `"cuda" if torch.cuda.is_available() else "cpu"`: the accelerator is what the program is for.
    device: Device = "accelerator" if "accelerator" in map(_place_named, (a, b)) else ""
    return DeviceValue(min(a.certainty, b.certainty), a.other_kinds | b.other_kinds, device=device)


def _pinned(a: bool | None, b: bool | None) -> bool | None:
    return a if a == b else True if a or b else None


def _element(a: Common, b: Common) -> Value | None:
    # What is empty on one path, or holds one knows not what, is taken to hold there what it does on the other.
    found = [one for one in (a.element, b.element) if one is not None]
    return join_all([one for one in found if one] or found) if found else None


def _items(a: Common, b: Common) -> tuple[Value, ...] | None:
    if a.items is None or b.items is None or len(a.items) != len(b.items):
        return None
    return tuple(map(join, a.items, b.items))


def _by_length(a: Tuple, b: Tuple) -> tuple[tuple[Value, ...], ...]:
    """What tuples of different lengths hold, the items of each length joined; nothing where a length is not known."""
    found: dict[int, tuple[Value, ...]] = {}
    for one in (a, b):
        lengths = one.by_length or (() if one.items is None else (one.items,))
        if not lengths:
            return ()
        for items in lengths:
            known = found.get(len(items))
            found[len(items)] = items if known is None else tuple(map(join, known, items))
    return tuple(found[length] for length in sorted(found)) if len(found) > 1 else ()


def _entries(a: Common, b: Common) -> dict[str, Value] | None:
    return None if a.entries is None or b.entries is None else _all_entries(a, b)


def _all_entries(a: Common, b: Common) -> dict[str, Value]:
    # A key that one path sets may be there: keep it, since what it turns on is turned on for somebody.
    one, other = a.entries or {}, b.entries or {}
    return {**one, **other, **{key: join(one[key], other[key]) for key in one.keys() & other.keys()}}


def _classes(a: Common, b: Common) -> tuple[Class, ...]:
    if a.class_ is b.class_ is not None:
        return ()
    found = {*a.classes, *b.classes, a.class_, b.class_} - {None}
    return tuple(sorted(filter(None, found), key=lambda klass: (klass.module.path, klass.start)))


_MOST_CHOICES = 32


def _choices(a: Callee, b: Callee) -> tuple[Any, ...]:
    """The functions that one of two is, where each of them is known."""
    each = [replace(one, entries=None) for one in (*(a.choices or (a,)), *(b.choices or (b,)))]
    found = [one for at, one in enumerate(each) if one not in each[:at]]
    if len(found) > _MOST_CHOICES or not all(one.is_known for one in found):
        return ()
    return tuple(sorted(found, key=_order))


def _order(one: Callee) -> tuple[object, ...]:
    """An order of callees that tells any two apart which are not equal."""
    places = [
        (getattr(node, "lineno", -1), getattr(node, "col_offset", -1))
        for node in (one.function.node if one.function is not None else None, one.made_by)
    ]
    module = one.made_in.path if one.made_in is not None else ""
    kinds = one.kind, one.compiled, one.certainty, sorted(one.other_kinds)
    return (one.class_name, repr(one.function), *places, module, *kinds, [_order(each) for each in one.choices])


def _parts_anywhere(value: Common) -> dict[str, Any]:
    return {
        "element": value.element and value.element.anywhere(),
        "items": value.items and tuple(one.anywhere() for one in value.items),
        "entries": value.entries and {key: one.anywhere() for key, one in value.entries.items()},
    }


# Values

UNKNOWN: Value = Unknown()
NUMBER = Number()
LIKELY_NUMBER = Number(LIKELY)
INTEGER = Number(integer=True)
EXTENT = Number(integer=True, extent=True)
BOOL = Number(integer=True, boolean=True)
ON_ACCELERATOR = replace(BOOL, needs_accelerator=True)
STR = Text()
NONE = Nothing()
NDARRAY = Array()
ARRAY_OR_NUMBER = Array(other_kinds=frozenset(("number",)))
"""What an array of unknown dimensions holds."""
TENSOR = Tensor()
LIKELY_TENSOR = Tensor(LIKELY)
DEVICE = DeviceValue()
LIKELY_DEVICE = DeviceValue(LIKELY)
"""What is called a device, and nothing else is known of."""
CPU = DeviceValue(device="cpu")
CUDA = DeviceValue(device="accelerator")
DTYPE = Dtype()
LIST: Value = List()
TUPLE: Value = Tuple()
DICT: Value = Dict()
SIZE = Size(element=EXTENT)
CONTEXT = Context()


def constant(value: Hashable) -> Value:
    """The value of a literal."""
    return _constant(value.__class__, value)


@functools.lru_cache(maxsize=4096)
def _constant(kind: type, value: Hashable) -> Value:
    # The class is part of the key, since 1 == 1.0 == True.
    if value is None:
        return NONE
    if isinstance(value, str):
        return Text(const=value)
    if isinstance(value, bool):
        return Number(const=value, integer=True, boolean=True)
    if isinstance(value, int):
        return Number(const=value, integer=True)
    if isinstance(value, float | complex):
        return Number(const=value)
    return UNKNOWN


def tensor(
    device: Device = "",
    *,
    scalar: bool = False,
    boolean: bool = False,
    grad: bool = False,
    certainty: Certainty = PROVEN,
) -> Tensor:
    if device == "" and not (scalar or boolean or grad) and certainty == PROVEN:
        return TENSOR
    return Tensor(certainty, device=device, scalar=scalar, boolean=boolean, grad=grad)


def sequence(element: Value) -> List:
    return List(element=element)


def is_host_tensor(value: Value) -> bool:
    """Whether something is a tensor of the host on all paths, and not one that a loader gave."""
    return value.is_tensor and value.device == "cpu" and not (value.other_kinds or value.from_loader)


def is_host_data(value: Value) -> bool:
    """Whether something is numbers or text, by itself or in a list."""
    each = value.element if value.kind == "list" else value
    return each is not None and each.kind in ("number", "str") and not (value.other_kinds or each.other_kinds)


def device_of_string(text: str) -> Device:
    root = text.partition(":")[0]
    if root == "cpu":
        return "cpu"
    return "accelerator" if root in ACCELERATORS else ""


ACCELERATORS = frozenset(("cuda", "xpu", "mps", "npu", "hpu", "xla", "mlu", "musa", "gpu"))
