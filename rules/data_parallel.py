from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import (
    batches_of_one,
    class_users,
    evaluation_mode,
    frequency,
    syntax,
    trainable,
    training,
    uses,
    visible_devices,
    wrapped_models,
)
from torchlint.facts.flow import Flow, contains
from torchlint.facts.module import Function, Module
from torchlint.facts.names import last
from torchlint.facts.nodes import argument_of, keyword_of
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_OTHER_WAY = regex(r"\bDDP\b|DistributedDataParallel|torch\.distributed|torchrun")
_BY_NAME = regex(r"data_?parallel", re.IGNORECASE)
_DISTRIBUTED = "torch.nn.parallel.DistributedDataParallel"
_WITHOUT_FORWARD = frozenset(("torch.nn.ModuleList", "torch.nn.ModuleDict"))
_PARAMETERS = ("parameters", "named_parameters")
_NAMES = 3
"""How many names, each assigned the next, are followed."""
_MAPPED = "map($here := torch.nn.DataParallel, $models)"
_REPLICATE = ("torch.nn.parallel.replicate", "torch.nn.parallel.replicate.replicate")


@rule(
    "TL801",
    shape=[
        "torch.nn.DataParallel(...)",
        "torch.nn.parallel.data_parallel(...)",
        *(f"{name}(...)" for name in _REPLICATE),
        _MAPPED,
        "class $class($here := torch.nn.DataParallel, ...): ...",
    ],
    impact="high",
    category="distributed",
    principle=("parallelism",),
)
def data_parallel(site: Site) -> Iterator[Finding]:
    """`nn.DataParallel` runs several GPUs from one process.

    ## What it does

    Finds models wrapped by `torch.nn.DataParallel`, also several of them by `map(nn.DataParallel, models)`, classes derived from it, and calls of
    `torch.nn.parallel.data_parallel`; and of `torch.nn.parallel.replicate` on each step or in a `forward`.

    ## Why is this slow?

    On each forward the parameters and buffers are broadcast to all devices, one thread a device runs the model under one
    interpreter lock, and the outputs are gathered on the first device, which also holds the optimizer's state.
    `DistributedDataParallel` keeps one process and one replica a device and overlaps the exchange of gradients with the
    backward pass; the documentation recommends it on a single machine too. Who evaluates alone has no gradients to exchange: there a
    process for each GPU takes its share of the data.

    ## When it does not matter

    With one visible device `DataParallel` calls the module itself, which is why a wrapper around the single device
    `device_ids=[0]` is not reported, nor is `device_ids=gpus` of a parameter that is `[0]` by default.
    A batch of one is not split: a script, or a class, that calls the wrapper with `x.unsqueeze(0)`, `x[None]` or `np.expand_dims(x, 0)`
    alone is not reported, nor is one in a file whose loaders all have `batch_size=1`, nor one around a `ModuleList`, which nothing calls,
    or around a loss such as `CrossEntropyLoss`, or a module of the project, that has no parameters, nor one in a file that sets
    `os.environ["CUDA_VISIBLE_DEVICES"]` to one device.
    Checks such as `isinstance(model, nn.DataParallel)` and annotations cost nothing, nor does `nn.DataParallel(model).module`, which is the model.
    `DistributedDataParallel` exchanges what `backward()` leaves in `.grad`: a model of which a step asks
    `torch.autograd.grad(loss, model.parameters())` can't use it, and is not reported.
    A program that itself warns there and names the distributed way is not told again, nor is a class
    that is called so, unless a program trains an object of it, or a function whose caller asks for it
    (`def load(path, data_parallel=True)`), or one that is called so and stands in a table beside others (`{"dp": dataparallel256}`).

    ## Bad

    ```python
    model = torch.nn.DataParallel(model).cuda()  # TL801
    ```

    ## Good

    ```python
    torch.distributed.init_process_group('nccl')
    model = torch.nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[local_rank])  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-nn-ddp-instead
    """
    if site.role == "test":
        return
    if site.pattern == _MAPPED:
        yield from _mapped(site)
    elif isinstance(site.target, ast.Call):
        if _switched_off(site):
            return
        if site.name.removesuffix("()") in _REPLICATE:
            yield from _replicated(site)
            return
        if _takes_one(site) or _loads_one(site):
            return
        if _one_device(site, site.call) or _told_of(site, site.call) or _only_wraps(site) or _without_gpu(site):
            return
        if visible_devices.is_one(site) or _wraps_no_model(site) or _differentiates(site):
            return
        beside = _other_way(site)
        if evaluation_mode.is_wrapped_for_it(site) or _runs_without_autograd(site):
            other = "a process for each GPU"
        else:
            other = "`DistributedDataParallel`" + (", as in the other branch," if beside else "")
        yield site.finding(
            f"`{site.short()}` copies the model to every GPU on each forward and runs them from one process; "
            f"{other} does neither",
            related=tuple(site.related(site.function, call, "the other branch") for call in beside),
        )
    elif not _BY_NAME.search(name := site.match["class"]) or _is_trained(site, name):
        base = site.text().rpartition(".")[2]
        yield site.finding(
            f"`{name}` inherits from `{base}`, which copies the model to every GPU on each forward; "
            "`DistributedDataParallel` does not"
        )


