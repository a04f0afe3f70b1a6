from __future__ import annotations

from torchlint.facts.handlers import is_caught
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node, renamed

_RESULTS = {
    "torch.linalg.inv": ("torch.linalg.inv_ex", "inverse"),
    "torch.inverse": ("torch.linalg.inv_ex", "inverse"),
    "torch.linalg.cholesky": ("torch.linalg.cholesky_ex", "L"),
    "torch.cholesky": ("torch.linalg.cholesky_ex", "L"),
    "torch.linalg.solve": ("torch.linalg.solve_ex", "result"),
}


def fix(site: Site, finding: Finding) -> Fix | None:
    """`torch.linalg.inv(A)` -> `torch.linalg.inv_ex(A).inverse`."""
    name = site.name.removesuffix("()")
    if is_caught(site, site.function, site.call):
        return None
    if name not in _RESULTS or site.spread or site.argument("out") is not None or site.argument("input") is not None:
        return None
    if name == "torch.cholesky" and len(site.call.args) > 1:
        return None  # `upper` is a keyword only in torch.linalg
    checked, field = _RESULTS[name]
    edits = renamed(site, checked)
    if edits is None:
        return None
    return Fix(
        f"Call `{checked}`",
        (*edits, site.tree.insert_after(call_node(site), f".{field}")),
        "unsafe",
        "A matrix that is singular, or not positive definite, raises no error, and what comes out of it means nothing.",
    )
