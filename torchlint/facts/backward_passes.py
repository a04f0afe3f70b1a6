"""The losses whose backward passes a loop runs, and what they are calculated from."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from . import training
from .bindings import Iterated, Part
from .common_names import LOSS_NAME
from .derived import Derived
from .flow import Loop, contains
from .module import Function
from .names import chain, last
from .nodes import given_to, is_constant
from .place import Place
from .torch_table import TAKES_LOSS
from .uses import values_of


def is_used_up(place: Place, name: ast.Name, loop: Loop | None) -> bool:
    """Whether the loop runs the backward pass of a name itself, or of a loss of the model's output that it holds: its graph is gone then.

    Without a loop it is the place's function that does.
    """
    where = loop or place.function
    losses = place.once(("backward passes", where), lambda: _losses(place, loop))
    if name.id in losses:
        return True
    given, terms = place.once(("made a loss", where), lambda: _made_of(place, loop, losses))
    if name.id in terms and LOSS_NAME.search(name.id) and not _is_without_graph(place, name.id):
        return True
    if not place.value(name).grad or not (name.id in given | terms or is_made_beside(place, name, loop)):
        return False
    return _may_have_graph(place, name, set())


def is_made_beside(place: Place, node: ast.Name | ast.Call, loop: Loop | None) -> bool:
    """Whether something is made of the output that a loss of the loop is calculated from: `dice(out, y)` beside `criterion(out, y)`."""
    return place.value(node).grad and place.once(("beside", loop), lambda: _beside(place, loop)).holds(node)


def _beside(place: Place, loop: Loop | None) -> Derived:
    """What a loop makes of the arguments of its losses."""
    losses = place.once(("backward passes", loop), lambda: _losses(place, loop)) if loop is not None else ()
    given = _given_to_losses(place, loop, losses) if losses else ()
    reads = (read for name in given for read in place.flow.loads.get(name, ()))
    return Derived(place.flow, [read for read in reads if place.value(read).grad])


def is_of_sum(place: Place, part: ast.Name | ast.Subscript | ast.Attribute, loop: Loop) -> bool:
    """Whether something is read from a dictionary whose values a loop sums up to run the backward pass of the sum: `terms["kl"]`, `term` of `for key, term in terms.items()`.

    Or is itself a field of an output that it runs the backward pass of: `out.loss`.
    """
    summed = place.once(("summed by key", loop), lambda: frozenset(_summed(place, loop)))
    if not summed or not place.value(part).grad:
        return False
    if isinstance(part, ast.Attribute):
        return ast.unparse(part) in summed
    held = part.value if isinstance(part, ast.Subscript) else gone_through(place, part)
    return isinstance(held, ast.Name) and held.id in summed


def gone_through(place: Place, name: ast.Name) -> ast.expr | None:
    """The dictionary whose values a loop or a comprehension binds a name to: `terms` of `for key, term in terms.items()`."""
    bound = place.function.bindings.reach.get(name)
    of_pair = isinstance(bound, Part) and bound.at == 1
    each = bound.whole if isinstance(bound, Part) else bound
    match each.node if isinstance(each, Iterated) else None:
        case ast.Call(func=ast.Attribute(attr=attr, value=held)) if attr == ("items" if of_pair else "values"):
            return held if of_pair or each is bound else None
    return None


def _summed(place: Place, loop: Loop) -> Iterator[str]:
    """The dictionaries whose values the losses of a loop are sums of: `terms["rec"] + 0.1 * terms["kl"]`, `sum(terms.values())`."""
    calls = [call for call in place.flow.calls_within(loop) if contains(loop, call)]
    if any(map(_keeps_graph, calls)):
        return
    for call in calls:
        for loss in _asked_back(call):
            yield from _summed_in(place, loss)
    for name in place.once(("backward passes", loop), lambda: _losses(place, loop)):
        for store in place.flow.stores.get(name, ()):
            statement = place.flow.statement(store)
            if contains(loop, store) and isinstance(statement, ast.Assign | ast.AugAssign):
                yield from _summed_in(place, statement.value)


def _summed_in(place: Place, node: ast.expr) -> Iterator[str]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from _summed_in(place, left)
            yield from _summed_in(place, right)
        case ast.Subscript(value=ast.Name(id=held)):
            yield held
        case ast.Attribute(value=ast.Name(id=held), attr=field):
            yield f"{held}.{field}"
        case ast.Call(
            func=ast.Name(id="sum"), args=[ast.Call(func=ast.Attribute(attr="values", value=ast.Name(id=held)))]
        ):
            yield held
        case ast.Call(
            func=ast.Name(id="sum"),
            args=[ast.GeneratorExp(elt=term, generators=[each]) | ast.ListComp(elt=term, generators=[each])],
        ) if not each.ifs:
            through = (gone_through(place, part) for part in ast.walk(term) if isinstance(part, ast.Name))
            yield from (held.id for held in through if isinstance(held, ast.Name))


def _is_without_graph(place: Place, name: str) -> bool:
    """Whether anything that the name is given is made with autograd off."""
    grad_off = place.analysis.context.grad_off
    return any(grad_off(place.function, store) for store in place.flow.stores.get(name, ()))


def _may_have_graph(place: Place, node: ast.expr, seen: set[ast.expr]) -> bool:
    """Whether autograd is on where something with a graph is made, or added: not so of `with torch.no_grad(): total += loss`."""
    if node in seen:
        return False
    seen.add(node)
    if isinstance(node, ast.BinOp | ast.Tuple):
        parts = node.elts if isinstance(node, ast.Tuple) else (node.left, node.right)
        return any(_may_have_graph(place, part, seen) for part in parts)
    made = values_of(place.function, node) if isinstance(node, ast.Name) else None
    if not made:
        value = place.value(node)
        return value.grad or value.kind not in ("tensor", "number")
    grad_off = place.analysis.context.grad_off
    return any(_may_have_graph(place, one, seen) for one in made if not grad_off(place.function, one))


def _made_of(place: Place, loop: Loop | None, losses: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the losses of a loop are calculated from: in one call, as terms of a sum; and what a call gives beside them."""
    given: set[str] = set()
    terms: set[str] = set()
    for loss in losses:
        for store in place.flow.stores.get(loss, ()):
            statement = place.flow.statement(store)
            if (loop is not None and not contains(loop, store)) or not isinstance(statement, ast.Assign):
                continue
            target = statement.targets[0]
            if isinstance(target, ast.Tuple) and store in target.elts:
                given.update(one.id for one in target.elts if isinstance(one, ast.Name))
            if isinstance(statement.value, ast.Call):
                given.update(_named(statement.value.args))
            else:
                terms.update(terms_of(statement.value))
    return frozenset(given), frozenset(terms)


