from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import arguments, frequency
from torchlint.facts import host_reads as reads
from torchlint.facts.bindings import Assigned
from torchlint.facts.flow import contains
from torchlint.facts.nodes import elements, root_of
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex


@rule(
    "TL406",
    shape=["$x.to(...)", "$x.cuda(...)", "$x.cpu(...)"],
    fix="suggestion",
    impact="high",
    category="data",
    principle=("locality",),
    confirmed_by=("h2d",),
)
def per_sample_transfer(site: Site) -> Iterator[Finding]:
    """Data goes to the device one sample at a time.

    ## What it does

    Finds tensors that `__getitem__` or `__iter__` of a dataset, or a function given as `collate_fn`, moves to an
    accelerator, and comprehensions over tensors in a training or evaluation loop that move one element each (info); over
    samples, `[sample["image"].to(device) for sample in batch]`, also in a `forward` and in what it calls; and loops over the
    samples of a batch inside that over the loader (`for image, label in samples: image.to(device)`, info).
    The other way round: loops over a tensor of the device that copy each row to the host with `.cpu()` (info).

    ## Why is this slow?

    Each copy has a fixed cost, and a sample is too small to be worth it; the host waits for each. In the worker
    processes of a loader it fails outright, because CUDA can't be used after a fork.

    ## When it does not matter

    A dataset that lives on the device is built there once, in `__init__`: that is not reported. Neither are the few
    named fields of a batch, `{k: v.to(device) for k, v in batch.items()}`.

    ## Bad

    ```python
    class Images(torch.utils.data.Dataset):
        def __init__(self, images):
            self.images = images

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            return torch.from_numpy(self.images[index]).to('cuda')  # TL406
    ```

    ## Good

    ```python
    class Images(torch.utils.data.Dataset):
        def __init__(self, images):
            self.images = images

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            return torch.from_numpy(self.images[index])  # ok

    for x in torch.utils.data.DataLoader(Images(images), batch_size=64, pin_memory=True):
        x = x.to('cuda', non_blocking=True)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    - https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing
    """
    assert isinstance(site.call.func, ast.Attribute)
    if site.name == ".cpu()":
        yield from _rows(site)
        return
    where = _loading(site)
    if not where and _of_sample(site) and not _are_made_here(site):
        yield from _samples(site)
        return
    if site.role == "test":
        return
    generator = _over(site)
    each = (
        site.argument("non_blocking", 2) is None
        and (site.hot is not None or site.warm is not None)
        and (_holds_tensors(site, generator.iter) if generator is not None else _in_batch(site))
    )
    if not (where or each):
        return
    if site.receiver.kind not in ("tensor", "unknown", "batch") or site.receiver.device == "accelerator":
        return
    if not _to_accelerator(site):
        return
    if where and site.receiver.kind == "tensor":
        what = "for each batch, and waits for it" if _is_gathered(site) else "one sample at a time"
        yield site.finding(f"`{site.short()}` copies {what}: {where} runs in the loader")
    elif each:
        often = "step" if site.hot is not None else "iteration"
        message = f"`{site.short()}` copies one element at a time on every {often}"
        yield site.finding(message, severity="info", related=site.why_hot())


def _samples(site: Site) -> Iterator[Finding]:
    """A field of each sample of a batch, moved by itself in a forward or a step."""
    if site.role == "test" or not site.accelerator or site.argument("non_blocking", 2) is not None:
        return
    if site.receiver.kind not in ("tensor", "unknown", "batch") or site.receiver.device == "accelerator":
        return
    if not _to_accelerator(site) or site.rare:
        return
    if site.hot is None and site.warm is None and not frequency.in_forward(site):
        return
    often = "on every step" if site.hot is not None else "on every iteration" if site.warm else "in each forward pass"
    message = f"`{site.short()}` copies one sample at a time, and waits for it, {often}"
    yield site.finding(message, severity="info", related=site.why_hot())


def _of_sample(site: Site) -> bool:
    """`[s["image"].to(device) for s in samples]`, `[{k: v.to(device) for k, v in s.items()} for s in samples]`."""
    comprehension = site.flow.comprehension(site.call)
    if isinstance(comprehension, ast.DictComp):
        return _of_fields(site, comprehension)
    if not isinstance(comprehension, ast.ListComp | ast.GeneratorExp) or len(comprehension.generators) != 1:
        return False
    target = comprehension.generators[0].target
    assert isinstance(site.call.func, ast.Attribute)
    field = site.call.func.value
    return (
        isinstance(field, ast.Subscript)
        and isinstance(field.slice, ast.Constant)
        and isinstance(field.slice.value, str)
        and isinstance(field.value, ast.Name)
        and isinstance(target, ast.Name)
        and field.value.id == target.id
    )


