from __future__ import annotations

from torchlint.facts import clocks
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, line_before, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    span = clocks.span(site.function, site.call, site.resolve)
    call = clocks.timed_call(span, site.value) if span is not None else None
    if span is None or call is None or call.lineno != call.end_lineno:
        return None
    edit = line_before(site, operand(site, call, Place.ELEMENT), span.start)
    return (
        Fix("Call it once before", (edit,), "suggestion", "three calls and a synchronization are better")
        if edit is not None
        else None
    )