def _is_trained(site: Site, name: str) -> bool:
    """Whether a file that runs a backward pass makes an object of a class: it is no wrapper that others may do without."""
    users = class_users.naming(site, name)
    return any(one.holds(b".backward(") and class_users.makes(one, name) for one in users)


def _wraps_no_model(site: Site) -> bool:
    """Whether a list of modules is wrapped, which nothing can call, or a loss of torch, or a module of the project, that has no parameters."""
    given = site.argument("module", 0)
    value = site.value(given) if given is not None else None
    if value is None:
        return False
    name, klass = value.class_name, value.class_
    if name in _WITHOUT_FORWARD or (name.startswith("torch.nn.") and name.endswith("Loss")):
        return True
    if klass is None or len(value.any_class) > 1 or not site.project.is_module(klass):
        return False
    return not site.project.heirs(klass.name) and not trainable.has_weights(site, klass)


def _differentiates(site: Site) -> bool:
    """Whether a step asks `torch.autograd.grad` for gradients of the model's parameters: `DistributedDataParallel` exchanges none of these."""
    model = wrapped_models.wrapped(site)
    if model is None or not site.project.any_holds(training.GRADIENTS, word=b"autograd"):
        return False
    return any(
        site.project.resolve(function, call.func) == "torch.autograd.grad"
        and _are_of(function, name, argument_of(call, "inputs", 1))
        for function, name in wrapped_models.given_on(site, model)
        for call in function.flow.calls_named("grad")
    )


def _are_of(function: Function, model: wrapped_models.Model, inputs: ast.expr | None) -> bool:
    """`model.parameters()`, `[p for p in model.module.parameters() if p.requires_grad]`, or `weights` of `weights = list(model.parameters())`."""
    given = _named(function, inputs)
    parts = [part for part in ast.walk(given) if isinstance(part, ast.Attribute)] if given is not None else []
    tells = given is inputs or any(part.attr in _PARAMETERS for part in parts)
    return tells and any(chain(part.value) == model for part in parts)


def _named(function: Function, node: ast.expr | None) -> ast.expr | None:
    """What a name was assigned, without the `list` around it; any other expression itself."""
    for _ in range(_NAMES):
        match uses.assigned(function, node) if isinstance(node, ast.Name) else None:
            case None:
                break
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[node]):
                pass
            case given:
                node = given
    return node


def _other_way(site: Site) -> list[ast.Call]:
    """The call of `DistributedDataParallel` that the other branch of an `if` around the place makes, if one does."""
    function = site.function
    calls = site.once(
        ("distributed", function), lambda: [call for call in site.flow.calls if site.resolve(call.func) == _DISTRIBUTED]
    )
    return [call for call in calls if syntax.exclusive(site.flow, site.target, call)][:1]


def _replicated(site: Site) -> Iterator[Finding]:
    """`replicate(self.layers, devices)` on each step: what `DataParallel` does, by hand; once it is a copy for each device."""
    klass = site.function.cls
    if klass is not None and _BY_NAME.search(klass.name):
        return
    if not site.rare and frequency.repeated(site):
        yield site.finding(
            f"`{site.short()}` copies the model to every GPU {_when(site)} and runs them from one process; "
            "`DistributedDataParallel` does neither",
            related=site.why_hot(),
        )


def _mapped(site: Site) -> Iterator[Finding]:
    """`encoder, decoder = map(nn.DataParallel, (encoder, decoder))`"""
    call = site.flow.parents[site.target]
    assert isinstance(call, ast.Call)
    if _switched_off(site) or _without_gpu(site) or _loads_one(site) or _told_of(site, call):
        return
    if visible_devices.is_one(site):
        return
    beside = _other_way(site)
    yield site.finding(
        f"`{site.short(call)}` copies each of the models to every GPU on each forward and runs them from one process; "
        f"`DistributedDataParallel`{', as in the other branch,' if beside else ''} does neither",
        at=call,
        related=tuple(site.related(site.function, one, "the other branch") for one in beside),
    )


def _when(site: Site) -> str:
    return frequency.how_often(site) if frequency.severity(site) is not None else frequency.of_calls(site)


