from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import (
    backward_passes,
    beside_training,
    common_names,
    frequency,
    graph_liveness,
    kept_by_objects,
    longer,
    names,
    syntax,
    trainable,
    training,
)
from torchlint.facts.flow import Loop, contains
from torchlint.facts.frozen import freezes_itself, is_frozen
from torchlint.facts.nodes import root_of
from torchlint.facts.place import StepLoop
from torchlint.facts.told import Kept
from torchlint.rule import Finding, Site, chain, rule

_SUMS = (
    "$holder + $stored",
    "$stored + $holder",
    "$share * $holder + $stored",
    "$holder * $share + $stored",
    "$stored + $share * $holder",
    "$stored + $holder * $share",
)
"""Sums and moving averages: what they were is a part of what they become."""
_BY_KEY = tuple(
    f"$holder = {{$key: {one.replace('$holder', old)} for $each in $over}}"
    for old in ("$holder[$key]", "$holder.get($key, ...)")
    for one in _SUMS
)
"""The same of all that a dictionary holds, which is made anew of what it was."""
_OF_ENTRY = tuple(f"$holder[$key] = {one.replace('$holder', '$holder.get($key, ...)')}" for one in _SUMS)
"""The same of one entry of it, that may be new."""
_METERS = tuple(f"$holder.{name}($stored, ...)" for name in "update add push record track log store put".split())
"""How objects of the project are given what they add up: `meter.update(loss, len(x))`, `history.add("loss", loss)`."""


@rule(
    "TL502",
    shape=[
        "$holder += $stored",
        *(f"$holder = {first}{more}" for first in ("", "$first if $test else ") for more in _SUMS),
        *(f"$holder = {more} if $test else $first" for more in _SUMS),
        *_BY_KEY,
        *_OF_ENTRY,
        "$holder.append($stored)",
        *_METERS,
    ],
    scope="hot",
    fix="unsafe",
    numbers="exact",
    impact="high",
    category="memory",
)
def graph_kept_alive(site: Site) -> Iterator[Finding]:
    """A loss is added up or collected across steps together with its graph.

    ## What it does

    Finds `total += loss`, `total = total + loss`, `mean = 0.9 * mean + 0.1 * loss` and `losses.append(loss)` in a step loop
    that runs the backward pass of that very `loss`, or of a loss of the model's output that is collected, where `total`,
    `mean` or `losses` outlives the step; a loss that a function gives after it has run the backward pass itself counts as
    well: `loss = agent.learn(batch)`, `losses.append(agent.learn(batch))`. So does what a method that a step calls adds to
    its object, `self.total += loss`, or to what the loop gives it and keeps, `total = step(x, total)`, `step(x, losses)`,
    and what an object of the project adds up without to cut it off: `meter.update(loss)`.
    What is kept may have a key (`totals[key] += term` for the terms of `sum(terms.values())`, `self.parts["kl"].append(kl)`,
    `totals = {key: totals[key] + term for key, term in terms.items()}`, `totals[key] = totals.get(key, 0.0) + term`),
    and the backward pass may be run by who gets the loss: the callers of a `forward` or another method, or the Trainer of
    transformers. The graph of such a loss is used up: what is kept of it serves nobody. Nor does what is made of the
    same output beside it, `dices.append(dice(out, y))`, nor what a `forward` adds to its
    module, where nothing takes it away and nobody trains on it. In a loop that evaluates a model with autograd on the same
    counts of what nobody trains on, there or in the callers: `total += criterion(model(x), y)`, `print(total.item())`.

    ## Why is this slow?

    A tensor with history refers to the nodes of its graph and all they hold. Each step adds one more: memory grows
    until the program runs out of it, and the sum itself becomes a longer and longer graph.

    ## When it does not matter

    In a loop of a few steps. Sums that are back-propagated themselves are not reported, nor are those that start anew
    with each step of the optimizer, nor tests.

    ## Bad

    ```python
    total = 0.0
    for x, y in batches:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss  # TL502
    ```

    ## Good

    ```python
    total = 0.0
    for x, y in batches:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.detach()  # ok
    ```

    ## Fix safety

    Adds `.detach()` to what is kept, in a tuple or list to the tensors in it: the values are the same, without history.
    Unsafe: code that asks for `requires_grad` or prints `grad_fn`, or runs a backward pass on it in another program, sees
    the difference. Nothing is offered where the project runs one, or collects in a class of its own.

    ## References

    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """
    hot = site.hot
    if hot is None:
        yield from _of_batches(site)
        return
    if site.grad_off or site.role == "test":
        return
    holder, stored = kept_by_objects.container(site.part("holder")), site.part("stored")
    if site.pattern in _METERS and isinstance(stored, ast.Constant) and len(site.call.args) > 1:  # its name comes first
        stored = site.call.args[1]
    if isinstance(site.target, ast.Assign) and chain(holder) is None and not isinstance(holder, ast.Subscript):
        return
    loop = hot.loop if hot.function is site.function else None
    given = holder.id if isinstance(holder, ast.Name) and holder.id in site.function.positions and not loop else None
    if loop is None and given is None and kept_by_objects.attribute_of(site.function, holder) is None:
        return
    loss = _history(site, stored, loop)
    if loss is None or (site.pattern in _METERS and not kept_by_objects.keeps_given(site, site.call, stored, hot)):
        return
    outlives = _is_kept_by_caller(site, given, hot) if given is not None else _outlives(site, holder, loop)
    if outlives and not _differentiated(site, holder):
        yield site.finding(
            f"`{site.short(holder)}` keeps the graph of `{site.short(loss)}` of every step alive",
            at=stored,
            related=site.why_hot(),
            told=Kept(ast.unparse(loss)),
        )