def _given_to_losses(place: Place, loop: Loop | None, losses: Collection[str]) -> frozenset[str]:
    """The names that are given to the calls that a loop makes its losses by."""
    made = (place.flow.statement(store) for loss in losses for store in place.flow.stores.get(loss, ()))
    return frozenset(
        name
        for one in made
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and (loop is None or contains(loop, one))
        for name in _named(one.value.args)
    )


def _named(given: Iterable[ast.expr]) -> Iterator[str]:
    return (one.id for one in given if isinstance(one, ast.Name))


def terms_of(node: ast.expr) -> Iterator[str]:
    """The names that arithmetic is made of: `a` and `self.b` of `a + 0.1 * self.b`."""
    if isinstance(node, ast.Name | ast.Attribute):
        name = chain(node)
        if name is not None:
            yield ".".join(name)
    elif isinstance(node, ast.UnaryOp):
        yield from terms_of(node.operand)
    elif isinstance(node, ast.BinOp):
        yield from terms_of(node.left)
        yield from terms_of(node.right)


def _losses(place: Place, loop: Loop | None) -> frozenset[str]:
    """The names whose backward pass a loop, or the function, runs by itself or by a function; none where a graph is kept for another one."""
    calls = place.flow.calls
    if loop is not None:
        calls = [call for call in place.flow.calls_within(loop) if contains(loop, call)]
    if any(map(_keeps_graph, calls)):
        return frozenset()
    passed = (
        name for call in calls for name in (*_passed_back(call), *_handed_over(place, call), *_given_back(place, call))
    )
    return frozenset((*passed, *(_left_to_others(place) if loop is None else ())))


def _left_to_others(place: Place) -> Iterator[str]:
    """The loss that a function gives its trainer or its callers, which run the backward pass: `return loss`, `return {"loss": loss}`."""
    function = place.function
    trainer = _LEAVES.get(function.name) if function.cls is not None else None
    bases = (base for one in place.project.ancestry(function.cls) for base in one.bases) if trainer is not None else ()
    if any(last(base) == trainer for base in bases):
        for given in _returned(function):
            yield from _loss_in(given)
    elif not training.trains(function):
        yield from _left_to_callers(place)


def _left_to_callers(place: Place) -> Iterator[str]:
    """The names of what a function gives its callers, which run the backward pass, and of the terms of it: `total` and `part` of `total = total + part`."""
    function = place.function
    sites = [
        site
        for site in place.analysis.context.calls(function)
        if training.starts_backward(place, site.function, [site.call])
    ]
    if not sites:
        return
    with_graph = [
        read
        for name in function.positions
        if _is_given_graph(place, sites, name)
        for read in place.flow.loads.get(name, ())
    ]
    made = Derived(place.flow, with_graph)
    for given in filter(None, _returned(function)):
        named = list(terms_of(given))
        for name in {*named, *(term for one in named for term in _terms_of_name(place, one))}:
            if any(place.value(read).grad or made.holds(read) for read in place.flow.loads.get(name, ())):
                yield name


