"""Stretches of code that a program times: `start = clock()`, work, `clock() - start`."""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..system.cached import kept
from ..system.regex import regex
from ..torch_api import operators
from . import names
from .common_names import MODEL_NAME
from .flow import Flow, is_elif
from .library_models import runs_model
from .module import Function
from .nodes import argument_of, given_to, is_constant, keyword_of, leaves, string
from .syntax import nearby, rest
from .uses import only_read
from .values import Value

CLOCKS = frozenset(
    f"{name}{suffix}"
    for name in ("time.time", "time.perf_counter", "time.monotonic", "time.process_time")
    for suffix in ("", "_ns")
) | {"timeit.default_timer"}
_READS = frozenset(
    "time perf_counter perf_counter_ns monotonic process_time time_ns default_timer elapsed_time timer record".split()
)
"""What reads a clock, by the last part of its name."""
_TIMER = regex(r"time(?:it|rs?|d)(?:_|$)|timing|stop_?watch", re.IGNORECASE)
"""What a context manager that takes the time of its block is called."""
_BOUNDS = frozenset(("tic", "toc", "start", "stop", "lap"))
"""The methods of a timer that read its clock."""
_PROFILES = frozenset(("profile", "profiler"))
"""What an object is called whose parts take the times of blocks."""
_NEAR = 3
"""How many statements from a place a clock counts as next to it."""
BENCHMARK = regex(r"bench|measure|latency|throughput|profil|timeit|time_|_time\b|speed|perf", re.IGNORECASE)
_WAITING = ("wait", "barrier", "mark_step", "elapsed_time", "query", "result")
"""What waits for the device beside torch's operators, by the last part of its name."""
_HARMLESS = frozenset(
    """append extend update print range len enumerate zip tqdm format no_grad to cuda half float view reshape detach
    clone backward step zero_grad sum values keys items setdefault list tuple reversed parameters named_parameters
    train eval size dim numel mean permute transpose contiguous squeeze unsqueeze flatten""".split()
)

_ASKING = frozenset(("getattr", "hasattr", "isinstance", "callable", "dict", "type"))
"""Builtins that read no value, whatever they are given."""
_COPIES = frozenset(("to", "cuda", "copy_"))
"""Methods that copy to the device."""

_Asked = ast.If | ast.While | ast.Assert | ast.IfExp | ast.Subscript
Resolve = Callable[[ast.expr], str | None]
Targets = Callable[[Function, ast.Call], list[Function]]


class Span(NamedTuple):
    """What runs between two reads of a clock in one function."""

    function: Function
    start: ast.stmt
    """The statement that reads the clock first."""
    end: ast.Call
    """The second read."""

    @property
    def first(self) -> int:
        """The first line behind the first read."""
        return (self.start.end_lineno or self.start.lineno) + 1

    def calls(self) -> Iterator[ast.Call]:
        """The calls in it, in source order."""
        for call in self.function.flow.calls_between(self.first, self.end.lineno):
            if call is not self.end and not _around(self.function, self.end, call):
                yield call

    def loops(self) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops that begin and end in it."""
        return [
            node
            for node in self.function.flow.nodes
            if isinstance(node, ast.For | ast.AsyncFor | ast.While)
            and self.start.lineno < node.lineno
            and (node.end_lineno or 0) < self.end.lineno
        ]


def span(function: Function, end: ast.Call, resolve: Resolve) -> Span | None:
    """The stretch that a read of a clock ends; None where it ends none, or begins the next iteration's."""
    name = _subtracted(function, end)
    if name is None:
        return None
    flow = function.flow
    before = [store for store in flow.stores.get(name, ()) if store.lineno < end.lineno]
    if not before:
        return None
    statement = flow.parents.get(before[-1])
    if not (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and resolve(statement.value.func) in CLOCKS
    ):
        return None
    return Span(function, statement, end) if flow.loops(statement) == flow.loops(end) else None


