from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import guards, micro_batches, names, syntax, uses
from torchlint.facts.common_names import OPTIMIZER_NAME
from torchlint.facts.flow import Guard, Loop
from torchlint.facts.module import Function
from torchlint.facts.moves import SENDING
from torchlint.facts.nodes import receiver_of
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_WRAPPERS = frozenset(
    (
        "torch.nn.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_shard",
        "torch.distributed._composable.fsdp.fully_shard",
        "mmcv.parallel.MMDistributedDataParallel",
        "mmengine.model.MMDistributedDataParallel",
    )
)
_WRAPS = regex(rb"DistributedDataParallel|FullyShardedDataParallel|fully_shard|\bDDP\b|\bFSDP\b")
_MAKES = regex(rb"_(?:model|net|network)s?\(")
_SWITCHES = rb"no_sync|require_backward_grad_sync|set_requires_gradient_sync|set_is_last_backward|no_backward_sync"
_LEAVES_OUT = regex(_SWITCHES)
_HANDLED = regex(_SWITCHES + rb"|\.accumulate\(|[Aa]ccelerator\b|\bfabric\b|lightning|deepspeed")
_WRAPPER_NAME = regex(
    r"DDP|FSDP|wrap|parallel|distribute|^(?:build|construct|create|get|init|load|make|prepare|setup)_(?:\w+_)?(?:model|net|network)s?$"
)
"""What functions are called that may wrap a model, or make one that is wrapped: `build_model(cfg)`."""
_CALLERS = 16
"""Where more places call something, nobody looks whether one of them leaves exchanges out."""
_ACCUMULATION = regex(r"accum", re.IGNORECASE)


