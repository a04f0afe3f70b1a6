from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import arguments
from torchlint.rule import Finding, Site, rule

_READS = frozenset(("numpy", "item", "tolist"))
_READERS = frozenset(
    ("print", "float", "int", "bool", "str", "repr", "len", "sum", "max", "min", "sorted", "list", "any", "all")
)
_WAITS = frozenset(("synchronize", "wait", "query", "wait_stream", "wait_event", "current_stream", "elapsed_time"))


@rule(
    "TL403",
    shape=["$x.to(..., non_blocking=True)", "$x.copy_(..., non_blocking=True)"],
    severity="error",
    fix="suggestion",
    impact="high",
    category="data",
    principle=("pipeline", "async"),
)
def unsafe_async_d2h(site: Site) -> Iterator[Finding]:
    """The host reads what an asynchronous copy from the device has not written yet.

    ## What it does

    Finds `x.to("cpu", non_blocking=True)` and `host.copy_(x, non_blocking=True)` whose result the same function reads
    on the host (`.numpy()`, `.item()`, `.tolist()`, `print`, a function of NumPy, an f-string) without a
    synchronization in between.

    ## Why is this slow?

    It is wrong before it is slow: from the device to the host `non_blocking=True` returns before the data is there. The
    host reads whatever the memory held before, and only now and then.

    ## When it does not matter

    Copies that are read after `torch.cuda.synchronize()`, an event or a stream has been waited for, or that are never
    read on the host, such as parameters moved away to make room.

    ## Bad

    ```python
    def scores(x: torch.Tensor):
        kept = x.cuda().sum(0).to('cpu', non_blocking=True)  # TL403
        return kept.numpy()
    ```

    ## Good

    ```python
    def scores(x: torch.Tensor):
        kept = x.cuda().sum(0).to('cpu', non_blocking=True)  # ok
        torch.cuda.synchronize()
        return kept.numpy()
    ```

    ## References

    - https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    """
    if site.receiver.kind != "tensor":
        return
    if site.name == ".to()":
        target = site.argument("device", 0)
        if target is None or arguments.device_of(site.value(target)) != "cpu" or site.receiver.on_cpu:
            return
        read = _first_read(site, site.call)
    else:
        source = site.argument("src", 0)
        if source is None or not site.receiver.on_cpu or site.value(source).device != "accelerator":
            return
        owner = site.part("x")
        read = _read_of(site, owner.id) if isinstance(owner, ast.Name) else None
    if read is not None:
        why = site.related(site.function, read, "read here")
        yield site.finding(f"the host reads the result of `{site.short()}` before the copy is done", related=(why,))


def _first_read(site: Site, call: ast.Call) -> ast.AST | None:
    """Where the host reads the result of the copy without having waited."""
    parent = site.flow.parents.get(call)
    if _is_read(site, call):
        return parent
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return _read_of(site, parent.targets[0].id)
    return None


def _read_of(site: Site, name: str) -> ast.AST | None:
    """The first read of the name after the copy, where nothing before it waits for the device."""
    start = site.call.end_lineno or site.call.lineno
    for load in site.flow.loads.get(name, ()):
        if load.lineno <= start or not _is_read(site, load):
            continue
        if any(
            start <= call.lineno <= load.lineno and _waits(call) for call in site.flow.calls if call is not site.call
        ):
            return None
        if any(start < store.lineno < load.lineno for store in site.flow.stores.get(name, ())):
            return None
        return load
    return None


def _waits(call: ast.Call) -> bool:
    """A call that waits for the device, or that belongs to code that does."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return isinstance(func, ast.Name) and "sync" in func.id.lower()
    return func.attr in _WAITS or "sync" in func.attr.lower() or func.attr in _READS - {"numpy"}


def _is_read(site: Site, node: ast.expr) -> bool:
    parent = site.flow.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _READS
    if isinstance(parent, ast.FormattedValue):
        return True
    if isinstance(parent, ast.Call) and node is not parent.func:
        name = site.resolve(parent.func) or ""
        return name in _READERS or name.startswith("numpy.")
    return False