def _are_made_here(site: Site) -> bool:
    """Whether a call in the function made each of what is gone through: `parts = [tokenize(text) for text in texts]` are no samples."""
    around: ast.AST | None = site.flow.comprehension(site.call)
    if isinstance(around, ast.DictComp):
        around = site.flow.parents.get(around)
    rows = around.generators[0].iter if isinstance(around, ast.ListComp | ast.GeneratorExp) else None
    bound = site.function.bindings.reach.get(rows) if isinstance(rows, ast.Name) else None
    return isinstance(bound, Assigned) and isinstance(bound.node, ast.ListComp) and isinstance(bound.node.elt, ast.Call)


def _of_fields(site: Site, fields: ast.DictComp) -> bool:
    """Whether a mapping is made of the fields of one sample, once for each sample of a batch."""
    samples = site.flow.parents.get(fields)
    source = fields.generators[0].iter
    if (
        not isinstance(samples, ast.ListComp | ast.GeneratorExp)
        or len(samples.generators) != 1
        or samples.elt is not fields
    ):
        return False
    sample = samples.generators[0].target
    return (
        isinstance(source, ast.Call)
        and isinstance(source.func, ast.Attribute)
        and source.func.attr == "items"
        and isinstance(source.func.value, ast.Name)
        and isinstance(sample, ast.Name)
        and source.func.value.id == sample.id
        and isinstance(site.call.func, ast.Attribute)
        and isinstance(site.call.func.value, ast.Name)
    )


def _rows(site: Site) -> Iterator[Finding]:
    """`for x in xs: save(x.cpu())`, where one `xs.cpu()` before the loop would do."""
    comprehension, loop = site.flow.comprehension(site.call), site.loop((ast.For,))
    assert isinstance(site.call.func, ast.Attribute)
    row = site.call.func.value
    while isinstance(row, ast.Call) and isinstance(row.func, ast.Attribute) and row.func.attr in ("detach", "data"):
        row = row.func.value
    if site.role == "test":
        return
    if isinstance(row, ast.Subscript):
        if (site.hot is not None or site.warm is not None) and not site.rare and _is_numbered(site, row):
            yield from _copied(site, row.value)
        return
    if not isinstance(row, ast.Name):
        return
    if comprehension is not None:
        target, rows = comprehension.generators[0].target, comprehension.generators[0].iter
    elif isinstance(loop, ast.For):
        target, rows = loop.target, loop.iter
    else:
        return
    if isinstance(rows, ast.Call) and site.resolve(rows.func) == "enumerate" and isinstance(target, ast.Tuple):
        if not (rows.args and target.elts):
            return
        target, rows = target.elts[-1], rows.args[0]
    if not (isinstance(target, ast.Name) and target.id == row.id and _is_row(site, target)):
        return
    yield from _copied(site, rows)


def _is_numbered(site: Site, row: ast.Subscript) -> bool:
    """`x[i]` of `for i in range(n)`, where nothing in the loop makes `x`, writes to it or moves `i`."""
    comprehension, loop = site.flow.comprehension(site.call), site.loop((ast.For,))
    if comprehension is not None or not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return False
    if next(site.flow.guards(site.call, loop), None) is not None:
        return False  # some of the rows
    counter = loop.target if site.resolve(loop.iter.func) == "range" and not _is_few(site, loop.iter) else None
    if site.resolve(loop.iter.func) == "enumerate" and isinstance(loop.target, ast.Tuple) and loop.target.elts:
        counter = loop.target.elts[0]
    name = chain(row.value)
    if not (isinstance(counter, ast.Name) and isinstance(row.slice, ast.Name) and row.slice.id == counter.id and name):
        return False
    written = [*site.flow.targets.get(".".join(name), ()), *site.flow.stored_in.get(".".join(name), ())]
    moved = [store for store in site.flow.stores.get(counter.id, ()) if store is not counter]
    return not any(contains(loop, store) for store in (*written, *moved))


def _is_few(site: Site, counted: ast.Call) -> bool:
    """`range(3)`"""
    return all(isinstance(site.value(bound).const, int) for bound in counted.args)


def _copied(site: Site, rows: ast.expr) -> Iterator[Finding]:
    value = site.value(rows)
    if reads.device_tensor(site, rows) is not None and not value.on_cpu and not value.other_kinds:
        yield site.finding(
            f"`{site.short()}` copies one row at a time; `{site.short(rows)}.cpu()` before the loop copies all at once",
            severity="info",
        )


