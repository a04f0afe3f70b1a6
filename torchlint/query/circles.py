"""Circles of a graph (its strongly connected components), in an order in which each can be worked out.

Tarjan, "Depth-first search and linear graph algorithms", 1972.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

N = TypeVar("N")


def in_order(roots: Iterable[N], parts: Callable[[N], Iterable[N]]) -> list[list[N]]:
    """What can be reached from some nodes: those together that lead to each other, each group behind what it leads to."""
    number: dict[N, int] = {}
    low: dict[N, int] = {}
    path: list[N] = []
    on_path: set[N] = set()
    todo: list[tuple[N, Iterator[N]]] = []
    found: list[list[N]] = []

    def enter(node: N) -> None:
        number[node] = low[node] = len(number)
        path.append(node)
        on_path.add(node)
        todo.append((node, iter(parts(node))))

    for root in roots:
        if root not in number:
            enter(root)
        while todo:
            node, rest = todo[-1]
            for part in rest:
                if part not in number:
                    enter(part)
                    break
                if part in on_path:
                    low[node] = min(low[node], number[part])
            else:
                todo.pop()
                if todo:
                    around = todo[-1][0]
                    low[around] = min(low[around], low[node])
                if low[node] == number[node]:
                    circle: list[N] = []
                    while not circle or circle[-1] is not node:
                        circle.append(path.pop())
                    on_path.difference_update(circle)
                    found.append(circle[::-1])
    return found
