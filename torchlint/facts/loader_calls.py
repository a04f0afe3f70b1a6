"""The loaders that calls make, and whether these pin what they give."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..system.regex import regex
from . import batches, environment, left_on_host, names
from .argparse_defaults import argparse_defaults
from .arguments import Arguments
from .collation import is_plain
from .evaluator import Evaluator
from .module import Class, Function
from .nodes import argument_of, keyword_of, spreads
from .syntax import same
from .values import (
    UNKNOWN,
    Device,
    Dict,
    Loader,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
    is_host_data,
    is_host_tensor,
    replace,
)

_OPTIONS = frozenset(("num_workers", "pin_memory"))
"""What a loader is told of its work."""
_PLACES = regex(rb"device|\.cuda\(")
"""What a function holds that says where its tensors are."""


def pinned_by_option(values: Evaluator, loader: Loader, node: ast.Call) -> Loader:
    """`pin_memory=args.pin_memory`, where the option is on unless somebody turns it off."""
    given = keyword_of(node, "pin_memory")
    if loader.pinned is None and given is not None and environment.is_on(given, values.function.flow):
        return batches.made_loader(loader, True)
    if loader.pinned is not None or not isinstance(given, ast.Attribute) or values.expr(given):
        return loader
    if given.attr == "pin_memory" and _copies(node, given.value):
        other = values.expr(given.value)
        return batches.made_loader(loader, isinstance(other, Loader) and other.pinned is True)
    default = argparse_defaults(values.function.module).get(given.attr)
    return batches.made_loader(loader, True) if default is True else loader


def _copies(node: ast.Call, other: ast.expr) -> bool:
    """Whether a loader is made after another one, `DataLoader(loader.dataset, pin_memory=loader.pin_memory)`, and pins if that does."""
    dataset = argument_of(node, "dataset", 0)
    return isinstance(dataset, ast.Attribute) and dataset.attr == "dataset" and same(dataset.value, other)


def collated(values: Evaluator, loader: Loader, args: Arguments) -> Loader:
    """A loader whose collate function tells what a batch has beside tensors, `return images, lengths` of a list of numbers, or puts its tensors somewhere."""
    given = args.keywords.get("collate_fn", UNKNOWN)
    owner = given.class_ if given.kind == "instance" else None
    collate = values.world.method(owner, "__call__") if owner is not None else given.function
    made = values.world.returns(collate) if collate is not None and loader.element is not None else UNKNOWN
    batch = given.class_ if given.kind == "class" else made.class_ if made.kind == "instance" else None
    objects = [batch] if batch is not None else list(_objects(made))
    if loader.pinned and objects and all(one is not None and _stays_unpinned(values, one) for one in objects):
        return batches.made_loader(loader, False)
    element = loader.element
    if element is None or element.kind != "batch":
        return loader
    device: Device = "accelerator" if _on_device(made) else ""
    if not loader.pinned and collate is not None and (device or _places(collate)):
        element = replace(element, device=device, from_loader=False)
        loader = replace(loader, element=element)
    if batch is not None:
        told, left = _plain_fields(values, batch), left_on_host.left_fields(batch)
        return replace(loader, element=replace(element, entries=told or None, left=tuple(left)))
    # Beside what it moves, a tensor that it makes of numbers stays on the host.
    stays = not element.from_loader
    parts = tuple(one if is_host_data(one) or (stays and is_host_tensor(one)) else UNKNOWN for one in made.items or ())
    return replace(loader, element=replace(element, parts=parts)) if made.kind == "tuple" and any(parts) else loader


def _places(collate: Function) -> bool:
    """Whether a collate function says where its tensors are: `labels.to(device)`, `torch.rand(n, device=self.device)`."""
    return collate.says(_PLACES) and any(map(_names_device, collate.flow.calls))


def _names_device(call: ast.Call) -> bool:
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = [*(call.args[:1] if method == "to" else ()), *(one.value for one in call.keywords if one.arg == "device")]
    return method == "cuda" or any("device" in names.last(one) for one in given)


def _objects(made: Value) -> Iterator[Class | None]:
    """The classes of the objects that a batch is the list of, a number or a text beside them left out; None for each of another kind."""
    if made.other_kinds:
        yield None
    elif made.kind == "instance":
        yield made.class_
    elif made.kind == "list" and made.element is not None:
        yield from _objects(made.element)
    elif made.kind == "tuple" and made.items:
        for part in made.items:
            yield from _objects(part)
    elif made.kind not in ("number", "str"):
        yield None


def _plain_fields(values: Evaluator, klass: Class) -> dict[str, Value]:
    """The annotated fields of a class that are numbers or text: `sizes: list[int]`."""
    annotated = [name for name, made in klass.assigned.items() if isinstance(made, ast.AnnAssign)]
    fields = {name: values.world.attribute(klass, name) for name in annotated}
    return {name: value for name, value in fields.items() if is_host_data(value)}


def _stays_unpinned(values: Evaluator, batch: Class) -> bool:
    """Whether a loader hands on objects of a class as they are, and no class of the file pins its tensors itself."""
    return is_plain(values.world, batch) and not any(
        method.flow.calls_named("pin_memory")
        for klass in values.world.ancestry(batch)
        for method in klass.methods.values()
    )


def where_samples_are(values: Evaluator, loader: Loader, args: Arguments) -> Loader:
    """A loader whose batches are where its dataset's samples are, if those were put on a device; what a model gives may be there.

    What is there can't be pinned: where a loader pins, the samples are on the host.
    """
    if loader.element is None or loader.pinned:
        return loader
    dataset = args.keywords.get("dataset", args.first)
    item = _item_of(values, dataset)
    walk = values.world.method(dataset.class_, "__iter__") if dataset.class_ is not None and item is None else None
    if walk is not None:
        sample = _walked(values, dataset, walk).element or UNKNOWN
    else:
        sample = values.world.returns(item) if item is not None else dataset.element or dataset
    device: Device = "accelerator" if _on_device(sample) else "" if _is_of_model(sample) else "cpu"
    if dataset.class_name.endswith("TensorDataset"):
        device = dataset.device
    return replace(loader, element=replace(loader.element, device=device))


def sample_of(values: Evaluator, dataset: Value) -> Value:
    """What `dataset[i]` is: what the `__getitem__` of its class gives, all of it on the host where that puts nothing on a device."""
    klass = dataset.class_
    if klass is None or not any(name.endswith("Dataset") for name in (klass.name, *map(names.last, klass.bases))):
        return UNKNOWN
    item = _item_of(values, dataset)
    sample = values.world.returns(item) if item is not None else UNKNOWN
    if item is None or _on_device(sample) or _is_of_model(sample):
        return sample
    return _on_host(sample)


def _item_of(values: Evaluator, dataset: Value) -> Function | None:
    """The method by which a dataset of the project gives one sample."""
    return values.world.method(dataset.class_, "__getitem__") if dataset.class_ is not None else None


def of_tensors(values: Evaluator, loader: Loader, args: Arguments) -> Loader:
    """A loader that gives tensors, where each sample of its dataset is one and nobody says how they are put together."""
    dataset = args.keywords.get("dataset", args.first)
    item = _item_of(values, dataset)
    batch = loader.element
    if item is None or batch is None or batch.kind != "batch" or args.open:
        return loader
    if len(args.positional) > 6 or "collate_fn" in args.keywords:
        return loader
    sample = values.world.returns(item)
    if sample.kind != "tensor" or not sample.is_tensor or sample.other_kinds:
        return loader
    return replace(loader, element=batches.batch_tensor(batch))


def _walked(values: Evaluator, dataset: Value, walk: Function) -> Value:
    """What goes through a dataset gives: of `return self.generate()` what the function gives that this very dataset holds."""
    match walk.end:
        case ast.Return(value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr=name))) if own == walk.own_name:
            generator = values.world.attribute_of(dataset, name).function
            return values.world.returns(generator) if generator is not None else UNKNOWN
    return values.world.returns(walk)


def _on_device(sample: Value) -> bool:
    """Whether a sample, or a part of it, is on a device: what may be an array is one here, where nothing moves it."""
    there = sample.device == "accelerator" and "ndarray" not in sample.other_kinds
    return there or any(map(_on_device, _parts(sample)))


def _on_host(sample: Value) -> Value:
    """The same with all of it on the host of which it is not known where it is."""
    match sample:
        case Tuple():
            items = tuple(map(_on_host, sample.items)) if sample.items is not None else None
            lengths = tuple(tuple(map(_on_host, items)) for items in sample.by_length)
            return replace(sample, items=items, by_length=lengths)
        case Dict(entries=dict() as entries):
            return replace(sample, entries={key: _on_host(entry) for key, entry in entries.items()})
        case Unknown(device="") | Tensor(device=""):
            return replace(sample, device="cpu")
    return sample


def _is_of_model(sample: Value) -> bool:
    """Whether a model gave it, or a part of it, which is where that is: what a policy has done in an environment."""
    return (sample.grad and not sample.device) or any(map(_is_of_model, _parts(sample)))


def _parts(sample: Value) -> tuple[Value, ...]:
    lengths = itertools.chain(*sample.by_length) if sample.kind == "tuple" else ()
    return (*(sample.items or ()), *lengths, *(sample.entries or {}).values())


def told_to_pin(values: Evaluator, node: ast.Call) -> Loader | None:
    """What `create_loader(data, pin_memory=args.pin_mem)` gives, whoever defines it; what pins may stand in a dictionary."""
    if not names.last(node.func).lower().endswith("loader"):
        return None
    for keyword in node.keywords:
        if keyword.arg == "pin_memory":
            return batches.likely_loader(node)
        if keyword.arg is None:
            options = values.expr(keyword.value)
            if "pin_memory" in (options.entries or ()) and options.made_by is not None:
                return batches.likely_loader(options.made_by)
    return None


def loader_of(values: Evaluator, klass: Class | None, name: str, node: ast.Call, args: Arguments) -> Loader:
    """A loader of a library or of the project, which hands on `pin_memory` by its name."""
    told = args.keywords.get("pin_memory")
    if told is None and klass is not None and not args.open:
        told = _pins_by_itself(values, klass, node)
    own = klass is None and not args.open
    pinned = batches.pins(told) if told is not None else False if own else None
    loader = Loader(class_name=name, made_by=node, made_in=values.function.module)
    return pinned_by_option(values, batches.made_loader(loader, pinned), node)


def _pins_by_itself(values: Evaluator, klass: Class, node: ast.Call) -> Value | None:
    """What the constructor of a subclass gives its base for `pin_memory`: a constant, or a parameter of its own with what is given for it."""
    init = klass.methods.get("__init__")
    calls = init.flow.calls_named("__init__") if init is not None else []
    if init is None or len(calls) != 1:
        return None
    given = keyword_of(calls[0], "pin_memory")
    if given is None or (isinstance(given, ast.Name) and given.id in init.flow.stores):
        return None
    handed = handed_on(init, given, node)
    if handed is not None and handed.by_maker:
        return values.expr(handed.node)
    return constant(handed.node.value) if handed is not None and isinstance(handed.node, ast.Constant) else None


class Handed(NamedTuple):
    """What a constructor hands on, and whether who makes the object wrote it."""

    node: ast.expr
    by_maker: bool


def handed_on(init: Function, given: ast.expr, made: ast.Call) -> Handed | None:
    """What an expression of a constructor is where an object is made: of a parameter what is given for it, or its default; None where that can't be told."""
    if not isinstance(given, ast.Name) or given.id not in init.positions:
        return Handed(given, by_maker=False)
    outer = init.argument(made, given.id)
    if outer is not None:
        return Handed(outer, by_maker=True)
    hidden = spreads(made)
    default = init.defaults.get(given.id)
    return Handed(default, by_maker=False) if default is not None and not hidden else None


