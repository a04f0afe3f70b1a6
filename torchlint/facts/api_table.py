"""What torch has by version: which names and arguments are there, and which of them warn.

It is measured, not believed: `scripts/api_table.py` asks an installed torch. docs/tables.md names the versions.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..torch_api.version import Range, Version
from . import vision_table
from .reference import decisive, number

ALWAYS: Version = (0, 0)
"""Since before the oldest torch that was measured."""
NEVER: Version = (99, 0)
"""In no torch that was measured."""
_EARLY: dict[str, Version] = {
    "torch.meshgrid(indexing)": (1, 10),
    "torch.utils.checkpoint.checkpoint(use_reentrant)": (1, 11),
    "torch.utils.checkpoint.checkpoint_sequential(use_reentrant)": (1, 11),
    "torch.use_deterministic_algorithms": (1, 8),
    "torch.are_deterministic_algorithms_enabled": (1, 8),
    "torch.testing.assert_close": (1, 9),
    "torch.linalg.cholesky": (1, 8),
    "torch.linalg.eig": (1, 9),
    "torch.linalg.eigh": (1, 8),
    "torch.linalg.lstsq": (1, 9),
    "torch.linalg.lu_factor": (1, 11),
    "torch.linalg.matrix_rank": (1, 8),
    "torch.linalg.multi_dot": (1, 9),
    "torch.linalg.qr": (1, 8),
    "torch.linalg.solve": (1, 8),
    "torch.linalg.solve_triangular": (1, 11),
    "torch.cuda.memory_reserved": (1, 4),
    "torch.cuda.max_memory_reserved": (1, 4),
    "torch.cuda.reset_peak_memory_stats": (1, 4),
}
"""What came to torch 1 before the oldest version that was measured, by the release notes; all else was always there."""
GONE = frozenset(("absent", "raises"))


@functools.cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name("api_table.json").read_text(encoding="utf-8"))
    return table


def measured() -> tuple[Version, ...]:
    """The versions that were asked, the oldest first."""
    return tuple(map(number, _table()["measured"]))


def states(key: str) -> dict[Version, str]:
    """From which version on a name is `absent`, `there`, warns of a category, or `raises` when it is called.

    A key is `torch.qr`, `torch.nn.Hardtanh(min_value)` for an argument, `torch.meshgrid(!indexing)` for a call without
    it, or `torch.optim.Optimizer.zero_grad(set_to_none=)` for a default, whose states are `= True` and the like.
    Raises KeyError for what was not asked.
    """
    if key in vision_table.STATES:
        return vision_table.STATES[key]
    return {number(version): str(state) for version, state in _table()["names"][key].items()}


def there(key: str) -> Version:
    """The first version that has it."""
    first = next((begin for begin, state in _spans(key) if state not in GONE), NEVER)
    return _EARLY.get(key, first) if first == ALWAYS else first


def is_older(target: Range) -> bool:
    """Whether all versions of a target are older than those that were measured."""
    return decisive(target, measured()) is None


def warns(key: str, target: Range) -> Version | None:
    """Since which version each warns of it up to the one that answers for the target; None where that does not."""
    return _since(key, target, lambda state: state.endswith("Warning"))


def gone(key: str, target: Range) -> Version | None:
    """Since which version none has it up to the one that answers for the target; None where that has it."""
    return _since(key, target, GONE.__contains__)


def _since(key: str, target: Range, fits: Any) -> Version | None:
    """The begin of the run of states that fit at the version that answers for the target."""
    begin = None
    last = decisive(target, measured())
    for version, state in _spans(key):
        if last is None or version > last:  # None: a torch older than all that were measured, nobody knows
            break
        if not fits(state):
            begin = None
        elif begin is None:
            begin = version
    return begin


def _spans(key: str) -> Iterator[tuple[Version, str]]:
    oldest = measured()[0]
    return ((ALWAYS if version == oldest else version, state) for version, state in states(key).items())
