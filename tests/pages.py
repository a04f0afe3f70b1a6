"""The pages of the rules as tests read them: the examples of the docstrings and those of tests/rules."""

from __future__ import annotations

from pathlib import Path

from torchlint.fix.examples import Example, examples
from torchlint.rule import Rule, load
from torchlint.text.finding import Finding

CASES = Path(__file__).parent / "rules"
RULES = [rule for rule in load().values() if rule.scope != "file"]


def linted(case: Example, source: bytes) -> list[Finding]:
    result = case.result(source)
    assert result.errors == ()
    return list(result.findings)


def page_of(rule: Rule) -> str:
    """The edge cases of a rule, "" where it has none."""
    page = CASES / f"{rule.name.replace('-', '_')}.md"
    return page.read_text("utf-8") if page.exists() else ""


def cases() -> list[Example]:
    """Every example of every rule."""
    return [
        example
        for rule in RULES
        for where, text in (("doc", rule.doc), ("case", page_of(rule)))
        for example in examples(rule, text, where)
    ]
