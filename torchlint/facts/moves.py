"""What `.to(...)`, `.cuda()` and `.cpu()` make of what they move."""

from __future__ import annotations

from typing import TypeVar

from ..system.regex import regex
from .arguments import Arguments, device_of, is_device
from .legacy_tensors import CONSTRUCTORS
from .values import Batch, Device, ModuleValue, Tensor, Value, is_host_data, replace

_Movable = TypeVar("_Movable", Tensor, Batch, ModuleValue)
MOVES = frozenset(("to", "cuda", "cpu", "xpu", "npu"))
SENDING = ("to", "cuda")
"""Those by which programs send to the device."""
INTEGER_DTYPES = frozenset(f"torch.{name}" for name in "long int short int64 int32 int16 int8 uint8".split())
_DTYPE = regex(r"(?i)type|precision|float|double|half|long|bool|complex|^(?:fp|bf|u?int)\d*$")
_UNKNOWN_PLACES = frozenset(("tensor", "name", "module", "instance", "dict", "list", "tuple"))
"""What may be anywhere: tensors, imported names, and what `.to()` takes none of, a guess that went wrong."""


def move(base: _Movable, attr: str, args: Arguments) -> _Movable:
    """A tensor, module or batch after `.to(...)`, `.cuda()`, `.cpu()`."""
    if base.kind == "batch" and base.entries:
        # Tensors are moved as well.
        base = replace(base, entries={key: one for key, one in base.entries.items() if is_host_data(one)} or None)
    if attr == "cpu":
        return replace(base, device="cpu")
    if attr in ("cuda", "xpu", "npu"):
        return _moved(base, "accelerator")
    dtype = next((value for value in (*args.positional, *args.keywords.values()) if value.kind == "dtype"), None)
    if dtype is not None and isinstance(base, Tensor):
        base = replace(base, boolean=dtype.class_name == "torch.bool", integer=dtype.class_name in INTEGER_DTYPES)
    target = args.get(0, "device")
    if target is None:
        target = args.get(0, "other")
    if target is None or target.kind == "dtype" or _is_called_a_dtype(target):
        return base
    device = device_of(target)
    if target.kind == "number" and not target.boolean and not target.other_kinds:
        device = "accelerator"  # the index of one, which is all that a number says here
    if device == "cpu":
        return replace(base, device="cpu")
    if device or is_device(target) or target.kind in _UNKNOWN_PLACES or not target:
        return _moved(base, device)
    return base


def sent_by_type(base: Tensor, constructor: Value) -> Tensor:
    """A tensor after `x.type(torch.cuda.LongTensor)`."""
    made = (constructor.choices or (constructor,))[0] if constructor.kind == "name" else constructor
    dtype = f"torch.{CONSTRUCTORS[made.class_name][0]}"
    sent = replace(base, boolean=dtype == "torch.bool", integer=dtype in INTEGER_DTYPES)
    return _moved(sent, "accelerator")


def fetched_by_type(base: Tensor, constructor: Value) -> Tensor:
    """A tensor after `x.type(torch.LongTensor)`, which is a type of the host."""
    dtype = f"torch.{CONSTRUCTORS[constructor.class_name][0]}"
    return replace(base, device="cpu", boolean=dtype == "torch.bool", integer=dtype in INTEGER_DTYPES)


def _is_called_a_dtype(target: Value) -> bool:
    """Whether an imported name, of which nobody knows what it is, is called as dtypes are: `settings.dtype`, `HALF`."""
    return target.kind == "name" and _DTYPE.search(target.class_name.rpartition(".")[2]) is not None


def _moved(base: _Movable, device: Device) -> _Movable:
    return (
        replace(base, device=device)
        if isinstance(base, ModuleValue)
        else replace(base, device=device, from_loader=False)
    )
