"""The parent of a traced run, and the command: neither needs torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.cli import main
from torchlint.commands.trace import failure_of
from torchlint.evidence.tracing import Child, Trace, trace
from torchlint.messages.event import Event, read_events
from torchlint.messages.job import Job, Passes
from torchlint.system.failure import Failure

Torchlint = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def torchlint(tmp_path: Path) -> Torchlint:
    """Run the command line in `tmp_path`, where torch can't be imported."""
    (tmp_path / "torch.py").write_text("raise ImportError('broken torch')\n")

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from torchlint.cli import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", code, *args],
            cwd=tmp_path,
            env={"PATH": "", "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def child(run: str = "eager", *events: Event, returncode: int = 0, killed: bool = False) -> Child:
    return Child(run, events, returncode, "", "", 3.0, killed)  # type: ignore[arg-type]


def test_the_parent_never_imports_torch(torchlint: Torchlint, tmp_path: Path) -> None:
    code = (
        "import sys; import torchlint.evidence.tracing, torchlint.evidence.confirm, torchlint.report.trace, torchlint.commands.trace;"
        "assert not {'torch', 'libcst', 'rich', 'pygments'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_without_torch_it_says_what_to_install(torchlint: Torchlint, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')\n")
    done = torchlint("trace", "train.py")

    assert (done.returncode, done.stdout) == (2, "")
    # The repository itself, on the path of `python -m pytest`, does not say where it was installed from.
    ask = "from torchlint.system import install; print(install.command('trace', 'torch'))"
    command = subprocess.run(
        [sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert f"torch can't be imported (broken torch). A traced run needs it: {command}" in done.stderr


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["train.py"], "train.py: no such script (a function is written pkg.module:function, a module -m pkg.module)"),
        (["a:b", "--lr", "3"], "unknown option --lr; the program's own arguments come after --: -- --lr 3"),
        (["--target", "H100", "a:b"], "'H100' is no GPU architecture; write sm_90, sm_80, ..."),
        (["a:b", "--steps", "0"], "argument --steps: '0' is not a whole number above 0"),
        (["a:b", "--seconds", "inf"], "argument --seconds: 'inf' is not a time above 0"),
        (["a:b", "--step-at", "train.py"], "argument --step-at: 'train.py' is no line; write FILE:LINE, such as"),
        (["a:b", "--step-at", "none.py:3"], "argument --step-at: none.py: no such file"),
    ],
)
def test_bad_arguments_are_named(torchlint: Torchlint, args: list[str], reason: str) -> None:
    done = torchlint("trace", *args)

    assert done.returncode == 2
    assert reason in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--steps", "3", "train.py", "--", "--lr", "1", "--", "x"],
        ["train.py", "--steps", "3", "--", "--lr", "1", "--", "x"],
    ],
)
def test_options_stand_before_or_after_the_entry(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[Job] = []

    def record(job: Job, *_: object) -> None:
        jobs.append(job)
        raise Failure("enough")

    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torchlint.evidence.tracing.trace", record)
    assert main(["trace", *args]) == 2
    assert [(job.entry, job.args, job.steps) for job in jobs] == [("train.py", ("--lr", "1", "--", "x"), 3)]


def test_all_that_follows_the_dashes_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Job] = []

    def record(job: Job, *_: object) -> None:
        jobs.append(job)
        raise Failure("enough")

    monkeypatch.setattr("torchlint.evidence.tracing.trace", record)
    main(["trace", "pkg:make", "--", "--steps", "3"])

    assert [(job.entry, job.args, job.steps) for job in jobs] == [("pkg:make", ("--steps", "3"), 8)]


def test_a_file_that_can_not_be_written_is_known_before_the_run(torchlint: Torchlint, tmp_path: Path) -> None:
    done = torchlint("trace", "a:b", "--events", "nowhere/events.jsonl")

    assert (done.returncode, done.stderr) == (
        2,
        "torchlint failed\n  Cause: nowhere/events.jsonl: No such file or directory\n",
    )


