"""Loops over whole runs of a program (settings, seeds, folds, attempts), not over its steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from ..system.regex import regex
from . import names, operations
from .argparse_defaults import lists
from .flow import Flow, Loop, contains
from .layers import WITHOUT_WEIGHTS
from .module import Class, Function
from .nodes import Choice, bound_names, names_in
from .values import Value

_RUN = regex(
    r"(?:^|_)(?:fold|seed|trial|run|config|cfg|conf|experiment|hparams?|setting|repeat)s?(?:_?(?:id|idx|no|num|name))?$"
)
_TRIES = regex(r"(?:^|_)(?:retry|retries|attempts?|tries)(?:_|$)")
_FEW_TRIES = 100
"""A loop that fails after more tries than these may be one of steps."""
FEW = 16
"""A loop that counts to no more than this is no work beside a hundred steps."""
_GO_THROUGH = frozenset(("tqdm", "enumerate", "reversed", "list", "zip"))
"""Functions that give the elements of a list one by one."""
_ASK = frozenset(("len", "sum", "is_tensor", "isinstance", "stack"))
"""Functions that leave a list as it is."""
_MOVES = frozenset(("to", "cuda", "half", "bfloat16", "train"))
_CAPTURES = frozenset(("CUDAGraph", "XPUGraph", "capture_begin", "make_graphed_callables"))
_CRITERION = regex(r"loss|criterion|entropy", re.IGNORECASE)
_MODEL = regex(r"(?:^|_)(?:model|net|network)$")
_OPTIMIZER = regex(r"optim|sgd|adam|lbfgs|rmsprop|adagrad", re.IGNORECASE)


def over_runs(function: Function, loop: Loop, value_of: Callable[[ast.expr], Value]) -> bool:
    """Whether a loop goes through settings, by what it is over or because each iteration makes what it runs, or tries again."""
    return (
        tries_again(function.flow, loop)
        or over_settings(function, loop)
        or makes_what_it_runs(function.flow, loop, value_of)
    )


def tries_again(flow: Flow, loop: Loop) -> bool:
    """Whether a loop ends with the first iteration that succeeds, or counts its attempts: few iterations, of no data.

    `while retries: retries -= 1; try: ... except RuntimeError: pass`, `while True: try: return f() except Full: wait()`
    """
    if _leaves(loop.body) or gives_up(flow, loop):
        return True
    tried = [one for one in loop.body if isinstance(one, ast.Try) and not all(_leaves(h.body) for h in one.handlers)]
    if any(isinstance((one.orelse or one.body)[-1], ast.Break | ast.Return) for one in tried):
        return True
    counted = loop.test if isinstance(loop, ast.While) else loop.target
    return bool(tried) and any(isinstance(part, ast.Name) and _TRIES.search(part.id) for part in ast.walk(counted))


def gives_up(flow: Flow, loop: Loop) -> bool:
    """`while unstable(a): a = a + noise; n += 1; if n > 10: raise Error()`: it mends what is seldom wrong, or fails after a few tries."""
    if not isinstance(loop, ast.While):
        return False
    counted = _added_to(loop)
    return any(isinstance(one, ast.If) and _fails_beyond(flow, flow.choice(one), counted) for one in loop.body)


def _fails_beyond(flow: Flow, asked: Choice, counted: set[str]) -> bool:
    """`if n > 10: raise Error()` of what is counted."""
    compared, true, block, _ = asked
    if not isinstance(block[-1], ast.Raise) or not isinstance(compared, ast.Compare) or len(compared.ops) > 1:
        return False
    most = flow.function.number(compared.comparators[0])
    return (
        true
        and isinstance(compared.left, ast.Name)
        and compared.left.id in counted
        and isinstance(compared.ops[0], ast.Gt | ast.GtE | ast.Eq)
        and isinstance(most, int)
        and most <= _FEW_TRIES
    )


def asks_user(flow: Flow, loop: Loop) -> bool:
    """`while True: prompt = input()`: each iteration waits for what somebody types."""
    asked = (call for call in flow.calls_named("input") if isinstance(call.func, ast.Name))
    return "input" not in flow.stores and any(loop in flow.loops(call)[:1] for call in asked)


def captures(flow: Flow, loop: Loop) -> bool:
    """Whether each iteration captures a graph of the device, for a size or a shape: it is done before anything is run."""
    return any(loop in flow.loops(call) for name in _CAPTURES for call in flow.calls_named(name))


def runs_with_capture(flow: Flow, node: ast.AST) -> bool:
    """Whether a graph of the device is captured whenever a place runs, which is done once for a shape."""
    captured = [call for name in _CAPTURES for call in flow.calls_named(name)]
    captured += [call for call in flow.calls_named("graph") if _is_of_cuda(call.func)]
    if not captured:
        return False
    behind = {(guard.test, guard.true) for guard in flow.guards(node)}
    return any(behind.issuperset((guard.test, guard.true) for guard in flow.guards(call)) for call in captured)


def _is_of_cuda(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and names.last(func.value) in ("cuda", "xpu")


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a block leaves the loop that it stands in, be it at the end of a `with`."""
    if body and isinstance(body[-1], ast.With | ast.AsyncWith):
        return _leaves(body[-1].body)
    return bool(body) and isinstance(body[-1], ast.Break | ast.Return | ast.Raise)


