"""Functions that send what they are given to a device, whatever holds it: a tensor, and what dictionaries and lists hold."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ..system.regex import regex
from .module import Function
from .moves import SENDING
from .nodes import argument_of, names_in
from .values import Value, replace

_TO_GPU = regex(r"^(?:(?:move|send|copy|batch|data|dict)_)?to_(?:cuda|gpu)$")
"""What functions are called that send what they are given, whatever holds it, to the GPU."""
_TO_HOST = regex(r"^(?:(?:move|send|copy|batch|data|dict)_)?to_(?:cpu|host)$")
"""And to the host."""


class Carried(NamedTuple):
    """What such a function sends, where to, and the method that it does so by."""

    parameter: str
    target: ast.expr | None
    method: str


def carried(function: Function) -> Carried | None:
    """What a function sends that calls itself for what its first parameter holds; None for any other function.

    `if hasattr(data, "to"): return data.to(device)` behind `if isinstance(data, list): return [send(one, device) for one in data]`:
    what it gives back as it is can't be sent.
    """
    own = function.parameters[function.is_method :]
    if not own or not function.flow.calls_named(function.name):
        return None
    given = {parameter.arg for parameter in function.parameters}
    name = own[0].arg
    for call in (call for method in sorted(SENDING) for call in function.flow.calls_named(method)):
        func = call.func
        if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name):
            continue
        target = argument_of(call, "device", 0)
        asks_alone = all(
            any(names_in(guard.test) & given == {name} for guard in readings)
            for readings in function.flow.readings(call)
        )
        if asks_alone and not function.flow.loops(call) and (target is not None or func.attr == "cuda"):
            return Carried(name, target, func.attr)
    return None


def as_named(function: Function, given: Value) -> Value:
    """What a function gives back, where its name says that it lies if nothing is certain: `move_to_cuda(batch)`, `move_to_cpu(batch)`."""
    if given.kind not in ("tensor", "batch"):
        return given
    if not given.device and _TO_GPU.search(function.name):
        return replace(given, device="accelerator", from_loader=False)
    return replace(given, device="cpu") if not given.proven and _TO_HOST.search(function.name) else given
