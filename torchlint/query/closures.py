"""All that several answers depend on, worked out together: what they share is gone through once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress
from typing import NamedTuple, Protocol, TypeVar

from .circles import in_order

Leaf = tuple[str, ...]
"""Something that was read: what kind of thing, and which."""
T = TypeVar("T")
_DIGITS = bytes.maketrans(b"01", b"\0\1")


class Node(Protocol):
    """An answer: what was read for it, and those that it was made of."""

    @property
    def leaves(self) -> AbstractSet[Leaf]: ...
    @property
    def parts(self) -> AbstractSet[Node]: ...


class Depends(NamedTuple):
    """What an answer depends on: those of some things whose numbers are bits that are set."""

    things: Sequence[Leaf]
    bits: int

    @classmethod
    def on(cls, leaves: Iterable[Leaf]) -> Depends:
        """All of some things, each there once."""
        things = tuple(leaves)
        return cls(things, (1 << len(things)) - 1)

    @property
    def leaves(self) -> Iterator[Leaf]:
        """The things themselves."""
        return chosen(self.things, self.bits)


NOTHING = Depends.on(())


def chosen(values: Iterable[T], bits: int) -> Iterator[T]:
    """Those of some values whose bits are set, the first value's the lowest."""
    return compress(values, f"{bits:b}"[::-1].encode().translate(_DIGITS))


def bits_of(numbers: Iterable[int]) -> int:
    """The bits with some numbers."""
    every = list(numbers)
    made = bytearray(max(every, default=0) // 8 + 1)
    for number in every:
        made[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(made, "little")


class Renumbering:
    """Bits that are given other numbers; of each row only what differs from the row before is looked at."""

    def __init__(self, numbers: Sequence[int]) -> None:
        """`numbers` are the new ones, by the old ones."""
        self._numbers = numbers
        count = Counter(numbers)
        self._shared = bits_of(old for old, new in enumerate(numbers) if count[new] > 1)
        """The old ones that become the same as others, and are looked at in each row."""
        self._before, self._renumbered = 0, 0

    def renumbered(self, bits: int) -> int:
        """A row by the new numbers."""
        gone, come = self._before & ~bits, bits & (self._shared | ~self._before)
        kept = self._renumbered & ~bits_of(chosen(self._numbers, gone))
        self._before, self._renumbered = bits, kept | bits_of(chosen(self._numbers, come))
        return self._renumbered


def closures(roots: Sequence[Node]) -> list[Depends]:
    """What each of some answers depends on."""
    groups = in_order(roots, lambda node: node.parts)
    of_node = {node: number for number, group in enumerate(groups) for node in group}
    parts = [{of_node[part] for node in group for part in node.parts} - {n} for n, group in enumerate(groups)]
    numbers: dict[Leaf, int] = {}
    wanted = Counter(part for group in parts for part in group)
    wanted.update(of_node[root] for root in roots)
    found: dict[int, int] = {}
    for number, group in enumerate(groups):
        bits = bits_of(numbers.setdefault(leaf, len(numbers)) for node in group for leaf in node.leaves)
        for part in parts[number]:
            bits |= found[part]
            wanted[part] -= 1
            if not wanted[part]:
                del found[part]  # nobody asks for it any more
        if wanted[number]:
            found[number] = bits
    things = tuple(numbers)
    return [Depends(things, found[of_node[root]]) for root in roots]