def _told_of(site: Site, call: ast.Call) -> bool:
    """Whether a class is called so that does it, a caller asks for it, or the program points to the other way beside it.

    So it is with a function that is called so and that no call names: what a table offers beside other ways.
    """
    klass = site.function.cls
    if _BY_NAME.search(site.function.name) and _is_offered(site):
        return True
    asked = (guard.test.id for guard in site.flow.guards(call) if isinstance(guard.test, ast.Name))
    names = [name for name in asked if name in site.flow.parameters]
    if any(map(_BY_NAME.search, (*names, *((klass.name,) if klass is not None else ())))):
        return True
    block = next((guard.block for guard in site.flow.guards(call) if guard.block is not None), ())
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and _OTHER_WAY.search(node.value)
        for statement in block
        if isinstance(statement, ast.Expr)
        for node in ast.walk(statement)
    )


def _is_offered(site: Site) -> bool:
    """Whether the file puts the function into a table, and calls it by its name nowhere: `{"dp-256": Experiments.dataparallel256, ...}`"""
    module, name = site.module, site.function.name
    named = [
        (function.flow, node)
        for function in module.functions_at(module.lines_holding(name))
        for node in function.flow.nodes
        if isinstance(node, ast.Name | ast.Attribute) and last(node) == name
    ]
    called = any(syntax.called(flow, node) is not None for flow, node in named)
    return not called and any(isinstance(flow.parents.get(node), ast.Dict) for flow, node in named)


def _switched_off(site: Site) -> bool:
    """`parallel = False` in front of `if parallel:`"""
    return any(
        isinstance(guard.test, ast.Name) and site.value(guard.test).const is (not guard.true)
        for guard in site.flow.guards(site.target)
    )


def _without_gpu(site: Site) -> bool:
    """`if torch.cuda.is_available(): ... else: model = DataParallel(model)`: there is nothing to copy to."""
    tests = (guard.test for guard in site.flow.guards(site.target) if not guard.true)
    return any(value.kind == "number" and value.needs_accelerator for value in map(site.value, tests))


_MOST_READS = 100
"""In so many places it is looked for what becomes of a wrapper."""
_TAKEN_OFF = frozenset(("module", "load_state_dict", "state_dict", "to", "cuda", "eval", "train"))
_EVALUATED = _TAKEN_OFF - {"module", "train"}
"""What a wrapper is asked for that is there to evaluate a model."""
_NEVER_CALLED = frozenset(("load_state_dict", "state_dict", "parameters", "named_parameters"))
"""What a wrapper is asked for that is there for the names in a checkpoint alone: nothing calls it or hands it on."""


def _name(site: Site) -> str | None:
    """The name that a wrapper is given."""
    target = site.statement.targets[0] if isinstance(site.statement, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) and target.id not in site.flow.globals else None


def _kept_name(site: Site) -> str | None:
    """The attribute of its object that a method keeps a wrapper in."""
    statement = site.statement
    return syntax.own_attribute(site.function, statement.targets[0]) if isinstance(statement, ast.Assign) else None


def _own_name(site: Site) -> str | None:
    """The name that a wrapper is given, where its function alone reads it."""
    name = _name(site)
    return name if name is not None and not any(_readers_elsewhere(site, name)) else None


def _only_wraps(site: Site) -> bool:
    """Whether the wrapper is there for the names of a checkpoint: only what is in it (`model.module`) is used, or taken out at once."""
    around = site.flow.parents.get(site.call)
    if isinstance(around, ast.Attribute) and around.attr == "module":
        return True  # `net = nn.DataParallel(net).module`, which is what was wrapped
    statement, own, kept = site.statement, _own_name(site), _kept_name(site)
    name = [own] if own is not None else [site.function.own_name, kept] if kept is not None else None
    if name is None:
        return False
    end = _taken_off_at(site, name)
    if own is None and end is None:
        return False  # whoever has the object may call it
    again = bool(site.flow.loops(statement))  # a turn reads what the one before wrapped
    used = [
        site.flow.parents[load]
        for load in wrapped_models.reads(site.function, name)
        if (
            load.lineno > (statement.end_lineno or statement.lineno) or (again and not contains(statement, load))
            if end is None
            else statement.lineno < load.lineno <= (end.end_lineno or 0)
        )
    ]
    methods = {use.attr if isinstance(use, ast.Attribute) else "" for use in used}
    if methods & {"load_state_dict", "state_dict"} and methods <= _NEVER_CALLED:
        return True
    return "module" in methods and methods <= _TAKEN_OFF


def _takes_one(site: Site) -> bool:
    """Whether a wrapper is called with batches of one alone, `x.unsqueeze(0)`: these are not split, so nothing is copied."""
    calls = _calls(site, _TAKEN_OFF)
    return bool(calls) and all(call.args and batches_of_one.is_of_one(flow, call.args[0]) for flow, call in calls)


