"""The loaders that calls make, and whether these pin what they give."""

from __future__ import annotations

import ast

from . import batches, names
from .argparse_defaults import argparse_defaults
from .arguments import Arguments
from .evaluator import Evaluator
from .module import Class
from .values import Loader


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
    own = klass is None and not args.open
    pinned = (
        told.const if told is not None and isinstance(told.const, bool) else False if own and told is None else None
    )
    loader = Loader(class_name=name, made_by=node, made_in=values.function.module)
    return pinned_by_option(values, batches.made_loader(loader, pinned), node)
