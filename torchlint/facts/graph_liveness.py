"""Whether the graph that autograd records for a value is live: whether anything is made of the value that carries it on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from ..torch_api.operators import operator
from . import syntax, training
from .arguments import Arguments
from .attribute_uses import naming, uses_of
from .bindings import Assigned, Part
from .common_names import PACKS
from .flow import Flow, Loop, contains
from .literals import literals
from .module import Function
from .names import chain
from .nodes import callee, elements, made_first, names_in, root_of, steps
from .operator_calls import carries_no_graph, changes_its_tensor
from .place import Place
from .uses import fellows, readers

_KEEPS = frozenset(("cpu", "float", "flatten", "permute", "reshape", "squeeze", "to", "transpose", "unsqueeze", "view"))
"""Methods that an array comes behind: `x.squeeze(0).cpu().numpy()`."""
_DROPS = frozenset(("detach", "data", "shape", "dtype", "device", "ndim", "is_cuda"))
_CUTS = frozenset(("detach", "detach_", "data", "grad"))
"""What gives a tensor without history where it is read or called."""
_MAY_CARRY = frozenset(("tensor", "unknown", "list", "tuple"))
"""The kinds of values that may carry a graph."""
_NUMBERS = frozenset(("float", "int", "bool", "len"))
"""Functions of Python that give a number of what they are given."""
_TEXTS = frozenset(("print", "str", "repr", "format"))
"""Functions of Python that write a text of what they are given, or give one."""
_FILLS = frozenset(("append", "extend", "clear"))
"""Methods that change a list and give nothing of it."""
_GOES_BACK = frozenset(("torch.autograd.grad", "torch.autograd.backward"))
"""Functions that go back through the graph of what they are given."""
PICTURES = frozenset(("torchvision.utils.save_image", "torchvision.utils.make_grid"))
"""Functions that make pictures with autograd off."""


_CALLERS = 20
_DEPTH = 2
"""How many calls deep, or callers away, a value is followed."""

Fate = Literal["dead", "given back", "alive"]
"""What becomes of the graph of what a function is given."""


@dataclass(slots=True)
class _Trail:
    """What is asked about of one value: the reads so far, and whether what carries its graph is given back, where that may be."""

    seen: set[ast.AST] = field(default_factory=set)
    depth: int = _DEPTH
    may_return: bool = False
    returns: bool = False


def is_dead(place: Place, node: ast.expr) -> bool:
    """Whether everything that the place's function makes of a value loses its graph; what leaves the function may carry it.

    It does not in a list of an attribute that loses it where it is read, in a function of the project that drops what it
    is given, and where a function of a script gives it to callers that all drop it.
    """
    return _is_dead_for_callers(place, node, _DEPTH)


def _is_dead_for_callers(place: Place, node: ast.expr, depth: int) -> bool:
    trail = _Trail(may_return=depth > 0 and is_of_script(place))
    if not _is_dead(place, node, trail):
        return False
    if not trail.returns:
        return True
    sites = place.project.call_sites(place.function, _CALLERS)
    return bool(sites) and all(
        _is_dead_for_callers(place.at(site.function, site.call), site.call, depth - 1) for site in sites
    )


def drops_graph(attr: str) -> bool:
    """Whether an attribute or a method of a tensor gives nothing that has its graph: `loss.item()`, `x.shape`."""
    return attr in _DROPS or carries_no_graph(f"torch.Tensor.{attr}")


def is_of_script(place: Place) -> bool:
    """Whether a place is in a function of a script that is called by its name alone, so that its callers are known."""
    function = place.function
    scope = function.parent
    if place.role != "script" or scope is not function.module.body or function.cls is not None or function.decorators:
        return False
    return place.once(("called by name", function), lambda: _is_called_by_name(function))


def _is_called_by_name(function: Function) -> bool:
    """Whether the file of a function does nothing else with it than to call it."""
    reads = ((one.flow, read) for one in function.module.functions for read in one.flow.loads.get(function.name, ()))
    return all(syntax.called(flow, read) for flow, read in reads)


def _is_dead(place: Place, node: ast.expr, trail: _Trail) -> bool:
    """The same of one function."""
    if node in trail.seen:
        return True
    trail.seen.add(node)
    for child, parent in place.flow.upwards(node):
        match parent:
            case ast.Attribute(attr="data") if place.function.module.source.holds(PACKS):
                return False  # the field of that name of a packed sequence has its graph
            case ast.Attribute(attr="numpy"):
                made = place.value(parent.value)  # it raises where there is a graph: integers have none
                return made.kind == "tensor" and (made.integer or _is_integer_of_call(place, parent.value))
            case ast.Attribute(attr=attr) if drops_graph(attr):
                return True
            case ast.Attribute(attr="sample") if place.value(parent.value).kind == "distribution":
                return True
            case ast.Compare():
                return True
            case ast.FormattedValue() | ast.BinOp() | ast.Call() if _is_text(place, parent, child):
                return True
            case ast.Call() if child is not parent.func:
                if place.resolve(parent.func) in _GOES_BACK:
                    return False
                if _drops(place, parent, child):
                    return True
                if (grown := syntax.appended_to(place.flow, parent)) is not None:
                    # Not what has the name of the list later: `values = torch.cat(values).detach()`.
                    return _is_dead_name(place, grown.id, fellows(place.function, grown), trail)
                if (kept := syntax.appended_to_attribute(place.flow, parent)) is not None:
                    return _is_dead_attribute(place, kept, trail)
                fate = "given back" if _is_tracked(place, parent) else _fate(place, parent, child, trail.depth)
                if fate != "given back":
                    return fate == "dead"
        if isinstance(parent, ast.Call | ast.BinOp) and _is_off(place, parent):
            return True  # made of it where autograd is off
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store) and child is parent.value:
            return True  # filled in place
        if isinstance(parent, ast.Assign):
            return all(_is_dead_target(place, target, parent.value, trail) for target in parent.targets)
        if isinstance(parent, ast.AugAssign) and isinstance(parent.target, ast.Name):
            return _is_dead_target(place, parent.target, parent.value, trail)
        if isinstance(parent, ast.Return) and trail.may_return:
            trail.returns = True
            return True
        if isinstance(parent, ast.Expr) and (written := _written_in_place(place, parent)) is not None:
            # `probs.scatter_(1, index, values)`: whoever reads what that is written into
            name = written.id
            return node is written or _is_dead_name(place, name, place.flow.loads.get(name, ()), trail)
        if isinstance(parent, ast.stmt | ast.Lambda | ast.comprehension):
            return _only_appends(place, parent, node)
    return False


def _is_integer_of_call(place: Place, node: ast.expr) -> bool:
    """Whether a part of what a function gives holds integers for what this call leaves as it is by default: `actions, _ = net.act(x)` of `def act(self, x, action=None)`."""
    read = root_of(node, ast.Call, ast.Attribute)
    part = place.function.bindings.reach.get(read) if read is not None else None
    call = part.whole.node if isinstance(part, Part) and isinstance(part.whole, Assigned) else None
    functions = place.may_run(call) if isinstance(call, ast.Call) else []
    if not isinstance(call, ast.Call) or not isinstance(part, Part) or len(functions) != 1:
        return False
    told = literals(functions[0], Arguments.of(call, place.value))
    given = place.project.returns_for(functions[0], told, ()).items if told else None
    one = given[part.at] if given is not None and part.at < len(given) else None
    return one is not None and one.kind == "tensor" and one.integer


def _drops(place: Place, call: ast.Call, given: ast.AST) -> bool:
    """Whether what a call gives has no graph of one of its arguments."""
    name = place.resolve(call.func) or ""
    return (
        name in _NUMBERS | PICTURES or carries_no_graph(name) or any(one is given for one in given_to_drop(place, call))
    )


def _is_text(place: Place, node: ast.expr, part: ast.AST) -> bool:
    """Whether a tensor is written, or made a text: `print(y)`, `f"{y}"`, `"%.3f" % y`; what else a model gives may be one already."""
    match node:
        case ast.FormattedValue():
            pass
        case ast.BinOp(op=ast.Mod(), left=text) if part is not text and place.value(text).kind == "str":
            pass
        case ast.Call(func=ast.Attribute(attr="format", value=text)) if place.value(text).kind == "str":
            pass
        case ast.Call(func=ast.Name() as func) if part is not func and place.resolve(func) in _TEXTS:
            pass
        case _:
            return False
    given = part.elts if isinstance(part, ast.Tuple) else [part.value if isinstance(part, ast.keyword) else part]
    values = [place.value(one) for one in given if isinstance(one, ast.expr)]
    return all(value.is_tensor or value.kind in ("number", "str") for value in values)


def _is_tracked(place: Place, call: ast.Call) -> bool:
    """Whether a call gives what it is followed into: a function of torch, or one of autograd that the project has, a method of a tensor, a model or a method of one that asks for no gradients itself."""
    func = call.func
    if (place.resolve(func) or "").startswith("torch.") or place.value(func).kind == "module":
        return True
    if not isinstance(func, ast.Attribute):
        return False
    owner = place.value(func.value)
    if owner.kind == "module":
        return not any(map(training.asks, place.project.targets(place.function, call)))
    if owner.kind == "class" and func.attr == "apply":
        return owner.class_ is not None and place.project.is_autograd_function(owner.class_)
    return owner.kind == "tensor"


def _fate(place: Place, call: ast.Call, given: ast.AST, depth: int) -> Fate:
    """What becomes of the graph of an argument in the functions of the project that a call runs: `accuracy(out, y)`."""
    value = given.value if isinstance(given, ast.keyword) else given
    targets = place.project.targets(place.function, call) if depth > 0 else ()
    fates = {_fate_in(place, target, call, value, depth) for target in targets}
    if not fates or "alive" in fates:
        return "alive"
    return "given back" if "given back" in fates else "dead"


def _fate_in(place: Place, target: Function, call: ast.Call, given: ast.AST, depth: int) -> Fate:
    name = target.parameter_given(call, given)
    if name is None or training.trains(target):
        return "alive"
    return place.once(("fate", target, name, depth), lambda: _fate_of(place, target, name, depth))


def _fate_of(place: Place, target: Function, name: str, depth: int) -> Fate:
    trail = _Trail(depth=depth - 1, may_return=True)
    if name in read_within(place, target):
        return "alive"
    if not all(_is_dead(place.at(target, read), read, trail) for read in target.flow.loads.get(name, ())):
        return "alive"
    return "given back" if trail.returns else "dead"


def _is_off(place: Place, node: ast.AST) -> bool:
    return bool(place.analysis.context.off_where_called(place.function, node))


def _only_appends(place: Place, statement: ast.AST, node: ast.AST) -> bool:
    """Whether a statement does no more than put something into the list that the node names."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.value is not node:
        return False
    return syntax.appended_to(place.flow, call) is not None


