from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from torchlint.facts import arguments, copies, frequency, needless_clones, repeated_indices, syntax
from torchlint.facts.legacy_tensors import OF_HOST
from torchlint.facts.parameter_loops import over_parameters
from torchlint.facts.sending import sent_later
from torchlint.facts.sent_by_callers import is_sent_by_callers
from torchlint.rule import Finding, Site, rule

_TWICE = "$x.contiguous().contiguous()"
_PLAIN = "$x.contiguous(...)"
_TURNED = ("$x.transpose(...)", "$x.swapaxes(...)", "$x.permute(...)", "$x.t()", "$x.T", "$x.mT", "$x.movedim(...)")
"""What gives another view of a matrix: products take it as it is."""
_EXPANDED = ("$x.expand(...)", "$x.expand_as(...)")
"""What gives a view with elements that are one place in memory."""
_NEEDLESS = "`{}` copies a tensor that nobody writes to while the copy is read"
_CALLERS = 5
_DEPTH = 3
"""How many calls of a function are followed, and how many calls away a `forward` is looked for."""


@rule(
    "TL713",
    shape=[
        "($first := $x.to(...)).to(...)",
        _TWICE,
        "$x.type(...)",
        "$x.clone(...)",
        *(f"{turned}.contiguous()" for turned in (*_TURNED, *_EXPANDED)),
        "$x.unsqueeze(...).repeat(...)",
        _PLAIN,
    ],
    set="preview",
    severity="info",
    fix="safe",
    impact="low",
    category="kernel",
    principle=("locality",),
)
def avoidable_copy(site: Site) -> Iterator[Finding]:
    """A tensor is copied twice, or to the host by a cast.

    ## What it does

    Finds in training and evaluation loops and in `forward`: `x.to(device).to(dtype)` in either order,
    `x.contiguous().contiguous()`, and `x.type(torch.LongTensor)` on a tensor of the accelerator.
    A matrix that is turned and copied only to be multiplied counts as well: `torch.matmul(q, k.transpose(-2, -1).contiguous())`,
    and an index that is written out for each feature that it picks, or what is picked of: `x.gather(1, places.unsqueeze(-1).repeat(1, 1, n))`.
    What is turned or expanded and copied only to be reduced, joined or picked from by a mask (`x.permute(2, 0, 1).contiguous().sum(-1)`,
    `torch.cat((x.expand(-1, n).contiguous(), y))`) counts too, also by a name, and so does a `contiguous()` of which nobody takes what it gives.
    In any loop, in what evaluation loops call and in what a dataset does for each sample too: a `clone()` beside a cast or a move (`x.clone().float()`,
    `x.cpu().clone()`), one of what has just been calculated (`(x * y).clone()`) or picked by a
    tensor of places or a mask (`x[torch.randperm(n)].clone()`), one that is only
    added to something (`x + self.table[:n].clone().detach()`), and one that is only turned or joined
    (`torch.flip(x.clone(), [2])`, `torch.cat((kept.detach().clone(), new))`) or written into another tensor
    (`queue[:, 0] = x.clone()`, `x.copy_(y.clone())`); and, in a `backward` too, one that is
    overwritten at once (`x.clone().zero_()`, for which there is `torch.zeros_like(x)`).
    On each step, in a forward and in what one calls: a clone that is only read, by functions of the project that it is given to as well, while nothing
    writes to what it was made of (`center = boxes[:, :3].clone()` in front of `points + center`).

    ## Why is this slow?

    Each `.to()` that changes something writes a tensor; one call with both writes one.
    `torch.LongTensor` is the type of the host: the cast moves the tensor there and waits.
    Products take their operands with any strides, or copy them once by themselves. So do gather and scatter their index, of
    eight bytes an element, for which `places.unsqueeze(-1).expand(-1, -1, n)` is a view.
    A cast or a move that changes something is a copy already, and `clone()` makes a second one; with `copy=True` there
    is exactly one, whether something changes or not.

    ## When it does not matter

    For small tensors, and in code that runs once, which is not reported; nor are loops over the parameters of a model, and a batch that is filled
    on the host before it goes to the device.
    A move may move nothing: `x.clone().to(device)` is one copy where x is there already, so that it is not reported unless both places are known.
    Whether anybody writes to a tensor is told as far as its function says, and functions that are given it; what is handed to a call that nobody
    knows, or kept, or lies in an object that such a call may change, counts as written to.
    A clone of what autograd keeps for the backward pass (the result of `softmax`, `exp`, `tanh` and the like) is not
    reported either, unless autograd is off: writing to it would be an error without the clone.

    ## Bad

    ```python
    class Block(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return x.to(device).to(torch.float16)  # TL713

    class Images(torch.utils.data.Dataset):
        def __init__(self, images: torch.Tensor):
            self.images = images

        def __getitem__(self, index):
            return self.images[index].clone().float()  # TL713
    ```

    ## Good

    ```python
    class Block(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return x.to(device, torch.float16)  # ok

    class Images(torch.utils.data.Dataset):
        def __init__(self, images: torch.Tensor):
            self.images = images

        def __getitem__(self, index):
            return self.images[index].to(torch.float32, copy=True)  # ok
    ```

    ## Fix safety

    Puts both into one call, which gives the same values, and takes the second `contiguous()` away.
    It is unsafe where the dtype is not known to be a floating one: a number that an integer can't hold becomes another
    one on the host than on the device, and the cast may happen on either.
    A clone of a new tensor, and one that is only added, turned or joined, is left out; where it is joined or rolled that
    is unsafe, as the layout in memory of the whole may be another one. So may that of a sum be where what is copied was
    expanded (`x.expand(8, -1)`): where that may be, in a project that expands anything, it is unsafe. In any sum a
    dimension of one element may have another stride (`y + x.clone()`). What is picked by `x.argsort()`
    is a view where x has no dimensions, so that this is unsafe, too, unless the call names a dimension as `dim=1` does.
    So may what `torch.LongTensor` of a tensor picks be, or a mask that a move may cast (`mask.to(kind)`): unsafe, too.
    What `matmul` and `@` give may be a view to autograd, which refuses some writes in place to it: unsafe without its clone.
    Of what autograd would keep that is safe behind `torch.no_grad()` itself, in the
    same function; where only callers or a condition switch autograd off, it is unsafe.
    All of it is unsafe where something else than a tensor may come on another way: what callers give without an
    annotation, what an attribute holds, what an operator makes of an object whose class may take it over.
    A clone and a cast become `.to(..., copy=True)`: the same values, dtype, device, strides and gradients, and a tensor of
    its own in every case. With `non_blocking` this is unsafe: the host may write to the tensor while it is read; and where
    the project uses the layout of MKL-DNN, which can't be copied so.
    The graph of the result holds other operations, which its printed form names (`grad_fn=<MulBackward0>`): it is unsafe
    where the project looks at graphs (`grad_fn`), unless autograd is off, or at those that torch.fx, `torch.export` or TorchScript
    make of a model; and where it uses a library whose subclasses of Tensor some methods alone keep (torchvision's `tv_tensors`, MONAI), which
    an annotation does not tell from tensors.
    Who counts operations, as a profiler does, counts fewer, and hooks of gradients may run in another order.
    The cast by a type of the host gets no fix: the tensor would stay on the device. Nor does a matrix that is copied to be
    multiplied: another kernel may round in another order. Nor does what is overwritten, which may be a leaf of the graph, nor what is written into another tensor, which may lie over it. Nor does a clone that is only read: without it a write that is added later would change both. Nor does an index: `repeat` may add dimensions in front, which
    `expand(-1, ...)` can't.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """
    if site.name == ".clone()":
        yield from _doubled(site)
        return
    if site.name == ".type()":
        yield from _moved_by_cast(site)
        return
    if site.name == ".repeat()":
        yield from _written_out(site)
        return
    if isinstance(site.flow.parents[site.call], ast.Expr) and site.name == ".contiguous()":
        if site.role != "test":
            yield site.finding(f"nobody takes what `{site.short()}` gives, which leaves the tensor itself as it is")
        return
    if site.pattern == _PLAIN:
        return
    if site.pattern != _TWICE and site.name == ".contiguous()":
        yield from _multiplied(site)
        return
    message = f"`{site.short()}` asks twice for the same"
    if site.name == ".to()":
        if not _one_each(site):
            return
        message = f"`{site.short()}` writes the tensor twice; one `.to(device, dtype)` writes it once"
    if _runs_often(site) and site.receiver.is_tensor:
        yield site.finding(message)


