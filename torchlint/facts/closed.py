"""Functions of a project that look at nothing but what they are given: of numbers alone they calculate the same again, or draw anew."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from .layers import WITHOUT_WEIGHTS
from .module import Function
from .nodes import root_of
from .place import Place

_LIBRARIES = (
    *("numpy.", "math.", "torch.", "itertools.", "random.", "einops.", "librosa.util."),
    *(f"scipy.{part}." for part in ("linalg", "ndimage", "signal", "special", "stats")),
)
_APART = (
    "numpy.lib.",
    "torch.cuda.",
    "torch.distributed.",
    "torch.hub.",
    "torch.jit.",
    "torch.multiprocessing.",
    "torch.ops.",
    "torch.utils.",
)
"""What of these libraries has a state of its own, or asks others."""
_FILES = frozenset("load loads loadtxt fromfile genfromtxt memmap open open_memmap from_file save".split())
"""What of these libraries reads a file."""
_MOVES = frozenset(("cuda", "xpu", "npu", "hpu"))
_BUILTINS = frozenset(
    """abs bool complex dict divmod enumerate float int isinstance len list map max min pow print range reversed round set slice
    sorted str sum tuple zip ValueError TypeError AssertionError NotImplementedError True False None""".split()
)
_CALLS = 4
"""Through how many calls other functions of the project are followed."""


def is_closed(place: Place, function: Function, calls: int = _CALLS) -> bool:
    """Whether all that a function gives, wherever its arguments say, hangs on them alone, by what libraries calculate or draw, and by other such functions."""
    return place.once(("closed", function, calls), lambda: _is_closed(place, function, calls))


def _is_closed(place: Place, function: Function, calls: int) -> bool:
    flow = function.flow
    if (
        function.cls is not None
        or function.decorators
        or flow.globals
        or not isinstance(function.node, ast.FunctionDef)
    ):
        return False
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in flow.nodes) or function.nested:
        return False
    return all(_is_known(place, function, name) for name in _free(function)) and all(
        _calculates(place, function, call, calls) for call in flow.calls
    )


def _free(function: Function) -> Iterator[ast.Name]:
    """Where a function reads what stands around it."""
    free = (loads for name, loads in function.flow.loads.items() if not function.binds(name))
    return itertools.chain.from_iterable(free)


def _is_known(place: Place, function: Function, name: ast.Name) -> bool:
    """Whether a name from outside is a library, a builtin, what is called, or a number that nobody changes."""
    here = place.at(function, name)
    resolved = here.resolve(name) or ""
    if resolved in _BUILTINS or f"{resolved}.".startswith(_LIBRARIES):
        return True
    for child, parent in function.flow.upwards(name):
        if isinstance(parent, ast.Call) and parent.func is child:
            return True  # the call is judged by itself
        if not isinstance(parent, ast.Attribute):
            break
    value = here.value(name)
    return value.kind in ("number", "str") and not value.other_kinds


def _calculates(place: Place, function: Function, call: ast.Call, calls: int) -> bool:
    """Whether a call is one of a library that calculates, of a method of what the function has, or of another such function."""
    here = place.at(function, call)
    name = here.resolve(call.func)
    if name is not None and (name in _BUILTINS or name.startswith(_LIBRARIES)):
        return not name.startswith(_APART) and name.rpartition(".")[2] not in _FILES
    if isinstance(call.func, ast.Attribute) and name is None:
        root = root_of(call.func)
        if root is None or function.binds(root.id):
            return call.func.attr not in _FILES | _MOVES
    if name is None and isinstance(call.func, ast.Name) and function.binds(call.func.id):
        layer = here.value(call.func)  # `pad = nn.ZeroPad2d(1)`, `x = pad(x)`
        return layer.kind == "module" and layer.class_name in WITHOUT_WEIGHTS and not layer.other_kinds
    found = here.may_run(call) if calls else []
    return bool(found) and all(is_closed(place, one, calls - 1) for one in found)