def over_settings(function: Function, loop: Loop) -> bool:
    """`for rate in (0.1, 0.01):`, `for seed in range(3):`, `for a, b in itertools.product(...):`; not `for seeds in loader:`

    What the command line takes a list of (`nargs="+"`) is settings too: `for size in args.sizes:`.
    """
    if not isinstance(loop, ast.For) or operations.looks_like_loader(loop.iter):
        return False
    if any(isinstance(part, ast.Name) and _RUN.search(part.id) for part in _elements(loop.target)):
        return True
    node = loop.iter
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in lists(function.module):
        return True
    if isinstance(node, ast.Call) and names.last(node.func) in ("product", "ParameterGrid"):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value  # {...}.items()
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        return True
    return _is_named_settings(_definition(function, node))


def of_few(function: Function, loop: Loop) -> bool:
    """Whether a loop goes through a list that is written out: `for flip in flips:` of `flips = [0, 1] if twice else [0]`."""
    if not isinstance(loop, ast.For):
        return False
    node = loop.iter
    if not isinstance(node, ast.Name):
        return _is_written_out(node)
    stores = () if node.id in function.flow.parameters else function.flow.stores.get(node.id, ())
    made = [function.flow.parents.get(store) for store in stores]
    return bool(made) and all(isinstance(one, ast.Assign) and _is_written_out(one.value) for one in made)


def of_one(function: Function, loop: Loop) -> bool:
    """Whether a loop goes through one thing at most: `for path in tqdm(paths[:1]):`, `for _ in range(1):`.

    So does one that reads as a number what it goes through: `for name, row in zip(names, scores): print(name, scores.item())`.
    """
    return isinstance(loop, ast.For) and _is_one(loop.iter, lambda node: _is_read_as_one(function.flow, loop, node))


def _is_read_as_one(flow: Flow, loop: ast.For, node: ast.expr) -> bool:
    """Whether each iteration asks all that a name stands for for its `item()`, which more than one element have not."""
    if not isinstance(node, ast.Name) or any(contains(loop, store) for store in flow.stores.get(node.id, ())):
        return False
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "item"
        and names.chain(call.func.value) == [node.id]
        and not call.args
        and any(contains(one, call) for one in loop.body)
        and next(flow.guards(call, loop), None) is None
        for call in flow.calls_within(loop)
    )