def _is_repeated(site: Site) -> bool:
    """Whether the place stands in a loop or a comprehension, and is not rare there."""
    return bool(site.loop() or site.flow.comprehension(site.call)) and not site.rare


def _sets_up(site: Site) -> bool:
    """Whether the loops around a place go through the parameters of a model, or make an object: that is done once, or seldom."""
    if site.function.name == "__init__":
        return True
    comprehension = site.flow.comprehension(site.call)
    gone_through = [one.iter for one in comprehension.generators] if comprehension else []
    loops = [loop.iter for loop in site.flow.loops(site.call) if isinstance(loop, ast.For)]
    return any(over_parameters(site, one) for one in (*gone_through, *loops))


def _runs_often(site: Site) -> bool:
    return bool(site.hot or site.in_forward or site.warm)


def _runs_often_behind_calls(site: Site) -> bool:
    """The same, or in what a `forward` calls; what is compiled is fused, and no test is told of."""
    return site.role != "test" and not site.in_compiled and (_runs_often(site) or _is_in_forward(site))


def _multiplied(site: Site) -> Iterator[Finding]:
    """`torch.matmul(q, k.transpose(-2, -1).contiguous())`"""
    if copies.is_multiplied(site.flow, site.call, site.resolve):
        if _runs_often_behind_calls(site):
            yield site.finding(f"`{site.short()}` writes a copy that is only multiplied: a product takes the view")
    elif (taken := copies.taken_turned(site, site.call)) and _runs_often_behind_calls(site):
        yield site.finding(f"`{site.short()}` writes a copy that is only {taken}, as the view can be")


