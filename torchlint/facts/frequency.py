"""How often a place runs: on training steps, on iterations of an evaluation, in a forward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Literal

from ..system.regex import regex
from . import alternatives, guards, names, simulators
from .alternatives import Said
from .first_time import keeps_results
from .flow import Comprehension, Guard, Loop
from .loss_names import is_named_as_loss
from .module import Class, Function
from .nodes import bound_names, elements, names_in, none_test
from .place import Place
from .syntax import same
from .torch_table import TOKEN_METHODS
from .wherever import wherever

_SETS_UP = regex(
    r"^_*(?:(?:init|initiali[sz]e|reset)_(?:\w+_)?(?:weights?|param(?:eter)?s?|buffers?)$|setup_(?!batch|data|input))"
)
"""What methods are called that fill what a module is made of, which is done once: `reset_parameters`, `_init_weights`, `setup_caches`."""
_PROCESSOR = regex(r"Att(?:n|ention)\w*Processor")
_QUERY_KEY_VALUE = (frozenset(("query", "key", "value")), frozenset("qkv"))
_CHECKS = regex(r"(?:^|_)(?:ref|reference|naive|test|check|plot|show|visuali[sz]e|draw|debug|init)(?:_|$)")
_DRAWS = regex(r"_*(?:visuali[sz]e|plot)(?:_|$)")
_SEARCHES_LINE = regex(r"(?i)wolfe|line_?search|cubic_interp|polyinterp")
"""What functions are called that look for the length of a step, and decide by each value that they measure: `_strong_wolfe`."""
_OF_SAMPLES = regex(r"(?:^|/)data(?:sets?)?/(?:[^/]+/)*transforms?(?:/|\.py$)")
"""Where modules lie that a dataset applies to its samples, on the host: `data/transforms/crop.py`."""
_OF_PICTURES = regex(
    r"(?:^|/)(?:viz|vis|visuali[sz](?:e|er|ers|ation|ations)|plots?|plotting|plotter|draw|drawing)(?:_\w*)?\.py$"
)
"""What a file is called that draws pictures, which is done on demand."""
_FOR_EXPORT = regex(r"(?:^|[a-z\d_])O(?:nnx|NNX)(?![a-z])")
"""What modules are called that are there to be exported, and run once for that, while they are traced: `SamOnnxModel`."""
_DRAWN = frozenset(("rand", "randn", "randint", "random"))
"""Functions that give numbers of chance."""
_OF_LOSSES = regex(
    r"(?:^|/)(?:[a-z\d]+_)*loss(?:es)?(?!_(?:landscapes?|surfaces?|curves?|plots?|history)\b)(?:_[a-z\d]+)*(?:\.py$|/)"
)
"""Where losses lie: `losses/dice.py`, `utils/loss_tal.py`; not `loss_landscape/`, which draws one."""
_TRACERS = guards.MAKES_GRAPHS | {"is_compiling", "isinstance", "is_tensor"}


def severity(place: Place) -> Literal["warning", "info"] | None:
    """`warning` in step loops, `info` in evaluation and generation loops and in what these call, None elsewhere, in tests, line searches and where pictures are drawn.

    What a step does once beside a generation (the end of a rollout) counts to neither.
    """
    if place.role == "test" or "script_if_tracing" in place.function.decorator_names:
        return None  # numbers are tensors there while a model is traced for export, which is done once
    if _SEARCHES_LINE.search(place.function.name) is not None:
        return None
    if place.hot is not None:
        return None if place.beside_generation else "warning"
    if of_pictures(place):
        return None
    return "info" if place.warm is not None or place.warm_caller is not None else None


def of_pictures(place: Place) -> bool:
    """Whether the file, or the function, is called for pictures that it draws: what waits there is on the way to a file or a window."""
    return _OF_PICTURES.search(place.function.module.path) is not None or draws(place.function)


def repeated(place: Place) -> bool:
    """Whether the place runs in a `forward`, or on each iteration of a loop as `severity` has it."""
    return in_forward(place) or severity(place) is not None  # the loops that call a function take longer to find


def how_often(place: Place) -> str:
    """The end of a sentence: when the cost is paid."""
    if place.hot is not None:
        return "on every training step"
    if place.warm is not None:
        return "on every iteration of this loop"
    function, node = place.warm_caller or (None, None)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.name == "__call__" or node.name in TOKEN_METHODS:
            return "on every generated token"
        if node.name == "step":
            return "on every denoising step"
        if simulators.steps(place):
            return "on every step of the environment"
        return "on every batch that it is called for"
    if isinstance(node, Comprehension):
        what = "this comprehension" if function is place.function else "a comprehension that calls it"
        return f"for every batch of {what}"
    return "on every iteration of a loop that calls it"


def of_calls(place: Place) -> str:
    """The same of a place that runs in a `forward`, a loss, or the `backward` of a function."""
    if is_loss(place, place.function):
        return "on every call of the loss"
    if place.function.name == "backward":
        return "in every backward pass"
    return f"on every call of the module{' in evaluation' if _is_left_to_evaluation(place) else ''}"


def in_passes(place: Place) -> str:
    """When a place runs that does so in a `forward`, or the `backward` of a function."""
    if place.function.name == "backward":
        return "in every backward pass"
    return f"in every forward pass{' of an evaluation' if _is_left_to_evaluation(place) else ''}"


def _is_left_to_evaluation(place: Place) -> bool:
    """Whether a condition keeps a place from who trains: `if not self.training:`."""
    return any(guards.evaluates(guard.test, guard.true) for guard in place.flow.guards(place.target))


def is_for_export(function: Function) -> bool:
    """Whether a method is one of a module that is there to be exported, by its name: `SamOnnxModel`; or of a function that stands for an operator of ONNX."""
    klass = function.cls
    return klass is not None and (_FOR_EXPORT.search(klass.name) is not None or _stands_for_operator(klass))


def _stands_for_operator(klass: Class) -> bool:
    """Whether a function has a `symbolic`, by which it is exported, no backward pass, and a forward that gives numbers of chance: there to be traced, never to be run."""
    forward = klass.methods.get("forward") if "symbolic" in klass.methods and "backward" not in klass.methods else None
    return forward is not None and any(names.last(call.func) in _DRAWN for call in forward.flow.calls)


def in_forward(place: Place) -> bool:
    """Whether the place runs in a `forward`, in attention, or in a function that one of these calls, at most five deep.

    A call that is rare there, or behind an option that nobody gives, is none, nor is one of a test, or one that gives a
    constant which keeps the place from running: `boxes.clip(remove_empty=False)`.
    A function that keeps its results (`@lru_cache`) runs once for the same numbers, but again for each batch's tensors.
    """
    function = place.function
    asked = alternatives.asked_of_callers(function, place.target) if place.target is not function.node else ()
    return place.once(("in forward", function, asked), lambda: _runs_in_forward(place, function, 5, {}, asked))


def _runs_in_forward(
    place: Place, function: Function, depth: int, seen: dict[Function, tuple[int, bool]], asked: tuple[Said, ...] = ()
) -> bool:
    """The same of a function at most `depth` calls away, by calls that give what is `asked` for; `seen` has the answers so far, no for those that are looked for."""
    known = seen.get(function)
    if known is not None and known[0] >= depth:
        return known[1]
    seen[function] = depth, False
    found = not is_aside(function) and _is_called_in_forward(place, function, depth, seen, asked)
    seen[function] = depth, found
    return found


def _is_called_in_forward(
    place: Place, function: Function, depth: int, seen: dict[Function, tuple[int, bool]], asked: tuple[Said, ...]
) -> bool:
    if _is_forward(place, function) or _is_part(place, function):
        return True
    start = place.at(function, function.node.body[0])
    if depth > 0 and any(_is_run(read, start, depth - 1, seen) for read in _reads(place, function)):
        return True
    # Callers in the same file come first: where they tell, the other files are not parsed.
    return depth > 0 and any(
        _is_run(place.at(site.function, site.call), start, depth - 1, seen)
        for site in place.callers(function)
        if not place.project.is_tested(site.function)
        and not alternatives.gives_other(function, site.given or site.call, asked)
    )


def _reads(place: Place, function: Function) -> Iterator[Place]:
    """Where methods of its class, and of those that this inherits from, read a property: `self.adjacency`."""
    if function.cls is None or "property" not in function.decorator_names:
        return
    for klass in place.project.ancestry(function.cls):
        for method, read in klass.uses.get(function.name, ()):
            if method is not function:
                yield place.at(method, read)


def _is_run(call: Place, start: Place, depth: int, seen: dict[Function, tuple[int, bool]]) -> bool:
    """Whether a forward comes to a call, or a loss does that is there for who trains: of what that runs no step is known."""
    if _runs_in_forward(call, call.function, depth, seen):
        return not call.rare
    # A loop with steps would make what it runs part of them, where that is not rare.
    return call.hot is not None and call.hot.loop is None and start.hot is None


def _is_forward(place: Place, function: Function) -> bool:
    if function.cls is None:
        return _is_attention(place, function) or is_loss(place, function)
    if function.name == "__call__" and is_loss(place, function):
        return True
    if function.name == "forward" and place.project.is_module(function.cls):
        of_samples = _OF_SAMPLES.search(place.project.home(function.module.path)) is not None
        return not of_samples and not is_for_export(function)
    if function.name in ("forward", "backward"):
        return bool(place.project.is_autograd_function(function.cls)) and not is_for_export(function)
    return (
        function.name == "__call__"
        and _PROCESSOR.search(function.cls.name) is not None
        and any(parameter.arg.startswith(("attn", "attention", "hidden")) for parameter in function.parameters)
    )


def _is_part(place: Place, function: Function) -> bool:
    """Whether a module makes a function or a method of its own a part of itself: `downsample = partial(self.pad, planes=64)`."""
    module = function.module
    if not module.source.holds(b"partial("):
        return False
    own, at_top = function.cls is not None, function.parent is module.body
    classes = [function.cls] if function.cls is not None else module.classes if at_top else ()
    return any(
        (function.name, own) in place.once(("partial parts", one), partial(_parts_of, place, one)) for one in classes
    )


def _parts_of(place: Place, klass: Class) -> frozenset[tuple[str, bool]]:
    """What a module gives to `partial`: functions, and methods of its own (True)."""
    if not place.project.is_module(klass):
        return frozenset()
    given = (
        names.chain(call.args[0])
        for method in klass.methods.values()
        for call in method.flow.calls_named("partial")
        if call.args
    )
    found = [parts for parts in given if parts is not None]
    return frozenset((parts[-1], len(parts) == 2) for parts in found if len(parts) == 1 or parts[:-1] == ["self"])


def behind_type_test(place: Place) -> bool:
    """Whether the place is behind a test of how a module runs, or of what it was given; so is the call of a function that does nothing else."""
    return wherever(place, _is_type_tested)


def _is_type_tested(place: Place) -> bool:
    return any(
        isinstance(part, ast.Call) and names.last(part.func) in _TRACERS and not _asks_for_other(guard, part)
        for guard in place.flow.guards(place.target)
        for part in ast.walk(guard.test)
    )


def _asks_for_other(guard: Guard, test: ast.Call) -> bool:
    """Whether a flag is false that tells of another type than a tensor's: `packed = isinstance(x, PackedSequence)`, and `else:` is the usual way."""
    kinds = elements(test.args[1]) if names.last(test.func) == "isinstance" and len(test.args) > 1 else []
    return guard.asked is not None and not guard.true and bool(kinds) and "Tensor" not in map(names.last, kinds)


