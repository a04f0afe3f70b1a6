from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import backward_passes, common_names, graph_liveness, names, training
from torchlint.facts.flow import Loop, contains
from torchlint.facts.nodes import root_of
from torchlint.facts.told import Kept
from torchlint.rule import Finding, Site, chain, rule


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
    that very `loss`, or of a loss of the model's output that is collected, where `total` or `losses` outlives the step;
    a loss that a function gives after it has run the backward pass itself counts as well: `loss = agent.learn(batch)`.
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
        if not isinstance(node, ast.Name) or not graph_liveness.reaches(site, node, stored):
            continue
        if backward_passes.is_used_up(site, node, loop) and not graph_liveness.is_cut(site, node.id, loop):
            return node.id
    return ""


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
    return bool(common_names.OPTIMIZER_NAME.search(names.last(stepped)))


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
    return root.id in training.backward_sources(site)
