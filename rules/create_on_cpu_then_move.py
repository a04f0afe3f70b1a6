from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency, gathered, moved_elsewhere, operator_results, short_functions
from torchlint.facts.host_constants import kept_on_host, taken_from_host, viewed
from torchlint.facts.host_filled import (
    NUMPY_FILLS,
    Filled,
    calculated_of,
    default_of,
    factory,
    filled,
    first_fill,
    is_filled_by_numpy,
)
from torchlint.facts.indices import indexed, is_of_device
from torchlint.facts.legacy_tensors import OF_HOST, makes_on_device
from torchlint.facts.listed import only_element
from torchlint.facts.moved_entries import filled_entries
from torchlint.facts.on_call import on_call, precedes_runs
from torchlint.facts.place import Place
from torchlint.facts.sending import goes_to_device, target_of
from torchlint.facts.sent_by_callers import is_sent_by_callers
from torchlint.facts.wherever import wherever
from torchlint.rule import Finding, Site, rule

CALCULATED = "calculated"
"""Told to the fixer of what is calculated on the way to the device, which no argument of one call replaces."""
_SEEN = ("arange", "eye", "full", "ones", "rand", "randint", "randn", "randperm", "zeros")
"""The factories of which it is asked who moves what they make, and where it is an index."""


@rule(
    "TL405",
    shape=[
        *(f"$made.{move}(...)" for move in ("to", "cuda", "xpu", "type_as", "type")),
        *(f"torch.{name}(...)" for name in _SEEN),
        "$x.new_tensor(...)",
        *(f"{name}(...)" for name in NUMPY_FILLS),
    ],
    fix="safe",
    impact="medium",
    category="data",
    principle=("locality",),
    confirmed_by=("h2d",),
)
def create_on_cpu_then_move(site: Site) -> Iterator[Finding]:
    """A tensor is filled in host memory and then copied to the device, again and again.

    ## What it does

    Finds `torch.zeros(...).to(device)` and the like (`ones`, `empty`, `full`, `eye`, `arange`, `linspace`, `rand`,
    `randn`, `randint`, `randperm`, `hann_window`, `fft.fftfreq`, `*_like` of a host tensor, `torch.FloatTensor(n, 3).fill_(0)`; `.cuda()`, `.to(x)`, `.type_as(x)`, `.type(x.type())`, `x.new_tensor(torch.rand(n))`) in step loops, in
    evaluation and generation loops and in what these call, in the `forward` of a module and in what it calls, and in functions that take the device from a tensor
    they were given and do a little with it; buffers for `all_gather`, one for each process (info); arrays that NumPy fills, draws or calculates by numbers alone, given to a type of the device as well (`torch.cuda.FloatTensor(0.5 * np.ones(n))`, `Tensor(...)` of
    `Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor`); what a function fills, or calculates of nothing but numbers, by way of functions that look at nothing else as well, or on the host of tensors of the device, and its caller moves, what a helper moves
    as it is given (`to_gpu(torch.randn(n))`), what is filled for a dictionary that is then moved (`{k: v.to(device) for k, v in inputs.items()}`), what stands in for what is not there (`batch.get("mask", torch.ones(n)).to(device)`, info), what a distribution made of numbers draws (`Beta(0.1, 0.1).sample((n, 1)).to(device)`), what gets something of the device before it is moved there (`theta[:, -1] = out`, or by a function that does no more with it: `match(priors, truths, labels, i)`), one-hot rows of labels (`torch.zeros(n, classes).scatter_(1, labels, 1)`, and `F.one_hot(labels, classes)` of a batch, which can be filled where the labels are moved), and an attribute that one method fills and another one moves on each step; and what is calculated of such tensors and numbers alone, and then sent, or indexes a tensor of the device and nothing
    else: `x[torch.arange(n), lengths - 1]` copies the index, by the name of a tuple as well, and `grid[:, 1] = torch.arange(n) * step` the part that is assigned. What stays in host memory, and the same, and is copied each time is an `info`: an attribute
    that the constructor alone sets and that is no buffer (`self.window.to(x.device)`), or a part that a module takes of one (`self.table[:n].to(x.device)`), a tensor from before the loop. A cast by a host type, `mask.type(torch.FloatTensor).to(device)`, goes to the host and back and
    is reported as well.

    ## Why is this slow?

    The host fills the memory, the copy goes through memory that is not pinned, and the host waits for it. With
    `device=` the factory is one small kernel that nobody waits for.

    ## When it does not matter

    Once at set-up it costs microseconds: outside the places above nothing is reported, nor is what is made once a rollout, beside the loop that plays it (`env.step(action)`). What somebody writes into on the host, of what lies there, what a tensor
    there takes as well (`x[order]` beside `y[order.to(device)]`), and what belongs to an object that is made for each step, is copied because it has to be. Where random numbers have to be
    those of the CPU generator, whatever the device, drawing them on the host is right: say so with `generator=`.

    ## Bad

    ```python
    class Head(torch.nn.Module):
        def forward(self, x):
            mask = torch.ones(x.shape[1], x.shape[1]).to(x.device)  # TL405
            return x * mask
    ```

    ## Good

    ```python
    class Head(torch.nn.Module):
        def forward(self, x):
            mask = torch.ones(x.shape[1], x.shape[1], device=x.device)  # ok
            return x * mask
    ```

    ## Fix safety

    Moves the device (and the dtype) into the factory. The fix is safe for `zeros`, `ones`, `empty`, `full`, `eye` and
    for `arange` of integers: the same values, dtype and strides. It is unsafe for random factories, because the device
    draws other numbers from the same seed than the host, and for `linspace`, `logspace` and `arange` of floats, whose
    last bit may differ; for other values whose dtype the move changed, which are rounded once instead of twice; for
    floats whose shape is changed in between (`unsqueeze`, `view`), which become a view instead of a copy; for what
    `expand` repeats, which the move stores and nothing can be written into without it; for what only its name calls a
    device (`.to(device)` of a parameter without an annotation), since `.to` takes a dtype as well; for a move to a
    tensor (`.to(x)`, `.type_as(x)`), which gives what `x` is where that is a subclass; and for a cast by a host type,
    which becomes `mask.to(device, torch.float32)` and no longer copies what is there already.
    `torch.eye` of bfloat16, or of the dtype of another tensor, is unsafe for a project that torch before 2.3 may run: its
    host has none.
    A default device of `meta` is left out of account: what is made there can't be moved, and raises.
    No fix is offered where the call has `memory_format=` or `copy=`, where `non_blocking=` is more than a name, and for
    dtypes that `torch.eye` doesn't know (`torch.uint16`).

    ## References

    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """
    if site.name.startswith("numpy."):
        yield from _by_type(site)
        return
    if not site.may_have_accelerator or site.source.holds(operator_results.DEFAULT_DEVICE):
        return
    if site.name.startswith("torch."):
        yield from _elsewhere(site)  # `*x.shape` gives sizes, and no device
    elif site.role != "test" and not site.spread:
        yield from _copied(site) if site.name == ".new_tensor()" else _moved(site)


