"""Every rule has its file, page, cases and metadata, under one name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchlint.rule import Rule, load

ROOT = Path(__file__).parents[1]
RULES = list(load().values())
PRINCIPLES = {"pipeline", "parallelism", "locality", "vectorisation", "fusion", "precision", "batching", "async"}


def test_codes_and_names_are_taken_once() -> None:
    assert len(RULES) == len({rule.code for rule in RULES}) == len({rule.name for rule in RULES})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_a_rule_is_whole(rule: Rule) -> None:
    module = rule.name.replace("-", "_")

    assert re.fullmatch(r"TL(?:\d|D|K|M)\d\d", rule.code)
    assert (ROOT / "rules" / f"{module}.py").is_file()
    assert (ROOT / "docs" / "rules" / f"{rule.name}.md").is_file()
    assert rule.scope == "file" or (ROOT / "tests" / "rules" / f"{module}.md").is_file()
    assert rule.summary.endswith(".")
    assert set(rule.principle) <= PRINCIPLES
    assert set(rule.depends_on) <= load().keys()
    assert {name for name in rule.silenced_by if name.startswith("TL")} <= load().keys()


def test_every_fixer_serves_a_rule() -> None:
    fixers = {path.stem for path in (ROOT / "fixers").glob("*.py")} - {"__init__"}

    assert set() == fixers - {rule.name.replace("-", "_") for rule in RULES}


def test_every_file_of_cases_is_that_of_a_rule() -> None:
    cases = {path.stem for path in (ROOT / "tests" / "rules").glob("*.md")}

    assert set() == cases - {rule.name.replace("-", "_") for rule in RULES}


def test_the_changelog_names_every_family() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()

    assert [] == [family for family in sorted({rule.code[:3] for rule in RULES}) if family not in text]
