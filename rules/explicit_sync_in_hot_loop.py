from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import clocks, frequency, names, serving, syntax
from torchlint.facts import host_reads as reads
from torchlint.facts.arguments import device_of
from torchlint.facts.common_names import TRAINING_ARGUMENTS
from torchlint.facts.flow import Flow, Loop, is_elif
from torchlint.facts.module import BASES_OF_PYTHON, Function
from torchlint.facts.nodes import callee, given_to, is_constant, keyword_of, receiver_of
from torchlint.facts.roles import is_main
from torchlint.facts.wherever import wherever
from torchlint.rule import Finding, Site, chain, plain, rule
from torchlint.rule.lazy import regex

_MODULES = ("torch.cuda", "torch.xpu", "torch.mps", "torch.npu", "torch.accelerator")
_WAITS = {f"{module}.synchronize()" for module in _MODULES}
_CACHES = {f"{module}.empty_cache()" for module in _MODULES} | {"torch.accelerator.memory.empty_cache()"}
_GIVES_BACK = "waits for the device and gives its cached memory back to the driver"
_IN_A_WAIT = frozenset(("synchronize", "is_available", "device_count", "hasattr", "isinstance", "range"))
"""What a function calls that waits for the devices, and does nothing else."""
_ASKED = frozenset(("blocking", "cache", "clear", "empty", "free", "gc", "collect", "memory", "sync", "synchronize"))
_OWN_STREAMS = frozenset(("cupy", "numba", "pycuda"))
"""Libraries whose kernels run on a stream of their own, or may."""
_NEAR = 3
"""How many statements from a synchronization a `del` or a read counts as next to it."""

_SEVERAL = regex(r"distributed|world_size|(?<![a-z])ddp", re.IGNORECASE)


