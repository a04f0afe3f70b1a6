from __future__ import annotations

import ast

from torchlint.facts.told import Baseline
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import line_before, renamed, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    if finding.told == Baseline("clock"):
        edits = renamed(site, "time.perf_counter")
        note = "for the other read of the clock too"
        return Fix("Use time.perf_counter", edits, "suggestion", note) if edits is not None else None
    spelling = spelled(site, "torch.cuda.reset_peak_memory_stats")
    node = site.function.node
    if finding.told != Baseline("peak") or spelling is None or isinstance(node, ast.Module):
        return None
    code, imports = spelling
    edit = line_before(site, f"{code}()", node.body[0])
    return (
        Fix("Reset the peak", (edit, *imports), "suggestion", "where the measurement begins")
        if edit is not None
        else None
    )
