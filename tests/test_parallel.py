"""Several processes: the same result, whoever works it out, and one file lost at most where a process dies."""

from __future__ import annotations

import faulthandler
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torchlint.lint import executors, parallel
from torchlint.lint.executors import Died, Executor, Forked, Spawned
from torchlint.lint.run import Result, gathered, lint_project
from torchlint.program import stepping
from torchlint.program.places import Subject
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.settings.keys import FORMATS
from torchlint.text.finding import Finding

PROJECTS = Path(__file__).parent / "projects"
ODD = {
    "odd/broken.py": b"import torch\ndef f(:\n",
    "odd/latin.py": b"# torch \xff\n",
    "odd/noqa.py": b"import torch\nx = torch.ones(1)  # noqa: TL101\n",
    "odd/plain.py": b"print(1)\n",
    "odd/book.ipynb": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code", "source": ["import torch\\n", "for b in l:\\n", "    loss.backward()\\n", "    opt.step()\\n", "    loss.item()\\n"], "metadata": {}, "outputs": []}]}',
}
LOOP = "import torch\nfrom other import log\nfor batch in loader:\n    loss.backward()\n    optimizer.step()\n    log(loss)\n"
CALLED = "import torch\ndevice = 'cuda'\ndef log(loss):\n    total = loss.item()\n"
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
BOTH = pytest.mark.parametrize("kind", [pytest.param(Forked, marks=FORKS), Spawned])

Kind = type[Forked] | type[Spawned]


def settings(**options: Any) -> Settings:
    return Settings(codes=frozenset(load()), fixable=frozenset(load()), **options)


def alone(files: Sequence[Path]) -> Result:
    """What one process finds."""
    project, targets = gathered(files)
    return lint_project(project, targets, settings())


def together(files: Sequence[Path], executor: Executor, jobs: int = 2, **options: Any) -> Result:
    project, targets = gathered(files)
    return parallel.lint_in(executor, jobs, project, targets, settings(), **options)


