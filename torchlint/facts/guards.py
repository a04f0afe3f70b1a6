"""What a condition means for how often the code behind it runs: a throttle, a weak throttle, a cold path, a rank."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Literal

from ..system.regex import regex
from . import environment, names, syntax, versions
from .argparse_defaults import argparse_defaults
from .common_names import OPTIONS_NAME
from .flow import Flow, Guard, Loop
from .module import Class, Function
from .nodes import in_any_order, is_constant, measured, none_test, sized, string, turned
from .values import Value

Meaning = Literal["throttled", "weak", "cold", ""]
RARE = frozenset(("throttled", "cold"))
"""What keeps the code behind a condition from running each time."""
ValueOf = Callable[[ast.expr], Value]

# Every how many steps a condition may hold and still count as every step.
EVERY = 4

# A condition on a counter below this bound holds for the first steps of a run only.
FIRST = 100

# What of all iterations a draw may let through.
SELDOM = 0.1

# How many statements a block has at most that is for an accident because it warns.
SHORT = 10

# Where steps are looked up: `step in milestones`, `step in [n - 1 for n in milestones]`.
_MILESTONES = ast.Tuple | ast.List | ast.Set | ast.ListComp | ast.SetComp | ast.Name | ast.Attribute | ast.Call

# In how many branches a flag may be assigned.
MOST_BRANCHES = 4

# What warns once is called, as a function or a method.
_WARN_ONCE = frozenset(("warn_once", "warning_once", "rank_zero_warn"))

# How many flags, each defined by the next, a condition is followed through.
FOLLOWED = 20

_WORDS = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_THROTTLES = frozenset(
    """log logs logging logger print printing eval evaluate evaluation save saving saved backup backups interval freq frequency every
    verbose debug debugging checkpoint ckpt report reporting display show viz vis visualize visualise plot plotting dump
    profile profiling profiler validate validation check checks safe sanity summary disp monitor watch snapshot steps sample sampling
    trigger triggers triggered""".split()
)
# Words that only count when they end the name: `steps` alone is a number, `log_steps` was matched by `log`.
_NOT_ALONE = frozenset(("steps", "sample", "sampling", "show", "vis", "logger", "summary"))
_FLAGS = frozenset(("show", "vis"))
"""Of these the ones that are flags where they alone decide: `if vis:`, but not `x_vis` of a masked autoencoder."""
_BEGINNINGS = frozenset("start starts starting begin warm warmup random burn burnin delay after".split())
_SAMPLES = frozenset(("sample", "sampling"))
_SHOWN_SAMPLES = frozenset(
    """image images img imgs picture pictures audio audios video videos text texts generate generated every each now epoch iter
    iteration time test val make write should output outputs""".split()
)
"""Words beside these that say that some are shown: others say how samples are drawn, or of what something is (`center_sample`, `do_sample`)."""
_LOGS = frozenset(("log", "logs"))
_OF_LOGARITHMS = frozenset(
    """prob probs probability probabilities space scale scaled transform transformed input inputs target targets likelihood
    likelihoods var variance std sigma softmax density odds domain magnitude spec mel amplitude alpha base weights temperature
    pdf sumexp linear""".split()
)
"""Words beside these that speak of logarithms."""
_BACKUPS = frozenset(("backup", "backups"))
_OF_BACKUPS = frozenset("do should need needs make now is time to".split())
"""Words beside these that ask for one: `max_target_backup`, `backup_entropy` are what Q-learning takes over."""
# A flag that names a tracker says where it is logged to.
_TRACKERS = frozenset("wandb tensorboard tensorboardx mlflow comet neptune clearml swanlab".split())
_TOLD = frozenset("log logs logging logger report reporting to use with enable enabled on".split())
_EVALUATES = frozenset(("eval", "evaluate", "evaluation", "validate", "validation"))
_SHOWS = frozenset("debug debugging show vis viz visualize visualise plot plotting dump profile profiling".split())
_REMAINDERS = frozenset("np.mod np.fmod np.remainder numpy.mod numpy.fmod numpy.remainder math.fmod".split())
_PERIODS = frozenset(("freq", "frequency", "every", "interval"))
_RANKS = frozenset(
    """rank local_rank global_rank is_main_process is_local_main_process is_master master_process is_global_zero
    main_process is_main is_rank_zero gpu local_process_index process_index ngpus_per_node world_size""".split()
)
_ACCUMULATION = regex(r"accum(?:ulat|_|$)|^update_freq$", re.IGNORECASE)
_EPOCH_BEFORE = regex(r"^_?(last|prev|previous|old)_epoch$")
_WEAK = frozenset(("sync_gradients",))
_TRAINING = frozenset(("training", "is_training", "isTrain", "is_train", "return_loss", "is_train_loader"))
_EVALUATING = frozenset(("test", "test_only", "eval_only", "is_valid_loader", "is_infer_loader"))
_STAGES = frozenset(("VALID", "TEST"))
"""Stages that don't train, beside TRAIN, of SpeechBrain: https://speechbrain.readthedocs.io/en/latest/API/speechbrain.core.html"""
_SOME = ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.In
_OF_DEVICE = frozenset("cuda use_cuda use_gpu with_cuda has_cuda is_cuda cuda_available".split())
_NAMES = 3
"""Through so many names a mask is followed."""
# What asks whether a graph is made of the code, once; no ordinary run comes there.
MAKES_GRAPHS = frozenset(
    ("is_scripting", "is_tracing", "_is_tracing", "_get_tracing_state", "is_in_onnx_export", "is_exporting")
)
_FOR_EXPORT = regex(r"^_?(?:onnx_trac(?:e|ing)|(?:for_|in_|is_)?(?:onnx_)?export(?:ing|_mode|_onnx)?)$")
"""Flags that are set where somebody exports a model: `if self.onnx_trace:`."""
# What is true while Dynamo traces.
ASKS_COMPILER = frozenset(("is_compiling", "is_dynamo_compiling", "is_torchdynamo_compiling"))
_CLOCKS = frozenset(
    """time.time time.perf_counter time.monotonic time.process_time datetime.datetime.now time perf_counter timer""".split()
)
_LASTS = frozenset(
    """is_last last_batch is_last_step last_step is_first first_step init done dones finished terminated truncated
    should_log should_print should_save should_eval""".split()
)


def asks_compiler(flow: Flow) -> bool:
    """Whether a function asks whether Dynamo compiles it."""
    return any(map(flow.calls_named, ASKS_COMPILER))


def meaning(guard: Guard, flow: Flow, value_of: ValueOf) -> Meaning:
    """What one guard on the way to a place says; "" for an ordinary condition."""
    if _is_requirement(guard):
        return ""
    if versions.outdated(guard.test, guard.true, flow) or _warns(guard):
        return "cold"
    if begins_again(guard, flow, value_of):
        return "throttled"
    return _Reading(flow, value_of).test(_going_on(guard, flow), guard.true)


def _going_on(guard: Guard, flow: Flow) -> ast.expr:
    """What a condition asks where the program goes on: `step == 0` of `if step == 0 or only_test: ...; if only_test: sys.exit()`."""
    test = guard.test
    if not (guard.true and guard.block and isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)):
        return test
    choices = (flow.choice(one) for one in guard.block if isinstance(one, ast.If))
    ends = [one.test for one in choices if one.true and flow.ends_in_exit(tuple(one.block), leaves_function=True)]
    rest = [part for part in test.values if not any(syntax.same(part, end) for end in ends)]
    if not ends or not rest:
        return test
    return ast.BoolOp(ast.Or(), rest) if len(rest) > 1 else rest[0]