def is_read_near(flow: Flow, node: ast.AST) -> bool:
    """Whether a clock is read near a place, in its block or in the one around it."""
    # An `elif` stands as deep as the `if` it belongs to.
    statements = [one for one in flow.chain(node) if not is_elif(flow.parents[one], one)]
    if _is_repeated_in_timer(statements):
        return True
    near = (nearby(flow, one, before=_NEAR, behind=_NEAR) for one in statements[:2])
    return any(
        _reads_clock(part)
        for several in near
        for one in several
        for first in (_first(one) if one.lineno > node.lineno else (one,))  # type: ignore[attr-defined]
        for part in ast.walk(first)
    )


def is_read_next(flow: Flow, node: ast.AST) -> bool:
    """Whether what runs behind a place reads a clock first: behind the block around it, or as the next iteration begins."""
    for statement in flow.chain(node):
        behind, around = rest(flow, statement), flow.parents.get(statement)
        if not behind and isinstance(around, ast.For | ast.AsyncFor | ast.While):
            behind = around.body
        if behind:
            return any(_reads_clock(part) for part in ast.walk(behind[0]))
    return False


def is_timed_by_next(function: Function, node: ast.AST, resolve: Resolve) -> bool:
    """Whether a place is in the last statement that is timed: `start = clock(); score = model(x).item(); took = clock() - start`.

    Or in the one before it, which gives it something by a name: `score = model(x).item(); scores.append(score)`.
    """
    flow = function.flow
    made = flow.statement(node)
    read = only_read(function, made.value) if isinstance(made, ast.Assign) else None
    for statement in flow.chain(node):
        behind = rest(flow, statement)
        if behind and read is not None and flow.statement(read) is behind[0]:
            return is_timed_by_next(function, read, resolve)
        if behind:
            reads = (part for part in ast.walk(behind[0]) if isinstance(part, ast.Call) and _reads_clock(part))
            return any(span(function, one, resolve) is not None for one in reads)
        if not isinstance(flow.parents.get(statement), ast.With):
            return False
    return False


def _is_repeated_in_timer(chain: list[ast.stmt]) -> bool:
    """`with Timer(): for _ in range(n): work()`: what is done over and over is measured; `chain` begins innermost."""
    match chain:
        case [_, loop, ast.With(items=items), *_] if _repeats(loop):
            return any(map(_reads_clock, items))
    return False


def _repeats(statement: ast.stmt) -> bool:
    """`for _ in range(n):`, whose iterations do the same."""
    return (
        isinstance(statement, ast.For)
        and isinstance(statement.target, ast.Name)
        and statement.target.id == "_"
        and isinstance(statement.iter, ast.Call)
        and names.last(statement.iter.func) == "range"
    )


def _first(statement: ast.stmt) -> Iterator[ast.AST]:
    """What is near in a statement behind a place: of an `if` what it asks, and what its blocks begin with."""
    if not isinstance(statement, ast.If):
        yield statement
        return
    yield statement.test
    for one in (*statement.body[:_NEAR], *statement.orelse[:_NEAR]):
        yield from _first(one)


def _reads_clock(node: ast.AST) -> bool:
    """`time.time()`, `event.record()`, `Event(enable_timing=True)`, `timer.toc()`, `with Timer() as timer:`"""
    if isinstance(node, ast.withitem):
        made = node.context_expr.value if isinstance(node.context_expr, ast.NamedExpr) else node.context_expr
        return isinstance(made, ast.Call) and _TIMER.search(names.last(made.func)) is not None
    return isinstance(node, ast.Call) and (
        names.last(node.func) in _READS
        or is_constant(keyword_of(node, "enable_timing"), True)
        or _starts_or_stops(node.func)
    )


def _starts_or_stops(func: ast.expr) -> bool:
    """`timer.toc()`, `self.timers["step"].stop()`: what begins or ends a measurement of what is called a timer."""
    if not isinstance(func, ast.Attribute) or func.attr not in _BOUNDS:
        return False
    timer = func.value
    while isinstance(timer, ast.Subscript | ast.Call):
        timer = timer.value if isinstance(timer, ast.Subscript) else timer.func
    return _TIMER.search(names.last(timer)) is not None


