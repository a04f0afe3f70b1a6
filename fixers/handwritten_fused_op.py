from __future__ import annotations

from torchlint.facts.dtypes import dtype
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import arguments, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    if "sigmoid" not in site.pattern or "mul_(" in site.pattern:
        return None  # what is written in place is read elsewhere, perhaps
    other = site.part("x")
    spelling = spelled(site, "torch.nn.functional.silu")
    if spelling is None or dtype(site, other) != "floating":
        return None
    edit = site.tree.replace(site.caught(), f"{spelling[0]}({arguments(site, other)})")
    return Fix("Use `silu`", (edit, *spelling[1]), "unsafe", "the last digits differ")
