from __future__ import annotations

import ast

from torchlint.facts.nodes import is_written
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    """Make the counter a buffer where `__init__` sets it to zero."""
    node = site.target
    if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Attribute) or site.function.cls is None:
        return None
    name = node.target.attr
    stores = site.project.attribute_stores(site.function.cls, name)
    if len(stores) != 1 or stores[0][0].module is not site.module or not site.project.is_module(site.function.cls):
        return None
    statement = stores[0][0].flow.statement(stores[0][1])
    value = getattr(statement, "value", None)
    if (
        stores[0][0].name != "__init__"
        or not is_written(statement)
        or not (isinstance(value, ast.Constant) and value.value == 0)
    ):
        return None
    source = site.source
    start = source.start_of(statement)
    end = source.end_of(statement)
    place = site.at(*stores[0])
    zeros, long = spelled(place, "torch.zeros"), spelled(place, "torch.long")
    if zeros is None or long is None:
        return None
    code = f'self.register_buffer("{name}", {zeros[0]}((), dtype={long[0]}), persistent=False)'
    edits = (Edit(start, end, code.encode()), *zeros[1])
    return Fix("Count in a buffer", edits, "suggestion", "the counter is a tensor, and moves with the module")