def _moved(site: Site) -> Iterator[Finding]:
    """A move of what is filled on the host, or stays there."""
    func = site.call.func
    assert isinstance(func, ast.Attribute)
    made = filled(site, func.value)
    if made is None:
        yield from _kept(site, func.value)
        yield from _stacked(site, func.value)
        yield from _given(site, func.value)
        yield from _entries(site, func.value)
    elif goes_to_device(site, site.call) and site.accelerator:
        yield from _made_and_moved(site, made, target_of(site.call))


def _copied(site: Site) -> Iterator[Finding]:
    """What is filled for `x.new_tensor(torch.rand(n))`, which copies it to where `x` is."""
    func, given = site.call.func, site.argument("data", 0)
    assert isinstance(func, ast.Attribute)
    if not isinstance(given, ast.Call) or site.argument("device") is not None:
        return
    there = site.value(func.value)
    if there.kind != "tensor" or there.on_cpu or there.from_loader:
        return
    made = filled(site, given)
    if made is not None and site.accelerator:
        yield from _made_and_moved(site, made, func.value, by_other=True)


def _stacked(site: Site, moved: ast.expr) -> Iterator[Finding]:
    """What a loop fills one by one for a list that is moved as one tensor: `torch.stack(masks).to(x.device)`."""
    whole = viewed(moved)
    if (
        not isinstance(whole, ast.Call)
        or site.resolve(whole.func) not in ("torch.stack", "torch.cat")
        or not whole.args
    ):
        return
    element = only_element(site, whole.args[0]) if isinstance(whole.args[0], ast.Name) else None
    if element is not None and goes_to_device(site, site.call) and site.accelerator:
        place = site.at(site.function, element)
        made = filled(place, viewed(element))
        if made is not None:
            yield from _made_and_moved(site, made, target_of(site.call), by_other=True)


def _given(site: Site, moved: ast.expr) -> Iterator[Finding]:
    """What functions of the file fill and give to one that does nothing but move it: `def to_device(x): return x.to(device)`."""
    function = site.function
    if not isinstance(moved, ast.Name) or moved.id not in function.positions:
        return
    if not short_functions.is_all(function, site.statement) or site.call not in short_functions.uses(function):
        return
    if not goes_to_device(site, site.call):
        return
    for caller in site.callers(function):
        given = function.argument(caller.call, moved.id) if caller.function.module is site.module else None
        place = site.at(caller.function, caller.call)
        made = filled(place, given) if given is not None else None
        if made is None or not place.accelerator or place.role in ("test", "benchmark") or place.in_compiled:
            continue
        if place.may_run(caller.call) != [function]:
            continue  # another one of its family keeps it
        if not isinstance(made.node, ast.Call) or moved_elsewhere.mover(place, made.node) is None:
            yield from _made_and_moved(place, made, None, by_other=True)


