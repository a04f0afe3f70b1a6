"""What went over a budget, for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlint.evidence.budget import UNITS, Part, Verdict
from torchlint.evidence.confirm import bytes_text, number

from . import Look
from .paint import Paint

_PARTS = 5
_CODE = 60


def text(verdicts: Sequence[Verdict], title: str, look: Look) -> str:
    """A table of all limits, those that went over with their lines; "" without limits."""
    if not verdicts:
        return ""
    paint = Paint(look)
    over = sum(verdict.over for verdict in verdicts)
    state = paint(f"{over} of {len(verdicts)} over", "red") if over else paint("kept", "green")
    lines = [f"{paint(title, 'bold')}: {state}"]
    for verdict in verdicts:
        lines += _lines(verdict, look, paint)
    return "\n".join(lines) + "\n"


def _lines(verdict: Verdict, look: Look, paint: Paint) -> list[str]:
    measure = verdict.measure
    mark = paint("over", "red") if verdict.over else paint("ok  ", "green")
    value = measure.missing and f"not measured: {measure.missing}"
    value = (
        value or f"{_amount(measure.name, measure.value)} {UNITS[measure.name].removeprefix('bytes').strip()}".rstrip()
    )
    lines = [f"  {mark}  {measure.name:10}  {value}, limit {_amount(measure.name, verdict.limit)}"]
    if not verdict.over:
        return lines
    parts = sorted(measure.parts, key=lambda part: not part.new)
    for part in parts[:_PARTS]:
        new = paint(" new", "yellow") if part.new else ""
        lines.append(
            f"        {_amount(measure.name, part.count):>8}  {_place(part, look)}{new}  {part.code[:_CODE]}".rstrip()
        )
    if len(parts) > _PARTS:
        lines.append(paint(f"        and {len(parts) - _PARTS} more lines", "dim"))
    return lines


def _place(part: Part, look: Look) -> str:
    return f"{look.path(part.file)}:{part.line}" if part.file else "outside the user's code"


def _amount(name: str, value: float) -> str:
    return bytes_text(value) if "bytes" in UNITS[name] else number(value)


def as_json(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    return [
        {
            "name": verdict.measure.name,
            "unit": UNITS[verdict.measure.name],
            "value": None if verdict.measure.missing else verdict.measure.value,
            "limit": verdict.limit,
            "over": verdict.over,
            "missing": verdict.measure.missing or None,
            "lines": [
                {"filename": part.file, "line": part.line, "code": part.code, "count": part.count, "new": part.new}
                for part in verdict.measure.parts
            ],
        }
        for verdict in verdicts
    ]
