"""What a test of a value's type leaves of what it may be."""

from __future__ import annotations

from .values import PROVEN, UNKNOWN, Kind, Value, replace


def kept(value: Value, asked: Value) -> Value:
    """A value where it is what was asked for."""
    if value.kind == "unknown" and asked.kind == "tensor":
        return replace(asked, other_kinds=asked.other_kinds | {"unknown"})  # nobody knows where it lives
    if value.kind != asked.kind or (asked.class_ is not None and value.class_ is not asked.class_):
        return asked or value
    return replace(value, certainty=PROVEN, other_kinds=frozenset(), parameter=value.parameter or asked.parameter)


def kept_of(value: Value, kinds: frozenset[Kind]) -> Value:
    """A value where it is of one of several kinds that were asked for."""
    if value.kind in kinds:
        return replace(value, other_kinds=value.other_kinds & kinds)
    return UNKNOWN


def left(value: Value, asked: Value) -> Value:
    """A value where it is not what was asked for."""
    if not asked or asked.kind == "instance" or asked.parameter:
        return value
    if asked.kind == "tensor" and value.kind in ("tensor", "unknown"):
        # Sure to be something else, whatever the rest of the function does with it.
        return Value("unknown", PROVEN)
    if value.kind == asked.kind:
        return value if asked.integer != value.integer else UNKNOWN
    return replace(value, other_kinds=value.other_kinds - {asked.kind})
