"""Which loaders feed loops that send their batches to the device."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..facts import names
from ..facts.module import Function, Module
from ..system.regex import regex
from ..text.source import Words
from .project import Project
from .steps import Steps

_MOVES = ("to", "cuda", "xpu", "to_device")
_SENDS = regex(
    r"^(?:move|send|copy|recursive|dict|batch|data)(?:_\w+)?_to(?:_(?:device|cuda|gpu))?$|^to_(?:device|cuda|gpu)$"
)
"""What functions are called that send what they are given: `move_to(batch, device)`."""
_SENDING = Words(b".to(", b".cuda(", b".xpu(", b"to_device(", b"_to(", b"to_cuda(", b"to_gpu(")
_LIGHTNING = ("LightningModule", "LightningDataModule")


def is_handed_over(project: Project, function: Function) -> bool:
    """Whether a framework asks a method for loaders, and moves their batches: `train_dataloader` of Lightning."""
    if function.cls is None or not function.name.endswith("_dataloader"):
        return False
    classes = [function.cls, *project.bases(function.cls)]
    return any(names.last(base) in _LIGHTNING for one in classes for base in one.bases)


def feeders(project: Project, steps: Steps, module: Module) -> frozenset[ast.expr]:
    """The calls that make loaders whose batches go to the device on each step or in an evaluation loop.

    They are looked for in a file, in what it imports, and in what imports it.
    """
    users = [found for path in project.importers(module) if (found := project.module(path)) is not None]
    near = dict.fromkeys((module, *project.imports_of(module), *users))
    return frozenset(
        feeder for one in near for function in _running(project, steps, one) for feeder in _sent(project, function)
    )


def _running(project: Project, steps: Steps, module: Module) -> Iterable[Function]:
    """The functions of a file that run on each step, or hold an evaluation loop."""
    if not module.source.holds(_SENDING):
        return ()
    project.note("steps", module.path)
    return dict.fromkeys((*steps.functions_in({module.path}), *steps.warm_in(module.path)))


def _sent(project: Project, function: Function) -> Iterator[ast.expr]:
    for method in _MOVES:
        for call in function.flow.calls_named(method):
            # What a method made of a batch, `x.float()`, is mostly new, and so no longer in pinned memory.
            if not isinstance(call.func, ast.Attribute) or isinstance(call.func.value, ast.Call):
                continue
            batch = project.value(function, call.func.value)
            if batch.kind in ("tensor", "batch") and batch.from_loader:
                yield from batch.loader_calls
    for call in function.flow.calls:
        if isinstance(call.func, ast.Name) and len(call.args) > 1 and _SENDS.search(call.func.id):
            given = project.value(function, call.args[0])
            if given.kind in ("tensor", "batch") and given.from_loader:
                yield from given.loader_calls
