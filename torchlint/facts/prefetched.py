"""Datasets that read ahead by themselves, in a thread of their own, and pin what they give."""

from __future__ import annotations

import ast

from . import names
from .module import Class, Function
from .nodes import is_constant, spreads
from .place import Place
from .syntax import given_to_target

_THREADS = frozenset(("threading.Thread", "multiprocessing.Process", "torch.multiprocessing.Process"))
_GIVING = ("__getitem__", "__iter__", "__next__")


def reads_ahead(place: Place, dataset: Class) -> bool:
    """Whether another thread, or process, of a dataset makes its samples: it starts one, and takes them from a queue."""
    queues = {
        name
        for name, stores in dataset.stores.items()
        if any(_is_queue(given_to_target(method.flow, target)) for method, target in stores)
    }
    giving = [dataset.methods[name] for name in _GIVING if name in dataset.methods]
    if not any(_takes(method, queues) for method in giving):
        return False
    return any(
        place.project.resolve(method, call.func) in _THREADS
        for method in dataset.methods.values()
        for name in ("Thread", "Process")
        for call in method.flow.calls_named(name)
    )


def _is_queue(made: ast.expr | None) -> bool:
    """`queue.Queue(8)`"""
    return isinstance(made, ast.Call) and names.last(made.func).endswith("Queue")


def _takes(method: Function, queues: set[str]) -> bool:
    """`self.ready.get(timeout=60)`"""
    called = (names.chain(call.func) or [] for call in method.flow.calls_named("get"))
    return any(len(parts) == 3 and parts[0] == method.own_name and parts[1] in queues for parts in called)


def pins(dataset: Class, made: ast.AST | None) -> bool:
    """Whether a dataset pins its samples: a method of it does, or who makes it tells it to (`Prefetched(files, pin_memory=True)`)."""
    if any(method.flow.calls_named("pin_memory") for method in dataset.methods.values()):
        return True
    init = dataset.methods.get("__init__")
    if init is None or "pin_memory" not in init.positions:
        return False
    if not isinstance(made, ast.Call) or spreads(made):
        return True  # nobody knows what it is told
    given = init.argument(made, "pin_memory")
    told = given if given is not None else init.defaults.get("pin_memory")
    return told is not None and not is_constant(told, False)