def _is_attention(place: Place, function: Function) -> bool:
    """`def sage_attention(query, key, value)`: who computes attention runs in a forward, however it is called.

    Not what other kernels are compared with, which is free to be slow.
    """
    given = function.positions.keys()
    return any(names <= given for names in _QUERY_KEY_VALUE) and place.role != "test" and not shows(function)


def is_loss(place: Place, function: Function) -> bool:
    """Whether a function computes a loss, by its name or where it lies, and nobody here calls it, or only tests do: who does, does so on each step.

    So does the `__call__` of a class that is called so: `class ComputeLoss`.
    """
    if function.cls is None and len(function.parameters) < 2:
        return False
    if not (is_named_as_loss(function) or _lies_among_losses(place, function)):
        return False
    if place.role in ("test", "benchmark") or shows(function):
        return False
    return place.once(("loss that nobody calls", function), lambda: _is_called_by_tests_alone(place, function))


def _is_called_by_tests_alone(place: Place, function: Function) -> bool:
    """Whether nobody of the project calls a function, but for what tests it."""
    return all(place.project.is_tested(call.function) for call in place.callers(function))


def _lies_among_losses(place: Place, function: Function) -> bool:
    at_top = function.cls is None and function.parent is function.module.body
    if not at_top or _OF_LOSSES.search(place.project.home(function.module.path)) is None:
        return False
    return not any(function.flow.calls_named(one) for one in ("backward", "zero_grad"))  # a training of its own


