"""Conditions on switches of the command line that nobody can change, and on what a program makes of them."""

from __future__ import annotations

import ast

from . import names, nodes
from .argparse_defaults import unchanging
from .module import Module

_FOLLOWED = 8
"""How many attributes, each made of the next, a condition is followed through."""


def truth(module: Module, test: ast.expr, followed: int = _FOLLOWED) -> bool | None:
    """Whether a condition always holds, or never; None where that is open.

    `args.cuda` does not after `args.cuda = not args.no_cuda and torch.cuda.is_available()`, where `--no-cuda` is True
    by default and can only be set to True.
    """
    return nodes.truth(test, lambda part: _truth(module, part, followed))


def _truth(module: Module, test: ast.expr, followed: int) -> bool | None:
    name = names.chain(test)
    if name is None or len(name) != 2 or not unchanging(module):
        return None
    stores = [store for function in module.functions for store in function.flow.targets.get(".".join(name), ())]
    if not stores:
        return unchanging(module).get(name[1])
    made = module.body.flow.parents.get(stores[0])
    if len(stores) > 1 or not isinstance(made, ast.Assign) or not followed:
        return None
    return truth(module, made.value, followed - 1)
