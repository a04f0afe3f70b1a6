"""What makes the host wait for a value of the device: shared by the rules on host-device synchronization."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Any, Literal, Protocol, TypeVar

from ..system.regex import regex
from ..torch_api.operators import operator
from . import arguments, common_names, names
from .flow import Flow, Loop, contains
from .module import Class, Function
from .results import Origins
from .sending import sent_later
from .syntax import block
from .values import LIKELY, PROVEN, Certainty, Value

T = TypeVar("T")
_LOSS = regex(r"(?:^|_)loss$")
_LOSSES = regex(r"(?:^|_)loss(?:es|_dict)?$")
_KEY_OF_LOSS = regex(r"(?:^|[_/.\- ])loss(?:$|[_/\-])", re.IGNORECASE)
_CASTS = frozenset(("float", "int", "bool", "complex"))
MATH = tuple("sqrt exp log log2 log10 log1p floor ceil trunc fabs isnan isinf isfinite sin cos tanh pow".split())
"""Functions of Python's `math` that make a number of a tensor first."""
# Loggers format at once, except for a level that is mostly off.
_LOGGERS = frozenset(("info", "warning", "error", "critical", "exception"))
_WRITERS = frozenset(
    [
        "add_scalar",
        "add_scalars",
        "log_metric",
        "log_metrics",
        "set_postfix",
        "set_postfix_str",
        "set_description",
        "set_description_str",
        "track",
        "log_scalar",
    ]
)
_FRAMEWORK_LOGS = frozenset(("log", "log_dict"))
_FORMATS = frozenset(("str", "repr", "format"))


class StepLoop(Protocol):
    """Why a place runs on every training step."""

    @property
    def loop(self) -> Loop | None: ...


class Place(Protocol):
    """What is asked of a place (a Site)."""

    function: Function
    target: ast.AST
    name: str

    @property
    def flow(self) -> Flow: ...
    @property
    def statement(self) -> ast.stmt: ...
    @property
    def accelerator(self) -> bool: ...
    @property
    def role(self) -> str: ...
    @property
    def hot(self) -> StepLoop | None: ...
    @property
    def warm(self) -> Loop | None: ...
    @property
    def warm_caller(self) -> tuple[Function, ast.AST] | None: ...
    @property
    def project(self) -> Any: ...
    @property
    def rare(self) -> bool: ...
    def at(self, function: Function, target: ast.AST) -> Place: ...
    def callers(self, function: Function) -> Iterator[Any]: ...
    def value(self, node: ast.expr) -> Value: ...
    def resolve(self, node: ast.expr) -> str | None: ...
    def consumed_by(self, words: Collection[str], node: ast.expr | None = None) -> bool: ...
    def once(self, key: Hashable, answer: Callable[[], T]) -> T: ...


# Where a value lives


def device_tensor(place: Place, node: ast.expr, certainty: Certainty = PROVEN) -> ast.expr | None:
    """The part of an expression that is a tensor in device memory, seen through `.detach().cpu()` around it; or None.

    A field of a batch that was not moved yet is in host memory.
    """
    found = _on_device(place, node, certainty)
    if found is None or not _near_accelerator(place) or _gets_numbers(place, found):
        return None
    return found


def _on_device(place: Place, node: ast.expr, certainty: Certainty) -> ast.expr | None:
    """The same, whatever the program runs on."""
    while True:
        value = place.value(node)
        if value.kind != "tensor" or value.from_loader or (not value.device and _of_batch(place, node)):
            return None
        if not value.on_cpu:
            if value.certainty < certainty or (not value.device and sent_later(place.flow, node)):
                return None
            return node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            return None


def _gets_numbers(place: Place, node: ast.expr) -> bool:
    """Whether a name is a parameter that gets numbers of all calls in the project, whatever its annotation says."""
    if not isinstance(node, ast.Name) or node.id not in place.flow.parameters or node in place.function.bindings.reach:
        return False
    return bool(place.project.parameter(place.function, node.id).kind == "number")


def _near_accelerator(place: Place) -> bool:
    """Whether the program deals with an accelerator at the place, or at the evaluation loop that calls its function."""
    if place.accelerator:
        return True
    caller = place.warm_caller if place.role != "test" else None
    return caller is not None and place.at(*caller).accelerator