def _written_in_place(place: Place, statement: ast.Expr) -> ast.Name | None:
    """The name of a tensor made in the function that a statement only writes into: `probs` of `probs.scatter_(1, index, values)`."""
    match statement.value:
        case ast.Call(func=ast.Attribute(value=ast.Name() as written, attr=attr)) if changes_its_tensor(attr):
            return written if _is_new(place, written.id) else None
    return None


def _is_dead_target(place: Place, target: ast.expr, value: ast.expr, trail: _Trail) -> bool:
    if isinstance(target, ast.Tuple):
        return all(_is_dead_target(place, element, value, trail) for element in target.elts)
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        name = target.value.id  # `values[live] = net(x)`: whoever reads what that is written into
        return _is_new(place, name) and _is_dead_name(place, name, place.flow.loads.get(name, ()), trail)
    if not isinstance(target, ast.Name):
        return False
    return _is_dead_name(place, target.id, readers(place.function, target.id, value), trail)


def _is_new(place: Place, name: str) -> bool:
    """Whether all that a name is assigned is memory that a factory makes there: `torch.zeros(n).cuda()`."""
    made = [place.flow.parents.get(store) for store in place.flow.stores.get(name, ())]
    return bool(made) and all(isinstance(one, ast.Assign) and _makes_memory(place, one.value) for one in made)


