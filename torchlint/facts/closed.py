"""Functions of a project that look at nothing but what they are given: of numbers alone they calculate the same again, or draw anew."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from .layers import WITHOUT_WEIGHTS
from .module import Class, Function
from .nodes import given_to, root_of, spreads
from .place import Place
from .syntax import own_attribute

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
_DRAWING = ("numpy.random.", "random.", "torch.")
"""What draws other numbers each time, and what may."""
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
    return function.cls is None and not function.decorators and _hangs_on_arguments(place, function, calls)


def _hangs_on_arguments(place: Place, function: Function, calls: int) -> bool:
    """The same of a function, or of a method that may look at its object as well."""
    flow = function.flow
    if flow.globals or not isinstance(function.node, ast.FunctionDef):
        return False
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in flow.nodes) or function.nested:
        return False
    return all(_is_known(place, function, name) for name in _free(function)) and all(
        _calculates(place, function, call, calls) for call in flow.calls
    )


def is_of_options(place: Place, call: ast.Call) -> bool:
    """Whether a call calculates the same again of numbers, and of what the object at hand was made with: `slopes(8)`, `self.slopes()`."""
    klass = place.function.cls
    if klass is None or spreads(call) or not all(_is_option(place, klass, one) for one in given_to(call)):
        return False
    found = place.may_run(call)
    return bool(found) and all(_is_of_options(place, klass, one) for one in found)


def _is_option(place: Place, klass: Class, node: ast.expr) -> bool:
    """A number, or an attribute that the constructor alone sets."""
    value, name = place.value(node), own_attribute(place.function, node)
    if name is not None:
        option = value.kind in ("number", "unknown") and place.project.is_option(klass, name)
        return option and not any(_counts_up(method, name) for method in klass.methods.values())
    return value.kind == "number" and not value.other_kinds


def _counts_up(method: Function, attribute: str) -> bool:
    """`self.count += 1`"""
    stores = method.flow.targets.get(f"{method.own_name}.{attribute}", ())
    return any(isinstance(method.flow.parents[store], ast.AugAssign) for store in stores)


def _is_of_options(place: Place, klass: Class, function: Function) -> bool:
    """The same of a function that is called; what a method reads of its object are options, and it calls nothing of them."""
    called = (place.at(function, call).resolve(call.func) or "" for call in function.flow.calls)
    if any(name.startswith(_DRAWING) for name in called):
        return False
    if function.cls is None:
        return is_closed(place, function)
    if not _hangs_on_arguments(place, function, _CALLS):
        return False
    own = function.flow.loads.get(function.own_name, ()) if function.own_name else ()
    return all(_reads_option(place, klass, function, name) for name in own)


def _reads_option(place: Place, klass: Class, function: Function, name: ast.Name) -> bool:
    """Whether a method reads `self.n` as it is, and that is an option."""
    read = function.flow.parents[name]
    if not isinstance(read, ast.Attribute) or not isinstance(read.ctx, ast.Load):
        return False
    use = function.flow.parents[read]
    called = isinstance(use, ast.Attribute) or (isinstance(use, ast.Call) and use.func is read)
    return not called and _is_option(place.at(function, read), klass, read)


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