def _of_batch(place: Place, node: ast.expr) -> bool:
    """Whether a tensor is calculated from fields of a batch alone, none of which was moved yet."""
    if isinstance(node, ast.UnaryOp):
        return _of_batch(place, node.operand)
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call):
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        if place.resolve(node.func) is None:
            if not isinstance(node.func, ast.Attribute) or node.func.attr in _MOVES:
                return False
            parts.append(node.func.value)
        elif not (place.resolve(node.func) or "").startswith("torch."):
            return False
    else:
        return place.value(node).from_loader
    tensors = [part for part in parts if place.value(part).kind == "tensor"]
    return bool(tensors) and all(_of_batch(place, part) for part in tensors)


_MOVES = frozenset(("to", "cuda", "xpu", "npu", "type", "type_as", "to_device"))


# Scalar reads


def scalar_read(place: Place, call: ast.Call) -> ast.expr | None:
    """The device tensor that `t.item()`, `float(t)`, `int(t)`, `bool(t)` or `math.sqrt(t)` reads."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "get_scale" and _is_scaler(place, func.value):
        return func.value if place.accelerator else None
    if isinstance(func, ast.Attribute) and func.attr == "item":
        if call.args or call.keywords:
            return None
        value = place.value(func.value)
        if value.only_tested:
            return None
        if not value and value.device == "accelerator":
            return func.value if _near_accelerator(place) else None  # what was moved there, and has an `item()`
        return device_tensor(place, func.value, LIKELY) or _loss(place, func.value) or _result(place, func.value)
    if not call.args or call.keywords:
        return None
    name = place.resolve(func)
    if (name in _CASTS and len(call.args) == 1) or (name is not None and name.startswith("math.")):
        read = next((arg for arg in call.args if device_tensor(place, arg) is not None), None)
        if read is None or name in _CASTS or isinstance(read, ast.Name | ast.Attribute):
            return read
        # What a function gives as a number on some of its paths is one where `math` calculates with it.
        return None if "number" in place.value(read).other_kinds else read
    return None


def _is_scaler(place: Place, node: ast.expr) -> bool:
    """A GradScaler, or what is called one and may be: it is not known to be anything else that has a scale."""
    value = place.value(node)
    if value.kind == "scaler" or names.last(node) not in _SCALERS or value.proven:
        return value.kind == "scaler"
    return not value or (value.class_ is not None and place.project.method(value.class_, "get_scale") is None)


_SCALERS = frozenset(("scaler", "grad_scaler", "amp_scaler", "_scaler"))


# Copies

_WRITES = frozenset(("save", "savez", "savez_compressed", "dump", "imwrite", "imsave", "save_image", "write_video"))
_SHOWS = frozenset(("imshow", "fromarray", "plot", "scatter", "hist", "to_pil_image", "numpy_to_pil"))
_NEEDS_HOST = (
    _WRITES | _SHOWS | {"step", "decode", "batch_decode", "pack_padded_sequence", "send", "put", "dumps", "loads"}
)
_NEEDS_HOST |= {"update_priorities", "update_priority"}  # of a replay buffer
_NEEDS_HOST |= {"linear_sum_assignment"}  # SciPy's, which torch has not
_BACK = frozenset(("from_numpy", "as_tensor", "tensor", "FloatTensor", "asarray"))


_OF_MODULES = frozenset(("parameters", "named_parameters", "buffers", "modules", "state_dict", "train", "eval"))
"""What modules have and tensors have not: `model.cpu().parameters()`."""


def host_copy(place: Place, call: ast.Call, certainty: Certainty = PROVEN) -> ast.expr | None:
    """The device tensor that `.cpu()`, `.to("cpu")`, `.numpy()`, `.tolist()`, `.type(torch.FloatTensor)` copies."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not _copies(place, func.attr, call):
        return None
    asked = place.flow.parents.get(call)
    if isinstance(asked, ast.Attribute) and asked.attr in _OF_MODULES:
        return None
    value = place.value(func.value)
    if value.on_cpu:
        return None
    if not value and func.attr == "cpu":
        if _becomes_array(place, call):
            return func.value if _near_accelerator(place) else None
        return _result(place, func.value)
    # Arrays have no `cpu()`.
    return device_tensor(place, func.value, LIKELY if func.attr == "cpu" else certainty)


