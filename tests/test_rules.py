"""Every example in a rule's docstring, and every case in tests/rules, is run (`torchlint.fix.examples` says how they are read)."""

from __future__ import annotations

import re

import pytest

from torchlint.fix.examples import FENCE, Example, mistakes
from torchlint.rule import Rule, load

from .pages import RULES, cases, page_of


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case.name))
def test_example(case: Example) -> None:
    assert "" == "\n".join(mistakes(case))


@pytest.mark.parametrize("rule", load().values(), ids=lambda rule: str(rule.name))
def test_page_is_whole(rule: Rule) -> None:
    headings = re.findall(r"^## (.*)$", rule.doc, re.MULTILINE)
    wanted = ["What it does", "Why is this slow?", "When it does not matter", "Bad", "Good", "References"]
    if rule.scope == "file":
        wanted = ["What it does", "Why is this bad?"]
    elif rule.fix in ("safe", "unsafe"):
        wanted.insert(-1, "Fix safety")

    assert wanted == [heading for heading in headings if heading in wanted]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_more_cases_must_not_fire_than_must(rule: Rule) -> None:
    text = rule.doc + page_of(rule)
    fires = len(re.findall(rf"#.*\b{rule.code}\b", "\n".join(m["code"] for m in FENCE.finditer(text))))
    quiet = len(re.findall(r"# ok\b", text))

    assert fires >= 1
    assert quiet > fires
    assert "```output" in page_of(rule)
