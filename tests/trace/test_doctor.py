"""`torchlint doctor`: it proves what works, and names what doesn't and why."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.commands import doctor as command
from torchlint.system.failure import Failure
from torchlint.trace import doctor
from torchlint.trace.compiled import private

pytestmark = pytest.mark.torch

ALL_WELL = doctor.Diagnosis("3.11.7", "2.13.0", checks=(doctor.Check("recompiles", True, "with their guards", "none"),))
SOME_OFF = doctor.Diagnosis(
    "3.11.7",
    "2.99.0",
    gpu="NVIDIA H100",
    checks=(
        doctor.Check("graph breaks", True, "GB0124 at its line", "no graph break is reported"),
        doctor.Check("forward kernels", False, "ImportError: no such name", "no kernel counts"),
    ),
)
NO_TORCH = doctor.Diagnosis("3.11.7", problem="torch can't be imported: ModuleNotFoundError: No module named 'torch'")


def child(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """What the self-tests say of the torch that is installed, and their exit code."""
    process = subprocess.run(
        [sys.executable, "-m", "torchlint.trace.doctor", "--json"],
        cwd=tmp_path_factory.mktemp("doctor"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return json.loads(process.stdout), process.returncode


def test_the_answer_names_the_environment(answer: tuple[dict[str, Any], int]) -> None:
    found, _ = answer

    assert found["torch"] == torch.__version__
    assert found["problem"] == ""
    assert [check["name"] for check in found["checks"]] == [name for name, _, _ in doctor.CHECKS]


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="other versions lack capabilities")
def test_everything_works(answer: tuple[dict[str, Any], int]) -> None:
    found, code = answer

    assert [check for check in found["checks"] if not check["works"]] == []
    assert code == 0


def test_a_change_in_torch_switches_off_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(*args: Any) -> None:
        raise ImportError("no such name\nand more")

    monkeypatch.setattr(private, "lower", changed)
    checks = [check for check in doctor.CHECKS if check[0] in ("graph breaks", "forward kernels")]

    assert [doctor._check(*check) for check in checks] == [
        doctor.Check("graph breaks", True, "GB0124 at its line", "no graph break is reported"),
        doctor.Check("forward kernels", False, "ImportError: no such name", "no kernel counts"),
    ]


def test_a_torch_that_breaks_the_trace_itself_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed() -> None:
        raise AttributeError("gone")

    monkeypatch.setattr(private, "import_inductor", changed)

    assert doctor._check(*doctor.CHECKS[0]) == doctor.Check(
        "graph breaks", False, "AttributeError: gone", "no graph break is reported"
    )


def test_an_old_torch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")

    diagnosis = doctor.diagnose()

    assert diagnosis.problem == "torch 2.5.1+cpu is too old: a traced run needs 2.6 or later"
    assert diagnosis.checks == ()


def test_a_missing_torch_is_told(tmp_path: Path) -> None:
    process = child(
        "import sys; sys.modules['torch'] = None\n"
        "from torchlint.trace import doctor\n"
        "sys.exit(doctor.main(['--json']))",
        tmp_path,
    )

    assert process.returncode == 1
    assert json.loads(process.stdout)["problem"].startswith("torch can't be imported: ModuleNotFoundError: ")


# --- the command -------------------------------------------------------------------------------------------------


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the self-tests' process print this text."""

    def answering(stdout: str, code: int = 0, stderr: str = "") -> None:
        done = subprocess.CompletedProcess([], code, stdout, stderr)
        monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: done)

    return answering


def run(output_format: str = "text") -> int:
    return command.run(argparse.Namespace(output_format=output_format))


def test_what_works_is_one_line_each(answering: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answering(doctor.as_json(ALL_WELL))

    assert run() == 0
    assert capsys.readouterr().out.splitlines() == [
        "python 3.11.7",
        "torch 2.13.0",
        "GPU none: a virtual one is used",
        "works recompiles with their guards",
    ]


def test_what_is_off_says_why_and_what_is_missing(answering: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answering(doctor.as_json(SOME_OFF), code=1)

    assert run() == 1
    assert capsys.readouterr().out.splitlines() == [
        "python 3.11.7",
        "torch 2.99.0",
        "GPU NVIDIA H100",
        "works graph breaks    GB0124 at its line",
        "off   forward kernels ImportError: no such name",
        "                      without it: no kernel counts",
    ]


def test_without_torch_there_is_one_line(answering: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answering(doctor.as_json(NO_TORCH), code=1)

    assert run() == 1
    assert capsys.readouterr().out.splitlines() == [
        "python 3.11.7",
        "off: torch can't be imported: ModuleNotFoundError: No module named 'torch'",
    ]


def test_json_is_the_diagnosis(answering: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answering("noise of a library\n" + doctor.as_json(SOME_OFF), code=1)

    assert run("json") == 1
    assert capsys.readouterr().out == doctor.as_json(SOME_OFF) + "\n"


@pytest.mark.parametrize(
    ("stdout", "stderr", "reason"),
    [
        ("", "Segmentation fault\n", "exit code -11: Segmentation fault"),
        ("{", "", "exit code -11: it printed nothing"),
        ('{"python": "3.11"}', "", "exit code -11: it printed nothing"),
    ],
)
def test_self_tests_that_die_fail_the_command(stdout: str, stderr: str, reason: str, answering: Any) -> None:
    answering(stdout, code=-11, stderr=stderr)

    with pytest.raises(Failure, match=reason):
        run()


def test_self_tests_that_hang_fail_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*args: Any, timeout: float, **kwargs: Any) -> None:
        raise subprocess.TimeoutExpired("doctor", timeout)

    monkeypatch.setattr(subprocess, "run", hang)

    with pytest.raises(Failure, match="did not end within 600 seconds"):
        run()


def test_the_command_does_not_import_torch(tmp_path: Path) -> None:
    process = child("import sys, torchlint.commands.doctor\nprint('torch' in sys.modules)", tmp_path)

    assert process.stdout == "False\n"