def _makes_memory(place: Place, value: ast.expr) -> bool:
    value = made_first(value)
    row = operator(place.resolve(value.func) or "") if isinstance(value, ast.Call) else None
    return row is not None and row.device in ("factory", "like") and not row.alias


def _is_dead_name(place: Place, name: str, reads: Iterable[ast.Name], trail: _Trail) -> bool:
    """Whether all of these reads of a name of the function lose its graph."""
    if name in place.flow.globals or name not in place.flow.stores:
        return False
    if name in read_within(place, place.function):
        return False
    return all(place.value(read).kind in ("ndarray", "number") or _is_dead(place, read, trail) for read in reads)


def read_within(place: Place, function: Function) -> frozenset[str]:
    """The names that functions within a function read."""

    def read() -> frozenset[str]:
        return frozenset(name for inner in function.nested.values() for name in inner.flow.loads)

    return place.once(("read within", function), read)


def _is_dead_attribute(place: Place, name: str, trail: _Trail) -> bool:
    """Whether the project reads what lists of an attribute of that name hold, and all of these reads lose its graph."""
    uses = ((function, node) for module in naming(place, name) for function, node in uses_of(module, name))
    reads = [(function, node) for function, node in uses if not _only_fills(function.flow, node)]
    there = replace(trail, may_return=False)
    return bool(reads) and all(_is_dead(place.at(function, node), node, there) for function, node in reads)


