from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import syntax
from torchlint.rule import Finding, Site, rule

_SDPA = "torch.nn.functional.scaled_dot_product_attention"


@rule(
    "TL703",
    shape=[
        f"{_SDPA}(...)",
        "torch.nn.attention.sdpa_kernel(backends := torch.nn.attention.SDPBackend.MATH, ...)",
        *(f"torch.backends.cuda.enable_{name}_sdp(enabled := False)" for name in ("flash", "mem_efficient", "cudnn")),
    ],
    set="preview",
    severity="info",
    torch=">=2.0",
    category="kernel",
    principle=("fusion",),
)
def sdpa_slow_path(site: Site) -> Iterator[Finding]:
    """`scaled_dot_product_attention` is kept off its fast kernels.

    ## What it does

    Finds a causal mask that is built by `torch.tril` or `torch.triu` and passed as `attn_mask`, a `dropout_p` that does not ask
    whether the module trains, `sdpa_kernel(SDPBackend.MATH)`, and backends that are switched off by a literal.

    ## Why is this slow?

    Flash attention takes no mask, only `is_causal=True`, with which it also skips half of the work; a mask of T by T is read for
    each head.
    The math backend writes the matrix of scores.

    ## When it does not matter

    For masks that are more than causal, for second derivatives, which only the math backend has, and in comparisons of numbers. The math
    backend in functions and files for an export is not reported.

    ## Bad

    ```python
    import torch.nn.functional as F

    mask = torch.tril(torch.ones(n, n, dtype=torch.bool, device=device))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # TL703
    ```

    ## Good

    ```python
    import torch.nn.functional as F

    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html
    """
    if site.role == "test":
        return
    if site.name == f"{_SDPA}()":
        yield from _attention(site)
    elif "enabled" in site.pattern:
        if not any(True for _ in site.flow.guards(site.target)):
            yield site.finding(f"`{site.short()}` keeps every attention of the program off that kernel")
    else:
        exports = "export" in f"{site.function.qualname} {site.place}".lower()
        if not exports:
            yield site.finding(f"`{site.short()}` writes the matrix of scores to memory")


def _attention(site: Site) -> Iterator[Finding]:
    mask = site.argument("attn_mask", 3)
    if mask is not None and _is_causal(site, mask):
        yield site.finding(
            f"`{site.short(mask)}` is a causal mask in memory; `is_causal=True` lets flash attention skip it", at=mask
        )
    dropout = site.argument("dropout_p", 4)
    if dropout is not None and site.in_forward and _always_drops(site, dropout):
        yield site.finding(
            f"`dropout_p={site.short(dropout)}` also drops in evaluation; write `{site.short(dropout)} if self.training else 0.0`",
            at=dropout,
        )


def _always_drops(site: Site, dropout: ast.expr) -> bool:
    """Whether a rate is one that is written out, or what the module was made with, and nothing asks whether that trains."""
    if isinstance(dropout, ast.Constant):
        return isinstance(dropout.value, float) and dropout.value > 0
    klass, attribute = site.function.cls, syntax.own_attribute(site.function, dropout)
    if klass is None or attribute is None:
        return False
    storing = [one for one in site.project.ancestry(klass) if site.project.attribute_stores(one, attribute)]
    if not storing or not all(site.project.is_option(one, attribute) for one in storing):
        return False
    value = site.value(dropout)
    rate = value.kind in ("number", "unknown") and value.const != 0
    asks = any(read.attr == "training" for read in ast.walk(site.function.node) if isinstance(read, ast.Attribute))
    return rate and not asks


def _is_causal(site: Site, node: ast.expr) -> bool:
    """Whether a mask is a triangle of ones, as it is or by the one assignment of its name."""
    if isinstance(node, ast.Name):
        made = site.flow.assignment(node.id)
        before = made is not None and made.lineno < node.lineno and len(made.targets) == 1
        return made is not None and before and _is_causal(site, made.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "bool", "tril"):
        if node.func.attr == "tril" and site.resolve(node.func) is None:
            return not node.args and not node.keywords and _is_ones(site, node.func.value)
        if site.resolve(node.func) is None:
            return _is_causal(site, node.func.value)
    return (
        isinstance(node, ast.Call)
        and site.resolve(node.func) == "torch.tril"
        and len(node.args) == 1
        and not node.keywords
        and _is_ones(site, node.args[0])
    )


def _is_ones(site: Site, node: ast.expr) -> bool:
    """A square of ones."""
    if not isinstance(node, ast.Call) or site.resolve(node.func) != "torch.ones" or len(node.args) != 2:
        return False
    return ast.dump(node.args[0]) == ast.dump(node.args[1])
