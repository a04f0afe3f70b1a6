from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, call_node, line_before, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == ".elapsed_time()":
        edit = line_before(site, f"{operand(site, site.call.args[0], Place.RECEIVER)}.synchronize()")
        return Fix("Wait for the event", (edit,), "suggestion") if edit is not None else None
    return _timed(site) if site.name != ".record_event()" else None  # of which class the event is, the stream knows


def _timed(site: Site) -> Fix | None:
    if site.argument("interprocess") is not None:
        return None  # such events take no times
    given = site.argument("enable_timing")
    note = "both events then take times, which costs a little more than ordering streams"
    if isinstance(given, ast.Constant):
        return Fix("Take times", (site.tree.replace(site.cst(given), "True"),), "unsafe", note)
    edit = site.tree.add_argument(call_node(site), "enable_timing=True") if not site.call.args else None
    return Fix("Take times", (edit,), "unsafe", note) if edit is not None else None
