"""Answers that are each worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


def work_out(known: dict[K, T], key: K, meanwhile: T, answer: Callable[[], T]) -> None:
    """Keep an answer, once it is found; whoever asks for it while it is worked out is told `meanwhile`."""
    known[key] = meanwhile
    try:
        known[key] = answer()
    except BaseException:
        del known[key]
        raise
