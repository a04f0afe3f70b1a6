from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from torchlint.facts import names, runs, training
from torchlint.facts.common_names import MODEL_NAME
from torchlint.facts.flow import Loop, contains
from torchlint.facts.layers import WITHOUT_WEIGHTS
from torchlint.facts.module import Class, Function, Module
from torchlint.facts.nodes import given_to, none_test, spreads, without_not
from torchlint.facts.operator_calls import carries_no_graph
from torchlint.facts.uses import readers
from torchlint.rule import Finding, Site, Value, chain, rule
from torchlint.rule.lazy import regex

# Code that asks for gradients, or for none, by other means.
_ASKS = regex(
    r"backward\(|autograd\.grad|requires_grad|enable_grad|\.grad\b|attack|advers|salienc|attribut|gradcam|pgd|fgsm",
    re.IGNORECASE,
)
# Attributes and builtins that give nothing that carries the graph.
_KEEPS_GRAPH = frozenset(
    ("cpu", "float", "flatten", "permute", "reshape", "squeeze", "to", "transpose", "unsqueeze", "view")
)
_SINKS = frozenset(("detach", "data", "shape", "dtype", "device", "ndim"))
_SINK_CALLS = frozenset(("float", "int", "bool", "len"))
_NO_RUN = frozenset(
    """eval train to cuda cpu parameters named_parameters state_dict load_state_dict zero_grad modules children buffers
    half float""".split()
)
_IN_PLACE = frozenset(("eval", "train", "to", "cuda", "cpu", "half", "float", "bfloat16", "double", "requires_grad_"))
_LOSS = regex(r"loss|criterion", re.IGNORECASE)
_HOLDERS = frozenset(("torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"))
"""Modules that have no parameters but those of what they are given."""
_TO_HOST = regex(r"(?:^|_)to_?(?:np|numpy|array|host|cpu)$|detach")
"""What helpers are called that take a tensor to the host: `to_np(x)`."""
_SETS = r"requires_grad(?:_\w*)?(?:\(|\s*=(?!=))"
"""`requires_grad = False`, `requires_grad_(False)`; `if p.requires_grad` freezes nothing."""
_DEPTH = 4
_CALLERS = 20
_EVALUATES = frozenset((".eval()", ".train()"))
"""The shapes that end a model's training, `train(False)` among them."""


@rule(
    "TL503",
    shape=[
        "$x.eval(...)",
        "$x.train(False)",
        "$x.detach(...)",
        "$x.data",
        "$x.numpy(...)",
        "$x.item(...)",
        "$x.argmax(...)",
        "torch.argmax(...)",
        "$x.backward(...)",
        "$gives(...)",
    ],
    torch=">=0.4",
    fix="unsafe",
    numbers="rounding",
    impact="high",
    category="memory",
)
def eval_loop_with_grad(site: Site) -> Iterator[Finding]:
    """A loop runs a model with autograd on although nobody asks for gradients.

    ## What it does

    Finds loops that call a model after `model.eval()` without `torch.no_grad()` or `torch.inference_mode()`, and calls
    of a model, inside a loop or in what a step loop calls, all of whose results end in `.detach()`, `.data`, `.item()` or an `argmax`,
    through arithmetic, lists and other models, too: a target network whose values are detached before the loss.
    Where a function trains for one word or flag alone (`if part == "train": loss.backward()`), a call with another one counts.
    With `--preview` a model that a constructor evaluates, itself or by a method that makes it, counts in loops of the other
    methods, too.
    In a script, outside of loops too, what is read at once: `model(x).argmax(1).eq(y).float().mean().item()` (info).
    Decorators, context managers, wrappers that hold one of these, and what the callers in the project do are followed.

    ## Why is this slow?

    `eval()` switches dropout and batch normalization, not autograd. Each operation still records its node, and the
    activations live until the last result that refers to them is gone: memory that would hold a larger batch.

    ## When it does not matter

    Where no parameter and no input requires a gradient nothing is recorded: `model(x).numpy()` raises where something is, and functions that mention `requires_grad` are
    not reported, nor are those that take gradients of inputs, such as attacks and attribution methods.
    A model whose `forward` takes gradients itself (normals, forces, an unrolled optimizer) needs autograd, and one of which nothing is
    known may be such a one where the project has them.

    ## Bad

    ```python
    def validate(model: torch.nn.Module, loader):
        model.eval()
        for x, y in loader:
            correct = (model(x).argmax(1) == y).sum()  # TL503
    ```

    ## Good

    ```python
    @torch.no_grad()
    def validate(model: torch.nn.Module, loader):
        model.eval()
        for x, y in loader:
            correct = (model(x).argmax(1) == y).sum()  # ok
    ```

    ## Fix safety

    Decorates the function with `@torch.no_grad()`. Unsafe: what the function gives, keeps or hands on no longer carries a
    graph for autograd, and a backward pass on it raises. Nothing is offered for `async def` and generators, where the
    function or anything that it calls may train or ask for gradients (what is not known to this project may, if it is given
    the model or is named like it), nor where a caller runs a backward pass on the result.

    ## References

    - https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """
    if site.name == "call" and not _TO_HOST.search(names.last(site.call.func)):
        return
    if site.role == "test":
        return
    if site.name == "call":
        yield from _handed(site)
    elif site.name == ".backward()":
        yield from _by_flag(site)
    elif site.name in _EVALUATES:
        yield from _evaluated(site, trains=_asks(site))
    elif site.name == ".item()" and site.loop() is None:
        yield from _read(site)
    elif site.value(_dropped(site)).kind in ("tensor", "unknown"):
        yield from _unused(site)


