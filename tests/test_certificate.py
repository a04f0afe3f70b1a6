"""Certificates: their text, their names, and what `torchlint certificate verify` finds changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint import cli
from torchlint.evidence.certificate import Certificate, verify
from torchlint.system.failure import Failure

MADE = Certificate(
    "src/train.py",
    "torchlint optimize",
    "one change to src/train.py",
    "CONDITIONALLY_APPROVED",
    "1.40x, the goal is reached",
    findings=["model.py:14 TL702: Applied (faster)"],
    conditions=["repeat on the GPU"],
    evidence=["results.json"],
    files=[("train.py", b"x = 1\n")],
    date=0.0,
)


def test_every_part_has_its_heading() -> None:
    text = MADE.markdown()
    assert ["# Certificate", *(f"## {name}" for name in ("Review scope", "Findings", "Decision", "Conditions", "Evidence", "Files"))] == [
        line for line in text.splitlines() if line.startswith("#")
    ]  # fmt: skip
    assert "- Component: src/train.py\n- Tool: torchlint optimize, torchlint " in text
    assert "**CONDITIONALLY_APPROVED**\n\nRationale: 1.40x, the goal is reached\n" in text
    assert "- no test was run\n" in text


def test_the_name_says_what_of_and_when() -> None:
    assert "optimize_train_19700101_000000.md" == MADE.name("optimize")


def test_it_holds_until_a_file_or_its_text_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_bytes(b"x = 1\n")
    path = tmp_path / "certificate.md"
    path.write_text(MADE.markdown())
    assert 0 == cli.main(["certificate", "verify", str(path), "--root", str(tmp_path)])
    assert f"{path} holds\n" == capsys.readouterr().out

    (tmp_path / "train.py").write_bytes(b"x = 2\n")
    path.write_text(MADE.markdown().replace("CONDITIONALLY_APPROVED", "APPROVED"))
    assert ["its text was changed after it was written", "train.py has changed"] == verify(path, tmp_path)
    assert 1 == cli.main(["certificate", "verify", str(path), "--root", str(tmp_path)])

    (tmp_path / "train.py").unlink()
    assert "train.py: No such file or directory" == verify(path, tmp_path)[-1]


def test_something_else_is_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Notes\n")
    with pytest.raises(Failure, match=r"a\.md is no certificate of torchlint"):
        verify(tmp_path / "a.md", tmp_path)
    assert 2 == cli.main(["certificate", "verify", str(tmp_path / "b.md")])
