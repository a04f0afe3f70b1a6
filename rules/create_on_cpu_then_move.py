from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import arguments, empties, frequency, names, operator_results, syntax
from torchlint.facts import host_reads as reads
from torchlint.facts.argparse_defaults import argparse_defaults
from torchlint.facts.bindings import Assigned, Part, Stored
from torchlint.facts.flow import Guard, Loop
from torchlint.facts.host_constants import is_written, kept_on_host
from torchlint.facts.indices import gets_number, indexed, is_number_put
from torchlint.facts.legacy_tensors import makes_on_device
from torchlint.facts.module import Function
from torchlint.facts.nodes import given_to, keyword_of, names_in, none_test
from torchlint.facts.on_call import is_tensor_by_use, on_call, precedes_runs
from torchlint.facts.values import LIKELY
from torchlint.rule import Finding, Site, rule

CALCULATED = "calculated"
"""Told to the fixer of what is calculated on the way to the device, which no argument of one call replaces."""
_FILLED = frozenset(("zeros", "ones", "empty", "full", "eye", "arange", "linspace", "logspace"))
_FILLED |= frozenset(f"{name}_window" for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"))
_RANDOM = frozenset(("rand", "randn", "randint", "randperm"))
_SEEN = ("arange", "eye", "full", "ones", "rand", "randint", "randn", "randperm", "zeros")
"""The factories of which it is asked who moves what they make, and where it is an index."""
_MOVES = frozenset(("to", "cuda", "xpu"))
_LIKE = frozenset(f"{name}_like" for name in ("zeros", "ones", "empty", "full", "rand", "randn", "randint"))
# Methods between the factory and the move that keep the tensor dense.
_BETWEEN = frozenset(("long", "int", "short", "float", "double", "half", "bfloat16", "bool"))
_BETWEEN |= frozenset("unsqueeze squeeze view reshape repeat t transpose permute expand flatten expand_as".split())
_TURNED = frozenset(("T", "mT"))
_OF_ELEMENTS = frozenset(f"torch.{name}" for name in ("exp", "log", "sin", "cos", "sqrt", "rsqrt", "reciprocal"))
_CALCULATE = frozenset(("torch.autograd.Variable", "torch.nn.functional.one_hot", "torch.nn.functional.pad"))
_PAIRS = frozenset(("torch.triu_indices", "torch.tril_indices"))
_STEPS = 8
"""How many operations on a filled tensor are looked through."""
_SIZED_BY = frozenset(("start", "end", "step", "steps", "size", "n", "m"))
_NUMPY = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "eye", "identity", "arange", "full", "linspace"))
_NUMPY_RANDOM = frozenset(
    f"numpy.random.{name}"
    for name in "normal permutation rand randint randn random random_sample standard_normal uniform".split()
)
_USES = 20
"""A name that stands in more places is more than a tensor that is filled and moved."""
# Moved elsewhere on purpose, or given a meaning that a factory on the device does not have.
_KEEPS = frozenset(("device", "generator", "requires_grad", "pin_memory", "out", "memory_format"))
_KINDS = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
_HOST_TYPES = frozenset(f"torch.{kind}Tensor" for kind in ("", *_KINDS))
_OF_DATA = _HOST_TYPES | {"torch.from_numpy"}
_OF_ARRAYS = _OF_DATA | {"torch.tensor", "torch.as_tensor"}
_FILLS = frozenset(("zero_", "fill_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_"))
_BY_NUMBERS = _BETWEEN | {"normal_", "uniform_", "random_", "exponential_"}
"""Methods that are given numbers, sizes, and the order of dimensions, and nothing else."""