def told(result: Result) -> tuple[object, ...]:
    """All that a result says."""
    lines = [(f.path, result.line(f.path, f.line)) for f in result.findings]
    return (*result.findings, result.suppressed, result.files, result.errors, dict(result.checked or {}), lines)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: the test projects, odd files, and chunks as small as can be."""
    for path in PROJECTS.rglob("*.py"):
        copy = tmp_path / path.relative_to(PROJECTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    for name, data in ODD.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel, "_SMALLEST", 1)
    return tmp_path


def files_in(directory: Path) -> list[Path]:
    return sorted(path.relative_to(directory) for path in directory.rglob("*") if path.suffix in (".py", ".ipynb"))


# The same result


@BOTH
@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_the_result_is_that_of_one_process(small: Path, kind: Kind, jobs: int) -> None:
    files = [*files_in(small), Path("gone.py")]
    expected = alone(files)

    assert {"TL101", "TL001", "TL102"} & {finding.code for finding in expected.findings}
    assert "gone.py" in [error.path for error in expected.errors]
    assert told(expected) == told(together(files, kind(jobs), jobs))


@FORKS
@pytest.mark.parametrize("seed", range(8))
def test_neither_files_nor_their_order_nor_chunks_show(small: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    dice = random.Random(seed)
    files = files_in(small)
    chosen = dice.sample(files, dice.randint(1, len(files)))
    monkeypatch.setattr(parallel, "_SMALLEST", dice.choice((1, 1000, 5000)))
    memory = (0, None)[seed % 2]

    assert told(alone(chosen)) == told(together(chosen, Forked(3, memory), 3))


@FORKS
def test_what_other_files_say_reaches_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel, "_SMALLEST", 1)
    Path("train.py").write_text(LOOP)
    Path("other.py").write_text(CALLED)
    result = together([Path("other.py"), Path("train.py")], Forked(2))

    (finding,) = [finding for finding in result.findings if finding.code == "TL101"]
    assert ("other.py", 4, [("train.py", 3)]) == (
        finding.path, finding.line, [(one.path, one.line) for one in finding.related],
    )  # fmt: skip


def test_settings_of_paths_hold_wherever_a_worker_runs(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (small / "pyproject.toml").write_text('[project]\nname = "a"\nversion = "1"\ndependencies = ["torch>=2.4"]\n')
    some = settings(root=small.parent, per_file_ignores=((f"{small.name}/finetune/*", frozenset(load())),))
    project, targets = gathered(files_in(small))
    expected = lint_project(project, targets, some)
    sent = pickle.dumps(parallel.Shared(project, some))
    monkeypatch.chdir("/")
    there = pickle.loads(sent)

    assert "finetune" in {path.parts[0] for path in files_in(small)}
    assert expected.findings
    assert not [finding for finding in expected.findings if "finetune" in finding.path]
    assert told(expected) == told(lint_project(there.project, targets, there.settings, analysis=there.analysis))


@FORKS
def test_each_format_is_the_same_byte_for_byte(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from torchlint import cli

    known: dict[int | None, Result] = {}
    lint = parallel.Linter.lint

    def once(self: parallel.Linter, *given: Any, **options: Any) -> Result:
        """What that many processes find, which does not depend on the format."""
        if self.jobs not in known:
            known[self.jobs] = lint(self, *given, **options)
        return known[self.jobs]

    monkeypatch.setattr(parallel, "WORTH", 0)
    monkeypatch.setattr(parallel, "WORTH_HERE", 0)
    monkeypatch.setattr(parallel.Linter, "lint", once)

    def output(jobs: str, form: str) -> tuple[int, str, str]:
        code = cli.main(["check", "--isolated", "--no-cache", "--select", "ALL", "-j", jobs, "--output-format", form])
        return (code, *capsys.readouterr())

    for form in FORMATS:
        one = output("1", form)
        assert one[0] == 1
        assert one[1]
        assert [one, one] == [output("2", form), output("4", form)], form
    assert {1, 2, 4} == known.keys()


@FORKS
def test_fixing_in_several_processes(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchlint.fix.run import fix_files

    monkeypatch.setattr(parallel, "WORTH", 0)
    monkeypatch.setattr(parallel, "WORTH_HERE", 0)
    files = files_in(small)

    def fixed(jobs: int) -> dict[str, bytes]:
        lint = parallel.Linter(jobs).lint
        return dict(fix_files(files, settings(), unsafe=True, write=False, lint=lint).diffs)

    assert fixed(1)
    assert fixed(1) == fixed(2)


@pytest.mark.parametrize(
    ("targets", "several"), [(["small.py"], False), (["large.py"], True), (["small.py", "large.py"], True)]
)
def test_few_files_of_a_large_project_stay_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: list[str], several: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel, "WORTH", 3000)
    monkeypatch.setattr(parallel, "WORTH_HERE", 1000)
    shared: list[str] = []

    def noted(*given: Any) -> Result:
        shared.append("several")
        return alone(list(map(Path, targets)))

    monkeypatch.setattr(parallel, "lint_in", noted)
    for name, size in {"small.py": 100, "large.py": 1500, "other.py": 2000}.items():
        Path(name).write_text("import torch\n" + "#" * size + "\n")

    context = [Path(name) for name in ("small.py", "large.py", "other.py") if name not in targets]
    parallel.Linter(2).lint([Path(name) for name in targets], settings(), context=context)

    assert shared == ["several"] * several


def test_progress_comes_to_its_end(small: Path) -> None:
    calls: list[tuple[int, int]] = []
    files = files_in(small)
    together(files, parallel_executor(), progress=lambda done, total: calls.append((done, total)))

    assert calls[0] == (0, len(files))
    assert calls[-1] == (len(files), len(files))
    assert calls == sorted(calls)


def parallel_executor() -> Executor:
    return executors.local(2)


# Pieces of work


def test_the_pieces_of_each_process_get_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(24):
        Path(f"{number:02}.py").write_text("x = 1 \n" * 100)
    project, targets = gathered(files_in(Path()))

    chunks = parallel._Run(Forked(2).open(None), 2, project, settings(), None)._chunks(targets, 3, 700)

    assert [4, 3, 2, 1, 1, 1] * 2 == list(map(len, chunks))
    assert sorted(targets) == [path for chunk in chunks for path in chunk]


# Where processes die


def killer(path: str, how: Callable[[], object]) -> Callable[..., Result]:
    """`lint_project` that comes to an end at a file."""

    def lint(project: Any, paths: Sequence[str], *given: Any, **options: Any) -> Result:
        if path in paths:
            how()
        return lint_project(project, paths, *given, **options)

    return lint


def segmentation_fault() -> None:
    faulthandler.disable()  # it would print a traceback
    os.kill(os.getpid(), signal.SIGSEGV)


def out_of_memory() -> None:
    raise MemoryError


@FORKS
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (lambda: os._exit(3), "exit code 3"),
        (lambda: os._exit(0), "exit code 0"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal 9"),
        (segmentation_fault, "signal 11"),
        (out_of_memory, "out of memory"),
    ],
)
def test_a_death_costs_the_file_that_caused_it(
    small: Path, monkeypatch: pytest.MonkeyPatch, how: Callable[[], object], reason: str
) -> None:
    monkeypatch.setattr(parallel, "_SMALLEST", 5000)  # several files in a chunk
    files = files_in(small)
    expected = alone(files)
    path = next(finding.path for finding in expected.findings if finding.code == "TL101")
    monkeypatch.setattr(parallel, "lint_project", killer(path, how))
    result = together(files, Forked(2))

    (error,) = set(result.errors) - set(expected.errors)
    assert (path, f"could not be linted: the worker died ({reason})") == (error.path, error.message)
    assert result.checked is not None and expected.checked is not None
    others = {name: one for name, one in expected.checked.items() if name != path}
    assert others == {name: one for name, one in result.checked.items() if name != path}
    assert not [finding for finding in result.findings if finding.path == path]


@FORKS
def test_a_death_while_step_loops_are_looked_for(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.py").write_text(LOOP)
    files = files_in(small)
    expected = alone([path for path in files if path.name != "bad.py"])
    own = stepping.own_steps

    def dying(subject: Subject, path: str) -> Any:
        if path == "bad.py":
            os._exit(1)
        return own(subject, path)

    monkeypatch.setattr(stepping, "own_steps", dying)
    monkeypatch.setattr(parallel, "_LARGEST", 1 << 30)
    monkeypatch.setattr(parallel, "_SMALLEST", 1 << 30)
    dying.__qualname__ = "own_steps"
    dying.__module__ = "torchlint.program.stepping"
    result = together(files, Forked(2))

    (error,) = set(result.errors) - set(expected.errors)
    assert ("bad.py", "could not be linted: the worker died (exit code 1)") == (error.path, error.message)
    assert expected.findings == result.findings


@FORKS
def test_a_lost_file_is_told_and_ends_with_2(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from torchlint import cli

    monkeypatch.setattr(parallel, "WORTH", 0)
    monkeypatch.setattr(parallel, "WORTH_HERE", 0)
    # What runs the tests may have threads, so that it would not be forked, and a fresh process has no killer.
    monkeypatch.setattr(executors, "local", Forked)
    monkeypatch.setattr(parallel, "lint_project", killer("odd/plain.py", lambda: os.kill(os.getpid(), signal.SIGKILL)))

    assert cli.main(["check", "--isolated", "--no-cache", "-q", "-j", "2"]) == 2
    assert "error: odd/plain.py: could not be linted: the worker died (signal 9)\n" in capsys.readouterr().err


@FORKS
def test_what_is_wrong_with_torchlint_itself_is_raised(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("rules")

    monkeypatch.setattr(parallel, "lint_project", killer("odd/plain.py", broken))
    with pytest.raises(ZeroDivisionError, match="rules") as raised:
        together(files_in(small), Forked(2))
    assert "in broken" in str(raised.value.__cause__)


# Processes


def asked(executor: Executor, code: str, items: Sequence[object]) -> dict[int, object]:
    """What the code comes to for each `x` of the items."""
    workers = executor.open(code)
    try:
        with closing(workers.map(eval, [{"x": item} for item in items], [0.0] * len(items))) as answers:
            return dict(answers)
    finally:
        workers.close()


def is_there(process: int) -> bool:
    """Whether a process runs, or is a zombie."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@BOTH