def _written_out(site: Site) -> Iterator[Finding]:
    """`x.gather(1, places.unsqueeze(-1).repeat(1, 1, n))`"""
    if repeated_indices.is_written_out(site.flow, site.call, site.resolve) and _runs_often_behind_calls(site):
        yield site.finding(
            f"`{site.short()}` is written out to be indexed by, or picked of: `expand` gives a view of it"
        )


def _is_in_forward(site: Site, depth: int = _DEPTH) -> bool:
    """Whether a `forward` calls the function of the place, or one that does: `idx = knn(x, k)`."""
    if site.in_forward:
        return True
    callers = itertools.islice(site.callers(site.function), _CALLERS) if depth else ()
    return any(_is_in_forward(site.at(one.function, one.call), depth - 1) for one in callers)


def _moved_by_cast(site: Site) -> Iterator[Finding]:
    """`x.type(torch.LongTensor)`"""
    given = site.argument("dtype", 0)
    name = site.resolve(given) if given is not None else None
    if name not in OF_HOST:
        return
    if _runs_often(site) and site.receiver.device == "accelerator":
        yield site.finding(f"`{site.short()}` moves the tensor to the host; `.to(dtype)` leaves it on the device")


def _doubled(site: Site) -> Iterator[Finding]:
    """`x.clone().float()`, `x.cpu().clone()`, `x + y.clone()`"""
    writer = copies.overwritten(site.flow, site.call)
    if writer:
        yield from _overwritten(site, writer)
        return
    found = copies.doubled(site.flow, site.call)
    made = site.part("x")
    beside = copies.added_to(site.flow, site.call)
    again = copies.copied_again(site.flow, site.call, site.resolve)
    stored = isinstance(site.flow.parents[site.call], ast.Assign | ast.Attribute | ast.Call)
    if not (found or beside or again or stored or isinstance(made, ast.Call | ast.BinOp | ast.Subscript)):
        return
    if site.role == "test" or site.in_compiled:
        return
    sampled = site.function.name in ("__getitem__", "__getitems__") and site.function.cls is not None
    often = bool(sampled or site.hot or site.in_forward or frequency.severity(site))
    if not often and not (_is_repeated(site) and not _sets_up(site)):
        if _is_needless(site) and _is_in_forward(site):
            yield site.finding(_NEEDLESS.format(site.short()))
        return
    if not site.receiver.is_tensor and (again not in copies.JOINS or site.receiver):  # what is joined is a tensor
        return
    plain = not site.call.args and not site.call.keywords
    new = plain and (
        copies.is_gathered(site, made) or copies.fresh(made, site.resolve, site.value, grad_off=site.grad_off)
    )
    if new:
        message = f"`{site.short()}` copies a tensor that has just been made, and that nothing else refers to"
        yield site.finding(message, told=copies.Needless(made))
    elif plain and again and not site.receiver.other_kinds:
        message = f"`{site.short()}` copies a tensor that `{again}` copies again"
        yield site.finding(message, told=copies.Needless(made, again=again))
    elif plain and beside is not None and not site.receiver.other_kinds:
        message = f"`{site.short()}` copies a tensor that is only added: the sum is a tensor of its own"
        yield site.finding(message, told=copies.Needless(made, beside))
    elif plain and not site.receiver.other_kinds and (writer := copies.written_into(site, site.call)):
        yield site.finding(f"`{site.short()}` copies a tensor that {writer} copies again")
    elif found is not None and site.value(found.tensor).is_tensor and not copies.may_stay(site, found):
        message = f"`{site.short(found.whole)}` may copy the tensor twice; `.to(..., copy=True)` copies it once"
        yield site.finding(message, at=found.whole, told=found)
    elif _is_needless(site) and (often or _is_in_forward(site)):
        yield site.finding(_NEEDLESS.format(site.short()))


