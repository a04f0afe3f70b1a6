"""Linting in a Dask cluster: what one process finds, also when a worker is killed on the way."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchlint import cli
from torchlint.lint import executors_dask, parallel
from torchlint.lint.parallel import Linter
from torchlint.lint.run import Result, gathered, lint_project
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.system import install
from torchlint.system.failure import Failure

distributed = pytest.importorskip("distributed")

PROJECTS = Path(__file__).parent / "projects"
SETTINGS = Settings(codes=frozenset(load()), fixable=frozenset(load()), project=PROJECTS)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two worker processes on this machine."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("workers"))  # not the directory of what is linted
    try:
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster:
            yield cluster
    finally:
        os.chdir(before)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECTS)
    monkeypatch.setattr(parallel, "_SMALLEST", 1)


def files() -> list[Path]:
    return [*sorted(path.relative_to(PROJECTS) for path in PROJECTS.rglob("*.py")), Path("gone.py")]


def told(result: Result) -> tuple[object, ...]:
    """All that a result says."""
    lines = [(f.path, result.line(f.path, f.line)) for f in result.findings]
    return (*result.findings, result.suppressed, result.files, result.errors, dict(result.checked or {}), lines)


def alone() -> Result:
    project, targets = gathered(files())
    return lint_project(project, targets, SETTINGS)


def test_the_result_is_that_of_one_process(cluster: Any) -> None:
    expected = alone()
    assert len(expected.findings) > 20
    assert told(expected) == told(Linter(scheduler=cluster.scheduler_address).lint(files(), SETTINGS))


def test_a_worker_that_is_killed_costs_nothing(cluster: Any) -> None:
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        first, *_ = client.run(os.getpid).values()
    killed: list[int] = []

    def progress(done: int, total: int) -> None:
        if 0 < done < total and not killed:
            os.kill(first, signal.SIGKILL)
            killed.append(done)

    result = Linter(scheduler=cluster.scheduler_address).lint(files(), SETTINGS, progress=progress)
    assert killed
    assert told(alone()) == told(result)


def test_nothing_of_it_is_left_in_the_cluster(cluster: Any) -> None:
    Linter(scheduler=cluster.scheduler_address).lint(files(), SETTINGS)
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        assert {} == {key: held for key, held in client.has_what().items() if held}


def test_the_command(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shutil.copytree(PROJECTS, tmp_path / "projects"))  # below `tests/` they are tests

    def ran(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(["check", "--isolated", "--no-cache", "--output-format", "json", *arguments])
        return (code, *capsys.readouterr())

    assert ran("-j", "1")[0] == 1
    assert ran("-j", "1") == ran("--executor", "dask", "--scheduler", cluster.scheduler_address)


def test_other_versions_on_a_worker(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = executors_dask.versions()
    monkeypatch.setattr(executors_dask, "versions", lambda: "Python 3.9, torchlint 7, libcst 1.8")
    with pytest.raises(Failure) as raised:
        executors_dask.Dask(cluster.scheduler_address)
    assert f"has {here}, this process Python 3.9, torchlint 7, libcst 1.8: both must have the same" in str(raised.value)


def test_a_worker_without_torchlint() -> None:
    assert "no torchlint-of-nobody" in executors_dask._telling(["torchlint-of-nobody"])()


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(executors_dask, "TIMEOUT", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    assert cli.main(["check", "--isolated", "--no-cache", "--executor", "dask", "--scheduler", address]) == 2
    assert f"Cause: the Dask scheduler at {address} can't be reached: " in capsys.readouterr().err


def test_an_address_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--isolated", "--no-cache", "--executor", "dask", "--scheduler", "nonsense://x"]) == 2
    assert "Cause: the Dask scheduler at nonsense://x can't be reached: " in capsys.readouterr().err


def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors_dask, "TIMEOUT", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(Failure, match="has no workers"),
    ):
        executors_dask.Dask(empty.scheduler_address)


def test_dask_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(Failure, match=re.escape(install.command("dask", "distributed"))):
        executors_dask.Dask("tcp://127.0.0.1:1")


@pytest.mark.parametrize("options", [["--executor", "dask"], ["--scheduler", "tcp://127.0.0.1:1"]])
def test_options_that_go_together(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert cli.main(["check", "--isolated", "--no-cache", *options]) == 2
    assert "`--executor dask` and `--scheduler ADDRESS` go together" in capsys.readouterr().err
