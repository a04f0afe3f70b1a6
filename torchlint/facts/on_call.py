"""What a function makes anew for the tensors that it is given, however it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..torch_api.operators import operator
from . import names
from .module import Function
from .nodes import receiver_of
from .place import Place
from .torch_table import TOLD_BY_CALL
from .uses import assigned
from .wherever import wherever

_SIZES = frozenset(("shape", "ndim"))
_LIBRARIES = ("torch.", "numpy.", "math.", "itertools.", "random.")
_CALLERS = 4
"""Through how many functions it is followed from where a script comes to a call."""
_NAMES = 3
"""Through how many names a parameter is followed."""
_OF_LISTS = frozenset(("append", "extend", "insert", "pop", "items", "keys", "values", "get"))


def on_call(place: Place, target: ast.expr) -> bool:
    """Whether what is made for the device of `target`, `x` or `x.device`, is made on each call of a function that is given x.

    Not what is kept, here or by all who call the function, nor what a loop or a generation is prepared with.
    """
    named = assigned(place.function, target) if isinstance(target, ast.Name) else None
    device = named if isinstance(named, ast.Attribute) else target  # `device = x.device`
    given = device.value if isinstance(device, ast.Attribute) and device.attr == "device" else target
    if place.rare or not _is_given(place, given) or wherever(place, _precedes_loop) or _is_kept(place):
        return False
    calls = [place.at(site.function, site.call) for site in place.callers(place.function)]
    return not calls or not all(call.rare or _is_kept(call) or _is_once(call, place, _CALLERS) for call in calls)


def _is_once(call: Place, place: Place, depth: int) -> bool:
    """Whether a script comes to a call once: at its top, or in functions that are called so, or rarely, and from nowhere else.

    What the file of a place does with its functions, it may do to try them.
    """
    function = call.function
    if call.flow.loops(call.target) or call.flow.comprehension(call.target) is not None:
        return False
    if isinstance(function.node, ast.Module):
        return function.module is not place.function.module
    if not depth or function.cls is not None or function.decorators:
        return False
    callers = [call.at(site.function, site.call) for site in call.callers(function)]
    return bool(callers) and all(one.rare or _is_once(one, place, depth - 1) for one in callers)


def precedes_runs(place: Place) -> bool:
    """Whether something is made for a loop of the function that may run a model, or goes on for as long as it takes.

    What only calculates is soon over.
    """
    return wherever(place, _precedes_runs)


def _precedes_runs(place: Place) -> bool:
    return _generates(place) or any(
        isinstance(loop, ast.While) or _runs_something(place, loop) for loop in _long_loops(place)
    )


def is_tensor_by_use(place: Place, node: ast.expr) -> bool:
    """Whether the function calculates with the name, or asks for its size: what `.to()` is given then is a tensor, no dtype
    and no device."""
    if not isinstance(node, ast.Name) or place.value(node):
        return False
    if node.id in place.function.bindings.sliced:
        return True
    uses = (place.flow.parents[load] for load in place.flow.loads.get(node.id, ()))
    return any(
        isinstance(use, ast.BinOp) or (isinstance(use, ast.Attribute) and _tells_size(place, use)) for use in uses
    )


def _tells_size(place: Place, use: ast.Attribute) -> bool:
    """`x.shape`, `x.size(0)`, `b, n = x.size()`; not `options.size`, nor the size of a group of processes."""
    if use.attr in _SIZES:
        return True
    call = place.flow.parents.get(use) if use.attr in TOLD_BY_CALL else None
    if not isinstance(call, ast.Call) or call.func is not use:
        return False
    return use.attr != "size" or bool(call.args) or _is_unpacked(place, call)


def _is_unpacked(place: Place, call: ast.Call) -> bool:
    """`a, b = x.size()`"""
    statement = place.flow.parents.get(call)
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)


def _is_given(place: Place, node: ast.expr) -> bool:
    """Whether a tensor comes in from outside: a parameter of the function, or what its object holds."""
    value = place.value(node)
    if not (value.kind == "tensor" or is_tensor_by_use(place, node)) or value.parameter or value.on_cpu:
        return False
    root = names.chain(node)
    if root is None or (len(root) > 1 and root[0] != "self"):
        return False
    return root[0] in place.function.positions or _is_of_given(place, node, _NAMES)


def _is_of_given(place: Place, node: ast.expr, steps: int) -> bool:
    """Whether a name stands for a part or another shape of a parameter: `w` behind `x = x.view(-1, 6)`, `w = x[:, :3]`."""
    made = assigned(place.function, node) if steps and isinstance(node, ast.Name) else None
    while isinstance(made, ast.Subscript) or (isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute)):
        made = made.value if isinstance(made, ast.Subscript) else receiver_of(made)
    if not isinstance(made, ast.Name):
        return False
    if made.id in place.function.positions:
        # An element of a list of pictures may be anywhere, and is on the host as a rule.
        return place.value(made).kind in ("tensor", "unknown")
    return _is_of_given(place, made, steps - 1)


def _is_kept(place: Place) -> bool:
    """Whether the tensor is kept in an object."""
    if place.consumed_by(("register_buffer",)):
        return True
    statement = place.statement
    return isinstance(statement, ast.Assign) and any(isinstance(part, ast.Attribute) for part in statement.targets)


def _precedes_loop(place: Place) -> bool:
    """Whether the tensor is made for a loop that the function runs, or for a generation, however many tokens follow."""
    return _generates(place) or any(True for _ in _long_loops(place))


def _generates(place: Place) -> bool:
    """Whether a function generates with a model, by its name; `generate_path(duration, mask)`, which only calculates, is soon over."""
    function = place.function
    if "generat" not in function.name:
        return False
    makes = function.name.lstrip("_").startswith("generate_") and not function.is_method
    return not makes or function.has_loops or not all(_is_helper(place, call) for call in place.flow.calls)


def _is_helper(place: Place, call: ast.Call) -> bool:
    """Whether a call calculates: of a library, of a tensor's method, or of a function of the project that is none of a class."""
    if _only_calculates(place, call):
        return True
    found = place.may_run(call)
    return bool(found) and not any(one.is_method for one in found)


