"""The table of torch's operators, one row an operator: what a call gives.

It is made by `scripts/torch_api.py` from what torch says of itself; docs/tables.md tells what the columns mean and how
to mend a row. An operator that is not in it is unknown, and so is what it gives.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gives: `kind` is `tensor`, `int64` (a tensor of such), `tensors`, `bool`, ..., or `tuple` of items."""

    kind: str
    names: tuple[str, ...] = ()
    """The fields of a named tuple; "" for an item without a name."""
    items: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """When a call gives something else: all of the flags are True, or an argument is given at all."""

    flags: tuple[str, ...]
    given: bool
    """Whether it is enough that the one argument is given."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One row."""

    name: str
    returns: Result
    """What a call gives where no condition holds."""
    when: tuple[tuple[Condition, Result], ...]
    """The first condition that holds decides."""
    params: tuple[dict[str, str], ...]
    """The arguments by position, as far as conditions ask for them; several where overloads differ, with their types."""

    def position(self, argument: str) -> int:
        """Where an argument stands; -1 where it is given by keyword alone."""
        return next((at for at, names in enumerate(self.params) if argument in names), -1)


@functools.cache
def _rows() -> dict[str, dict[str, Any]]:
    """The row of each spelling."""
    table = json.loads(Path(__file__).with_name("operators.json").read_text(encoding="utf-8"))
    rows: dict[str, dict[str, Any]] = table["operators"]
    for row in list(rows.values()):
        for name in row.get("also", ()):
            rows[name] = row
    return rows


@functools.cache
def operator(name: str) -> Operator | None:
    """The row of a function or method by one of its dotted names; None for what the table does not hold."""
    row = _rows().get(name)
    if row is None:
        return None
    return Operator(
        name,
        _result(row.get("returns", "tensor")),
        tuple((_condition(condition), _result(result)) for condition, result in row.get("when", ())),
        tuple(_parameter(parameter) for parameter in row.get("params", ())),
    )


def _result(written: str | list[str]) -> Result:
    """`tensor`, or the items of a tuple: `["values", "indices: int64"]`."""
    if isinstance(written, str):
        return Result(written)
    parts = [item.partition(":") for item in written]
    return Result(
        "tuple",
        tuple(name for name, _, _ in parts),
        tuple(Result(kind.strip() or "tensor") for _, _, kind in parts),
    )


def _condition(written: str) -> Condition:
    """`dim=` for an argument that is given, `return_inverse return_counts` for flags."""
    return Condition(tuple(written.removesuffix("=").split()), written.endswith("="))


def _parameter(written: str) -> dict[str, str]:
    """`keepdim`, or `dim: other|other: tensor`."""
    parts = (part.partition(":") for part in written.split("|"))
    return {name: kind.strip() for name, _, kind in parts}