def _is_requirement(guard: Guard) -> bool:
    """`if width % heads != 0: raise ValueError`: it always holds where the program goes on, so it thins out nothing."""
    otherwise = guard.otherwise
    return bool(otherwise) and isinstance(otherwise[-1], ast.Raise)


def _warns(guard: Guard) -> bool:
    """Whether a block warns that it is run: `if len(rows) == 0: logger.warning("no rows"); rows = torch.zeros(1)`, `warn_once(...)`."""
    block = guard.block if guard.block is not None and len(guard.block) <= SHORT else ()
    calls = [one.value for one in block if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    named = [(call, called) for call in calls if (called := names.chain(call.func)) is not None]
    return any(len(called) > 1 and called[-1] in ("warning", "warn") for _, called in named) or (
        len(block) == 1 and any(called[-1] in _WARN_ONCE and _says_numbers(call) for call, called in named)
    )


def _says_numbers(call: ast.Call) -> bool:
    """Whether a message is made of what was found, `f"{n} rows"`; a text alone may tell of a mode that the program runs in."""
    return not all(isinstance(given, ast.Constant) for given in call.args)


def begins_again(guard: Guard, flow: Flow, value_of: ValueOf) -> bool:
    """`self.seen += 1; if self.seen >= self.period: self.seen = 0; ...`, `if seen < period: continue; seen = 0`: once a period.

    So is a list that is emptied when it is full, what counts down, and a limit that is moved on when it is reached.
    """
    if not (isinstance(guard.test, ast.Compare) and len(guard.test.ops) == 1):
        return False
    ways = [guard.test, turned(guard.test)]
    return any(
        _begins_again(way, guard, flow, value_of)
        or _counts_down(way, guard, flow, value_of)
        or _moves_on(way, guard, flow, value_of)
        for way in ways
        if way is not None
    )


def _is_reached(test: ast.Compare, true: bool) -> bool:
    """`seen >= limit`, and `seen < limit` where that does not hold."""
    return isinstance(test.ops[0], (ast.GtE, ast.Gt, ast.Eq) if true else (ast.Lt, ast.LtE, ast.NotEq))


def _counts_down(test: ast.Compare, guard: Guard, flow: Flow, value_of: ValueOf) -> bool:
    """`left -= 1; if left <= 0: left = period; ...`"""
    down = isinstance(test.ops[0], (ast.LtE, ast.Lt, ast.Eq) if guard.true else (ast.Gt, ast.GtE, ast.NotEq))
    if not down or not is_constant(test.comparators[0], 0):
        return False
    stores = flow.targets.get(".".join(names.chain(test.left) or ()), ())
    counted = [one for one in map(flow.parents.get, stores) if isinstance(one, ast.AugAssign)]
    begun = [one for store in stores if (one := _written(store, guard, flow)) is not None]
    return (
        any(isinstance(one.op, ast.Sub) and one.lineno < test.lineno for one in counted)
        and bool(begun)
        and all(_is_some_way(one, value_of) for one in begun)
    )


def _moves_on(test: ast.Compare, guard: Guard, flow: Flow, value_of: ValueOf) -> bool:
    """`if step >= due: due += 100; ...`, `due = step + 100`, `if step - last >= 100: last = step; ...`, `if step < due: continue; due += 100`."""
    if not _is_reached(test, guard.true):
        return False
    counter, limit = test.left, test.comparators[0]
    if isinstance(counter, ast.BinOp) and isinstance(counter.op, ast.Sub):
        counts = _is_index(counter.left, value_of) or _is_now(counter.left, flow)
        return counts and _is_some_way(limit, value_of) and _is_moved_to(counter.left, counter.right, guard, flow)
    if not _is_index(counter, value_of) and not _is_now(counter, flow):
        return False  # a loss may come to its limit on each step
    if isinstance(limit, ast.BinOp) and isinstance(limit.op, ast.Add):
        sides = ((limit.left, limit.right), (limit.right, limit.left))
        return any(_is_moved_to(counter, last, guard, flow) and _is_some_way(by, value_of) for last, by in sides)
    return any(_is_some_way(by, value_of) for by in _moved_by(counter, limit, guard, flow))


def _is_some_way(by: ast.expr, value_of: ValueOf) -> bool:
    """Whether a limit that is so far away takes more than a few steps to reach; one at 0, or below, is there already."""
    far = value_of(by).const
    return not _small(by, value_of) and not (isinstance(far, int | float) and far <= 0)


def _is_now(node: ast.expr, flow: Flow) -> bool:
    """`time.time()`, `now` of `now = time.time()`."""
    made = flow.assignment(node.id) if isinstance(node, ast.Name) else None
    return _reads_clock(made.value if isinstance(made, ast.Assign) else node)


def _is_moved_to(counter: ast.expr, last: ast.expr, guard: Guard, flow: Flow) -> bool:
    """Whether a condition leads to `last = counter`."""
    stores = flow.targets.get(".".join(names.chain(last) or ()), ())
    written = (_written(store, guard, flow) for store in stores)
    return any(one is not None and syntax.same(one, counter) for one in written)


def _moved_by(counter: ast.expr, limit: ast.expr, guard: Guard, flow: Flow) -> Iterator[ast.expr]:
    """By how much a condition moves a limit on that a counter has reached: 100 of `due += 100` and `due = step + 100`."""
    for store in flow.targets.get(".".join(names.chain(limit) or ()), ()):
        statement = flow.parents.get(store)
        if isinstance(statement, ast.AugAssign):
            if isinstance(statement.op, ast.Add) and _is_opened(guard, statement, flow):
                yield statement.value
        elif isinstance(written := _written(store, guard, flow), ast.BinOp) and isinstance(written.op, ast.Add):
            for one, by in ((written.left, written.right), (written.right, written.left)):
                if syntax.same(one, counter) or syntax.same(one, limit):
                    yield by


def _begins_again(test: ast.Compare, guard: Guard, flow: Flow, value_of: ValueOf) -> bool:
    if not _is_reached(test, guard.true) or _small(test.comparators[0], value_of):
        return False
    filled = measured(test.left)
    if filled is not None:
        return _is_emptied(names.chain(filled) or [], guard, flow)
    counter = names.chain(test.left)
    stores = flow.targets.get(".".join(counter), ()) if counter is not None else ()
    counted = any(isinstance(flow.parents.get(store), ast.AugAssign) and store.lineno < test.lineno for store in stores)
    return counted and any(is_constant(_written(store, guard, flow), 0) for store in stores)


def _is_emptied(name: list[str], guard: Guard, flow: Flow) -> bool:
    """Whether a list that was added to in front of a condition is emptied behind it: `kept.append(x); if len(kept) == n: ...; kept = []`."""
    called = [
        call for one in ("append", "clear") for call in flow.calls_named(one) if names.chain(call.func) == [*name, one]
    ]
    if not any(names.last(call.func) == "append" and call.lineno < guard.test.lineno for call in called):
        return False
    if any(names.last(call.func) == "clear" and _is_opened(guard, flow.statement(call), flow) for call in called):
        return True
    if any(isinstance(one, ast.Delete) and _is_whole(one, name) for one in guard.block or ()):
        return True
    begun = (_written(store, guard, flow) for store in flow.targets.get(".".join(name), ()))
    return any(isinstance(one, ast.List) and not one.elts for one in begun)


def _is_whole(statement: ast.Delete, name: list[str]) -> bool:
    """`del kept[:]`"""
    match statement.targets:
        case [ast.Subscript(value=emptied, slice=ast.Slice(lower=None, upper=None))]:
            return names.chain(emptied) == name
    return False


def _written(store: ast.expr, guard: Guard, flow: Flow) -> ast.expr | None:
    """What a statement behind a condition assigns to a target: `0` of `seen = 0` and of `seen, total = 0, None`."""
    return syntax.given_to_target(flow, store) if _is_opened(guard, flow.statement(store), flow) else None


def _is_opened(guard: Guard, statement: ast.stmt, flow: Flow) -> bool:
    """Whether a condition leads to a statement directly: it stands in its block, or behind an earlier `if ...: continue`."""
    if guard.block is not None:
        return statement in guard.block
    if not isinstance(guard.node, ast.stmt):
        return False
    block = flow.block(guard.node)
    return block is not None and statement in block.index and statement.lineno > guard.node.lineno


def evaluates(test: ast.expr, true: bool) -> bool:
    """Whether a condition holds outside of training alone: `not self.training`, `stage != Stage.TRAIN`; `return_loss` of mmengine's models is false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return evaluates(test.operand, not true)
    if isinstance(test, ast.BoolOp):
        # All hold of `a and b` that is true and of `a or b` that is false; of the others it is one of them, whichever.
        return (any if isinstance(test.op, ast.And) == true else all)(evaluates(one, true) for one in test.values)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.NotEq):
        # A member of an enumeration; other words may be anything.
        stage = names.chain(test.comparators[0]) or []
        true = true is isinstance(test.ops[0], ast.Eq)
        return "Stage" in stage[-2:-1] and stage[-1] in (_STAGES if true else ("TRAIN",))
    return names.last(test) in (_EVALUATING if true else _TRAINING)


class _Reading:
    """A condition, with the definitions of the flags in it: each flag is read once, and never in its own definition."""

    def __init__(self, flow: Flow, value_of: ValueOf) -> None:
        self.flow = flow
        self.value_of = value_of
        self._flags: dict[tuple[str, bool], Meaning] = {}
        """What the definition of a flag says where it holds or where it does not; "" while it is being read."""
        self._followed = 0

    def test(self, test: ast.expr, true: bool) -> Meaning:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return _modulo(test.operand, not true, self.value_of) or self.test(test.operand, not true)
        if isinstance(test, ast.BoolOp):
            return self._bool_op(test, true)
        if not true and _is_masked(test, self.value_of):
            return "throttled"  # `not step & 127`
        if isinstance(test, ast.BinOp) and isinstance(test.op, ast.BitOr | ast.BitAnd):
            both = ast.And() if isinstance(test.op, ast.BitAnd) else ast.Or()  # `x.isnan().any() | x.isinf().any()`
            return self._bool_op(ast.BoolOp(both, [test.left, test.right]), true)
        if isinstance(test, ast.NamedExpr):
            return self.test(test.value, true)
        if (true and _is_short_of_memory(test)) or versions.outdated(test, true, self.flow):
            return "cold"
        if self._is_empty(test, true) or self._is_extra(test, true) or (true and environment.is_off(test, self.flow)):
            return "cold"
        if (true and self._is_own_check(test)) or (not true and _asks_for_device(test)):
            return "cold"
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.ops[0], ast.Is | ast.Eq)
            and is_constant(test.comparators[0], True)
        ):
            return self.test(test.left, true)
        if isinstance(test, ast.Compare):
            other = turned(test)
            return self._comparison(test, true) or (self._comparison(other, true) if other is not None else "")
        if remainder(test) is not None:
            return _modulo(test, true, self.value_of)
        if true and isinstance(test, ast.Name | ast.Attribute) and _FOR_EXPORT.search(names.last(test)):
            return "cold"
        if isinstance(test, ast.Name):
            if true and _tells_of_exception(test, self.flow):
                return "cold"
            if true and self._is_mode(test):
                return ""
            if true and self._is_first(test):
                return "throttled"
            meaning = self._flag(test, true)
            if meaning or self._ends_accumulation(test):
                return meaning
            return _named(_iterated(test, self.flow) or test, true)
        if isinstance(test, ast.Call) and _divides(test, true, self.value_of):
            return "throttled"
        if true and isinstance(test, ast.Call) and names.last(test.func) in MAKES_GRAPHS:
            return "" if self._asks_compiler(test.func) else "cold"
        if _is_accident(test, true, self.flow):
            return "cold"
        if true and (names.chain(test) or [])[-2:] == ["log_buffer", "ready"]:
            return "throttled"  # of mmcv: a hook averages it once an interval
        return "" if true and self._is_on_by_default(test) else _named(test, true)

    def _asks_compiler(self, func: ast.expr) -> bool:
        """Whether a function of the project asks whether Dynamo compiles, which ordinary runs do: `is_tracing()` of transformers."""
        value = self.value_of(func)
        asked = value.function.flow if value.kind == "function" and value.function is not None else None
        return asked is not None and asks_compiler(asked)

    def _comparison(self, test: ast.Compare, true: bool) -> Meaning:
        """What a comparison says, where what counts or is measured stands on its left."""
        test = self._with_remainder(test)
        rare = self._since_last(test, true) or self._is_nth(test, true) or self._is_reached(test, true)
        rare = rare or (true and self._is_last_of_all(test))
        rare = rare or (true and (_is_seldom_drawn(test) or self._has_counted(test)))
        return _compare(test, true, self.value_of) or ("throttled" if rare else "")

    def _has_counted(self, test: ast.Compare) -> bool:
        """`if num_steps > 0:` of what the function counts up: it stands behind the loop that does."""
        match test:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Gt() | ast.GtE()], comparators=[ast.Constant()]):
                stores = self.flow.stores.get(name, ())
                return _counts_steps(test.left) and any(
                    isinstance(self.flow.parents.get(store), ast.AugAssign) for store in stores
                )
        return False

    def _is_on_by_default(self, test: ast.expr) -> bool:
        """`if args.log:` of `add_argument("--no-log", dest="log", action="store_false")`: it holds unless somebody says so.

        So does `if self.config.VERBOSE:`, where a class says `self.VERBOSE = True` and nothing else, and `if self._cfg.log:` in a
        class whose body says `config = dict(log=True)`.
        """
        if not isinstance(test, ast.Attribute):
            return False
        if OPTIONS_NAME.search(names.last(test.value)) and (
            argparse_defaults(self.flow.function.module).get(test.attr) is True
            or _is_on_in_body(self.flow.function.cls, test.attr)
        ):
            return True
        return test.attr.lower() not in _LASTS and self.value_of(test).const is True

    def _with_remainder(self, test: ast.Compare) -> ast.Compare:
        """`step % n == 0` for `rest == 0` where `rest = step % n` or `_, rest = divmod(step, n)`; else the comparison itself."""
        rest = _remainder_named(test.left, self.flow) if isinstance(test.left, ast.Name) else None
        return test if rest is None else ast.copy_location(ast.Compare(rest, test.ops, test.comparators), test)

    def _is_empty(self, test: ast.expr, true: bool) -> bool:
        """Whether there are no rows where a test comes out so: `boxes.numel() == 0`, and the `else` of `if len(boxes) > 0`."""
        op: ast.cmpop = ast.Gt()
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            zero = test.comparators[0]
            if not (isinstance(zero, ast.Constant) and type(zero.value) is int):
                return False
            op = test.ops[0]
            if zero.value != (1 if isinstance(op, ast.GtE | ast.Lt) else 0):
                return False
            test = test.left
        if isinstance(test, ast.Name):
            test = self.flow.function.assigned_once(test.id) or test
        return _counts_rows(test) and isinstance(
            op, ast.Eq | ast.LtE | ast.Lt if true else ast.Gt | ast.NotEq | ast.GtE
        )

    def _is_own_check(self, test: ast.expr) -> bool:
        """`if __name__ == "__main__":` in a method: what a file of classes checks where it is run by itself."""
        match test:
            case ast.Compare(
                left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
            ):
                return self.flow.function.cls is not None
        return False

    def _is_mode(self, name: ast.Name) -> bool:
        """`if eval_masks:` in a loop, where the function set it to a constant before: it holds on each iteration, or on none."""
        stores = self.flow.stores.get(name.id, ())
        if not stores or _EVALUATES.isdisjoint(word.lower() for word in _WORDS.findall(name.id)):
            return False
        loops = self.flow.loops(name)
        before = [store for store in stores if not any(loop in loops for loop in self.flow.loops(store))]
        values = [made.value for store in before if (made := self._constant(store)) is not None]
        return bool(loops) and len(values) == len(stores) and True in values

    def _is_first(self, name: ast.Name) -> bool:
        """`if first or step % 10 == 0:` in a loop that sets `first` to False on each iteration, where it was True before."""
        stores = self.flow.stores.get(name.id, ())
        loop = next(iter(self.flow.loops(name)), None)
        inside = [store for store in stores if loop is not None and loop in self.flow.loops(store)]
        before = [store for store in stores if store not in inside]
        return (
            bool(before)
            and self._are(before, True)
            and self._are(inside, False)
            and any(next(self.flow.guards(store, loop), None) is None for store in inside)
        )

    def _are(self, stores: list[ast.Name], value: bool) -> bool:
        """Whether a name is assigned one constant in several places."""
        return all(is_constant(self._constant(store), value) for store in stores)

    def _constant(self, store: ast.Name) -> ast.Constant | None:
        """What a statement assigns to a name, where that is a constant."""
        made = self.flow.parents.get(store)
        return made.value if isinstance(made, ast.Assign) and isinstance(made.value, ast.Constant) else None

    def _bool_op(self, test: ast.BoolOp, true: bool) -> Meaning:
        found = [self.test(value, true) for value in test.values]
        # `a and b` true means both hold; `a or b` true means one of them may be the ordinary one.
        every = isinstance(test.op, ast.And) == true
        if every:
            strongest: tuple[Meaning, ...] = ("throttled", "cold", "weak")
            return next((one for one in strongest if one in found), "")
        # `step % 10 == 0 or step == last`: both are rare; with an ordinary condition beside it, it may hold on each step.
        if any(found) and all(
            one or _is_one_more(part, test.values, true) or _is_no_period(part, test.values, true, self.value_of)
            for one, part in zip(found, test.values, strict=True)
        ):
            return "weak" if "weak" in found else "throttled"
        return ""

    def _is_extra(self, test: ast.expr, true: bool) -> bool:
        """`if kwargs.get("debug"):`, `if images is not None:` of an `images = kwargs.pop("images", None)`: what few calls give."""
        function = self.flow.function.node
        rest = None if isinstance(function, ast.Module) else function.args.kwarg
        if rest is None:
            return False
        if isinstance(test, ast.Compare):
            if none_test(test) != (test.left, not true):
                return False
            test = test.left
        elif not true:
            return False
        if isinstance(test, ast.Name):
            stores = self.flow.stores.get(test.id, ())
            parent = self.flow.parents.get(stores[0]) if stores else None
            if not isinstance(parent, ast.Assign) or any(store.lineno < parent.lineno for store in stores):
                return False
            test = parent.value
        if not (isinstance(test, ast.Call) and names.chain(test.func) in ([rest.arg, "get"], [rest.arg, "pop"])):
            return False
        default = test.args[1] if len(test.args) > 1 else None
        return default is None or (isinstance(default, ast.Constant) and not default.value)

    def _since_last(self, test: ast.Compare, true: bool) -> bool:
        """`seen >= last + period`, where the function writes `last = seen` afterwards: once a period."""
        if len(test.ops) != 1:
            return False
        counter, op, bound = test.left, test.ops[0], test.comparators[0]
        if not isinstance(op, ast.Gt | ast.GtE if true else ast.Lt | ast.LtE):
            return False
        if isinstance(counter, ast.BinOp) and isinstance(counter.op, ast.Sub):  # `seen - last >= period`
            marks = [counter.right]
            counter = counter.left
        elif isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Add):
            marks = [bound.left, bound.right]
        else:
            return False
        return names.chain(_whole(counter)) is not None and any(self._is_mark(mark, counter) for mark in marks)

    def _is_nth(self, test: ast.Compare, true: bool) -> bool:
        """`self.calls == 1` of what the function counts, `self.calls += 1`: one time of all."""
        number = test.comparators[0]
        name = names.chain(test.left)
        if name is None or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq if true else ast.NotEq):
            return False
        if not (isinstance(number, ast.Constant) and type(number.value) is int and number.value > 0):
            return False
        stores = self.flow.targets.get(".".join(name), ())
        loop = next(iter(self.flow.loops(test.left)), None)
        return bool(stores) and all(
            isinstance(made := self.flow.parents.get(store), ast.AugAssign)
            and isinstance(made.op, ast.Add)
            and next(self.flow.guards(store, loop), None) is None
            for store in stores
        )

    def _is_reached(self, test: ast.Compare, true: bool) -> bool:
        """`episode == TOTAL` of what the loop counts, `for episode in range(n)`, `episode = episode + size`: once in it."""
        loop = next(iter(self.flow.loops(test.left)), None)
        if loop is not None and true and _is_last(test, loop):
            return self._is_counted(test.left, loop)
        if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq if true else ast.NotEq):
            return False
        if any(isinstance(part, ast.Constant) and type(part.value) is not int for part in test.comparators):
            return False
        return loop is not None and any(self._is_counted(side, loop) for side in (test.left, test.comparators[0]))

    def _is_last_of_all(self, test: ast.Compare) -> bool:
        """`step >= epochs * len(loader)` in a loop `for epoch in range(epochs)`: the last step of all."""
        left, whole = test.left, test.comparators[0]
        if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Gt | ast.GtE):
            return False
        if isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Sub) and isinstance(whole.right, ast.Constant):
            whole = whole.left
        if not (isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult)):
            return False
        times = next((a for a, b in ((whole.left, whole.right), (whole.right, whole.left)) if _is_length(b)), None)
        counted = (loop.iter for loop in self.flow.loops(test.left) if isinstance(loop, ast.For))
        return (
            times is not None
            and _is_counter(left, whole, self.value_of)
            and any(
                syntax.same(part, times) for count in counted for part in ast.walk(count) if isinstance(part, ast.expr)
            )
        )

    def _is_counted(self, node: ast.expr, loop: Loop) -> bool:
        """Whether a loop counts a name: it is the number of each iteration, or grows on each."""
        stores = self.flow.stores_within(node.id, loop) if isinstance(node, ast.Name) else ()
        return bool(stores) and all(
            (store is _number_of_each(loop) or store is _counted_through(loop) or self._grows(store))
            and next(self.flow.guards(store, loop), None) is None
            for store in stores
        )

    def _grows(self, store: ast.AST) -> bool:
        """`n += size`, `n = n + size`"""
        match self.flow.parents.get(store):
            case ast.AugAssign(op=ast.Add()):
                return True
            case ast.Assign(targets=[ast.Name(name)], value=ast.BinOp(left=ast.Name(before), op=ast.Add())):
                return name == before
        return False

    def _is_mark(self, mark: ast.expr, counter: ast.expr) -> bool:
        """Whether something is written where a counter stands: `last = seen`, `last = times[-1]`."""
        name = names.chain(mark)
        stores = self.flow.targets.get(".".join(name), ()) if name is not None else ()
        written = (self.flow.parents.get(store) for store in stores if store.lineno > mark.lineno)
        return any(isinstance(one, ast.Assign) and syntax.same(one.value, counter) for one in written)

    def _flag(self, name: ast.Name, true: bool) -> Meaning:
        """What the definition of a flag says. In `x = x or y` the `x` behind the sign is another one: only its name tells."""
        key = (name.id, true)
        if key not in self._flags:
            self._flags[key] = ""
            defined = _definitions(name, self.flow) if self._followed < FOLLOWED else []
            if len(defined) == 1 or true:
                self._followed += 1
                found = [self._definition(one, true) for one in defined]
                self._followed -= 1
                self._flags[key] = next(iter(found), "") if all(found) else ""
        return self._flags[key]

    def _ends_accumulation(self, name: ast.Name) -> bool:
        """Whether a flag holds where an optimizer steps, whatever it is called: `should_log = (i + 1) % accumulation_steps == 0 or i == 0`."""
        defined = _definitions(name, self.flow)
        parts = ast.walk(defined[0]) if len(defined) == 1 else ()
        divisions = (remainder(part) for part in parts if isinstance(part, ast.expr))
        return any(divided is not None and _is_accumulation(divided[1]) for divided in divisions)

    def _definition(self, defined: ast.expr, true: bool) -> Meaning:
        """What a flag says by what it is assigned; a call may give anything, unless it tells every how many."""
        if isinstance(defined, ast.Call):
            return "throttled" if _divides(defined, true, self.value_of) else ""
        return self.test(defined, true)


def _number_of_each(loop: Loop) -> ast.expr | None:
    """`i` of `for i in range(n)` and `for i, x in enumerate(xs)`."""
    match loop:
        case ast.For(target=target, iter=ast.Call(func=ast.Name("range" | "trange"))):
            return target
        case ast.For(target=ast.Tuple(elts=[number, _]), iter=ast.Call(func=ast.Name("enumerate"))):
            return number
    return None


def _counted_through(loop: Loop) -> ast.expr | None:
    """`i` of `for i in tqdm(reversed(range(n)))`"""
    counted = in_any_order(loop.iter) if isinstance(loop, ast.For) else None
    is_range = isinstance(counted, ast.Call) and isinstance(counted.func, ast.Name) and counted.func.id == "range"
    return loop.target if is_range and isinstance(loop, ast.For) else None


def is_of_first(flow: Flow, node: ast.AST, loop: Loop) -> bool:
    """Whether the first iteration of a loop alone comes to a place: `for i, x in enumerate(xs): if i == 0: model.setup(x)`."""
    number = _number_of_each(loop)
    if not isinstance(number, ast.Name):
        return False
    tests = (test for guard in flow.guards(node, loop) if guard.true for test in _all_of(guard.test))
    return any(_is_zero(test, number.id) for test in tests)


def _all_of(test: ast.expr) -> list[ast.expr]:
    """`a` and `b` of `a and b`."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _is_zero(test: ast.expr, name: str) -> bool:
    """`i == 0`"""
    match test:
        case ast.Compare(left=ast.Name(id=number), ops=[ast.Eq()], comparators=[ast.Constant(0)]):
            return number == name
    return False


def _is_last(test: ast.Compare, loop: Loop) -> bool:
    """`i >= n` in a loop `for i in range(1, n + 1)`, `i >= len(xs) - 1` in one over `enumerate(xs)`: its last iteration."""
    number, bound = _number_of_each(loop), test.comparators[0]
    if number is None or len(test.ops) != 1 or not isinstance(test.ops[0], ast.GtE):
        return False
    match loop:
        case ast.For(target=ast.Tuple(), iter=ast.Call(args=[gone_through, *_])):
            return syntax.same(measured(_without_one(bound)), gone_through)
        case ast.For(iter=ast.Call(args=[stop] | [_, stop, *_])):
            return syntax.same(_without_one(stop), _without_one(bound))
    return False


def _without_one(node: ast.expr) -> ast.expr:
    """`n` of `n`, `n + 1` and `n - 1`."""
    match node:
        case ast.BinOp(left=whole, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            return whole
    return node


def _whole(node: ast.expr) -> ast.expr:
    """What an element stands in: `times` of `times[-1]`."""
    return node.value if isinstance(node, ast.Subscript) else node


def _counts_rows(node: ast.expr) -> bool:
    """`x.numel()`, `x.size(0)`, `x.shape[0]`: the rows of a tensor, as the host knows them."""
    match node:
        case ast.Call(func=ast.Attribute(attr="numel" | "nelement"), args=[]):
            return True
    return sized(node) is not None


def _modulo(test: ast.expr, true: bool, value_of: ValueOf) -> Meaning:
    """`step % n` by itself: false once in n steps."""
    divided = None if true else remainder(test)
    if divided is None or _is_extent(divided[0], value_of):
        return ""
    return "" if _small(divided[1], value_of) else "throttled"


def remainder(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What is divided by what in `step % n`, `np.mod(step, n)` and `math.fmod(step, n)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return node.left, node.right
    if isinstance(node, ast.Call) and len(node.args) == 2 and ".".join(names.chain(node.func) or ()) in _REMAINDERS:
        return node.args[0], node.args[1]
    if isinstance(node, ast.Subscript) and is_constant(node.slice, 1) and isinstance(node.value, ast.Call):
        return _divided(node.value)
    return None


def _divided(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """What is divided by what in `divmod(step, n)`."""
    return (call.args[0], call.args[1]) if names.chain(call.func) == ["divmod"] and len(call.args) == 2 else None


def _remainder_named(name: ast.Name, flow: Flow) -> ast.expr | None:
    """The remainder that a name stands for, where one statement binds it: `rest = step % n`, `_, rest = divmod(step, n)`."""
    value = _assigned(name, flow)
    if value is not None:
        return value if remainder(value) is not None else None
    stores = [] if name.id in flow.parameters else list(flow.stores.get(name.id, ()))
    pair = flow.parents.get(stores[0]) if len(stores) == 1 else None
    made = flow.parents.get(pair) if isinstance(pair, ast.Tuple) and pair.elts[-1] is stores[0] else None
    parts = _divided(made.value) if isinstance(made, ast.Assign) and isinstance(made.value, ast.Call) else None
    return ast.BinOp(parts[0], ast.Mod(), parts[1]) if parts is not None else None


def _divides(call: ast.Call, true: bool, value_of: ValueOf) -> bool:
    """`divisible_by(step, n)` of a function of the project that returns `a % b == 0`, or that and more."""
    function = value_of(call.func).function if true else None
    test = _told_last(function.end) if function is not None else None
    return function is not None and test is not None and _asks_to_divide(test, function, call, value_of)


def _told_last(statement: ast.stmt | None) -> ast.expr | None:
    """What a function returns at its end; behind conditions the one of them that is no constant: `elif done: return True`, `else: return a % b < c`."""
    if isinstance(statement, ast.Return):
        return statement.value
    if not isinstance(statement, ast.If) or not statement.orelse:
        return None
    ends = [_told_last(branch[-1]) for branch in (statement.body, statement.orelse)]
    told = [end for end in ends if not isinstance(end, ast.Constant)]
    return told[0] if len(told) == 1 else None


def _asks_to_divide(test: ast.expr, function: Function, call: ast.Call, value_of: ValueOf) -> bool:
    """`b > 0 and (last < 0 or a % b == 0)`, where `last < 0` says that there was none before."""
    if isinstance(test, ast.BoolOp):
        parts = [one for one in test.values if isinstance(test.op, ast.And) or not _is_none_before(one)]
        divide = (_asks_to_divide(one, function, call, value_of) for one in parts)
        return bool(parts) and (any(divide) if isinstance(test.op, ast.And) else all(divide))
    if not isinstance(test, ast.Compare) or not isinstance(rest := test.left, ast.BinOp):
        return False
    # Who counts samples asks for less than a step takes: `seen % n < batch_size`.
    op, bound = test.ops[0], test.comparators[0]
    if not (
        is_constant(bound, 0) if isinstance(op, ast.Eq) else isinstance(op, ast.Lt) and isinstance(bound, ast.Name)
    ):
        return False
    if not (isinstance(rest.op, ast.Mod) and isinstance(rest.left, ast.Name) and isinstance(rest.right, ast.Name)):
        return False
    counter, period = function.argument(call, rest.left.id), function.argument(call, rest.right.id)
    if counter is None or period is None or _is_extent(counter, value_of):
        return False
    return not _small(period, value_of)


def _is_none_before(test: ast.expr) -> bool:
    """`last < 0`, `last is None`: what is set when something is done for the first time."""
    if (none := none_test(test)) is not None:
        return none[1]
    below_zero = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt)
    zero = test.comparators[0] if isinstance(test, ast.Compare) else None
    return below_zero and isinstance(zero, ast.Constant) and zero.value == 0


def _is_one_more(test: ast.expr, beside: list[ast.expr], true: bool) -> bool:
    """`seen == 600` beside `seen % n == 0`: one more of what is counted."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq if true else ast.NotEq)):
        return False
    number = test.comparators[0]
    if len(test.ops) != 1 or not (isinstance(number, ast.Constant) and type(number.value) is int):
        return False
    divided = [remainder(one.left) for one in beside if isinstance(one, ast.Compare)]
    return any(one is not None and syntax.same(one[0], test.left) for one in divided)


def _is_no_period(test: ast.expr, beside: list[ast.expr], true: bool, value_of: ValueOf) -> bool:
    """`n <= 1` beside `calls % n == 0`, where n is more."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not is_constant(test.comparators[0], 1):
        return False
    if not isinstance(test.ops[0], ast.LtE if true else ast.Gt):
        return False
    parts = (part for one in beside if one is not test for part in (one, *ast.iter_child_nodes(one)))
    divided = [remainder(part) for part in parts if isinstance(part, ast.expr)]
    return any(one is not None and syntax.same(one[1], test.left) and not _small(one[1], value_of) for one in divided)


def _is_extent(node: ast.expr, value_of: ValueOf) -> bool:
    """Whether something is the length of a tensor's dimension: that it is a multiple of another says nothing of how often."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return True
    value = value_of(node)
    return value.kind == "number" and value.extent


def _is_accumulation(node: ast.expr) -> bool:
    """Whether a number says how many batches an optimizer takes for one step: `args.gradient_accumulation_steps`."""
    return _ACCUMULATION.search(names.last(node)) is not None


def _small(node: ast.expr, value_of: ValueOf) -> bool:
    """Whether a period is known to be every step or nearly so; `log_interval = 1` is a default that people raise.

    What a step of the optimizer adds up is one step.
    """
    if _is_accumulation(node):
        return True
    if _words_of(node) & (_THROTTLES - _PERIODS - _NOT_ALONE):
        return False
    value = value_of(node)
    # A period of 0 switches something off, and one that another call gives is unknown.
    return type(value.const) is int and 0 < value.const <= EVERY and not value.other_kinds


def _compare(test: ast.Compare, true: bool, value_of: ValueOf) -> Meaning:
    if len(test.ops) != 1:
        return ""
    left, op, right = test.left, test.ops[0], test.comparators[0]
    equal = isinstance(op, ast.Eq) if true else isinstance(op, ast.NotEq)
    if equal and any(_is_masked(side, value_of) for side in (left, right)):
        return "throttled"
    for a in (left, right):
        divided = remainder(a)
        if divided is not None and value_of(divided[0]).kind != "str":
            if _is_extent(divided[0], value_of):
                return ""
            if equal and not _small(divided[1], value_of):
                return "throttled"
            # `step % n < k`, `step % n > n - k`, `step % n in range(k)`: some of n.
            if isinstance(op, _SOME) and true and not _small(divided[1], value_of):
                return "throttled"
            return ""
    if true and _is_elsewhere(left, op, right):
        return "cold"
    if any(_is_clock(side) for side in (left, right)) or (true and _is_due(test)):
        return "throttled"
    if true and _is_next_epoch(left, op, right):
        return "throttled"
    if equal and (_is_counter(left, right, value_of) or _is_counter(right, left, value_of)):
        return "throttled"
    if (
        true
        and isinstance(op, ast.Lt | ast.LtE)
        and _is_counter(left, right, value_of)
        and _is_few(left, right, value_of)
    ):
        return "throttled"  # `if step < 3`: the first steps only
    if true and isinstance(op, ast.Gt | ast.GtE) and _is_length(right) and _is_counter(left, right, value_of):
        return "throttled"  # `if i >= len(loader) - 1`: the last step only
    among = isinstance(op, ast.In) if true else isinstance(op, ast.NotIn)
    if among and isinstance(right, _MILESTONES) and _is_index(left, value_of):
        return "throttled"  # `if step in milestones`, `if step not in milestones: return`
    if among and _throttle_word(right):
        return "throttled"
    if _is_profiled(test, true):
        return "throttled"
    if isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn):
        return ""
    # `if args.log_level > 1`, `if verbose >= 2`; `if upsample_steps > 0` asks for steps of something else
    if isinstance(op, ast.Gt | ast.GtE) and true and isinstance(right, ast.Constant) and _throttle_word(left):
        return "" if _counts_steps(left) else "throttled"
    # `if since_log > log_steps`: a name for a delta; `if step > warmup_steps` holds from there on
    if isinstance(op, ast.Gt | ast.GtE) and true and _throttle_word(right) and not _throttle_word(left):
        return "" if _is_beginning(right) else "throttled"
    return ""


def _is_beginning(bound: ast.expr) -> bool:
    """Whether the name of a bound tells where something begins, in steps: `warmup_steps`, `discriminator_start_steps`."""
    return not _words_of(bound).isdisjoint(_BEGINNINGS) and _counts_steps(bound)


def _is_on_in_body(klass: Class | None, name: str) -> bool:
    """Whether the options that the body of a class writes out have one of that name, which is on: `config = dict(log=True)`."""
    if klass is None:
        return False
    given: list[ast.expr] = []
    for option, statement in klass.assigned.items():
        written = statement.value if OPTIONS_NAME.search(option) else None
        if isinstance(written, ast.Call) and names.last(written.func) == "dict":
            given += [keyword.value for keyword in written.keywords if keyword.arg == name]
        elif isinstance(written, ast.Dict):
            given += [value for key, value in zip(written.keys, written.values, strict=True) if string(key) == name]
    return bool(given) and all(is_constant(one, True) for one in given)


def _counts_steps(node: ast.expr) -> bool:
    """Whether a name tells of a number of steps, and of nothing that is done now and then: `upsample_steps`, not `log_steps`."""
    return _words_of(node) & _THROTTLES == {"steps"}


def _is_elsewhere(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    """`device.type == "cpu"`, `mode == "cpu"`, `"mps" in device.type`: no accelerator that is waited for, or one that is worked around."""
    if isinstance(op, ast.In):
        left, right = right, left
        if not (isinstance(left, ast.Attribute) and left.attr == "type"):
            return False
    elif not isinstance(op, ast.Eq):
        return False
    return isinstance(right, ast.Constant) and right.value in ("cpu", "mps", "meta")


def _is_next_epoch(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    """`data.epoch > last_epoch`, `epoch != self.prev_epoch`: another epoch than the one before."""
    if isinstance(op, ast.Lt):
        left, right = right, left
    now, before = names.last(left), _EPOCH_BEFORE.search(names.last(right))
    if before is None or not now.endswith("epoch"):
        return False
    # `epoch != last_epoch` may ask for all epochs but the last.
    return isinstance(op, ast.Gt | ast.Lt) or (isinstance(op, ast.NotEq) and before[1] != "last")


def _is_few(counter: ast.expr, bound: ast.expr, value_of: ValueOf) -> bool:
    """Whether a bound lets few of all iterations through: a number, or of steps also a name for one; a stage lasts some epochs."""
    if not isinstance(bound, ast.Constant) and "epoch" in names.word(counter).lower():
        return False
    value = value_of(bound)
    return isinstance(value.const, int) and value.const <= FIRST and not value.other_kinds


def _is_masked(node: ast.expr, value_of: ValueOf) -> bool:
    """`step & 127`, which is 0 once in 128 steps."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd) and isinstance(node.right, ast.Constant)):
        return False
    mask = node.right.value
    return type(mask) is int and mask >= EVERY and not mask & (mask + 1) and _is_index(node.left, value_of)


def _is_seldom_drawn(test: ast.Compare) -> bool:
    """`random.random() < 0.01`"""
    if len(test.ops) != 1 or not isinstance(test.left, ast.Call) or not isinstance(test.comparators[0], ast.Constant):
        return False
    share = test.comparators[0].value
    if names.last(test.left.func) not in ("random", "rand") or type(share) is not float:
        return False
    if isinstance(test.ops[0], ast.Lt | ast.LtE):
        return share <= SELDOM
    return isinstance(test.ops[0], ast.Gt | ast.GtE) and share >= 1 - SELDOM


def _is_due(test: ast.Compare) -> bool:
    """`time.time() > last + 10`: once in a while."""
    left, op, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(op, ast.Lt | ast.LtE):
        left, right = right, left
    ordered = isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE) and _reads_clock(left)
    return ordered and isinstance(right, ast.BinOp) and isinstance(right.op, ast.Add)


def _is_clock(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and any(_reads_clock(part) for part in (node.left, node.right))
    )


def _reads_clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ".".join(names.chain(node.func) or ()) in _CLOCKS


_COUNTER = regex(
    r"(?:^|_)(?:i|j|k|n|ni|idx|nb|nr|it|iter|iters|iteration|iterations|step|steps|batch|batch_idx|index|epoch|num|counter|count|t|tick|update)s?\d*$",
    re.IGNORECASE,
)


_OF_SEVERAL = regex(r"gpu|device|rank|process(?!ed)|worker|loader|dataset", re.IGNORECASE)
"""Part of the name of a number that tells one process, device or source of batches from the others: `gpu_index`, `dataset_idx`."""


def _is_index(node: ast.expr, value_of: ValueOf) -> bool:
    return bool(_COUNTER.search(names.word(node))) and value_of(node).kind in ("number", "unknown")


def _is_counter(node: ast.expr, other: ast.expr, value_of: ValueOf) -> bool:
    """`i == 0`, `step == warmup_steps`, `batch_idx + 1 == len(loader)`, `step - start == 1`: once in a loop."""
    if isinstance(node, ast.BinOp) and (
        isinstance(node.op, ast.Sub) or (isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant))
    ):
        node = node.left
    word = names.word(node.func if isinstance(node, ast.Call) and not node.args else node)
    if word in _RANKS or _OF_SEVERAL.search(word) or not _COUNTER.search(word):
        return False
    if value_of(node).kind not in ("number", "unknown"):
        return False
    return not isinstance(other, ast.Constant) or isinstance(other.value, int)


def _is_length(node: ast.expr) -> bool:
    """`len(loader)`, `len(loader) - 1`"""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Constant):
        node = node.left
    return measured(node) is not None


def _option(node: ast.expr) -> ast.Name | None:
    """`log_norms` for `args["log_norms"]` and `config.get("log_norms")`, of what is called like options."""
    if isinstance(node, ast.Subscript):
        holder, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        holder, key = node.func.value, node.args[0]
        if any(is_constant(given, True) for given in node.args[1:]):
            return None  # on by default
    else:
        return None
    said = string(key)
    return ast.Name(said, ast.Load()) if said is not None and OPTIONS_NAME.search(names.last(holder)) else None


def _words_of(node: ast.expr) -> set[str]:
    """The words of the last part of a name: `args.log_interval` gives log and interval, `cfg.VIS.ENABLE` vis and enable."""
    parts = names.chain(node)
    if not parts:
        return set()
    found = {w.lower() for w in _WORDS.findall(parts[-1])}
    if len(parts) > 2 and parts[-1].lower() in ("enable", "enabled"):
        found |= {w.lower() for w in _WORDS.findall(parts[-2])} & _SHOWS
    return found


def _throttle_word(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        node = node.func
    parts = names.chain(node)
    if parts is None:
        return False
    last = parts[-1]
    if last in _RANKS:
        return False
    words = _words_of(node)
    if last.lower() in _LASTS or "finished" in words:
        return True
    if not _TRACKERS.isdisjoint(words) and words <= _TRACKERS | _TOLD:
        return False  # `report_to_wandb`: where to, not how often
    hits = words & _THROTTLES
    if hits <= _SAMPLES and words.isdisjoint(_SHOWN_SAMPLES):
        return False  # `per_sample_mode`, `do_sample`
    if hits <= _BACKUPS and not words <= _BACKUPS | _OF_BACKUPS:
        return False
    if hits <= _LOGS and not words.isdisjoint(_OF_LOGARITHMS):
        return False  # `self.log_space`, `return_log_probs`
    return bool(hits - _NOT_ALONE) or (bool(hits) and len(words) > 1)


def _tells_of_exception(name: ast.Name, flow: Flow) -> bool:
    """`out_of_memory = True` in an `except` alone: a flag that only an exception sets."""
    raised = False
    for store in flow.stores.get(name.id, ()):
        parent = flow.parents.get(store)
        if not isinstance(parent, ast.Assign) or not isinstance(parent.value, ast.Constant):
            return False
        if parent.value.value:
            if not flow.in_handler(store):
                return False
            raised = True
    return raised


def _is_short_of_memory(test: ast.expr) -> bool:
    """`if found_cuda_oom:`, `if found_oom.item() == 1:`: after an allocation has failed."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.Gt | ast.Is):
        test = test.left
    if isinstance(test, ast.Call) and not test.args and isinstance(test.func, ast.Attribute):
        test = test.func.value if test.func.attr == "item" else test.func
    words = _words_of(test)
    return "oom" in words or {"out", "of", "memory"} <= words


def _asks_for_device(test: ast.expr) -> bool:
    """`torch.cuda.is_available()`, `use_cuda`, `x.is_cuda`: what does not hold where a program has no accelerator."""
    if isinstance(test, ast.Call):
        return (names.chain(test.func) or [])[-2:] == ["cuda", "is_available"]
    return names.last(test) in _OF_DEVICE


def _is_accident(test: ast.expr, true: bool, flow: Flow, steps: int = _NAMES) -> bool:
    """`if torch.isnan(loss).any():`, `if not math.isfinite(loss):`, `if (x == float("inf")).any():`: what a run hopes never to meet; so many names are looked up."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not | ast.Invert):
        return _is_accident(test.operand, not true, flow, steps)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.BitAnd | ast.BitOr):
        return all(_is_accident(one, true, flow, steps) for one in (test.left, test.right))
    if isinstance(test, ast.Name):
        value = _mask(test, flow) if steps else None
        return value is not None and _is_accident(value, true, flow, steps - 1)
    if isinstance(test, ast.Compare):
        return true and isinstance(test.ops[0], ast.Eq) and syntax.infinity(test.comparators[0]) is not None
    if not isinstance(test, ast.Call):
        return False
    last = names.last(test.func)
    if last == "eq":
        return true and bool(test.args) and syntax.infinity(test.args[-1]) is not None
    if last in ("any", "all") and isinstance(test.func, ast.Attribute):
        given = next((one for one in test.args[:1] if not isinstance(one, ast.Constant)), None)  # not `mask.all(1)`
        calculated = isinstance(test.func.value, ast.Call | ast.BinOp | ast.UnaryOp)
        return _is_accident(test.func.value if calculated or given is None else given, true, flow, steps)
    return last in ("isnan", "isinf") if true else last == "isfinite"


def _mask(name: ast.Name, flow: Flow) -> ast.expr | None:
    """The mask that a name is, where it is assigned once; none that is made of itself."""
    value = _assigned(name, flow)
    if value is None or (flow.statement(value).end_lineno or 0) >= name.lineno:
        return None
    return value if isinstance(value, ast.Call | ast.BinOp | ast.UnaryOp) else None


def _is_profiled(test: ast.Compare, true: bool) -> bool:
    """Whether a program profiles where a comparison comes out so: `if profiler is not None:`, the `else` of `if self.profiler is NULL_PROFILER:`."""
    nothing = test.comparators[0]
    is_nothing = is_constant(nothing, None) or (isinstance(nothing, ast.Name) and nothing.id.isupper())
    differs = isinstance(test.ops[0], ast.IsNot if true else ast.Is)
    return differs and is_nothing and "profiler" in map(str.lower, _WORDS.findall(names.last(test.left)))


def _named(test: ast.expr, true: bool) -> Meaning:
    test = _option(test) or test
    if isinstance(test, ast.Call):
        if isinstance(test.func, ast.Attribute) and test.func.attr in ("is_compiling", "is_scripting", "is_tracing"):
            return ""
        return "throttled" if true and (_throttle_word(test) or _asks_for_debugging(test)) else ""
    parts = names.chain(test)
    if parts is None or parts == ["__debug__"]:
        return ""
    if parts[-1] in _WEAK:
        return "weak" if true else ""
    return "throttled" if true and (parts[-1] in _FLAGS or _throttle_word(test)) else ""


def _asks_for_debugging(call: ast.Call) -> bool:
    """`logger.isEnabledFor(logging.DEBUG)`"""
    return names.last(call.func) == "isEnabledFor" and bool(call.args) and names.last(call.args[0]) == "DEBUG"


def _iterated(name: ast.Name, flow: Flow) -> ast.expr | None:
    """`done` for a name that `for d in done` or `for i, d in enumerate(done)` binds."""
    for loop in flow.loops(name):
        if not isinstance(loop, ast.For):
            continue
        target, source = loop.target, loop.iter
        if isinstance(source, ast.Call) and names.chain(source.func) == ["enumerate"] and source.args:
            source = source.args[0]
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        if isinstance(target, ast.Name) and target.id == name.id:
            return source
    return None


_CONDITIONS = ast.Compare | ast.BoolOp | ast.UnaryOp | ast.BinOp


def definition(name: ast.Name, flow: Flow) -> ast.expr | None:
    """The expression that a flag was assigned from, where there is one assignment only."""
    value = _assigned(name, flow)
    return value if isinstance(value, _CONDITIONS) else None


def _definitions(name: ast.Name, flow: Flow) -> list[ast.expr]:
    """The expressions that a flag is assigned from, besides False: one in each of a few branches, `if rank == 0: due = step % 10 == 0`."""
    stores = flow.stores.get(name.id, ()) if name.id not in flow.parameters else ()
    made = [flow.parents.get(store) for store in stores]
    plain = [
        one for one in made if isinstance(one, ast.AnnAssign) or (isinstance(one, ast.Assign) and len(one.targets) == 1)
    ]
    values = [one.value for one in plain if one.value is not None]
    defined = [one for one in values if not is_constant(one, False)]
    if len(values) < len(stores) or len(stores) > MOST_BRANCHES or (len(defined) < len(values) == 1):
        return []
    return defined if all(isinstance(one, _CONDITIONS | ast.Call) for one in defined) else []


def _assigned(name: ast.Name, flow: Flow) -> ast.expr | None:
    """What the one statement assigns that binds a name, and nothing else."""
    made = flow.assignment(name.id)
    return made.value if made is not None and len(made.targets) == 1 else None
