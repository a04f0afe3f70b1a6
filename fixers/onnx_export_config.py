from __future__ import annotations

import ast

from torchlint.facts.told import Export
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import call_node, line_before


def fix(site: Site, finding: Finding) -> Fix | None:
    export = finding.told
    assert isinstance(export, Export)
    edits: list[Edit | None] = []
    model = site.argument("model", 0)
    if export.training and isinstance(model, ast.Name) and isinstance(site.statement, ast.Expr | ast.Assign):
        edits.append(line_before(site, f"{model.id}.eval()"))
    inputs = site.argument("args", 1)
    if export.fixed and isinstance(inputs, ast.Tuple) and site.torch is not None and site.torch.low >= (2, 9):
        shapes = ", ".join('{0: "batch"}' for _ in inputs.elts)
        edits.append(site.tree.add_argument(call_node(site), f"dynamic_shapes=({shapes},)"))
    made = tuple(edit for edit in edits if edit is not None)
    return (
        Fix("Leave the batch size open, in evaluation mode", made, "suggestion", "check which dimensions change")
        if made
        else None
    )
