"""What `.to(...)`, `.cuda()` and `.cpu()` make of what they move."""

from __future__ import annotations

from typing import TypeVar

from .arguments import Arguments, device_of, is_device
from .values import Batch, Device, ImportedName, ModuleValue, Tensor, Value, replace

_Movable = TypeVar("_Movable", Tensor, Batch, ModuleValue)
MOVES = frozenset(("to", "cuda", "cpu", "xpu", "npu"))
INTEGER_DTYPES = frozenset(f"torch.{name}" for name in "long int short int64 int32 int16 int8 uint8".split())
_REFUSED = frozenset(("module", "instance", "dict", "list", "tuple"))
"""What `.to()` takes none of: a guess that went wrong, so that the device is unknown."""


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
        base = replace(base, boolean=dtype.class_name == "torch.bool", integer=dtype.class_name in INTEGER_DTYPES)
    target = args.get(0, "device")
    if target is None:
        target = args.get(0, "other")
    if target is None or target.kind == "dtype":
        return base
    device = device_of(target)
    if device == "cpu":
        return replace(base, device="cpu")
    is_unknown = target.kind in _REFUSED or not target or _may_be_device(target)
    if device or is_device(target) or target.kind == "tensor" or is_unknown:
        return _moved(base, device)
    return base


def _may_be_device(target: Value) -> bool:
    """Whether an imported name may be a device, `settings.device`: a dtype is called one."""
    return isinstance(target, ImportedName) and "type" not in target.class_name.rpartition(".")[2]


def _moved(base: _Movable, device: Device) -> _Movable:
    return (
        replace(base, device=device)
        if isinstance(base, ModuleValue)
        else replace(base, device=device, from_loader=False)
    )
