"""The table of what breaks Dynamo's graph, by torch version.

It is measured, not believed: `scripts/break_table.py` compiles each construct under an installed torch.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from ..torch_api.version import Range
from .reference import decisive, number


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

    An id is a number of torch's registry (`GB0124`), before that the option that captures the construct, or `unnamed`; of
    what is raised it may be the exception's class.
    The newest torch of the target decides, 2.13 if it has no upper end; a version that was not measured answers like the
    measured one before it.
    """
    entry = _table()["constructs"].get(construct)
    if entry is None:
        return ()
    version = _measured(target or Range())
    return next((tuple(s["ids"]) for s in entry[mode] if number(s["first"]) <= version <= number(s["last"])), ())


def _measured(target: Range) -> tuple[int, int]:
    versions = [number(version) for version in _table()["measured"]]
    return decisive(target, versions) or versions[0]
