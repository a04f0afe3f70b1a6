from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule


@rule(
    "TL707",
    shape="for $row in $rows: ...",
    scope="hot",
    set="preview",
    severity="info",
    impact="high",
    category="kernel",
    principle=("vectorisation",),
    silenced_by=("TL305",),
)
def python_loop_over_tensor(site: Site) -> Iterator[Finding]:
    """Python goes through the rows of a tensor and computes with each.

    ## What it does

    Finds in the step loop and in what it calls `for row in x` over a tensor, and `for i in range(len(x))` with `x[i]` in its
    body, where the body does arithmetic on the row.

    ## Why is this slow?

    Each turn launches its own kernels on a small piece, one after the other, while the device could do all rows at once.

    ## When it does not matter

    For a few rows; for recurrences, whose step needs the one before, which are not reported; and on the host.

    ## Bad

    ```python
    def loss(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        total = 0
        for row in x:  # TL707
            total = total + (row * weights).sum()
        return total

    for batch in loader:
        loss(batch, weights).backward()
        optimizer.step()
    ```

    ## Good

    ```python
    def loss(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return (x * weights).sum()  # ok

    for batch in loader:
        loss(batch, weights).backward()
        optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.vmap.html
    - https://docs.pytorch.org/docs/stable/notes/broadcasting.html
    """
    assert isinstance(site.target, ast.For)
    loop = site.target
    if site.hot is None or site.region is not None or not site.accelerator or not isinstance(loop.target, ast.Name):
        return
    tensor = _iterated(site, loop)
    if tensor is not None and _computes(site, loop, tensor):
        yield site.finding(
            f"`for {loop.target.id} in {site.short(loop.iter)}` launches kernels for each row by itself on every step",
            related=site.why_hot(),
        )


def _iterated(site: Site, loop: ast.For) -> ast.expr | None:
    """The tensor whose rows the loop goes through, by itself or by index."""
    if _is_device_tensor(site, loop.iter):
        return loop.iter
    call = loop.iter
    if not isinstance(call, ast.Call) or site.resolve(call.func) != "range" or len(call.args) != 1:
        return None
    bound = call.args[0]
    if isinstance(bound, ast.Call) and site.resolve(bound.func) == "len" and len(bound.args) == 1:
        tensor = bound.args[0]
    elif isinstance(bound, ast.Subscript) and isinstance(bound.value, ast.Attribute) and bound.value.attr == "shape":
        tensor = bound.value.value
    elif isinstance(bound, ast.Call) and isinstance(bound.func, ast.Attribute) and bound.func.attr == "size":
        tensor = bound.func.value
    else:
        return None
    return tensor if _is_device_tensor(site, tensor) else None


def _is_device_tensor(site: Site, node: ast.expr) -> bool:
    value = site.value(node)
    return value.is_tensor and not value.on_cpu and not value.parameter


def _computes(site: Site, loop: ast.For, tensor: ast.expr) -> bool:
    """Whether the body does arithmetic on a row, and no turn needs the result of the one before but for a sum."""
    assert isinstance(loop.target, ast.Name)
    by_index = tensor is not loop.iter
    found = False
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Break | ast.Return | ast.If | ast.While | ast.For):
                return False
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else _written(node)
            found = found or any(_is_row(loop, tensor, side, by_index) for side in sides)
    return found


def _written(node: ast.AST) -> list[ast.expr]:
    """The row of `x[i].add_(...)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        return [node.func.value]
    return []


def _is_row(loop: ast.For, tensor: ast.expr, node: ast.expr, by_index: bool) -> bool:
    assert isinstance(loop.target, ast.Name)
    if not by_index:
        return isinstance(node, ast.Name) and node.id == loop.target.id
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Name) or node.slice.id != loop.target.id:
        return False
    return ast.unparse(node.value) == ast.unparse(tensor)
