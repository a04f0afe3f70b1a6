from __future__ import annotations

import ast

from torchlint.facts import triton
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import arguments, shown, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    place = shown(site, finding)
    if not isinstance(place.target, ast.expr):
        return None
    kernel = triton.kernel_of(place.function)
    if kernel is not None:
        return _annotated(place, kernel)
    if triton.size_of(place.function, place.target) is None:
        return None
    spelling = spelled(place, "triton.next_power_of_2")
    if spelling is None:
        return None
    code, imports = spelling
    edit = place.tree.replace(place.node, f"{code}({arguments(place, place.target)})")
    return Fix(
        "Round up to a power of two", (edit, *imports), "suggestion", "the kernel must mask what is beyond the size"
    )


def _annotated(place: Site, kernel: triton.Kernel) -> Fix | None:
    spelling = spelled(place, "triton.language.constexpr")
    if spelling is None or not isinstance(place.target, ast.expr):
        return None
    code, imports = spelling
    read = {node.id for node in triton.operands(place.target) if isinstance(node, ast.Name)}
    edits = []
    for parameter in kernel.function.parameters:
        if parameter.arg in read - kernel.constants and parameter.annotation is None:
            end = place.source.end_of(parameter)
            edits.append(Edit(end, end, f": {code}".encode()))
    note = "the kernel, whose launches have all raised, runs"
    return Fix("Make the extent a constant", (*edits, *imports), "unsafe", note) if edits else None
