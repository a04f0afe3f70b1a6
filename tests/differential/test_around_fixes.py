"""Whatever is around it: what a fix leaves is Python, keeps every comment, uses names that are bound, and is at rest.

Every example of every rule that has a fix is written in all the ways of `rewritings`, and with comments inside of what is
replaced; its fixes are applied, the unsafe ones too. `TORCHLINT_SWEEP=100` puts comments at all gaps.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from torchlint.fix.examples import Example
from torchlint.fix.run import fix_files
from torchlint.text.finding import Finding
from torchlint.text.source import Source

from ..pages import cases, linted
from .judge import dropped
from .rewritings import WAYS, commented

SWEEP = int(os.environ.get("TORCHLINT_SWEEP", "1"))
GAPS = 2 * SWEEP
"""At how many of the gaps in it a fix gets a comment."""
LONGEST = 120


@dataclass(frozen=True)
class Fixed:
    """A program before and after its fixes."""

    name: str
    before: bytes
    after: bytes


def is_fixed(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability != "suggestion"


def data_of(case: Example) -> bytes:
    return (case.prelude + case.code).encode()


CASES: dict[str, list[Example]] = {}
"""By rule; which of them are fixed is found out by its test, for every worker collects all tests."""
for case in cases():
    if case.rule.fix in ("safe", "unsafe"):
        CASES.setdefault(case.rule.code, []).append(case)


def written(case: Example) -> Iterator[tuple[str, bytes]]:
    """The example in every way that it can be written; none of what torchlint alone reads, `x.cuda(async=True)`."""
    data = data_of(case)
    if not is_python(data):
        return
    for name, rewrite in WAYS.items():
        yield name, rewrite(data.decode()) or data
    for finding in filter(is_fixed, linted(case, data)):
        places = [*extent(data, finding)]
        gaps = list(commented(data.decode(), min(places), max(places)))
        for gap in gaps[:: max(1, len(gaps) // GAPS)]:
            yield f"with a comment in line {finding.line}", gap.encode()


def extent(data: bytes, finding: Finding) -> Iterator[int]:
    """Where a finding, and what its fix replaces, begins and ends, counted in characters."""
    lines = [0, *(match.end() for match in re.finditer("\n", data.decode()))]
    yield lines[finding.line - 1] + finding.column - 1
    yield lines[finding.end_line - 1] + finding.end_column - 1
    assert finding.fix is not None
    for edit in finding.fix.edits:
        if edit.end > edit.start:
            yield from (len(data[:at].decode()) for at in (edit.start, edit.end))


def fixed(case: Example) -> list[Fixed]:
    """The example in all ways, fixed; they are one project, for they hold the same."""
    programs = {f"example_{number}.py": one for number, one in enumerate(written(case)) if is_python(one[1])}
    settings = replace(case.settings, codes=case.settings.codes | {"TL004"})
    result = fix_files({path: data for path, (_, data) in programs.items()}, settings, unsafe=True, write=False)
    assert result.failed == () and result.result.errors == ()
    assert [] == [one for one in result.result.findings if one.code == "TL004"]
    again = fix_files(
        {path: result.contents.get(path, programs[path][1]) for path in programs}, settings, unsafe=True, write=False
    )
    assert {} == again.contents, "a second run changes nothing"
    return [
        Fixed(f"{case.name}, {programs[path][0]}", programs[path][1], data) for path, data in result.contents.items()
    ]


def is_python(data: bytes) -> bool:
    try:
        ast.parse(data)
    except SyntaxError:
        return False
    return True


def faults(folder: Path) -> dict[str, set[str]]:
    """What ruff finds of unbound and unused names, by file."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "F",
        "--output-format",
        "json",
        ".",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, set[str]] = {}
    for one in json.loads(done.stdout):
        found.setdefault(Path(one["filename"]).name, set()).add(f"{one['code']} {one['message']}")
    return found


def long_lines(data: bytes) -> Counter[str]:
    return Counter(line for line in data.decode("utf-8-sig").expandtabs(4).splitlines() if len(line) > LONGEST)


def worse(one: Fixed) -> Iterator[str]:
    before, after = (Source.of("example.py", data).text for data in (one.before, one.after))
    yield from dropped(before, after)
    yield from (f"  too long: {line}" for line in long_lines(one.after) - long_lines(one.before))
    if b"\r\n" in one.before and re.search(rb"(?<!\r)\n", one.after):
        yield "  other newlines"


@pytest.mark.parametrize("code", CASES)
def test_a_fix_keeps_what_is_around_it(tmp_path: Path, code: str) -> None:
    mended = [case for case in CASES[code] if any(map(is_fixed, linted(case, data_of(case))))]
    assert mended
    programs = [one for case in mended for one in fixed(case)]
    for number, one in enumerate(programs):
        (tmp_path / f"before_{number}.py").write_bytes(one.before)
        (tmp_path / f"after_{number}.py").write_bytes(one.after)
    found = faults(tmp_path)

    problems = []
    for number, one in enumerate(programs):
        new = found.get(f"after_{number}.py", set()) - found.get(f"before_{number}.py", set())
        problems += [f"{one.name}:\n{line}" for line in (*worse(one), *(f"  {fault}" for fault in sorted(new)))]
    assert "" == "\n".join(problems)
    assert len(programs) >= 10 * len(mended)