def test_a_child_that_leaves_no_event_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho out\necho broken >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    traced = trace(Job("train.py", (), "eager", ""))

    assert [one.run for one in traced.children] == ["eager"]
    assert traced.children[0].end == Event("end", name="died", detail="exit code 3")
    assert (traced.children[0].output, traced.children[0].errors) == ("out\n", "broken\n")
    assert not traced.observed


def test_what_a_child_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {tmp_path}/pid\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    trace(Job("train.py", (), "eager", ""), "eager")
    pid = (tmp_path / "pid").read_text().strip()
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert state.stdout.strip()[:1] in {"", "Z"}


@pytest.mark.parametrize(
    ("one", "name", "detail"),
    [
        (child("eager", Event("end", name="finished")), "finished", ""),
        (child(returncode=-11), "died", "SIGSEGV"),
        (child(returncode=-9, killed=True), "killed", "it did not stop, and was killed after 3 seconds"),
        (child(returncode=-200), "died", "signal 200"),
    ],
)
def test_how_a_child_ended(one: Child, name: str, detail: str) -> None:
    assert (one.end.name, one.end.detail) == (name, detail)


def test_each_pass_tells_its_own_kinds() -> None:
    events = (Event("sync"), Event("graph_break"), Event("step", step=1), Event("error"))
    traced = Trace(Job("train.py", (), "eager", ""), (child("eager", *events), child("compile", *events)))

    assert [event.kind for event in traced.events] == ["sync", "step", "error", "graph_break", "error"]


def test_a_job_survives_its_file() -> None:
    job = Job("train.py", ("--lr", "3"), "compile", "/tmp/events", watch={"/train.py": (1, 2)}, keep="/tmp/keep")
    read = Job.from_json(job.to_json())

    assert (read.args, read.keep, {k: tuple(v) for k, v in read.watch.items()}) == (job.args, job.keep, job.watch)


def test_repeats_are_added_up_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    first = Event("sync", "/train.py", 3, name="item", count=1, size=4, data={"via": "x"})
    rest = Event("sync", "/train.py", 3, name="item", count=2, size=8, data={"via": "x"})
    other = Event("sync", "/train.py", 3, name="item", step=1)
    path = tmp_path / "events.jsonl"
    path.write_text("".join(event.to_json() + "\n" for event in (first, rest, other)) + other.to_json()[:20])

    assert read_events(path) == [Event("sync", "/train.py", 3, name="item", count=3, size=12, data={"via": "x"}), other]


def test_an_event_is_written_without_what_it_has_not() -> None:
    full = Event("h2d", "/t.py", 3, "f", "to", "pinned", 2, 8, 1, {"via": "x"}, ("/t.py:3 f",))
    empty = Event("end")

    assert Event.from_json(full.to_json()) == full
    assert Event.from_json(empty.to_json()) == empty
    assert empty.to_json() == '{"kind": "end", "line": 0, "count": 1, "size": 0, "step": 0}'


def test_another_file_is_no_file_of_events(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"some": "thing"}) + "\n")

    with pytest.raises(ValueError, match="is not a file of torchlint events"):
        read_events(path)