def _only_fills(flow: Flow, held: ast.Attribute) -> bool:
    """Whether something is only put into a list, or the list is made, measured or emptied: `self.kept.append(x)`, `del self.kept[:]`."""
    if not isinstance(held.ctx, ast.Load):
        return True
    match flow.parents.get(held):
        case ast.Attribute(attr=attr):
            return attr in _FILLS
        case ast.Subscript(ctx=ast.Del()):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
    return False


def given_to_drop(place: Place, call: ast.Call) -> Iterator[ast.expr]:
    """What a call gives a helper of the project that drops its graph: `x` of `to_np(x)`."""
    if not (call.args or call.keywords) or (place.resolve(call.func) or "").startswith("torch."):
        return
    targets = place.project.targets(place.function, call) if place.value(call.func).kind == "function" else []
    for target in targets:
        name = dropped_parameter(target)
        given = target.argument(call, name) if name is not None else None
        if given is not None:
            yield given


def dropped_parameter(function: Function) -> str | None:
    """The parameter whose graph a function of one statement drops, `return t.cpu().detach()`; None where it does anything else."""
    body = function.telling
    parts = list(steps(body[0].value)) if len(body) == 1 and isinstance(body[0], ast.Return) else []
    name = next((part.id for part in parts if isinstance(part, ast.Name)), None)
    drops = any(isinstance(part, ast.Attribute) and part.attr in ("detach", "data", "numpy") for part in parts)
    return name if drops and name in function.positions else None


def becomes_array(place: Place, call: ast.Call) -> bool:
    """`model(x).cpu().numpy()`, at once or under a name: it raises where there is a graph, so that there is none."""
    whole = _indexed(place.flow, call)
    target = syntax.target(place.flow, whole)
    named = [part.id for part in elements(target) if isinstance(part, ast.Name)] if target is not None else []
    reads = (read for name in named for read in readers(place.function, name, whole))
    return any(_is_read_by_numpy(place, node) for node in (call, *reads))


