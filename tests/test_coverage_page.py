"""docs/coverage.md names every rule, and no rule that there is not; its numbers run without a gap."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchlint.evidence.confirm import NAMES
from torchlint.rule import load

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "coverage.md").read_text(encoding="utf-8")
DOCUMENTS = re.findall(r"^## Document (\d+): .*\n((?:.*\n)*?)(?=^## |\Z)", PAGE, re.MULTILINE)
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
SERVED = re.compile(r"rule TL|dynamic TLT|report: \S|not checkable: \S|not served: \S")


def test_every_rule_is_named_and_every_name_is_a_rule() -> None:
    named = set(re.findall(r"\bTL[DKM]?\d{2,3}\b", PAGE))
    rules = {code for code, rule in load().items() if rule.scope != "file"}

    assert set() == rules - named, "docs/coverage.md names each rule: add it where it serves a principle"
    assert set() == named - rules, "docs/coverage.md names rules that are no more"


def test_every_dynamic_check_that_is_named_is_documented() -> None:
    page = (DOCS / "trace-checks.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bTLT\d\d\b", PAGE))

    assert named == {code for code in named if f"\n## {code} " in page}
    assert set(NAMES) <= named


@pytest.mark.parametrize(("document", "principles"), [("000", 40), ("001", 48), ("002", 60), ("003", 28), ("004", 18)])
def test_every_principle_has_its_row(document: str, principles: int) -> None:
    rows = ROW.findall(dict(DOCUMENTS)[document])

    assert [str(number) for number in range(1, principles + 1)] == [number for number, _, _ in rows]
    assert [] == [where for _, _, where in rows if SERVED.match(where) is None]
