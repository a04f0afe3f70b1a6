"""Every example in a rule's docstring, and every case in tests/rules, is run.

A page holds ```python fences. `# TL101` at the end of a line says that the rule fires on that line, `# ok` that it must
not although a naive matcher would; what is not marked must not fire either. The text in front of a fence's first line is
`import torch` and `device = torch.device("cuda")`, unless the fence is ```python whole; ```python suggest-fused turns on that
option of the rule. An ```output fence behind it
holds the findings as `line:column severity message` (lines of the fence), a ```fixed fence what `--fix` (with
--unsafe-fixes) makes of it, a ```safe fence what `--fix` alone does.
"""

from __future__ import annotations

import ast
import re

import pytest

from torchlint.fix import apply as fix
from torchlint.rule import Rule, load
from torchlint.text.finding import Finding
from torchlint.text.source import Source

from .pages import FENCE, RULES, Case, cases, page_of


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case.name))
def test_example(case: Case) -> None:
    offset = case.prelude.count("\n")
    source = (case.prelude + case.code).encode()
    mark = re.compile(rf"#.*\b{case.rule.code}\b")
    expected = [n for n, line in enumerate(case.code.splitlines(), 1) if mark.search(line)]

    findings = case.lint(source)

    assert expected == sorted({finding.line - offset for finding in findings})
    assert findings == case.lint(source, sieve=False)
    if case.output is not None:
        told = [f"{f.line - offset}:{f.column} {f.severity} {f.message}" for f in findings]
        assert case.output.splitlines() == told
    repaired = repair(case, source, findings)
    if case.fixed is not None:
        assert case.fixed == repaired.decode().removeprefix(case.prelude)
    if case.safe is not None:
        safe = [f for f in findings if f.fix is not None and f.fix.applicability == "safe"]
        assert case.safe == repair(case, source, safe).decode().removeprefix(case.prelude)
    if repaired != source:
        ast.parse(repaired)
        again = case.lint(repaired)
        assert repaired == repair(case, repaired, again), "a second run changes nothing"
        assert len(again) == len([f for f in findings if f.fix is None or f.fix.applicability == "suggestion"])


def repair(case: Case, source: bytes, findings: list[Finding]) -> bytes:
    fixes = [f.fix for f in findings if f.fix is not None and f.fix.applicability != "suggestion"]
    data, _ = fix.apply(Source.of("example.py", source), fixes)
    return data


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