def _becomes_array(place: Place, call: ast.Call) -> bool:
    """`x.cpu().numpy()`, `x.cpu().data.numpy()`: nothing but a tensor has both methods."""
    assert isinstance(call.func, ast.Attribute)
    node = place.flow.parents.get(call) if call.func.attr == "cpu" else None
    while isinstance(node, ast.Attribute) and node.attr in ("data", "detach"):
        around = place.flow.parents.get(node)
        node = place.flow.parents.get(around) if node.attr == "detach" and isinstance(around, ast.Call) else around
    return isinstance(node, ast.Attribute) and node.attr == "numpy"


def _copies(place: Place, method: str, call: ast.Call) -> bool:
    if method == "numpy":  # raises for what is not in host memory, unless it is forced
        return any(keyword.arg == "force" for keyword in call.keywords)
    if method in ("cpu", "tolist"):
        return not call.args
    if method == "type":
        name = place.resolve(call.args[0]) if call.args else None
        return name is not None and name.endswith("Tensor") and name.count(".") == 1
    if method != "to" or any(keyword.arg == "non_blocking" for keyword in call.keywords):
        return False
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "device")]
    if (
        not given
        or not arguments.is_device(place.value(given[0]))
        or arguments.device_of(place.value(given[0])) != "cpu"
    ):
        return False
    where = given[0]
    if isinstance(where, ast.Attribute) and place.value(where.value).kind == "tensor":
        return True
    # A program whose `self.device` is the host has nothing on another device.
    named = names.last(where).lower() if isinstance(where, ast.Name | ast.Attribute) else "cpu"
    return "cpu" in named or "host" in named


def host_copies(place: Place, statement: ast.stmt) -> list[ast.Call]:
    """The copies to the host in a statement, outermost first."""
    return place.once(
        ("host_copies", statement),
        lambda: [n for n in own_nodes(statement) if isinstance(n, ast.Call) and host_copy(place, n) is not None],
    )


def host_needs(place: Place, node: ast.expr) -> bool:
    """Whether the value goes to something that works on the host: an environment, a file, a picture, a decoder."""
    return place.consumed_by(_NEEDS_HOST, node) or _is_action(place, node)


def _is_action(place: Place, node: ast.expr) -> bool:
    """Whether a function returns the value to who gives it to an environment: `action = agent.act(x)`, `env.step(action)`."""
    statement = place.statement
    returned = isinstance(statement, ast.Return) or any(
        isinstance(place.flow.statement(load), ast.Return)
        for name in _assigned(statement)
        for load in place.flow.loads.get(name, ())
    )
    if not returned:
        return False
    callers = itertools.islice(place.callers(place.function), _MOST_CALLERS)
    return any(
        _steps_environment(site.function) and place.at(site.function, site.call).consumed_by(("step",))
        for site in callers
    )


def _steps_environment(function: Function) -> bool:
    """Whether a function takes a step of something else than an optimizer or its schedule: `scheduler.step(loss)` takes none."""
    owners = (
        names.last(call.func.value)
        for call in function.flow.calls_named("step")
        if isinstance(call.func, ast.Attribute)
    )
    return any("sched" not in owner.lower() and not common_names.OPTIMIZER_NAME.search(owner) for owner in owners)


def comes_back(place: Place, call: ast.Call) -> bool:
    """Whether what a copy gives is sent to the device again."""
    if place.consumed_by(_BACK, call):
        return True
    chain = [a for a in place.flow.expressions(call) if isinstance(a, ast.Call) and isinstance(a.func, ast.Attribute)]
    return any(
        a.func.attr in ("to", "cuda") for a in chain if isinstance(a.func, ast.Attribute) and _receives(a.func, call)
    )


def _receives(func: ast.Attribute, call: ast.Call) -> bool:
    return any(node is call for node in ast.walk(func.value))


def _loss(place: Place, node: ast.expr) -> ast.expr | None:
    """`loss.item()` and `losses["box"].item()` in a step loop, where nothing else is known of it."""
    named = isinstance(node, ast.Name) and _LOSS.search(node.id) is not None
    named = named or (isinstance(node, ast.Subscript) and _is_loss_of(node))
    return node if named and place.accelerator and place.hot is not None and not place.value(node) else None