def shows(function: Function) -> bool:
    """Whether a function checks, draws or prepares something, by its name, and so may be slow."""
    return _CHECKS.search(function.name) is not None


def draws(function: Function) -> bool:
    """Whether a function makes a picture, by its name: `visualize_matches`, `plot_losses`. What waits there is on the way to it."""
    return _DRAWS.match(function.name) is not None


def is_aside(function: Function) -> bool:
    """Whether a function is no part of what runs again and again, whoever calls it: it keeps its results, makes a picture or a molecule, or fills what its object is made of."""
    return keeps_results(function) or draws(function) or _sets_up(function) or _makes_molecule(function)


def _makes_molecule(function: Function) -> bool:
    """Whether a function puts together a molecule of RDKit, atom by atom, on the host: `molecule.AddBond(i, j, order)`."""
    return function.module.source.holds(b"rdkit") and bool(function.flow.calls_named("AddBond"))


def _sets_up(function: Function) -> bool:
    """By its name. A forward may do so once, and calls by their names lead there from everywhere."""
    return function.is_method and _SETS_UP.search(function.name) is not None


def on_most_iterations(place: Place, loop: Loop) -> bool:
    """Whether the conditions between a loop and the place leave out few of its iterations.

    Behind a condition it may be a rare iteration, but not behind an option, nor `x is not None` of what the one before made.
    """
    return all(
        any(
            ends_loop(one) or _is_made(place, one, loop) or _stays(place, one, loop) or _but_once(one, loop)
            for one in readings
        )
        for readings in place.flow.readings(place.target, loop)
    )


