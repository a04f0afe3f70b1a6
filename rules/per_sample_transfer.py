from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from torchlint.facts import arguments, first_time, frequency, host_needs, names, samples, syntax
from torchlint.facts import host_reads as reads
from torchlint.facts.module import Class, Function
from torchlint.facts.nodes import indices
from torchlint.facts.values import LIKELY, PROVEN
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_COLLATE = regex(rb"collate_fn[ \t]*=[ \t]*(?:\w+\.)?(\w+)")

_GIVES = frozenset(("__getitem__", "__getitems__", "__iter__"))
"""The methods by which a dataset gives samples."""
_DEPTH = 2
"""Through how many calls of its own methods such a method is followed."""


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

    Finds tensors that `__getitem__` or `__iter__` of a dataset, a method that one of them calls, or a function or object given as `collate_fn`, moves to an
    accelerator, and comprehensions over tensors in a training or evaluation loop that move one element each (info); over
    samples, `[sample["image"].to(device) for sample in batch]`, also in a `forward` and in what it calls; arrays and samples of a dataset that a loop within
    a step or a `forward` sends to gather them, `waves.append(torch.from_numpy(wave).to(device))`, and does nothing else with; tensors that it calculates on the host, where they are joined behind it
    (`marks.append(mark.to(device))`, `torch.stack(marks)`); or a comprehension to join them,
    `torch.stack([torch.tensor(x).to(device) for x in xs])`, also in `__call__`; texts that a loop
    tokenises, moves and runs a model on one by one (`for text in texts: model(tokenizer(text, return_tensors="pt").input_ids.to(device))`, info); and loops over the
    samples of a batch inside that over the loader, or in what that calls (`for image, label in samples: image.to(device)`, info).
    The other way round: loops over a tensor of the device that copy each row to the host with `.cpu()`, comprehensions that take parts of one (`[x[a:b].cpu() for a, b in spans]`), parts of one that was split (`parts[i].cpu()` behind `parts = torch.split(x, sizes)`), and what a dataset so copies of what it
    calculates there for each sample (info).

    ## Why is this slow?

    Each copy has a fixed cost, and a sample is too small to be worth it; the host waits for each. In the worker
    processes of a loader it fails outright, because CUDA can't be used after a fork.

    ## When it does not matter

    A dataset that lives on the device is built there once, in `__init__`: that is not reported. Nor is one whose device is the host where nobody names
    another (`self.device = device or torch.device("cpu")`). Nor is what a dataset sends to
    encode it where no file has the result yet, and then writes that file. Neither are the few
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
    moved = site.call.func.value
    if site.role == "test":
        return
    if site.name == ".cpu()":
        told = [*_rows(site, moved)]
        yield from told or _back(site, moved)
        return
    where = _loading(site)
    if not where and samples.is_joined_one_by_one(site, moved):
        yield from _samples(site, called=site.function.name == "__call__")
        return
    if not where and (
        samples.is_field_of_each(site, moved)
        or samples.is_sent_one_by_one(site, moved)
        or samples.is_encoded_alone(site, moved)
        or samples.is_gathered_one_by_one(site, moved)
    ):
        yield from _samples(site)
        return
    rows = samples.each_of(site, moved)
    each = (
        site.argument("non_blocking", 2) is None
        and (site.hot is not None or site.warm is not None)
        and (samples.holds_tensors(site, rows) if rows is not None else samples.is_part_of_sample(site, moved))
    )
    if not (where or each) or not _leaves_host(site):
        return
    if where and _is_kept_in_file(site):
        return
    if where and (site.receiver.kind == "tensor" or (where not in _GIVES and samples.is_of_given_samples(site, moved))):
        what = "for each batch, and waits for it" if _is_gathered(site, where) else "one sample at a time"
        yield site.finding(f"`{site.short()}` copies {what}: `{where}` runs in the loader")
    elif each:
        often = "step" if site.hot is not None else "iteration"
        message = f"`{site.short()}` copies one element at a time on every {often}"
        yield site.finding(message, severity="info", related=site.why_hot())


def _samples(site: Site, *, called: bool = False) -> Iterator[Finding]:
    """A field of each sample of a batch, moved by itself in a forward or a step, or where an object is `called` that is made for that."""
    if not site.accelerator or site.argument("non_blocking", 2) is not None or not _leaves_host(site) or site.rare:
        return
    if site.hot is not None or site.warm is not None:
        often = ", on every step" if site.hot is not None else ", on every iteration"
    elif frequency.in_forward(site):
        often = ", in each forward pass"
    elif called:
        often = ", on each call"
    else:
        return
    message = f"`{site.short()}` copies one sample at a time, and waits for it{often}"
    yield site.finding(message, severity="info", related=site.why_hot())


def _rows(site: Site, copied: ast.expr) -> Iterator[Finding]:
    """`for x in xs: save(x.cpu())`, where one `xs.cpu()` before the loop would do."""
    row = _with_history(copied)
    if isinstance(row, ast.Subscript) and (site.rare or not _is_looped(site)):
        return
    rows = samples.rows_of(site, row)
    if rows is None:
        return
    if isinstance(rows, ast.Attribute) and rows.attr == "data":
        rows = rows.value
    value = site.value(rows)
    whole = samples.split_whole(site, rows) if value.kind in ("tuple", "list") else None
    if whole is not None:
        if reads.is_on_device(site, whole):
            message = f"`{site.short()}` copies one part at a time; `{site.short(whole)}.cpu()` before it is split copies all at once"
            yield site.finding(message, severity="info")
        return
    # What a model gives and has a shape is a tensor, and so is what was sent to the device by itself, what is called so in an output, or of which a slice is copied.
    sliced = isinstance(row, ast.Subscript) and isinstance(indices(row.slice)[0], ast.Slice)
    by_name = samples.is_sent(site, rows) or samples.is_of_output(site, rows)
    known = sliced or by_name or samples.is_counted_by_shape(site, rows)
    if reads.device_tensor(site, rows, LIKELY if known else PROVEN) is None:
        return
    if not value.on_cpu and (sliced or not value.other_kinds):
        yield site.finding(
            f"`{site.short()}` copies one row at a time; `{site.short(rows)}.cpu()` before the loop copies all at once",
            severity="info",
        )


