from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import common_names
from torchlint.facts.flow import Loop, contains
from torchlint.facts.nodes import given_to, root_of
from torchlint.facts.told import Kept
from torchlint.rule import Finding, Site, chain, rule

_SINKS = frozenset(("detach", "detach_", "data", "grad"))
_MAY_CARRY = frozenset(("tensor", "unknown", "list", "tuple"))
_BACKWARDS = frozenset(("backward", "manual_backward", "scale", "grad"))


@rule(
    "TL502",
    shape=["$holder += $stored", "$holder = $holder + $stored", "$holder.append($stored)"],
    scope="hot",
    fix="unsafe",
    numbers="exact",
    impact="high",
    category="memory",
)
def graph_kept_alive(site: Site) -> Iterator[Finding]:
    """A loss is added up or collected across steps together with its graph.

    ## What it does

    Finds `total += loss`, `total = total + loss` and `losses.append(loss)` in a step loop that runs the backward pass of
    that very `loss`, or of a loss of the model's output that is collected, where `total` or `losses` outlives the step.
    The graph of such a loss is used up: what is kept of it serves nobody.

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
    if hot is None or hot.loop is None or hot.function is not site.function or site.grad_off or site.role == "test":
        return
    holder, stored = site.part("holder"), site.part("stored")
    if isinstance(site.target, ast.Assign) and chain(holder) is None:
        return
    loss = _history(site, stored, hot.loop)
    if loss and _outlives(site, holder, hot.loop) and not _differentiated(site, holder):
        yield site.finding(
            f"`{site.short(holder)}` keeps the graph of `{loss}` of every step alive",
            at=stored,
            related=site.why_hot(),
            told=Kept(loss),
        )


def _history(site: Site, stored: ast.expr, loop: Loop) -> str:
    """The name in the expression whose backward pass the loop runs, where the expression still carries its graph."""
    for node in ast.walk(stored):
        if not (isinstance(node, ast.Name) and _carries(site, node, stored)):
            continue
        if _used_up(site, node, loop) and not _is_detached(site, node.id, loop):
            return node.id
    return ""


def _used_up(site: Site, name: ast.Name, loop: Loop) -> bool:
    """Whether the loop runs the backward pass of the name itself, or of a loss of the model's output that it holds."""
    if _backward_of(site, name.id, loop):
        return True
    given, terms = site.once(("made a loss", loop), lambda: _made_losses(site, loop))
    if name.id in terms and common_names.LOSS_NAME.search(name.id) and not _without_graph(site, name.id):
        return True
    return site.value(name).grad and name.id in given | terms


def _without_graph(site: Site, name: str) -> bool:
    """Whether anything that the name is given is made with autograd off."""
    return any(site.analysis.context.grad_off(site.function, store) for store in site.flow.stores.get(name, ()))


def _made_losses(site: Site, loop: Loop) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the losses whose backward passes a loop runs are calculated from: in one call, as terms of a sum."""
    given: set[str] = set()
    terms: set[str] = set()
    for loss in _backward_passes(site, loop):
        for store in site.flow.stores.get(loss, ()):
            statement = site.flow.statement(store)
            if not contains(loop, store) or not isinstance(statement, ast.Assign):
                continue
            if isinstance(statement.value, ast.Call):
                given.update(one.id for one in statement.value.args if isinstance(one, ast.Name))
            else:
                terms.update(_terms(statement.value))
    return frozenset(given), frozenset(terms)


def _terms(node: ast.expr) -> Iterator[str]:
    """The names that arithmetic is made of: `a` and `b` of `a + 0.1 * b`."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.UnaryOp):
        yield from _terms(node.operand)
    elif isinstance(node, ast.BinOp):
        yield from _terms(node.left)
        yield from _terms(node.right)


def _carries(site: Site, name: ast.Name, stored: ast.expr) -> bool:
    """Whether the graph gets from the name to the whole expression: arithmetic, functions of torch, methods of tensors."""
    child: ast.AST = name
    while child is not stored:
        parent = site.flow.parents[child]
        if isinstance(parent, ast.Attribute):
            if parent.attr in _SINKS:
                return False
        elif isinstance(parent, ast.Call):
            if child is not parent.func and not (site.resolve(parent.func) or "").startswith("torch."):
                return False
            made = site.value(parent)
            if made.kind not in _MAY_CARRY or made.integer or (made.kind == "tensor" and made.boolean):
                return False  # `loss.item()`, `loss.numel()`, `out.argmax(1)`
        elif not isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List):
            return False
        child = parent
    value = site.value(name)
    return value.kind == "tensor" and value.proven


def _backward_of(site: Site, name: str, loop: Loop) -> bool:
    """Whether the loop runs the backward pass of the name, once: its graph is gone afterwards."""
    return name in site.once(("backward passes", loop), lambda: _backward_passes(site, loop))


def _backward_passes(site: Site, loop: Loop) -> frozenset[str]:
    """The names whose backward pass a loop runs, by itself or by a function; none where a graph is kept for another one."""
    between = site.flow.calls_between(loop.lineno, loop.end_lineno or loop.lineno)
    calls = [call for call in between if contains(loop, call)]
    if any(map(_keeps_graph, calls)):
        return frozenset()
    return frozenset(name for call in calls for name in (*_passed_back(call), *_handed_over(site, call)))