def _is_repeated(site: Site) -> bool:
    """Whether the place is in a loop, or in a function that a step loop or one of evaluation calls: `agent.select_action(state)`."""
    return site.loop() is not None or (site.function is not site.module.body and _runs_often(site))


def _runs_often(site: Site) -> bool:
    if site.hot is not None or site.warm_caller is None:
        return site.hot is not None
    return not _switches(site.warm_caller[0])  # where the model is switched in the caller, that is told there


def _asks(site: Site) -> bool:
    """Whether the function deals in gradients itself."""
    if isinstance(site.function.node, ast.Module):
        return _ASKS.search(site.source.text) is not None
    return _ASKS.search(_text(site.function)) is not None


# After `model.eval()`


def _evaluated(site: Site, *, trains: bool) -> Iterator[Finding]:
    """What runs the model after the call; where the function trains, too, only what loops over an evaluation."""
    call = site.call
    assert isinstance(call.func, ast.Attribute)
    model = _named(site, call)
    if call.args[site.name == ".train()" :] or call.keywords or model is None:
        return
    kind = site.value(call.func.value).kind
    if kind != "module" and not (kind == "unknown" and MODEL_NAME.search(model[-1])):
        return
    if trains and _is_frozen(site, model[-1]):
        return
    told: set[ast.AST | None] = set()
    for other in site.flow.calls:
        around = next(reversed([None, *site.flow.loops(other)]))
        if other.lineno <= call.lineno or around in told or not _runs(site, other, model):
            continue
        loops = _is_evaluation(site, other, model)
        alone = _repeated(site, other) and (not trains or _only_evaluates(site, other))
        if site.analysis.steps.hot(site.function, other):
            continue
        if _off(site, other) or _switched_between(site, model, call, other):
            continue
        inner = [] if alone else [*_run_by_test(site, other, model)]
        if inner:
            yield from (_wasted(site.at(*one)) for one in inner)
        elif loops or alone:
            yield _recorded(site, site.function, other)
        else:
            continue
        if around is None:
            return
        told.add(around)
    if not told and site.function is site.module.body and not trains:
        yield from _in_functions(site, model)
    if not told and site.settings.preview:
        yield from _elsewhere(site, model)


def _recorded(site: Site, function: Function, run: ast.Call) -> Finding:
    """What is said of a call of the model that the place switched to evaluation."""
    why = site.related(site.function, site.call, "autograd stays on")
    message = f"`{site.short(run)}` records a graph for autograd on every iteration: `eval()` does not switch it off"
    return site.at(function, run).finding(message, related=(why,))


def _wasted(place: Site) -> Finding:
    """What is said of a call of a model whose graph leads nowhere, however that is known."""
    return place.finding(f"`{place.short()}` records a graph for autograd that nothing uses")


def _named(site: Site, call: ast.Call) -> list[str] | None:
    """The model that is switched, by its name: `net` of `net.eval()`, `net.cuda().eval()`, `net = load().eval().cuda()`."""
    switched = _unmoved(call)
    model = chain(switched)
    if model is not None:
        return model
    whole: ast.AST = call
    around = site.flow.parents.get(whole)
    while isinstance(around, ast.Attribute) and around.attr in _IN_PLACE:
        whole = site.flow.parents[around]
        around = site.flow.parents.get(whole)
    kept = around.targets if isinstance(around, ast.Assign) and around.value is whole else ()
    return chain(kept[0]) if len(kept) == 1 else None


def _unmoved(call: ast.Call) -> ast.expr:
    """`net` of `net.cuda().float().eval()`: modules are moved and switched in place."""
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _IN_PLACE:
        node = node.func.value
    return node


def _in_functions(site: Site, model: list[str]) -> Iterator[Finding]:
    """What runs a model of the script in loops of its functions, which know it by its name."""
    for function in site.module.functions:
        if not _knows(function, model):
            continue
        run = next((call for call in function.flow.calls if _is_run_in_loop(site, function, call, model)), None)
        if run is None or next(site.callers(function), None) is None:
            continue
        yield _recorded(site, function, run)


def _knows(function: Function, model: list[str]) -> bool:
    """Whether a name means in a function what it means in the script around it."""
    return function.cls is None and function.parent is function.module.body and not function.binds(model[0])


def _is_told_of_script(site: Site, call: ast.Call) -> bool:
    """Whether the script switches the model that one of its functions runs in a loop, which is told there."""
    model = chain(call.func)
    if model is None or not _knows(site.function, model) or _ASKS.search(site.source.text) is not None:
        return False
    body = site.module.body
    switched = (_named(site.at(body, one), one) for one in body.flow.calls_named("eval"))
    return model in switched and _is_run_in_loop(site, site.function, call, model)