def _of_batches(site: Site) -> Iterator[Finding]:
    """What an evaluation adds up, or collects, of a model that it runs with autograd on, and only reads later: `total += criterion(model(x), y)`."""
    holder, stored = site.part("holder"), site.part("stored")
    if site.loop() is None or site.pattern in _METERS or not isinstance(holder, ast.Name) or site.in_forward:
        return
    # Whether a loop evaluates, and with autograd on, takes longest to tell: it is asked of what carries a graph alone.
    loss = _carrying(site, stored)
    if loss is None or training.asks(site.function) or (loop := site.warm) is None:
        return
    if not _outlives(site, holder, loop) or site.grad_off or site.role == "test":
        return
    if frequency.in_forward(site):
        return  # the backward pass behind it wants the graph of each
    if not any(_records(site, loop, call) for call in trainable.sources(site, loss)):
        return
    if graph_liveness.is_dead(site, stored) or beside_training.is_unused(site, stored, site.function.node.body):
        yield site.finding(
            f"`{site.short(holder)}` keeps the graph of `{site.short(loss)}` of every batch alive",
            at=stored,
            related=site.why_hot(),
            told=Kept(ast.unparse(loss)),
        )


def _carrying(site: Site, stored: ast.expr) -> ast.expr | None:
    """The part of an expression that has a graph, with which the whole goes on."""
    parts = (node for node in ast.walk(stored) if isinstance(node, ast.Name | ast.Call) and site.value(node).grad)
    return next((node for node in parts if graph_liveness.reaches(site, node, stored)), None)


def _records(site: Site, loop: Loop, call: ast.Call) -> bool:
    """Whether a loop runs a model that has something to train with autograd on."""
    if not contains(loop, call) or site.analysis.context.off_where_called(site.function, call):
        return False
    model = trainable.model_of(call)
    return not (is_frozen(site, (chain(model) or ["?"])[-1]) or freezes_itself(site, site.value(model)))


def _history(site: Site, stored: ast.expr, loop: Loop | None) -> ast.expr | None:
    """The loss in the expression whose backward pass the loop, or the method, runs, where the expression still carries its graph.

    It has a name, or is what a call gives that has run the backward pass.
    """
    for node in ast.walk(stored):
        if isinstance(node, ast.Call):
            if _is_used_up(site, node, stored) or _is_made_beside(site, node, stored, loop):
                return node
        elif isinstance(node, ast.Name | ast.Subscript | ast.Attribute) and graph_liveness.goes_on(site, node, stored):
            # What a backward pass was run of the sum of is a tensor, of whatever a model gives.
            if loop is not None and backward_passes.is_of_sum(site, node, loop):
                return node
            if isinstance(node, ast.Name) and site.value(node).proven and _is_of_loss(site, node, loop):
                return node
    return None


def _is_of_loss(site: Site, name: ast.Name, loop: Loop | None) -> bool:
    """Whether the loop, or the method, runs the backward pass of what a name has a share in, or a forward has made it by its layers."""
    if graph_liveness.is_cut(site, name.id, loop):
        return False
    by_layers = loop is None and site.in_forward and site.value(name).grad and bool(trainable.sources(site, name))
    return by_layers or (backward_passes.is_used_up(site, name, loop) and not _runs_elsewhere(site))


def _runs_elsewhere(site: Site) -> bool:
    """Whether all backward passes beside it are run on another way: `if more: part.backward()`, `else: total += part`."""
    passes = site.flow.calls_named("backward")
    return bool(passes) and all(syntax.exclusive(site.flow, one, site.target) for one in passes)


def _is_used_up(site: Site, call: ast.Call, stored: ast.expr) -> bool:
    """Whether a call gives a loss whose backward pass it has run, with whose graph the expression goes on."""
    return backward_passes.gives_used_up(site, call) and graph_liveness.reaches(site, call, stored)


def _is_made_beside(site: Site, call: ast.Call, stored: ast.expr, loop: Loop | None) -> bool:
    """Whether a call makes something of an output that the loop trains on, with whose graph the expression goes on: `dice(out, y)`."""
    return (
        loop is not None
        and backward_passes.is_made_beside(site, call, loop)
        and graph_liveness.reaches(site, call, stored)
    )