def _is_given_graph(place: Place, sites: list[Any], name: str) -> bool:
    """Whether all calls of the place's function give a parameter a tensor with its graph."""
    given = [place.function.argument(site.call, name) for site in sites]
    return all(
        one is not None and place.project.value(site.function, one).grad for site, one in zip(sites, given, strict=True)
    )


def _terms_of_name(place: Place, name: str) -> Iterator[str]:
    """The names in the arithmetic by which a name is assigned."""
    for store in place.flow.stores.get(name, ()):
        statement = place.flow.statement(store)
        if isinstance(statement, ast.Assign | ast.AugAssign):
            yield from terms_of(statement.value)


_LEAVES = {"training_step": "LightningModule", "compute_loss": "Trainer"}
"""Methods of classes of libraries that leave the backward pass to them: Lightning's, and the Trainer of transformers."""


def _loss_in(given: ast.expr | None) -> Iterator[str]:
    """The name of the loss in what is given to a trainer: `loss`, `{"loss": loss}`, `(loss, outputs) if return_outputs else loss`."""
    match given:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=[first, *_]):
            yield from _loss_in(first)
        case ast.IfExp(body=one, orelse=other):
            yield from _loss_in(one)
            yield from _loss_in(other)
        case ast.Dict(keys=keys, values=values):
            yield from _loss_in(next((v for k, v in zip(keys, values, strict=True) if is_constant(k, "loss")), None))


def _keeps_graph(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and any(
        keyword.arg in ("retain_graph", "create_graph") for keyword in call.keywords
    )


def _passed_back(call: ast.Call) -> Iterator[str]:
    """`loss` of `loss.backward()`, `accelerator.backward(loss)` and `scaler.scale(loss)`."""
    return (loss.id for loss in _asked_back(call) if isinstance(loss, ast.Name))


def _asked_back(call: ast.Call) -> Iterator[ast.expr]:
    """What a call runs the backward pass of, or is given for that: `sum(terms.values())` of `sum(terms.values()).backward()`."""
    if not isinstance(call.func, ast.Attribute):
        return
    if call.func.attr == "backward":
        yield call.func.value
    if call.func.attr in TAKES_LOSS and call.args:
        yield call.args[0]


def _handed_over(place: Place, call: ast.Call) -> Iterator[str]:
    """The names that a call gives to a function of the project which runs their backward pass: `self.train_step(loss)`."""
    if not any(isinstance(given, ast.Name) for given in given_to(call)):
        return
    for target in place.project.targets(place.function, call):
        if any(map(_keeps_graph, target.flow.calls)):
            continue
        for name in {name for inner in target.flow.calls for name in _passed_back(inner)} & target.positions.keys():
            given = target.argument(call, name)
            if isinstance(given, ast.Name):
                yield given.id


def _given_back(place: Place, call: ast.Call) -> Iterator[str]:
    """The names of what a call gives after a function of the project has run its backward pass: `loss = agent.learn(batch)`."""
    made = place.flow.parents.get(call)
    target = made.targets[0] if isinstance(made, ast.Assign) and len(made.targets) == 1 else None
    if not isinstance(target, ast.Name | ast.Tuple):
        return
    for function in place.project.targets(place.function, call):
        passed = _passed_in(function)
        for bound, given in (pair for one in _returned(function) for pair in _pairs(target, one)):
            if given.id in passed and place.project.value(function, given).grad:
                yield bound.id


def gives_used_up(place: Place, call: ast.Call) -> bool:
    """Whether what a call gives is a loss whose backward pass the function has run that it calls: `agent.learn(batch)`."""
    if not place.value(call).is_tensor:
        return False
    return any(
        isinstance(given, ast.Name) and given.id in _passed_in(function) and place.project.value(function, given).grad
        for function in place.project.targets(place.function, call)
        for given in _returned(function)
    )


def _passed_in(function: Function) -> frozenset[str]:
    """The names whose backward pass a function runs; none where a graph is kept for another one."""
    if any(map(_keeps_graph, function.flow.calls)):
        return frozenset()
    return frozenset(name for inner in function.flow.calls for name in _passed_back(inner))


def _returned(function: Function) -> Iterator[ast.expr | None]:
    """What a function gives, one for each `return`."""
    return (node.value for node in function.flow.returns)


def _pairs(target: ast.expr, given: ast.expr | None) -> Iterator[tuple[ast.Name, ast.Name]]:
    """The names that are bound, each with the name of what it is given: of `return a, b` and `x, y = f()`, `x` with `a`."""
    if isinstance(target, ast.Name) and isinstance(given, ast.Name):
        yield target, given
    elif isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple) and len(target.elts) == len(given.elts):
        for bound, one in zip(target.elts, given.elts, strict=True):
            yield from _pairs(bound, one)
