"""Which of many texts hold a name: one search through the words of all of them, each once a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate


class Vocabulary:
    """The words of some texts."""

    def __init__(self, words: Iterable[bytes]) -> None:
        """The words of each text, with something between them that is part of none."""
        every = list(words)
        self._data = b"\n".join(every)
        self._starts = [0, *accumulate(len(one) + 1 for one in every)]

    def holding(self, name: bytes) -> Iterator[int]:
        """The numbers of the texts that have a word which holds a name."""
        at = self._data.find(name)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self._data.find(name, self._starts[number + 1])
