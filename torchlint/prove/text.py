"""What a program printed, twice: the words have to be the same, the numbers about the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import zip_longest

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\b[-+]?(?:nan|inf)\b")

Place = tuple[str, int]
"""The words of a line, and which number in it."""


@dataclass(frozen=True)
class Line:
    """A line with its numbers taken out."""

    words: str
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class TextDifference:
    """`words` is the first line in which more than numbers differ; `units` is the largest difference in units of the last
    digit that was printed, `relative` the same in proportion."""

    words: str = ""
    relative: float = 0.0
    units: float = 0.0
    line: str = ""

    @property
    def same(self) -> bool:
        return not self.words and not self.relative


def lines(text: str) -> tuple[Line, ...]:
    """The lines of a text; a progress bar that goes over its line again counts as several."""
    plain = _ADDRESS.sub("@", text)
    return tuple(Line(_NUMBER.sub("#", one), tuple(_NUMBER.findall(one))) for one in re.split(r"[\r\n]+", plain) if one)


def varying(one: tuple[Line, ...], again: tuple[Line, ...]) -> frozenset[Place] | None:
    """The numbers that differ when the same program runs again (times, rates); None where even the words do."""
    if [line.words for line in one] != [line.words for line in again]:
        return None
    return frozenset(
        (a.words, at)
        for a, b in zip(one, again, strict=True)
        for at, (x, y) in enumerate(zip(a.numbers, b.numbers, strict=True))
        if x != y
    )


def difference(one: tuple[Line, ...], other: tuple[Line, ...], known: frozenset[Place]) -> TextDifference:
    """How the texts differ beside the numbers that are `known` to vary."""
    worst = TextDifference()
    for a, b in zip_longest(one, other, fillvalue=Line("", ())):
        if a.words != b.words:
            return TextDifference(words=_shown(b) or _shown(a))
        for relative, units in _apart(a, b, known):
            if relative > worst.relative:
                worst = TextDifference("", relative, max(units, worst.units), _shown(b))
    return worst


def _shown(line: Line) -> str:
    parts = line.words.split("#")
    return "".join(part + number for part, number in zip_longest(parts, line.numbers, fillvalue="")).strip()[:120]


def _apart(a: Line, b: Line, known: frozenset[Place]) -> Iterator[tuple[float, float]]:
    for at, (x, y) in enumerate(zip(a.numbers, b.numbers, strict=True)):
        if x != y and (a.words, at) not in known:
            left, right = float(x), float(y)
            gap = abs(left - right)
            if not math.isfinite(gap):
                yield math.inf, math.inf
            else:
                yield gap / max(abs(left), 1e-12), gap / max(_unit(x), _unit(y))


def _unit(number: str) -> float:
    """What one more in the last digit is worth."""
    try:
        exponent = Decimal(number).as_tuple().exponent
    except InvalidOperation:
        return 1.0
    return float(10**exponent) if isinstance(exponent, int) else 1.0
