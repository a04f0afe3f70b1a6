"""What a fix may write into a project, by the torch that the project says it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.text.finding import Fix

OLD = "torch.cuda.amp.GradScaler()"  # takes its new name since torch 2.3
OLDER = "torch.cuda.amp.autocast()"  # since torch 1.12

_SOLVES = "the last digits differ, and the result lies in memory column by column: `view` may fail"


def fixed(folder: Path, code: str, rule: str = "TL901") -> Fix:
    """The fix of the one deprecated name (or what else a rule finds) in a file of a folder."""
    codes = frozenset((rule,))
    text = f"import torch\n{code}\n"
    found = lint({str(folder / "a.py"): text.encode()}, Settings(codes, codes)).findings
    assert 1 == len(found) and found[0].fix is not None
    return found[0].fix


@pytest.mark.parametrize(
    ("requirement", "code"),
    [("torch>=2.3", OLD), ("torch==2.6.0", OLD), ("torch>=1.12", OLDER), ("numpy", OLDER)],
)
def test_a_name_that_every_allowed_torch_has_is_safe(tmp_path: Path, requirement: str, code: str) -> None:
    (tmp_path / "requirements.txt").write_text(requirement)

    assert ("safe", "") == (fixed(tmp_path, code).applicability, fixed(tmp_path, code).note)


def test_a_name_that_an_allowed_torch_lacks_is_not(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch<3")
    fix = fixed(tmp_path, OLD)

    assert ("unsafe", "it needs torch 2.3, and the project allows older ones") == (fix.applicability, fix.note)


@pytest.mark.parametrize(
    ("requirement", "note"),
    [
        ("torch>=1.10", f"{_SOLVES}; it needs torch 1.13, and the project allows older ones"),
        ("torch>=1.13", _SOLVES),
    ],
)
def test_an_argument_that_an_allowed_torch_lacks_is_told_beside_what_else_may_change(
    tmp_path: Path, requirement: str, note: str
) -> None:
    (tmp_path / "requirements.txt").write_text(requirement)

    assert note == fixed(tmp_path, "y = torch.mm(b, torch.linalg.inv(a + b))", "TL610").note


def test_a_project_that_says_nothing_may_run_on_the_torch_of_three_years_ago(tmp_path: Path) -> None:
    fix = fixed(tmp_path, OLD)

    note = "it needs torch 2.3, and the project does not say which it has"
    assert ("unsafe", note) == (fix.applicability, fix.note)


def test_a_test_of_the_version_says_it_too(tmp_path: Path) -> None:
    code = f'if torch.__version__ >= "2.4":\n    {OLD}'

    assert "safe" == fixed(tmp_path, code).applicability
