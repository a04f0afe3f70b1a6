"""What the batches of a loader are made of where its collate function tells, and whether torch can pin any of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .evaluator import World
from .module import Class
from .place import Place
from .values import ClassValue, Instance, Value

PLAIN_BASES = frozenset(("object", "abc.ABC", "typing.Generic", "typing.Protocol"))
"""Bases that give a class no methods that anybody calls, nor make it a list or a dictionary."""
_ANSWERS = ("pin_memory", "__getattr__", "__getattribute__")
"""The methods by which an object may have a `pin_memory` of its own."""


def is_never_pinned(place: Place, collate: ast.expr, dataset: Value) -> bool:
    """Whether a loader would hand on what its collate function gives as it is, with `pin_memory=True` or without.

    torch pins tensors, also in tuples, lists and dictionaries, and what has a `pin_memory` method. That is no array, nor
    an object of a class of the project. Where a batch is the list of its samples, these have to be known to hold tensors.
    """
    given = place.value(collate)
    if _is_identity(given):
        items = (place.project.method(klass, "__getitem__") for klass in dataset.any_class)
        samples = [place.project.returns(item) for item in items if item is not None]
        return not any(_is_pinned(part) for sample in samples for part in _parts(sample))
    calls = [given.function] if given.function is not None else []
    if given.kind == "instance":
        calls = [place.project.method(klass, "__call__") for klass in given.any_class]
    batches = [place.project.returns(call) for call in calls if call is not None]
    batches += _of_lambda(place, given)
    if isinstance(given, ClassValue) and given.class_ is not None:
        batches = [Instance(class_=given.class_)]  # `collate_fn=Batch`
    parts = [part for batch in batches for part in _parts(batch)]
    return any(_is_handed_on(place, part) for part in parts) and not any(map(_is_pinned, parts))


def is_sent(place: Place, collate: ast.expr) -> bool:
    """Whether a collate function gives what lies on the device: `return torch.stack(rows).to(device)`, a list of such."""
    given = place.value(collate)
    batches = [place.project.returns(given.function)] if given.function is not None else []
    batches += _of_lambda(place, given)
    return any(part.device == "accelerator" for batch in batches for part in _parts(batch))


def _of_lambda(place: Place, given: Value) -> list[Value]:
    """What a lambda gives, also one that a call makes: `collate_fn=Batch.collate()` of `return lambda items: Batch.of(items)`."""
    if not isinstance(given.made_by, ast.Lambda) or given.made_in is None:
        return []
    around = given.made_in.function_at(given.made_by.lineno)
    return [place.project.value(around, given.made_by.body)] if given.made_by in around.flow.parents else []


def _is_identity(collate: Value) -> bool:
    """`lambda batch: batch`, or a function that says so."""
    function, made_by = collate.function, collate.made_by
    if function is not None:
        given, told = [one.arg for one in function.parameters], function.telling
        returned = told[0].value if len(told) == 1 and isinstance(told[0], ast.Return) else None
    elif isinstance(made_by, ast.Lambda):
        given, returned = [one.arg for one in made_by.args.args], made_by.body
    else:
        return False
    return isinstance(returned, ast.Name) and given == [returned.id]


def _parts(value: Value) -> Iterator[Value]:
    """A value, and what it holds, where it is a list, a tuple or a dictionary."""
    yield value
    if value.kind == "instance":
        return
    inner = (*(value.items or ()), *(value.entries or {}).values())
    for part in (*inner, *((value.element,) if value.element is not None else ())):
        yield from _parts(part)


def _is_pinned(part: Value) -> bool:
    """Whether it is a tensor, on some path."""
    return part.is_tensor or "tensor" in part.other_kinds


def _is_handed_on(place: Place, part: Value) -> bool:
    """Whether torch pins nothing of an array or an object."""
    if part.kind == "ndarray":
        return True
    return (
        part.kind == "instance" and bool(part.any_class) and all(is_plain(place.project, one) for one in part.any_class)
    )


def is_plain(world: World, klass: Class) -> bool:
    """Whether the objects of a class, and of those that inherit from it, have no `pin_memory` and are no list or dictionary."""
    plain = all(
        world.has_plain_bases(one, PLAIN_BASES) and one.methods.keys().isdisjoint(_ANSWERS)
        for one in world.ancestry(klass)
    )
    return plain and not world.of_heirs(klass, "pin_memory")