def _is_needless(site: Site) -> bool:
    """`center = boxes[:, :3].clone()` of what is only read; one number more is no matter: `loss.clone().detach().mean()`."""
    plain = not site.call.args and not site.call.keywords
    known = site.receiver.is_tensor and not site.receiver.other_kinds and not site.receiver.scalar
    return plain and known and needless_clones.is_only_read(site, site.call)


def _overwritten(site: Site, writer: str) -> Iterator[Finding]:
    """`x.clone().zero_()`, of what is nothing else than a tensor: these methods come together nowhere else."""
    if site.role == "test" or site.in_compiled or site.receiver.kind not in ("tensor", "unknown"):
        return
    if site.receiver.on_cpu or _is_on_host_yet(site):
        return
    if _is_repeated(site) or _runs_often(site) or frequency.in_forward(site):
        yield site.finding(
            f"`{site.short()}` copies values that `{writer}` overwrites: `{copies.WRITERS[writer]}` copies none"
        )


def _is_on_host_yet(site: Site) -> bool:
    """Whether what is copied, or the copy, goes to the device only afterwards: a batch of the host is small."""
    named = syntax.target(site.flow, site.call)
    made = [site.part("x"), *([named] if named is not None else [])]
    return any(sent_later(site.flow, one) for one in made) or is_sent_by_callers(site, site.part("x"))


def _one_each(site: Site) -> bool:
    """Whether one call gives nothing but a device and the other nothing but a dtype."""
    return {_gives(site, site.part("first")), _gives(site, site.call)} == {"device", "dtype"}


def _gives(site: Site, call: ast.expr) -> str:
    assert isinstance(call, ast.Call)
    if len(call.args) == 1 and not call.keywords:
        value = site.value(call.args[0])
    elif len(call.keywords) == 1 and not call.args and call.keywords[0].arg in ("device", "dtype"):
        return call.keywords[0].arg
    else:
        return ""
    if value.kind == "dtype":
        return "dtype"
    return "device" if arguments.is_device(value) else ""
