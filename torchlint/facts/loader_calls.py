"""The loaders that calls make, and whether these pin what they give."""

from __future__ import annotations

import ast

from . import batches, names
from .argparse_defaults import argparse_defaults
from .arguments import Arguments
from .evaluator import Evaluator
from .module import Class
from .values import Loader, Value, constant


def pinned_by_option(values: Evaluator, loader: Loader, node: ast.Call) -> Loader:
    """`pin_memory=args.pin_memory`, where the option is on unless somebody turns it off."""
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "pin_memory"), None)
    if loader.pinned is not None or not isinstance(given, ast.Attribute) or values.expr(given):
        return loader
    default = argparse_defaults(values.function.module).get(given.attr)
    return batches.made_loader(loader, True) if default is True else loader


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
    if told is None and klass is not None:
        told = _handed_on(klass, args)
    own = klass is None and not args.open
    pinned = (
        told.const if told is not None and isinstance(told.const, bool) else False if own and told is None else None
    )
    loader = Loader(class_name=name, made_by=node, made_in=values.function.module)
    return pinned_by_option(values, batches.made_loader(loader, pinned), node)


def _handed_on(klass: Class, args: Arguments) -> Value | None:
    """What the constructor of a subclass gives its base for `pin_memory`: a constant, or a parameter of its own with what is given for it."""
    init = klass.methods.get("__init__")
    calls = init.flow.calls_named("__init__") if init is not None else []
    given = {keyword.arg: keyword.value for call in calls for keyword in call.keywords}.get("pin_memory")
    if init is None or len(calls) != 1 or args.open:
        return None
    if not isinstance(given, ast.Name) or given.id in init.flow.stores:
        return constant(given.value) if isinstance(given, ast.Constant) else None
    place = next((at for at, parameter in enumerate(init.parameters) if parameter.arg == given.id), 0)
    passed, default = args.get(place - 1, given.id), init.defaults.get(given.id)
    return passed if passed is not None or not isinstance(default, ast.Constant) else constant(default.value)
