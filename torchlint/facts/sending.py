"""Calls that send what they are given to the device, where to, and what is on the host until then."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import arguments, names
from .bindings import Assigned
from .flow import Flow
from .legacy_tensors import makes_on_device
from .module import Function
from .nodes import argument_of, is_constant, keyword_of
from .on_call import is_tensor_by_use
from .place import Place
from .syntax import called
from .torch_table import NUMBERS
from .uses import only_read

SENDS = regex(
    r"^(?:move|send|copy|recursive|dict|batch|data)(?:_\w+)?_to(?:_(?:device|cuda|gpu))?$|^to_(?:device|cuda|gpu)$"
)
"""What functions are called that send what they are given: `move_to(batch, device)`."""
_MOVES = frozenset(("to", "cuda", "type_as"))
_BY_TARGET = frozenset(("to", "type", "type_as"))
"""Moves of which what they are given decides whether they go to the device."""
_SECOND = frozenset(("cuda", "xpu"))
"""Moves that take `non_blocking` at the second place."""
_BETWEEN = frozenset(
    """long int short float double half bfloat16 bool view reshape unsqueeze squeeze repeat expand expand_as t transpose permute
    contiguous flatten""".split()
)
"""Methods between a constructor and its move: `torch.tensor(0).float().cuda()`."""
OF_ELEMENTS = frozenset(f"torch.{name}" for name in ("exp", "log", "sin", "cos", "sqrt", "rsqrt", "reciprocal"))
_OF_ONE = OF_ELEMENTS | {"torch.autograd.Variable"}
"""Functions of one tensor between a constructor and its move: `torch.log(torch.tensor(100.0)).cuda()`."""


def sent_later(flow: Flow, node: ast.expr) -> bool:
    """Whether a part of something is looked at that the function sends to the device only afterwards.

    `batch["done"].nonzero()` in front of `return to_device(batch, device)`.
    """
    end = node.end_lineno or node.lineno
    around = flow.loops(node)
    return any(
        load.lineno > end and flow.loops(load) == around for root in roots(node) for load in _sent(flow, root.id)
    )


def roots(node: ast.expr) -> list[ast.Name]:
    """The name that an expression takes a part of, or of what it calculates with: `a` and `b` of `(a[0] == b).sum()`."""
    found: list[ast.Name] = []
    todo = [node]
    while todo:
        root = todo.pop()
        if isinstance(root, ast.Name):
            found.append(root)
        elif isinstance(root, ast.Call):
            todo.append(root.func)
        elif isinstance(root, ast.Attribute | ast.Subscript):
            todo.append(root.value)
        elif isinstance(root, ast.UnaryOp):
            todo.append(root.operand)
        elif isinstance(root, ast.BinOp):
            todo += [root.left, root.right]
        elif isinstance(root, ast.Compare):
            todo += [root.left, *root.comparators]
    return found


def _sent(flow: Flow, name: str) -> list[ast.Name]:
    """Where a function sends what a name holds to the device."""
    known: dict[str, list[ast.Name]] = flow.__dict__.setdefault("sent", {})
    if name not in known:
        # The last ones first: `x = f(x)` is sent where the next one is.
        known[name] = [load for load in reversed(flow.loads.get(name, ())) if _is_sent(flow, load)]
    return known[name]


def _is_sent(flow: Flow, load: ast.Name) -> bool:
    """`x.cuda()`, `to_device(x, device)`, `to_device(to_float(x))`."""
    parent = flow.parents.get(load)
    if isinstance(parent, ast.Attribute) and parent.attr == "cuda":
        return called(flow, parent) is not None  # `torch.cuda.amp` is a module
    return _is_given_to_sender(flow, load)


def _is_given_to_sender(flow: Flow, load: ast.Name) -> bool:
    """`to_device(to_float(x))`, or `y = to_float(x)` in front of `to_device(y)`, where nothing else reads that."""
    known: dict[ast.Name, bool] = flow.__dict__.setdefault("given to senders", {})
    if load not in known:
        known[load] = False
        known[load] = _ends_in_sender(flow, load)
    return known[load]


def _ends_in_sender(flow: Flow, load: ast.Name) -> bool:
    for child, parent in flow.upwards(load):
        if isinstance(parent, ast.Call) and child in parent.args and SENDS.search(names.last(parent.func)):
            return True
        if isinstance(parent, ast.Assign) and child is parent.value:
            read = only_read(flow.function, parent.value)
            return read is not None and flow.loops(read) == flow.loops(load) and _is_given_to_sender(flow, read)
        if not isinstance(parent, ast.Call):
            return False
    return False


def target_of(move: ast.Call) -> ast.expr | None:
    """What says where a move goes, a device or a tensor that is there: `x` of `.to(x)`, `.type_as(x.data)` and `.type(x.type())`."""
    assert isinstance(move.func, ast.Attribute)
    if move.func.attr == "type_as":
        given = argument_of(move, "other", 0)
        return given.value if isinstance(given, ast.Attribute) and given.attr == "data" else given
    if move.func.attr != "type":
        return argument_of(move, "device", 0) or keyword_of(move, "other")
    match argument_of(move, "dtype", 0):
        case ast.Call(func=ast.Attribute(value=other, attr="type"), args=[], keywords=[]):
            return other
    return None


def goes_to_device(place: Place, move: ast.Call) -> bool:
    """Whether a move of a tensor of the host goes to an accelerator, or may do so; a cast moves nothing."""
    assert isinstance(move.func, ast.Attribute)
    method, target = move.func.attr, target_of(move)
    if target is None:
        given = argument_of(move, "dtype", 0) if method == "type" else None
        if given is not None:
            return makes_on_device(place.value(given))
        return method not in _BY_TARGET
    if method not in _BY_TARGET:
        return True  # `.cuda(args.gpu)` takes nothing but the number of one
    value = place.value(target)
    by_use = is_tensor_by_use(place, target)
    if value.kind == "tensor" or by_use:
        there = by_use or not (value.on_cpu or value.from_loader)
        return there or (method in ("type", "type_as") and value.device == "accelerator")
    if method in ("type", "type_as"):  # only a tensor is given: it is enough to know where that is
        return value.device == "accelerator"
    return value.device != "cpu" and arguments.is_device(value) and value.const not in ("cpu", "meta")


def move_of(place: Place, made: ast.expr) -> ast.Call | None:
    """The call that moves what is made in the same expression: `torch.tensor([0, 1]).view(1, 2).to(device)`."""
    return _out_of(place, made)[1]


def moved_next(place: Place, made: ast.expr) -> ast.Call | None:
    """The call that moves what is made, where its name is read first of all: `x = torch.tensor([0])`, `if cuda: x = x.cuda()`.

    What is read once may be moved under another name, or none: `y * x.view(1, 3).to(y.device)`.
    """
    flow = place.flow
    whole, move = _out_of(place, made)
    statement = flow.parents.get(whole)
    if move is not None or not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or target.id in flow.globals:
        return None
    end = statement.end_lineno or statement.lineno
    first = next((load for load in flow.loads.get(target.id, ()) if load.lineno > end), None)
    if first is None:
        return None
    method = flow.parents.get(first)
    call = called(flow, method) if isinstance(method, ast.Attribute) and method.attr in _MOVES else None
    again = flow.parents.get(call) if call is not None else None
    names_again = [each.id if isinstance(each, ast.Name) else "" for each in getattr(again, "targets", ())]
    if names_again != [target.id]:
        call = _out_of(place, first)[1] if _is_read_once(place.function, target.id) else None
    if call is None or flow.loops(call) != flow.loops(made) or not _is_found_there(place, statement, first):
        return None
    return call if _stands_below(flow, statement, flow.statement(call)) else None


def _is_read_once(function: Function, name: str) -> bool:
    """Whether a name of a function stands for one thing, which one place reads, and no function within."""
    flow = function.flow
    once = len(flow.loads[name]) == len(flow.stores.get(name, ())) == 1 and name not in flow.parameters
    return once and not any(name in inner.flow.loads for inner in function.nested.values())


def _is_found_there(place: Place, made: ast.Assign, read: ast.expr) -> bool:
    """Whether a read of a name finds what a statement assigned, and nothing else: another branch may give it what is calculated there."""
    bound = place.function.bindings.reach.get(read)
    return isinstance(bound, Assigned) and bound.node is made.value


def _stands_below(flow: Flow, statement: ast.AST, later: ast.stmt) -> bool:
    """Whether a statement follows another one in its block, or stands in a branch that does."""
    block = flow.block(statement) if isinstance(statement, ast.stmt) else None
    around = flow.parents.get(later)
    return block is not None and (later in block.index or (isinstance(around, ast.If) and around in block.index))


def _out_of(place: Place, made: ast.expr) -> tuple[ast.expr, ast.Call | None]:
    """All that is made of something by casts and other shapes, and the call that moves it."""
    node = made
    while isinstance(parent := place.flow.parents.get(node), ast.expr):
        call = place.flow.parents.get(parent)
        if isinstance(parent, ast.Attribute) and isinstance(call, ast.Call):
            casting = casts(place, call)
            if parent.attr in _MOVES and not casting:
                return node, call
            if parent.attr not in _BETWEEN and not casting:
                break
            node = call
        elif _is_part(place, parent, node):
            node = parent
        else:
            break
    return node, None


def casts(place: Place, call: ast.Call) -> bool:
    """`x.to(torch.long)`, `x.type(dtype)`: what moves nothing."""
    given = call.args[0] if len(call.args) == 1 and not call.keywords else None
    return names.last(call.func) in ("to", "type") and given is not None and place.value(given).kind == "dtype"


def _is_part(place: Place, parent: ast.expr, node: ast.expr) -> bool:
    """`x[None, :]`, `x / 3.0`, `torch.log(x)`, `Variable(x)`"""
    if isinstance(parent, ast.Call):
        return parent.args[:1] == [node] and place.resolve(parent.func) in _OF_ONE
    if isinstance(parent, ast.Subscript):
        return parent.value is node and not isinstance(parent.slice, ast.Name)
    other = parent.right if isinstance(parent, ast.BinOp) and parent.left is node else None
    return other is not None and is_constant_data(place, other)


def is_constant_data(place: Place, node: ast.expr) -> bool:
    """A number that is written out, `-math.inf`, `1 / 255`, `float("inf")`, or a list of them."""
    if isinstance(node, ast.List | ast.Tuple):
        return all(is_constant_data(place, element) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return is_constant_data(place, node.operand)
    if isinstance(node, ast.BinOp):
        return is_constant_data(place, node.left) and is_constant_data(place, node.right)
    if isinstance(node, ast.Call):
        return place.resolve(node.func) == "float" and all(isinstance(given, ast.Constant) for given in node.args)
    return isinstance(node, ast.Constant) or place.resolve(node) in NUMBERS


def told_to_wait(call: ast.Call) -> ast.expr | None:
    """The False by which a move says that it waits, as torch does anyway: `x.to(device, non_blocking=False)`, `x.cuda(gpu, False)`."""
    given = keyword_of(call, "non_blocking")
    if given is None and names.last(call.func) in _SECOND:
        given = argument_of(call, "", 1)
    return given if is_constant(given, False) else None
