"""The table of what breaks Dynamo's graph, by torch version.

It is measured, not believed: `scripts/break_table.py` compiles each construct under an installed torch.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from ..version import Range

_LATEST = (99, 0)


@functools.cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name("break_table.json").read_text(encoding="utf-8"))
    return table


def rule_of(construct: str) -> str:
    """The code of the rule that a construct belongs to; "" for one that was not measured."""
    entry = _table()["constructs"].get(construct)
    return str(entry["rule"]) if entry is not None else ""


def ids(construct: str, mode: str, target: Range | None) -> tuple[str, ...]:
    """The ids of the graph breaks ("breaks"), or of what fullgraph=True raises ("fullgraph"), of a construct.

    The newest torch of the target decides; a version that was not measured answers like the measured one before it.
    """
    entry = _table()["constructs"].get(construct)
    if entry is None:
        return ()
    version = _measured(target.high if target is not None else _LATEST)
    return next((tuple(s["ids"]) for s in entry[mode] if _number(s["first"]) <= version <= _number(s["last"])), ())


def _measured(high: tuple[int, int]) -> tuple[int, ...]:
    versions = [_number(version) for version in _table()["measured"]]
    return max((version for version in versions if version < high), default=versions[0])


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
