"""Lines that hold no code: comments, and examples in docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator

SPOKEN = (b"#", b">>>")
"""What such lines begin with: no code begins with `>>>`."""


def is_spoken(data: bytes, start: int, at: int) -> bool:
    """Whether a line is one of them that begins at `start` and has something at `at`, or ends in a comment that holds it."""
    before = data[start:at]
    if before.lstrip(b" \t").startswith(SPOKEN):
        return True
    comment = before.find(b"#")
    # Behind a quote it may be part of a string.
    return comment >= 0 and b'"' not in before[:comment] and b"'" not in before[:comment]


def in_code(data: bytes, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    """Where a pattern is found on any other line."""
    found = pattern.search(data)
    while found is not None:
        at = found.start()
        if is_spoken(data, data.rfind(b"\n", 0, at) + 1, at):
            end = data.find(b"\n", at)
        else:
            yield found
            end = max(found.end(), at + 1)
        found = pattern.search(data, end) if end >= 0 else None