def test_no_items_no_processes(kind: Kind) -> None:
    assert {} == asked(kind(3), "1 / 0", [])


@BOTH
def test_answers_know_their_items(kind: Kind) -> None:
    assert {place: place * 10 for place in range(50)} == asked(kind(3), "x * 10", range(50))


@BOTH
def test_big_items_and_answers(kind: Kind) -> None:
    assert {0: b"a" * 20_000_000, 1: b"b" * 20_000_000} == asked(
        kind(2), "x * 2", [b"a" * 10_000_000, b"b" * 10_000_000]
    )


@BOTH
def test_a_process_that_dies_is_followed_by_another(kind: Kind) -> None:
    answers = asked(kind(1), "__import__('os')._exit(7) if x == 2 else x", range(5))
    assert {0: 0, 1: 1, 2: Died("exit code 7"), 3: 3, 4: 4} == answers


@BOTH
def test_what_is_printed_is_no_answer(kind: Kind) -> None:
    assert {0: None} == asked(kind(1), "print('hello')", [0])


@BOTH
def test_an_exception_is_raised_with_its_traceback(kind: Kind) -> None:
    with pytest.raises(KeyError, match="lost") as raised:
        asked(kind(2), "{}['lost']", [0])
    assert "Traceback" in str(raised.value.__cause__)