def _is_run_in_loop(site: Site, function: Function, call: ast.Call, model: list[str]) -> bool:
    """Whether a loop of a function runs a model by the model's own name, with autograd on."""
    loops = function.flow.loops(call)
    if chain(call.func) != model or not call.args or not loops or _is_tried(site, loops):
        return False
    return not _off(site.at(function, call), call) and not site.analysis.steps.hot(function, call)


def _elsewhere(site: Site, model: list[str]) -> Iterator[Finding]:
    """What runs the model in a loop of another method, where the object keeps it: `self.model = self.load()`, which evaluates it."""
    klass = site.function.cls
    if klass is None or not site.function.is_method or klass.parent is not site.module.body:
        return
    if site.project.is_module(klass) or any(method.flow.calls_named("train") for method in klass.methods.values()):
        return  # evaluated for a while
    for name in _kept(site, klass, model):
        if _is_frozen(site, name) or any(_ASKS.search(_text(method)) for method in klass.methods.values()):
            return
        for method in klass.methods.values():
            run = next((call for call in method.flow.calls if _runs_kept(site, method, call, name)), None)
            if run is None or method is site.function or next(site.callers(method), None) is None:
                continue
            yield _recorded(site, method, run)
            return


def _kept(site: Site, klass: Class, model: list[str]) -> Iterator[str]:
    """The attributes that hold the model: `self.model.eval()` of a constructor, or what the method returns to another one that keeps it."""
    if len(model) == 2 and model[0] == site.function.own_name and site.function.name == "__init__":
        yield model[1]
    returned = (node.value for node in site.flow.nodes if isinstance(node, ast.Return) and node.value is not None)
    if not any(chain(value) == model for value in returned):
        return
    for method in klass.methods.values():
        for call in method.flow.calls_named(site.function.name):
            parent = method.flow.parents.get(call)
            kept = chain(parent.targets[0]) if isinstance(parent, ast.Assign) else None
            if kept is not None and len(kept) == 2 and kept[0] == method.own_name:
                yield kept[1]


_PART = regex(r"(?:^|_)(?:extractor|aggregator|encoder|decoder|backbone|head|forward)$")


def _runs_kept(site: Site, method: Function, call: ast.Call, name: str) -> bool:
    """Whether a loop of a method runs what an attribute holds, or a part of it, with autograd on."""
    called = chain(call.func)
    if called is None or called[:2] != [method.own_name, name] or len(called) > 3:
        return False
    if not call.args or (len(called) == 3 and not _PART.search(called[2])) or not method.flow.loops(call):
        return False
    return not _off_in(site, method, call) and not training.only_trains(method, call)


def _is_evaluation(site: Site, call: ast.Call, model: list[str]) -> bool:
    """Whether a call runs a function of the project with an evaluation loop."""
    called = chain(call.func)
    itself = called == model or _is_part(site, called, model)
    targets = site.project.targets(site.function, call) if not itself else []
    return any(site.analysis.warm_loops.holds_warm_loop(target) for target in targets)


def _only_evaluates(site: Site, call: ast.Call) -> bool:
    """Whether the nearest loop is one of evaluation, in a function that trains elsewhere, and deals in no gradients itself."""
    loops = site.flow.loops(call)
    if not loops or not site.analysis.warm_loops.is_warm(site.function, loops[0]):
        return False
    return _ASKS.search(_lines(site.module, loops[0])) is None


def _repeated(site: Site, call: ast.Call) -> bool:
    """Whether a loop runs a call more often than until it succeeds; one of another function may."""
    loops = site.flow.loops(call)
    return not _is_tried(site, loops) if loops else _runs_often(site.at(site.function, call))


def _is_tried(site: Site, loops: list[Loop]) -> bool:
    """Whether all loops around a place only try again, until one iteration succeeds."""
    return all(site.once(("tries again", loop), lambda: runs.tries_again(loop)) for loop in loops)  # noqa: B023


def _runs(site: Site, call: ast.Call, model: list[str]) -> bool:
    """Whether a call runs the model: itself, as the argument of a function of the project that does, or in a method beside it."""
    called = chain(call.func)
    if called == model:
        return True
    if _is_part(site, called, model):
        return _is_model(site, call) or _is_method_of_models(site, call)
    if called is not None and called[0] == site.function.own_name == model[0]:
        return any(_runs_own(site, target, model[1:]) for target in site.project.targets(site.function, call))
    return next(_given_to(site, call, model), None) is not None


def _given_to(site: Site, call: ast.Call, model: list[str]) -> Iterator[tuple[Function, ast.Call]]:
    """Where a function of the project runs the model that a call gives it, and asks for no gradients."""
    if not any(chain(given) == model for given in given_to(call)):
        return
    for target in site.project.targets(site.function, call):
        passed = ((name, target.argument(call, name)) for name in target.positions)
        name = next((name for name, given in passed if given is not None and chain(given) == model), None)
        if name is None or target.cls is not None or site.analysis.context.function_off(target):
            return
        for inner in target.flow.calls:
            if not _is_run(inner, name) or _off_in(site, target, inner) or training.only_trains(target, inner):
                continue
            if not _switches_off(site.at(target, inner), inner) and not _asks_with(target, inner, call):
                yield target, inner


