from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule


@rule(
    "TL507",
    shape=["($cloned := $x.clone(...)).detach()", "($cloned := $x.clone(...)).data"],
    set="preview",
    severity="info",
    fix="safe",
    impact="low",
    category="memory",
)
def clone_before_detach(site: Site) -> Iterator[Finding]:
    """A tensor is cloned with its graph, only to be detached.

    ## What it does

    Finds `x.clone().detach()` and `x.clone().data`.

    ## Why is this slow?

    `clone()` of a tensor that requires a gradient records a node, which the next call throws away. In the other order
    nothing is recorded.

    ## When it does not matter

    It is a few microseconds of the host a call. Where autograd is off, and for `p.data` and buffers,
    nothing is recorded; set-up code (`__init__`) runs once. None of these is reported.
    Whether a tensor has a graph can often not be told from the source, so the rule is a preview: three of its 13 findings
    in public repositories were on tensors without one.

    ## Bad

    ```python
    def snapshot(x: torch.Tensor):
        return x.clone().detach()  # TL507
    ```

    ## Good

    ```python
    def snapshot(x: torch.Tensor):
        return x.detach().clone()  # ok
    ```

    ## Fix safety

    Swaps the calls: the same values, dtype, device and strides, and no memory shared with `x`, in both orders. It is
    unsafe where something else than a tensor may come on another way: what callers give without an annotation, or what
    an attribute holds. Nothing is
    offered where only its use suggests that the object is a tensor: a class of another library may have both methods.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.clone.html
    """
    if isinstance(site.target, ast.Attribute) and not isinstance(site.target.ctx, ast.Load):
        return
    owner, cloned = site.part("x"), site.part("cloned")
    assert isinstance(cloned, ast.Call)
    value = site.value(owner)
    if cloned.args or not value.may_be_tensor or value.boolean or value.integer or _has_no_graph(owner):
        return
    if _is_buffer(site, owner):
        return
    if site.function.name == "__init__" or site.role == "test":
        return
    if not site.grad_off:
        yield site.finding(f"`{site.short()}` copies for autograd what is detached at once: detach first")


def _has_no_graph(node: ast.expr) -> bool:
    """`p.data.clone()`, `p.grad.clone()`: there is nothing to record."""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Attribute) and node.attr in ("data", "grad", "detach")


def _is_buffer(site: Site, node: ast.expr) -> bool:
    """`self.pe[:n]` of `register_buffer("pe", ...)`: no gradient is asked of it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Attribute):
        return False
    return (
        re.search(rb"register_buffer\(\s*f?[\"']%s[\"']" % re.escape(node.attr.encode()), site.source.data) is not None
    )
