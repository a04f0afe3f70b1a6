"""Regular expressions are compiled when they are first used, and not before."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from torchlint.system.regex import regex

ROOT = Path(__file__).parents[1]
LOADED = (
    "torchlint/facts",
    "torchlint/lint",
    "torchlint/program",
    "torchlint/rule",
    "torchlint/settings",
    "torchlint/text",
)


def test_nothing_is_compiled_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def noted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return real(pattern, flags)

    monkeypatch.setattr(re, "compile", noted)

    word = regex("[a-c]+")
    assert compiled == []
    assert [word.findall("ab-c"), word.findall("b")] == [["ab", "c"], ["b"]]
    assert compiled == ["[a-c]+"]


def test_it_is_what_re_compile_gives() -> None:
    word = regex(rb"(?P<first>a)b", re.IGNORECASE)
    assert word.pattern == rb"(?P<first>a)b"
    assert word.flags == re.compile(rb"(?P<first>a)b", re.IGNORECASE).flags
    assert word.fullmatch(b"AB") is not None
    assert word.sub(b"x", b"abAB") == b"xx"


def test_a_wrong_one_is_told_at_its_use() -> None:
    wrong = regex("(")
    with pytest.raises(re.error, match="missing \\), unterminated subpattern at position 0"):
        wrong.search("")


def test_what_a_check_loads_compiles_none_at_import() -> None:
    eager = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for folder in (*LOADED, "rules")
        for path in sorted((ROOT / folder).glob("*.py"))
        for statement in ast.parse(path.read_text()).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value).startswith("re.compile(")
    ]
    assert eager == [], "write `regex(...)` of torchlint.system.regex, in rules of torchlint.rule.lazy"
