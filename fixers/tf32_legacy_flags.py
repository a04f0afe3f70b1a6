from __future__ import annotations

import ast

from torchlint.facts.nodes import is_written
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import Place, operand

_NEW = {
    "torch.backends.cuda.matmul.allow_tf32": ("fp32_precision",),
    "torch.backends.cudnn.allow_tf32": ("conv.fp32_precision", "rnn.fp32_precision"),
}
_READS = rb"allow_tf32\b(?!\s*=[^=])|float32_matmul_precision|cudnn\.flags\(|\bcompile\(|torch\.compile\b"
"""What reads an old flag, in the project or inside torch."""
_NOTE = "a read of the old flag, here or in a library, may raise from then on"


def fix(site: Site, finding: Finding) -> Fix | None:
    statement = site.flow.parents.get(site.target)
    if not isinstance(statement, ast.Assign) or not is_written(statement) or not _all_are_assigned(site):
        return None
    assert isinstance(site.target, ast.Attribute)
    owner = operand(site, site.target.value, Place.RECEIVER)
    names = "".join(f"{owner}.{name} = " for name in _NEW[site.name])
    source = site.source
    start = source.start_of(statement)
    end = source.end_of(statement)
    edit = Edit(start, end, f"{names}{_precision(site, statement.value)}".encode())
    return Fix("Use `fp32_precision`", (edit,), "unsafe", _NOTE)


def _all_are_assigned(site: Site) -> bool:
    """Whether the project only ever assigns old flags, one at a time: what reads them raises beside the new ones."""
    if site.analysis.context.switched_on(_READS):
        return False
    for function in site.module.functions:
        for node in function.flow.nodes:
            if isinstance(node, ast.Attribute) and node.attr == "allow_tf32":
                parent = function.flow.parents[node]
                if not isinstance(parent, ast.Assign) or parent.targets != [node]:
                    return False
    return True


def _precision(site: Site, value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return '"tf32"' if value.value else '"ieee"'
    return f'"tf32" if {operand(site, value, Place.OPERAND)} else "ieee"'
