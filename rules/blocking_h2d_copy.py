from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import arguments, common_names, names, syntax
from torchlint.facts.argparse_defaults import is_off
from torchlint.facts.call_values import DTYPE_CASTS
from torchlint.facts.flow import contains
from torchlint.facts.legacy_tensors import makes_on_device
from torchlint.facts.nodes import bound_names, is_constant, keyword_of
from torchlint.facts.samples import JOINS
from torchlint.facts.sending import told_to_wait
from torchlint.facts.syntax import same
from torchlint.facts.told import Cast
from torchlint.facts.uses import assigned
from torchlint.facts.values import Batch, Tensor, Value
from torchlint.rule import Finding, Site, chain, plain, rule

_MOVES = {".to()", ".cuda()", ".xpu()", ".type()"}
_COPIES = DTYPE_CASTS | {"to", "cuda", "xpu", "type"}
_WAITS = frozenset(f"torch.{kind}.synchronize" for kind in ("cuda", "xpu", "accelerator"))
_NEAR = 4
"""How many statements behind a copy are looked at for one that waits."""


@rule(
    "TL402",
    shape=plain(*_MOVES),
    scope="hot",
    fix="safe",
    impact="medium",
    torch=">=0.4",
    category="data",
    principle=("pipeline", "async"),
    depends_on=("TL401",),
    confirmed_by=("h2d:pinned-blocking",),
)
def blocking_h2d_copy(site: Site) -> Iterator[Finding]:
    """A pinned batch is copied to the device by a call that waits for the copy.

    ## What it does

    Finds `.to(device)`, `.cuda()` and `.type(torch.cuda.FloatTensor)` without `non_blocking=True`, or with a False that is written out
    (`x.cuda(gpu, False)`), on the tensors of a batch whose `DataLoader` has
    `pin_memory=True`, in training, evaluation and generation loops. A `pin_memory` that travels to the loader in a
    dictionary (`DataLoader(dataset, **kwargs)`), and a loader that travels to the loop as an argument, count too. Where
    it is not known whether the loader pins, a part of a batch counts if another part of it is moved without waiting. Where
    an option of that name decides (`pin_memory=args.pin_memory`, `config["pin_memory"]`) whose default is not known, or one that turns the GPU on
    (`pin_memory=use_cuda`), it is an `info`, with `--preview` alone where the option is off by default; there what
    `create_loader(data, pin_memory=args.pin_memory)` gives counts as a loader, too, whoever defines it.
    A tensor that a step pins itself, for that copy alone, counts too: `x.pin_memory().to(device)`.
    A cast in front of the move (`labels.long().to(device)`) takes what it casts out of pinned memory, and so does what joins
    the parts of a batch (`torch.cat(images, 1).to(device)`): there the move has to come first.

    ## Why is this slow?

    From pinned memory the device can fetch the batch by itself while the host goes on to queue the forward pass.
    Without `non_blocking=True` the host waits until the copy has arrived, on each step, and the pinned memory was
    paid for in vain.

    ## When it does not matter

    Loops that are bound by the loader or that keep the device busy for much longer than a copy takes gain little.
    From memory that is not pinned, `non_blocking=True` alone gains nothing, nor where `torch.cuda.synchronize()` comes
    right behind it: such copies are not reported.

    ## Bad

    ```python
    loader = torch.utils.data.DataLoader(dataset, batch_size=64, pin_memory=True)
    for images, labels in loader:
        images = images.to(device)  # TL402
        labels = labels.to(device)  # TL402
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    loader = torch.utils.data.DataLoader(dataset, batch_size=64, pin_memory=True)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)  # ok
        labels = labels.to(device, non_blocking=True)  # ok
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    Adds `non_blocking=True`, or writes it in place of False, but not behind a cast, where it would gain nothing. Kernels that read the copy are queued behind it on the same stream, and the allocator of
    pinned memory hands a block out again only after the copies from it are done, so the values are the same, as long as
    nobody writes to the batch on the host meanwhile. It is offered where that is seen: the copy takes the place of the
    batch, or what still leads to the batch is only read. Nothing is offered where a function gets the batch that may write
    to it, where the files of the folder use streams of their own or this one may run on Apple's MPS, whose asynchronous copies
    can read memory that was given back (pytorch/pytorch#189690), and where the whole batch is moved by one call, which a batch class of
    a library may answer with a `TypeError`, or where a class of the project has a `to` or `cuda` that takes no
    `non_blocking`. It is unsafe where a function of another package collates (`collate_fn=dgl.batch`), which may make
    classes of its own, where nobody collates (`batch_size=None`), where a file that a program holds with it uses streams, and where one
    may choose MPS, or whatever accelerator there is, unless this file says that the copy goes to CUDA.

    ## References

    - https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
    - https://github.com/pytorch/pytorch/issues/189690
    """
    if site.spread or site.role == "test" or not _moves_to_device(site):
        return
    batch = _as_given(site)
    if not (site.hot or site.warm or _is_handed(site, batch)) or _is_waited_for(site):
        return
    if not batch and (other := _beside(site)) is not None:
        # Whatever wraps the loader: its author takes the batch for pinned.
        yield site.finding(_oversight(site, other), related=site.why_hot())
        return
    if batch.kind == "tensor" and batch.pinned and not batch.from_loader and _is_pinned_for_it(site):
        message = f"`{site.short()}` copies a pinned tensor and waits for it on every step"
        yield site.finding(message, related=site.why_hot())
        return
    joined = _joined(site)
    if joined is not None:
        message = f"`{site.short(joined)}` joins parts of a pinned batch on the host, and their copy is waited for on every step: copy them first, with `non_blocking=True`"
        yield site.finding(message, related=site.why_hot(), told=Cast(joined))
        return
    if batch.kind not in ("tensor", "batch") or not (batch.from_loader or _is_taken(site, batch)) or batch.managed:
        return
    if batch.device == "accelerator":
        return
    if batch.pinned:
        message = f"`{site.short()}` copies a pinned batch and waits for it on every step"
        cast = _cast(site)
        if cast is not None:
            message = f"`{site.short()}` casts a pinned batch before it copies it, and waits on every step: copy it first, with `non_blocking=True`"
        yield site.finding(message, related=site.why_hot(), told=cast)
    elif batch.pinned is None and (other := _beside(site)) is not None:
        yield site.finding(_oversight(site, other), related=site.why_hot())
    elif batch.pinned is None and (option := _option(batch.loader_calls)) is not None:
        name = option.rpartition(".")[2]
        if "pin" in name and not site.settings.preview and is_off(site.project, site.module, name):
            return  # nothing is pinned as the program is run
        message = f"`{site.short()}` waits on every step for a copy that `pin_memory={option}` lets it not wait for"
        yield site.finding(message, severity="info", related=site.why_hot())


