from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, Value, rule

_TYPOS = ("require_grad", "required_grad", "requires_grads", "requires_grad_")
_STORES = (("", "$_"), ("$_ = ", "$_"), ("", "$_ = $_"))
"""Where a name may stand among the targets of an assignment."""


@rule(
    "TL506",
    shape=[f"{before}$tensor.{name} = {behind}" for name in _TYPOS for before, behind in _STORES],
    severity="error",
    fix="unsafe",
    numbers="changed",
    impact="medium",
    category="memory",
)
def requires_grad_typo(site: Site) -> Iterator[Finding]:
    """An assignment to a misspelled `requires_grad` freezes nothing.

    ## What it does

    Finds assignments to `require_grad`, `required_grad`, `requires_grads` and to the method `requires_grad_`.

    ## Why is this slow?

    Python adds the attribute without a word and the parameter stays trainable: its gradient is computed, kept, reduced
    across processes and applied by the optimizer, although the author meant it to be frozen.

    ## When it does not matter

    Objects of classes that define such an attribute themselves are not reported. Of a tensor that the function has just made, which
    requires no gradients anyhow, `False` is an `info`.

    ## Bad

    ```python
    for parameter in model.backbone.parameters():
        parameter.require_grad = False  # TL506
    ```

    ## Good

    ```python
    for parameter in model.backbone.parameters():
        parameter.requires_grad = False  # ok
    ```

    ## Fix safety

    Renames the attribute of a parameter or of a new tensor of floating point, and calls `requires_grad_` of a module, where
    the attribute would mean nothing. Unsafe because it does what the author meant: the parameters obey from then on, and
    a backward pass raises where all of them are frozen. Nothing is offered where the project reads the attribute.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html
    - https://github.com/meta-pytorch/torchfix (TOR002)
    """
    target = site.target
    assert isinstance(target, ast.Attribute)
    owner = site.value(target.value)
    if owner.kind not in ("unknown", "tensor", "module") or (
        isinstance(target.value, ast.Name) and target.value.id == "self"
    ):
        return
    if owner.class_ is not None and site.project.attribute(owner.class_, target.attr):
        return
    what = (
        "replaces the method `requires_grad_`"
        if target.attr == "requires_grad_"
        else "sets an attribute that torch does not know"
    )
    if _has_none(site, owner):
        yield site.finding(f"`{site.short()}` {what}, and a new tensor requires no gradients", severity="info")
        return
    yield site.finding(f"`{site.short()}` {what}: the tensor stays as it was")


def _has_none(site: Site, owner: Value) -> bool:
    """Whether what is not to have gradients has none: `pe = torch.zeros(n, d).float(); pe.require_grad = False`."""
    statement, made = site.statement, owner.made_by
    given = statement.value if isinstance(statement, ast.Assign) else None
    return (
        isinstance(given, ast.Constant)
        and given.value is False
        and owner.is_tensor
        and not owner.parameter
        and isinstance(made, ast.Call)
        and made in site.flow.parents
        and not any(keyword.arg == "requires_grad" for keyword in made.keywords)
    )
