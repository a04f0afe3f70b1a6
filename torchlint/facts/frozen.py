"""Models whose parameters a program freezes, as far as the text near `requires_grad` names them."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from ..system.regex import regex
from ..text.finders import fact_of_words
from ..text.source import Source
from .flow import Loop
from .module import Function
from .names import chain, last
from .nodes import elements, given_to, is_constant, made_first, root_of, truth
from .place import Place
from .syntax import given_to_target, scope_of, stores_of
from .values import Value

_SETS = r"requires_grad(?:_\w*)?(?:\((?!\s*(?:True\s*)?\))|\s*=(?!=|\s*True\b))"
"""`requires_grad = False`, `requires_grad_(False)`; `if p.requires_grad` freezes nothing, nor does `requires_grad = True`."""
_NAMES_GRAD = regex(rb"requires_grad")
_ALL = r"freeze(?:_all|_?params|_?parameters|_?weights|_?model|_?module)?\("
"""What is called so freezes all of a model."""
_FREEZES = regex(rb"\b" + _ALL.encode())
_DETACHES = regex(rb"\.detach_\(")
"""In place, and of a parameter, it turns the gradients off."""
_TAKES_GRAD = regex(rb"\.detach_\(|requires_grad")
_THAWS = regex(rb"requires_grad\s*=\s*True|un_?freeze")
"""What trains a part of a model again."""
_SETS_BY_CALL = regex(r"(?i)requires?_?grad|(?:set|toggle)_?grad|trainable")
"""What functions are called that are told whether a model has gradients."""
_FALSE = ast.Constant(False)
_DEPTH = 3
_MOST = 20
"""Of more callers none is asked."""


@fact_of_words("frozen")
def freezes(source: Source, name: str) -> bool:
    """Whether a text freezes the parameters of a model of that name."""
    return _freezes(source.text, name)


def is_frozen(place: Place, name: str) -> bool:
    """Whether the file, or a class that the method's class inherits from, freezes the parameters of a model of that name."""
    source, klass = place.function.module.source, place.function.cls
    speaks = source.holds(b"requires_grad") or source.holds(_FREEZES) or source.holds(_DETACHES)
    if speaks and source.fact(f"frozen {name}", lambda read: freezes(read, name)):
        return True
    if _is_frozen_by_call_in_file(place, name):
        return True
    bases = itertools.islice(place.project.ancestry(klass), 1, None) if klass is not None else ()
    return any(_freezes(base.module.lines_of(base.node), name) for base in bases)


def is_frozen_by(place: Place, holder: Value, name: str) -> bool:
    """Whether the constructor of what holds a model freezes that: `model.encoder` of a `model` that freezes `self.encoder`."""
    init = place.project.method(holder.class_, "__init__") if holder.class_ is not None else None
    return init is not None and init.says(_NAMES_GRAD) and _freezes(init.module.lines_of(init.node), name)


def _is_frozen_by_call_in_file(place: Place, name: str) -> bool:
    """Whether any function of the place's file does that."""
    if not place.project.any_holds(_TAKES_GRAD.pattern):
        return False
    module = place.function.module

    def found() -> bool:
        named = module.functions_at(module.lines_holding(name))
        return any(is_frozen_by_call(place, one, name) for one in named)

    return place.once(("frozen by call in file", module.path, name), found)


def is_frozen_by_call(place: Place, function: Function, name: str) -> bool:
    """Whether a function gives a model of that name, or each of its parameters, to another one that turns their gradients off.

    `freeze(model)`, `for p in self.model.parameters(): freeze_parameter(p)`
    """
    if not place.project.any_holds(_TAKES_GRAD.pattern):
        return False
    return place.once(("frozen by call", function, name), lambda: _hands_to_freeze(place, function, name))


def freezes_itself(place: Place, model: Value) -> bool:
    """Whether the constructor of a model takes the gradients from all of its parameters: `self.requires_grad_(False)`,
    `for p in self.parameters(): p.requires_grad = trainable`, of a parameter that is False by default and that nobody gives.
    """
    made = model.class_.methods.get("__init__") if model.class_ is not None else None
    if made is None or not place.project.any_holds(_TAKES_GRAD.pattern):
        return False
    by = model.made_by if isinstance(model.made_by, ast.Call) else None
    own = [made.own_name]
    return any(_is_off(made, one, by) for one in _given_to_all(place, made, own)) or _freezes_parts(place, model)