def hands_on_options(function: Function, call: ast.Call) -> bool:
    """Whether a call is given the function's own `**options`, and perhaps its `*args`, as they came, and nothing else tells of workers."""
    spread = [one.value for one in call.args if isinstance(one, ast.Starred)]
    options = [keyword.value for keyword in call.keywords if keyword.arg is None]
    own = {function.keywords, function.rest} - {""}
    handed = [one.id for one in (*spread, *options) if isinstance(one, ast.Name) and one.id in own]
    if len(options) != 1 or len(handed) != len(spread) + 1 or any(len(function.flow.loads[one]) > 1 for one in handed):
        return False
    named = {keyword.arg for keyword in call.keywords}
    return _OPTIONS.isdisjoint(named) and _OPTIONS.isdisjoint(function.positions)


def options_given(function: Function, call: ast.Call, value: Callable[[ast.expr], Value]) -> set[str] | None:
    """What a call gives by name, and the `partial(make, ...)` that it calls, whichever of them that is; None where that can't be told."""
    given: set[str] = set()
    calls = [call, *_partials(function, call.func)]
    for one in calls:
        for keyword in one.keywords:
            keys = (keyword.arg,) if keyword.arg is not None else value(keyword.value).entries
            if keys is None:
                return None
            given.update(keys)
    hidden = any(isinstance(argument, ast.Starred) for one in calls for argument in one.args)
    return given if not hidden else None


def _partials(function: Function, called: ast.expr) -> list[ast.Call]:
    """The calls that a name of a function is made by."""
    stores = function.flow.stores.get(called.id, ()) if isinstance(called, ast.Name) else ()
    made = [function.flow.parents[store] for store in stores]
    return [one.value for one in made if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]
