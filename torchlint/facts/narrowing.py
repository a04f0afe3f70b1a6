"""What a test of a value's type leaves of what it may be."""

from __future__ import annotations

from .batches import batch_held
from .values import PROVEN, TUPLE, UNKNOWN, Tensor, Unknown, Value, replace


def kept(value: Value, asked: Value) -> Value:
    """A value where it is what was asked for."""
    if asked.kind == "tensor" and value.kind == "number" and value.extent and not value.other_kinds:
        return value  # `x.shape[0]` is none outside of `torch.jit.trace`
    if asked.kind == "tensor" and value.kind != "tensor":
        # Nothing but the test says that it may be one, and nobody knows where it lives.
        return replace(asked, other_kinds=asked.other_kinds | {"unknown"})
    if asked.kind in _HOLDS and (held := _held(value)) is not None:
        return held
    if value.only_tested and asked.kind == "tensor":
        return value  # the test says no more of where it lives
    if value.kind == "list" and asked == TUPLE:
        return replace(asked, element=value.element, other_kinds=value.other_kinds)  # a sequence, of whatever type
    if value.kind != asked.kind or (asked.class_ is not None and value.class_ is not asked.class_):
        return asked or value
    known = replace(value, certainty=PROVEN, other_kinds=frozenset())
    return replace(known, parameter=True) if known.kind == "tensor" and asked.parameter else known


_HOLDS = frozenset(("dict", "list", "tuple"))


def _held(value: Value) -> Value | None:
    """What of a loader's batch holds tensors; None for what is none of a loader's."""
    if value.kind == "tensor" and value.from_loader:
        return batch_held(value)
    return value if value.kind == "batch" and value.from_loader else None


def may_be_tensor(value: Value) -> bool:
    """Whether a value may be a tensor, as far as is known: `loss = 0` to which something unknown is added, too."""
    return value.kind in ("unknown", "tensor") or (value.kind == "number" and "unknown" in value.other_kinds)


def used_as_tensor(value: Value) -> Tensor:
    """A value that may be a tensor where a use proves that it is one."""
    other_kinds = value.other_kinds - {"unknown"}
    if value.kind == "tensor":
        return replace(value, certainty=PROVEN, other_kinds=other_kinds)
    return Tensor(PROVEN, other_kinds, value.made_by, value.made_in, device=value.device)


def kept_of(value: Value, kinds: frozenset[str]) -> Value:
    """A value where it is of one of several kinds that were asked for."""
    if value.kind in kinds:
        return replace(value, other_kinds=value.other_kinds & kinds)
    return (_held(value) if kinds <= _HOLDS else None) or UNKNOWN


def left(value: Value, asked: Value) -> Value:
    """A value where it is not what was asked for."""
    if not asked or asked.kind == "instance" or asked.parameter:
        return value
    if asked.kind == "tensor" and value.kind == "tensor" and value.from_loader and "batch" in value.other_kinds:
        return batch_held(replace(value, other_kinds=value.other_kinds - {"batch"}))
    if asked.kind == "tensor" and value.kind in ("tensor", "unknown"):
        # Sure to be something else, whatever the rest of the function does with it.
        return Unknown(PROVEN)
    if value.kind == asked.kind == "module" and asked.class_name not in ("", "torch.nn.Module", value.class_name):
        return value  # a module of another class: `if isinstance(model, DataParallel): ... else: ...`
    if value.kind == asked.kind:
        return value if asked.integer != value.integer else UNKNOWN
    return replace(value, other_kinds=value.other_kinds - {asked.kind})
