from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import names, runs, syntax
from torchlint.facts.flow import Flow
from torchlint.facts.module import Function
from torchlint.facts.nodes import is_constant, names_in
from torchlint.rule import Finding, Site, chain, plain, rule

_NAMES = ("torch.utils.data.distributed.DistributedSampler()", "torch.utils.data.DistributedSampler()")
_MANAGED = (b"accelerat", b"lightning", b"fabric", b"hydra", b"deepspeed")
_TELLS = "set_epoch"


@rule("TL809", shape=plain(*_NAMES), category="distributed")
def sampler_epoch_not_set(site: Site) -> Iterator[Finding]:
    """A shuffling `DistributedSampler` that is never told the epoch.

    ## What it does

    Finds a `DistributedSampler` in a file that loops over epochs and in which nobody calls `set_epoch`, and no other file that
    imports it does. Of several samplers of one function it finds those that a training loop draws from by their loaders, where only the
    others are told the epoch.

    ## Why is this slow?

    It is wrong rather than slow: the order of the samples is drawn from the seed and the epoch, so without `set_epoch` each
    epoch has the order of the first, and each process sees the same part in the same order again.

    ## When it does not matter

    With `shuffle=False`, for evaluation, and in a single epoch.
    Frameworks call `set_epoch` themselves.

    ## Bad

    ```python
    sampler = torch.utils.data.DistributedSampler(dataset)  # TL809
    loader = torch.utils.data.DataLoader(dataset, sampler=sampler)
    for epoch in range(10):
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
    ```

    ## Good

    ```python
    sampler = torch.utils.data.DistributedSampler(dataset)  # ok
    loader = torch.utils.data.DataLoader(dataset, sampler=sampler)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    """
    shuffle = site.argument("shuffle", 3)
    if site.spread or (shuffle is not None and not is_constant(shuffle, True)):
        return
    if site.role == "test" or _is_told(site) or _for_evaluation(site) or not _loops_over_epochs(site):
        return
    yield site.finding(f"`{site.short()}` gives the same order in every epoch: nobody calls its `set_epoch(epoch)`")


def _is_told(site: Site) -> bool:
    """Whether this file or one that imports it calls `set_epoch`, or leaves the loop to a framework."""
    importers = site.project.importers(site.module.path)
    sources = [site.source, *(source for path in importers if (source := site.project.source(path)) is not None)]
    if any(source.holds(word) for word in _MANAGED for source in sources):
        return True
    if any(source.holds(_TELLS.encode()) for source in sources[1:]):
        return True
    return site.source.holds(_TELLS.encode()) and not _others_are_told(site)


def _others_are_told(site: Site) -> bool:
    """Whether the function tells other samplers the epoch, and nobody else tells any, while its training draws from this one."""
    name = _name_of(site.flow, site.call)
    telling = site.module.functions_at(site.module.lines_calling(_TELLS))
    if name is None or [*telling] != [site.function]:
        return False
    told = site.flow.calls_named(_TELLS)
    if not told or not all(_tells_other(site, call, name) for call in told):
        return False
    if any(one.source.holds(_TELLS.encode()) for one in site.project.imports_of(site.module)):
        return False
    return any(_is_drawn_from(site, one) for one in _loaders(site, name))


def _name_of(flow: Flow, made: ast.expr) -> str | None:
    """The name that a statement gives what it makes."""
    target = syntax.target(flow, made)
    return target.id if isinstance(target, ast.Name) else None


def _tells_other(site: Site, call: ast.Call, name: str) -> bool:
    """Whether `set_epoch` is called of another sampler that the function makes, or of the loader of one."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=told)):
            return told != name and any(f"{site.resolve(made.func)}()" in _NAMES for made in _made(site, told))
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=loader), attr="sampler")):
            made = _made(site, loader)
            return bool(made) and not any(name in names_in(one) for one in made)
    return False


def _made(site: Site, name: str) -> list[ast.Call]:
    """The calls that make what the function calls by a name."""
    statements = map(site.flow.parents.get, site.flow.stores.get(name, ()))
    return [one.value for one in statements if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]


def _loaders(site: Site, name: str) -> list[str]:
    """The names of the loaders that a sampler is for; nothing where it goes elsewhere as well."""
    found: list[str] = []
    for load in site.flow.loads.get(name, ()):
        given = site.flow.parents.get(load)
        made = site.flow.parents.get(given) if isinstance(given, ast.keyword) else None
        loader = _name_of(site.flow, made) if isinstance(made, ast.Call) else None
        if loader is not None and isinstance(given, ast.keyword) and given.arg == "sampler":
            found.append(loader)
        elif not _is_asked(site, load):
            return []
    return found


def _is_asked(site: Site, load: ast.Name) -> bool:
    """`shuffle=sampler is None`, `shuffle=not sampler`"""
    return isinstance(site.flow.parents.get(load), ast.Compare | ast.UnaryOp | ast.If | ast.IfExp)


def _is_drawn_from(site: Site, loader: str) -> bool:
    """Whether a step loop of the function, or of one that it calls, goes through a loader."""
    if _goes_through(site, site.function, loader):
        return True
    return any(
        _goes_through(site, target, parameter)
        for call in site.flow.calls
        if loader in names_in(call)
        for target in site.project.targets(site.function, call)
        for parameter in target.positions
        if isinstance(given := target.argument(call, parameter), ast.Name) and given.id == loader
    )


def _goes_through(site: Site, function: Function, loader: str) -> bool:
    """Whether a step loop goes through a loader, by itself or with others, or takes its batches by `next(batches)`."""
    flow = function.flow
    iterators = {
        name
        for call in (*flow.calls_named("iter"), *flow.calls_named("cycle"))
        if loader in names_in(call) and (name := _name_of(flow, call)) is not None
    }
    for loop in site.analysis.steps.loops_of(function):
        if isinstance(loop, ast.For) and loader in names_in(loop.iter):
            return True
        drawn = (call for call in flow.calls_within(loop) if names.last(call.func) == "next")
        if any(not iterators.isdisjoint(names_in(call)) for call in drawn):
            return True
    return False


def _for_evaluation(site: Site) -> bool:
    """Whether the sampler goes by its name, or by the name of its dataset, to an evaluation."""
    parent = site.flow.parents.get(site.target)
    named = parent.targets[0] if isinstance(parent, ast.Assign) else None
    words = [
        *(chain(named) or [] if named is not None else []),
        *(chain(site.call.args[0]) or [] if site.call.args else []),
    ]
    text = " ".join(words).lower()
    return any(word in text for word in ("val", "test", "eval", "pred"))


def _loops_over_epochs(site: Site) -> bool:
    """Whether a loop of the file counts epochs around a step loop."""
    steps = site.analysis.steps
    for function, loop in [(one, loop) for one in site.module.functions for loop in steps.loops_of(one)]:
        outer = function.flow.loops(loop)
        if outer and any("epoch" in name.lower() for name in runs.counts_by(outer[-1])):
            return True
    return False