def of_one_kept(function: Function, loop: Loop) -> bool:
    """The same, also of a list that gets one thing: `extra = [penalty]`."""
    return isinstance(loop, ast.For) and _is_one(loop.iter, lambda node: _is_list_of_one(function, node))


def _is_one(node: ast.expr, is_one: Callable[[ast.expr], bool]) -> bool:
    match node:
        case ast.Subscript(slice=ast.Slice(lower=None, upper=ast.Constant(value=1), step=None)):
            return True
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=1)]):
            return True
        case ast.Call(func=ast.Name(id="zip"), args=given):
            return any(_is_one(one, is_one) for one in given)
        case ast.Call(args=[whole, *_]) if names.last(node.func) in _GO_THROUGH:
            return _is_one(whole, is_one)
    return is_one(node)


def _is_list_of_one(function: Function, node: ast.expr) -> bool:
    """Whether a list of the function gets one thing: `extra = []`, `extra.append(penalty)`, and nothing else is done to it."""
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts) == 1 and not isinstance(node.elts[0], ast.Starred)
    if not isinstance(node, ast.Name):
        return False
    flow, name = function.flow, node.id
    stores = flow.stores.get(name, ())
    if (
        not stores
        or name in flow.parameters
        or name in flow.globals
        or not all(_only_asks(flow, one) for one in flow.loads[name])
    ):
        return False
    added = [call for call in flow.calls_named("append") if names.chain(call.func) == [name, "append"]]
    first = min(stores, key=lambda store: store.lineno)
    around = frozenset(flow.guards(first))
    if any(
        flow.loops(one) != flow.loops(first) or not around <= frozenset(flow.guards(one)) for one in (*stores, *added)
    ):
        return False
    return all(
        isinstance(made := flow.parents.get(store), ast.Assign)
        and isinstance(made.value, ast.List)
        and not any(isinstance(one, ast.Starred) for one in made.value.elts)
        and len(made.value.elts) + sum(call.lineno > store.lineno for call in added) <= 1
        for store in stores
    )


def _only_asks(flow: Flow, load: ast.Name) -> bool:
    """Whether a place that names a list adds no more to it than `append` does: `len(xs)`, `for x in zip(xs, ys)`, `[xs]`."""
    around = flow.parents.get(load)
    if isinstance(around, ast.Call):
        return names.last(around.func) in _ASK or names.last(around.func) in _GO_THROUGH
    if isinstance(around, ast.Attribute):
        return around.attr == "append"
    return isinstance(around, ast.List | ast.For | ast.comprehension | ast.Subscript)


def counts_few(function: Function, loop: Loop) -> bool:
    """Whether a loop counts to a small number that stands there, or has a name: `for _ in range(5):`, `for _ in range(TRIALS):`, `while i < 5:`."""
    most = function.number(counted_to(loop))
    return isinstance(most, int) and 0 <= most <= FEW


def counted_to(loop: Loop) -> ast.expr | None:
    """The number of iterations that a loop counts: `n` of `for _ in range(n):`, and of `while i < n: ...; i += 1`, which may begin further on."""
    match loop:
        case ast.For(iter=ast.Call(ast.Name("range"), [last], [])):
            return last
        case ast.While(
            test=ast.Compare(ast.Name(id=counter), [ast.Lt()], [last]),
            body=[*_, ast.AugAssign(ast.Name(id=counted), ast.Add(), ast.Constant(value=1))],
        ):
            continued = any(isinstance(node, ast.Continue) for node in ast.walk(loop))
            return last if counted == counter and not continued else None
    return None


def counts_by(loop: Loop) -> set[str]:
    """The names that a loop binds for each iteration, or counts: `epoch` of `for epoch in range(n):`, and of `while epoch < n:` with `epoch += 1`."""
    if not isinstance(loop, ast.While):
        return bound_names(loop.target)
    return names_in(loop.test) & _added_to(loop)


def _added_to(loop: ast.While) -> set[str]:
    """The names that each iteration adds to: `n` of `n += 1`."""
    return {
        one.target.id
        for one in loop.body
        if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add) and isinstance(one.target, ast.Name)
    }


