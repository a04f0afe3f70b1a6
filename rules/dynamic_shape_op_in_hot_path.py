from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency, names, simulators, syntax
from torchlint.facts import host_reads as reads
from torchlint.facts.copied_indices import is_there
from torchlint.facts.masks import is_comparison, is_mask, is_mask_of_host
from torchlint.facts.met_on_host import is_met_on_host
from torchlint.facts.nodes import bound_names, indices, is_constant
from torchlint.facts.operator_calls import has_dynamic_shape, is_sent, waits
from torchlint.facts.uses import meant
from torchlint.facts.values import LIKELY, PROVEN, Certainty
from torchlint.rule import Finding, Site, plain, rule
from torchlint.rule.lazy import regex
from torchlint.torch_api.dynamic import DYNAMIC
from torchlint.torch_api.operators import operator

_DRAWS = regex(r"^_?(?:draw|plot|visuali[sz]e|annotate)(?:_|$)")
_EPOCHS = frozenset(("epoch", "ep", "run", "fold", "trial"))
"""What loops count that train a model anew, or all of it: what is done beside is done seldom."""
_TENSORS = frozenset(("tensor", "tensors", "tuple", "int64"))
"""What functions give that calculate with what they are given."""
_FETCHES = frozenset(("cpu", "tolist", "numpy"))
_OPS = {f"{name.replace('torch.Tensor', '', 1)}()" for name in DYNAMIC}


@rule(
    "TL107",
    shape=[*plain(*_OPS), "$x[$i]"],
    severity="info",
    impact="medium",
    category="sync",
    principle=("async",),
    confirmed_by=("sync",),
    silenced_by=("TL109",),
)
def dynamic_shape_op_in_hot_path(site: Site) -> Iterator[Finding]:
    """An operation whose size depends on the data makes the host wait for the device.

    ## What it does

    Finds `nonzero`, `argwhere`, `masked_select`, `unique`, `unique_consecutive`, `bincount`, `torch.where` with one
    argument, `one_hot` without the number of classes, `repeat_interleave` of repeats that are a tensor without
    `output_size`, `sparse_coo_tensor` without a size, and what reads by a mask of booleans, or writes values of the device by one (`x[x > 0]`, `x[x > 0] -= 1`, `x[mask] = rows`, and
    `x[batch["mask"]]` by its name), which is `nonzero` and a gather, on device tensors in step loops, in what they call, in evaluation and generation loops and
    in what these call, and in `forward`; by a mask that is proven to be on the device also in any other loop, but for one over the groups of an optimizer, and where a condition that seldom holds is in front of all calls (`if step % 100 == 0: self.prune()`). So is what a mask that was
    copied to the host picks of a tensor of the device: its places are copied back. A mask that picks of a tensor of the device is there, whatever else it picks of.

    ## Why is this slow?

    The host has to know the size before it can allocate the result: it waits until the device has finished
    everything queued so far. The sizes differ from step to step, so that memory is allocated anew, and compiled
    code breaks there.

    ## When it does not matter

    In preparation of data, for tensors in host memory, in functions that draw pictures (`draw_boxes`, on no training step), and where a kernel for sequences of all lengths
    wants the rows that count and where each sequence begins (`F.pad(torch.cumsum(lengths, 0), (1, 0))`). `torch.where(condition, a, b)`, `masked_fill` and
    `x[mask] = number` have a known size and are not reported; nor is what a compiled region traces, which TL204
    reports.

    ## Bad

    ```python
    for images, labels in loader:
        output = torch.sigmoid(model(images.to(device)))
        hits = torch.nonzero(output)  # TL107
        loss = output.masked_select(output > 0.5).sum()  # TL107
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    for images, labels in loader:
        output = torch.sigmoid(model(images.to(device)))
        loss = torch.where(output > 0.5, output, 0).sum()  # ok
        loss.backward()
        optimizer.step()
    ```

    `torch.nonzero_static(x, size=n)` gives as many places as asked for, and `cross_entropy(..., ignore_index=...)`
    leaves out what a mask would. `x.masked_scatter(mask[:, None], rows)` and `torch.where` write by a mask without waiting.

    ## References

    - <https://docs.pytorch.org/docs/stable/generated/torch.nonzero.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.where.html>
    """
    if _DRAWS.search(site.function.name) and site.hot is None:
        return  # on the host, where pictures are made; what is drawn on each step are samples
    if isinstance(site.target, ast.Subscript):
        yield from _masked(site, site.target)
        return
    if site.role in ("test", "benchmark") or not site.may_have_accelerator:
        return
    of_mask = site.name == ".nonzero()" and _takes_places(site)
    if not of_mask and not has_dynamic_shape(site, site.call):
        return
    method = site.name.startswith(".")
    func = site.call.func
    operand = func.value if method and isinstance(func, ast.Attribute) else next(iter(site.call.args), None)
    if operand is None or not (of_mask or (_of_tensor(site, operand) if method else _of_argument(site, operand))):
        return
    if site.in_compiled or not site.accelerator or not (of_mask or waits(site, site.call)):
        return
    if site.rare or not frequency.repeated(site) or _packs(site) or _is_fetched(site):
        return
    if simulators.finds_ended(site, operand):
        return
    name = site.name.removesuffix("()").rpartition(".")[2]
    yield _finding(site, name)


