from __future__ import annotations

import ast

from torchlint.facts import triton
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import shown


def fix(site: Site, finding: Finding) -> Fix | None:
    kernel = triton.decorated(site.function, site.target)
    place = shown(site, finding)
    launch = (
        next((one for one in kernel.launches if place.target in ast.walk(one.call)), None)
        if kernel is not None
        else None
    )
    if kernel is None or launch is None:
        return None
    sizes = {name for name, _ in triton.changing_constants(launch)}
    edits = []
    for parameter in kernel.function.parameters:
        if parameter.arg in sizes and parameter.annotation is not None:
            start = site.source.start_of(parameter) + len(parameter.arg.encode())
            end = site.source.end_of(parameter.annotation)
            edits.append(Edit(start, end, b""))
    return Fix(
        "Make the sizes arguments",
        tuple(edits),
        "suggestion",
        "what the kernel decides by them is then decided at run time",
    )
