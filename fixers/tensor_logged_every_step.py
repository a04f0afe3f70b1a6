from __future__ import annotations

import ast

from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import behind


def fix(site: Site, finding: Finding) -> Fix | None:
    """Log once in a hundred steps, where the loop counts its steps and the call is a statement of its own.

    Behind another condition on the count the two may never hold together: `if (step + 1) % 2 == 0`.
    """
    statement = site.statement
    loops = site.flow.loops(site.target)
    step = _counter(loops[0]) if loops else None
    if step is None or not isinstance(statement, ast.Expr) or statement.value is not site.target:
        return None
    conditions = [guard.test for guard in site.flow.guards(statement, loops[0])]
    if any(isinstance(part, ast.Name) and part.id == step for test in conditions for part in ast.walk(test)):
        return None
    edits = behind(site, f"{step} % 100 == 0", statement)
    return Fix(f"Log once in 100 steps of `{step}`", edits, "suggestion") if edits is not None else None


def _counter(loop: ast.AST) -> str | None:
    """The name that `for step, batch in enumerate(loader)` or `for step in range(n)` counts with."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None
    called = loop.iter.func.id if isinstance(loop.iter.func, ast.Name) else ""
    if called == "enumerate" and isinstance(loop.target, ast.Tuple):
        first = next(iter(loop.target.elts), None)
        return first.id if isinstance(first, ast.Name) else None
    return loop.target.id if called in ("range", "trange") and isinstance(loop.target, ast.Name) else None
