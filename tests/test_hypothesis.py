"""Source that looks real, and mutations of it: no crash, no broken fix, and the same findings without the sieve."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from torchlint.fix.run import fix_files
from torchlint.lint.run import Result, lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.text.source import Source

PRELUDE = "import torch\ndevice = torch.device('cuda')\n"
FENCES = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = sorted({PRELUDE + code for rule in load().values() for code in FENCES.findall(rule.doc)})
LINES = sorted({line for text in EXAMPLES for line in text.splitlines()})
WORDS = sorted({word for text in EXAMPLES for word in re.findall(r"\w+|[^\w\s]", text)})
CODES = frozenset(load())

# A change puts something else in the place of a line, of a word or of a letter.
Change = tuple[str, int, str]
CHANGES = st.one_of(
    st.tuples(st.just("line"), st.integers(0, 60), st.sampled_from(LINES)),
    st.tuples(st.just("drop"), st.integers(0, 60), st.just("")),
    st.tuples(st.just("indent"), st.integers(0, 60), st.sampled_from(["", "    ", "\t", "        "])),
    st.tuples(st.just("word"), st.integers(0, 300), st.sampled_from(WORDS)),
    st.tuples(st.just("letter"), st.integers(0, 1_500), st.text(max_size=2)),
    st.tuples(st.just("newline"), st.just(0), st.sampled_from(["\r\n", "\r"])),
)


def changed(text: str, change: Change) -> str:
    kind, at, new = change
    lines = text.split("\n")
    row = at % len(lines)
    if kind in ("line", "drop"):
        return "\n".join([*lines[:row], *([new] if kind == "line" else []), *lines[row + 1 :]])
    if kind == "indent":
        return "\n".join([*lines[:row], new + lines[row].lstrip(), *lines[row + 1 :]])
    if kind == "newline":
        return text.replace("\n", new)
    spots = [match.span() for match in re.finditer(r"\w+" if kind == "word" else r"(?s).", text)]
    if not spots:
        return text + new
    start, end = spots[at % len(spots)]
    return text[:start] + new + text[end:]


SOURCES = st.builds(lambda first, changes: (first, changes), st.sampled_from(EXAMPLES), st.lists(CHANGES, max_size=6))
QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def mutated(given: tuple[str, list[Change]]) -> bytes:
    text, changes = given
    for change in changes:
        text = changed(text, change)
    return text.encode("utf-8", errors="surrogatepass")


def linted(data: bytes, *, sieve: bool = True) -> Result:
    return lint({"a.py": data}, Settings(codes=CODES, fixable=CODES, preview=True, sieve=sieve))


def syntax_error(result: Result) -> bool:
    return any(finding.code == "TL001" for finding in result.findings)


@QUICK
@given(SOURCES)
@example((PRELUDE, [("letter", 0, "\0")]))
@example((PRELUDE, [("newline", 0, "\r"), ("letter", 13, "\ufeff")]))
def test_no_source_makes_a_rule_fail_and_the_sieve_loses_nothing(source: tuple[str, list[Change]]) -> None:
    data = mutated(source)

    result = linted(data)

    assert () == result.errors
    assert result.findings == linted(data, sieve=False).findings


@QUICK
@given(SOURCES)
def test_findings_lie_in_the_file(source: tuple[str, list[Change]]) -> None:
    data = mutated(source)
    for finding in linted(data).findings:
        if finding.code == "TL001":
            continue
        text = Source.of("a.py", data)
        assert 1 <= finding.line <= finding.end_line <= len(text.lines)
        assert 1 <= finding.column <= len(text.line_text(finding.line)) + 1
        assert finding.end_column <= len(text.line_text(finding.end_line)) + 1


@QUICK
@given(SOURCES)
def test_fixes_come_to_rest_and_break_nothing(source: tuple[str, list[Change]]) -> None:
    data = mutated(source)
    known = Settings(codes=CODES, fixable=CODES, preview=True)

    fixed = fix_files({"a.py": data}, known, unsafe=True, write=False)

    assert [] == [finding for finding in fixed.result.findings if finding.code == "TL004"]
    after = fixed.contents.get("a.py", data)
    assert syntax_error(linted(data)) is syntax_error(fixed.result)
    assert {} == fix_files({"a.py": after}, known, unsafe=True, write=False).contents