# --- which passes are run ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passes", "seen", "run"),
    [
        ("auto", (Event("end", name="stopped"),), ["eager"]),
        ("auto", (Event("compiles"), Event("end", name="stopped")), ["eager", "compile"]),
        ("auto", (), ["eager", "compile"]),  # killed, and could not say
        ("both", (Event("end", name="stopped"),), ["eager", "compile"]),
        ("eager", (Event("compiles"), Event("end", name="stopped")), ["eager"]),
        ("compile", (Event("end", name="stopped"),), ["compile"]),
        ("both", (Event("end", name="no entry"),), ["eager"]),
    ],
)
def test_passes(passes: Passes, seen: tuple[Event, ...], run: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def spawn(job: Job, _tell: object) -> Child:
        return Child(job.run, (Event("start"), *seen), 0, "", "", 1.0)

    monkeypatch.setattr("torchlint.evidence.tracing._spawn", spawn)

    assert run == [child.run for child in trace(Job("train.py", (), "eager", ""), passes).children]


def test_ctrl_c_keeps_what_was_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process writes one step and sleeps; the key is pressed when it is told."""
    fake = tmp_path / "python"
    step = '{"kind": "start"}\\n{"kind": "step", "step": 1}\\n'
    fake.write_text(
        f"#!/bin/sh\nfor last; do :; done\nprintf '{step}' > $(dirname $last)/events.jsonl\nexec sleep 60\n"
    )
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    told: list[tuple[str, int]] = []

    def tell(run: str, steps: int, _seconds: float) -> None:
        told.append((run, steps))
        raise KeyboardInterrupt

    (child,) = trace(Job("train.py", (), "eager", ""), "both", tell).children

    assert [("eager", 1)] == told
    assert (1, "interrupted", "by Ctrl-C") == (child.steps, child.end.name, child.end.detail)


# --- what is said of a program that failed -----------------------------------------------------------------------

_ARGUMENTS = "its own arguments come after --, as in `torchlint trace train.py -- --epochs 1`"
_ASKED = "it asked for input, and a traced run gives none"
_STEPS = (Event("step", step=1), Event("step", step=2))
_USED = Event("operator", "train.py", 1)


def _ended(name: str, detail: str = "", code: int = 0) -> Event:
    return Event("end", name=name, detail=detail, data={"code": code})


@pytest.mark.parametrize(
    ("events", "errors", "sentence"),
    [
        ((_USED, _ended("finished")), "", ""),
        ((*_STEPS, _USED, _ended("stopped", "after 2 steps")), "", ""),
        ((_USED, _ended("exit", "sys.exit()")), "", ""),
        ((*_STEPS, _ended("exit", "sys.exit(3)", 3)), "", "the program ended with exit code 3 after 2 steps"),
        ((_ended("finished"),), "", "nothing was measured: the program ended before any step and used no tensor"),
        (
            (_USED, Event("input", "train.py", 2), _ended("exit", "sys.exit()")),
            "",
            f"the program ended before any step; {_ASKED}",
        ),
        ((*_STEPS, Event("input", "train.py", 2), _ended("finished")), "", ""),
        (
            (_ended("exit", "sys.exit(2)", 2),),
            "Usage: train.py [OPTIONS] DATA\nError: Missing argument 'DATA'.",
            f"the program ended with exit code 2 before any step; {_ARGUMENTS}",
        ),
        (
            (
                Event("error", "argv.py", 2, "", "IndexError", "IndexError: list index out of range"),
                _ended("error", "IndexError: list index out of range", 1),
            ),
            "",
            f"the program raised IndexError: list index out of range before any step; {_ARGUMENTS}",
        ),
        (
            (
                Event("error", "argv.py", 1, "", "IndexError", "IndexError: list index out of range"),
                _ended("error", "IndexError: list index out of range", 1),
            ),
            "",
            "the program raised IndexError: list index out of range before any step",
        ),
        (
            (
                Event("error", "argv.py", 1, "", "ModuleNotFoundError", "No module named 'triton.language'"),
                _ended("error", "ModuleNotFoundError: No module named 'triton.language'", 1),
            ),
            "",
            (
                "the program raised ModuleNotFoundError: No module named 'triton.language' before any step; "
                "pip install triton: it needs neither a GPU nor a driver to be read"
            ),
        ),
    ],
)
def test_one_sentence_says_why_a_program_was_not_measured(
    events: tuple[Event, ...], errors: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "argv.py").write_text("import sys\nepochs = int(sys.argv[1])\n")
    code = int(str((events[-1].data or {})["code"]))
    child = Child("eager", events, code, "", errors, 1.0)

    assert sentence == failure_of(Trace(Job("train.py", (), "eager", ""), (child,)))