def _is_row(site: Site, target: ast.Name) -> bool:
    """Whether nothing else was assigned to the name of the row before it is copied."""
    stores = site.flow.stores.get(target.id, ())
    return not any(target.lineno < store.lineno < site.call.lineno for store in stores)


def _to_accelerator(site: Site) -> bool:
    if site.name == ".cuda()":
        return True
    target = site.argument("device", 0)
    value = site.value(target) if target is not None else None
    return value is not None and arguments.is_device(value) and arguments.device_of(value) != "cpu"


_COLLATE = regex(rb"collate_fn[ \t]*=[ \t]*(?:\w+\.)?(\w+)")


def _loading(site: Site) -> str:
    """The part of data loading that the place is in; "" where it is in none."""
    function = site.function
    if function.name in ("__getitem__", "__getitems__", "__iter__") and function.cls is not None:
        bases = [(chain(base) or [""])[-1] for base in function.cls.bases]
        if any(base.endswith("Dataset") for base in bases):
            return f"`{function.name}`"
    if not site.source.holds(b"collate_fn"):
        return ""
    collating = site.source.fact(
        "collate_fn",
        lambda source: [name for _, names in source.in_parts("collate_fn", _COLLATE.findall) for name in names],
    )
    return f"`{function.name}`" if function.name.encode() in collating else ""


def _is_gathered(site: Site) -> bool:
    """Whether a collate function moves what it has put together, and not each of the samples."""
    return (
        not site.function.name.startswith("__") and site.flow.comprehension(site.call) is None and site.loop() is None
    )


def _over(site: Site) -> ast.comprehension | None:
    """What `[x.to(device) for x in xs]` goes over."""
    comprehension = site.flow.comprehension(site.call)
    if not isinstance(comprehension, ast.ListComp | ast.GeneratorExp) or len(comprehension.generators) != 1:
        return None
    generator = comprehension.generators[0]
    assert isinstance(site.call.func, ast.Attribute)
    root = site.call.func.value
    named = isinstance(root, ast.Name) and isinstance(generator.target, ast.Name) and root.id == generator.target.id
    return generator if named else None


def _is_unpacked(site: Site) -> bool:
    """Whether what is made is taken apart into names: `batch = tuple(t.to(device) for t in batch)` in front of `ids, mask = batch`."""
    statement = site.statement
    name = chain(statement.targets[0]) if isinstance(statement, ast.Assign) else None
    return any(
        isinstance(taken := site.flow.parents.get(load), ast.Assign)
        and taken.value is load
        and isinstance(taken.targets[0], ast.Tuple)
        and load.lineno > statement.lineno
        for load in (site.flow.loads.get(name[0], ()) if name is not None and len(name) == 1 else ())
    )


def _in_batch(site: Site) -> bool:
    """Whether an inner loop over a batch takes what is moved out of it: `for image, label in samples`, `for row in images`."""
    loop = site.loop()
    if not isinstance(loop, ast.For) or len(site.flow.loops(site.call)) < 2:
        return False
    node = root_of(site.call.func, ast.Attribute, ast.Call)
    if node is None or site.flow.comprehension(site.call) is not None:
        return False
    if not any(isinstance(part, ast.Name) and part.id == node.id for part in elements(loop.target)):
        return False
    batch = site.value(loop.iter)
    if batch.kind not in ("tensor", "batch") or not batch.from_loader:
        return False
    # The parts of a batch are not unpacked: what is, are samples.
    return batch.kind == "tensor" or isinstance(loop.target, ast.Tuple)


def _is_written(bound: ast.expr | None) -> bool:
    """Whether a bound of a slice is left out or written as a number: 4, -1."""
    node = bound.operand if isinstance(bound, ast.UnaryOp) else bound
    return node is None or isinstance(node, ast.Constant)


def _holds_tensors(site: Site, iterated: ast.expr) -> bool:
    """Whether that is a list of tensors, or the samples of a batch."""
    part = iterated.slice if isinstance(iterated, ast.Subscript) else None
    if isinstance(part, ast.Slice) and all(_is_written(bound) for bound in (part.lower, part.upper)):
        return False  # `batch[:4]`: the tensors that a batch begins with, each of all its samples
    if _is_unpacked(site):
        return False
    elements = site.value(iterated)
    if elements.from_loader and elements.kind == "tensor":
        return True
    return (
        elements.kind == "list"
        and elements.items is None
        and elements.element is not None
        and elements.element.is_tensor
    )
