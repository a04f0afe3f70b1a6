from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import calls
from torchlint.rule import Finding, Site, chain, rule


@rule(
    "TL406",
    on={".to()", ".cuda()"},
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
    accelerator, and comprehensions over tensors in a step loop that move one element each (info).

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
    if site.receiver.kind not in ("tensor", "unknown", "batch") or site.receiver.device == "accelerator":
        return
    if not _to_accelerator(site) or site.role == "test":
        return
    where = _loading(site)
    if where and site.receiver.kind == "tensor":
        yield site.finding(f"`{site.short()}` copies one sample at a time: {where} runs in the loader")
    elif site.hot and _each(site) and site.argument("non_blocking", 2) is None:
        message = f"`{site.short()}` copies one element at a time on every step"
        yield site.finding(message, severity="info", related=site.why_hot())


def _to_accelerator(site: Site) -> bool:
    if site.name == ".cuda()":
        return True
    target = site.argument("device", 0)
    value = site.value(target) if target is not None else None
    return value is not None and calls.is_device(value) and calls.device_of(value) != "cpu"


def _loading(site: Site) -> str:
    """The part of data loading that the place is in; "" where it is in none."""
    function = site.function
    if function.name in ("__getitem__", "__getitems__", "__iter__") and function.cls is not None:
        bases = [(chain(base) or [""])[-1] for base in function.cls.node.bases]
        if any(base.endswith("Dataset") for base in bases):
            return f"`{function.name}`"
    if re.search(rf"collate_fn\s*=\s*(?:self\.|\w+\.)?{re.escape(function.name)}\b", site.source.text):
        return f"`{function.name}`"
    return ""


def _each(site: Site) -> bool:
    """`[x.to(device) for x in xs]` over a list of tensors."""
    comprehension = site.flow.comprehension(site.call)
    if not isinstance(comprehension, ast.ListComp | ast.GeneratorExp) or len(comprehension.generators) != 1:
        return False
    generator = comprehension.generators[0]
    assert isinstance(site.call.func, ast.Attribute)
    root = site.call.func.value
    if not (isinstance(root, ast.Name) and isinstance(generator.target, ast.Name) and root.id == generator.target.id):
        return False
    elements = site.value(generator.iter)
    return elements.kind == "list" and elements.items is None and elements.elem is not None and elements.elem.is_tensor
