"""Small programs of several files: `# TL101` at the end of a line says that the rule fires there, and nothing else does.

The rules that are on are those that a mark in any of the programs names, so that each program also shows what the others'
rules must leave alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings

PROGRAMS = sorted(path for path in (Path(__file__).parent / "projects").iterdir() if path.is_dir())
MARK = re.compile(r"#.*?\b(TL\d{3})\b")


def marks(program: Path) -> list[tuple[str, int, str]]:
    return sorted(
        (path.relative_to(program).as_posix(), number, code)
        for path in program.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "#" in line
        for code in MARK.findall(line)
    )


CODES = frozenset(code for program in PROGRAMS for _, _, code in marks(program))


def findings(program: Path, sieve: bool) -> list[tuple[str, int, str]]:
    files = {path.relative_to(program).as_posix(): path.read_bytes() for path in program.rglob("*.py")}
    result = lint(files, Settings(codes=CODES, fixable=CODES, root=program, sieve=sieve))
    assert () == result.errors
    return sorted({(finding.path, finding.line, finding.code) for finding in result.findings})


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.name))
def test_program(program: Path) -> None:
    assert marks(program) == findings(program, sieve=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.name))
def test_program_without_the_sieve(program: Path) -> None:
    assert marks(program) == findings(program, sieve=False)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 8
    assert {"TL101", "TL201", "TL402", "TL503"} <= CODES