def _indexed(flow: Flow, call: ast.Call) -> ast.expr:
    """A call with the indices behind it: `model(x)[:2]`."""
    whole: ast.expr = call
    while isinstance(parent := flow.parents.get(whole), ast.Subscript) and parent.value is whole:
        whole = parent
    return whole


def _is_read_by_numpy(place: Place, node: ast.AST) -> bool:
    """`x[0].squeeze(0).cpu().numpy()`: parts and methods that keep a graph, and the one that refuses it."""
    for child, parent in place.flow.upwards(node):
        if isinstance(parent, ast.Attribute) and parent.attr == "numpy":
            return True
        keeps = isinstance(parent, ast.Attribute) and parent.attr in _KEEPS
        keeps = keeps or (isinstance(parent, ast.Subscript) and parent.value is child)
        if not keeps and not (isinstance(parent, ast.Call) and parent.func is child):
            return False
    return False


def reaches(place: Place, name: ast.expr, stored: ast.expr) -> bool:
    """Whether the name, or the call, is a tensor, and its graph gets to the whole expression."""
    return goes_on(place, name, stored) and place.value(name).proven


def goes_on(place: Place, name: ast.expr, stored: ast.expr) -> bool:
    """Whether the graph of what may be a tensor gets to the whole expression: by arithmetic, functions of torch, methods of tensors."""
    child: ast.AST = name
    while child is not stored:
        parent = place.flow.parents[child]
        if isinstance(parent, ast.Attribute):
            if parent.attr in _CUTS:
                return False
        elif isinstance(parent, ast.Call):
            if child is not parent.func and not (place.resolve(parent.func) or "").startswith("torch."):
                return False
            made = place.value(parent)
            if made.kind not in _MAY_CARRY or made.integer or (made.kind == "tensor" and made.boolean):
                return False  # `loss.item()`, `loss.numel()`, `out.argmax(1)`
        elif not isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List):
            return False
        child = parent
    return place.value(name).kind == "tensor"


def passes_on(function: Function, read: ast.Name, whole: ast.expr) -> bool:
    """Whether the graph of what a name holds, if it has one, gets to the whole expression: by arithmetic and methods of tensors."""
    for child, parent in function.flow.upwards(read):
        if child is whole:
            return True
        if isinstance(parent, ast.Attribute):
            name = f"torch.Tensor.{parent.attr}"
            if parent.attr in _CUTS or operator(name) is None or carries_no_graph(name):
                return False
        elif not (
            isinstance(parent, ast.BinOp | ast.UnaryOp) or (isinstance(parent, ast.Call) and parent.func is child)
        ):
            return False
    return False


def is_cut(place: Place, name: str, loop: Loop | None) -> bool:
    """Whether a loop, or the function, binds a name to something without history, `loss = loss.item()`, or to what a function makes of it."""
    for store in place.flow.stores.get(name, ()):
        statement = place.flow.statement(store)
        value = getattr(statement, "value", None)
        if (loop is not None and not contains(loop, store)) or not isinstance(value, ast.expr):
            continue
        if isinstance(statement, ast.AugAssign):
            continue
        outer = callee(value)
        if isinstance(outer, ast.Attribute) and outer.attr in _CUTS:
            return True
        if isinstance(value, ast.Call) and place.value(value).kind not in _MAY_CARRY:
            return True
        # `loss = reduced(loss)`: what comes back need not have a graph; that of `loss.mean()` and `loss / 2` does.
        own = isinstance(outer, ast.Attribute) and outer is not value and chain(outer.value) == [name]
        if not own and not isinstance(value, ast.BinOp | ast.Name) and name in names_in(value):
            made = place.value(value)  # `loss = -torch.min(loss, clipped).mean()` surely has one
            if not (made.grad and made.proven):
                return True
    return False
