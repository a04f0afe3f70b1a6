"""Names that may be values of a dictionary, as far as the text tells: `{"small": Small, "large": Large}`."""

from __future__ import annotations

from collections.abc import Iterator

from .source import Source

_NAME = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_." + bytes(range(128, 256))
_ATTACHED = frozenset(bytes((byte,)) for byte in (*_NAME, *b"(["))
"""What stands behind a name that is part of another, or that something is read of."""
_NEAR = 200
"""So many bytes in front of a name are looked at for what it stands behind."""


def lines_listing(source: Source, name: bytes) -> list[int]:
    """The lines where a name may be a value of a dictionary."""
    return [source.position(offset)[0] for offset in _among_values(source.data, name)]


def _among_values(data: bytes, name: bytes) -> Iterator[int]:
    """Where a name stands behind a colon, or first on its line."""
    place = data.find(name)
    while place >= 0:
        end = place + len(name)
        if data[end : end + 1] not in _ATTACHED:
            before = data[max(place - _NEAR, 0) : place].rstrip(_NAME).rstrip(b" \t(\\")
            if not before or before.endswith((b":", b"\n", b"\r")):
                yield place
        place = data.find(name, end)
