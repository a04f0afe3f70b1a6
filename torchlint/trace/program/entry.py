"""Runs what the user named: a script or a module as `__main__`, a function, or a module made by a factory."""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

MODULE = "-m "
"""How an entry begins that is a module run as `python -m` does."""


class EntryError(Exception):
    """The entry can't be run at all; the text says why."""


def run(entry: str, args: Sequence[str], rounds: int, after_step: Callable[[], None], steps: Callable[[], int]) -> None:
    """Run `entry` in this process.

    A function that takes no step of its own is called `rounds` times, each call a step; so is forward and backward of
    the module that a factory returns. `steps` says how many steps were counted so far.
    """
    if os.path.isfile(entry):
        _run_script(entry, args)
        return
    if entry.startswith(MODULE):
        _run_as_main(entry.removeprefix(MODULE), args)
        return
    function = _function(entry, args)
    before = steps()
    result = function()
    if (made := _module_and_inputs(result)) is not None:
        _run_module(*made, rounds, after_step, steps)
    elif steps() == before:
        after_step()
        for _ in range(rounds - 1):
            function()
            after_step()


def trains(entry: str) -> bool:
    """Whether the text of a script has a backward pass, so that what it calls before is not what it is about."""
    file = _file_of(entry.removeprefix(MODULE)) if entry.startswith(MODULE) else entry
    return os.path.isfile(file) and b".backward(" in Path(file).read_bytes()


def _file_of(module: str) -> str:
    """Where `python -m` would find a module, "" where it is not to be found; nothing is imported."""
    folders: Sequence[str] | None = [os.getcwd(), *sys.path]
    name, spec = "", None
    for part in (*module.split("."), "__main__"):
        if folders is None:  # no package: the module itself
            break
        name = f"{name}.{part}" if name else part
        spec = importlib.machinery.PathFinder.find_spec(name, folders)
        folders = spec.submodule_search_locations if spec else None
    return (spec.origin if spec else None) or ""


def _run_script(script: str, args: Sequence[str]) -> None:
    path = os.path.abspath(script)
    sys.argv = [script, *args]
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    # no spec, as for `python train.py`; a spawned worker then imports the script from its path
    _run_main(compile(Path(path).read_bytes(), path, "exec"), path, loader, package=None, spec=None)


def _run_as_main(name: str, args: Sequence[str]) -> None:
    """As `python -m name` does."""
    sys.path.insert(0, os.getcwd())
    sys.argv = ["-m", *args]
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    loader: Any = spec and spec.loader
    code: CodeType | None = loader.get_code(name) if hasattr(loader, "get_code") else None
    if spec is None or code is None or spec.origin is None:
        raise EntryError(f"there is no module {name} in {os.getcwd()} or among the packages that could be run")
    sys.argv[0] = spec.origin
    _run_main(code, spec.origin, loader, spec.parent, spec)


def _run_main(
    code: CodeType, file: str, loader: object, package: str | None, spec: importlib.machinery.ModuleSpec | None
) -> None:
    main = ModuleType("__main__")
    main.__dict__.update(__file__=file, __builtins__=builtins, __loader__=loader, __package__=package, __cached__=None)
    main.__spec__ = spec
    sys.modules["__main__"] = main
    exec(code, main.__dict__)  # noqa: S102 - running it is the point


def _function(entry: str, args: Sequence[str]) -> Callable[[], Any]:
    name, colon, attribute = entry.partition(":")
    if not colon or not attribute:
        raise EntryError(f"{entry} is neither a script nor pkg.module:function")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise EntryError(f"there is no module {error.name} in {os.getcwd()} or among the packages") from error
        raise
    sys.argv = [module.__file__ or name, *args]
    function: Any = module
    for part in attribute.split("."):
        if not hasattr(function, part):
            raise EntryError(f"{name} has no {attribute}")
        function = getattr(function, part)
    if not callable(function):
        raise EntryError(f"{entry} is not a function")
    return function  # type: ignore[no-any-return]


def _module_and_inputs(result: object) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]] | None:
    """What a factory returned: a module and its example inputs (a tensor, a tuple or a dict of keywords)."""
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], torch.nn.Module)):
        return None
    module, inputs = result
    if isinstance(inputs, dict):
        return module, (), inputs
    return module, tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,), {}


def _larger(inputs: Any) -> Any:
    """The same inputs with one example more in the batch."""
    tensors = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.dim()]
    batch = tensors[0].shape[0] if tensors else 0

    def grow(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dim() and batch and leaf.shape[0] == batch:
            return torch.cat([leaf.detach(), leaf.detach()[:1]]).requires_grad_(leaf.requires_grad)
        return leaf

    return tree_map(grow, inputs)


def _run_module(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    rounds: int,
    after_step: Callable[[], None],
    steps: Callable[[], int],
) -> None:
    """Forward and backward `rounds` times, the second half of them with another batch size."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    compiled = torch.compile(module.to(device))
    inputs = tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, (args, keywords))
    larger = _larger(inputs)
    rounds = max(rounds, 2)
    for number in range(rounds):
        before = steps()
        args, keywords = inputs if number < rounds / 2 else larger
        outputs = tree_leaves(compiled(*args, **keywords))
        loss = [o.sum() for o in outputs if isinstance(o, torch.Tensor) and o.requires_grad]
        if loss:
            torch.autograd.backward(loss)
        module.zero_grad(set_to_none=True)
        if steps() == before:  # without gradients
            after_step()
