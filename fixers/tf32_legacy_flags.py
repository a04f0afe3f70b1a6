from __future__ import annotations

import ast

from torchlint.facts.nodes import is_written
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import Place, line_after, operand, silenced

_NEW = {
    "torch.backends.cuda.matmul.allow_tf32": ("fp32_precision",),
    "torch.backends.cudnn.allow_tf32": ("conv.fp32_precision", "rnn.fp32_precision"),
}
_THERE = (2, 9)
"""The first torch that has the new ones."""
_READS = rb"allow_tf32\b(?!\s*=[^=])|float32_matmul_precision|cudnn\.flags\(|\bcompile\(|torch\.compile\b"
"""What reads an old flag, in the project or inside torch."""
_NOTE = "a read of the old flag, here or in a library, may raise from then on"


def fix(site: Site, finding: Finding) -> Fix | None:
    """All flags of the file in one fix: with one of them left as it is, a read of either may raise."""
    edits = site.once(("tf32-legacy-flags", "edits", site.module), lambda: _written_anew(site))
    return Fix("Use `fp32_precision`", edits, "unsafe", _NOTE) if edits is not None else None


def _written_anew(site: Site) -> tuple[Edit, ...] | None:
    """The edits of all assignments; None where the project does more with old flags than assign them, one at a time."""
    if site.analysis.context.switched_on(_READS):
        return None
    edits: list[Edit] = []
    for function in site.module.functions:
        for node in function.flow.nodes:
            if not isinstance(node, ast.Attribute) or node.attr != "allow_tf32":
                continue
            place, statement = site.at(function, node), function.flow.parents[node]
            name = place.resolve(node)
            if name not in _NEW or not isinstance(statement, ast.Assign):
                return None
            if not is_written(statement) or statement.targets != [node] or silenced(place):
                return None
            if place.torch is not None and place.torch.low >= _THERE:
                edits += _edits(place, node, statement, name)
    return tuple(edits)


def _edits(site: Site, flag: ast.Attribute, statement: ast.Assign, name: str) -> tuple[Edit, ...]:
    """Both parts of cuDNN get a line each where that can be: two names in one are often too long for a line."""
    owner = operand(site, flag.value, Place.RECEIVER)
    value = _precision(site, statement.value)
    first, *more = (f"{owner}.{part} = " for part in _NEW[name])
    source = site.source
    start, end = source.start_of(statement), source.end_of(statement)
    is_plain = isinstance(statement.value, ast.Constant)
    added = [line_after(site, f"{one}{value}", statement) for one in more if is_plain]
    behind = tuple(edit for edit in added if edit is not None)
    targets = first if len(behind) == len(more) else "".join((first, *more))
    return Edit(start, end, f"{targets}{value}".encode()), *(behind if targets == first else ())


def _precision(site: Site, value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return '"tf32"' if value.value else '"ieee"'
    return f'"tf32" if {operand(site, value, Place.OPERAND)} else "ieee"'