@rule(
    "TL112",
    shape=[
        *plain(*_WAITS),
        *plain(*_CACHES),
        "$x.synchronize(...)",
        "gc.collect(...)",
        *(f"{name}(...)" for name in TRAINING_ARGUMENTS),
    ],
    fix="suggestion",
    impact="medium",
    category="sync",
    principle=("async",),
    confirmed_by=("synchronize", "empty_cache"),
)
def explicit_sync_in_hot_loop(site: Site) -> Iterator[Finding]:
    """The program waits for the device, empties its cache or collects garbage on every step.

    ## What it does

    Finds `torch.cuda.synchronize()`, `stream.synchronize()`, `event.synchronize()`, `torch.cuda.empty_cache()` and
    `gc.collect()` in step loops and in what they call, an option of transformers' Trainer that empties the cache on every
    step (`torch_empty_cache_steps=1`), in `forward` and attention processors, and, as an `info`, in
    evaluation and generation loops: there the cache and garbage with `--preview` alone. Behind an option of the program it is an `info` too, and so is it in a function that
    a web framework, Triton Inference Server or Gradio calls for each request, or in which a class that inherits from one of
    another library empties the cache each time its model has run.

    ## Why is this slow?

    A synchronization lets the device run dry: nothing is queued while the host waits. `empty_cache()` waits too,
    gives the cached memory back by `cudaFree`, and the next step has to ask the driver for it again, which the
    caching allocator is there to avoid. `gc.collect()` walks every Python object while the device waits for work.

    ## When it does not matter

    Around a timer, or a context manager that is one, where the wait is what makes the time right (an `info`
    where a training loop itself, a context manager or decorator of the project around what it does, or a method that it calls takes the time of each step without being asked to); behind a condition that holds once in many steps, or that asks for it by name (`if clear_cache:`, `if non_blocking:`); after an
    out-of-memory error; behind a `del` in an evaluation loop, whose memory is wanted by what comes next; where another library's streams are waited for (CuPy, Numba), or a copy to the host that does not wait (`host.copy_(x, non_blocking=True)`): none of these is reported. In front of a read of the device, which waits for its own stream, it
    is an `info`, in an evaluation loop that takes its time further down, too. Two programs that share a device in turns may need
    `empty_cache()`.

    ## Bad

    ```python
    for images, labels in loader:
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        torch.cuda.empty_cache()  # TL112
    ```

    ## Good

    ```python
    for images, labels in loader:
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
    torch.cuda.empty_cache()  # ok
    ```

    To order work of two streams, `stream.wait_stream(other)` and `event.wait()` let the device wait, not the host.

    ## References

    - <https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management>
    - <https://docs.pytorch.org/docs/stable/generated/torch.cuda.synchronize.html>
    """
    if site.name.endswith("TrainingArguments()"):
        steps = site.argument("torch_empty_cache_steps")
        if isinstance(steps, ast.Constant) and steps.value == 1 and site.role != "test":
            yield site.finding(
                f"`torch_empty_cache_steps=1` {_GIVES_BACK} on every training step", at=steps, provable=False
            )
        return
    if site.name == ".synchronize()" and not site.receiver.class_name.startswith("torch.cuda."):
        return
    if site.name == "gc.collect()" and site.source.holds(b"keras") and not site.source.holds(b"torch"):
        return
    looped = frequency.severity(site)
    level = looped or ("warning" if frequency.in_forward(site) and not site.rare else None)
    served = level is None and serving.is_handler(site.function) and not site.rare
    each = level is None and not served and site.name in _CACHES and _behind_model(site)
    waits = site.name in _WAITS | {".synchronize()"}
    if served or each:
        level = "info"
    if level is None or site.role in ("benchmark", "test") or site.in_compiled or not site.accelerator:
        return
    if waits and (_is_of_earlier(site) or wherever(site, _has_to_wait)):
        return
    if waits and _timed(site):
        to_time = clocks.is_read_next(site.flow, site.target) or clocks.ends_measurement(site.flow, site.target)
        if _times_each_step(site):
            why = ", to time it: events can be read some steps later" if to_time else ", and no clock is read next"
            message = f"`{site.short()}` waits for the device on every training step{why}"
            yield site.finding(message, severity="info", related=site.why_hot())
        elif site.warm is not None and not to_time and not site.rare and _read_next(site):
            message = f"`{site.short()}` waits for all streams {frequency.how_often(site)}, and no clock is read next: the read behind it waits for what it needs"
            yield site.finding(message, severity="info", related=site.why_hot())
        return
    read = waits and wherever(site, _read_next)
    if read and site.name == ".synchronize()":
        return
    if looped == "info" and site.name in _CACHES and (_is_left_to_preview(site) or wherever(site, _behind_delete)):
        return
    loops = site.flow.loops(site.target)
    guards = list(site.flow.guards(site.target, loops[0] if loops else None))
    if wherever(site, _is_asked_by_name) or _is_told_beside(site):
        return
    if guards or read:
        level = "info"
    if read:
        message = f"`{site.short()}` waits for all streams {frequency.how_often(site)}; the read behind it waits for what it needs"
        yield site.finding(message, severity=level, related=site.why_hot())
        return
    where = "on every request" if served else frequency.of_calls(site)
    if each:
        where = "on every call, after the model has run"
    if looped is not None:
        where = frequency.how_often(site)
    # A collection shows as no event of a traced run.
    provable = site.name != "gc.collect()"
    yield site.finding(
        f"`{site.short()}` {_cost(site)} {where}", severity=level, related=site.why_hot(), provable=provable
    )


def _has_to_wait(site: Site) -> bool:
    """Whether another library works on streams of its own, or a copy is under way."""
    return _after_another_library(site) or _awaits_copy(site)


def _is_asked_by_name(site: Site) -> bool:
    """Whether a condition in the loop around the place asks for it by its name."""
    loops = site.flow.loops(site.target)
    return any(_names_it(guard.test) for guard in site.flow.guards(site.target, loops[0] if loops else None))


def _is_left_to_preview(site: Site) -> bool:
    """Whether the place is in a loop that only runs a model: often once an image or a volume, whose sizes differ."""
    return not site.settings.preview and not frequency.in_forward(site)


def _is_told_beside(site: Site) -> bool:
    """Whether another branch of the `if` does the same on another kind of device, and is told for all of them."""
    top, own = _branch(site.flow, site.call)
    asked = site.name.rpartition(".")[2].removesuffix("()")
    same = [call for call in site.flow.calls if isinstance(call.func, ast.Attribute) and call.func.attr == asked]
    branches = [(call, branch) for call in same for root, branch in [_branch(site.flow, call)] if root is top]
    if top is None or len({branch for _, branch in branches}) < 2:
        return False
    told = next((branch for call, branch in branches if "cuda" in (chain(call.func) or ())), branches[0][1])
    return told != own


