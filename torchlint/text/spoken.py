"""Lines that hold no code: comments, and examples in docstrings."""

from __future__ import annotations

import re

SPOKEN = (b"#", b">>>")
"""What such lines begin with: no code begins with `>>>`."""


def is_spoken(data: bytes, start: int, at: int) -> bool:
    """Whether a line is one of them that begins at `start` and has something at `at`."""
    return data[start:at].lstrip(b" \t").startswith(SPOKEN)


def in_code(data: bytes, pattern: re.Pattern[bytes]) -> bool:
    """Whether a pattern is found on any other line."""
    found = pattern.search(data)
    while found is not None:
        at = found.start()
        if not is_spoken(data, data.rfind(b"\n", 0, at) + 1, at):
            return True
        end = data.find(b"\n", at)
        found = pattern.search(data, end) if end >= 0 else None
    return False
