"""The table of torch's operators, one row an operator: what a call gives, where, and whether the host waits for it.

It is made by `scripts/torch_api` from what torch says of itself; docs/tables.md tells what the columns mean and how to
mend a row. An operator that is not in it is unknown, and so is what it gives.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Result(NamedTuple):
    """What a call gives: `kind` is `tensor`, `int64` (a tensor of such), `tensors`, `bool`, ..., or `tuple` of items."""

    kind: str
    names: tuple[str, ...] = ()
    """The fields of a named tuple; "" for an item without a name."""
    items: tuple[Result, ...] = ()
    on_host: bool = False
    """An item that is in host memory, wherever the others are."""


class Atom(NamedTuple):
    """One thing that a condition asks of a call's argument; negated, the opposite."""

    argument: str
    asks: str
    """`given` (not None), `true`, `tensor`, `equal`, or `unknown`: nobody can tell."""
    value: str = ""
    """The word that it has to be equal to."""
    negated: bool = False


Condition = tuple[Atom, ...]
"""Holds where all of its atoms hold."""
When = tuple[Condition, ...]
"""Holds where one of its conditions holds: `()` never, `((),)` always."""
NEVER: When = ()
ALWAYS: When = ((),)


class Operator(NamedTuple):
    """One row."""

    name: str
    returns: Result
    """What a call gives where no condition holds."""
    when: tuple[tuple[Condition, Result], ...]
    """The first condition that holds decides."""
    scalar: When
    """When the tensor that it gives has no dimensions."""
    dtype: str
    """`bool`, `int64`, `float` (also of integers), `complex`; "" where it is that of the inputs."""
    device: str
    """`factory`: where `device=` says, else the CPU; `like`: else where the inputs are; `data`: else where a tensor that
    is given is, or on the CPU; `host`; "" where the inputs are."""
    dynamic: When
    """When a shape in it depends on values."""
    waits: When
    """When the host waits for the device, if the inputs are there."""
    alias: str
    """`view`, `self` (in place), `maybe` a view, `itself` where it has that dtype and device; "" for memory of its own."""
    saves: str
    """`result` where the derivative needs what it gave."""
    called: str
    """What a program calls to get there, for what lies below Python."""
    params: tuple[dict[str, str], ...]
    """The arguments by position, as far as conditions ask for them; several where overloads differ, with their types."""

    @property
    def reads(self) -> list[str]:
        """The arguments whose values the host waits for, where they are tensors: `repeats`; none where it is all of them."""
        return [atom.argument for one in self.waits for atom in one if atom.asks == "tensor" and not atom.negated]

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
    row = _rows().get(name.replace("torch.functional.", "torch.", 1))
    if row is None:
        return None
    return Operator(
        name,
        _result(row.get("returns", "tensor")),
        tuple((_condition(condition), _result(result)) for condition, result in row.get("when", ())),
        _when(row.get("scalar", False)),
        row.get("dtype", ""),
        row.get("device", ""),
        _when(row.get("dynamic", False)),
        _when(row.get("waits", False)),
        row.get("alias", ""),
        row.get("saves", ""),
        row.get("called", ""),
        tuple(map(_parameter, row.get("params", ()))),
    )


def rows(beginning: str) -> Iterator[Operator]:
    """The rows of all names that begin so."""
    for name in _rows():
        if name.startswith(beginning) and (row := operator(name)) is not None:
            yield row


def names(column: str) -> list[str]:
    """The spellings whose rows say something in a column."""
    return [name for name, row in _rows().items() if row.get(column)]


def _result(written: str | list[str]) -> Result:
    """`tensor`, or the items of a tuple: `["values", "indices: int64"]`."""
    if isinstance(written, str):
        return Result(written)
    parts = [item.partition(":") for item in written]
    return Result("tuple", tuple(name for name, _, _ in parts), tuple(_item(kind.strip()) for _, _, kind in parts))


def _item(written: str) -> Result:
    """`int64`, `int64 host`; a tensor where nothing is written."""
    kind, _, place = written.partition(" ")
    return Result(kind or "tensor", on_host=place == "host")


def _when(written: bool | str | list[str]) -> When:
    """True, one condition, several of which one is enough, or `sometimes`: what decides is no argument's name."""
    if isinstance(written, bool):
        return ALWAYS if written else NEVER
    if written == "sometimes":
        return ((Atom("", "unknown"),),)
    return tuple(map(_condition, [written] if isinstance(written, str) else written))


def _condition(written: str) -> Condition:
    return tuple(map(_atom, written.split()))


def _atom(written: str) -> Atom:
    """`return_counts`, `dim=`, `reduction=none`, `repeats:tensor`, each also behind an exclamation mark."""
    negated = written.startswith("!")
    name, sign, value = written.removeprefix("!").partition("=")
    if sign:
        return Atom(name, "equal" if value else "given", value, negated)
    name, sign, _ = name.partition(":")
    return Atom(name, "tensor" if sign else "true", "", negated)


def _parameter(written: str) -> dict[str, str]:
    """`keepdim`, or `dim: other|other: tensor`."""
    parts = (part.partition(":") for part in written.split("|"))
    return {name: kind.strip() for name, _, kind in parts}