def _is_waited_for(site: Site) -> bool:
    """Whether the program waits for the device as soon as it has begun the copy: nothing but copies is in front of `torch.cuda.synchronize()`."""
    if not site.source.holds(b"synchronize("):
        return False
    for statement in syntax.nearby(site.flow, site.statement, behind=_NEAR):
        match statement:
            case ast.Expr(value=ast.Call(func=func)) if site.resolve(func) in _WAITS:
                return True
            case ast.Assign() | ast.AnnAssign():
                copies = all(names.last(call.func) in _COPIES for call in site.flow.calls_within(statement))
            case _:
                copies = False
        if not copies:
            return False
    return False


def _is_pinned_for_it(site: Site) -> bool:
    """Whether the tensor is pinned for this copy, as often as that runs: `x.pin_memory().to(device)`; what is pinned once may be filled again."""
    assert isinstance(site.call.func, ast.Attribute)
    node: ast.expr | None = site.call.func.value
    if isinstance(node, ast.Name):
        node = assigned(site.function, node)
    pins = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pin_memory"
    return pins and node is not None and site.flow.loops(node) == site.flow.loops(site.call)


def _as_given(site: Site) -> Value:
    """What is moved; a parameter that is only annotated as a tensor is what the callers give for it."""
    batch, owner = site.receiver, site.part("x")
    if batch.kind != "tensor" or not isinstance(owner, ast.Name) or owner in site.function.bindings.reach:
        return batch
    given = owner.id in site.function.positions and site.project.parameter(site.function, owner.id)
    return given if given and given.kind in ("tensor", "batch") else batch


def _is_handed(site: Site, batch: Value) -> bool:
    """Whether an evaluation loop calls the function, which moves a part of a batch: what takes longest to tell is asked last."""
    return batch.kind in ("tensor", "batch") and bool(batch.loader_calls) and site.warm_caller is not None


def _cast(site: Site) -> Cast | None:
    """`y.long().to(device)`: a cast to another dtype gives a new tensor, which is not pinned."""
    assert isinstance(site.call.func, ast.Attribute)
    made = site.call.func.value
    is_cast = isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in DTYPE_CASTS
    return Cast(made) if is_cast else None


def _joined(site: Site) -> ast.Call | None:
    """`torch.cat(images, 1).to(device)`: what is joined of pinned parts of a batch alone is a new tensor, which is not pinned."""
    assert isinstance(site.call.func, ast.Attribute)
    made = site.call.func.value
    if not isinstance(made, ast.Call) or not made.args or site.resolve(made.func) not in JOINS:
        return None
    given = made.args[0]
    parts = [site.value(part) for part in (given.elts if isinstance(given, ast.Tuple | ast.List) else [given])]
    pinned = all(
        part.kind in ("tensor", "batch") and part.from_loader and part.pinned and not part.managed for part in parts
    )
    return made if parts and pinned else None


