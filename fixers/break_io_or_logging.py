from __future__ import annotations

import ast

from torchlint.rewrite import spelled
from torchlint.rule import Edit, Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    """Put a statement that only writes behind `if not torch.compiler.is_compiling():`."""
    statement = site.statement
    if not isinstance(statement, ast.Expr) or statement.value is not site.target or not _writes(site):
        return None
    source = site.source
    start = source.offset(statement.lineno, statement.col_offset)
    line = source.lines[statement.lineno - 1]
    indent = source.data[line:start]
    end = source.offset(statement.end_lineno or 0, statement.end_col_offset or 0)
    behind = source.data[end:].partition(b"\n")[0].strip()
    if indent.strip() or (behind and not behind.startswith(b"#")):
        return None
    newline = source.newline.encode()
    deeper = b"\t" if indent.endswith(b"\t") else b"    "
    spelling = spelled(site, "torch.compiler.is_compiling")
    if spelling is None:
        return None
    guard = f"if not {spelling[0]}():".encode() + newline + indent + deeper
    edits = (Edit(start, start, guard), *spelling[1])
    return Fix(
        "Leave it out of the compiled program", edits, "unsafe", "the compiled program does not write this any more"
    )


def _writes(site: Site) -> bool:
    """Whether the call is for its output alone: not a file or an object that later code needs."""
    name = site.resolve(site.call.func) or ""
    return name in ("print", "warnings.warn") or name.startswith(("logging.", "sys.")) or not name
