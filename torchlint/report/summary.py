"""The lines below a report for people, in ruff's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchlint.rule import load

from . import Look, plural
from .paint import Paint

if TYPE_CHECKING:
    from torchlint.lint.run import Result


def render(result: Result, look: Look) -> str:
    """How many were found, how many are left, and what `--fix` would do about them.

    Nothing where nothing was found and a file could not be looked at: not all passed.
    """
    left = len(result.findings)
    if look.fixed:
        found = plural(look.fixed + left, "error")
        lines = [f"Found {found} ({look.fixed} fixed, {left} remaining).\n"]
    elif left:
        lines = [f"Found {plural(left, 'error')}.\n"]
    else:
        return "" if result.errors else "All checks passed!\n"
    levels = Counter(map(look.level, result.findings))
    safe, unsafe = levels["applicable"], levels["unsafe"]
    more = f"{plural(unsafe, 'unsafe fix', 'es')} available with `--fix --unsafe-fixes`"
    if safe:
        star = Paint(look)("*", "cyan")
        lines.append(f"[{star}] {safe} fixable with `--fix`{f' ({more})' if unsafe else ''}.\n")
    elif unsafe:
        lines.append(f"{more}.\n")
    return "".join(lines)


def fixes_only(result: Result, look: Look, *, written: bool) -> str:
    """What was fixed or, when nothing was `written`, would be."""
    levels = Counter(map(look.level, result.findings))
    unsafe = levels["unsafe"]
    if not look.fixed and not unsafe:
        return ""
    extra = "additional " if look.fixed else ""
    hint = f" ({plural(unsafe, f'{extra}fix', 'es')} available with `--unsafe-fixes`)" if unsafe else ""
    if look.fixed:
        return f"{'Fixed' if written else 'Would fix'} {plural(look.fixed, 'error')}{hint}.\n"
    return f"No errors {'fixed' if written else 'would be fixed'}{hint}.\n"


def fixes(fixed: Mapping[str, Counter[str]], look: Look) -> str:
    """Each file's fixes by rule."""
    total = sum(sum(counts.values()) for counts in fixed.values())
    if not total:
        return ""
    paint = Paint(look)
    known = load()
    wide = max(len(str(count)) for counts in fixed.values() for count in counts.values())
    lines = [f"\nFixed {plural(total, 'error')}:\n"]
    for path, counts in sorted(fixed.items()):
        lines.append(f"- {paint(look.path(path), 'bold')}:\n")
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"    {count:>{wide}} \u00d7 {paint(code, 'red')} ({known[code].name})\n")
    return "".join(lines) + "\n"