def _asks_with(function: Function, run: ast.Call, call: ast.Call) -> bool:
    """Whether a function deals in gradients around a run, where a call chooses the branch: `step(model, x, train=False)`."""
    if _ASKS.search(_text(function)) is None:
        return False
    for guard in function.flow.guards(run):
        flag = _asked(*without_not(guard.test, guard.true))
        passed = flag.passed(function, call) if flag is not None else None
        if flag is not None and passed is not None and guard.block is not None and flag.meets(passed.value):
            return any(_ASKS.search(_lines(function.module, statement)) for statement in guard.block)
    return True


def _run_by_test(site: Site, call: ast.Call, model: list[str]) -> Iterator[tuple[Function, ast.Call]]:
    """Where a function runs the model, given by one that trains for most of the time: `test(model, data)`; once a block."""
    told: set[ast.AST] = set()
    for target, inner in _given_to(site, call, model):
        within = site.at(target, inner)
        around = target.flow.parents[target.flow.statement(inner)]
        runs = isinstance(inner.func, ast.Name) or _is_model(within, inner) or _is_method_of_models(within, inner)
        repeated = bool(target.flow.loops(inner)) or _repeated(site, call)
        if not runs or not repeated or around in told or target.module is not site.module:
            continue
        if site.analysis.steps.hot(target, inner) is None and not _frozen(within, inner):
            told.add(around)
            yield target, inner


def _switches_off(site: Site, call: ast.Call) -> bool:
    """Whether all methods that a call of a model may run switch autograd off somewhere in them: `model.reverse(z)`."""
    methods = site.may_run(call) if isinstance(call.func, ast.Attribute) else []
    return bool(methods) and all("no_grad" in _text(method) for method in methods)


def _is_method_of_models(site: Site, call: ast.Call) -> bool:
    """`model.predict(x)` of a model whose class is not known, where all methods of that name in the project run a model with autograd on."""
    if not isinstance(call.func, ast.Attribute) or not call.args or site.value(call.func.value).class_ is not None:
        return False
    methods = site.may_run(call)
    return bool(methods) and all(_runs_model(site, method) for method in methods)


def _runs_model(site: Site, method: Function) -> bool:
    """Whether a method runs a module, and neither switches autograd off nor asks for gradients."""
    return (
        method.cls is not None
        and site.runs_module(method)
        and not site.analysis.context.function_off(method)
        and "no_grad" not in _text(method)
        and not _ASKS.search(_text(method))
    )


def _is_part(site: Site, called: list[str] | None, model: list[str]) -> bool:
    """Whether something is called of the model, `model.encoder(x)`, that is not the method's own object."""
    inner = called is not None and len(called) > len(model) and called[: len(model)] == model
    return inner and model != [site.function.own_name]


def _runs_own(site: Site, method: Function, part: list[str]) -> bool:
    """Whether a method runs a part of its own object, and neither switches autograd off nor asks for gradients."""
    if not method.is_method or _ASKS.search(_text(method)) or site.analysis.context.function_off(method):
        return False
    model = [method.own_name, *part]
    return any(
        chain(inner.func) == model and not _off_in(site, method, inner) and not training.only_trains(method, inner)
        for inner in method.flow.calls
    )


def _is_run(call: ast.Call, name: str) -> bool:
    """`model(x)`, `model.generate(x)`; `model.parameters()` and `model.scale.item()` run nothing, `model.parse_no_grad(x)` no autograd."""
    parts = chain(call.func) or [""]
    if parts[0] != name or "config" in parts or (len(parts) > 2 and not (call.args or call.keywords)):
        return False  # `model.scale.item()`
    return len(parts) == 1 or not (parts[-1] in _NO_RUN or "no_grad" in parts[-1])


def _text(function: Function) -> str:
    node = function.node
    return function.module.source.text if isinstance(node, ast.Module) else _lines(function.module, node)


def _lines(module: Module, node: ast.stmt) -> str:
    source = module.text_of(node)
    start, end = source.span(node.lineno, node.end_lineno or node.lineno)
    return source.data[start:end].decode()


def _off(site: Site, call: ast.Call) -> bool:
    """Whether autograd is off at the call, or inside what it runs, or is needed there."""
    if _off_in(site, site.function, call) or training.differentiates(site, call):
        return True
    klass = site.value(call.func).class_
    forward = site.project.method(klass, "forward") if klass is not None else None
    return forward is not None and site.analysis.context.function_off(forward)


def _off_in(site: Site, function: Function, node: ast.AST) -> bool:
    return site.analysis.context.off_where_called(function, node)


def _switched_between(site: Site, model: list[str], first: ast.Call, last: ast.Call) -> bool:
    """Whether the model is switched again before it runs: to training, or once more to evaluation, which tells of it then."""
    return any(
        first.lineno < call.lineno < last.lineno
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("train", "eval")
        and chain(call.func.value) == model
        for call in site.flow.calls
    )


# Loops that train where a flag says so


