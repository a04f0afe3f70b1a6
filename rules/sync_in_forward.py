from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency, guards, host_needs, kernel_counts, logging_calls, runs
from torchlint.facts import host_reads as reads
from torchlint.facts.values import LIKELY
from torchlint.rule import Finding, Site, rule

_TESTS = "any all sum max min mean norm isnan isinf isfinite equal allclose"
_CASTS = frozenset(("int", "float", "bool"))
_TESTING = (ast.If, ast.While, ast.Assert, ast.IfExp)


@rule(
    "TL106",
    shape=[
        "$x.item(...)",
        *(f"$x.{name}(...)" for name in _TESTS.split()),
        *(f"torch.{name}(...)" for name in _TESTS.split()),
        *(f"{name}(...)" for name in (*sorted(_CASTS), *reads.READERS)),
        *(f"math.{name}(...)" for name in reads.MATH),
        "if $_: ...",
        "while $_: ...",
        "assert $_",
        "$_ if $_ else $_",
    ],
    severity="info",
    impact="medium",
    category="sync",
    principle=("async",),
    confirmed_by=("sync", "d2h"),
)
def sync_in_forward(site: Site) -> Iterator[Finding]:
    """The forward pass of a module reads a device tensor on the host.

    ## What it does

    Finds `.item()`, `int(...)` and `math.floor(...)` of a tensor, and branches on tensors (`if mask.all():`, `if count > 0:`), in the `forward` of an `nn.Module`, in an attention processor of diffusers, in functions of a query, a key and a value, and in
    functions that one of them calls; not in a function that keeps its results (`@lru_cache`), unless it is given
    tensors, which are new in each batch. Where a step loop of the project or a compiled region is known to run the
    place, the rules for those report it (TL101 to TL105, TL2xx), and this one is silent. Copies (`.cpu()`, `.tolist()`)
    are TL103's.

    ## Why is this slow?

    It happens on every call: the host waits for the device, in each layer that does it. Compiled, it breaks the
    graph; and a CUDA graph can't be captured across it.

    ## When it does not matter

    Where the module runs on the CPU only, or where a library needs lengths on the host (`pack_padded_sequence`; not
    reported). Reads behind an `isinstance` test, behind a flag for debugging or on the way to an exception are not
    reported, nor is what an evaluation alone prints (`if not self.training: print(score.item())`).

    ## Bad

    ```python
    class Attention(torch.nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            if mask.to(device).all():  # TL106
                return x
            return x[:, : mask.to(device).sum(1).max().item()]  # TL106
    ```

    ## Good

    ```python
    class Attention(torch.nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor, longest: int) -> torch.Tensor:
            return torch.where(mask[:, :, None], x, 0)[:, :longest]  # ok
    ```

    Hand sizes in as Python integers from where the data is made, and select with `torch.where` or a mask.

    ## References

    - <https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs>
    - <https://docs.pytorch.org/docs/stable/generated/torch.where.html>
    """
    if not site.may_have_accelerator or site.in_compiled or site.hot is not None or site.role in ("test", "benchmark"):
        return
    found = _found(site)
    if found is None or not site.accelerator:
        return
    if site.rare or frequency.behind_type_test(site) or not frequency.in_forward(site):
        return
    if site.warm is not None or site.warm_caller is not None or _told_by_ranks(site, found) or _is_printed(site, found):
        return
    message = f"`{site.short(found)}` makes the host wait for the device {frequency.of_calls(site)}"
    yield site.finding(message, at=found)


def _is_printed(site: Site, found: ast.expr) -> bool:
    """Whether an evaluation alone prints what is read, once: `if not self.training: print(score.item())`."""
    if not any(guards.evaluates(guard.test, guard.true) for guard in site.flow.guards(site.target)):
        return False
    once = all(runs.of_one(site.function, loop) for loop in site.flow.loops(found))
    return once and logging_calls.is_logged(site, found)


def _told_by_ranks(site: Site, found: ast.expr) -> bool:
    """Whether what is read was gathered from all ranks: sizes that the host has to know, `[s.item() for s in sizes]`."""
    comprehension = site.flow.comprehension(found)
    loops = [made.iter for made in getattr(comprehension, "generators", ())]
    named = {part.id for node in (found, *loops) for part in ast.walk(node) if isinstance(part, ast.Name)}
    return any(
        isinstance(call.args[0], ast.Name) and call.args[0].id in named
        for call in site.flow.calls_named("all_gather")
        if call.args and site.resolve(call.func) == "torch.distributed.all_gather"
    )


def _found(site: Site) -> ast.expr | None:
    """What is read at the place."""
    if isinstance(site.target, ast.Call):
        return _read(site) or _tested(site) or _cast(site)
    return _tested(site) if isinstance(site.target, _TESTING) else None


def _read(site: Site) -> ast.expr | None:
    """The call itself, where it is the first read of its line."""
    told = _reads(site, site.call) and site.call in reads.told_reads(site, site.statement)
    needed = told and (host_needs.host_needs(site, site.call) or kernel_counts.is_count_for_memory(site, site.call))
    return site.call if told and not needed else None


def _cast(site: Site) -> ast.expr | None:
    """The `int(...)` or `bool(...)` that reads what the call gives, where it is the first read of its statement."""
    around = [a for a in site.flow.expressions(site.target) if isinstance(a, ast.Call)]
    cast = next((a for a in around if isinstance(a.func, ast.Name) and a.func.id in _CASTS), None)
    if cast is None or reads.scalar_read(site, cast) is None:
        return None
    inner = next(part for part in ast.walk(cast) if isinstance(part, ast.Call) and part is not cast)
    first = next((n for n in reads.own_nodes(site.statement) if _reads(site, n)), None)
    return cast if first is cast and inner is site.target else None


def _reads(site: Site, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and reads.scalar_read(site, node) is not None


def _tested(site: Site) -> ast.expr | None:
    """The condition that the call is in, where that is the first of its statement and nothing is read beside it."""
    node, first = site.once(("condition read", site.statement), lambda: _first_tested(site))
    if first is None or site.target is node:
        return first
    return first if any(part is site.target for part in ast.walk(first) if isinstance(part, ast.Call)) else None


def _first_tested(site: Site) -> tuple[ast.AST | None, ast.expr | None]:
    """What tests the first condition of the statement that reads, where nothing is read before it, and that condition."""
    nodes = [site.statement, *reads.own_nodes(site.statement)]
    if not any(isinstance(node, _TESTING) for node in nodes):
        return None, None
    for node in nodes:
        if isinstance(node, ast.Call) and (reads.scalar_read(site, node) or reads.host_copy(site, node, LIKELY)):
            return None, None
        if isinstance(node, _TESTING):
            first = next(reads.tested(site, node.test), None)
            if first is not None:
                return node, first
    return None, None