def _is_taken(site: Site, batch: Tensor | Batch) -> bool:
    """Whether a part of a batch is as the loop around it takes it out of what may be a loader."""
    owner, loop = site.part("x"), site.loop((ast.For,))
    if not batch.loader_calls or not isinstance(owner, ast.Name) or not isinstance(loop, ast.For):
        return False
    stores = site.flow.stores.get(owner.id, ())
    taken = [store for store in stores if contains(loop.target, store) or _is_unpacked(site, store, loop)]
    return bool(taken) and not any(taken[0].lineno < store.lineno < site.call.lineno for store in stores)


def _is_unpacked(site: Site, store: ast.AST, loop: ast.For) -> bool:
    """`x, y = data`, of what the loop takes out"""
    match site.flow.statement(store):
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Name(id=name)):
            stores = site.flow.stores.get(name, ())
            return len(stores) == 1 and contains(loop.target, stores[0])
    return False


def _option(loaders: frozenset[ast.expr]) -> str | None:
    """The option that a batch is pinned by, `args.pin_memory`, where all loaders that give it have one."""
    found = [_pins(loader) for loader in loaders]
    named = [name for name in found if name is not None]
    return min(named) if named and len(named) == len(found) else None  # a set has another order in each process


def _pins(loader: ast.expr) -> str | None:
    given = _given(loader)
    if isinstance(given, ast.IfExp) and is_constant(given.body, True) and is_constant(given.orelse, False):
        given = given.test  # `True if args.use_cuda else False`
    match given:
        case ast.Subscript(slice=ast.Constant(value=str(key))) if common_names.PINS_NAME.search(key):
            return ast.unparse(given)  # `config["loader"]["pin_memory"]`
    name = chain(given) if given is not None else None
    return ".".join(name) if name is not None and common_names.PINS_NAME.search(name[-1]) else None


def _given(loader: ast.expr) -> ast.expr | None:
    """What a call, or a dictionary of options, has as `pin_memory`."""
    if isinstance(loader, ast.Call):
        return keyword_of(loader, "pin_memory")
    named = zip(loader.keys, loader.values, strict=True) if isinstance(loader, ast.Dict) else ()
    return next((value for key, value in named if isinstance(key, ast.Constant) and key.value == "pin_memory"), None)


def _oversight(site: Site, other: ast.Call) -> str:
    return f"`{site.short()}` waits on every step for a copy that `{site.short(other)}` beside it does not wait for"


def _beside(site: Site) -> ast.Call | None:
    """A move without waiting of another part of the same batch: its author takes the batch for pinned."""
    assert isinstance(site.call.func, ast.Attribute)
    owner = site.call.func.value
    loop = site.loop((ast.For,))
    if not isinstance(owner, ast.Name) or not isinstance(loop, ast.For) or told_to_wait(site.call) is not None:
        return None
    parts = bound_names(loop.target)
    method = site.call.func.attr
    return (
        site.once(("beside", loop, method), lambda: _unblocked(site, loop, method, parts))
        if owner.id in parts
        else None
    )


def _unblocked(site: Site, loop: ast.For, method: str, parts: set[str]) -> ast.Call | None:
    """The first move without waiting of a part of the batch in a loop."""
    for call in site.flow.calls_in(loop):
        func, waits = call.func, keyword_of(call, "non_blocking")
        if (
            isinstance(func, ast.Attribute)
            and func.attr == method
            and isinstance(func.value, ast.Name)
            and func.value.id in parts
            and isinstance(waits, ast.Constant)
            and waits.value
        ):
            return call
    return None


def _moves_to_device(site: Site) -> bool:
    """Whether the call names a device that may be an accelerator, and nothing else but a dtype or a memory format."""
    call = site.call
    waits = told_to_wait(call)
    if any(k.arg not in ("device", "dtype", "memory_format") and k.value is not waits for k in call.keywords):
        return False
    more = [one for one in call.args[1:] if one is not waits]
    if len(more) > 1 or (more and (site.name != ".to()" or site.value(more[0]).kind != "dtype")):
        return False
    if site.name == ".type()":
        return len(call.args) == 1 and makes_on_device(site.value(call.args[0]))
    target = site.argument("device", 0)
    if target is None:
        return site.name != ".to()"
    value = site.value(target)
    if not value.device and _goes_to_what_it_indexes(site, target):
        return False
    if isinstance(value.const, str) and value.const.partition(":")[0] in ("cpu", "mps", "meta"):
        return False
    if site.name == ".cuda()" and value.kind == "number" and not value.boolean:
        return True  # `x.cuda(self.rank)`, whatever number that is
    return value.device != "cpu" and (
        arguments.is_device(value) or (not value and common_names.named_like_device(target))
    )


def _goes_to_what_it_indexes(site: Site, target: ast.expr) -> bool:
    """`table[i.to(table.device)]`: who asks for the place of a table has it on the host, mostly, since it is large."""
    around = site.flow.parents.get(site.call)
    if not isinstance(around, ast.Subscript) or around.slice is not site.call:
        return False
    return isinstance(target, ast.Attribute) and same(target.value, around.value)