def _branch(flow: Flow, call: ast.Call) -> tuple[ast.If | None, int]:
    """The `if` that a call stands in directly, and the line at which its branch begins."""
    statement = flow.statement(call)
    parent = flow.parents[statement]
    if not isinstance(parent, ast.If):
        return None, 0
    line = (parent.body if statement in parent.body else parent.orelse)[0].lineno
    while isinstance(above := flow.parents[parent], ast.If) and is_elif(above, parent):
        parent = above
    return parent, line


_PIPELINE = regex(r"Pipeline|Trainer|Callback|Module|Mixin|Dataset|Model$")
_ONCE = regex(
    r"^__|(?:^|_)(?:init|load|reset|close|finish|release|clear|free|unload|offload|train|fit|run|main|test|warmup)"
)


def _behind_model(site: Site) -> bool:
    """Whether the method of a class of another library's kind empties the cache each time it has run a model that it keeps."""
    function, klass = site.function, site.function.cls
    if klass is None or _ONCE.search(function.name) or site.flow.loops(site.target) or site.rare:
        return False
    bases = [name for base in klass.bases if (name := names.last(base)) not in BASES_OF_PYTHON]
    foreign = bool(bases) and not site.project.bases(klass) and not any(map(_PIPELINE.search, bases))
    # `if nothing: return` before it leaves the rest of the method as it is.
    plain = all(guard.block is None for guard in site.flow.guards(site.target))
    return foreign and plain and site.runs_module(function) and not _puts_away(site)


def _puts_away(site: Site) -> bool:
    """Whether the method deletes something, or moves a module, which is what `x.cpu()` as a statement does."""
    moves = (*site.flow.calls_named("cpu"), *site.flow.calls_named("to"))
    return any(isinstance(site.flow.parents[call], ast.Expr) for call in moves) or any(
        isinstance(node, ast.Delete) for node in site.flow.nodes
    )


def _behind_delete(site: Site) -> bool:
    """`del output; torch.cuda.empty_cache()`: what was deleted goes back to the driver on purpose."""
    before = syntax.nearby(site.flow, site.flow.statement(site.target), before=_NEAR)
    return any(isinstance(one, ast.Delete) for one in before)


def _cost(site: Site) -> str:
    if site.name == "gc.collect()":
        return "walks every Python object while the device waits for work"
    if site.name in _CACHES:
        return _GIVES_BACK
    return "waits for the device"


def _after_another_library(site: Site) -> bool:
    """Whether the function calls a library whose streams torch knows nothing of, `cupy.fft(x)`, `convert_to_cupy(x)`, or has handed it one: `context.execute_async_v3(stream.cuda_stream)`."""
    before = (call for call in site.flow.calls if call.lineno < site.call.lineno)
    if any(names.last(given) == "cuda_stream" for call in before for given in given_to(call)):
        return True
    called = (site.resolve(call.func) or names.last(call.func) for call in site.flow.calls)
    return any(not _OWN_STREAMS.isdisjoint(name.lower().replace("_", ".").split(".")) for name in called)


def _awaits_copy(site: Site) -> bool:
    """Whether the function copies to the host without waiting before the place, which waits for that: `host.copy_(x, non_blocking=True)`."""
    for call in site.flow.calls:
        waits = keyword_of(call, "non_blocking")
        if waits is None or is_constant(waits, False) or call.lineno >= site.call.lineno:
            continue
        if isinstance(call.func, ast.Attribute) and _is_copy_to_host(site, call, call.func):
            return True
    return False


def _is_of_earlier(site: Site) -> bool:
    """Whether an event comes out of a list or a queue, where an earlier step has put it: `event = events.popleft()`, `buffer, event = slots[i]`."""
    event = receiver_of(site.call) if site.name == ".synchronize()" else None
    if not isinstance(event, ast.Name):
        return False
    if any(syntax.same(receiver_of(call), event) for call in site.flow.calls_named("record")):
        return False
    statements = [site.flow.statement(store) for store in site.flow.stores.get(event.id, ())]
    return bool(statements) and all(isinstance(one, ast.Assign) and _takes_out(one.value) for one in statements)


def _takes_out(node: ast.expr) -> bool:
    """`events.popleft()`, `slots[i]`"""
    taken = isinstance(node, ast.Call) and names.last(node.func) in ("pop", "popleft")
    return taken or isinstance(node, ast.Subscript)


def _is_copy_to_host(site: Site, call: ast.Call, method: ast.Attribute) -> bool:
    if method.attr == "copy_":
        return site.value(method.value).device != "accelerator"
    target = site.at(site.function, call).argument("device", 0) if method.attr == "to" else None
    return target is not None and (device_of(site.value(target)) == "cpu" or names.says_host(target))


