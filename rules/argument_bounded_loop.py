from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.flow import contains
from torchlint.rule import Finding, Site, rule


@rule(
    "TL305",
    shape="for $_ in $iterable: ...",
    scope="compiled",
    set="preview",
    severity="info",
    impact="medium",
    category="compile",
)
def argument_bounded_loop(site: Site) -> Iterator[Finding]:
    """A loop in compiled code runs as often as an argument or the size of a tensor says.

    ## What it does
    Finds `for i in range(n)` with `n` an argument of the compiled function, `for t in range(x.shape[1])`, and `for row in x`, with operations on tensors in the body, where `torch.compile` traces the code.

    ## Why is this slow?
    Dynamo unrolls the loop: the graph, and the time to compile it, grow with the number of iterations, and so does the number of kernels.
    Another number is another graph: the region is compiled again for each, eight times, and runs eagerly from then on.

    ## When it does not matter
    A loop over layers, a literal range, and a size that never changes and is small.

    ## Bad
    ```python
    @torch.compile
    def scan(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1]):  # TL305
            total = total + x[:, t]
        return total
    ```

    ## Good
    ```python
    @torch.compile
    def scan(x: torch.Tensor) -> torch.Tensor:
        return x.sum(1)
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html
    - https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html
    """
    loop = site.target
    if site.region is None or site.rare or not isinstance(loop, ast.For):
        return
    bound = _bound(site, site.part("iterable"))
    if bound is not None and _works_on_tensors(site, loop):
        yield site.finding(
            f"The loop is unrolled, and {bound} decides how often: another number of iterations is another compilation.",
            related=site.why_compiled(),
        )


def _bound(site: Site, iterable: ast.expr) -> str | None:
    """What decides how often the loop runs, if that is an argument or the size of a tensor."""
    if isinstance(iterable, ast.Call) and site.resolve(iterable.func) == "enumerate" and iterable.args:
        iterable = iterable.args[0]
    value = site.value(iterable)
    if value.kind == "tensor" and value.proven and not value.other_kinds:
        return f"the number of rows of `{site.short(iterable)}`"
    if not (isinstance(iterable, ast.Call) and site.resolve(iterable.func) == "range" and iterable.args):
        return None
    end = iterable.args[0] if len(iterable.args) == 1 else iterable.args[1]
    if _is_size(site, end):
        return f"`{site.short(end)}`"
    assert site.region is not None
    argument = isinstance(end, ast.Name) and site.is_root and _is_argument(site, end)
    return f"`{site.short(end)}`" if argument else None


def _is_size(site: Site, node: ast.expr) -> bool:
    """`x.shape[1]`, `x.size(1)`, `len(x)` of a tensor, or a name that holds one."""
    if isinstance(node, ast.Name):
        stores = site.flow.stores.get(node.id, ())
        parent = site.flow.parents.get(stores[0]) if len(stores) == 1 else None
        if isinstance(parent, ast.Tuple) and isinstance(whole := site.flow.parents.get(parent), ast.Assign):
            return site.value(whole.value).kind == "size"
        return isinstance(parent, ast.Assign) and _is_size(site, parent.value)
    if isinstance(node, ast.Subscript):
        return site.value(node.value).kind == "size"
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "size" and node.args:
            return site.value(node.func.value).kind == "tensor"
        return site.resolve(node.func) == "len" and bool(node.args) and site.value(node.args[0]).is_tensor
    return False


def _is_argument(site: Site, name: ast.Name) -> bool:
    """Whether the name is a parameter that is a number, for all that is known, and set nowhere else."""
    parameter = any(p.arg == name.id for p in site.function.parameters)
    value = site.value(name)
    return parameter and name.id not in site.flow.stores and value.kind in ("number", "unknown") and value.const is None


def _works_on_tensors(site: Site, loop: ast.For) -> bool:
    return any(
        isinstance(node, ast.Call | ast.BinOp) and contains(loop, node) and site.value(node).is_tensor
        for statement in loop.body
        for node in ast.walk(statement)
    )
