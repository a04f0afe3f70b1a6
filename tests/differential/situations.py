"""What a program is called with and under: tensors of every kind, modes of torch, and what a caller does afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from .programs import pairs

Situation = dict[str, object]

AXES: dict[str, tuple[object, ...]] = {
    "dtype": (
        "float32",
        "float16",
        "bfloat16",
        "float64",
        "complex64",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    ),
    "dims": (2, 1, 0, 3, 4),
    "layout": (
        "contiguous",
        "transposed",
        "permuted",
        "expanded",
        "sliced",
        "offset",
        "channels last",
        "conjugated",
        "empty",
        "sparse",
        "subclass",
        "parameter",
        "meta",
    ),
    "grad": ("none", "leaf", "non-leaf", "saved"),
    "second": ("like it", "same", "other dtype", "scalar", "meta"),
    "ambient": (
        "plain",
        "autocast",
        "autocast to float16",
        "autocast for cuda",
        "device meta",
        "device cpu",
        "default float64",
        "default device meta",
        "inference mode",
        "no grad",
        "deterministic",
        "anomaly",
    ),
    "then": (
        "nothing",
        "write the result",
        "write by index",
        "write a view",
        "write the first",
        "write the first unseen",
        "write the second",
        "write as data",
        "resize",
        "ask for gradients",
        "stop gradients",
    ),
}

COMPILED = ("compiled eager", "compiled aot_eager")


def situations() -> Iterator[Situation]:
    """Rows in which any two values of two axes meet, over and over; some of them under the compiler, which takes longer."""
    values = list(AXES.values())
    rows = list(pairs(*map(len, values)))
    for number in count():
        levels = rows[number % len(rows)]
        row = dict(zip(AXES, (axis[level] for axis, level in zip(values, levels, strict=True)), strict=True))
        yield compiled(row, COMPILED[number // 20 % 2]) if number % 20 == 7 else row


def compiled(row: Situation, how: str) -> Situation:
    """A row under the compiler, which crashes on sparse tensors, and after which nothing is resized.

    Which views it makes anew hangs on where its graphs break.
    """
    layout = "contiguous" if row["layout"] == "sparse" else row["layout"]
    return {**row, "ambient": how, "layout": layout, "then": "nothing" if row["then"] == "resize" else row["then"]}
