"""Which of the measured versions of torch answers for a range of versions."""

from __future__ import annotations

from collections.abc import Iterable

from ..torch_api.version import Range, Version

REFERENCE: Version = (2, 13)
"""The version that answers for a range without an upper end, unless the range begins later."""


def number(version: str) -> Version:
    """`2.4` as (2, 4)."""
    major, minor = version.split(".")
    return int(major), int(minor)


def decisive(target: Range, measured: Iterable[Version]) -> Version | None:
    """The newest measured version in the target or before it; None where all that were measured are later."""
    open_ended = target.high == Range().high
    last = max(REFERENCE, target.low)
    return max((v for v in measured if (v <= last if open_ended else v < target.high)), default=None)