def ends_loop(guard: Guard) -> bool:
    """`if step > most: break` in front of a place, which runs on each iteration until there are no more."""
    left = guard.otherwise if guard.block is None else []
    return bool(left) and isinstance(left[-1], ast.Break | ast.Return | ast.Raise)


def _but_once(guard: Guard, loop: Loop) -> bool:
    """`if i > 1:` of what the loop counts, up or down, `if i < n - 1:` of `range(n)`: all iterations but the first or the last."""
    test = guard.test
    if not guard.true or not isinstance(test, ast.Compare) or not isinstance(loop, ast.For):
        return False
    if _is_but_last(test, loop):
        return True
    least = test.comparators[0]
    above = isinstance(test.ops[0], ast.Gt) and isinstance(least, ast.Constant) and least.value in (0, 1)
    return above and isinstance(test.left, ast.Name) and test.left.id in bound_names(loop.target)


def _stays(place: Place, guard: Guard, loop: Loop) -> bool:
    """`if args.use_meta:`, which is the same on each iteration; what may be None is mostly an option that is not given."""
    if any(isinstance(part, ast.Call | ast.Subscript | ast.Is | ast.IsNot) for part in ast.walk(guard.test)):
        return False
    asked = names_in(guard.test)
    return bool(asked) and not any(place.flow.stores_within(name, loop) for name in asked)


def _is_made(place: Place, guard: Guard, loop: Loop) -> bool:
    """`if x is not None:`, where the loop itself makes x."""
    name, is_none = none_test(guard.test) or (None, False)
    if not guard.true or is_none or not isinstance(name, ast.Name):
        return False
    return bool(place.flow.stores_within(name.id, loop))


def _is_but_last(test: ast.Compare, loop: ast.For) -> bool:
    """Whether a test holds of all that a loop counts but the last: `i < n - 1`, `i != n - 1` in `for i in range(n)`."""
    match loop, test:
        case (
            ast.For(target=ast.Name(id=counter), iter=ast.Call(func=ast.Name(id="range"), args=[count])),
            ast.Compare(
                left=ast.Name(id=asked),
                ops=[ast.Lt() | ast.NotEq()],
                comparators=[ast.BinOp(left=most, op=ast.Sub(), right=ast.Constant(value=1))],
            ),
        ):
            return counter == asked and same(most, count)
    return False
