"""Where tensors are made that are given no device, as `torch.set_default_device("cuda")` has it."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.arguments import device_of
from ..facts.module import Module
from ..facts.values import Device
from .calling import calls_named
from .project import Project

_SETS = rb"\bset_default_device\("
_WORD = b"set_default_device("


def is_accelerator(project: Project, module: Module) -> bool:
    """Whether a file, or one that imports it, has tensors made on an accelerator by default, and none of these says otherwise."""
    holders = project.holders(_SETS, word=_WORD)
    if not holders:
        return False
    near = holders & {module.path, *project.importers(module.path)}
    places = [place for path in sorted(near) if not project.in_test(path, "") for place in _set_in(project, path)]
    return bool(places) and all(place == "accelerator" for place in places)


def _set_in(project: Project, path: str) -> Iterator[Device]:
    """What the calls of a file make the default device."""
    module = project.module(path)
    for function, call in calls_named(module, "set_default_device") if module is not None else ():
        yield device_of(project.value(function, call.args[0])) if len(call.args) == 1 else ""
