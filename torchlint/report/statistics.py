"""How often each rule was broken."""

from __future__ import annotations

from collections import Counter
from json import dumps
from typing import TYPE_CHECKING

from . import Look, impact, impact_rank
from .paint import Paint

if TYPE_CHECKING:
    from torchlint.lint.run import Result


MACHINE_FORMATS = ("json", "json-lines")
"""The formats for machines that counts can be written in."""


def render(result: Result, look: Look, *, as_json: bool = False) -> str:
    """A line a rule, by impact, then the most frequent first.

    Count, code, impact, whether all `[*]`, some `[-]` or none `[ ]` can be fixed, and name.
    """
    counts = Counter((finding.code, finding.name) for finding in result.findings)
    fixable = Counter(f.code for f in result.findings if look.level(f) == "applicable")
    ranked = sorted(counts.items(), key=lambda item: (impact_rank(item[0][0]), -item[1], item[0]))
    if as_json:
        items = [
            {
                "code": code,
                "name": name,
                "impact": impact(code),
                "count": count,
                "fixable": fixable[code] == count,
                "fixable_count": fixable[code],
            }
            for (code, name), count in ranked
        ]
        return dumps(items, indent=2) + "\n"
    paint = Paint(look)
    wide = max((len(str(count)) for count in counts.values()), default=0)
    code_wide = max((len(code) for code, _ in counts), default=0)
    lines = []
    for (code, name), count in ranked:
        mark = "[*]" if fixable[code] == count else "[-]" if fixable[code] else "[ ]"
        shown = f"{paint(mark, 'cyan') if fixable[code] else mark} " if fixable else ""
        number, rule = paint(f"{count:>{wide}}", "bold"), paint(f"{code:<{code_wide}}", "red")
        lines.append(f"{number}\t{rule}\t{impact(code)}\t{shown}{name}\n")
    return "".join(lines)