def _is_fetched(site: Site) -> bool:
    """Whether an evaluation copies the result to the host right there, and so waits anyway: `torch.where(peaks > 1)[0].cpu().numpy()`."""
    if site.hot is not None:
        return False
    for child, parent in site.flow.upwards(site.call):
        if isinstance(parent, ast.Attribute):
            if parent.attr in _FETCHES:
                return not frequency.in_forward(site)
        elif child is not (parent.func if isinstance(parent, ast.Call) else getattr(parent, "value", None)):
            return False
    return False


def _packs(site: Site) -> bool:
    """Whether the function tells a kernel where sequences begin: `F.pad(torch.cumsum(lengths, 0), (1, 0))`, for which it packs their rows."""
    return any(
        isinstance(part, ast.Call) and names.last(part.func) == "cumsum"
        for call in site.flow.calls_named("pad")
        for part in (ast.walk(meant(site.function, call.args[0])) if call.args else ())
    )


def _of_tensor(site: Site, node: ast.expr) -> bool:
    """Whether a method is one of a tensor of the device: arrays have some of the name, which no forward is given."""
    if is_sent(site.value(node)):
        return True
    sure = site.in_forward or (site.name == ".nonzero()" and syntax.gives_places(site.flow, site.call))
    return reads.is_on_device(site, node, LIKELY if sure else PROVEN)


def _takes_places(site: Site) -> bool:
    """Whether `nonzero()` of a mask of what nobody knows is used as a tensor, in a step or a forward: `(labels >= 0).nonzero().reshape(-1)`."""
    func = site.call.func
    return isinstance(func, ast.Attribute) and syntax.gives_places(site.flow, site.call) and _is_mask(site, func.value)


def _of_argument(site: Site, node: ast.expr) -> bool:
    """The same for a function of torch, which takes nothing but tensors: those of a step are on the device, unless known to be elsewhere."""
    # `labels > 0` compares numbers for all that is known, but nothing of these is given to torch.
    value = site.value(node.left if isinstance(node, ast.Compare) else node)
    unknown = value.kind == "unknown" and not value.proven and not value.on_cpu
    if unknown and (site.hot is not None or frequency.in_forward(site)):
        return True
    return reads.is_on_device(site, node, LIKELY) or _is_mask(site, node)


def _is_mask(site: Site, node: ast.expr) -> bool:
    """Whether something of a step or a forward is a mask of what nobody knows: `kept` behind `kept = scores > 0.5`, of which values know a number alone."""
    is_number = site.value(node).kind == "number" and is_mask(site, node)
    return is_number and (site.hot is not None or frequency.in_forward(site))


def _masked(site: Site, node: ast.Subscript) -> Iterator[Finding]:
    """`x[mask]` where it is read, or gets values of the device; `x[mask] = number` is a fill."""
    parts = indices(node.slice)
    parts = [part for part in parts if not isinstance(part, ast.Slice | ast.Constant)]
    if not parts or not site.may_have_accelerator or site.in_compiled:
        return
    if not _is_read(site, node) and not _is_put(site, node):
        return
    if site.role in ("test", "benchmark"):
        return
    held = site.value(node.value)
    there = held.is_tensor and held.device == "accelerator" and held.other_kinds <= {"none"}  # which has no index
    if held.on_cpu or not site.accelerator or site.rare:
        return
    yield from _by_mask_of_host(site, node, parts)
    masks = [part for part in parts if is_mask(site, part) or (there and is_comparison(site, part))]
    if not masks:
        return
    if not frequency.repeated(site) and not _is_looped(site, masks):
        return
    if any(is_met_on_host(site, part) for part in (node.value, *masks)):
        return
    # What is no tensor for certain may have a bool as its index, but not in a step or a forward, nor beside a mask that is one.
    certainty = LIKELY if frequency.in_forward(site) or site.hot is not None else PROVEN
    on_device = reads.is_on_device(site, node.value, certainty)
    on_device = on_device or any(reads.is_on_device(site, mask, PROVEN) for mask in masks)
    on_device = on_device or (certainty is LIKELY and _is_given_to_torch(site, node))
    is_open = held.kind == "unknown" and not held.proven
    if on_device or (is_open and any(_picks_there(site, mask, certainty) for mask in masks)):
        yield _finding(site, site.short(node))