def ends_measurement(flow: Flow, node: ast.AST) -> bool:
    """`with profile.learn: ...; torch.cuda.synchronize()`: the last that a block does which a timer or a profiler goes round."""
    for statement in flow.chain(node):
        parent = flow.parents[statement]
        if not isinstance(parent, ast.With | ast.If) or statement is not parent.body[-1]:
            return False
        named = [names.chain(item.context_expr) or [] for item in parent.items] if isinstance(parent, ast.With) else []
        if any(part in _PROFILES or _TIMER.search(part) for parts in named for part in parts):
            return True
    return False


def is_benchmark(function: Function, role: str) -> bool:
    """Whether a function is there to measure."""
    return role == "benchmark" or BENCHMARK.search(function.name) is not None


def may_wait(function: Function, call: ast.Call, name: str | None, targets_of: Targets, depth: int = 3) -> bool:
    """Whether a call may wait for the device: it does, what it calls in the project does, or it can't be seen.

    `targets_of` gives the project's functions that a call runs.
    """
    last = names.last(call.func)
    if "sync" in last or last in waiting() or (name is not None and _always_waits(name)):
        return True
    if last == "to" and _names_host(argument_of(call, "device", 0)):
        return True
    if isinstance(call.func, ast.Name) and last in _ASKING:
        return False
    if isinstance(call.func, ast.Name) and last == "float":
        return True  # the builtin reads; the method computes on the device
    targets = targets_of(function, call)
    if targets:
        return any(_reads(target, targets_of, depth) for target in targets)
    return not (
        last in _HARMLESS or (name is not None and (name.startswith(("torch.", "time.", "math.")) or name in CLOCKS))
    )


def _names_host(device: ast.expr | None) -> bool:
    """`"cpu"`, `torch.device("cpu")`, and what is called the host."""
    if isinstance(device, ast.Call) and names.last(device.func) == "device" and device.args:
        device = device.args[0]
    return device is not None and (string(device) == "cpu" or names.says_host(device))


@functools.cache
def waiting() -> frozenset[str]:
    """The last parts of the names of methods that wait for the device: of tensors, streams, events, futures."""
    methods = (name for name in operators.names("waits") if name.startswith("torch.Tensor.") and _always_waits(name))
    return frozenset(_WAITING) | {name.rpartition(".")[2] for name in methods}


def _always_waits(name: str) -> bool:
    row = operators.operator(name)
    return row is not None and row.waits == operators.ALWAYS


@functools.cache
def _waits_in_text() -> re.Pattern[bytes]:
    """What speaks of waiting in the text of a function."""
    methods = "|".join(sorted(waiting() - {"mark_step", "elapsed_time", "query", "result"}))
    return re.compile(rf"synchroni[sz]e|device_sync|barrier\(|mark_step|elapsed_time|\.(?:{methods})\(".encode())


def _reads(function: Function, targets_of: Targets, depth: int) -> bool:
    """Whether a function, or what it calls, speaks of reading values or waiting."""
    if function.says(_waits_in_text()):
        return True
    return depth > 0 and any(
        _reads(target, targets_of, depth - 1) for call in function.flow.calls for target in targets_of(function, call)
    )


def decides(function: Function, first: int, last: int, value_of: Callable[[ast.expr], Value]) -> bool:
    """Whether Python decides on some lines by the value of a tensor, or picks elements by a mask: both wait for it."""
    asked = kept(function, "asked by line", lambda: _asked(function))
    for node in asked[bisect_right(asked, first - 1, key=_line) : bisect_right(asked, last, key=_line)]:
        if isinstance(node, ast.Subscript):
            picked = value_of(node.slice)
            if picked.is_tensor and picked.boolean:
                return True
        elif any(value_of(leaf).is_tensor for leaf in leaves(node.test)):
            return True
    return False


def _asked(function: Function) -> list[_Asked]:
    """What decides or picks in a function, by line."""
    return sorted((node for node in function.flow.nodes if isinstance(node, _Asked)), key=_line)


def _line(node: _Asked) -> int:
    return node.lineno


def is_part_of_step(span: Span, passes: list[ast.Call]) -> bool:
    """Whether the losses of backward passes were computed in the same iteration, before the clock was read first."""
    flow = span.function.flow
    loops = flow.loops(span.end)
    return bool(loops) and all(
        isinstance(call.func, ast.Attribute)
        and isinstance(loss := call.func.value, ast.Name)
        and any(
            store.lineno < span.start.lineno and flow.loops(store)[:1] == loops[:1]
            for store in flow.stores.get(loss.id, ())
        )
        for call in passes
    )


