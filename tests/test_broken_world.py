"""Output that is closed or full, a directory that is gone, no memory, signals: one sentence, and never the exit code of findings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

CODE = "import torch\ncontext = torch.cuda.amp.autocast()\n"
COMMAND = (sys.executable, "-m", "torchlint")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such devices, limits and signals there")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "a.py").write_text(CODE)
    return root


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def run(request: pytest.FixtureRequest, project: Path) -> Run:
    """A shell command in which `$T` is torchlint; with and without `python -u`."""

    def run(command: str, cwd: Path = project) -> subprocess.CompletedProcess[str]:
        measured = {name for name in os.environ if name.startswith("COVERAGE_")}  # it would fail to write its own files
        environment = {name: value for name, value in os.environ.items() if name not in measured}
        environment |= {"T": " ".join(COMMAND), "PYTHONUNBUFFERED": request.param}
        done = subprocess.run(
            ["bash", "-c", command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        return done

    return run


def failed(cause: str) -> str:
    return f"torchlint failed\n  Cause: {cause}\n"


class TestOutput:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
    @pytest.mark.parametrize(
        "arguments",
        [
            "check",
            "check -n",
            "check -n --output-format json",
            "check --diff",
            "check --statistics",
            "check --show-files",
            "rule TL101",
            "baseline",
        ],
    )
    def test_full(self, run: Run, arguments: str) -> None:
        done = run(f"$T {arguments} > /dev/full")
        assert (2, failed("standard output can't be written: No space left on device")) == (
            done.returncode,
            done.stderr,
        )

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
    def test_full_when_it_is_printed_again(self, run: Run) -> None:
        run("$T check; sleep 2.1; $T check")
        done = run("$T check > /dev/full")
        assert (2, failed("standard output can't be written: No space left on device")) == (
            done.returncode,
            done.stderr,
        )
        assert "Found 1 error" in run("$T check").stdout

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
    def test_a_full_place_for_messages(self, run: Run) -> None:
        assert 2 == run("$T check missing.py 2> /dev/full").returncode
        assert 1 == run("$T check 2> /dev/full").returncode

    @pytest.mark.parametrize("arguments", ["check -n", "check", "check --output-format sarif", "version", "rule --all"])
    def test_closed(self, run: Run, arguments: str) -> None:
        done = run(f"$T {arguments} >&-")
        assert (2, failed("standard output is closed")) == (done.returncode, done.stderr)
        assert 2 == run(f"$T {arguments} >&- 2>&-").returncode

    def test_closed_where_nothing_is_said(self, run: Run, project: Path) -> None:
        """Descriptors that are free are given to files: none of them may get what was meant for a stream."""
        before = (project / "a.py").read_bytes()
        done = run("$T check -q -o report.json --output-format json >&- 2>&- <&-; echo $? > code")
        assert ("", "1\n") == (done.stderr, (project / "code").read_text())
        assert (project / "report.json").read_text().startswith("[\n")
        assert before == (project / "a.py").read_bytes()

    def test_nobody_hears_the_messages(self, run: Run) -> None:
        assert run("$T check -n").stdout == run("$T check -n 2>&-").stdout

    def test_nobody_reads_on(self, run: Run) -> None:
        done = run("$T check -n | head -c 1; echo ${PIPESTATUS[0]}")
        assert ("1", "") == (done.stdout[-2:-1], done.stderr)

    def test_too_long_for_the_file_system(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text(CODE * 40)
        done = run("(ulimit -f 1; $T check -n --output-format concise > out)")
        assert (2, failed("standard output can't be written: File too large")) == (done.returncode, done.stderr)


@pytest.mark.parametrize("run", [""], indirect=True)
class TestReports:
    @pytest.mark.parametrize("there", [True, False])
    def test_are_written_whole_or_not_at_all(self, run: Run, project: Path, there: bool) -> None:
        (project / "a.py").write_text(CODE * 40)
        if there:
            (project / "report").write_text("as it was")
        done = run("(ulimit -f 1; $T check -n --output-format sarif -o report)")
        assert (2, failed("report: File too large")) == (done.returncode, done.stderr)
        assert {".git", "a.py", *(["report"] if there else [])} == set(os.listdir(project))
        assert not there or "as it was" == (project / "report").read_text()

    def test_go_where_a_link_leads(self, run: Run, project: Path) -> None:
        (project / "link").symlink_to("report")
        assert 1 == run("$T check -n --output-format json -o link").returncode
        assert (project / "link").is_symlink()
        assert (project / "report").read_text().startswith("[\n")

    def test_go_to_a_device(self, run: Run) -> None:
        done = run("$T check -n --output-format concise -o /dev/stdout | cat")
        assert done.stdout.startswith("a.py:2:11: ")
        assert 1 == run("$T check -n -o /dev/null").returncode


@pytest.mark.parametrize("run", [""], indirect=True)
class TestInput:
    def test_closed(self, run: Run) -> None:
        done = run("$T check - -n <&-")
        assert (2, "", failed("standard input is closed")) == (done.returncode, done.stdout, done.stderr)
        assert 1 == run("$T check -n <&-").returncode

    @pytest.mark.parametrize("arguments", ["check", "check -n", "check {project}", "clean", "fix"])
    def test_a_working_directory_that_is_gone(self, run: Run, project: Path, tmp_path: Path, arguments: str) -> None:
        done = run(f"mkdir gone && cd gone && rmdir ../gone && $T {arguments.format(project=project)}", cwd=tmp_path)
        cause = "the working directory is not there any more"
        assert (2, "", failed(cause)) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("run", [""], indirect=True)
class TestMemory:
    def test_too_little(self, run: Run, project: Path) -> None:
        """From where Python itself has enough, up to where a run has: either it says so, or it says what it always says."""
        (project / "a.py").write_text(CODE + "x = [" + "1, " * 100_000 + "]\n")
        expected = run("$T check -n").stdout
        enough = False
        for limit in range(20_000, 200_000, 25_000):
            done = run(f"ulimit -v {limit}; exec $T check -n")
            if done.returncode == 1 and "torchlint" not in done.stderr and not done.stdout:
                continue  # Python did not start
            if done.returncode == 1:
                assert expected == done.stdout
                enough = True
            elif done.returncode >= 0:
                assert 2 == done.returncode
                assert "" == done.stdout
        assert enough

    def test_a_file_that_takes_it_all_is_not_called_nested(self, run: Run, project: Path) -> None:
        (project / "a.py").write_text("import torch\nx = [" + "1, " * 1_000_000 + "]\n")
        done = run("ulimit -v 100000; exec $T check -n -j 1")
        assert (2, "", failed("there is not enough memory")) == (done.returncode, done.stdout, done.stderr)


class TestSignals:
    @pytest.fixture
    def long(self, project: Path) -> Path:
        """A project that takes some seconds."""
        for number in range(40):
            (project / f"m{number}.py").write_text(
                "import torch\ndef train(loader, net, opt):\n    for x in loader:\n        net(x.cuda()).backward()\n"
                "        opt.step()\n" + "        print(net(x).item())\n" * 400
            )
        return project

    @pytest.mark.parametrize("jobs", ["1", "2"])
    @pytest.mark.parametrize(
        ("number", "said"),
        [
            (signal.SIGTERM, "torchlint was ended by SIGTERM\n"),
            (signal.SIGHUP, "torchlint was ended by SIGHUP\n"),
            (signal.SIGINT, "torchlint was interrupted\n"),
        ],
    )
    def test_end_it_with_a_sentence(self, long: Path, number: int, said: str, jobs: str) -> None:
        command = [*COMMAND, "check", "-n", "-j", jobs]
        process = subprocess.Popen(
            command,
            cwd=long,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Who runs the tests by nohup ignores it.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # noqa: PLW1509 - nothing else runs here
        )
        time.sleep(1.0)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert (128 + number, "", said) == (process.returncode, out, err)

    def test_that_are_to_be_ignored_are(self, project: Path) -> None:
        command = ["nohup", *COMMAND, "check", "-n"]
        process = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=60)
        assert (1, True) == (process.returncode, "Found 1 error" in out)