def _long_loops(place: Place) -> Iterator[ast.For | ast.While]:
    """The loops of the function that do more than one thing and come behind the place."""
    end: int = getattr(place.target, "end_lineno", 0)
    loops = (loop for loop in place.function.own_loops if isinstance(loop, ast.For | ast.While) and loop.lineno > end)
    return (loop for loop in loops if len(loop.body) > 1 or _turns(place, loop))


def _turns(place: Place, loop: ast.For | ast.While) -> list[Function]:
    """The functions of the project that do all that a loop does, and more than one thing: `for _ in range(n): state, x = advance(state, x)`."""
    does = loop.body[0] if len(loop.body) == 1 else None
    call = does.value if isinstance(does, ast.Assign | ast.AugAssign | ast.Expr) else None
    if not isinstance(call, ast.Call):
        return []
    targets = place.project.targets(place.function, call)
    return [one for one in targets if len(one.telling) > 1 and one.name == names.last(call.func)]


def _runs_something(place: Place, loop: ast.For | ast.While) -> bool:
    """Whether a loop calls more than functions of libraries and methods of tensors and lists: `self.layer(x)`, `model(x)`."""
    calls = [(place, call) for call in place.flow.calls_within(loop)]
    calls += [(place.at(one, call), call) for one in _turns(place, loop) for call in one.flow.calls]
    return any(not _only_calculates(there, call) for there, call in calls)


def _only_calculates(place: Place, call: ast.Call) -> bool:
    name = place.resolve(call.func)
    if name is not None:
        return "." not in name or name.startswith(_LIBRARIES)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return method in _OF_LISTS or operator(f"torch.Tensor.{method}") is not None