def _names_it(test: ast.expr) -> bool:
    """Whether a condition asks for it by name: `if clear_cache:`, `if memory_allocated() > limit:`."""
    names = (
        n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(test) if isinstance(n, ast.Name | ast.Attribute)
    )
    return any(not _ASKED.isdisjoint(name.lower().split("_")) for name in names)


def _read_next(site: Site) -> bool:
    """Whether one of the next statements reads a value of the device, and so waits anyway."""
    for statement in site.flow.chain(site.target):
        if any(reads.scalar_reads(site, near) for near in syntax.nearby(site.flow, statement, behind=_NEAR)[1:]):
            return True
        if not isinstance(site.flow.parents[statement], ast.If):
            break
    return False


def _timed(site: Site) -> bool:
    """Whether a clock is read near the synchronization, or near a call of a function that does nothing else."""
    if clocks.is_read_near(site.flow, site.target) or clocks.ends_measurement(site.flow, site.target):
        return True
    if any(names.last(call.func) not in _IN_A_WAIT for call in site.flow.calls):
        return False
    return any(clocks.is_read_near(one.function.flow, one.call) for one in site.project.calls_of(site.function))


def _times_each_step(site: Site) -> bool:
    """Whether a training loop itself takes the time of each step, or a timer of the project around what it does there, and nobody
    has to ask for it: `if device.type == "cuda":` asks for no more."""
    if site.hot is None:
        return False
    loop = site.loop()
    if loop is None and not _is_of_timer(site):
        return False
    if loop is not None and (not site.analysis.steps.is_step_loop(site.function, loop) or _is_profiled(site, loop)):
        return False
    guards = site.flow.guards(site.target, loop)
    return all(
        frequency.ends_loop(guard) or _asks_for_gpu(site, guard.test) or _asks_for_several(guard.test)
        for guard in guards
    )


def _is_profiled(site: Site, loop: Loop) -> bool:
    """Whether a loop is there to be looked at: a profiler around it is told of each of its steps, `with Profiler() as p: for ...: p.step()`."""
    around = (item for one in site.flow.ancestors(loop) if isinstance(one, ast.With) for item in one.items)
    profilers = {
        item.optional_vars.id
        for item in around
        if isinstance(item.optional_vars, ast.Name) and "profil" in names.last(callee(item.context_expr)).lower()
    }
    return any(
        isinstance(call.func, ast.Attribute)
        and loop in site.flow.loops(call)
        and names.last(call.func.value) in profilers
        for call in (site.flow.calls_named("step") if profilers else ())
    )


def _is_of_timer(site: Site) -> bool:
    """Whether the function is a timer that is always on: a context manager, what a decorator puts around the function that it is
    given, or a method that each step calls of objects that are always made."""
    function = site.function
    if function.cls is not None and site.hot is not None:
        init = function.cls.methods.get("__init__")
        made = site.project.constructed(function.cls, init) if init is not None else []
        return bool(made) and not any(_is_asked_for(*one) for one in made)
    timer = function if "contextmanager" in function.decorator_names else _decorator(function)
    if timer is None or (timer is not function and any(True for _ in timer.flow.guards(function.node))):
        return False
    return not any(any(True for _ in use.function.flow.guards(use.call)) for use in site.callers(timer))


def _is_asked_for(function: Function, call: ast.Call) -> bool:
    """Whether a condition other than `__name__ == "__main__"` decides on a call."""
    return any(not is_main(guard.test) for guard in function.flow.guards(call)) or isinstance(
        function.flow.parents[call], ast.IfExp
    )


def _decorator(inner: Function) -> Function | None:
    """The function around another one that calls what it is given, `out = fn(*args)`; None where there is none."""
    around = inner.parent
    if around is None or around is inner.module.body:
        return None
    given = (call.func.id for call in inner.flow.calls if isinstance(call.func, ast.Name))
    return around if any(name in around.positions and not inner.binds(name) for name in given) else None


def _asks_for_several(test: ast.expr) -> bool:
    """`if args.distributed:`, `if world_size > 1:`, which ask for no measurement."""
    asked = test.left if isinstance(test, ast.Compare) else test
    return _SEVERAL.search(names.word(asked)) is not None


def _asks_for_gpu(site: Site, test: ast.expr) -> bool:
    value = site.value(test)
    return value.kind == "number" and value.needs_accelerator
