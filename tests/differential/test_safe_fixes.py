"""A safe fix changes nothing that a program can see: generated programs are run before and after it, in a child process.

`TORCHLINT_SWEEP=10` makes it ten times as many programs; a sweep is for a change of a fixer, the rest is for every day.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchlint.rule import load

from .judge import Child, Verdict, judged, started
from .programs import Grid
from .situations import situations

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

PROGRAMS = 200
"""How many are made for a rule; about half of them are fixed, and run."""
SWEEP = int(os.environ.get("TORCHLINT_SWEEP", "1"))
GRIDS = sorted(path.stem for path in (Path(__file__).parent / "grids").glob("*.py"))
RULES = {rule.name.replace("-", "_"): rule for rule in load().values()}


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with started() as child:
        yield child


def judge(name: str, child: Child) -> tuple[list[Grid], Verdict]:
    """The programs of a rule, and what became of them; at least as many of each shape as it takes to see it fixed."""
    grids: tuple[Grid, ...] = importlib.import_module(f".grids.{name}", __package__).GRIDS
    programs = [program for grid in grids for program in grid.programs(PROGRAMS * SWEEP // len(grids))]
    return list(grids), judged(programs, RULES[name].code, situations(), child)


@pytest.mark.parametrize("name", GRIDS)
def test_a_program_shows_the_same_before_and_after(name: str, child: Child) -> None:
    grids, found = judge(name, child)

    assert "" == "\n\n".join(map(str, found.differences))
    assert 20 * len(found.unsteady) <= found.situations, "\n\n".join(map(str, found.unsteady))
    assert [] == [shape for grid in grids for shape in grid.refused if found.applied.get(shape)]
    assert [] == [shape for grid in grids for shape in grid.fixed if not found.applied.get(shape)]
    assert 30 <= found.situations


def test_every_rule_with_safe_fixes_is_judged() -> None:
    safe = {name for name, rule in RULES.items() if rule.fix == "safe" and rule.scope != "file"}

    assert safe == set(GRIDS)
