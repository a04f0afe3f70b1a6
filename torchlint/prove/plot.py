"""A picture of a race: step times before and after, and the intervals of everything that was tried, with the controls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .race import Raced

_WIDTH, _BINS, _ROW = 760, 40, 26


def svg(races: Sequence[tuple[str, Raced | None]], final: Raced | None = None) -> str:
    """The picture of races by their names, and of the step times of the final one; without races a sentence."""
    shown = [(name, raced) for name, raced in races if raced and raced.rounds]
    parts = []
    height = 30
    if final and final.rounds:
        shown.append(("the whole change", final))
        parts += _histogram(final, 20)
        height += 190
    if shown:
        parts += _forest(shown, height)
        height += _ROW * len(shown) + 60
    else:
        parts.append('<text x="20" y="20">nothing was raced</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def _histogram(raced: Raced, top: int) -> list[str]:
    before = sorted(time for one in raced.rounds for time in (*one.times[0], *one.times[1]))
    after = sorted(time for one in raced.rounds for time in one.times[2])
    last = sorted(before + after)[int(0.98 * (len(before) + len(after) - 1))]
    parts = [
        f'<text x="20" y="{top}">seconds a turn by the {escape(raced.track.clock)} clock, before (grey) and after (blue)</text>'
    ]
    for times, colour in ((before, "#98a2b3"), (after, "#1570ef")):
        bins = [0] * (_BINS + 1)
        for time in times:
            bins[min(_BINS, int(_BINS * time / last)) if last else 0] += 1
        most = max(bins)
        width = (_WIDTH - 60) / (_BINS + 1)
        for at, count in enumerate(bins):
            height = 130 * count / most if most else 0
            x, y = 40 + at * width, top + 145 - height
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" height="{height:.1f}" fill="{colour}" opacity="0.6"/>'
            )
    parts.append(f'<text x="40" y="{top + 162}">0</text><text x="{_WIDTH - 70}" y="{top + 162}">{last:.3g} s</text>')
    return parts


def _forest(races: Sequence[tuple[str, Raced]], top: int) -> list[str]:
    ends = [value for _, raced in races for value in (raced.low, raced.high) if math.isfinite(value) and value > 0]
    low, high = min([0.8, *(max(0.2, end) for end in ends)]), max([1.25, *(min(10.0, end) for end in ends)])
    scale = (_WIDTH - 300) / (math.log(high) - math.log(low))

    def x(ratio: float) -> float:
        return 270 + (math.log(min(max(ratio, low), high)) - math.log(low)) * scale

    bottom = top + _ROW * len(races) + 12
    parts = [f'<line x1="{x(1):.1f}" y1="{top}" x2="{x(1):.1f}" y2="{bottom}" stroke="#667085"/>']
    parts.append(f'<text x="20" y="{top + 4}">times as fast, 95 % interval; | the program against itself</text>')
    for at, (name, raced) in enumerate(races):
        y = top + 26 + at * _ROW
        colour = {"faster": "#079455", "slower": "#d92d20"}.get(raced.verdict, "#667085")
        parts.append(f'<text x="20" y="{y + 4}">{escape(name[:34])}</text>')
        parts.append(
            f'<line x1="{x(raced.low):.1f}" y1="{y}" x2="{x(raced.high):.1f}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(f'<circle cx="{x(raced.speedup):.1f}" cy="{y}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x(math.exp(raced.control.middle)):.1f}" y="{y + 5}" text-anchor="middle">|</text>')
    parts += [
        f'<text x="{x(tick):.1f}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>' for tick in (low, 1.0, high)
    ]
    return parts
