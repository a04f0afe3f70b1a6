from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator

from torchlint.facts import (
    alternatives,
    beside_training,
    evaluation_mode,
    grad_at,
    graph_liveness,
    names,
    syntax,
    trainable,
    training,
)
from torchlint.facts.common_names import MODEL_NAME
from torchlint.facts.flow import Loop, contains
from torchlint.facts.frozen import freezes_itself, is_frozen, is_frozen_by_call
from torchlint.facts.module import Function
from torchlint.facts.nodes import given_to, steps
from torchlint.facts.trainable import model_of, runs_trainable
from torchlint.facts.wrapped_models import Model
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_PREDICTS = regex(
    r"^_?(?:predict|infer|inference|recogni[sz]e|classify|detect|embed|select_action|get_action|choose_action|act"
    r"|eval|evaluate|test|validate|demo|generate|sample|visuali[sz]e|interpolate|summary)(?:_|$)"
)
_TO_HOST = regex(r"(?:^|_)to_?(?:np|numpy|array|host|cpu)$|detach")
"""What helpers are called that take a tensor to the host: `to_np(x)`."""
_IN_CODE = rb"(?m)^(?!from torch import )(?:[^#\n\"']|\"[^\"\n]*\"|'[^'\n]*')*?"
_BY_CALL = rb"(?<!with )(?<!with torch\.)(?:no_grad|inference_mode)|set_grad_enabled|enable_grad|autograd\.grad"
_SWITCHES = regex(_IN_CODE + rb"(?:" + _BY_CALL + rb"|requires_grad|\.grad\b)")
"""What the code of a function says that switches autograd by itself, a `with` apart."""
_SWITCHES_BY_CALL = regex(_IN_CODE + rb"(?:" + _BY_CALL + rb")")
"""The same, without attributes of tensors."""
_OF_GRADIENTS = regex(
    rb"(?i)grad|backward|optim|train\(|trainer|inference_mode|attack|advers|salienc|attribution|loss\b|trainable"
)
"""What a file says that may want gradients, or has turned them off."""
_OF_GRADIENT = frozenset(("grad", "requires_grad", "requires_grad_"))
_WASTED = "`{}` records a graph for autograd that nothing uses"
_DEPTH = 4
_CALLERS = 20
_EVALUATES = frozenset((".eval()", ".train()"))
"""The shapes that end a model's training, `train(False)` among them."""
_PICTURES = frozenset(f"{name}()" for name in graph_liveness.PICTURES)


