from __future__ import annotations

from torchlint.facts.distributions import validated_at
from torchlint.facts.handlers import is_caught
from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node

_NOTE = "Parameters and values outside their domain are no longer refused."


def fix(site: Site, finding: Finding) -> Fix | None:
    """Add `validate_args=False`, or say False where None is given by its position."""
    if is_caught(site, site.function, site.call):
        return None
    at = validated_at(site.name.removesuffix("()").rpartition(".")[2])
    given = site.call.args[at] if len(site.call.args) > at else None
    if given is None:
        edit = site.tree.add_argument(call_node(site), "validate_args=False")
    else:
        none = is_constant(given, None)
        edit = site.tree.replace(site.cst(given), "False") if none else None
    return Fix("Add `validate_args=False`", (edit,), "unsafe", _NOTE) if edit is not None else None