def _entries(site: Site, moved: ast.expr) -> Iterator[Finding]:
    """What is filled for a dictionary that is moved whole: `{k: v.to(device) for k, v in inputs.items()}`."""
    found = filled_entries(site, moved) if site.flow.comprehension(site.target) is not None else []
    if found and goes_to_device(site, site.call) and site.accelerator:
        for made in found:
            yield from _made_and_moved(site, made, target_of(site.call), by_other=True)


def _made_and_moved(site: Site, made: Filled, target: ast.expr | None, *, by_other: bool = False) -> Iterator[Finding]:
    """What is said of what is filled on the host and moved at the place, once for each statement."""
    # What is moved in a loop and found there the next time, is moved as often as it is made.
    apart = site.flow.loops(made.node) != site.flow.loops(site.target)
    often = _often(site.at(site.function, made.node) if apart else site, target)
    if often and (not site.makes_on_accelerator or _names_host(site, made.node)):
        told: set[ast.stmt] = set()
        for node in (made.node, *made.others):
            statement = site.flow.statement(node)
            if statement not in told:
                told.add(statement)
                yield _filled(site, node, made.how, often, by_other=by_other)


def _names_host(site: Site, made: ast.expr) -> bool:
    """Whether a call names a type of the host, which is that whatever the default type is: `torch.LongTensor(n)`."""
    name = site.resolve(made.func) if isinstance(made, ast.Call) else None
    return name in OF_HOST and name != "torch.Tensor"


def _filled(site: Site, node: ast.expr, how: str, often: str, *, by_other: bool) -> Finding:
    """What is said of what the move at the place copies, or of a part of it that has a statement of its own."""
    done = "casts on the host and is copied back" if how == "cast" else "is filled on the host and copied"
    always = bool(site.hot) or often == frequency.in_passes(site)
    message = f"`{site.short(node)}` {done} to the device {often}"
    looked_up = _looked_up(site, node)
    if looked_up is not None:
        message = f"`{site.short(node)}` is filled on the host {often}, and copied to the device where `{site.short(looked_up)}` finds nothing"
    apart = site.flow.statement(node) is not site.statement
    moved = (site.related(site.function, site.target, "moved here"),) if apart else ()
    return site.finding(
        message,
        severity=None if always and looked_up is None else "info",
        at=node if apart else None,
        seen=site.target if apart else None,
        related=(*moved, *site.why_hot()),
        told=CALCULATED if how == "calculated" or by_other else None,
    )


def _looked_up(site: Site, made: ast.expr) -> ast.Call | None:
    """The call that gives what is made only where it finds nothing: `batch.get("mask", torch.ones(n))`."""
    for child, parent in site.flow.upwards(made):
        if isinstance(parent, ast.Call) and default_of(parent) is child:
            return parent
        if not isinstance(parent, ast.expr):
            break
    return None


def _kept(site: Site, moved: ast.expr) -> Iterator[Finding]:
    """A tensor that stays on the host, and the same: `self.mask.to(x.device)`, where `self.mask` is no buffer."""
    kept = kept_on_host(site, moved) if goes_to_device(site, site.call) else None
    often = _often(site, target_of(site.call)) if kept is not None and site.accelerator else ""
    if kept is not None and often not in ("", "on every call"):
        unless = "" if site.value(kept).on_cpu else ", where it is no parameter,"
        message = f"`{site.short(kept)}` stays in host memory{unless} and is copied to the device {often}"
        yield site.finding(message, severity="info", related=site.why_hot(), told=CALCULATED)
    elif kept is None:
        yield from _taken(site, moved)


def _taken(site: Site, moved: ast.expr) -> Iterator[Finding]:
    """A part of what a module keeps on the host: `self.table[:n].to(x.device)`, where `self.table` is no buffer."""
    if site.argument("non_blocking", 2) is not None or not goes_to_device(site, site.call):
        return
    whole = taken_from_host(site, moved)
    often = _often(site, target_of(site.call)) if whole is not None and site.accelerator else ""
    if whole is not None and often not in ("", "on every call"):
        message = f"`{site.short(whole)}` stays in host memory, and a part of it is copied to the device {often}"
        yield site.finding(message, severity="info", related=site.why_hot(), told=CALCULATED)


