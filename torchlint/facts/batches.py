"""What loaders give, and what batches and mappings hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .arguments import Arguments
from .module import Module
from .nearby import calls_on
from .nodes import is_constant, keyword_of
from .values import LIKELY, STR, UNKNOWN, Batch, Dict, Loader, Tensor, Tuple, Value, join_all, replace, sequence

_LEFT_ON_HOST = Tensor(LIKELY, device="cpu")
"""A field of an object that is moved without it."""
VIEWS = frozenset(("items", "popitem", "values", "keys"))
"""Methods that show what a mapping holds."""


def loader(node: ast.Call, args: Arguments) -> Loader:
    """A DataLoader; `pinned` is True or False where the source proves it."""
    given = args.keywords.get("pin_memory")
    if given is None and len(args.positional) > 7:
        given = args.positional[7]
    pinned = pins(given) if given is not None else None if args.open else False
    dataset = args.first
    return made_loader(Loader(class_name="torch.utils.data.DataLoader", made_by=node, class_=dataset.class_), pinned)


def pinned_beside(module: Module) -> bool:
    """Whether every loader that a file makes pins its batches: so does what a function there is given for one by nobody knows whom."""
    made = [call for _, call in calls_on(module, module.lines_calling("DataLoader"), "DataLoader")]
    return bool(made) and all(is_constant(keyword_of(call, "pin_memory"), True) for call in made)


def pins(told: Value) -> bool | None:
    """What `pin_memory=` says; `torch.cuda.is_available()` says yes, as the accelerator is what the program is for."""
    on_accelerator = told.kind == "number" and told.needs_accelerator
    return told.const if isinstance(told.const, bool) else True if on_accelerator else None


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


def with_left(moved: Batch, left: Iterable[str]) -> Batch:
    """A batch that was moved without some of its fields; of those that are numbers or text more is known."""
    kept = {**dict.fromkeys(left, _LEFT_ON_HOST), **(moved.entries or {})}
    return replace(moved, entries=kept) if kept else moved


def part_at(batch: Batch, at: int) -> Value | None:
    """What a batch is made of at a place, where that is no tensor; None where it may be one."""
    parts = batch.parts or ()
    return (parts[at] or None) if -len(parts) <= at < len(parts) else None


def batch_tensor(batch: Batch) -> Tensor:
    """One tensor of a batch."""
    return Tensor(batch.certainty, **_as_given(batch))


def batch_held(part: Tensor) -> Batch:
    """A part of a batch that turns out to hold tensors: those are the loader's as well."""
    return Batch(part.certainty, part.other_kinds, **_as_given(part))


def _as_given(part: Batch | Tensor) -> dict[str, Any]:
    """How a loader gave it, and where it is."""
    return {
        "device": part.device,
        "from_loader": part.from_loader,
        "pinned": part.pinned,
        "loader_calls": part.loader_calls,
        "managed": part.managed,
    }


def view_of_mapping(mapping: Value, attr: str, key: Value = STR) -> Value:
    """What one of `VIEWS` gives of a mapping."""
    if attr == "keys":
        return sequence(key)
    if attr == "values":
        return sequence(held(mapping))
    pair = Tuple(items=(key, held(mapping)))
    return sequence(pair) if attr == "items" else pair


def entry(mapping: Dict, key: object) -> Value:
    """What a dictionary has under a key, as far as that is known."""
    if mapping.entries and isinstance(key, str):
        return mapping.entries.get(key, UNKNOWN if mapping.element is None else mapping.element)
    return held(mapping)


def held(mapping: Value) -> Value:
    """What a mapping holds under its keys, whichever."""
    if mapping.kind == "batch":
        return batch_tensor(mapping)
    if mapping.kind == "tensor" and (mapping.grad or mapping.from_loader):
        # A model, or a loader, gave a dictionary of tensors, and nobody a dictionary of dictionaries.
        return replace(mapping, other_kinds=mapping.other_kinds - {"dict"})
    if mapping.kind == "dict" and mapping.entries and not mapping.proven:
        return UNKNOWN  # what it had before nobody knows
    if mapping.kind == "dict":
        each = list((mapping.entries or {}).values())
        return mapping.element if mapping.element is not None else join_all(each) if each else UNKNOWN
    return UNKNOWN