def _by_flag(site: Site) -> Iterator[Finding]:
    """`if train: loss.backward()` in a loop over batches, in a function that somebody calls to evaluate, with autograd on."""
    loop = site.loop()
    if loop is None or _SWITCHES.search(_text(site.function)):
        return
    for flag in _flags(site, loop):
        evaluating = next(iter(_evaluating(site, flag)), None)
        runs = (call for call in site.flow.calls if next(iter(site.flow.loops(call)), None) is loop)
        model = next((call for call in runs if _is_model(site, call)), None) if evaluating is not None else None
        if evaluating is None or model is None or _off(site, model) or flag in _tested(site, model):
            continue
        if site.analysis.context.grad_off(*evaluating) or _frozen(site, model):
            continue
        why = site.related(*evaluating, "called without training, and autograd stays on")
        without = flag.said(flag.passed(site.function, evaluating[1]))
        message = (
            f"`{site.short(model)}` records a graph for autograd where `{flag.name}` is {without}, and nothing uses it"
        )
        yield site.finding(message, at=model, related=(why,))
        return


_SWITCHES = regex(
    r"(?:(?<!with torch\.)no_grad|(?<!with torch\.)inference_mode)|set_grad_enabled|enable_grad|autograd\.grad|requires_grad|\.grad\b"
)


class _Flag(NamedTuple):
    """A condition on a parameter: that it is true, that something is given for it, that it is equal to a string; or that it is not."""

    name: str
    holds: bool
    asks: Literal["truth", "given", "equal"]
    to: str = ""

    def meets(self, value: object) -> bool:
        """Whether a value of the parameter meets the condition."""
        if self.asks == "given":
            return (value is not None) is self.holds
        return (value == self.to if self.asks == "equal" else bool(value)) is self.holds

    def said(self, passed: ast.Constant | None) -> str:
        """How a value that does not meet the condition is written in a message."""
        if self.asks == "given":
            return "None"
        return repr(passed.value) if self.asks == "equal" and passed is not None else str(not self.holds)

    def passed(self, function: Function, call: ast.Call) -> ast.Constant | None:
        """The constant that a call, or the default, gives the parameter."""
        passed = function.argument(call, self.name)
        if passed is None and not spreads(call):
            passed = function.defaults.get(self.name)
        return passed if isinstance(passed, ast.Constant) else None


def _flags(site: Site, loop: ast.AST) -> list[_Flag]:
    """What a parameter has to be for the place to run in its loop, which the function never makes of it."""
    own = site.function.positions.keys()
    return [flag for flag in _tested(site, site.target, loop) if flag.name in own and not _is_set(site, flag)]


def _is_set(site: Site, flag: _Flag) -> bool:
    """Whether the function may give a flag the value that trains: `backprop = False` does not."""
    given = (site.flow.parents.get(store) for store in site.flow.stores.get(flag.name, ()))
    return any(
        flag.asks == "given"
        or not isinstance(one, ast.Assign)
        or not isinstance(one.value, ast.Constant)
        or flag.meets(one.value.value)
        for one in given
    )


def _tested(site: Site, node: ast.AST, loop: ast.AST | None = None) -> list[_Flag]:
    guards = (guard for guard in site.flow.guards(node) if loop is None or contains(loop, guard.node))
    return [flag for guard in guards if (flag := _asked(*without_not(guard.test, guard.true))) is not None]


def _asked(test: ast.expr, true: bool) -> _Flag | None:
    """What a test asks of a name."""
    asked = none_test(test)
    if asked is not None:
        test, true = asked[0], true is not asked[1]
    if isinstance(test, ast.Name):
        return _Flag(test.id, true, "truth" if asked is None else "given")
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or len(test.ops) > 1:
        return None
    to = test.comparators[0]
    if (
        not isinstance(test.ops[0], ast.Eq | ast.NotEq)
        or not isinstance(to, ast.Constant)
        or not isinstance(to.value, str)
    ):
        return None
    return _Flag(test.left.id, true is isinstance(test.ops[0], ast.Eq), "equal", to.value)