def is_work(value_of: Callable[[ast.expr], Value], call: ast.Call) -> bool:
    """Whether a call queues work for the device: it runs a module, or computes a tensor there.

    A copy to the device is none: it is waited for, unless it says otherwise. Nor is what is given tensors of the host alone.
    """
    called = value_of(call.func)
    return (
        called.kind == "module" or _is_model(value_of, call, called) or _is_made_there(value_of, call)
    ) and not _is_of_host(value_of, call, called)


def _is_model(value_of: Callable[[ast.expr], Value], call: ast.Call, called: Value) -> bool:
    """Whether what nobody knows runs a model, by its name or as a library's does."""
    named = isinstance(call.func, ast.Name) and MODEL_NAME.search(call.func.id) is not None
    return called.kind == "unknown" and (named or runs_model(value_of, call))


def _is_made_there(value_of: Callable[[ast.expr], Value], call: ast.Call) -> bool:
    """Whether a call computes a tensor of the device, and does more than to copy it there."""
    made = value_of(call)
    return made.is_tensor and made.device == "accelerator" and names.last(call.func) not in _COPIES


def _is_of_host(value_of: Callable[[ast.expr], Value], call: ast.Call, called: Value) -> bool:
    """Whether a call is given tensors that were made on the host, and what it runs was sent nowhere else."""
    tensors = [value for value in map(value_of, given_to(call)) if value.is_tensor]
    if called.kind == "module" and called.device == "accelerator":
        return False
    return bool(tensors) and all(one.on_cpu and not one.from_loader for one in tensors)


def _subtracted(function: Function, end: ast.Call) -> str | None:
    """The `start` of `clock() - start`, or of `stop - start` where the read is assigned to `stop`."""
    parent = function.flow.parents.get(end)
    if (
        isinstance(parent, ast.BinOp)
        and isinstance(parent.op, ast.Sub)
        and parent.left is end
        and isinstance(parent.right, ast.Name)
    ):
        return parent.right.id if _is_kept(function, parent) else None
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name)):
        return None
    for load in function.flow.loads.get(parent.targets[0].id, ()):
        difference = function.flow.parents.get(load)
        if not (isinstance(difference, ast.BinOp) and isinstance(difference.op, ast.Sub) and difference.left is load):
            continue
        if load.lineno < end.lineno or not isinstance(difference.right, ast.Name) or difference.right.id == load.id:
            continue
        if _is_kept(function, difference):
            return difference.right.id
    return None


def _is_kept(function: Function, time: ast.expr) -> bool:
    """Whether anything asks for a time that was measured: not for `took = round(stop - start, 5)` that nothing reads."""
    parent = function.flow.parents.get(time)
    while isinstance(parent, ast.BinOp | ast.Call):
        time, parent = parent, function.flow.parents.get(parent)
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name)):
        return not isinstance(parent, ast.Expr) or isinstance(time, ast.Call)
    name = parent.targets[0].id
    return isinstance(function.node, ast.Module) or any(
        (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Global | ast.Nonlocal) and name in node.names)
        for node in ast.walk(function.node)
    )


def _around(function: Function, end: ast.Call, call: ast.Call) -> bool:
    """Whether a call takes the measured time: `print(clock() - start)`."""
    return call in list(function.flow.expressions(end)) or (
        call.lineno == end.lineno and call.col_offset > end.col_offset
    )


def timed_call(span: Span, value_of: Callable[[ast.expr], Value]) -> ast.Call | None:
    """The call of a module that a timed loop over a range repeats; None where it trains, or repeats something else."""
    loops = [
        loop
        for loop in span.loops()
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and _is_range(loop.iter)
    ]
    found = None
    for call in span.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "step"):
            return None
        if found is None and value_of(call.func).kind == "module" and set(loops) & set(span.function.flow.loops(call)):
            found = call
    return found


def _is_range(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in ("range", "trange", "tqdm")