def _with_history(copied: ast.expr) -> ast.expr:
    """`x` of `x.detach()` and `x.data`."""
    while True:
        if isinstance(copied, ast.Call) and isinstance(copied.func, ast.Attribute) and copied.func.attr == "detach":
            copied = copied.func.value
        elif isinstance(copied, ast.Attribute) and copied.attr == "data":
            copied = copied.value
        else:
            return copied


def _back(site: Site, copied: ast.expr) -> Iterator[Finding]:
    """`image.cpu()` in `__getitem__`, of what was calculated on the device for one sample."""
    function = site.function
    if not _giving(site, function) or site.rare or _is_kept_in_file(site):
        return
    where = _loading(site)
    if where and reads.is_on_device(site, copied) and not host_needs.host_needs(site, site.call):
        message = (
            f"`{site.short()}` copies one sample at a time to the host, and waits for it: `{where}` runs in the loader"
        )
        yield site.finding(message, severity="info")


def _is_looped(site: Site) -> bool:
    """Whether the place runs on each iteration of a loop, in its function or in one that calls it."""
    return site.hot is not None or site.warm is not None or frequency.severity(site) is not None


def _leaves_host(site: Site) -> bool:
    """Whether the place moves what may be a tensor of the host to an accelerator."""
    if site.receiver.kind not in ("tensor", "unknown", "batch") or site.receiver.device == "accelerator":
        return False
    if site.name == ".cuda()":
        return True
    target = site.argument("device", 0)
    value = site.value(target) if target is not None else None
    if value is None or not arguments.is_device(value) or arguments.device_of(value) == "cpu":
        return False
    return not (value.kind == "device" and value.by_default_host)


def _loading(site: Site) -> str:
    """The function of data loading that the place is in, or runs for; "" where it is in none."""
    function = site.function
    gives = _giving(site, function)
    if gives and function.cls is not None and _is_dataset(site, function.cls):
        return gives
    if not site.source.holds(b"collate_fn"):
        return ""
    collating = site.source.fact(
        "collate_fn",
        lambda source: [name for _, names in source.in_parts("collate_fn", _COLLATE.findall) for name in names],
    )
    if function.name == "__call__" and function.cls is not None:
        return function.name if _collates(site, function.cls, collating) else ""
    around = (one.name for one in function.scopes if one.name.encode() in collating)
    return next(around, "")


def _giving(site: Site, method: Function) -> str:
    """The method by which objects of a class give samples that a method of theirs is, or that calls it for each: `return self.render(index)`."""
    klass = method.cls
    if klass is None:
        return ""
    return site.once(("gives samples", klass), lambda: _all_giving(site, klass)).get(method.name, "")


def _all_giving(site: Site, klass: Class) -> dict[str, str]:
    """The methods that give samples of a class, and those that they call, each with the one that begins."""
    found = {name: name for name in klass.methods if name in _GIVES}
    edge = list(found)
    for _ in range(_DEPTH):
        further: list[str] = []
        for name in edge:
            method = klass.methods[name]
            for call in method.flow.calls:
                called = names.last(call.func)
                if called in klass.methods and called not in found and _runs_for_each(site, method, call):
                    found[called] = found[name]
                    further.append(called)
        edge = further
    return found


def _runs_for_each(site: Site, method: Function, call: ast.Call) -> bool:
    """Whether a method calls another one of its object, whatever that kept of the time before."""
    if syntax.own_attribute(method, call.func) != names.last(call.func):
        return False
    place = site.at(method, call)
    return not place.rare and not _is_kept_in_file(place)


def _collates(site: Site, klass: Class, collating: Collection[bytes]) -> bool:
    """Whether a loader of the file is given an object of a class: `collate_fn=Pad(0)`, `collate_fn=pad` behind `pad = Pad(0)`."""
    if klass.name.encode() in collating:
        return True
    return any(
        name.encode() in collating
        for function in site.module.functions_at(site.module.lines_calling(klass.name))
        for name in _made(function, klass)
    )


def _made(function: Function, klass: Class) -> Iterator[str]:
    """The names that a function gives the objects of a class that it makes."""
    for call in function.flow.calls_named(klass.name):
        target = syntax.target(function.flow, call)
        if isinstance(target, ast.Name):
            yield target.id


def _is_dataset(site: Site, klass: Class) -> bool:
    """Whether a class, or one of those of the project that it inherits from, has a base that is called a dataset."""
    return any(word.endswith("Dataset") for word in site.project.base_words(klass))


def _is_kept_in_file(site: Site) -> bool:
    """Whether the place makes what a file then has: a dataset does that once for each sample, and reads the file in each other epoch."""
    return any(first_time.writes_missing_file(guard, site.flow) for guard in site.flow.guards(site.target))


def _is_gathered(site: Site, where: str) -> bool:
    """Whether a collate function moves what it has put together, and not each of the samples."""
    return where not in _GIVES and site.flow.comprehension(site.call) is None and site.loop() is None