def _evaluating(site: Site, flag: _Flag) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of the function, tests apart, for which the condition does not hold."""
    for one in site.project.call_sites(site.function, _CALLERS) or ():
        passed = flag.passed(site.function, one.call)
        if passed is None or one.given is not None or flag.meets(passed.value):
            continue
        if not site.project.is_tested(one.function):
            yield one.function, one.call


# Results that are detached everywhere


def _dropped(site: Site) -> ast.expr:
    """The expression whose graph is dropped at the place."""
    target = site.target
    if isinstance(target, ast.Attribute):
        return target.value
    assert isinstance(target, ast.Call)
    if site.name == "torch.argmax()":
        return site.argument("input", 0) or target
    assert isinstance(target.func, ast.Attribute)
    return target.func.value


def _unused(site: Site) -> Iterator[Finding]:
    if site.function.name == "forward" and site.function.cls is not None:
        return  # whoever calls the model decides
    yield from _told(site, [] if _evaluates(site) else _sources(site))


def _told(site: Site, calls: list[ast.Call]) -> Iterator[Finding]:
    """Of calls of models those that run again and again, and whose results lose their graph everywhere."""
    # Whether it runs again and again takes longest to tell.
    if not calls or not _is_repeated(site) or not (site.warm or _runs_often(site) or not _asks(site)):
        return
    if isinstance(site.loop(), ast.While) and site.once(
        ("left to callers", site.function), lambda: _is_left_to_callers(site, site.function, _DEPTH)
    ):
        return  # it generates: a loop over batches evaluates, whoever calls it
    # Many places that drop a graph ask of the same calls.
    key = ("wasted", site.function, tuple(calls))
    for wasted in site.once(key, lambda: [call for call in calls if _is_wasted(site, call)]):
        yield _wasted(site.at(site.function, wasted))


def _is_left_to_callers(site: Site, function: Function, steps: int) -> bool:
    """Whether a function is a method of a model that nobody calls here, or what such methods alone call: whoever uses the model decides."""
    callers = [one.function for one in itertools.islice(site.callers(function), _CALLERS)]
    if not callers:
        return function.cls is not None and site.project.is_module(function.cls)
    return steps > 0 and all(_is_left_to_callers(site, one, steps - 1) for one in callers)


def _is_wasted(site: Site, call: ast.Call) -> bool:
    """Whether a call of a model runs again and again, and its result loses its graph everywhere."""
    if not _repeated(site, call) or _off(site, call) or _frozen(site, call) or _is_array(site, call):
        return False
    if _is_made_on_steps(site, call) or _is_told_of_script(site, call):
        return False
    return _goes_nowhere(site, call, set())


def _handed(site: Site) -> Iterator[Finding]:
    """What is given to a helper that drops the graph: `to_np(self.network(x))`, of `def to_np(t): return t.detach().cpu().numpy()`."""
    given = next(_given_to_drop(site, site.call), None)
    if given is not None and not _evaluates(site):
        yield from _told(site, list(dict.fromkeys(_models_in(site, given))))


def _given_to_drop(site: Site, call: ast.Call) -> Iterator[ast.expr]:
    """What a call gives a helper of the project that drops its graph."""
    if not (call.args or call.keywords) or (site.resolve(call.func) or "").startswith("torch."):
        return
    targets = site.project.targets(site.function, call) if site.value(call.func).kind == "function" else []
    for target in targets:
        name = _drops(target)
        given = target.argument(call, name) if name is not None else None
        if given is not None:
            yield given


def _drops(function: Function) -> str | None:
    """The parameter whose graph a function of one statement drops; None where it does anything else."""
    if isinstance(function.node, ast.Module) or len(function.node.body) > 2:  # a docstring, and what is returned
        return None
    body = function.telling
    returned = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    name = next((node.id for node in _steps(returned) if isinstance(node, ast.Name)), None)
    if returned is None or not _says_so(returned):
        return None
    return name if name in function.positions else None


def _says_so(node: ast.expr) -> bool:
    """Whether a chain of methods drops the graph: `t.cpu().detach()`."""
    return any(isinstance(part, ast.Attribute) and part.attr in ("detach", "data", "numpy") for part in _steps(node))


def _steps(node: ast.expr | None) -> Iterator[ast.expr]:
    """What a chain of attributes, indices and calls is made of, outermost first."""
    while node is not None:
        yield node
        inner = node.func if isinstance(node, ast.Call) else None
        node = inner or (node.value if isinstance(node, ast.Attribute | ast.Subscript) else None)


def _read(site: Site) -> Iterator[Finding]:
    """`print(model(x).eq(y).float().mean().item())` in a script or its `main`: nothing else gets the result."""
    scripted = site.function is site.module.body or site.function.name == "main"
    call = next(filter(functools.partial(_is_model, site), _chained(site.call)), None) if scripted else None
    if call is None or site.grad_off or _evaluates(site) or _off(site, call) or _frozen(site, call):
        return
    yield site.finding(f"`{site.short(call)}` records a graph for autograd that nothing uses", at=call, severity="info")


def _chained(node: ast.expr) -> Iterator[ast.Call]:
    """The calls of `f(x).g().h()`, outermost first."""
    while isinstance(node, ast.Call):
        yield node
        if not isinstance(node.func, ast.Attribute):
            return
        node = node.func.value


def _evaluates(site: Site) -> bool:
    """Whether the function calls `model.eval()`, which tells more of it."""
    return _switches(site.function)


def _switches(function: Function) -> bool:
    return any(isinstance(c.func, ast.Attribute) and not c.args for c in function.flow.calls_named("eval"))


def _frozen(site: Site, call: ast.Call) -> bool:
    """Whether the file freezes the parameters of the model that is called."""
    return _is_frozen(site, (chain(call.func) or ["?"])[-1])


def _is_made_on_steps(site: Site, call: ast.Call) -> bool:
    """Whether each training step makes what is called anew, such as a random transform: no model is, since it would not be trained."""
    stores = site.flow.stores.get(call.func.id, ()) if isinstance(call.func, ast.Name) else ()
    made = [statement for store in stores if isinstance(statement := site.flow.parents.get(store), ast.Assign)]
    return 0 < len(made) == len(stores) and all(
        isinstance(statement.value, ast.Call) and site.analysis.steps.hot(site.function, statement)
        for statement in made
    )


def _is_frozen(site: Site, name: str) -> bool:
    name = re.escape(name)
    frozen = re.compile(
        rf"\b{name}\b[^\n]*{_SETS}|for [^\n]*\b{name}\b[^\n]*:\s*[^\n]*{_SETS}"
        rf"|\b(?:de|dis|un|no|turn_off|freeze)\w*requires_grad\w*\([^\n]*\b{name}\b"
    )
    given = re.compile(rf"requires_grad\w*\((?=[^\n]*\b{name}\b)[^\n]*\b(True|False)\b")

    def holds(text: str) -> bool:
        lines = list(_around_grad(text))
        told = {match[1] for line in lines for match in given.finditer(line)}
        return told == {"False"} or any(map(frozen.search, lines))

    own = site.source.holds(b"requires_grad") and site.source.fact(f"frozen {name}", lambda source: holds(source.text))
    return own or any(holds(_lines(base.module, base.node)) for base in _ancestors(site))


def _ancestors(site: Site) -> Iterator[Class]:
    """The classes of the project that the method's class inherits from."""
    klass = site.function.cls
    return itertools.islice(site.project.ancestry(klass), 1, None) if klass is not None else iter(())


