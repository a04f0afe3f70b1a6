from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import names
from torchlint.rule import Finding, Site, Value, rule

_REAL = "requires_grad"
"""What tensors have, and modules have not."""
_TYPOS = ("require_grad", "required_grad", "requires_grads", "requires_grad_")
_STORES = (("", "$_"), ("$_ = ", "$_"), ("", "$_ = $_"))
"""Where a name may stand among the targets of an assignment."""


@rule(
    "TL506",
    shape=[f"{before}$tensor.{name} = {behind}" for name in (*_TYPOS, _REAL) for before, behind in _STORES],
    severity="error",
    fix="unsafe",
    numbers="changed",
    impact="medium",
    category="memory",
)
def requires_grad_typo(site: Site) -> Iterator[Finding]:
    """An assignment to a misspelled `requires_grad` freezes nothing.

    ## What it does

    Finds assignments to `require_grad`, `required_grad`, `requires_grads` and to the method `requires_grad_`, and to
    `requires_grad` of a module, which has no such attribute: its parameters go on training.

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
    if target.attr == _REAL:
        if _is_plain_module(site, owner) and not _is_flag(site, target):
            yield site.finding(
                f"`{site.short()}` sets an attribute that modules do not have: the parameters stay as they were"
            )
        return
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


def _is_plain_module(site: Site, owner: Value) -> bool:
    """Whether something is a module for sure, of a class that is known to have no such attribute."""
    if owner.kind != "module" or not owner.proven or owner.other_kinds:
        return False
    if owner.class_ is None:
        return not owner.any_class and owner.class_name.startswith(("torch.nn.", "torchvision.models."))
    project = site.project
    lineage = list(project.ancestry(owner.class_))
    bases = [(project.base_name(klass, base) or "", base) for klass in lineage for base in klass.bases]
    own = {klass.name for klass in lineage}
    known = all(name.startswith("torch.nn.") or names.last(base) in own for name, base in bases)
    named = (project.method(owner.class_, name) for name in (_REAL, "__setattr__", "__getattr__"))
    return known and not any(named) and not any(_REAL in klass.assigned or _REAL in klass.stores for klass in lineage)


def _is_flag(site: Site, target: ast.Attribute) -> bool:
    """Whether the project reads what is set, as a flag of its own: `if self.backbone.requires_grad:`."""
    holder = names.last(target.value)
    read = rb"\b%s\.requires_grad\b(?!\s*=[^=])" % holder.encode()
    return not holder.isascii() or site.project.any_holds(read, word=_REAL.encode())


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