def _freezes_parts(place: Place, model: Value) -> bool:
    """Whether the constructor of a model freezes each of the parts that its `forward` runs: `for p in self.features.parameters(): ...`."""
    forward = place.project.method(model.class_, "forward") if model.class_ is not None else None
    if forward is None:
        return False
    calls = [chain(call.func) or [] for call in forward.flow.calls]
    parts = {parts[1] for parts in calls if len(parts) == 2 and parts[0] == forward.own_name}
    return bool(parts) and all(is_frozen_by(place, model, part) for part in parts)


def is_off_before(place: Place, node: ast.expr, name: str) -> bool:
    """Whether the last that the function says of the gradients of a model in front of a place is that they are off.

    `set_requires_grad(self.netD, False)` of a step that sets them again further on.
    """
    function = place.function
    if not name or not place.project.any_holds(_TAKES_GRAD.pattern):
        return False
    said = place.once(("gradients set", function, name), lambda: sorted(_settings(place, function, name)))
    before = [on for line, on in said if line < node.lineno]
    return bool(before) and not before[-1]


def _settings(place: Place, function: Function, name: str) -> Iterator[tuple[int, bool]]:
    """Where a function sets whether the parameters of a model have gradients, by line, and to what."""
    for call in function.flow.calls:
        if _SETS_BY_CALL.search(last(call.func)):
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            said = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, bool)]
            owner = getattr(call.func, "value", call.func)
            if len(said) == 1 and any(last(part) == name for one in (owner, *given) for part in elements(one)):
                yield call.lineno, said[0]
    for loop, set_to in _set_by_loops(place, function, name):
        if isinstance(set_to, ast.Constant):
            yield loop.lineno, bool(set_to.value)


def _set_by_loops(place: Place, function: Function, name: str) -> Iterator[tuple[Loop, ast.expr | None]]:
    """The loops of a function over the parameters of a model of that name, each with what it sets their `requires_grad` to."""
    for loop in function.own_loops:
        over = chain(loop.iter.func) if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else None
        if over is not None and over[-2:] == [name, "parameters"]:
            yield loop, _given_all(place, function, loop, over[:-1])


def is_made_frozen(place: Place, model: ast.expr) -> bool:
    """Whether all calls that make a model freeze it: `create_model(ema=True)`, which detaches the parameters where `ema` is given."""
    return bool(place.project.any_holds(_TAKES_GRAD.pattern)) and _makes_frozen(place, place.function, model, _DEPTH)


def _makes_frozen(place: Place, function: Function, model: ast.expr, depth: int) -> bool:
    """Whether an expression of a function is a model that was made frozen, by whatever way it came."""
    if isinstance(model, ast.Call):
        targets = place.project.targets(function, model)
        return len(targets) == 1 and _gives_frozen(place, targets[0], model)
    if depth == 0:
        return False
    stores = stores_of(function, model)
    scope = scope_of(function, model.id) if isinstance(model, ast.Name) else function
    if not stores and isinstance(model, ast.Name) and model.id in scope.positions:
        return _are_given_frozen(place, scope, model.id, depth - 1)
    made = [(one, given_to_target(one.flow, store)) for one, store in stores]
    first = [(one, given) for one, given in made if not _passes_on(given, model)]
    return bool(first) and all(
        given is not None and _makes_frozen(place, one, given, depth - 1) for one, given in first
    )


def _are_given_frozen(place: Place, function: Function, name: str, depth: int) -> bool:
    """Whether all calls of a function give a parameter a model that was made frozen."""
    sites = place.project.call_sites(function, _MOST) or ()
    handed = [(one.function, function.argument(one.call, name)) for one in sites]
    return bool(handed) and all(
        given is not None and _makes_frozen(place, caller, given, depth) for caller, given in handed
    )


