"""Every rule has its file, page, cases and metadata, under one name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from torchlint.messages.event import Kind
from torchlint.rule import Rule, fixer, load
from torchlint.torch_api.version import Range

ROOT = Path(__file__).parents[1]
RULES = list(load().values())
PRINCIPLES = {"pipeline", "parallelism", "locality", "vectorisation", "fusion", "precision", "batching", "async"}

CATEGORIES = {
    "compile",
    "cuda_graph",
    "data",
    "deployment",
    "distributed",
    "kernel",
    "measurement",
    "memory",
    "migration",
    "precision",
    "sync",
    "tileir",
    "tool",
    "triton",
}


def test_codes_and_names_are_taken_once() -> None:
    assert len(RULES) == len({rule.code for rule in RULES}) == len({rule.name for rule in RULES})


def entries() -> set[str]:
    """The codes that the changelog speaks of: one by one, `TL401 to TL409`, or a family, `TL6`."""
    text = (ROOT / "CHANGELOG.md").read_text()
    spans = re.findall(r"(TL\w\d\d) to (TL\w\d\d)", text)
    families = set(re.findall(r"\bTL\w\b", text))
    named = set(re.findall(r"\bTL\w\d\d\b", text))
    return named | {c for c in load() if c[:3] in families or any(first <= c <= last for first, last in spans)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_a_rule_is_whole(rule: Rule) -> None:
    module = rule.name.replace("-", "_")

    assert re.fullmatch(r"TL(?:\d|D|K|M)\d\d", rule.code)
    assert (ROOT / "rules" / f"{module}.py").is_file()
    assert (ROOT / "docs" / "rules" / f"{rule.name}.md").is_file()
    assert rule.scope == "file" or (ROOT / "tests" / "rules" / f"{module}.md").is_file()
    assert rule.summary.endswith(".")
    assert set(rule.principle) <= PRINCIPLES, f"`principle` is one of {sorted(PRINCIPLES)}"
    assert rule.category in CATEGORIES, f"`category` is one of {sorted(CATEGORIES)}"
    assert set(rule.depends_on) <= load().keys()
    assert {name for name in rule.silenced_by if name.startswith("TL")} <= load().keys()
    assert rule.torch == Range.parse(str(rule.torch))
    assert {event.partition(":")[0] for event in rule.confirmed_by} <= set(get_args(Kind))
    assert rule.code in entries(), f"CHANGELOG.md has a line that names {rule.code}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_a_page_shows_what_the_rule_finds_and_what_not(rule: Rule) -> None:
    bad, _, good = rule.doc.partition("## Bad\n")[2].partition("## Good\n")
    marks = [len(re.findall(rf"# {rule.code}\b", text)) for text in (bad, good)]

    told = f"the page marks a line with `# {rule.code}` under Bad, and none under Good, which has an example too"
    assert rule.scope == "file" or (marks[0] > 0 and marks[1] == 0 and "```python" in good), told


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_a_rule_that_promises_a_fix_has_a_fixer(rule: Rule) -> None:
    told = f"`fix=` promises a fix where there is a fixers/{rule.name.replace('-', '_')}.py, and only there"
    assert rule.scope == "file" or (rule.fix != "none") is (fixer(rule.name) is not None), told


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_options_are_switches_that_the_rule_asks_for(rule: Rule) -> None:
    module = ROOT / "rules" / f"{rule.name.replace('-', '_')}.py"
    asked = set(re.findall(r'site\.option\("([\w-]+)"\)', module.read_text()))
    cases = ROOT / "tests" / "rules" / f"{module.stem}.md"

    assert asked == rule.options.keys()
    assert all(name.startswith("suggest-") and what.endswith(".") for name, what in rule.options.items())
    assert all(f"```python {name}" in cases.read_text() for name in rule.options)


def test_every_fixer_serves_a_rule() -> None:
    fixers = {path.stem for path in (ROOT / "fixers").glob("*.py")} - {"__init__"}

    assert set() == fixers - {rule.name.replace("-", "_") for rule in RULES}


def test_every_file_of_cases_is_that_of_a_rule() -> None:
    cases = {path.stem for path in (ROOT / "tests" / "rules").glob("*.md")}

    assert set() == cases - {rule.name.replace("-", "_") for rule in RULES}