def _elsewhere(site: Site) -> Iterator[Finding]:
    """A factory whose tensor is moved by another function, or stands in the brackets of a tensor of the device."""
    if site.role in ("test", "benchmark") or site.in_compiled or factory(site, site.call) is None:
        return
    if any(isinstance(given, ast.Tuple | ast.List) and not given.elts for given in site.call.args):
        return  # a tensor without dimensions is read by the host
    move = moved_elsewhere.mover(site, site.call)
    if move is not None:
        yield from _moved_there(site, move)
    else:
        yield from _index(site)
        yield from _assigned(site)


def _by_type(site: Site) -> Iterator[Finding]:
    """`torch.cuda.FloatTensor(0.1 * np.ones((n, 1)))`: the type of a device copies what NumPy fills."""
    array = calculated_of(site, site.call)
    made = site.flow.parents.get(array)
    if not (isinstance(made, ast.Call) and made.args == [array] and not made.keywords):
        return
    if not makes_on_device(site.value(made.func)) or not is_filled_by_numpy(site, array):
        return
    if site.role in ("test", "benchmark") or first_fill(site, array) is not site.call:
        return
    often = _often(site, None) if site.accelerator and not site.in_compiled else ""
    if often:
        message = f"`{site.short(array)}` is filled on the host and copied to the device {often}"
        yield site.finding(message, at=array, related=site.why_hot(), told=CALCULATED)


def _index(site: Site) -> Iterator[Finding]:
    """A factory whose tensor stands in the brackets of a tensor of the device, and is copied there for that."""
    uses = indexed(site, site.call)
    if not uses or not site.accelerator or any(site.value(use.value).on_cpu for use in uses):
        return
    use = next((use for use in uses if is_of_device(site, use)), None)
    often = _often(site, None) if use is not None else ""
    if use is not None and not often and site.loop() is not None and not site.rare and frequency.in_forward(site):
        often = frequency.in_passes(site)  # it is not made for a loop, but in one
    if use is not None and often and not site.makes_on_accelerator:
        message = f"`{site.short()}` is filled on the host and copied to the device {often}: it is an index of `{site.short(use.value)}`"
        yield site.finding(message, related=site.why_hot(), told=CALCULATED)


def _assigned(site: Site) -> Iterator[Finding]:
    """A factory of which a part of a tensor of the device is made: `grid[:, 1] = torch.arange(n) * step`."""
    match site.statement:
        case ast.Assign(targets=[ast.Subscript() as part], value=made):
            fill = filled(site, made)
        case _:
            return
    if fill is None or fill.node is not site.call or not site.accelerator or site.makes_on_accelerator:
        return
    if site.value(part.value).on_cpu or not is_of_device(site, part):
        return
    often = _often(site, None)
    if often:
        message = f"`{site.short()}` is filled on the host and copied to the device {often}: it becomes a part of `{site.short(part.value)}`"
        yield site.finding(message, related=site.why_hot(), told=CALCULATED)


def _moved_there(site: Site, move: Place) -> Iterator[Finding]:
    """A factory whose tensor another function moves."""
    often = _often(site, None) if site.accelerator else ""
    if often and not site.makes_on_accelerator:
        message = (
            f"`{site.short()}` is filled on the host and copied to the device {often}: `{move.function.name}` moves it"
        )
        moved = site.related(move.function, move.target, "moved here")
        yield site.finding(message, related=(moved, *site.why_hot()), told=CALCULATED)


def _is_seldom(site: Site) -> bool:
    """Whether a loop that evaluates leaves the place out on many of its iterations."""
    return site.warm is not None and not frequency.on_most_iterations(site, site.warm)


def _often(site: Site, target: ast.expr | None) -> str:
    """When the place runs again and again; "" where it may be set-up, or where callers send what it is moved beside later."""
    if isinstance(target, ast.Attribute) and is_sent_by_callers(site, target.value):
        return ""
    if site.hot:
        return "" if site.beside_generation else "on every step"
    if frequency.is_for_export(site.function):
        return ""
    if site.in_forward:
        return "" if site.rare else frequency.in_passes(site)
    if frequency.of_pictures(site):
        return ""
    if site.warm and frequency.on_most_iterations(site, site.warm):
        return "on every iteration"
    if site.warm and not frequency.in_forward(site):
        return ""
    if site.warm_caller and not site.rare:
        return "" if wherever(site, _is_seldom) else frequency.how_often(site)
    klass, makes = site.function.cls, site.function.name == "__init__"
    # Modules stay; other objects may be made in a forward: a mask, a cache.
    if site.role == "benchmark" or (makes and (klass is None or site.project.is_module(klass))):
        return ""
    if gathered.is_buffer(site):
        return "" if site.rare else "on every call"
    if not site.rare and not precedes_runs(site) and frequency.in_forward(site):
        return frequency.in_passes(site)
    return "on every call" if target is not None and not makes and on_call(site, target) else ""