@rule(
    "TL803",
    shape="$x.backward(...)",
    scope="hot",
    impact="high",
    category="distributed",
    principle=("parallelism",),
    depends_on=("TL801",),
)
def grad_accumulation_without_no_sync(site: Site) -> Iterator[Finding]:
    """Gradient accumulation exchanges the gradients on every micro-step.

    ## What it does

    Finds `.backward()` in a loop whose optimizer steps once in several iterations only, or behind a loop over the parts of a batch
    (`for part in x.split(n)`, `x[start : start + n]`), or in a function that a loop calls for each of its iterations, in a file that wraps its model in
    `DistributedDataParallel` or FSDP, by itself or by a function of the project (`build_model(cfg)`), and never says that a backward pass shall not synchronise.
    Where another function or class of the file does, it counts for one that wraps its own model only if that calls it, or is called by it.
    Of `if accumulation_steps > 1: ... else: ...` each branch is looked at by itself.

    ## Why is this slow?

    DDP reduces all gradients over all processes during every backward pass, FSDP scatters them.
    With accumulation over `k` micro-steps only the last exchange is needed; the other `k - 1` cost as much.
    `model.no_sync()` (FSDP2: `model.set_requires_gradient_sync(False)`) leaves them out.

    ## When it does not matter

    Where the exchange hides behind the backward pass.
    FSDP under `no_sync` keeps unsharded gradients: who is short of memory may want the exchange.

    ## Bad

    ```python
    model = torch.nn.parallel.DistributedDataParallel(model)
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / 4
        loss.backward()  # TL803
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## Good

    ```python
    model = torch.nn.parallel.DistributedDataParallel(model)
    for i, (x, y) in enumerate(loader):
        last = (i + 1) % 4 == 0
        with contextlib.nullcontext() if last else model.no_sync():
            loss = criterion(model(x), y) / 4
            loss.backward()  # ok
        if last:
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.no_sync
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    if site.hot is None or not _wraps(site):
        return
    loops = site.flow.loops(site.target)
    if not loops and not _is_whole_turn(site):
        return
    loop, steps = next(iter(loops), None), _steps_near(site, loops)
    thinned = steps and all(_thinned(site, step, loop) for step in steps) and not _zeroed_each_time(site, loop)
    if not thinned or all(_trains_unwrapped(site, step) for step in steps):
        return
    if not _left_out(site) and (not site.source.holds(_HANDLED) or _is_apart(site)):
        yield site.finding(
            f"`{site.short()}` exchanges the gradients of all processes on every micro-step, though the optimizer steps "
            "once in several; put the others under `no_sync()`",
            related=(site.related(site.function, steps[0], "the optimizer steps here"),),
        )


def _trains_unwrapped(site: Site, step: ast.Call) -> bool:
    """Whether an optimizer has the parameters of a layer of torch alone that its function makes, and neither wraps nor hands on."""
    flow, made = site.flow, site.value(step.args[0] if step.args else receiver_of(step)).made_by
    match made:
        case ast.Call(args=[ast.Call(func=ast.Attribute(value=ast.Name() as model, attr="parameters")), *_]):
            pass
        case _:
            return False
    if made not in flow.parents or not _is_layer(site, uses.assigned(site.function, model)):
        return False
    once = len(flow.stores.get(model.id, ())) == 1
    return once and all(_is_asked(flow.parents[load], load) for load in flow.loads.get(model.id, ()))


def _is_layer(site: Site, given: ast.expr | None) -> bool:
    """`nn.Linear(8, 2).cuda()`"""
    while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in SENDING:
        given = given.func.value
    made = site.resolve(given.func) if isinstance(given, ast.Call) else None
    return made is not None and made.startswith("torch.nn.") and made not in _WRAPPERS


def _is_asked(parent: ast.AST, load: ast.expr) -> bool:
    """`head(x)`, `head.weight`, `return head`"""
    return isinstance(parent, ast.Attribute | ast.Return) or (isinstance(parent, ast.Call) and parent.func is load)


def _is_whole_turn(site: Site) -> bool:
    """Whether a loop elsewhere calls the function on its iterations, and no caller leaves exchanges out."""
    sites = site.project.call_sites(site.function, _CALLERS) or ()
    looped = any(one.function.flow.loops(one.call) for one in sites)
    return looped and not any(_switches(one.function, one.call) for one in sites)


def _steps_near(site: Site, loops: list[Loop]) -> list[ast.Call]:
    """The steps of optimizers in the outermost loop around the backward pass, or else behind the only one; without any, in the function."""
    found = [
        call
        for call, receiver in syntax.method_calls(site.flow, "step")
        if _steps(site, call, receiver) and _may_follow(site, call)
    ]
    found += [call for call in site.flow.calls if _steps_inside(site, call) and _may_follow(site, call)]
    if not loops:
        return [call for call in found if not site.flow.loops(call)]
    inside = [call for call in found if loops[-1] in site.flow.loops(call)]
    return inside or [call for call in found if len(loops) == 1 and not site.flow.loops(call)]


def _is_apart(site: Site) -> bool:
    """Whether a function, or a class, wraps its model by itself, and nothing that it calls, or that calls it, leaves exchanges out."""
    outer = site.function
    while outer.parent is not None and outer.parent is not outer.module.body:
        outer = outer.parent
    if outer is site.module.body:
        return False
    own = [outer]
    if outer.cls is not None:
        own = [method for klass in site.project.ancestry(outer.cls) for method in klass.methods.values()]
    if any(map(_handles, own)) or not any(_wraps_in(site, one, 0) for one in own):
        return False
    sites = site.project.call_sites(outer, _CALLERS)
    if sites is None or any(_switches(one.function, one.call) for one in sites):
        return False
    return not any(_handles(target) for call in outer.flow.calls for target in site.project.targets(outer, call))


def _switches(caller: Function, call: ast.Call) -> bool:
    """Whether a caller speaks of leaving exchanges out; at the top of a file only what it enters around the call counts."""
    if caller is not caller.module.body:
        return caller.says(_LEAVES_OUT)
    return any(caller.module.says(context, _LEAVES_OUT) for context in caller.flow.contexts(call))


def _left_out(site: Site) -> bool:
    """`with maybe_sync(model, last): loss.backward()` of a function of the project that speaks of leaving exchanges out."""
    around = [one for one in site.flow.ancestors(site.target) if isinstance(one, ast.With)]
    managers = [item.context_expr for one in around for item in one.items]
    called = [
        target
        for manager in managers
        if isinstance(manager, ast.Call)
        for target in site.project.targets(site.function, manager)
    ]
    return any(map(_handles, called))


def _handles(function: Function) -> bool:
    """Whether the lines of a function speak of leaving exchanges out."""
    return function.says(_HANDLED)


def _wraps(site: Site) -> bool:
    """Whether the file wraps a model in DDP or FSDP, by itself or by a function of the project."""
    if not (site.source.holds(_WRAPS) or site.source.holds(_MAKES)):
        return False
    key = ("wraps", site.module.path)
    return site.once(key, lambda: any(_wraps_in(site, one, 1) for one in site.module.functions))


def _wraps_in(site: Site, function: Function, depth: int) -> bool:
    for call in function.flow.calls:
        if site.project.resolve(function, call.func) in _WRAPPERS:
            return True
        last = names.last(call.func)
        targets = site.project.targets(function, call) if depth and _WRAPPER_NAME.search(last) else []
        if any(_wraps_in(site, target, depth - 1) for target in targets):
            return True
    return False


def _steps(site: Site, call: ast.Call, receiver: ast.expr) -> bool:
    """`optimizer.step()`, `scaler.step(optimizer)`."""
    named = names.last(call.args[0] if call.args else receiver)
    return bool(OPTIMIZER_NAME.search(named)) or site.value(receiver).kind in ("optimizer", "scaler")


def _steps_inside(site: Site, call: ast.Call) -> list[tuple[Site, ast.Call]]:
    """The steps of optimizers that a method of the same object takes, `self.finish()`, with where they stand."""
    func = call.func
    if not isinstance(func, ast.Attribute) or names.chain(func.value) != [site.function.own_name]:
        return []
    targets = site.project.targets(site.function, call)
    if len(targets) != 1 or targets[0] is site.function or targets[0].flow.calls_named("backward"):
        return []
    steps = [(site.at(targets[0], one), one, on) for one, on in syntax.method_calls(targets[0].flow, "step")]
    return [(there, one) for there, one, on in steps if _steps(there, one, on)]


def _thinned(site: Site, step: ast.Call, loop: Loop | None) -> bool:
    """Whether the step runs once in several iterations of the loop around the backward pass, or calls of the function."""
    inside = _steps_inside(site, step)
    if inside and all(any(_gates(there, guard.test) for guard in there.flow.guards(one)) for there, one in inside):
        return True
    loops = site.flow.loops(step)
    if loop is not None and loop not in loops:
        # for micro_step in range(k): loss.backward()  -- and the step behind that loop, in the same loop around both
        return (
            loops == site.flow.loops(loop)
            and step.lineno > loop.lineno
            and (_counts(site, loop) or micro_batches.goes_through(site, loop))
        )
    return any(
        _gates(site, guard.test) or guards.begins_again(guard, site.flow, site.value)
        for guard in _own_guards(site, step, loop)
    )


def _counts(site: Site, loop: Loop) -> bool:
    """`for micro_step in range(accumulation_steps)`, with a model called inside."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or site.resolve(loop.iter.func) != "range":
        return False
    return any(_ACCUMULATION.search(word) for word in _names(loop.iter))