def _picks_there(site: Site, mask: ast.expr, certainty: Certainty) -> bool:
    """Whether a mask picks of a tensor of the device elsewhere in the function, and so of none but such: `rows[kept]` beside `scores[kept]`."""
    reach = site.function.bindings.reach
    if not isinstance(mask, ast.Name) or (binding := reach.get(mask)) is None:
        return False
    beside = (
        around.value
        for load in site.flow.loads.get(mask.id, ())
        if load is not mask and reach.get(load) is binding
        if isinstance(around := site.flow.parents[load], ast.Subscript) and around.slice is load
    )
    return any(reads.is_on_device(site, one, certainty) for one in beside)


def _by_mask_of_host(site: Site, node: ast.Subscript, parts: list[ast.expr]) -> Iterator[Finding]:
    """`x[mask]` of a tensor of the device, by a mask that was copied to the host: its places go back."""
    mask = next((part for part in parts if is_mask_of_host(site, part)), None)
    if mask is None or site.makes_on_accelerator or not frequency.repeated(site):
        return
    if is_there(site, node.value):  # of what is unknown, the mask says that it is on the host as well
        message = f"`{site.short(mask)}` lies on the host: its places are copied to the device, and waited for, each time it is a mask there"
        yield site.finding(message, related=site.why_hot())


def _is_given_to_torch(site: Site, node: ast.Subscript) -> bool:
    """Whether a function of torch is given first what a mask reads of what nobody knows: `torch.max(radii[visible], new)` takes nothing but tensors."""
    call = site.flow.parents.get(node)
    if not isinstance(call, ast.Call) or call.args[:1] != [node] or not _of_argument(site, node.value):
        return False
    name = site.resolve(call.func) or ""
    row = operator(name) if name.startswith("torch.") else None
    return row is not None and not row.device and row.returns.kind in _TENSORS


def _is_looped(site: Site, masks: list[ast.expr]) -> bool:
    """Whether any loop reads by a mask that is proven to be on the device, as often as it goes round; the few groups of an optimizer are none, nor what the program seldom calls."""
    loop = site.loop()
    if not isinstance(loop, ast.For) or site.hot is not None or _EPOCHS.intersection(bound_names(loop.target)):
        return False
    if frequency.shows(site.function) or frequency.of_pictures(site) or names.last(loop.iter) == "param_groups":
        return False
    return any(site.value(mask).device == "accelerator" for mask in masks) and not site.seldom_comes


def _is_read(site: Site, node: ast.Subscript) -> bool:
    """Whether what is in the brackets is read; `x[mask] -= 1` reads it before it is written."""
    return isinstance(node.ctx, ast.Load) or isinstance(site.flow.parents[node], ast.AugAssign)


def _is_put(site: Site, node: ast.Subscript) -> bool:
    """Whether a tensor is written where a mask says; the same mask on the right, `x[mask] = y[mask]`, is told there."""
    statement = site.flow.parents[node]
    if not isinstance(statement, ast.Assign) or statement.targets != [node]:
        return False
    value = site.value(statement.value)
    # A number, and one on the host, are filled in; one on the device is read (`canDispatchToMaskedFill` of ATen).
    is_put = value.is_tensor and not (value.scalar and value.on_cpu)
    if not is_put and not (value.kind == "unknown" and not value.on_cpu and _has_rows(site, statement.value)):
        return False
    if value.other_kinds:
        return False
    reads_too = (one for one in ast.walk(statement.value) if isinstance(one, ast.Subscript))
    return not any(syntax.same(one.slice, node.slice) for one in reads_too)


def _has_rows(site: Site, node: ast.expr) -> bool:
    """Whether a name is of several values, since the function takes some of them: `rows[last]`, `rows.shape[1:]`; a mask writes a number as well."""
    if not isinstance(node, ast.Name):
        return False
    reach = site.function.bindings.reach
    return any(
        reach.get(load) is reach.get(node) and _is_taken(site, load) and not syntax.exclusive(site.flow, load, node)
        for load in site.flow.loads.get(node.id, ())
    )


def _is_taken(site: Site, load: ast.Name) -> bool:
    """Whether an element or a dimension of something is taken; `one[None]` takes none."""
    taken: ast.expr = load
    use = site.flow.parents[taken]
    if isinstance(use, ast.Attribute) and use.attr == "shape":
        taken, use = use, site.flow.parents[use]
    return isinstance(use, ast.Subscript) and use.value is taken and not is_constant(use.slice, None)


def _finding(site: Site, what: str) -> Finding:
    message = f"`{what}` has a size that depends on the data: the host waits for the device to know it"
    return site.finding(message, related=site.why_hot())
