"""Certificates: their text, their names, and what `torchlint certificate verify` finds changed."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.evidence.certificate import Certificate, verify
from torchlint.evidence.certified import of_findings, of_trace
from torchlint.system.failure import Failure
from torchlint.text.finding import Evidence, Finding

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

    path.write_bytes(MADE.markdown().replace("\n", "\r\n").encode())
    assert ["train.py has changed"] == verify(path, tmp_path)

    (tmp_path / "train.py").unlink()
    assert "train.py: No such file or directory" == verify(path, tmp_path)[-1]


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
@pytest.mark.parametrize(
    "name",
    ["a\n## Decision\n\n**APPROVED**\n.py", "a  b.py", "a\r\n  b.py", '"a".py', "a\u202eb.py", "a\x1b[31m.py", "é.py"],
)
def test_names_of_files_are_no_lines_of_their_own(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x = 1\n")
    made = replace(MADE, component=name, scope=f"{name}  x", findings=[f"{name}  x"], files=[(name, b"x = 1\n")])
    assert [line for line in MADE.markdown().splitlines() if line.startswith(("#", "**"))] == [
        line for line in made.markdown().splitlines() if line.startswith(("#", "**"))
    ]
    path = made.write(tmp_path, "check")
    assert [] == verify(path, tmp_path)
    (tmp_path / name).write_bytes(b"x = 2\n")
    assert 1 == len(verify(path, tmp_path))


def test_something_else_is_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Notes\n")
    with pytest.raises(Failure, match=r"a\.md is no certificate of torchlint"):
        verify(tmp_path / "a.md", tmp_path)
    assert 2 == cli.main(["certificate", "verify", str(tmp_path / "b.md")])


def finding(verdict: str = "") -> Finding:
    evidence = Evidence(verdict, "") if verdict else None  # type: ignore[arg-type]
    return Finding("train.py", 3, 1, 3, 9, "TL101", "item-in-hot-loop", "it waits", "warning", evidence=evidence)


class TestStatus:
    """The rules of docs/certificates.md."""

    @pytest.mark.parametrize(
        ("found", "failing", "errors", "status"),
        [
            ([], False, 0, "ADVISORY_ONLY"),
            ([finding()], False, 0, "ADVISORY_ONLY"),
            ([finding()], True, 0, "REQUIRES_REMEDIATION"),
            ([], False, 1, "NEEDS_FURTHER_REVIEW"),
        ],
    )
    def test_without_a_run_it_advises_at_best(
        self, found: list[Finding], failing: bool, errors: int, status: str
    ) -> None:
        assert status == of_findings(found, failing, errors, traced=False).status

    @pytest.mark.parametrize(
        ("verdicts", "status"),
        [
            ((), "CONDITIONALLY_APPROVED"),
            (("refuted", "refuted"), "CONDITIONALLY_APPROVED"),
            (("refuted", "not reached"), "NEEDS_FURTHER_REVIEW"),
            (("refuted", ""), "NEEDS_FURTHER_REVIEW"),
            (("not reached", "confirmed"), "REQUIRES_REMEDIATION"),
        ],
    )
    def test_a_traced_run_judges_the_findings(self, verdicts: tuple[str, ...], status: str) -> None:
        found = list(map(finding, verdicts))
        assert status == of_findings(found, bool(found), 0, traced=True).status

    @pytest.mark.parametrize(
        ("failed", "over", "limits", "confirmed", "virtual", "status"),
        [
            ("it raised", [], 1, 0, False, "NEEDS_FURTHER_REVIEW"),
            ("", ["syncs"], 2, 0, False, "NO_GO"),
            ("", [], 2, 3, False, "GO"),
            ("", [], 2, 0, True, "CONDITIONALLY_APPROVED"),
            ("", [], 0, 3, True, "REQUIRES_REMEDIATION"),
            ("", [], 0, 0, False, "ADVISORY_ONLY"),
        ],
    )
    def test_a_traced_run_is_a_gate_where_limits_are_set(
        self, failed: str, over: list[str], limits: int, confirmed: int, virtual: bool, status: str
    ) -> None:
        assert status == of_trace(failed, over, limits, confirmed, virtual).status


LOOP = """\
import torch

def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda())
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(LOOP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestCheck:
    def test_a_check_says_what_it_found_and_for_which_files(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert 1 == cli.main(["check", "train.py", "--certificate", "held", "--select", "TL101,TL104"])
        (held,) = (project / "held").iterdir()
        assert held.name.startswith("check_train_")
        text = held.read_text()
        assert "**REQUIRES_REMEDIATION**" in text
        assert "- train.py:8\n" in text
        assert "- nothing was run\n" in text
        assert 0 == cli.main(["certificate", "verify", str(held)])
        (project / "train.py").write_text("import torch\n")
        assert 1 == cli.main(["certificate", "verify", str(held)])
        assert "train.py has changed\n" == capsys.readouterr().out.splitlines(keepends=True)[-1]

    def test_the_same_check_again_writes_another(self, project: Path) -> None:
        (project / "train.py").write_text("import torch\n")
        for folder in ("one", "two"):
            assert 0 == cli.main(["check", "train.py", "--certificate", folder])
            (held,) = (project / folder).iterdir()
            assert "**ADVISORY_ONLY**" in held.read_text()

    def test_it_is_of_what_was_judged_not_of_fixes(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert 2 == cli.main(["check", "train.py", "--fix", "--certificate", "held"])
        assert "`--certificate` is of what was judged" in capsys.readouterr().err
        assert not (project / "held").exists()

    def test_a_place_that_can_not_be_written_is_said(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert 2 == cli.main(["check", "train.py", "--certificate", "train.py"])
        assert "File exists" in capsys.readouterr().err


def test_a_review_names_the_change(project: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True)

    git("init", "-q")
    git("add", "pyproject.toml")
    git("commit", "-qm", "empty")
    git("add", "train.py")
    git("commit", "-qm", "a loop")
    command = ["review", "--base", "HEAD~1", "--certificate", "held", "--select", "TL101,TL104"]
    assert 1 == cli.main(command)
    (held,) = (project / "held").iterdir()
    assert "**REQUIRES_REMEDIATION**" in held.read_text()
    assert 0 == cli.main(["certificate", "verify", str(held)])


@pytest.mark.torch
def test_a_traced_run_without_limits_advises(project: Path) -> None:
    pytest.importorskip("torch")
    (project / "train.py").write_text(
        "import torch\nmodel = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for _ in range(3):\n    model(torch.ones(1, 2)).sum().backward()\n    optimizer.step()\n"
    )
    assert 0 == cli.main(["trace", "train.py", "--pass", "eager", "--certificate", "held"])
    (held,) = (project / "held").iterdir()
    text = held.read_text()
    assert "**ADVISORY_ONLY**" in text
    assert "- the eager pass: 3 steps" in text
    assert 0 == cli.main(["certificate", "verify", str(held)])
