"""All that several answers depend on, worked out together: what they share is gone through once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress
from typing import NamedTuple, Protocol, TypeVar

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


def closures(roots: Sequence[Node]) -> list[Depends]:
    """What each of some answers depends on."""
    groups = _groups(roots)
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


def _groups(roots: Iterable[Node]) -> list[list[Node]]:
    """The answers below some, those together that depend on each other, each group behind what it depends on.

    Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    order: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    path: list[Node] = []
    on_path: set[Node] = set()
    groups: list[list[Node]] = []
    for root in roots:
        todo = [] if root in order else [(root, iter(root.parts))]
        while todo:
            node, rest = todo[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
                on_path.add(node)
            for part in rest:
                if part not in order:
                    todo.append((part, iter(part.parts)))
                    break
                if part in on_path:
                    lowest[node] = min(lowest[node], order[part])
            else:
                todo.pop()
                if todo:
                    above = todo[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    at = _last(path, node)
                    groups.append(path[at:])
                    on_path.difference_update(path[at:])
                    del path[at:]
    return groups


def _last(path: list[Node], node: Node) -> int:
    """Where a node stands, from the end."""
    at = len(path) - 1
    while path[at] is not node:
        at -= 1
    return at