@BOTH
def test_an_exception_that_can_not_be_sent(kind: Kind) -> None:
    code = "(_ for _ in ()).throw(ValueError(lambda: 1))"
    with pytest.raises(RuntimeError, match="ValueError: <function <lambda>"):
        asked(kind(1), code, [0])


@BOTH
def test_a_process_works_for_long(kind: Kind) -> None:
    assert 1 == len(set(asked(kind(1), "__import__('os').getpid()", range(5)).values()))


@BOTH
def test_a_process_whose_memory_fills_makes_room(kind: Kind) -> None:
    assert 5 == len(set(asked(kind(1, 0), "__import__('os').getpid()", range(5)).values()))


@BOTH
def test_no_process_is_left(kind: Kind) -> None:
    processes = asked(kind(3), "__import__('os').getpid()", range(9)).values()
    assert not any(is_there(process) for process in processes if isinstance(process, int))


@BOTH
def test_closing_ends_what_still_runs(kind: Kind) -> None:
    workers = kind(2).open("__import__('time').sleep(x) or __import__('os').getpid()")
    answers = workers.map(eval, [{"x": 0}, {"x": 600}], [0.0, 0.9])
    place, process = next(answers)
    answers.close()
    workers.close()

    assert (0, False) == (place, is_there(int(str(process))))


@BOTH
def test_neighbours_come_to_one_process(kind: Kind) -> None:
    workers = kind(2).open("__import__('time').sleep(0.3) or __import__('os').getpid()")
    try:
        rounds = [dict(workers.map(eval, [{}, {}], [0.0, 0.5])) for _ in range(3)]
    finally:
        workers.close()
    assert rounds == [rounds[0]] * 3
    assert rounds[0][0] != rounds[0][1]


@FORKS
def test_only_a_process_without_threads_forks() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        assert isinstance(executors.local(2), Spawned)
    finally:
        release.set()
        thread.join()


PROGRAM = """
import os, sys, time
from torchlint import cli
from torchlint.lint import parallel
parallel.WORTH = 0
parallel.WORTH_HERE = 0

def sleeping(*given, **options):
    with open(f"pid{os.getpid()}", "w"):
        time.sleep(600)

parallel.lint_project = sleeping
sys.exit(cli.main(["check", "--isolated", "--no-cache", "-j", "2"]))
"""


@FORKS
@pytest.mark.parametrize("whole_group", [True, False])
def test_an_interrupt_ends_all(tmp_path: Path, whole_group: bool) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import torch\n" + "x = 1\n" * 10_000)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        while len(pids := [int(path.name[3:]) for path in tmp_path.glob("pid*")]) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()

    assert (130, "torchlint was interrupted\n") == (process.returncode, errors)
    assert [False, False] == [is_there(pid) for pid in pids]


# How many


def test_small_runs_stay_in_this_process(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(LOOP)
    program = (
        "import sys\nbefore = set(sys.modules)\nfrom torchlint import cli\n"
        "cli.main(['check', '--isolated', '--no-cache', '-j', '8'])\n"
        "assert not {'torchlint.lint.executors', 'pickle', 'selectors', 'subprocess'} & (set(sys.modules) - before)"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "odd"}, None),
        ({"cpu.max": "200000 100000"}, 2),
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
    ],
)
def test_the_cpus_of_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int | None
) -> None:
    monkeypatch.setattr(parallel, "CGROUPS", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(7), raising=False)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")

    assert (expected or 7) == parallel.cpus()


@pytest.mark.parametrize("word", ["0", "-1", "two", "1.5", ""])
def test_a_number_of_processes_that_is_none(capsys: pytest.CaptureFixture[str], word: str) -> None:
    from torchlint import cli

    with pytest.raises(SystemExit) as stop:
        cli.main(["check", f"-j{word}" if word else "--jobs="])
    assert stop.value.code == 2
    assert f"{word!r} is no number from 1" in capsys.readouterr().err


def test_findings_that_begin_at_one_place_have_an_order_of_their_own() -> None:
    shorter = Finding("a.py", 1, 5, 1, 26, "TL601", "a-rule", "message", "info")
    longer = replace(shorter, end_column=37)

    assert [shorter, longer] == sorted([longer, shorter], key=lambda one: one.sort_key)
