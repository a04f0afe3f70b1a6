"""Where a file may read the device by something that has no name to look for: an index, a bound, a branch, a loop over rows.

Functions that run on each step are shown to the rules whole; of all others these lines are, whatever else the sieve finds.
The text is all that is looked at: it tells too many places, and the rules ask for values.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from ..system.regex import regex
from ..text.source import Source

_INNER = rb"(?:[^\[\]\n]|\[[^\[\]\n]*\])*"
_COMPARED = regex(rb"\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*?[=!<>~&|]%s\]" % _INNER)
"""`x[a > b]`, `x[~kept]`, `x[:, a & b]`"""
_INDEX = regex(rb"\[(?:[:.]+, ?)*([a-z_]\w*(?:\.\w+)*)(?:, ?[:.]+)*\]")
"""`x[kept]`, `x[:, kept]`, `x[data.mask, :]`"""
_BOUND = regex(rb"\[(%s:%s)\]" % (_INNER, _INNER))
"""`x[:t]`, `x[i, : lengths[i]]`"""
_TAKEN = regex(
    rb"(?:\bif|\bwhile|\bassert|\bint|\bfloat|\bbool|\brange|\brandperm)[ (]+([a-z_]\w*(?:\[[^\[\]\n]*\])?)[ :,)]"
)
"""`if t > 0`, `int(t)`, `range(lengths[i])`"""
_ROWS = regex(rb"for ([a-z_]\w*) in range\(")
_NAME = regex(rb"[a-z_]\w*(\[)?")
_CALLED_MASK = regex(rb"mask|valid|keep|kept|inlier|flag")
_BOOLEAN = regex(
    rb"[=!]= |[<>]=? |~|&|\||\.bool\(|\.byte\(|torch\.bool|uint8|logical_|is(?:in|nan|inf|finite)\(|\.(?:eq|ne|gt|lt|ge|le)\("
)
_ELEMENT = regex(
    rb"\.(?:sum|max|min|amax|amin|any|all|mean|prod|argmax|argmin|norm|long|int|float|round|ceil|floor)\(|[\w)\]]\[[^\[\]\n]*\][ \t]*\n"
)
_BODY = 2000
"""How many bytes of a loop are looked through for its index."""


def lines(source: Source) -> frozenset[int]:
    """The lines of a file that may read the device without a name that says so."""
    return source.fact("unnamed reads", _lines)


def _lines(source: Source) -> frozenset[int]:
    data = source.data
    if b"torch" not in data:
        return frozenset()
    text = _Text(data)
    found = [match.start() for match in _COMPARED.finditer(data)]
    found += [match.start(1) for match in _INDEX.finditer(data) if text.may_be_mask(match[1])]
    found += [match.start() for match in _BOUND.finditer(data) if text.has_element(match[1])]
    found += [match.start(1) for match in _TAKEN.finditer(data) if text.has_element(match[1])]
    found += [match.start() for match in _ROWS.finditer(data) if text.reads_rows(match)]
    return frozenset(bisect_right(source.lines, offset) for offset in found)


class _Text:
    """What the assignments of a file say of its names."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._known: dict[tuple[bytes, bool], bool] = {}

    def may_be_mask(self, name: bytes) -> bool:
        """Whether a name says that it is a mask, or is assigned what a comparison gives."""
        return _CALLED_MASK.search(name) is not None or self._assigned(name, True)

    def has_element(self, text: bytes) -> bool:
        """Whether an expression holds an element of something, or a name that is assigned one or a sum."""
        return any(match[1] or self._assigned(match[0], False) for match in _NAME.finditer(text))

    def reads_rows(self, loop: re.Match[bytes]) -> bool:
        """Whether something is indexed by the name of a loop below it."""
        end = loop.end() + _BODY
        return any(self.data.find(b"[" + loop[1] + closing, loop.end(), end) >= 0 for closing in (b"]", b","))

    def _assigned(self, name: bytes, boolean: bool) -> bool:
        key = name, boolean
        if key not in self._known:
            self._known[key] = self._is_assigned(name, _BOOLEAN if boolean else _ELEMENT)
        return self._known[key]

    def _is_assigned(self, name: bytes, what: re.Pattern[bytes]) -> bool:
        data, wanted = self.data, name + b" = "
        at = data.find(wanted)
        while at >= 0:
            start = at + len(wanted)
            end = data.find(b"\n", start)
            if data[end - 1 : end] == b"(":
                end = data.find(b"\n", end + 1)
            if what.search(data, start, end + 1 if end >= 0 else len(data)) is not None:
                return True
            at = data.find(wanted, start)
        return False