def _passes_on(given: ast.expr | None, model: ast.expr) -> bool:
    """`teacher.cuda()`, `DataParallel(teacher)` of a model that is kept as `teacher`."""
    if not isinstance(given, ast.Call):
        return False
    owner = given.func.value if isinstance(given.func, ast.Attribute) else None
    return chain(model) in [chain(one) for one in (owner, *given.args[:1]) if one is not None]


def _gives_frozen(place: Place, maker: Function, call: ast.Call) -> bool:
    """Whether a function freezes all parameters of what it returns, where conditions ask for what the call gives."""

    def says(part: ast.expr) -> bool | None:
        if not isinstance(part, ast.Name) or part.id not in maker.positions or part.id in maker.flow.stores:
            return None
        given = maker.argument(call, part.id) or maker.defaults.get(part.id)
        return bool(given.value) if isinstance(given, ast.Constant) else None

    returned = {root_of(one) for one in maker.flow.returned}
    names = {node.id if node is not None else "" for node in returned}
    if len(names) != 1:
        return False
    if _freezes_what_it_makes(maker, *names):
        return True
    return any(
        is_constant(_given_all(place, maker, loop, [*names]), False)
        and all(
            any(truth(guard.test, says) is guard.true for guard in readings) for readings in maker.flow.readings(loop)
        )
        for loop in maker.own_loops
    )


def _freezes_what_it_makes(maker: Function, name: str) -> bool:
    """Whether each statement that gives a function's result its name stands beside `model.to(device).requires_grad_(False)`."""
    flow = maker.flow
    told = flow.calls_named("requires_grad_")
    if maker.says(_THAWS) or not all(call.args and is_constant(call.args[0], False) for call in told):
        return False
    calls = [call for call in told if _is_of(call, name)]
    made = [flow.statement(store) for store in flow.stores.get(name, ())]
    beside = [flow.block(flow.statement(call)) for call in calls]
    return bool(calls) and bool(made) and all(flow.block(statement) in beside for statement in made)


def _is_of(call: ast.Call, name: str) -> bool:
    """Whether a method is called of all of what has a name, or of what is given it: `net.eval().requires_grad_(False)`; `net.encoder` is a part."""
    match made_first(call):
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found))):
            return found == name
    return False


def _given_to_all(place: Place, function: Function, own: list[str]) -> Iterator[ast.expr]:
    """What a function sets `requires_grad` of all parameters of an object to."""
    for call in function.flow.calls_named("requires_grad_"):
        if (chain(call.func) or [])[:-1] == own and call.args:
            yield call.args[0]
    yield from filter(None, (_given_all(place, function, loop, own) for loop in function.own_loops))


