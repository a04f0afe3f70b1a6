from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, arguments, operand, spelled


def fix(site: Site, finding: Finding) -> Fix | None:
    statement = site.statement
    if (
        site.name != ".max_workspace_size"
        or not isinstance(statement, ast.Assign)
        or statement.targets != [site.target]
    ):
        return None
    spelling = spelled(site, "tensorrt.MemoryPoolType.WORKSPACE")
    if spelling is None or not isinstance(site.target, ast.Attribute):
        return None
    pool, imports = spelling
    config = operand(site, site.target.value, Place.RECEIVER)
    code = f"{config}.set_memory_pool_limit({pool}, {arguments(site, statement.value)})"
    return Fix(
        "Set the pool's limit",
        (site.tree.replace(site.cst(statement), code), *imports),
        "suggestion",
        "it needs TensorRT 8.4",
    )