def _around_grad(text: str) -> Iterator[str]:
    """The lines that hold `requires_grad`, each with what stands above it: the head of a loop may."""
    at = text.find("requires_grad")
    while at >= 0:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        above = text.rfind("\n", 0, at) + 1
        while above > 0:
            below, above = above, text.rfind("\n", 0, above - 1) + 1
            if text[above:below].strip():
                break
        yield text[above:end]
        at = text.find("requires_grad", end)


def _sources(site: Site) -> list[ast.Call]:
    """The calls of models that the dropped value comes from: in the expression, or through names."""
    return _models_in(site, _dropped(site))


def _models_in(site: Site, node: ast.expr) -> list[ast.Call]:
    """The calls of models in an expression, and in what its names are given."""
    found: list[ast.Call] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and _is_model(site, part):
            found.append(part)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            key = ("made by models", site.function, part.id)
            found += site.once(key, lambda: list(_made_by_models(site, part.id)))  # noqa: B023
    return found


def _made_by_models(site: Site, name: str) -> Iterator[ast.Call]:
    """The calls of models in what a name is given, or the names in that: `q = net(x)`, `target = r + q.max(1)[0]`."""
    wanted, seen = [name], {name}
    for _ in range(_DEPTH):
        made = [value for one in wanted for value in _given(site, one)]
        parts = [part for value in made for part in ast.walk(value)]
        yield from (part for part in parts if isinstance(part, ast.Call) and _is_model(site, part))
        loaded = (part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))
        wanted = [one for one in dict.fromkeys(loaded) if one not in seen]
        seen.update(wanted)


def _given(site: Site, name: str) -> Iterator[ast.expr]:
    """The values that a name is given by assignments, and what the list of that name is given."""
    for store in site.flow.stores.get(name, ()):
        statement = site.flow.statement(store)
        if isinstance(statement, ast.Assign):
            yield statement.value
    for call in site.flow.calls_named("append"):
        if _grown(site, call) == name:
            yield from call.args


def _is_model(site: Site, call: ast.Call) -> bool:
    if any(keyword.arg == "training" for keyword in call.keywords):
        return False  # a model of Keras is told so
    called = site.value(call.func)
    if called.kind == "module":
        if called.class_ is not None and _trains_nothing(site, called.class_):
            return False
        if called.class_name in WITHOUT_WEIGHTS:
            return False
        return not called.class_name.endswith("Loss") and not _LOSS.search((chain(call.func) or [""])[-1])
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr in _NO_RUN:
        return False
    owner = site.value(func.value)
    if owner.kind != "module" or owner.class_ is None or _trains_nothing(site, owner.class_):
        return False
    method = site.project.method(owner.class_, func.attr)
    return method is not None and _runs_model(site, method)


def _trains_nothing(site: Site, klass: Class, around: frozenset[Class] = frozenset()) -> bool:
    """Whether a module has no parameters: it makes no layers that have some, and calls nothing that it was given.

    `around` are the modules that it is a part of.
    """
    if any(site.project.resolve(klass.parent, base) != "torch.nn.Module" for base in klass.bases):
        return False
    calls = ((method, call) for method in klass.methods.values() for call in method.flow.calls)
    return not any(_may_train(site, method, call, around | {klass}) for method, call in calls)


def _may_train(site: Site, method: Function, call: ast.Call, around: frozenset[Class]) -> bool:
    """Whether a call in a method makes, or runs, what may have parameters."""
    name = site.project.resolve(method, call.func) or ""
    called = site.project.value(method, call.func)
    if name in WITHOUT_WEIGHTS or name in _HOLDERS or called.class_name in WITHOUT_WEIGHTS:
        return False
    if isinstance(method.flow.parents.get(call), ast.Raise):
        return False
    made = site.project.value(method, call)
    if parts := _parts(made if called.kind == "class" else called):
        return not all(part in around or _trains_nothing(site, part, around) for part in parts)
    of_torch = name.startswith("torch.nn.") and not name.startswith("torch.nn.functional.")
    words = chain(call.func) or ["", ""]
    if (
        of_torch
        or _is_held(site, method, call, words)
        or "Parameter" in words[-1]
        or isinstance(call.func, ast.Subscript)
    ):
        return True
    return made.kind in ("module", "unknown") and words[-1][:1].isupper()