def _given_all(place: Place, function: Function, loop: Loop, own: list[str]) -> ast.expr | None:
    """What a loop over all parameters of an object sets `requires_grad` of each to; False where it detaches each in place."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not isinstance(loop.target, ast.Name):
        return None
    if chain(loop.iter.func) != [*own, "parameters"]:
        return None
    return _given_one(loop.body, loop.target.id) or _given_by_call(place, function, loop.body, loop.target.id)


def _given_one(block: list[ast.stmt], name: str) -> ast.expr | None:
    """What statements set `requires_grad` of a parameter to; False where they detach it in place."""
    for one in block:
        if isinstance(one, ast.Assign) and chain(one.targets[0]) == [name, "requires_grad"]:
            return one.value
        call = one.value if isinstance(one, ast.Expr) else None
        if isinstance(call, ast.Call) and chain(call.func) == [name, "requires_grad_"] and call.args:
            return call.args[0]
        if isinstance(call, ast.Call) and chain(call.func) == [name, "detach_"]:
            return _FALSE
    return None


def _given_by_call(place: Place, function: Function, block: list[ast.stmt], name: str) -> ast.expr | None:
    """What a function that statements give a parameter sets its `requires_grad` to: `freeze_parameter(p)`, `set_grad(p, False)`."""
    calls = (one.value for one in block if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))
    for call in calls:
        given = next((one for one in given_to(call) if chain(one) == [name]), None)
        for target in place.project.targets(function, call) if given is not None else ():
            taken = target.parameter_given(call, given)
            found = _given_one(target.node.body, taken) if taken is not None else None
            if found is not None:
                return _of_caller(target, call, found)
    return None


def _of_caller(target: Function, call: ast.Call, node: ast.expr) -> ast.expr:
    """What a parameter is in a call that gives it, or by default; any other expression itself."""
    if not isinstance(node, ast.Name) or node.id not in target.positions or node.id in target.flow.stores:
        return node
    return target.argument(call, node.id) or target.defaults.get(node.id, node)


def _hands_to_freeze(place: Place, function: Function, name: str) -> bool:
    for loop, given in _set_by_loops(place, function, name):
        if is_constant(given, False) and next(function.flow.guards(loop), None) is None:
            return True
    told = [
        found
        for call in function.flow.calls
        for model in given_to(call)
        if (chain(model) or [""])[-1] == name
        for target in place.project.targets(function, call)
        if (taken := target.parameter_given(call, model)) is not None
        for found in _given_whatever_holds(place, target, call, taken)
    ]
    return bool(told) and all(is_constant(one, False) for one in told)


def _given_whatever_holds(place: Place, target: Function, call: ast.Call, taken: str) -> Iterator[ast.expr]:
    """What a call has a function set `requires_grad` of all parameters of a model to, that it is given by a name."""
    flow = target.flow
    for one in target.own_loops:
        given = _given_all(place, target, one, [taken])
        if given is not None and next(flow.guards(one), None) is None:
            yield _of_caller(target, call, given)
    for told in flow.calls_named("requires_grad_"):
        if chain(told.func) == [taken, "requires_grad_"] and told.args and next(flow.guards(told), None) is None:
            yield _of_caller(target, call, told.args[0])


def _is_off(made: Function, given: ast.expr, by: ast.Call | None) -> bool:
    """Whether what a constructor gives is False, or its parameter that is False in the call by which it is made."""
    if isinstance(given, ast.Name):
        said = made.argument(by, given.id) if by is not None else None
        given = said or made.defaults.get(given.id, given)
    return is_constant(given, False)


def _freezes(text: str, name: str) -> bool:
    """`for p in net.parameters(): p.requires_grad = False`, `freeze(net)`, `net.freeze()`, `set_requires_grad(net, False)` that no call takes back."""
    name = re.escape(name)
    frozen = re.compile(
        rf"\b{name}\b[^\n]*{_SETS}|for [^\n]*\b{name}\b[^\n]*:\s*[^\n]*{_SETS}"
        rf"|\b(?:de|dis|un|no|turn_off|freeze)\w*requires_grad\w*\([^\n]*\b{name}\b"
    )
    given = re.compile(rf"requires_grad\w*\((?=[^\n]*\b{name}\b)[^\n]*\b(True|False)\b")
    if re.search(rf"\b{_ALL}[^\n]*\b{name}\b|\b{name}\.{_ALL}", text) and not re.search(rf"\b{name}\.un_?freeze", text):
        return True
    detached = re.compile(
        rf"^[ \t]*for (\w+) in [^\n]*\b{name}\.(?:module\.)?parameters\(\):\s*\1\.detach_\(", re.MULTILINE
    )
    if any(not _is_behind_test(text, match.start()) for match in detached.finditer(text)):
        return True
    lines = list(_around_grad(text))
    told = {match[1] for line in lines for match in given.finditer(line)}
    return told == {"False"} or any(map(frozen.search, lines))


def _is_behind_test(text: str, at: int) -> bool:
    """Whether the line above a place is a condition."""
    return text[:at].rstrip().rpartition("\n")[2].lstrip().startswith(("if ", "elif ", "else:"))


def _around_grad(text: str) -> Iterator[str]:
    """The lines that hold `requires_grad`, each with what stands above it: the head of a loop may."""
    at = text.find("requires_grad")
    while at >= 0:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        above = text.rfind("\n", 0, at) + 1
        while above > 0:
            below, above = above, text.rfind("\n", 0, above - 1) + 1
            if text[above:below].strip():
                break
        yield text[above:end]
        at = text.find("requires_grad", end)