@rule(
    "TL405",
    shape=[
        *(f"$made.{move}(...)" for move in ("to", "cuda", "xpu", "type_as", "type")),
        *(f"torch.{name}(...)" for name in _SEEN),
        "$type($array)",
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
    `randn`, `randint`, `randperm`, `hann_window`, `*_like` of a host tensor, `torch.FloatTensor(n, 3).fill_(0)`; `.cuda()`, `.to(x)`, `.type_as(x)`, `.type(x.type())`) in step loops, in
    evaluation and generation loops and in what these call, in the `forward` of a module and in what it calls, and in functions that take the device from a tensor
    they were given and do a little with it; arrays that NumPy fills, or draws, by numbers alone, given to a type of the device as well (`torch.cuda.FloatTensor(np.ones(n))`, `Tensor(...)` of
    `Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor`); what a function fills and its caller moves, what a helper moves
    as it is given (`to_gpu(torch.randn(n))`), and an attribute that one method fills and another one moves on each step; and what is calculated of such tensors and numbers alone, and then sent, or indexes a tensor of the device and nothing
    else: `x[torch.arange(n), lengths - 1]` copies the index. What stays in host memory, and the same, and is copied each time is an `info`: an attribute
    that the constructor alone sets and that is no buffer (`self.window.to(x.device)`), a tensor from before the loop. A cast by a host type, `mask.type(torch.FloatTensor).to(device)`, goes to the host and back and
    is reported as well.

    ## Why is this slow?

    The host fills the memory, the copy goes through memory that is not pinned, and the host waits for it. With
    `device=` the factory is one small kernel that nobody waits for.

    ## When it does not matter

    Once at set-up it costs microseconds: outside the places above nothing is reported. What somebody writes into on the host, and what belongs to
    an object that is made for each step, is copied because it has to be. Where random numbers have to be
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
    `expand` repeats, which the move stores and nothing can be written into without it; for a move to a
    tensor (`.to(x)`, `.type_as(x)`), which gives what `x` is where that is a subclass; and for a cast by a host type,
    which becomes `mask.to(device, torch.float32)` and no longer copies what is there already.
    A default device of `meta` is left out of account: what is made there can't be moved, and raises.
    No fix is offered where the call has `memory_format=` or `copy=`.

    ## References

    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """
    if site.pattern == "$type($array)":
        yield from _by_type(site, site.part("type"), site.part("array"))
        return
    if site.name.startswith("torch."):
        yield from _elsewhere(site)
        return
    func = site.call.func
    assert isinstance(func, ast.Attribute)
    if (
        site.spread
        or not site.may_have_accelerator
        or site.role == "test"
        or site.source.holds(operator_results.DEFAULT_DEVICE)
    ):
        return
    made = _made_before(site, func.value) if isinstance(func.value, ast.Name) else _filled(site, func.value)
    factory = _factory(site, made) if isinstance(made, ast.Call) else None
    cast = factory is None and isinstance(made, ast.Call) and made is func.value and _host_cast(site, made)
    calculated = None
    if factory is None and not cast:
        calculated = _calculated(site, func.value, _STEPS)
    factory = factory or calculated
    if factory is None and not cast:
        yield from _kept(site, func.value)
        return
    if calculated is not None and site.value(func.value).device != "cpu":
        return
    target = _target(site)
    if target == "" or not site.accelerator:
        return
    often = _often(site, target)
    if often and not site.makes_on_accelerator:
        what = f"`{site.short(factory or func.value)}`"
        message = f"{what} casts on the host and is copied back" if cast else f"{what} is filled on the host and copied"
        always = bool(site.hot) or often == "in every forward pass"
        apart = factory is not None and site.flow.statement(factory) is not site.statement
        moved = (site.related(site.function, site.target, "moved here"),) if apart else ()
        yield site.finding(
            f"{message} to the device {often}",
            severity=None if always else "info",
            at=factory if apart else None,
            seen=site.target if apart else None,
            related=(*moved, *site.why_hot()),
            told=CALCULATED if calculated is not None else None,
        )


def _kept(site: Site, moved: ast.expr) -> Iterator[Finding]:
    """A tensor that stays on the host, and the same: `self.mask.to(x.device)`, where `self.mask` is no buffer."""
    target = _target(site)
    kept = kept_on_host(site, moved) if target != "" else None
    often = _often(site, target) if kept is not None and site.accelerator else ""
    if kept is not None and often not in ("", "on every call"):
        unless = "" if site.value(kept).on_cpu else ", where it is no parameter,"
        message = f"`{site.short(kept)}` stays in host memory{unless} and is copied to the device {often}"
        yield site.finding(message, severity="info", related=site.why_hot(), told=CALCULATED)


def _elsewhere(site: Site) -> Iterator[Finding]:
    """A factory whose tensor is moved by another function, or stands in the brackets of a tensor of the device."""
    if (
        site.role in ("test", "benchmark")
        or not site.may_have_accelerator
        or site.source.holds(operator_results.DEFAULT_DEVICE)
    ):
        return
    if site.spread or site.in_compiled or _factory(site, site.call) is None:
        return
    if any(isinstance(given, ast.Tuple | ast.List) and not given.elts for given in site.call.args):
        return  # a tensor without dimensions is read by the host
    mover = _mover(site)
    if mover is not None:
        yield from _moved_there(site, mover)
    else:
        yield from _index(site)


def _by_type(site: Site, made_by: ast.expr, array: ast.expr) -> Iterator[Finding]:
    """`torch.cuda.FloatTensor(np.ones((n, 1)))`: the type of a device copies what NumPy fills."""
    made = _made_array(site, array)
    if (
        made is None
        or not _fills_array(site, made)
        or site.role in ("test", "benchmark")
        or not makes_on_device(site.value(made_by))
    ):
        return
    often = _often(site, None) if site.accelerator and not site.in_compiled else ""
    if often:
        message = f"`{site.short(array)}` is filled on the host and copied to the device {often}"
        yield site.finding(message, related=site.why_hot(), told=CALCULATED)


def _index(site: Site) -> Iterator[Finding]:
    """A factory whose tensor stands in the brackets of a tensor of the device, and is copied there for that."""
    uses = indexed(site, site.call)
    if not uses or not site.accelerator or any(site.value(use.value).on_cpu for use in uses):
        return
    use = next((use for use in uses if _is_of_device(site, use)), None)
    often = _often(site, None) if use is not None else ""
    if use is not None and not often and site.loop() is not None and not site.rare and frequency.in_forward(site):
        often = "in every forward pass"  # it is not made for a loop, but in one
    if use is not None and often and not site.makes_on_accelerator:
        message = f"`{site.short()}` is filled on the host and copied to the device {often}: it is an index of `{site.short(use.value)}`"
        yield site.finding(message, related=site.why_hot(), told=CALCULATED)


def _moved_there(site: Site, mover: Site) -> Iterator[Finding]:
    """A factory whose tensor another function moves."""
    often = _often(site, None) if site.accelerator else ""
    if often and not site.makes_on_accelerator:
        message = (
            f"`{site.short()}` is filled on the host and copied to the device {often}: `{mover.function.name}` moves it"
        )
        moved = mover.related(mover.function, mover.target, "moved here")
        yield site.finding(message, related=(moved, *site.why_hot()), told=CALCULATED)


def _mover(site: Site) -> Site | None:
    """Where another function moves what the place makes: what it is given, `to_gpu(torch.randn(2))`, or an attribute."""
    whole: ast.expr = site.call
    while (method := _method_of(site, whole)) is not None and _is_between(site, method):
        whole = method
    user = site.flow.parents.get(whole)
    if isinstance(user, ast.Assign) and (read := _only_read(site, user)) is not None:
        whole, user = read, site.flow.parents.get(read)
    if isinstance(user, ast.Call) and whole in user.args:
        return _moved_as_given(site, user, user.args.index(whole))
    target = user.targets[0] if isinstance(user, ast.Assign) and len(user.targets) == 1 else None
    return _moved_as_attribute(site, target) if isinstance(target, ast.Attribute) and site.hot is not None else None


def _only_read(site: Site, made: ast.Assign) -> ast.Name | None:
    """Where a name is read that a statement assigns, in one place alone of the same loop, whatever it is afterwards."""
    name = made.targets[0] if len(made.targets) == 1 else None
    if not isinstance(name, ast.Name) or len(site.flow.loads.get(name.id, ())) > _USES or name.id in site.flow.globals:
        return None
    reach = site.function.bindings.reach
    bound = [(load, reach.get(load)) for load in site.flow.loads.get(name.id, ())]
    if not all(isinstance(one, Assigned) for _, one in bound):
        return None
    reads = [load for load, one in bound if isinstance(one, Assigned) and one.node is made.value]
    return reads[0] if len(reads) == 1 and site.flow.loops(reads[0]) == site.flow.loops(made) else None


def _method_of(site: Site, node: ast.expr) -> ast.Call | None:
    """The call of a method of what an expression gives."""
    method = site.flow.parents.get(node)
    call = site.flow.parents.get(method) if isinstance(method, ast.Attribute) else None
    return call if isinstance(call, ast.Call) and call.func is method else None


def _moved_as_given(site: Site, call: ast.Call, at: int) -> Site | None:
    """Where the function of the project that is called moves what it is given at a place, before it does anything with it."""
    if any(isinstance(given, ast.Starred) for given in call.args):
        return None
    found = site.may_run(call)
    moved = [_moved_parameter(site, function, at + function.is_method) for function in found]
    return moved[0] if moved and None not in moved else None


def _moved_parameter(site: Site, function: Function, at: int) -> Site | None:
    """Where a function moves one of its parameters; None where it uses that before, but to ask what it is."""
    if at >= len(function.parameters):
        return None
    name = function.parameters[at].arg
    uses = (load for load in function.flow.loads.get(name, ()) if not _is_asked(function, load))
    first = next((load for load in uses if not _is_other(function, load)), None)
    if first is None or any(store.lineno < first.lineno for store in function.flow.stores.get(name, ())):
        return None
    mover = _moving(site, function, first) if not function.flow.loops(first) else None
    return mover if mover is not None and not mover.rare else None


def _is_asked(function: Function, load: ast.Name) -> bool:
    """`if isinstance(x, list):`, `if x.is_cuda:`"""
    return any(
        isinstance(parent, ast.If | ast.IfExp) and parent.test is child for child, parent in function.flow.upwards(load)
    )


def _is_other(function: Function, load: ast.Name) -> bool:
    """Whether a place is reached with something else than tensors: behind `if isinstance(x, list):`."""
    tests = (guard.test for guard in function.flow.guards(load) if guard.true)
    return any(
        isinstance(test, ast.Call)
        and names.last(test.func) == "isinstance"
        and len(test.args) == 2
        and "Tensor" not in ast.unparse(test.args[1])
        for test in tests
    )


def _moving(site: Site, function: Function, read: ast.expr) -> Site | None:
    """The call that moves what is read, `x.cuda()`."""
    call = _method_of(site.at(function, read), read)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in _MOVES:
        return None
    move = Site(site.analysis, function, call, site.rule, f".{call.func.attr}()")
    return move if _target(move) != "" else None


def _moved_as_attribute(site: Site, target: ast.Attribute) -> Site | None:
    """Where a step moves the attribute that another method fills on each step: `self.hidden = self.hidden.cuda()`."""
    klass, name = site.function.cls, syntax.own_attribute(site.function, target)
    if klass is None or name is None or site.function.name == "__init__":
        return None
    uses = syntax.own_uses(klass, name)
    if len(uses) > _USES or any(is_written(method, f"{method.own_name}.{name}") for method in klass.methods.values()):
        return None
    moved = (_moving(site, method, use) for method, use in uses)
    return next((move for move in moved if move is not None and move.hot is not None), None)


def _is_of_device(site: Site, use: ast.Subscript) -> bool:
    """Whether what is indexed is on the device: known to be there, or what a forward has, and does not send there afterwards."""
    value = site.value(use.value)
    if value.kind != "tensor" or value.from_loader:
        return False
    if value.device == "accelerator":
        return True
    around = site.flow.parents.get(use)
    if isinstance(around, ast.Attribute) and around.attr in ("to", "cuda", "type_as"):
        return False
    if site.in_forward or value.grad or (value.proven and frequency.in_forward(site)):
        return True
    # In a step what has a name there, and is not known to be on the host, is where the model is; what an object keeps may be a memory.
    named = isinstance(use.value, ast.Name) and site.hot is not None
    return named and reads.device_tensor(site, use.value, LIKELY) is not None


def _made_before(site: Site, name: ast.Name) -> ast.Call | None:
    """The call that fills the tensor of a name on the host, where it gets but numbers before it is moved."""
    flow = site.flow
    moved = site.statement
    if len(flow.loads.get(name.id, ())) + len(flow.stores.get(name.id, ())) > _USES:
        return None
    stores = [store for store in flow.stores.get(name.id, ()) if flow.statement(store) is not moved]
    made: ast.AST | None = None
    if len(stores) == 1 and name.id not in flow.parameters:
        made = flow.parents[stores[0]]
    elif stores:
        bound = site.function.bindings.reach.get(name)
        made = flow.parents[bound.node] if isinstance(bound, Assigned) else None
    if not isinstance(made, ast.Assign) or len(made.targets) > 1 or made.targets[0] not in stores:
        return None
    if made.lineno > moved.lineno or not any(_makes(site, part) for part in ast.walk(made.value)):
        return None
    if flow.loops(made) != flow.loops(moved) or not {*flow.guards(made)} <= {*flow.guards(moved)}:
        return None
    end = made.end_lineno or made.lineno
    between = [load for load in flow.loads.get(name.id, ()) if load is not name and end < load.lineno <= moved.lineno]
    if not all(gets_number(site, load) and flow.loops(load) == flow.loops(moved) for load in between):
        return None
    value = _filled(site, made.value)
    return value if isinstance(value, ast.Call) and _makes(site, value) else None


def _makes(site: Site, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _factory(site, node) is not None


def _filled(site: Site, value: ast.expr) -> ast.expr | None:
    """What is calculated with numbers, and by functions of each element: `torch.exp(torch.arange(2) * -scale)`."""
    for _ in range(_STEPS):
        if isinstance(value, ast.UnaryOp):
            value = value.operand
        elif isinstance(value, ast.BinOp):  # `torch.ones(2) * float("inf")`
            left = site.value(value.left).kind == "tensor"
            value, other = (value.left, value.right) if left else (value.right, value.left)
            if not _is_number(site, other):
                return None
        elif isinstance(value, ast.Call) and len(value.args) == 1 and site.resolve(value.func) in _OF_ELEMENTS:
            value = value.args[0]
        else:
            return value
    return None


def _calculated(site: Site, node: ast.expr, steps: int) -> ast.Call | None:
    """A factory in what is calculated on the host of factories and numbers alone; None where it is made of more."""
    if not isinstance(node, ast.Call):
        return _looked_into(site, node, steps)
    # The calls of a chain of methods are places, too.
    key = ("calculated", node, steps, site.statement, tuple(site.flow.loops(site.target)))
    return site.once(key, lambda: _looked_into(site, node, steps))


def _looked_into(site: Site, node: ast.expr, steps: int) -> ast.Call | None:
    """The same, worked out."""
    if isinstance(node, ast.Name):
        made = _assigned(site, node) if steps and node.id not in site.flow.globals else None
        if made is None or site.flow.loops(made) != site.flow.loops(site.target) or _is_fed(site, node, steps):
            return None
        return _calculated(site, made, steps - 1)
    if isinstance(node, ast.ListComp):
        return _calculated(site, node.elt, steps)
    if isinstance(node, ast.Call):
        factory = _factory(site, node) or (
            node
            if _of_numpy(site, node) or _counts(site, node) or _by_sizes(site, node) or _by_numbers(site, node)
            else None
        )
        factory = factory or _given_by_function(site, node, steps)
        if factory is not None:
            return factory
    found = [(part, _calculated(site, part, steps)) for part in _parts(site, node)]
    if all(made is None for _, made in found):
        return None  # most are calculated from nothing that was made here: what is a number takes longer to tell
    others = [made for part, made in found if not _is_number(site, part)]
    return others[0] if others and None not in others else None


def _given_by_function(site: Site, made: ast.expr, steps: int) -> ast.Call | None:
    """A call, on steps, of a function of the project that gives what it fills: `self.sample_timesteps(n)`; None for any other."""
    if not steps or not isinstance(made, ast.Call) or not _is_asked_often(site, made):
        return None
    if site.value(made).device != "cpu":
        return None
    found = site.may_run(made)
    return made if found and all(_fills(site, function, steps - 1) for function in found) else None


def _is_asked_often(site: Site, made: ast.Call) -> bool:
    """Whether a function is called on steps, or a method by the forward of its module; data transforms have a forward, too."""
    own = site.in_forward and syntax.own_attribute(site.function, made.func) is not None
    return own or site.hot is not None or site.warm is not None


def _fills(site: Site, function: Function, steps: int) -> bool:
    """Whether a function gives what it fills on the host, of numbers alone, on its only way out."""
    end = function.telling[-1] if function.telling and not function.decorators else None
    given = end.value if isinstance(end, ast.Return) else None
    if given is None or any(isinstance(node, ast.Return) and node is not end for node in function.flow.nodes):
        return False
    inner = site.at(function, given)
    return inner.value(given).device == "cpu" and _calculated(inner, given, steps) is not None


def _assigned(site: Site, name: ast.Name) -> ast.expr | None:
    """What a name was assigned, whatever was written into parts of it afterwards; None where there is more than one way to it."""
    bound = site.function.bindings.reach.get(name)
    while isinstance(bound, Stored):
        part: ast.expr = bound.node
        while isinstance(part, ast.Subscript):
            part = part.value
        bound = site.function.bindings.reach.get(part)
    if isinstance(bound, Part) and isinstance(bound.whole, Assigned) and isinstance(bound.whole.node, ast.Tuple):
        several = bound.whole.node.elts  # `a, b = x, y`
        return several[bound.at] if bound.count == len(several) else None
    return bound.node if isinstance(bound, Assigned) else None


def _parts(site: Site, node: ast.expr) -> list[ast.expr]:
    """What an expression calculates with; nothing where that is not known."""
    if isinstance(node, ast.Call):
        name = site.resolve(node.func)
        given = given_to(node)
        if name is None and isinstance(node.func, ast.Attribute) and node.func.attr in _BY_NUMBERS:
            return [node.func.value]
        if name is None and isinstance(node.func, ast.Attribute) and not _writes(node.func):
            return [node.func.value, *given]
        plain = name is not None and name.startswith("torch.") and name.count(".") == 1
        return given if plain or name in _CALCULATE else []
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.List | ast.Tuple):
        return list(node.elts)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr in _TURNED else []
    return [node.value] if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Name) else []


def _is_number(site: Site, node: ast.expr) -> bool:
    """A number, a word, a dtype, or several numbers: what says how a calculation goes."""
    value = site.value(node)
    if value.items is not None or value.element is not None:
        return all(one is not None and one.kind == "number" for one in value.items or (value.element,))
    if value.kind in ("number", "str", "none", "dtype"):
        return not value.other_kinds
    return not value and _is_scalar(site, node, _STEPS)


def _is_scalar(site: Site, node: ast.expr, steps: int) -> bool:
    """Whether something unknown is a number, since it is calculated of numbers and of what sizes are given by."""
    if isinstance(node, ast.UnaryOp):
        return _is_scalar(site, node.operand, steps)
    if isinstance(node, ast.BinOp):
        return _is_scalar(site, node.left, steps) and _is_scalar(site, node.right, steps)
    if site.value(node).kind == "number":
        return True
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        default = argparse_defaults(site.module).get(node.attr)
        if isinstance(default, int | float) and not isinstance(default, bool):
            return True  # `args.classes`
    klass, attribute = site.function.cls, syntax.own_attribute(site.function, node)
    if klass is not None and attribute is not None:
        return not site.value(node) and site.project.is_option(klass, attribute)
    if not isinstance(node, ast.Name) or site.value(node) or not steps:
        return False
    if any(_is_size(site, load) for load in site.flow.loads.get(node.id, ())[:_USES]):
        return True
    bound = site.function.bindings.reach.get(node)
    return isinstance(bound, Assigned) and isinstance(bound.node, ast.BinOp) and _is_scalar(site, bound.node, steps - 1)


def _is_size(site: Site, load: ast.Name) -> bool:
    """`torch.arange(n)`, `range(n)`"""
    call = site.flow.parents.get(load)
    named = isinstance(call, ast.keyword) and call.arg in _SIZED_BY
    call = site.flow.parents.get(call) if named and call is not None else call
    if not isinstance(call, ast.Call) or not (named or load in call.args):
        return False
    name = site.resolve(call.func) or ""
    return name == "range" or name.removeprefix("torch.") in ("arange", "zeros", "ones", "empty", "randperm", "eye")


def _of_numpy(site: Site, call: ast.Call) -> bool:
    """`torch.from_numpy(np.eye(k).flatten())`, and of an array that is written out, or of random numbers."""
    if len(call.args) != 1 or site.resolve(call.func) not in _OF_ARRAYS or keyword_of(call, "device") is not None:
        return False
    made = _made_array(site, call.args[0])
    if made is None or site.resolve(made.func) != "numpy.array" or site.resolve(call.func) != "torch.from_numpy":
        return made is not None and _fills_array(site, made)
    return bool(made.args) and not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(made.args[0]))


def _made_array(site: Site, node: ast.expr) -> ast.Call | None:
    """`np.eye(k)` of `np.eye(k).flatten()`"""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and site.resolve(node.func) is None:
        node = node.func.value
    return node if isinstance(node, ast.Call) else None


def _fills_array(site: Site, made: ast.Call) -> bool:
    """Whether NumPy fills an array, or draws it, by numbers alone."""
    name = site.resolve(made.func)
    if name in _NUMPY_RANDOM:
        given = given_to(made)
        # A tuple that is written out is the shape.
        return bool(given) and all(isinstance(one, ast.Tuple) or _is_number(site, one) for one in given)
    return name in _NUMPY


def _counts(site: Site, call: ast.Call) -> bool:
    """`torch.LongTensor(range(n))`, `torch.from_numpy(np.array(range(n)))`: an `arange`.

    TL113 tells of what no array is made of in between, where it is moved as it is made.
    """
    if len(call.args) != 1 or site.resolve(call.func) not in _OF_DATA:
        return False
    given = call.args[0]
    if syntax.is_counted(site.resolve, given, ("list",)):
        return not _moved_as_made(site, call)
    return syntax.is_counted(site.resolve, given, ("list", "numpy.array"))


def _moved_as_made(site: Site, made: ast.Call) -> bool:
    """Whether the move is a method of what a call makes, or of what methods make of that: `made(...).view(-1).cuda()`."""
    node: ast.expr = site.call
    while node is not made and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node is made


def _by_numbers(site: Site, call: ast.Call) -> bool:
    """`torch.triu_indices(n, n)`, `torch.normal(0, 1, size=(n, 3))`: what other factories there are."""
    name = site.resolve(call.func)
    if keyword_of(call, *_KEEPS) is not None:
        return False
    if name == "torch.normal":
        return keyword_of(call, "size") is not None and all(_is_number(site, one) for one in given_to(call))
    return name in _PAIRS


def _by_sizes(site: Site, call: ast.Call) -> bool:
    """`torch.FloatTensor(n, 3)`, `torch.Tensor(*x.shape)`, `torch.Tensor(x.size())`: memory of the host, by how much of it; what it shall hold is one thing."""
    if call.keywords or site.resolve(call.func) not in _HOST_TYPES or not call.args:
        return False
    if len(call.args) > 1:
        return True
    given = call.args[0]
    value = site.value(given.value if isinstance(given, ast.Starred) else given)
    return value.kind == "size" or (value.kind == "number" and value.integer and not value.other_kinds)


def _writes(method: ast.Attribute) -> bool:
    """Whether a method writes into its tensor, other than numbers that it makes itself: `x.zero_()`."""
    return method.attr.endswith("_") and method.attr not in _FILLS


def _is_fed(site: Site, name: ast.Name, steps: int) -> bool:
    """Whether something is written into a tensor before the place, or it is given to what may do so."""
    loads = site.flow.loads.get(name.id, ())
    for load in loads:
        if load is name or load.lineno > site.statement.lineno:
            continue
        part, parent = _part(site, load)
        if isinstance(getattr(part, "ctx", None), ast.Store) and not is_number_put(site, part):
            put = site.flow.parents[part]
            made = put.value if isinstance(put, ast.Assign) and put.targets == [part] and steps else None
            if made is None or (_calculated(site, made, steps - 1) is None):
                return True
        if isinstance(parent, ast.Attribute) and _writes(parent):
            return True
        if isinstance(parent, ast.Call) and not _is_of_torch(site, parent):
            return True
    return len(loads) > _USES


def _is_of_torch(site: Site, call: ast.Call) -> bool:
    """Whether a call calculates a tensor, by a function of torch: `torch.save(x, path)` reads it."""
    return (site.resolve(call.func) or "").startswith("torch.") and site.value(call).kind == "tensor"


def _part(site: Site, load: ast.Name) -> tuple[ast.expr, ast.AST]:
    """`x[i][1:]` of `x`, and what that stands in."""
    part: ast.expr = load
    parent = site.flow.parents[load]
    while isinstance(parent, ast.Subscript) and parent.value is part:
        part, parent = parent, site.flow.parents[parent]
    return part, parent


def _target(site: Site) -> ast.expr | str | None:
    """The expression that names the accelerator; None for `.cuda()`, "" where the call goes elsewhere or nowhere."""
    if site.name == ".type_as()":
        given = site.argument("other", 0)
        if isinstance(given, ast.Attribute) and given.attr == "data":
            given = given.value
        # Only a tensor is given to `type_as`: it is enough to know where that is.
        return given if given is not None and _is_where(site, given) else ""
    if site.name == ".type()":
        return _type_of(site, site.argument("dtype", 0))
    target = site.argument("device", 0) or site.argument("other")
    if target is None:
        return None if site.name != ".to()" else ""
    value = site.value(target)
    if value.kind == "tensor" or is_tensor_by_use(site, target):
        return target if _is_there(site, target) else ""
    return target if value.device != "cpu" and arguments.is_device(value) and value.const not in ("cpu", "meta") else ""


def _type_of(site: Site, given: ast.expr | None) -> ast.expr | str | None:
    """The tensor of `.type(x.type())`; None for `.type(torch.cuda.FloatTensor)`, "" where a cast moves nothing."""
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "type":
        other = given.func.value
        return other if not given.args and not given.keywords and _is_where(site, other) else ""
    return None if given is not None and makes_on_device(site.value(given)) else ""


def _is_where(site: Site, node: ast.expr) -> bool:
    """Whether a tensor may be on the device: that it is one is known."""
    return _is_there(site, node) or site.value(node).device == "accelerator"


def _is_there(site: Site, node: ast.expr) -> bool:
    value = site.value(node)
    return (value.kind == "tensor" and not value.on_cpu) or is_tensor_by_use(site, node)


def _factory(site: Site, made: ast.Call) -> ast.Call | None:
    """The factory at the root of `torch.zeros(2).long()`, where it makes a host tensor."""
    while isinstance(made.func, ast.Attribute) and isinstance(made.func.value, ast.Call) and _is_between(site, made):
        made = made.func.value
    name = site.resolve(made.func) or ""
    last = name.removeprefix("torch.")
    if name == last or last not in _FILLED | _RANDOM | _LIKE:
        return None
    if any(keyword.arg is None or keyword.arg in _KEEPS for keyword in made.keywords):
        return None
    if empties.no_sizes(last, made):
        return None
    if last in _LIKE and (not made.args or site.value(made.args[0]).device != "cpu"):
        return None
    return made


def _is_between(site: Site, call: ast.Call) -> bool:
    """Whether a method gives a dense tensor of the host again; `.to(torch.long)` casts and moves nothing."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr in ("to", "type"):
        return len(call.args) == 1 and not call.keywords and site.value(call.args[0]).kind == "dtype"
    return call.func.attr in _BETWEEN


def _host_cast(site: Site, made: ast.Call) -> bool:
    """`x.type(torch.FloatTensor)` of something that is not proven to be on the host already."""
    if not (isinstance(made.func, ast.Attribute) and made.func.attr == "type" and len(made.args) == 1):
        return False
    if site.resolve(made.args[0]) not in _HOST_TYPES:
        return False
    return site.value(made.func.value).device == "accelerator"


def _often(site: Site, target: ast.expr | str | None) -> str:
    """When the place runs again and again; "" where it may be set-up."""
    if site.hot:
        return "on every step"
    if site.in_forward:
        return "" if site.rare else "in every forward pass"
    if site.warm:
        # Behind a condition it may be a rare iteration, but not behind an option, nor `x is not None` of what the one before made.
        conditions = site.flow.guards(site.target, site.warm)
        rare = any(not _holds_often(site, one, site.warm) for one in conditions)
        return "" if rare else "on every iteration"
    if site.warm_caller and not site.rare:
        return frequency.how_often(site)
    if site.function.name == "__init__" or site.role == "benchmark":
        return ""
    if not site.rare and not precedes_runs(site) and frequency.in_forward(site):
        return "in every forward pass"
    if not isinstance(target, ast.expr):
        return ""
    return "on every call" if on_call(site, target) else ""


def _holds_often(site: Site, guard: Guard, loop: Loop) -> bool:
    return _is_made(site, guard, loop) or _stays(site, guard, loop) or _but_once(guard, loop)


def _but_once(guard: Guard, loop: Loop) -> bool:
    """`if i > 1:` of what the loop counts, up or down: all iterations but the first or the last."""
    test = guard.test
    if not guard.true or not isinstance(test, ast.Compare) or not isinstance(loop, ast.For):
        return False
    least = test.comparators[0]
    above = isinstance(test.ops[0], ast.Gt) and isinstance(least, ast.Constant) and least.value in (0, 1)
    return above and isinstance(test.left, ast.Name) and test.left.id in names_in(loop.target)


def _stays(site: Site, guard: Guard, loop: Loop) -> bool:
    """`if args.use_meta:`, which is the same on each iteration; what may be None is mostly an option that is not given."""
    if any(isinstance(part, ast.Call | ast.Subscript | ast.Is | ast.IsNot) for part in ast.walk(guard.test)):
        return False
    asked = names_in(guard.test)
    last = loop.end_lineno or loop.lineno
    return bool(asked) and not any(site.flow.stores_between(name, loop.lineno, last) for name in asked)


def _is_made(site: Site, guard: Guard, loop: Loop) -> bool:
    """`if x is not None:`, where the loop itself makes x."""
    name, is_none = none_test(guard.test) or (None, False)
    if not guard.true or is_none or not isinstance(name, ast.Name):
        return False
    return bool(site.flow.stores_between(name.id, loop.lineno, loop.end_lineno or loop.lineno))
