from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import names, syntax
from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Site, rule

_COLLECTIVES = tuple(
    """all_reduce all_gather all_gather_into_tensor all_gather_single all_to_all all_to_all_single broadcast gather
    reduce reduce_scatter reduce_scatter_single reduce_scatter_tensor scatter""".split()
)
_POINT_TO_POINT = ("isend", "irecv", "batch_isend_irecv")
_KEPT = (("$work = ", ""), ("", ";"))
"""What becomes of the handle: it gets a name, or is thrown away."""


@rule(
    "TL808",
    shape=[
        *(f"{to}torch.distributed.{name}(..., async_op=True){end}" for name in _COLLECTIVES for to, end in _KEPT),
        *(f"{to}torch.distributed.{name}(...){end}" for name in _POINT_TO_POINT for to, end in _KEPT),
    ],
    severity="error",
    impact="high",
    category="distributed",
    principle=("async",),
)
def async_collective_not_waited(site: Site) -> Iterator[Finding]:
    """An asynchronous collective that nobody waits for.

    ## What it does

    Finds `all_reduce(..., async_op=True)` and its like, `isend`, `irecv` and `batch_isend_irecv` whose handle is thrown away or
    bound to a name that is never read.

    ## Why is this slow?

    It is wrong: until `wait()` returns the tensor may hold old, new or half-written values, and the next kernel reads them.

    ## When it does not matter

    It always does; even a message that is only sent must not be overwritten before it has left.

    ## Bad

    ```python
    torch.distributed.all_reduce(gradient, async_op=True)  # TL808
    optimizer.step()
    ```

    ## Good

    ```python
    work = torch.distributed.all_reduce(gradient, async_op=True)  # ok
    prepare_next_batch()
    work.wait()
    optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/distributed.html#synchronous-and-asynchronous-collective-operations
    """
    if _is_ordered(site):
        return
    if "work" not in site.match:
        yield site.finding(f"`{site.short()}` is never waited for, so its tensor may be read before it is there")
    elif isinstance(name := site.part("work"), ast.Name) and not _is_read(site, name.id):
        yield site.finding(
            f"`{name.id}` is never waited for, so the tensor of `{site.short()}` may be read before it is there"
        )


def _is_ordered(site: Site) -> bool:
    """Whether a later operation of the same group is waited for: a group ends its operations in the order in which they begin."""
    own = next((_group(node) for node in ast.walk(site.statement) if isinstance(node, ast.Call)), None)
    end = site.statement.end_lineno or site.statement.lineno
    return own is not None and any(
        call.lineno > end and syntax.same(_group(call), own) and _is_waited_for(site, call) for call in site.flow.calls
    )


def _group(call: ast.Call) -> ast.expr | None:
    """The group that a call is given which does not wait itself."""
    given = {one.arg: one.value for one in call.keywords}
    begun = given.get("async_op")
    return given.get("group") if is_constant(begun, True) else None


def _is_waited_for(site: Site, call: ast.Call) -> bool:
    handle = syntax.target(site.flow, call)
    waits = [names.chain(waited.func) for waited in site.flow.calls_named("wait")]
    return isinstance(handle, ast.Name) and [handle.id, "wait"] in waits


def _is_read(site: Site, name: str) -> bool:
    """Whether the function, or one in it, reads the name; one of the module may be read anywhere."""
    if site.function is site.module.body or name in site.flow.globals:
        return any(name in function.flow.loads for function in site.module.functions) or name in site.flow.globals
    return name in site.flow.loads or any(name in function.flow.loads for function in site.function.nested.values())