def _keeps_graph(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and any(
        keyword.arg in ("retain_graph", "create_graph") for keyword in call.keywords
    )


def _passed_back(call: ast.Call) -> Iterator[str]:
    """`loss` of `loss.backward()`, `accelerator.backward(loss)` and `scaler.scale(loss)`."""
    if not isinstance(call.func, ast.Attribute):
        return
    if call.func.attr == "backward" and isinstance(call.func.value, ast.Name):
        yield call.func.value.id
    if call.func.attr in ("backward", "manual_backward", "scale") and call.args and isinstance(call.args[0], ast.Name):
        yield call.args[0].id


def _handed_over(site: Site, call: ast.Call) -> Iterator[str]:
    """The names that a call gives to a function of the project which runs their backward pass: `self.train_step(loss)`."""
    if not any(isinstance(given, ast.Name) for given in given_to(call)):
        return
    for target in site.project.targets(site.function, call):
        if any(map(_keeps_graph, target.flow.calls)):
            continue
        for name in {name for inner in target.flow.calls for name in _passed_back(inner)} & target.positions.keys():
            given = target.argument(call, name)
            if isinstance(given, ast.Name):
                yield given.id


def _is_detached(site: Site, name: str, loop: Loop) -> bool:
    return site.once(("detached", name, loop), lambda: _detached(site, name, loop))


def _detached(site: Site, name: str, loop: Loop) -> bool:
    """Whether the name is rebound to something without history on the way."""
    for store in site.flow.stores.get(name, ()):
        statement = site.flow.statement(store)
        value = getattr(statement, "value", None)
        if not contains(loop, store) or not isinstance(value, ast.expr) or isinstance(statement, ast.AugAssign):
            continue
        if isinstance(value, ast.Name) and value.id == name:
            continue  # `loss = loss`
        if isinstance(value, ast.Attribute) and value.attr in _SINKS:
            return True
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SINKS:
            return True
        if isinstance(value, ast.Call) and site.value(value).kind not in _MAY_CARRY:
            return True
        # `loss = reduced(loss)`: what comes back need not have a graph.
        made_of = any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value))
        if made_of and not isinstance(value, ast.BinOp) and not _is_method_of(value, name):
            return True
    return False


def _is_method_of(value: ast.expr, name: str) -> bool:
    func = value.func if isinstance(value, ast.Call) else None
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name


def _outlives(site: Site, holder: ast.expr, loop: Loop) -> bool:
    """Whether what holds the value was there before the step and is there after it."""
    root = root_of(holder)
    if root is None:
        return False
    for store in site.flow.stores.get(root.id, ()):
        statement = site.flow.statement(store)
        if not contains(loop, store) or isinstance(statement, ast.AugAssign) or _adds_to(statement, root.id):
            continue
        if (
            site.flow.loops(store)[:1] == [loop]
            and site.guarded(store, loop) == "throttled"
            and not _at_update(site, store, loop)
        ):
            continue  # `if step % 100 == 0: total = 0.0`
        return False
    return True


def _at_update(site: Site, store: ast.AST, loop: Loop) -> bool:
    """Whether the optimizer steps in the block of the place: then the sum is one over the micro-steps of an update."""
    blocks = [guard.block for guard in site.flow.guards(store, loop) if guard.block is not None]
    return any(_is_update(node) for block in blocks for statement in block for node in ast.walk(statement))


def _is_update(node: ast.AST) -> bool:
    """`optimizer.step()`, `scaler.step(optimizer)`"""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"):
        return False
    stepped = node.args[0] if node.args else node.func.value
    return bool(common_names.OPTIMIZER_NAME.search((chain(stepped) or [""])[-1]))


def _adds_to(statement: ast.stmt, name: str) -> bool:
    """`total = total + ...`"""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and value.left.id == name


def _differentiated(site: Site, holder: ast.expr) -> bool:
    """Whether the function runs a backward pass on what it holds, or hands it to something that might."""
    root = root_of(holder)
    assert root is not None
    if root.id == "self":
        return isinstance(holder, ast.Attribute) and f"{site.text(holder)}.backward".encode() in site.source.data
    for load in site.flow.loads.get(root.id, ()):
        for child, parent in site.flow.upwards(load):
            if isinstance(parent, ast.Attribute) and parent.attr in _BACKWARDS:
                return True
            if isinstance(parent, ast.Call) and child is not parent.func:
                last = (chain(parent.func) or [""])[-1]
                if last in _BACKWARDS:
                    return True
            if isinstance(parent, ast.Assign) and _becomes_loss(site, parent):
                return True
            if isinstance(parent, ast.stmt):
                break
    return False


def _becomes_loss(site: Site, statement: ast.Assign) -> bool:
    """`loss = torch.stack(losses).mean()` and then `loss.backward()`."""
    for target in statement.targets:
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                for load in site.flow.loads.get(name.id, ()):
                    parent = site.flow.parents[load]
                    if isinstance(parent, ast.Attribute) and parent.attr in _BACKWARDS:
                        return True
                    if isinstance(parent, ast.Call) and (chain(parent.func) or [""])[-1] in _BACKWARDS:
                        return True
    return False
