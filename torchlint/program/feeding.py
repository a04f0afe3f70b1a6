"""Which loaders feed loops that send their batches to the device."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..facts import names
from ..facts.flow import Loop
from ..facts.module import Function, Module
from ..facts.nodes import advanced, bound_names, names_in
from ..facts.values import Value
from ..text.source import Words
from .batches import sends, sent_batch, takes
from .families import may_run
from .project import Project
from .warm_loops import WarmLoops

_SENDING = Words(b".to(", b".cuda(", b".xpu(", b"to_device(", b"_to(", b"to_cuda(", b"to_gpu(")
_DEPTH = 2
"""How many calls lie between a loop and the function that sends its batches, at most, apart from the first."""
_LIGHTNING = ("LightningModule", "LightningDataModule")


def is_handed_over(project: Project, function: Function) -> bool:
    """Whether a framework asks a method for loaders, and moves their batches: `train_dataloader` of Lightning."""
    if function.cls is None or not function.name.endswith("_dataloader"):
        return False
    classes = [function.cls, *project.bases(function.cls)]
    return any(names.last(base) in _LIGHTNING for one in classes for base in one.bases)


def feeders(project: Project, loops: WarmLoops, module: Module) -> frozenset[ast.expr]:
    """The calls that make loaders whose batches go to the device on each step or in an evaluation loop.

    They are looked for in a file, in what it imports, in what imports it, or the package that hands it on, and in what those
    import: a script that asks one file for loaders gives them to the trainer of another.
    """
    users = _users(project, module)
    packages = [user for user in users if user.path.endswith("__init__.py")]
    through = [user for package in packages for user in _users(project, package)]
    beside = [one for user in (*users, *through) for one in project.imports_of(user)]
    near = dict.fromkeys((module, *project.imports_of(module), *users, *through, *beside))
    sent = (feeder for one in near for function in _running(project, loops, one) for feeder in _sent(project, function))
    given = (
        feeder
        for one in near
        for function in _looping(project, loops, one)
        for feeder in _given(project, loops, function)
    )
    return frozenset((*sent, *given))


def _users(project: Project, module: Module) -> list[Module]:
    """The files that import a module."""
    return project.modules_for_imports(project.importers(module.path))


def _running(project: Project, loops: WarmLoops, module: Module) -> Iterable[Function]:
    """The functions of a file that run on each step, or hold an evaluation loop."""
    return _looping(project, loops, module) if module.source.holds(_SENDING) else ()


def _looping(project: Project, loops: WarmLoops, module: Module) -> Iterable[Function]:
    project.note("steps", module.path)
    return dict.fromkeys((*loops.steps.functions_in({module.path}), *loops.warm_in(module.path)))


def _sent(project: Project, function: Function) -> Iterator[ast.expr]:
    for call in function.flow.calls:
        batch = sent_batch(project, function, call)
        if batch is not None:
            yield from batch.loader_calls


# Batches that somebody else sends


def _given(project: Project, loops: WarmLoops, function: Function) -> Iterator[ast.expr]:
    """The loaders of a training or evaluation loop that gives its batches to a function which sends: `model.set_input(batch)`."""
    for loop in function.own_loops:
        if not (loops.steps.is_step_loop(function, loop) or loops.is_warm(function, loop)):
            continue
        calls = function.flow.calls_in(loop)
        for parts, loaders in _batches(project, function, loop, calls):
            given = (call for call in calls if takes(call, parts))
            run = (target for call in given for target in may_run(project, function, call))
            if any(sends(project, target, _DEPTH, as_it_is=True) for target in run):
                yield from loaders


def _batches(
    project: Project, function: Function, loop: Loop, calls: list[ast.Call]
) -> Iterator[tuple[set[str], frozenset[ast.expr]]]:
    """The names of what a loop takes from loaders, and the calls that make these: `for x in loader`, `x, y = next(batches)`."""
    if isinstance(loop, ast.For) and (loaders := _loaders(project.value(function, loop.iter))):
        yield bound_names(loop.target), loaders
    for call in calls:
        made = function.flow.parents[call]
        if isinstance(made, ast.Assign) and advanced(call) is not None:
            batch = project.value(function, call)
            if batch.kind in ("tensor", "batch") and batch.from_loader and not batch.managed and batch.loader_calls:
                yield names_in(made.targets[0]), batch.loader_calls


def _loaders(value: Value) -> frozenset[ast.expr]:
    """The calls that make the loaders whose batches, numbered or paired, a value gives: `enumerate(loader)`."""
    given = value.element
    parts = (given, *(given.items or ())) if given is not None else ()
    return frozenset(
        call for part in parts if part.kind in ("tensor", "batch") and not part.managed for call in part.loader_calls
    )
