"""What objects keep from step to step: attributes that methods add to, and what begins these anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import names, syntax, training
from .attribute_uses import naming, uses_of
from .backward_passes import terms_of
from .flow import contains
from .graph_liveness import passes_on
from .module import Class, Function, Module
from .nodes import bound_names, keyword_of
from .place import Place, StepLoop

_EMPTIES = frozenset(("clear", "pop", "popleft", "popitem", "remove"))
"""What takes out what a list or another container holds."""
_ASKING = frozenset(("isinstance", "hasattr", "is_tensor"))
_PLAIN = frozenset(("list", "float", "int", "tensor", "zeros", "zeros_like"))
"""What makes a number, a list, or a tensor of numbers."""
_BY_KEY = frozenset(("dict", "defaultdict", "OrderedDict"))
_VIEWS = frozenset(("items", "values", "get", "setdefault"))
"""Methods of a dictionary that give what it holds."""


def container(holder: ast.expr) -> ast.expr:
    """The dictionary whose list something is put into, `parts` of `parts.setdefault(key, [])`; else what holds it itself."""
    match holder:
        case ast.Call(func=ast.Attribute(attr="setdefault", value=within)):
            return within
    return holder


def attribute_of(function: Function, holder: ast.expr) -> ast.Attribute | None:
    """The attribute of its object that a method keeps something in, itself or by a key: `self.parts` of `self.parts["kl"]`."""
    holder = container(holder)
    while isinstance(holder, ast.Subscript):
        holder = holder.value
    return holder if isinstance(holder, ast.Attribute) and syntax.own_attribute(function, holder) is not None else None


def keeps_given(place: Place, call: ast.Call, given: ast.expr, hot: StepLoop) -> bool:
    """Whether a method of an object of the project adds what a call gives it, graph and all, to what outlives steps: `meter.update(loss)`."""
    targets: list[Function] = place.project.targets(place.function, call)
    return bool(targets) and all(_keeps(place, target, call, given, hot) for target in targets)


def _keeps(place: Place, method: Function, call: ast.Call, given: ast.expr, hot: StepLoop) -> bool:
    name = method.parameter_given(call, given)
    if method.cls is None or name is None or name in method.flow.stores:
        return False
    reads = method.flow.loads.get(name, ())
    if any(_asks_what_it_is(method, read) for read in reads):
        return False
    grad_off = place.analysis.context.grad_off
    return any(
        (attribute := _added_to(method, read)) is not None
        and not grad_off(method, read)
        and outlives_steps(place.at(method, read), attribute, hot)
        for read in reads
    )


def _asks_what_it_is(method: Function, read: ast.Name) -> bool:
    """`isinstance(value, torch.Tensor)`, `hasattr(value, "item")`"""
    parent = method.flow.parents[read]
    return isinstance(parent, ast.Call) and names.last(parent.func) in _ASKING


def _added_to(method: Function, read: ast.Name) -> str | None:
    """The attribute of its object that a method adds what it reads to: `self.sum += value * n`, `self.all.append(value)`."""
    statement = method.flow.statement(read)
    match statement:
        case ast.AugAssign(target=target, value=value) | ast.Assign(targets=[target], value=value):
            kept = attribute_of(method, target)
            adds = kept is not None and _adds(method, statement, kept.attr) and passes_on(method, read, value)
            return kept.attr if kept is not None and adds else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=holder), args=[one])) if one is read:
            kept = attribute_of(method, holder)
            return kept.attr if kept is not None else None
    return None


def outlives_steps(place: Place, attribute: str, hot: StepLoop, *, of_any_kind: bool = False) -> bool:
    """Whether what the place's method adds to an attribute of its object is there on later steps: nothing on a step begins it anew.

    Begun anew is the attribute, by methods and by who has the object, or the object itself. What an attribute is made by
    a class may throw away what it has had, so that it is a number, a list or a tensor, unless it may be `of_any_kind`.
    """
    klass = place.function.cls
    if klass is None:
        return False
    kin: list[Class] = [*place.project.ancestry(klass), *place.project.subclasses(klass)]
    begun = [one for each in kin for one in beginnings(each, attribute)]
    if any(method.name != "__init__" and _is_on_step(place, method, node) for method, node in begun):
        return False
    if not (of_any_kind or all(_is_plain(method, node) for method, node in begun)):
        return False
    near = (place.function.module, hot.function.module)
    if any(_is_begun_outside(place, module, attribute) for module in dict.fromkeys((*near, *naming(place, attribute)))):
        return False
    made = (call for each in kin for call in constructions(place, each))
    return not any(_is_on_step(place, function, call) for function, call in made)


def beginnings(klass: Class, attribute: str) -> Iterator[tuple[Function, ast.Attribute]]:
    """Where methods of a class give an attribute another value, or take out what it holds."""
    for method, target in klass.stores.get(attribute, ()):
        if not _adds(method, method.flow.statement(target), attribute):
            yield method, target
    yield from ((method, read) for method, read in klass.uses.get(attribute, ()) if _is_emptied(method, read))


def _is_emptied(function: Function, held: ast.expr, named_too: bool = True) -> bool:
    """Whether something is taken out of what an expression holds, or put in its place: `held.clear()`, `held[key] = []`, `for one in held.values(): one.clear()`."""
    flow = function.flow
    node: ast.AST = held
    for child, parent in flow.upwards(held):
        match parent:
            case ast.Attribute(attr=attr) if attr in _EMPTIES:
                return True
            case ast.Subscript(value=value) if value is child and not isinstance(parent.ctx, ast.Load):
                return not isinstance(flow.parents.get(parent), ast.AugAssign)
            case ast.Attribute(attr=attr) if attr in _VIEWS:
                continue
            case ast.Call(func=func) if func is child and child is not held:
                node = parent
            case ast.Subscript(value=value) if value is child:
                node = parent
            case _:
                break
    around = flow.parents.get(node) if named_too else None
    if isinstance(around, ast.For) and around.iter is node:
        named = bound_names(around.target)
    elif isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name):
        named = {around.targets[0].id}
    else:
        return False
    return any(_is_emptied(function, load, False) for name in named for load in flow.loads.get(name, ()))


def _adds(method: Function, statement: ast.stmt, attribute: str) -> bool:
    """`self.total += ...`, `self.mean = 0.9 * self.mean + ...`, `self.mean = x if self.mean is None else ...`"""
    if isinstance(statement, ast.AugAssign):
        return True
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(value, ast.IfExp):
        value = value.orelse
    return isinstance(value, ast.BinOp) and f"{method.own_name}.{attribute}" in terms_of(value)


def is_trained_on(place: Place, attribute: str) -> bool:
    """Whether a backward pass starts somewhere in the project at an attribute of that name; where many files name it, it may."""
    modules = naming(place, attribute)
    return not modules or any(is_trained_on_in(place, module, attribute) for module in modules)


def is_trained_on_in(place: Place, module: Module, attribute: str) -> bool:
    """The same of one file."""
    reads: dict[Function, list[ast.expr]] = {}
    for function, node in uses_of(module, attribute):
        if isinstance(node.ctx, ast.Load) and not _grows(function, node):
            reads.setdefault(function, []).append(node)
    return any(training.starts_backward(place, function, nodes) for function, nodes in reads.items())


def _grows(function: Function, read: ast.Attribute) -> bool:
    """Whether a statement does no more than add to the attribute that it reads: `self.total = self.total + x`, `self.all.append(x)`."""
    statement = function.flow.statement(read)
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=holder))):
            return attribute_of(function, holder) is read
        case ast.AugAssign(target=target):
            return contains(target, read)
    return syntax.own_attribute(function, read) is not None and _adds(function, statement, read.attr)


def _is_plain(method: Function, node: ast.Attribute) -> bool:
    """Whether an attribute, or a key of it, is given a number, a list, or a tensor that is filled: `self.losses = []`, and no `deque(maxlen=100)`."""
    if not isinstance(node.ctx, ast.Load):
        return _is_plain_value(syntax.given_to_target(method.flow, node))
    parent = method.flow.parents.get(node)
    if not isinstance(parent, ast.Subscript) or not isinstance(parent.ctx, ast.Store):
        return True
    return _is_plain_value(syntax.given_to_target(method.flow, parent))


def keeps_last(place: Place, holder: ast.expr) -> bool:
    """Whether something holds no more than the last few of what it is given: `deque(maxlen=100)`."""
    made = place.value(holder).made_by
    return isinstance(made, ast.Call) and names.last(made.func) == "deque" and _is_bounded(made)


def _is_bounded(deque: ast.Call) -> bool:
    return len(deque.args) > 1 or keyword_of(deque, "maxlen") is not None


def _is_plain_value(made: ast.expr | None) -> bool:
    match made:
        case ast.Constant() | ast.List():
            return True
        case ast.Dict(values=values):
            return all(map(_is_plain_value, values))
        case ast.DictComp(value=value):
            return _is_plain_value(value)
        case ast.Call(func=func, args=args) if names.last(func) in _BY_KEY:
            return all(names.last(one) in _PLAIN for one in args)
        case ast.Call(func=func):
            return not _is_bounded(made) if names.last(func) == "deque" else names.last(func) in _PLAIN
    return False


def _is_on_step(place: Place, function: Function, node: ast.AST) -> bool:
    """Whether a step may come to a place, however seldom: in a step loop, in the place's method, or in what these call."""
    if function is place.function or place.analysis.steps.hot(function, node) is not None:
        return True
    if _is_in_step_loop(place, function, node):
        return True
    return any(
        site.function is place.function or _is_in_step_loop(place, site.function, site.call)
        for site in place.callers(function)
    )


def _is_in_step_loop(place: Place, function: Function, node: ast.AST) -> bool:
    return any(contains(loop, node) for loop in place.analysis.steps.loops_of(function))


def _is_begun_outside(place: Place, module: Module, attribute: str) -> bool:
    """Whether a function of a file sets an attribute of that name of an object that is not its own, or empties it on a step: `meter.total = 0`."""
    for function, node in uses_of(module, attribute):
        if syntax.own_attribute(function, node) is None:
            if not isinstance(node.ctx, ast.Load):
                return True
            if _is_emptied(function, node) and _is_on_step(place, function, node):
                return True
    return False


def constructions(place: Place, klass: Class) -> Iterator[tuple[Function, ast.Call]]:
    """Where objects of a class are made."""
    init = place.project.method(klass, "__init__")
    if init is not None:
        yield from place.project.constructed(klass, init)
