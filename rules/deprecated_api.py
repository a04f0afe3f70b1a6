from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import syntax
from torchlint.facts.deprecated_table import DEPRECATED, KEYWORDS, REQUIRED
from torchlint.rule import Finding, Range, Site, rule

_KEYWORDS = {
    name: kept
    for name, keywords in KEYWORDS.items()
    if (kept := {keyword: entry for keyword, entry in keywords.items() if entry.removed is None})
}
_NEW_SUCCESSOR = frozenset(
    ("torch.distributed.all_gather_into_tensor", "torch.distributed.reduce_scatter_tensor", "return_lse")
)
"""What takes their place came with the deprecation itself: for an older torch there is nothing else to write."""


@rule(
    "TL903",
    on={*DEPRECATED, *(f"{name}()" for name in (*_KEYWORDS, *REQUIRED))},
    severity="info",
    fix="safe",
    category="migration",
    confirmed_by=("warning:FutureWarning", "warning:DeprecationWarning", "warning:UserWarning"),
)
def deprecated_api(site: Site) -> Iterator[Finding]:
    """A function or an argument of torch that is deprecated.

    ## What it does

    Looks calls up in a table of deprecated names, arguments, and arguments that should not be left out any more:
    `torch.qr`, `nn.init.uniform`, `functorch.vmap`, `F.upsample`, `size_average=`, `torch.meshgrid` without `indexing`,
    and about a hundred others.
    Each entry says since which version, and the project's own range of versions decides whether it counts.
    A script of torchlint holds the table against the installed torch.

    ## Why is this slow?

    Most are not slower than what takes their place, but each will stop working one day, and most warn until then.

    ## When it does not matter

    In code for old versions of torch only, which is why the range of the project counts.
    Names that only the documentation deprecates, such as `torch.norm` and `torch.svd`, are not reported: nothing warns,
    and nobody has said that they will go.
    Where the successor came with the deprecation itself (`torch.distributed.all_gather_single` in torch 2.13), a project
    that allows an older torch, or does not say which it is for, is not told.
    Compatibility shims (`try: ... except ImportError`, `hasattr(torch, ...)`) are not reported.

    ## Bad

    ```python
    x, y = torch.meshgrid(a, b)  # TL903
    torch.nn.init.xavier_uniform(weight)  # TL903
    ```

    ## Good

    ```python
    x, y = torch.meshgrid(a, b, indexing="ij")  # ok
    torch.nn.init.xavier_uniform_(weight)  # ok
    ```

    ## Fix safety

    Written only where the new name takes the given arguments and gives the same, and `import torch` is added where it is
    missing; the fix is unsafe where the project allows versions of torch that do not have the new name.
    Names whose successor differs are reported without a fix.

    ## References

    - https://docs.pytorch.org/docs/stable/torch.html
    - https://docs.pytorch.org/docs/stable/func.migrating.html
    - https://docs.pytorch.org/docs/stable/generated/torch.meshgrid.html
    """
    if site.shim:
        return
    if site.name.endswith("()"):
        yield from _arguments(site, site.name.removesuffix("()"))
        return
    entry = DEPRECATED[site.name]
    assert isinstance(site.target, ast.expr)
    call = syntax.called(site.flow, site.target)
    if (
        (call is None and not entry.attribute)
        or syntax.from_shim(site.function, site.target)
        or not _reached(site, entry.since, site.name)
    ):
        return
    yield site.finding(
        f"`{site.text()}` is deprecated since torch {_version(entry.since)} and warns; use {entry.instead}",
        at=call if call is not None and not entry.attribute else site.target,
    )


def _arguments(site: Site, name: str) -> Iterator[Finding]:
    func = site.text(site.call.func)
    for given in site.call.keywords:
        entry = _KEYWORDS.get(name, {}).get(given.arg or "")
        if entry is not None and _reached(site, entry.since, given.arg or "") and not _is_none(given.value):
            yield site.finding(
                f"`{given.arg}` of `{func}` is deprecated since torch {_version(entry.since)} and warns; "
                f"use {entry.instead}",
                at=given,
            )
    missing = REQUIRED.get(name)
    if missing is None or site.spread or not _reached(site, missing.since, missing.keyword):
        return
    if site.argument(missing.keyword, missing.position) is None:
        yield site.finding(
            f"`{func}` without `{missing.keyword}` is deprecated since torch {_version(missing.since)} and warns"
        )


def _reached(site: Site, since: tuple[int, int], name: str) -> bool:
    """Whether the place is reached under a torch that deprecates the name, and the successor is there in all of them."""
    if site.torch is None or not site.torch.intersects(Range(low=since)):
        return False
    if name not in _NEW_SUCCESSOR:
        return True
    # A project that says nothing is taken for one of the latest torch; it need not leave the older ones behind.
    return site.torch.low > since or (site.torch.low == since and site.analysis.settings.target_torch is not None)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _version(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
