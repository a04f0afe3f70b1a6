from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import syntax, versions
from torchlint.rule import Finding, Site, chain, plain, rule

_OLD = {"torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32"}


@rule("TL602", shape=plain(*_OLD), severity="error", torch=">=2.9", category="precision", principle=("precision",))
def tf32_apis_mixed(site: Site) -> Iterator[Finding]:
    """TF32 is switched by the old and by the new settings in one file.

    ## What it does

    Finds `torch.backends.cuda.matmul.allow_tf32` and `torch.backends.cudnn.allow_tf32` in a file that also assigns a
    `fp32_precision` of the same backend or of all, neither of them behind a question for the version.

    ## Why is this slow?

    It raises: where `fp32_precision` says something else than the old flag, reading the flag is a `RuntimeError`
    ("mix of the legacy and new APIs"), and the compiler reads it.

    ## When it does not matter

    Where only one of the two runs, as behind `if hasattr(torch.backends.cuda.matmul, "fp32_precision")`.

    ## Bad

    ```python torch>=2.9
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    torch.backends.cuda.matmul.allow_tf32 = True  # TL602
    ```

    ## Good

    ```python torch>=2.9
    torch.backends.cuda.matmul.fp32_precision = "tf32"  # ok
    torch.backends.cudnn.conv.fp32_precision = "tf32"  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
    - https://github.com/pytorch/pytorch/issues/166387
    """
    if site.shim or not site.source.holds(b"fp32_precision") or _is_guarded(site):
        return
    new = _new_setting(site)
    if new is not None:
        yield site.finding(
            f"`{site.text()}` is mixed with `fp32_precision` and raises a RuntimeError when it is read",
            related=(site.related(site.module.body, new, "the new setting"),),
        )


def _is_guarded(site: Site) -> bool:
    """Whether a comparison of versions leaves the place to some versions only."""
    return site.torch != site.analysis.torch(site.module)


def _new_setting(site: Site) -> ast.expr | None:
    """An assignment to `fp32_precision` in the file that every version of torch reaches, and not in another branch."""
    known = site.analysis.torch(site.module)
    for function in site.module.functions:
        for node in function.flow.nodes:
            if (
                not isinstance(node, ast.Attribute)
                or node.attr != "fp32_precision"
                or not isinstance(node.ctx, ast.Store)
            ):
                continue
            open_to_all = versions.narrowed(known, function.flow, node) == known
            if (
                _same_backend(site, chain(node) or [])
                and open_to_all
                and not versions.behind_probe(function.flow, node)
                and not versions.behind_version_test(function.flow, node)
                and not (function is site.function and syntax.exclusive(function.flow, site.target, node))
            ):
                return node
    return None


def _same_backend(site: Site, parts: list[str]) -> bool:
    """Whether a new setting is about the backend of the old flag, or about all."""
    return parts[-2:-1] == ["backends"] or site.name.split(".")[-2] in parts