def _is_loss_of(node: ast.Subscript) -> bool:
    """`info["actor/loss"]`, `losses[name]`: by the key, or by what holds it."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str) and _KEY_OF_LOSS.search(key):
        return True
    holder = node.value.slice if isinstance(node.value, ast.Subscript) else node.value
    held = holder.value if isinstance(holder, ast.Constant) else names.last(holder)
    return isinstance(held, str) and _LOSSES.search(held) is not None and not isinstance(node.slice, ast.Slice)


def _result(place: Place, node: ast.expr) -> ast.expr | None:
    """`psnr.item()` of what a call gave that nobody knows, and that was handed tensors, where that runs on each iteration."""
    if place.value(node) or severity(place) is None or not _near_accelerator(place):
        return None
    return node if Origins(place.function.bindings.reach, place.value, place.resolve).made(node) else None


def own_nodes(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement in source order; of a compound statement those of its header."""
    todo: list[ast.AST] = [statement]
    pop, push = todo.pop, todo.append
    while todo:
        node = pop()
        if isinstance(node, ast.expr):
            yield node
        for field in _OWN_FIELDS[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                for child in reversed(value):
                    if type(child) in _OWN_FIELDS:  # a name that is declared global is no node
                        push(child)
            elif value.__class__ in _OWN_FIELDS:
                push(value)


def _own_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that hold expressions of the same statement, the last first."""
    if kind is ast.Lambda:
        return ()
    inner = _BLOCKS if issubclass(kind, ast.stmt) else ()
    return tuple(field for field in reversed(kind._fields) if field not in inner)


_BLOCKS = frozenset(("body", "orelse", "finalbody", "handlers", "cases"))
_OWN_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: _own_fields(kind)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, ast.expr_context | ast.operator)
}


def scalar_reads(place: Place, statement: ast.stmt) -> list[ast.Call]:
    """The scalar reads of a statement, outermost first."""
    return place.once(
        ("scalar_reads", statement, place.hot is not None),
        lambda: [n for n in own_nodes(statement) if isinstance(n, ast.Call) and scalar_read(place, n) is not None],
    )


def reads_together(place: Place) -> int:
    """How many scalar reads the block of the place has."""
    near = block(place.flow, place.statement)
    return place.once(
        ("reads_together", near[0], place.hot is not None),
        lambda: sum(len(scalar_reads(place, statement)) for statement in near),
    )


def per_element(place: Place, call: ast.Call) -> ast.AST | None:
    """The comprehension, or the inner loop over tensors, that repeats a read once an element."""
    comprehension = place.flow.comprehension(call)
    if comprehension is not None:
        return comprehension
    loops = place.flow.loops(call)
    if not loops or not isinstance(loops[0], ast.For):
        return None
    if loops[0] is place.warm or (place.hot is not None and loops[0] is place.hot.loop):
        return None
    if _streamed(place, loops[0].iter):
        return None
    value = place.value(loops[0].iter)
    over_tensors = value.kind == "tensor" or (
        value.kind == "list" and value.element is not None and _holds_tensor(value.element)
    )
    return loops[0] if over_tensors and not value.from_loader else None


def _streamed(place: Place, iterated: ast.expr) -> bool:
    """Whether a generator of the project computes each element only when the one before was used."""
    targets = place.project.targets(place.function, iterated) if isinstance(iterated, ast.Call) else []
    return any(
        isinstance(node, ast.Yield) and any(isinstance(loop, ast.While) for loop in target.flow.loops(node))
        for target in targets
        for node in target.flow.nodes
    )


def _holds_tensor(value: Value) -> bool:
    return value.kind == "tensor" or any(_holds_tensor(item) for item in value.items or ())


# Tests


def tested(place: Place, test: ast.expr) -> Iterator[ast.expr]:
    """The operands of a condition whose truth is the value of a device tensor."""
    if isinstance(test, ast.BoolOp):
        for operand in test.values:
            yield from tested(place, operand)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from tested(place, test.operand)
    elif isinstance(test, ast.Call) and _compares(place, test):
        yield test
    else:
        value = place.value(test)
        # What a function gives may be a bool on some of its paths: on the others it is read.
        if not value.is_tensor or not (value.boolean or value.scalar):
            return
        other = {"none", "number"} if isinstance(test, ast.Call) and value.boolean else {"none"}
        if not value.other_kinds - other and device_tensor(place, test) and not _raw(place, test):
            yield test


def _raw(place: Place, test: ast.expr) -> bool:
    """Whether a comparison is with a bare field of a batch, which may be a Python number as well as a tensor."""
    if not isinstance(test, ast.Compare):
        return False
    tensors = [v for v in map(place.value, (test.left, *test.comparators)) if v.kind == "tensor"]
    return all(v.managed or v.from_loader for v in tensors)


def _compares(place: Place, call: ast.Call) -> bool:
    """`torch.equal(a, b)`, `a.equal(b)`, `torch.allclose(a, b)`: a Python bool from a value of the device."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return False
    name = place.resolve(func)
    row = operator(name or f"torch.Tensor.{func.attr}")
    if row is None or not row.waits or row.returns.kind != "bool":
        return False
    operands = call.args if name is not None else [func.value, *call.args]
    return any(device_tensor(place, operand) is not None for operand in operands)


# Logging


def logging_call(place: Place, call: ast.Call) -> bool:
    """`print`, a method of a logger, a progress bar or an experiment tracker."""
    name = place.resolve(call.func)
    if name == "print" or name in (
        "wandb.log",
        "mlflow.log_metric",
        "mlflow.log_metrics",
        "tqdm.tqdm.write",
        "tqdm.write",
    ):
        return True
    func = call.func
    if not isinstance(func, ast.Attribute) or not (call.args or call.keywords):
        return False
    if func.attr in _LOGGERS | _WRITERS:
        # `metrics.log_scalar(...)` of a module of the project's own: what it is given was read before.
        return name is None or not isinstance(place.project.definition(name, place.function.module), Function)
    if func.attr in _FRAMEWORK_LOGS:
        # `self.log("loss", loss)` of Lightning keeps the tensor; `loss.log()` is arithmetic.
        receiver = func.value
        return (
            not (isinstance(receiver, ast.Name) and receiver.id == "self")
            and place.value(receiver).kind != "tensor"
            and name is None
        )
    return False


def logged(place: Place, call: ast.Call) -> ast.expr | None:
    """The first device tensor that a logging call formats or reads."""
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        for node in formatted(place, given):
            if device_tensor(place, node) is not None:
                return node
        for part in ast.walk(given):
            if isinstance(part, ast.Call) and scalar_read(place, part) is not None:
                return part
    keys = [place.value(given).entries for given in call.args]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _FRAMEWORK_LOGS | _WRITERS:
        for given, found in zip(call.args, keys, strict=True):
            if (
                any(v.is_tensor and not v.on_cpu and not v.from_loader for v in (found or {}).values())
                and place.accelerator
            ):
                return given
    return None


def formatted(place: Place, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that a value to be logged turns into text."""
    if isinstance(node, ast.JoinedStr | ast.Tuple | ast.List):
        for part in node.values if isinstance(node, ast.JoinedStr) else node.elts:
            yield from formatted(place, part)
    elif isinstance(node, ast.FormattedValue | ast.Starred):
        yield from formatted(place, node.value)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from formatted(place, value)
    elif isinstance(node, ast.BinOp) and place.value(node).kind == "str":
        for side in (node.left, node.right):
            yield from formatted(place, side)
    elif isinstance(node, ast.Call) and _formats(place, node):
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from formatted(place, given)
    else:
        yield node


def _formats(place: Place, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr == "format" and place.value(call.func.value).kind in ("str", "unknown")
    return place.resolve(call.func) in _FORMATS


def is_logged(place: Place, node: ast.expr) -> bool:
    """Whether the place stands in the arguments of a logging call, which TL104 reports."""
    return any(isinstance(a, ast.Call) and logging_call(place, a) for _, a in place.flow.takers(node))


# How often


def severity(place: Place) -> Literal["warning", "info"] | None:
    """`warning` in step loops, `info` in evaluation and generation loops and in what these call, None elsewhere and in tests."""
    if place.role == "test":
        return None
    if place.hot is not None:
        return "warning"
    return "info" if place.warm is not None or place.warm_caller is not None else None


def repeated(place: Place) -> bool:
    """Whether the place runs in a `forward`, or on each iteration of a loop as `severity` has it."""
    return in_forward(place) or severity(place) is not None  # the loops that call a function take longer to find


def how_often(place: Place) -> str:
    """The end of a sentence: when the cost is paid."""
    if place.hot is not None:
        return "on every training step"
    if place.warm is not None:
        return "on every iteration of this loop"
    called = place.warm_caller is not None and isinstance(place.warm_caller[1], ast.FunctionDef | ast.AsyncFunctionDef)
    return "on every batch that it is called for" if called else "on every iteration of a loop that calls it"


def for_environment(place: Place, node: ast.expr) -> bool:
    """Whether the value goes to `env.step(action)`, which needs it on the host."""
    directly = place.consumed_by(("step",), node) and _steps_environment(place.function)
    return directly or _is_action(place, node)


_MOST_CALLERS = 8
_COUNTED_FROM = frozenset(f"torch.{name}" for name in ("tensor", "arange", "zeros", "ones", "full"))


def _is_counted(place: Place, node: ast.expr, loop: ast.While) -> bool:
    """Whether `while t < n` asks for a counter that is kept on the device though the host has all that goes into it.

    It begins as a tensor of numbers, `t = torch.tensor([n])`, and the loop only adds numbers: `t.add_(k)`, `t += 1`.
    """
    read = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and place.value(part).kind == "tensor"}
    return len(read) == 1 and _adds_numbers(place, next(iter(read)), loop)


def _adds_numbers(place: Place, name: str, loop: ast.While) -> bool:
    flow = place.flow
    added = [
        call
        for call in flow.calls_named("add_")
        if contains(loop, call) and names.chain(call.func) == [name, "add_"] and _are_numbers(place, call.args)
    ]
    sums = 0
    for store in flow.stores.get(name, ()):
        statement = flow.parents.get(store)
        if isinstance(statement, ast.AugAssign):
            if not (isinstance(statement.op, ast.Add) and _are_numbers(place, [statement.value])):
                return False
            sums += contains(loop, statement)
        elif not (isinstance(statement, ast.Assign) and _is_of_numbers(place, statement.value)):
            return False
    return bool(flow.stores.get(name)) and bool(added or sums)


def _is_of_numbers(place: Place, made: ast.expr) -> bool:
    """`torch.tensor([n], device=device)`"""
    if not isinstance(made, ast.Call) or place.resolve(made.func) not in _COUNTED_FROM:
        return False
    return _are_numbers(
        place, [part for one in made.args for part in (one.elts if isinstance(one, ast.List) else [one])]
    )


def _are_numbers(place: Place, given: Collection[ast.expr]) -> bool:
    return bool(given) and all(place.value(one).kind == "number" for one in given)


_COLLECTIVES = ("broadcast", "all_reduce")


def decides(place: Place, node: ast.expr) -> bool:
    """Whether the value decides if the loop goes on, or is handed out by it, and so has to be on the host.

    `while t.item() > limit`, and in evaluation and generation loops `if token.item() == end: break` and
    `yield token.item()`; in a step loop such a test is mostly a check for NaN, unless processes agree on it.
    """
    loops = place.flow.loops(node)
    if not loops:
        return False
    if isinstance(loops[0], ast.While) and contains(loops[0].test, node):
        return not _is_counted(place, node, loops[0])
    statement = place.statement
    leaves = isinstance(statement, ast.If) and contains(statement.test, node) and any(map(_leaves, statement.body))
    if place.hot is not None:
        return leaves and _is_agreed(place, loops[0], node)
    if leaves:
        return True
    names, calls_ = place.once(("leaving", loops[0]), lambda: _leaving(loops[0]))
    return not names.isdisjoint(_assigned(place.statement)) or (bool(calls_) and ast.dump(node) in calls_)


def _is_agreed(place: Place, loop: Loop, node: ast.expr) -> bool:
    """Whether the loop gives what is read to a collective: `broadcast(stop, 0)` before `if stop.item(): break`."""
    read = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return any(
        loop in place.flow.loops(call) and any(isinstance(one, ast.Name) and one.id in read for one in call.args)
        for name in _COLLECTIVES
        for call in place.flow.calls_named(name)
    )


def _leaving(loop: Loop) -> tuple[frozenset[str], frozenset[str]]:
    """The names that tests which may leave a loop read, and what it yields; and the calls those make."""
    read: list[ast.expr] = []
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and any(map(_leaves, node.body)):
            read.append(node.test)
        elif isinstance(node, ast.Yield) and node.value is not None:
            read.append(node.value)
    parts = [part for node in read for part in ast.walk(node)]
    return (
        frozenset(part.id for part in parts if isinstance(part, ast.Name)),
        frozenset(ast.dump(part) for part in parts if isinstance(part, ast.Call)),
    )


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement breaks or returns somewhere; what a function defined in it does is its own."""
    if isinstance(statement, ast.Break | ast.Return):
        return True
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(
        _leaves(part)
        for child in ast.iter_child_nodes(statement)
        for part in (child.body if isinstance(child, ast.ExceptHandler | ast.match_case) else [child])
        if isinstance(part, ast.stmt)
    )


def _assigned(statement: ast.stmt) -> set[str]:
    """The names in what a statement assigns to."""
    return {part.id for target in _targets(statement) for part in ast.walk(target) if isinstance(part, ast.Name)}


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign | ast.AugAssign) else []


_PROCESSOR = regex(r"Att(?:n|ention)\w*Processor")


_QUERY_KEY_VALUE = (frozenset(("query", "key", "value")), frozenset("qkv"))
_CHECKS = regex(r"(?:^|_)(?:ref|reference|naive|test|check|plot|show|visuali[sz]e|draw|debug|init)(?:_|$)")


def in_forward(place: Place) -> bool:
    """Whether the place runs in a `forward`, in attention, or in a function that one of these calls, at most five deep.

    A call that is rare there, or behind an option that nobody gives, is none, nor is one of a test.
    A function that keeps its results (`@lru_cache`) runs once for the same numbers, but again for each batch's tensors.
    """
    function = place.function
    return place.once(("in forward", function), lambda: _runs_in_forward(place, function, 5, {}))


def _runs_in_forward(place: Place, function: Function, depth: int, seen: dict[Function, int]) -> bool:
    # Callers in the same file come first: where they tell, the other files are not parsed.
    if seen.get(function, -1) >= depth or _keeps_results(function):
        return False
    seen[function] = depth
    return (
        _is_forward(place, function)
        or _is_part(place, function)
        or (
            depth > 0
            and any(
                _runs_in_forward(place, site.function, depth - 1, seen) and not place.at(site.function, site.call).rare
                for site in place.callers(function)
                if not place.project.in_test(site.function.module.path, site.function.name)
            )
        )
    )


def _is_forward(place: Place, function: Function) -> bool:
    if function.cls is None:
        return _is_attention(place, function)
    if function.name == "forward" and place.project.is_module(function.cls):
        return True
    if function.name in ("forward", "backward"):
        return any(place.project.base_name(function.cls, base) == _FUNCTION for base in function.cls.bases)
    return (
        function.name == "__call__"
        and _PROCESSOR.search(function.cls.name) is not None
        and any(parameter.arg.startswith(("attn", "attention", "hidden")) for parameter in function.parameters)
    )


_FUNCTION = "torch.autograd.Function"


def _is_part(place: Place, function: Function) -> bool:
    """Whether a module makes a method of its own a part of itself: `downsample = partial(self.pad, planes=64)`."""
    klass = function.cls
    if klass is None or not klass.module.source.holds(b"partial("):
        return False
    return function.name in place.once(("partial parts", klass), lambda: _parts_of(place, klass))


def _parts_of(place: Place, klass: Class) -> frozenset[str]:
    """The methods that a module gives to `partial`."""
    if not place.project.is_module(klass):
        return frozenset()
    given = (
        names.chain(call.args[0])
        for method in klass.methods.values()
        for call in method.flow.calls_named("partial")
        if call.args
    )
    return frozenset(parts[1] for parts in given if parts is not None and len(parts) == 2 and parts[0] == "self")


_TRACERS = frozenset(
    ("is_scripting", "is_tracing", "is_compiling", "is_in_onnx_export", "is_exporting", "isinstance", "is_tensor")
)


def behind_type_test(place: Place) -> bool:
    """Whether the place is behind a test of how a module runs, or of what it was given."""
    return any(
        isinstance(part, ast.Call) and names.last(part.func) in _TRACERS
        for guard in place.flow.guards(place.target)
        for part in ast.walk(guard.test)
    )


def _keeps_results(function: Function) -> bool:
    if not any("cache" in name for name in function.decorator_names):
        return False
    annotations = [parameter.annotation for parameter in function.parameters if parameter.annotation is not None]
    return not any("Tensor" in ast.unparse(annotation) for annotation in annotations)


def _is_attention(place: Place, function: Function) -> bool:
    """`def sage_attention(query, key, value)`: who computes attention runs in a forward, however it is called.

    Not what other kernels are compared with, which is free to be slow.
    """
    given = {parameter.arg for parameter in function.parameters}
    return any(names <= given for names in _QUERY_KEY_VALUE) and place.role != "test" and not shows(function)


def shows(function: Function) -> bool:
    """Whether a function checks, draws or prepares something, by its name, and so may be slow."""
    return _CHECKS.search(function.name) is not None