def _runs_without_autograd(site: Site) -> bool:
    """Whether autograd is off wherever the wrapper is called: there are no gradients that processes would exchange."""
    calls = _calls(site, _EVALUATED)
    off = site.analysis.context.off_where_called
    return bool(calls) and all(off(flow.function, call) for flow, call in calls)


def _calls(site: Site, allowed: frozenset[str]) -> list[tuple[Flow, ast.Call]]:
    """The calls of a wrapper, in functions of the project too that it is handed to; none where more than what is `allowed` is asked of it."""
    found: list[tuple[Flow, ast.Call]] = []
    todo, seen = [*_reads(site)], set[ast.expr]()
    while todo:
        flow, read = todo.pop()
        if read in seen:
            continue
        seen.add(read)
        user = flow.parents[read]
        if isinstance(user, ast.Call) and user.func is read:
            found.append((flow, user))
        elif not (isinstance(user, ast.Attribute) and user.attr in allowed):
            handed = _reads_by_callee(site, flow, read)
            if handed is None or len(seen) > _MOST_READS:
                return []
            todo += handed
    return found


def _reads_by_callee(site: Site, flow: Flow, read: ast.expr) -> list[tuple[Flow, ast.expr]] | None:
    """Where the functions of the project read a wrapper that a call gives them; None where it goes elsewhere, or they bind it anew."""
    call = flow.argument_of(read)
    targets = site.project.targets(flow.function, call) if isinstance(call, ast.Call) and call.func is not read else []
    found: list[tuple[Flow, ast.expr]] = []
    for target in targets:
        name = target.parameter_given(call, read) if isinstance(call, ast.Call) else None
        if name is None or name in target.flow.stores or target.nested:
            return None
        found += ((target.flow, load) for load in target.flow.loads.get(name, ()))
    return found if targets else None


def _loads_one(site: Site) -> bool:
    """Whether the loaders of the file, if there are any, all say that they give one sample at a time."""
    return site.once(("loads one", site.module), lambda: _are_of_one(site.module))


def _are_of_one(module: Module) -> bool:
    loaders = [call for function in module.functions for call in function.flow.calls_named("DataLoader")]
    sizes = [argument_of(loader, "batch_size", 1) for loader in loaders]
    return bool(sizes) and all(isinstance(size, ast.Constant) and size.value == 1 for size in sizes)


def _reads(site: Site) -> Iterator[tuple[Flow, ast.expr]]:
    """Where a wrapper is read behind the wrapping, or in other functions of a script, or, if it is an attribute of its object, in a method of that."""
    statement, name, klass = site.statement, _name(site), site.function.cls
    if name is not None:
        end = statement.end_lineno or statement.lineno
        yield from ((site.flow, load) for load in site.flow.loads.get(name, ()) if load.lineno > end)
        for function in _readers_elsewhere(site, name):
            yield from ((function.flow, load) for load in function.flow.loads[name])
    kept = _kept_name(site)
    if klass is not None and kept is not None:
        uses = klass.uses.get(kept, ())
        yield from ((method.flow, use) for method, use in uses if not contains(statement, use))


_NEAR = 20
"""In so many statements behind it a wrapper is taken off again that is there for the names of a checkpoint."""


def _taken_off_at(site: Site, name: list[str]) -> ast.stmt | None:
    """The statement behind the wrapping, in its block, that gives the name what is in the wrapper: `model = model.module.cuda()`."""
    block = site.flow.block(site.statement)
    at = block.index[site.statement] + 1 if block is not None else 0
    for statement in block.statements[at : at + _NEAR] if block is not None else ():
        if isinstance(statement, ast.Assign) and chain(statement.targets[0]) == name:
            parts = (node for node in ast.walk(statement.value) if isinstance(node, ast.Attribute))
            taken = any(part.attr == "module" and chain(part.value) == name for part in parts)
            return statement if taken else None
    return None


def _readers_elsewhere(site: Site, name: str) -> Iterator[Function]:
    """The other functions of a script that read what it calls by a name at its top."""
    for function in site.module.functions if site.function is site.module.body else ():
        flow = function.flow
        if function is not site.function and name in flow.loads and name not in (*flow.stores, *flow.parameters):
            yield function


def _one_device(site: Site, call: ast.Call) -> bool:
    """`DataParallel(model, device_ids=[0])` and `DataParallel(model, [0])`; so is a parameter that is `[0]` unless somebody gives more."""
    given = keyword_of(call, "device_ids")
    if given is None and len(call.args) == 2:
        given = call.args[1]
    if isinstance(given, ast.Name) and given.id not in site.flow.stores:
        given = site.function.defaults.get(given.id)
    if not isinstance(given, ast.List | ast.Tuple) or len(given.elts) != 1:
        return False
    return not isinstance(given.elts[0], ast.Starred)
