"""A run is printed again only if it would print the same, and then it imports next to nothing."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchlint import cli
from torchlint.cache import replay
from torchlint.cache.store import Cache
from torchlint.system.witness import Witness

from .worded import WORDED

ROOT = Path(__file__).parents[1]
TRAIN = """\
import torch
from lib.helper import report

def train(net, optimizer, loader):
    for x in loader:
        loss = net(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        report(loss)
"""
HELPER = """\
import torch

total = 0.0

def report(loss):
    global total
    total += loss.item()
"""
FILES = {
    "train.py": TRAIN,
    "lib/helper.py": HELPER,
    "lib/plain.py": "x = 1\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["torch>=2.4"]\n',
}

Ran = tuple[int, str, str]
Check = Callable[..., Ran]


def put(path: str, text: str) -> None:
    """Write a file that was changed a minute ago."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    then = time.time() - 60
    os.utime(file, (then, then))


def link(path: str, to: str) -> None:
    os.unlink(path)
    os.symlink(to, path)


def directory(path: str) -> None:
    os.unlink(path)
    put(f"{path}/a.py", "import torch\n")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "above" / "project"
    root.mkdir(parents=True)
    monkeypatch.chdir(root)
    for variable in replay.ENVIRONMENT:
        if variable != "HOME":
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("torchlint.system.stamp.YOUNG", 0)  # the times of inodes can't be set back
    monkeypatch.setattr(replay, "identity", lambda: b"this torchlint")  # even if its files change meanwhile
    for path, text in FILES.items():
        put(path, text)
    return root


def check(*arguments: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(["check", "--output-format", "concise", *arguments])
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def no_run() -> Iterator[None]:
    """Nothing may be run."""

    def fail(arguments: object) -> None:
        raise AssertionError(arguments)

    before = cli._parse
    cli._parse = fail  # type: ignore[assignment]
    try:
        yield
    finally:
        cli._parse = before


def replayed(*arguments: str) -> bool:
    """Whether the run is not run; if not, what it prints is what a run without the cache prints."""
    code = None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = replay.replay(["check", "--output-format", "concise", *arguments])
    assert check("--no-cache", *arguments) == check(*arguments)
    return code is not None


def test_the_same_run() -> None:
    first = check()
    assert 1 == first[0]
    assert "lib/helper.py:7:" in first[1]
    with no_run():
        assert first == check()


def test_a_clean_run() -> None:
    put("train.py", "import torch\n")
    assert (0, "All checks passed!\n", "") == check()
    assert replayed()


def test_warnings_and_exit_codes_are_told_again() -> None:
    Path("empty").mkdir()
    check()
    first = check("empty")
    assert (0, "warning: No Python files found under the given path(s)\n") == (first[0], first[2])
    with no_run():
        assert first == check("empty")


def test_a_file_that_was_only_touched() -> None:
    check()
    os.utime("train.py")
    assert replayed()


def test_files_that_are_not_looked_at() -> None:
    check()
    put("lib/__pycache__/helper.pyc", "")
    check()
    put("lib/__pycache__/plain.pyc", "")
    assert replayed()


def test_changes_that_are_too_young_to_move_a_stamp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchlint.system.stamp.YOUNG", 10**12)
    check()
    assert replayed()
    stat = os.stat("train.py")
    Path("train.py").write_text(TRAIN.replace("report(loss)", "pass#######"))
    os.utime("train.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert not replayed()
    put("lib/new.py", "import torch\n")
    assert not replayed()


@pytest.mark.parametrize(
    "change",
    [
        lambda: put("train.py", TRAIN.replace("optimizer.step()", "pass").replace("loss.backward()", "pass")),
        lambda: put("lib/plain.py", "import torch\nx = torch.ones(3).cuda()\n"),
        lambda: put("lib/new.py", "import torch\n"),
        lambda: put("new/deep/new.py", "import torch\n"),
        lambda: os.unlink("train.py"),
        lambda: os.rename("lib/helper.py", "lib/helpers.py"),
        lambda: put("pyproject.toml", FILES["pyproject.toml"] + '[tool.torchlint]\nignore = ["TL101"]\n'),
        lambda: put("pyproject.toml", FILES["pyproject.toml"].replace("2.4", "2.12")),
        lambda: put("torchlint.toml", 'ignore = ["TL101"]\n'),
        lambda: put("requirements/dev.txt", "torch==2.1\n"),
        lambda: put("lib/requirements.txt", "torch==2.1\n"),
        lambda: put("lib/__init__.py", "import torch\nassert torch.__version__ < '2.4'\n"),
        lambda: put("lib/plain.py", "def f(:\n"),
        lambda: link("lib/plain.py", "../train.py"),
        lambda: directory("lib/plain.py"),
    ],
    ids=(
        "loop", "torch", "new", "folder", "gone", "renamed", "configured", "torch-version", "configuration", "requirements",
        "requirements-below", "package", "syntax", "link", "directory",
    ),
)  # fmt: skip
def test_changes_below(change: Callable[[], object]) -> None:
    check()
    change()
    assert not replayed()


def test_another_class_in_a_configuration() -> None:
    put("conf/net.yaml", "target: nets.Net\n")
    check()
    assert replayed()
    put("conf/net.yaml", "target: nets.Spare\n")
    assert not replayed()


@pytest.mark.parametrize("path", ["docs/install.md", "envs/gpu.yml", ".devcontainer/Dockerfile"])
def test_what_folders_that_are_left_out_say_of_torch(path: str) -> None:
    folder = Path(path).parent
    put("pyproject.toml", f'[tool.torchlint]\nexclude = ["{folder}"]\n')
    put(f"{folder}/notes", "")
    check()
    assert replayed()
    put(path, "FROM pytorch/pytorch:1.9.0\n")
    assert not replayed()


def linked(path: str, to: str) -> None:
    """What leads somewhere, instead of what was there."""
    with contextlib.suppress(OSError):
        os.unlink(path)
    os.symlink(to, path)


def piped(path: str) -> None:
    os.mkfifo(path)


def large(path: str, size: int = 300_000) -> None:
    put(path, "x" * size)


def phong(path: str) -> None:
    """What spells a word that the program has an option for, instead of what was there."""
    with contextlib.suppress(OSError):
        os.unlink(path)
    put(path, "phong\n")


@pytest.mark.parametrize(
    ("before", "change"),
    [
        (lambda: None, lambda: phong("words.md")),
        (lambda: None, lambda: phong("deep/down/words.yaml")),
        (lambda: None, lambda: phong(".github/workflows/run.yml")),
        (lambda: put("deep/a.txt", ""), lambda: phong("deep/a.txt")),
        (lambda: put("Makefile", ""), lambda: phong("Makefile")),
        (lambda: None, lambda: large("words.md")),
        (lambda: large("words.md"), lambda: phong("words.md")),
        (lambda: large("words.md"), lambda: large("words.md", 9)),
        (lambda: piped("words.md"), lambda: phong("words.md")),
        (lambda: None, lambda: linked("words.d", "../..")),
        (lambda: linked("words.md", "../beside.md"), lambda: phong("../beside.md")),
        (lambda: linked("words.d", "../beside"), lambda: phong("../beside/a.md")),
        (lambda: linked("words.d", "../beside"), lambda: phong("../beside")),
        (lambda: linked("words.d", ".."), lambda: linked("words.d", "../..")),
        (lambda: linked("words.d", ".."), lambda: os.unlink("words.d")),
    ],
    ids=(
        "new", "folder", "service", "text", "makefile", "too-large", "large", "smaller", "pipe", "linked", "dangling", "dangling-folder",
        "dangling-file", "elsewhere", "unlinked",
    ),
)  # fmt: skip
def test_texts_beside_the_files(before: Callable[[], object], change: Callable[[], object]) -> None:
    """What is said is what a run without the cache says, whatever lies beside the files now and before."""
    put("lib/worded.py", WORDED)
    before()
    check()
    replayed()
    change()
    replayed()


def test_texts_beside_the_files_that_are_as_they_were() -> None:
    put("lib/worded.py", WORDED)
    linked("words.md", "../beside.md")
    linked("words.d", "../beside")
    piped("pipe.md")
    large("large.md")
    large("weights")
    check()
    assert replayed()


def test_another_way_to_install_it() -> None:
    put("README.md", "pip install -e .\n")
    check()
    assert replayed()
    put("README.md", "pip install project\n")
    assert not replayed()


@pytest.mark.parametrize(
    "change",
    [
        lambda: put(".gitignore", "lib/helper.py\n"),
        lambda: put("lib/.gitignore", "helper.py\n"),
        lambda: put(".git/info/exclude", "helper.py\n"),
        lambda: put("../.gitignore", "helper.py\n"),
    ],
    ids=("own", "below", "exclude", "above"),
)
def test_what_git_ignores(change: Callable[[], object], project: Path) -> None:
    (project / ".git").mkdir()
    check()
    change()
    above = (project.parent / ".gitignore").exists()  # above the repository nothing counts
    assert not replayed()
    assert above is ("helper.py" in check()[1])


@pytest.mark.parametrize("name", [".git", "pyproject.toml", "torchlint.toml", "setup.py"])
def test_a_project_above(name: str, project: Path) -> None:
    (project / "pyproject.toml").unlink()
    check("lib")
    if name == ".git":
        (project.parent / name).mkdir()
    else:
        put(f"../{name}", "ignore = ['TL101']\n" if name == "torchlint.toml" else "")
    assert not replayed("lib")


@pytest.mark.parametrize("name", [name for name in replay.ENVIRONMENT if "CACHE" not in name and name != "HOME"])
def test_another_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    monkeypatch.setenv(
        name, "json" if "FORMAT" in name else os.path.abspath("out.txt") if "FILE" in name else os.getcwd()
    )
    assert replay.replay(["check", "--output-format", "concise"]) is None


def test_another_command_line() -> None:
    check("lib", "train.py")
    assert not replayed("train.py", "lib")
    assert not replayed("lib")
    assert not replayed("--select", "TL1", "lib", "train.py")


def test_another_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    check("../project")
    monkeypatch.chdir("lib")
    assert not replayed("../project")


def test_another_torchlint(monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    monkeypatch.setattr(replay, "identity", lambda: b"another")
    assert not replayed()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fix"],
        ["--diff"],
        ["--verbose"],
        ["--no-cache"],
        ["-n"],
        ["-o", "out.txt"],
        ["--add-noqa"],
        ["--config", "preview = true"],
        ["--show-files"],
        ["--show-settings"],
    ],
    ids=" ".join,
)
def test_runs_that_do_more_than_print(arguments: list[str]) -> None:
    for _ in range(2):
        check(*arguments)
    assert replay.replay(["check", "--output-format", "concise", *arguments]) is None


def test_a_configuration_that_fixes() -> None:
    put("torchlint.toml", "fix = true\n")
    check()
    assert replay.replay(["check", "--output-format", "concise"]) is None


def test_a_configuration_that_builds_on_another() -> None:
    put("base.toml", 'ignore = ["TL101"]\n')
    put("torchlint.toml", 'extend = "base.toml"\n')
    check()
    assert replay.replay(["check", "--output-format", "concise"]) is None


@pytest.mark.parametrize("look", [Witness.file, Witness.directory])
def test_what_can_not_be_read_is_not_known(look: Callable[[Witness, str], None]) -> None:
    witness = Witness()
    witness.file("train.py")
    assert witness.text() is not None
    look(witness, "gone")
    assert witness.text() is None


@pytest.mark.skipif(os.name == "nt", reason="no such names")
def test_names_that_lines_can_not_hold() -> None:
    put("lib/a\nb.py", "import torch\n")
    check()
    assert replay.replay(["check", "--output-format", "concise"]) is None


@pytest.mark.parametrize(
    "body",
    [
        b"", b"1", b"0 7 0\n0 0 0 0", b"0 9 0\n1 0 0 0\n", b"0 x 0\n", b"\xff\xfe", b"0 7 0\n9 9 9 9\n" + b"x" * 99,
        b"0 12 0\n0 0 0 1\n0\tx", b"0 15 0\n0 0 1 0\ntorch\t.",
    ],
    ids=("empty", "one", "no-witness", "none", "words", "bytes", "many", "nothing-read", "one-list"),
)  # fmt: skip
def test_an_entry_that_says_something_else(body: bytes) -> None:
    check()
    Cache(".torchlint_cache").write(replay._key(["check", "--output-format", "concise"]), body)
    assert check("--no-cache") == check()


def test_what_is_printed_depends_on_known_variables_only() -> None:
    """Every variable that is named where a run's output is made."""
    named = set()
    for path in (ROOT / "torchlint/commands" / f"{name}.py" for name in ("check", "options", "terminal")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= {node.value} if node.value.isupper() and "_" in node.value else set()
    assert named <= {*replay.ENVIRONMENT, "TERM"}
    reports = [*(ROOT / "torchlint/report").glob("*.py"), ROOT / "torchlint/lint/run.py"]
    assert [] == [path.name for path in reports if re.search(r"\benviron\b|getenv", path.read_text("utf-8"))]


EDITS = st.sampled_from(
    [
        ("train.py", TRAIN),
        ("train.py", TRAIN.replace("optimizer.step()", "pass").replace("loss.backward()", "pass")),
        ("train.py", None),
        ("lib/helper.py", HELPER),
        ("lib/helper.py", HELPER.replace("loss.item()", "loss")),
        ("lib/helper.py", HELPER.replace("loss.item()", "loss.item()  # noqa: TL101")),
        ("lib/helper.py", None),
        ("lib/new.py", "import torch\nprint(torch.ones(1).item())  # noqa\n"),
        ("lib/new.py", None),
        ("lib/requirements.txt", "torch==2.1\n"),
        ("lib/requirements.txt", None),
        (".gitignore", "helper.py\n"),
        (".gitignore", None),
        ("torchlint.toml", 'ignore = ["TL101"]\n'),
        ("torchlint.toml", None),
    ]
)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(edits=st.lists(EDITS, min_size=1, max_size=6))
def test_what_is_printed_is_always_what_a_run_prints(project: Path, edits: list[tuple[str, str | None]]) -> None:
    (project / ".git").mkdir(exist_ok=True)
    for path, text in edits:
        if text is None:
            Path(path).unlink(missing_ok=True)
        else:
            put(path, text)
        expected = check("--no-cache")
        assert [expected, expected] == [check(), check()]


def test_it_imports_next_to_nothing(project: Path) -> None:
    command = [sys.executable, "-I", "-c", "import sys; before = set(sys.modules); from torchlint import cli;"]
    command[-1] += "code = cli.main(['check']); print(code, sorted(sys.modules.keys() - before))"
    said = [subprocess.run(command, cwd=project, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    found, _, modules = said[1].rpartition("\n1 ")
    assert found == said[0].rpartition("\n1 ")[0]
    names = (
        "cache",
        "cache.replay",
        "cache.store",
        "cli",
        "system",
        *(f"system.{one}" for one in ("failure", "stamp", "state", "streams")),
    )
    own = {"torchlint", *(f"torchlint.{name}" for name in names)}
    assert own <= set(ast.literal_eval(modules)) <= own | {"_blake2", "gc"}  # coverage loads some of it before


@pytest.mark.parametrize("path", ["bin/go", "go", "deep/down/run.sh", "Makefile"])
def test_a_script_of_a_library_that_takes_an_import(path: str) -> None:
    """A library is not asked for the words of its texts, but what its scripts import counts."""
    put("setup.py", "from setuptools import setup\nsetup(name='lib', packages=['lib'])\n")
    put("requirements.txt", "torch>=2.6\n")
    put("lib/old.py", "from torch.cuda.amp import autocast\nwith autocast():\n    pass\n")
    put("bin/other", "")
    check("--output-format", "json")
    assert replayed("--output-format", "json")

    put(path, "from lib.old import autocast\n")

    assert not replayed("--output-format", "json")