def repeats(function: Function, loop: Loop) -> bool:
    """Whether a loop does the same a few times, for a mean of what is random: `for _ in range(TRIALS): outs.append(model(x))`."""
    nameless = isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == "_"
    return nameless and counts_few(function, loop)


def _is_written_out(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_written_out(node.body) and _is_written_out(node.orelse)
    return isinstance(node, ast.List | ast.Tuple) and bool(node.elts)


def _elements(target: ast.expr) -> list[ast.expr]:
    """The names that a loop binds first: `seed` of `for seed in`, `run` of `for run, seed in enumerate(...)`."""
    return list(target.elts) if isinstance(target, ast.Tuple) else [target]


def _definition(function: Function, node: ast.expr) -> ast.expr | None:
    """What a name is assigned from, once, in the function or at the top of its module."""
    return function.assigned_once(node.id) if isinstance(node, ast.Name) else None


def _is_named_settings(node: ast.expr | None) -> bool:
    """`DATASETS = ["a", "b"]`, `CONFIGS = {"a": {...}}`: names and options; a list of numbers or of pairs may be data."""
    if isinstance(node, ast.Dict):
        return True
    return (
        isinstance(node, ast.Tuple | ast.List | ast.Set)
        and bool(node.elts)
        and all(
            isinstance(e, ast.Dict) or (isinstance(e, ast.Constant) and isinstance(e.value, str | bool))
            for e in node.elts
        )
    )


def makes_what_it_runs(flow: Flow, loop: Loop, value_of: Callable[[ast.expr], Value]) -> bool:
    """Whether each iteration makes an optimizer, or a model that none steps, and with it begins anew."""
    within = flow.calls_within(loop)
    steps = any(names.last(call.func) == "step" for call in within)
    for call in within:
        parent = flow.parents[call]
        if not isinstance(parent, ast.Assign) or flow.loops(parent)[:1] != [loop]:
            continue
        is_optimizer = _OPTIMIZER.search(names.last(call.func)) is not None
        if (not is_optimizer and steps) or next(flow.guards(parent, loop), None) is not None:
            continue
        if value_of(call).kind == "optimizer" if is_optimizer else _is_new_model(parent, call, value_of):
            return True
    return False


def _is_new_model(made: ast.Assign, call: ast.Call, value_of: Callable[[ast.expr], Value]) -> bool:
    """`Net(size)`, `model = Unknown(size).to(device)`: a module with parameters to train; a criterion, or a softmax, is made anywhere."""
    while isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES and isinstance(call.func.value, ast.Call):
        call = call.func.value
    name = names.last(call.func)
    if not name[:1].isupper() or _CRITERION.search(name):
        return False
    value, target = value_of(call), made.targets[0]
    named = isinstance(target, ast.Name) and _MODEL.search(target.id) is not None
    if value.kind == "module":
        return value.class_name not in WITHOUT_WEIGHTS and not (value.class_ and _makes_no_layers(value.class_))
    return value.kind == "unknown" and named


def _makes_no_layers(klass: Class) -> bool:
    """Whether a constructor keeps options and empty containers alone: a module that trains nothing."""
    init = klass.methods.get("__init__")
    if init is None or [names.last(base) for base in klass.bases] != ["Module"]:
        return False
    made = (node.value for node in init.flow.nodes if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign))
    return not any(isinstance(part, ast.Call) for value in made if value is not None for part in ast.walk(value))


def is_made_in(loop: Loop, flow: Flow, call: ast.Call) -> bool:
    """`for rate in rates: trainer = Trainer(rate); trainer.fit()`: what is made anew each time runs once, as a whole."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = flow.assignment(owner.id) if isinstance(owner, ast.Name) else None
    return made is not None and isinstance(made.value, ast.Call) and loop in flow.loops(made)