@rule(
    "TL503",
    shape=[
        "$x.eval(...)",
        "$x.train(False)",
        "$x.train(mode=False)",
        "$x.detach(...)",
        "$x.data",
        "$x.numpy(...)",
        "$x.item(...)",
        "$x.tolist(...)",
        "$x.argmax(...)",
        "torch.argmax(...)",
        "$x.backward(...)",
        "torchvision.utils.save_image(...)",
        "torchvision.utils.make_grid(...)",
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

    Finds loops that call a model after `model.eval()`, or `model.train(False)`, without `torch.no_grad()` or `torch.inference_mode()`, and calls
    of a model, inside a loop or in what a step loop calls, all of whose results end in `.detach()`, `.data`, `.item()`, `.tolist()`, an `argmax` or
    a picture of torchvision, through arithmetic, sums, lists (those of a buffer, too), functions of the project and other models: a target network whose values are detached before the loss.
    So do those of what a function of a script gives to callers that all drop its graph: `feature = extract(path)`, `feature.data.numpy()`.
    A function that gives what a model gives, `def run(x): return net(x.to(device))`, counts as the model where it is called. Of the branches of an evaluation each that runs the model is told.
    A method of a model that generates in a loop, and gives what the model gives to functions of the project which drop the graph, counts (info)
    where all its calls are known to have autograd on.
    Where a function trains for one word or flag alone (`if part == "train": loss.backward()`), a call with another one counts.
    In a function that trains as well, or that each step calls, what a model gives behind `model.eval()` counts where the rest of that block
    asks for no gradients and nobody trains on it later.
    With `--preview` what a loop that trains gives to pictures and the like on few of its steps counts too (info):
    `if step % 100 == 0: save_image(generator(noise).data, "out.png")`.
    With `--preview` a model that a constructor evaluates, itself or by a method that makes it, counts in loops of the other
    methods, and in methods that loops call, too.
    In a function that predicts, tests or generates for whoever calls it (`predict`, `infer`, `select_action`, `evaluate`, `sample`), and behind
    `model.eval()` in any other that trains nothing, outside of loops too, a model of which all results leave their graph,
    `self.model(x).detach().cpu().numpy()` (info).
    In a script, outside of loops too, what leaves its graph, is read at once, `model(x).argmax(1).eq(y).float().mean().item()`, or made a picture of,
    `save_image(model.decode(code), "out.png")` (info); and what a model of the project, or a method of it that runs it, gives behind `model.eval()` to whomever in a script, or a command of click,
    that uses a GPU and says no word of gradients (info).
    Decorators, context managers, wrappers that hold one of these, and what the callers in the project do are followed; not into a thread, which begins with autograd on.

    ## Why is this slow?

    `eval()` switches dropout and batch normalization, not autograd. Each operation still records its node, and the
    activations live until the last result that refers to them is gone: memory that would hold a larger batch.

    ## When it does not matter

    Where no parameter and no input requires a gradient nothing is recorded: `model(x).numpy()` raises where something is, and functions that mention `requires_grad` are
    not reported, nor are models whose constructor, or the function that makes them, takes the gradients from all parameters, and functions that take gradients of inputs, such
    as attacks and attribution methods.
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

    Decorates the function with `@torch.no_grad()`. Unsafe: what the function gives, keeps or hands on, and what the model keeps
    of it (`self.features = h` in its `forward`), no longer carries a graph for autograd, and a backward pass on it raises.
    Where autograd is off, an `nn.TransformerEncoder` in evaluation takes a fast path: with a `src_key_padding_mask` the places
    that are padded come out as zeros, so that a mean over all of them is another one. `enable_nested_tensor=False` keeps them.
    A decorator further out that looks at the code of the function (`fn.__code__`) sees that of a wrapper; `inspect.signature` does not.
    Nothing is offered for `async def` and generators, where the
    function or anything that it calls may train or ask for gradients (what is not known to this project may, if it is given
    the model or is named like it), nor where a caller runs a backward pass on the result, or may, as the function is handed on
    (`{"features": features}`) or a `__call__`, unless it gives numbers alone.

    ## References

    - https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """
    if site.role == "test" or (site.name == "call" and not _TO_HOST.search(names.last(site.call.func))):
        return
    if site.name == "call":
        yield from _handed(site)
    elif site.name == ".backward()":
        yield from _by_flag(site)
    elif site.name in _EVALUATES:
        yield from _evaluated(site, trains=training.asks(site.function))
    elif site.name in _PICTURES:
        yield from _shown(site)
    elif site.name == ".item()" and site.loop() is None and site.hot is None:
        if _is_script(site):
            yield from _read(site)
    elif site.value(_dropped(site)).kind in ("tensor", "unknown"):
        yield from _unused(site)


def _recorded(site: Site, function: Function, run: ast.Call) -> Finding:
    """What is said of a call of the model that the place switched to evaluation."""
    why = site.related(site.function, site.call, "autograd stays on")
    message = f"`{site.short(run)}` records a graph for autograd on every iteration: `eval()` does not switch it off"
    return site.at(function, run).finding(message, related=(why,))


def _wasted(place: Site) -> Finding:
    """What is said of a call of a model whose graph leads nowhere, however that is known."""
    return place.finding(_WASTED.format(place.short()))


# After `model.eval()`


def _evaluated(site: Site, *, trains: bool) -> Iterator[Finding]:
    """What runs the model after the call, or after the calls of a function that does nothing but switch it."""
    call = site.call
    assert isinstance(call.func, ast.Attribute)
    model = evaluation_mode.switched(site, call)
    if not evaluation_mode.is_switch(call) or model is None:
        return
    yield from _run_behind(site, model, call.func.value, trains=trains)
    for caller, switched in evaluation_mode.where_switched(site, model):
        place = site.at(*caller)
        given = chain(switched)
        if given is not None and place.role != "test":
            yield from _run_behind(place, given, switched, trains=training.asks(place.function))


def _run_behind(site: Site, model: Model, switched: ast.expr, *, trains: bool) -> Iterator[Finding]:
    """What runs a model after the call that switches it; where the function trains, too, only what loops over an evaluation."""
    call = site.call
    value = site.value(switched)
    if value.kind != "module" and not (value.kind == "unknown" and MODEL_NAME.search(model[-1])):
        return
    if (trains and is_frozen(site, model[-1])) or freezes_itself(site, value):
        return
    if value.kind == "module" and value.class_ is not None and not trainable.has_weights(site, value.class_):
        return  # nothing of it requires a gradient
    if is_frozen_by_call(site, site.function, model[-1]):
        return
    told: list[tuple[Loop | None, ast.Call]] = []
    known_as = evaluation_mode.names_of(site.function, model)
    # Of what one loop runs the model itself is told first.
    for other in sorted(site.flow.calls, key=lambda call: not evaluation_mode.is_itself(call, model)):
        around = next(reversed([None, *site.flow.loops(other)]))
        if other.lineno <= call.lineno or _is_told_beside(site, other, around, told):
            continue
        name = next((one for one in known_as if evaluation_mode.runs(site, other, one)), None)
        if name is None:
            continue
        if _is_unused_beside(site, other, name, trains=trains):
            yield _wasted(site.at(site.function, other))
            told.append((around, other))
            continue
        loops = _is_evaluation(site, other, name)
        alone = grad_at.repeated(site, other) and (not trains or _only_evaluates(site, other))
        if site.analysis.steps.hot(site.function, other):
            continue
        if grad_at.off(site, other) or any(
            evaluation_mode.switched_between(site, one, call, other) for one in known_as
        ):
            continue
        if evaluation_mode.is_itself(other, name) and graph_liveness.becomes_array(site, other):
            continue
        if not trains and training.starts_backward(site, site.function, [other]):
            continue  # what it gives goes to a function that asks for gradients
        inner = [] if alone else [*_run_by_test(site, other, name)]
        if inner:
            yield from (_wasted(site.at(*one)) for one in inner)
        elif loops or alone:
            yield _recorded(site, site.function, other)
        elif not trains and evaluation_mode.is_itself(other, name) and _is_dropped(site, other):
            yield _once(site, other)
        elif not trains and _is_of_model_itself(site, other, name) and _ends_in_script(site, other):
            yield _once(site, other)
            continue
        else:
            continue
        told.append((around, other))
    if not told and site.function is site.module.body and not trains:
        yield from _in_functions(site, model)
    if not told and not trains and model == [site.function.own_name]:
        yield from _by_itself(site, model)
    if not told and site.settings.preview:
        yield from _elsewhere(site, model)


def _is_told_beside(site: Site, call: ast.Call, around: Loop | None, told: list[tuple[Loop | None, ast.Call]]) -> bool:
    """Whether another call of the loop is told that a run gets to as well: `net.encode(x)` beside `net(x)`, not in the other branch of an `if`."""
    return any(around is one and not syntax.exclusive(site.flow, call, other) for one, other in told)


def _by_itself(site: Site, model: Model) -> Iterator[Finding]:
    """What a method of a model that evaluates itself runs of its parts, for arrays: `self.eval(); code = self.encoder(x)`."""
    if site.function.name == "forward" or not _is_of_model(site) or _is_open(site):
        return
    for call in site.flow.calls:
        called = chain(call.func) or []
        if len(called) < 2 or called[:1] != model or call.lineno <= site.call.lineno or not runs_trainable(site, call):
            continue
        if graph_liveness.is_dead(site, call) and not grad_at.off(site, call) and not grad_at.frozen(site, call):
            yield _once(site, call)
            return


def _is_dropped(site: Site, call: ast.Call) -> bool:
    """Whether a call that runs once, outside of models and tests, records a graph that nothing uses."""
    if site.function.name == "__init__" or _is_of_model(site):
        return False
    return graph_liveness.is_dead(site, call) and not grad_at.frozen(site, call)


def _is_of_model_itself(site: Site, call: ast.Call, model: Model) -> bool:
    """Whether a call runs a model, a part of it, or a method of its class that does."""
    return evaluation_mode.is_itself(call, model) or evaluation_mode.is_part(site, call, model)


def _ends_in_script(site: Site, call: ast.Call) -> bool:
    """Whether a script, of which no word speaks of gradients, runs a model of the project and gives nobody what that gives."""
    if not _is_run_as_script(site) or site.source.holds(_OF_GRADIENTS) or not site.accelerator:
        return False
    if site.loop() is not None or site.flow.returned:
        return False
    return _is_of_project(site, grad_at.whole(site, model_of(call))) and not grad_at.frozen(site, call)


def _is_run_as_script(site: Site) -> bool:
    """Whether the function is what a script does, or a command; what stands outside of functions, in a file that nobody imports, is one."""
    if site.role != "test" and _is_command(site):
        return True
    if site.role == "script":
        return _is_script(site)
    return site.function is site.module.body and site.role != "test" and not site.project.importers(site.module.path)


def _is_of_project(site: Site, model: ast.expr) -> bool:
    """Whether a model is of a class of the project or of torch, or what something of the project makes: those of libraries may turn autograd off."""
    value = site.value(model)
    if value.kind == "module":
        return value.class_ is not None or value.class_name.startswith("torch")
    stores = site.flow.stores.get(model.id, ()) if isinstance(model, ast.Name) else ()
    made = (syntax.given_to_target(site.flow, store) for store in stores)
    return any(isinstance(one, ast.Call) and site.project.targets(site.function, one) for one in made)


def _is_unused_beside(site: Site, call: ast.Call, model: Model, *, trains: bool) -> bool:
    """Whether a function that trains, or that each step calls, runs the model between `eval()` and what trains next, for values that nobody trains on."""
    within = beside_training.evaluated(site, site.call, model)
    if not any(contains(statement, call) for statement in within):
        return False
    if not (evaluation_mode.is_itself(call, model) or evaluation_mode.is_part(site, call, model)):
        return False
    if not trains and not site.analysis.steps.hot(site.function, call):
        return False  # of an evaluation by itself more is told
    around = site.flow.loops(site.call)
    inner = [loop for loop in site.flow.loops(call) if loop not in around]
    if (inner and not _evaluates_each_step(site, call, inner[0])) or not grad_at.repeated(site, call):
        return False
    return beside_training.is_unused(site, call, within) and not grad_at.off(site, call)


def _evaluates_each_step(site: Site, call: ast.Call, loop: Loop) -> bool:
    """Whether a loop is one of evaluation, which a training loop runs on each step."""
    steps, warm_loops = site.analysis.steps, site.analysis.warm_loops
    return steps.hot(site.function, call) is not None and warm_loops.is_warm(site.function, loop)


def _is_evaluation(site: Site, call: ast.Call, model: Model) -> bool:
    """Whether a call runs a function of the project with an evaluation loop; one that switches a model itself is told of there, and one that switches autograd knows about it."""
    itself = _is_of_model_itself(site, call, model)
    targets = site.project.targets(site.function, call) if not itself else []
    warm_loops = site.analysis.warm_loops
    open_ = (one for one in targets if not evaluation_mode.switches(one) and not one.says(_SWITCHES))
    return any(map(warm_loops.holds_warm_loop, open_))


def _only_evaluates(site: Site, call: ast.Call) -> bool:
    """Whether the nearest loop is one of evaluation, in a function that trains elsewhere, and deals in no gradients itself."""
    loops = site.flow.loops(call)
    if not loops or not site.analysis.warm_loops.is_warm(site.function, loops[0]):
        return False
    return not training.asks(site.function, loops[0])


def _run_by_test(site: Site, call: ast.Call, model: Model) -> Iterator[tuple[Function, ast.Call]]:
    """Where a function runs the model, given by one that trains for most of the time: `test(model, data)`; once a block."""
    told: set[ast.AST] = set()
    for target, inner in evaluation_mode.runs_of_given(site, call, model):
        within = site.at(target, inner)
        around = target.flow.parents[target.flow.statement(inner)]
        known = isinstance(inner.func, ast.Name) or runs_trainable(within, inner)
        repeated = bool(target.flow.loops(inner)) or grad_at.repeated(site, call)
        if not (known or trainable.is_method_of_models(within, inner)) or not repeated:
            continue
        if around in told or target.module is not site.module or evaluation_mode.switches(target):
            continue
        if site.analysis.steps.hot(target, inner) is not None or grad_at.off(within, inner):
            continue
        if not grad_at.frozen(within, inner):
            told.add(around)
            yield target, inner


def _in_functions(site: Site, model: Model) -> Iterator[Finding]:
    """What runs a model of the script in loops of its functions, which know it by its name."""
    for function in site.module.functions:
        if not _knows(function, model):
            continue
        run = next((call for call in function.flow.calls if _is_run_in_loop(site, function, call, model)), None)
        if run is not None and next(site.callers(function), None) is not None:
            yield _recorded(site, function, run)


def _knows(function: Function, model: Model) -> bool:
    """Whether a name means in a function what it means in the script around it."""
    return function.cls is None and function.parent is function.module.body and not function.binds(model[0])


def _is_told_of_script(site: Site, call: ast.Call) -> bool:
    """Whether the script switches the model that one of its functions runs in a loop, which is told there."""
    model, body = chain(call.func), site.module.body
    if model is None or not _knows(site.function, model) or training.asks(body):
        return False
    switched = (evaluation_mode.switched(site.at(body, one), one) for one in evaluation_mode.switching(body))
    return model in switched and _is_run_in_loop(site, site.function, call, model)


def _is_run_in_loop(site: Site, function: Function, call: ast.Call, model: Model) -> bool:
    """Whether a loop of a function runs a model by the model's own name, with autograd on."""
    loops = function.flow.loops(call)
    if chain(call.func) != model or not call.args or not loops or grad_at.is_tried(site, loops):
        return False
    return not site.analysis.steps.hot(function, call) and not grad_at.off(site.at(function, call), call)


def _elsewhere(site: Site, model: Model) -> Iterator[Finding]:
    """What runs the model in a loop of another method, where the object keeps it: `self.model = self.load()`, which evaluates it."""
    klass = site.function.cls
    if klass is None or not site.function.is_method or klass.parent is not site.module.body:
        return
    methods = klass.methods.values()
    if site.project.is_module(klass) or any(method.flow.calls_named("train") for method in methods):
        return  # evaluated for a while
    for name in evaluation_mode.keepers(site, klass, model):
        if is_frozen(site, name) or any(training.asks(method) for method in methods):
            return
        for method in methods:
            calls = (call for call in method.flow.calls if evaluation_mode.runs_kept(site, method, call, name))
            run = next(calls, None)
            if run is not None and method is not site.function and next(site.callers(method), None) is not None:
                yield _recorded(site, method, run)
                return


# Loops that train where a flag says so


def _by_flag(site: Site) -> Iterator[Finding]:
    """`if train: loss.backward()` in a loop over batches, in a function that somebody calls to evaluate, with autograd on."""
    loop = site.loop()
    if loop is None or site.function.says(_SWITCHES_BY_CALL):
        return
    for flag in alternatives.left_to_callers(site.function, site.target, loop):
        evaluating = next(_excluding(site, flag), None)
        runs = (call for call in site.flow.calls if site.flow.loops(call)[:1] == [loop])
        model = next((call for call in runs if runs_trainable(site, call)), None) if evaluating is not None else None
        if evaluating is None or model is None:
            continue
        caller, call, without = evaluating
        if flag in alternatives.behind(site.flow, model) or not _asks_behind(site, flag):
            continue
        if site.analysis.context.grad_off(caller, call):
            continue
        if not grad_at.frozen(site, model) and not grad_at.off(site, model):
            why = site.related(caller, call, "called without training, and autograd stays on")
            what = f"`{site.short(model)}` records a graph for autograd where `{flag.name}` is {without!r}"
            yield site.finding(f"{what}, and nothing uses it", at=model, related=(why,))
            return


def _asks_behind(site: Site, flag: alternatives.Said) -> bool:
    """Whether a function speaks of gradients of tensors behind a flag alone: `if train: total += p.grad.norm()`."""
    asked = (one for one in site.flow.nodes if isinstance(one, ast.Attribute) and one.attr in _OF_GRADIENT)
    return all(flag in alternatives.behind(site.flow, one) for one in asked)


def _excluding(site: Site, flag: alternatives.Said) -> Iterator[tuple[Function, ast.Call, object]]:
    """The calls of the function, tests apart, that exclude what is said of a parameter, with what they give for it."""
    for one in site.project.call_sites(site.function, _CALLERS) or ():
        given = alternatives.given(site.function, one.call, [flag.name]) if one.given is None else ()
        if alternatives.excluded(given, [flag]) and not site.project.is_tested(one.function):
            yield one.function, one.call, given[0].value


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
    # Of a forward, whoever calls the model decides.
    if not any(one.name == "forward" and one.cls is not None for one in site.function.scopes):
        yield from _told(site, _dropped(site))


def _handed(site: Site) -> Iterator[Finding]:
    """What is given to a helper that drops the graph: `to_np(self.network(x))`, of `def to_np(t): return t.detach().cpu().numpy()`."""
    given = next(graph_liveness.given_to_drop(site, site.call), None)
    if given is not None:
        yield from _told(site, given)


def _shown(site: Site) -> Iterator[Finding]:
    """What pictures are made of: `save_image(model.decode(code), "out.png")`, in a script outside of loops, too."""
    given = site.argument("tensor", 0)
    if given is None:
        return
    if site.loop() is not None or not _is_script(site):
        yield from _told(site, given)
    elif not training.asks(site.function):
        calls = [call for call in trainable.sources(site, given) if not site.flow.loops(call)]
        yield from (_once(site, call) for call in calls if _is_lost(site, call))


def _told(site: Site, dropped: ast.expr) -> Iterator[Finding]:
    """Of the calls of models that a value comes from those that run again and again, and whose results lose their graph everywhere."""
    if evaluation_mode.switches(site.function) and not (site.hot and training.asks(site.function)):
        return  # which tells more of it, but of a teacher's calls beside training
    calls = tuple(dict.fromkeys(trainable.sources(site, dropped)))
    if not calls:
        yield from _given_back(site, dropped)
        yield from _handed_in(site)
        return
    script = site.role == "script" and _is_script(site) and site.accelerator
    if _predicts(site) or (script and not training.asks(site.function)):
        once = tuple(call for call in calls if not site.flow.loops(call))
        for wasted in site.once(("predicted", site.function, once), lambda: [c for c in once if _is_lost(site, c)]):
            yield _once(site, wasted)
    if not _is_repeated(site):  # which takes longest to tell
        return
    if isinstance(site.loop(), ast.While) and site.once(
        ("left to callers", site.function), lambda: _is_left_to_callers(site, site.function, _DEPTH)
    ):
        return  # it generates: a loop over batches evaluates, whoever calls it
    # Many places that drop a graph ask of the same calls.
    key = ("wasted", site.function, calls)
    switches = evaluation_mode.switches(site.function)
    for wasted in site.once(key, lambda: [call for call in calls if _is_wasted(site, call)]):
        if not switches or site.analysis.steps.hot(site.function, wasted):  # else told behind `eval()`
            place = site.at(site.function, wasted)
            yield _once(place, wasted) if _is_seldom(place) else _wasted(place)


def _given_back(site: Site, dropped: ast.expr) -> Iterator[Finding]:
    """What a function runs a model for whose callers all drop its graph, one of them in a loop: `feature = extract(path)`, `feature.data.numpy()`."""
    if site.loop() is None or site.grad_off or training.asks(site.function):
        return
    for function, call in trainable.given_back(site, dropped):
        if function.module is not site.module:
            continue
        there = site.at(function, call)
        if graph_liveness.is_of_script(there) and site.once(("given back", call), lambda: _is_lost(there, call)):  # noqa: B023
            yield _wasted(there)


def _handed_in(site: Site) -> Iterator[Finding]:
    """What callers run a model for that the place's function reads, and drops the graph of: `accuracy(model(x), y)`."""
    key = ("handed in", site.function)
    for place in site.once(key, lambda: [*_wasted_by_callers(site)]):
        yield _once(place, place.call) if _is_of_model(place) else _wasted(place)


def _wasted_by_callers(site: Site) -> Iterator[Site]:
    for one in site.project.call_sites(site.function, _CALLERS) or ():
        if one.function.module is not site.module or evaluation_mode.switches(one.function):
            continue  # which tells more of it
        where = site.at(one.function, one.call)
        calls = [call for given in given_to(one.call) for call in trainable.sources(where, given)]
        for place in (site.at(one.function, call) for call in dict.fromkeys(calls)):
            if _is_repeated(place) and _is_wasted(place, place.call) and not (_is_of_model(place) and _is_open(place)):
                yield place


def _is_of_model(site: Site) -> bool:
    """Whether the place is in a method of a model, or a function inside of one."""
    return any(one.cls is not None and site.project.is_module(one.cls) for one in site.function.scopes)


def _is_open(site: Site) -> bool:
    """Whether nobody is known to call the function, or somebody does with autograd off: others that use the model may do so, too."""
    callers = [*itertools.islice(site.callers(site.function), _CALLERS)]
    return not callers or any(site.analysis.context.grad_off(one.function, one.call) for one in callers)


def _is_repeated(site: Site) -> bool:
    """Whether the place is in a loop, or in a function that one calls, and in no function that asks for gradients but on steps."""
    in_loop = site.loop() is not None
    if (in_loop or site.function is not site.module.body) and grad_at.runs_often(site):
        return True
    return in_loop and (site.settings.preview or site.warm is not None or not training.asks(site.function))


def _is_seldom(site: Site) -> bool:
    """Whether few of the steps of a function that trains get there: `if step % 100 == 0: fake = generator(noise)`."""
    return site.hot is None and site.warm is None and training.asks(site.function)


def _predicts(site: Site) -> bool:
    """Whether the function predicts for whoever calls it, and no loop of this project is known to do so."""
    function = site.function
    return (
        _PREDICTS.search(function.name) is not None
        and site.hot is None
        and site.warm_caller is None
        and not training.asks(function)
        and not _is_of_model(site)
    )


def _is_lost(site: Site, call: ast.Call) -> bool:
    """Whether a call of a model records a graph that nothing uses."""
    return graph_liveness.is_dead(site, call) and _is_needless(site, call)


def _is_left_to_callers(site: Site, function: Function, steps: int) -> bool:
    """Whether a function is a method of a model that nobody calls here, or what such methods alone call: whoever uses the model decides."""
    callers = [one.function for one in itertools.islice(site.callers(function), _CALLERS)]
    if not callers:
        return function.cls is not None and site.project.is_module(function.cls)
    return steps > 0 and all(_is_left_to_callers(site, one, steps - 1) for one in callers)


def _is_wasted(site: Site, call: ast.Call) -> bool:
    """Whether a call of a model runs again and again, and its result loses its graph everywhere."""
    if not grad_at.repeated(site, call) or grad_at.frozen(site, call):
        return False
    # What a method gives may be integers.
    model = model_of(call)
    kind = site.value(model).kind
    is_model = kind == "module" or (kind == "unknown" and MODEL_NAME.search(names.last(model)))
    if is_model and graph_liveness.becomes_array(site, call):
        return False
    if _is_made_on_steps(site, call) or _is_told_of_script(site, call):
        return False
    return graph_liveness.is_dead(site, call) and not grad_at.off(site, call)  # which takes longest to tell


def _is_made_on_steps(site: Site, call: ast.Call) -> bool:
    """Whether each training step makes what is called anew, such as a random transform: no model is, since it would not be trained."""
    stores = site.flow.stores.get(call.func.id, ()) if isinstance(call.func, ast.Name) else ()
    made = [statement for store in stores if isinstance(statement := site.flow.parents.get(store), ast.Assign)]
    return 0 < len(made) == len(stores) and all(
        isinstance(statement.value, ast.Call) and site.analysis.steps.hot(site.function, statement)
        for statement in made
    )


def _read(site: Site) -> Iterator[Finding]:
    """`print(model(x).eq(y).float().mean().item())` in a script or its `main`: nothing else gets the result."""
    chained = itertools.takewhile(lambda part: isinstance(part, ast.Call | ast.Attribute), steps(site.call))
    calls = (part for part in chained if isinstance(part, ast.Call))
    call = next(filter(functools.partial(runs_trainable, site), calls), None)
    if call is not None and not site.grad_off and _is_needless(site, call):
        yield _once(site, call)


def _is_script(site: Site) -> bool:
    return site.function is site.module.body or site.function.name == "main"


def _is_command(site: Site) -> bool:
    """Whether the command line runs the function: `@click.command()`."""
    called = (one.func if isinstance(one, ast.Call) else one for one in site.function.decorators)
    return any(site.project.resolve(site.function.parent or site.function, one) == "click.command" for one in called)


def _is_needless(site: Site, call: ast.Call) -> bool:
    """Whether autograd is on at a call of a model with something to train, in a function that tells no more by `eval()`."""
    return not (evaluation_mode.switches(site.function) or grad_at.frozen(site, call) or grad_at.off(site, call))


def _once(site: Site, call: ast.Call) -> Finding:
    """What is said of a call of a model that runs once."""
    return site.finding(_WASTED.format(site.short(call)), at=call, severity="info")