def _gates(site: Site, test: ast.expr) -> bool:
    """`(i + 1) % k == 0` with a k that is not 1, and comparisons with a number of accumulated steps."""
    for node in ast.walk(test):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return site.value(node.right).const != 1
    return any(_ACCUMULATION.search(word) for word in _names(test))


def _names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def _zeroed_each_time(site: Site, loop: Loop | None) -> bool:
    """Whether the gradients are zeroed on every iteration: then nothing accumulates."""
    for call, _ in syntax.method_calls(site.flow, "zero_grad"):
        if (loop is not None and loop not in site.flow.loops(call)) or not _may_follow(site, call):
            continue
        if not any(_own_guards(site, call, loop)):
            return True
    return False


def _own_guards(site: Site, call: ast.Call, loop: Loop | None) -> Iterator[Guard]:
    """What must hold for a call beyond what holds for the backward pass: the turn of one of two models says nothing."""
    both = {guard.test for guard in site.flow.guards(site.target, loop)}
    return (
        guard
        for guard in site.flow.guards(call, loop)
        if guard.test not in both
        and (guard.true or _leaves_out_most(guard.test) or guards.begins_again(guard, site.flow, site.value))
    )


def _leaves_out_most(test: ast.expr) -> bool:
    """`if steps % k > 0: continue`, `if steps % k: continue`"""
    match test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            test = left
    return isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod)


def _may_follow(site: Site, call: ast.Call) -> bool:
    """Whether a call runs in some iteration in which the backward pass does: not in the other branch of `if steps > 1:`."""
    return not syntax.exclusive(site.flow, call, site.target)