def _parts(value: Value) -> tuple[Class, ...]:
    """The classes of the project that a module may be of."""
    if value.kind != "module":
        return ()
    return value.classes or ((value.class_,) if value.class_ is not None else ())


def _is_held(site: Site, method: Function, call: ast.Call, words: list[str]) -> bool:
    """Whether a method calls what its object holds: no method of its own, nor one of a tensor."""
    assert method.cls is not None
    if words[0] != method.own_name or len(words) < 2 or words[1] == "register_buffer":
        return False
    if len(words) == 2:
        return words[1] not in method.cls.methods
    return not (isinstance(call.func, ast.Attribute) and site.project.value(method, call.func.value).kind == "tensor")


def _is_array(site: Site, call: ast.Call) -> bool:
    """`model(x).cpu().numpy()`, at once or under a name: it raises where there is a graph. What a method gives may be integers."""
    if site.value(call.func).kind != "module":
        return False
    statement = site.flow.statement(call)
    named = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    loads = site.flow.loads.get(named.id, ()) if isinstance(named, ast.Name) else ()
    return any(_becomes_array(site, node) for node in (call, *loads))


def _becomes_array(site: Site, node: ast.AST) -> bool:
    """`x.squeeze(0).cpu().numpy()`: methods that keep a graph, and the one that refuses it."""
    for child, parent in site.flow.upwards(node):
        if isinstance(parent, ast.Attribute) and parent.attr == "numpy":
            return True
        keeps = isinstance(parent, ast.Attribute) and parent.attr in _KEEPS_GRAPH
        if not keeps and not (isinstance(parent, ast.Call) and parent.func is child):
            return False
    return False


def _goes_nowhere(site: Site, node: ast.expr, seen: set[ast.AST]) -> bool:
    """Whether everything that is made of the value loses its graph; `seen` are the reads that are asked about already."""
    if node in seen:
        return True
    seen.add(node)
    for child, parent in site.flow.upwards(node):
        if isinstance(parent, ast.Attribute) and (
            parent.attr in _SINKS or carries_no_graph(f"torch.Tensor.{parent.attr}")
        ):
            return True
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, ast.Call) and child is not parent.func:
            name = site.resolve(parent.func) or ""
            if (
                name in _SINK_CALLS
                or carries_no_graph(name)
                or any(given is child for given in _given_to_drop(site, parent))
            ):
                return True
            if (grown := _grown(site, parent)) is not None:
                return _name_goes_nowhere(site, grown, site.flow.loads.get(grown, ()), seen)
            if not name.startswith("torch.") and not _is_of_model(site, parent) and not _is_method(site, parent):
                return False
        if isinstance(parent, ast.Call | ast.BinOp) and _off_in(site, site.function, parent):
            return True  # made of it where autograd is off
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store) and child is parent.value:
            return True  # filled in place
        if isinstance(parent, ast.Assign):
            return all(_target_goes_nowhere(site, target, parent.value, seen) for target in parent.targets)
        if isinstance(parent, ast.stmt | ast.Lambda | ast.comprehension):
            return _grows(site, parent, node)
    return False


def _is_of_model(site: Site, call: ast.Call) -> bool:
    """Whether a call is of a model, or of a method of one: `model(x)`, `model.q(x)`."""
    func = call.func
    of = func.value if isinstance(func, ast.Attribute) and site.value(func).kind != "module" else func
    return site.value(of).kind == "module"


def _grown(site: Site, call: ast.Call) -> str | None:
    """The name of the list that a call puts its argument into: `outs.append(out)`, alone in its statement."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "append" or not isinstance(func.value, ast.Name):
        return None
    return func.value.id if isinstance(site.flow.parents.get(call), ast.Expr) else None


def _grows(site: Site, statement: ast.AST, node: ast.AST) -> bool:
    """Whether a statement does no more than put something into the list that the node names."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.value is node
        and _grown(site, call) is not None
    )


def _is_method(site: Site, call: ast.Call) -> bool:
    """A method of a tensor: `a.add(b)`."""
    return isinstance(call.func, ast.Attribute) and site.value(call.func.value).kind == "tensor"


def _target_goes_nowhere(site: Site, target: ast.expr, value: ast.expr, seen: set[ast.AST]) -> bool:
    if isinstance(target, ast.Tuple):
        return all(_target_goes_nowhere(site, element, value, seen) for element in target.elts)
    if not isinstance(target, ast.Name):
        return False
    return _name_goes_nowhere(site, target.id, readers(site.function, target.id, value), seen)


def _name_goes_nowhere(site: Site, name: str, reads: Iterable[ast.Name], seen: set[ast.AST]) -> bool:
    """Whether all of these reads of a name of the function lose its graph."""
    if name in site.flow.globals or name not in site.flow.stores:
        return False
    if any(name in inner.flow.loads for inner in site.function.nested.values()):
        return False
    return all(site.value(read).kind in ("ndarray", "number") or _goes_nowhere(site, read, seen) for read in reads)