def _outlives(site: Site, holder: ast.expr, loop: Loop | None) -> bool:
    """Whether what holds the value was there before the step and is there after it."""
    if kept_by_objects.keeps_last(site, holder):
        return False
    if loop is None:
        attribute = kept_by_objects.attribute_of(site.function, holder)
        own_list = not isinstance(site.target, ast.Call) or _is_list(site)
        if attribute is None or site.hot is None or not (own_list or site.pattern in _METERS):
            return False
        return kept_by_objects.outlives_steps(site, attribute.attr, site.hot, of_any_kind=site.pattern in _METERS)
    root, parts = root_of(holder), chain(holder)
    if root is None:
        return False
    # Who sets `self.total` anew does so as well as who sets `self`.
    name = ".".join(parts) if parts is not None else root.id
    for store in (*site.flow.stores.get(root.id, ()), *(site.flow.targets.get(name, ()) if name != root.id else ())):
        statement = site.flow.statement(store)
        if not contains(loop, store):
            continue
        if statement is site.statement or _adds_to(statement, name):
            continue
        if (
            site.flow.loops(store)[:1] == [loop]
            and site.guarded(store, loop) == "throttled"
            and not _at_update(site, store, loop)
        ):
            continue  # `if step % 100 == 0: total = 0.0`
        return False
    return True


def _is_kept_by_caller(site: Site, name: str, hot: StepLoop) -> bool:
    """Whether a step loop calls the function with what it keeps, to add to that: `total = step(x, total)`, `step(x, losses)`."""
    function, loop = site.function, hot.loop
    others = (site.flow.statement(store) for store in site.flow.stores.get(name, ()))
    if loop is None or not all(one is site.statement or _adds_to(one, name) for one in others):
        return False
    calls = [one.call for one in site.callers(function) if one.function is hot.function]
    return any(loop in hot.function.flow.loops(one) and _is_kept_there(site, name, hot, one) for one in calls)


def _is_kept_there(site: Site, name: str, hot: StepLoop, call: ast.Call) -> bool:
    """Whether what a call gives for a parameter is there before the step and after it, and nobody trains on it."""
    function, there = site.function, site.at(hot.function, call)
    given = function.argument(call, name)
    if not isinstance(given, ast.Name) or not _outlives(there, given, hot.loop):
        return False
    position = longer.given_back_at(function, name)
    in_place = isinstance(site.target, ast.Call)
    if not in_place and not longer.grows_there(function, hot.function, call, name, position):
        return False
    reads = (read for read in there.flow.loads[given.id] if not contains(call, read))
    return not training.starts_backward(there, hot.function, [call, *reads], depth=0)


def _is_list(site: Site) -> bool:
    """Whether something is appended to a list: of what is kept by a key, `self.parts["kl"]`, what the attribute is made by tells."""
    holder = site.part("holder")
    return site.value(holder).kind == "list" or not isinstance(holder, ast.Attribute)


def _at_update(site: Site, store: ast.AST, loop: Loop) -> bool:
    """Whether the optimizer steps in the block of the place: then the sum is one over the micro-steps of an update."""
    blocks = [guard.block for guard in site.flow.guards(store, loop) if guard.block is not None]
    return any(_is_update(node) for block in blocks for statement in block for node in ast.walk(statement))


def _is_update(node: ast.AST) -> bool:
    """`optimizer.step()`, `scaler.step(optimizer)`"""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"):
        return False
    stepped = node.args[0] if node.args else node.func.value
    return bool(common_names.OPTIMIZER_NAME.search(names.last(stepped)))


def _adds_to(statement: ast.stmt, name: str) -> bool:
    """`total += ...`, `total = total + ...`, `mean = 0.9 * mean + ...`"""
    if isinstance(statement, ast.AugAssign):
        return True
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.BinOp) and name in backward_passes.terms_of(value)


def _differentiated(site: Site, holder: ast.expr) -> bool:
    """Whether the function runs a backward pass on what it holds, or hands it to something that might."""
    holder = kept_by_objects.attribute_of(site.function, holder) or holder
    root = root_of(holder)
    assert root is not None
    if root.id == "self":
        if not isinstance(holder, ast.Attribute):
            return False
        if f"{site.text(holder)}.backward".encode() in site.source.data:
            return True
        if not training.trains(site.function):  # the backward pass runs elsewhere
            return kept_by_objects.is_trained_on(site, holder.attr)
        reads = [
            node for node in site.flow.nodes if isinstance(node, ast.Attribute) and _is_other_read(site, node, holder)
        ]
        return bool(reads) and training.starts_backward(site, site.function, reads, depth=0)
    return root.id in training.backward_sources(site)


def _is_other_read(site: Site, node: ast.Attribute, holder: ast.Attribute) -> bool:
    """Whether an attribute is the one that holds the values, read by another statement."""
    if node.attr != holder.attr or not isinstance(node.ctx, ast.Load) or chain(node) != chain(holder):
        return False
    return not contains(site.statement, node)
