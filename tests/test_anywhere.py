"""The same files have the same findings: whatever directory is worked in, however they are named, and whoever asks; but for files that nothing imports."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from torchlint import check, cli
from torchlint.lint import executors, parallel
from torchlint.lsp.session import Session
from torchlint.rule import load
from torchlint.settings import config
from torchlint.settings.home import Home, around, project_root

ROOT = Path(__file__).parents[1]
PYPROJECT = """\
[project]
name = "all"
dependencies = ["torch>=2.4"]

[tool.torchlint]
select = ["ALL"]
preview = true
extend-exclude = ["programs/lessons/two/*.py"]

[tool.torchlint.per-file-ignores]
"programs/gan/*" = ["TL101"]
"""
MEASURE = """\
import torch
from vision.engine import train

def test_train(loader, model, optimizer):
    for x in loader:
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

Findings = list[dict[str, Any]]
Run = Callable[..., Findings]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of the tests, the demo, and tests among them, as one repository; a part of it is a distribution."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("tests"))) / "repository"
    shutil.copytree(ROOT / "tests/projects", top / "programs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs/demo", top / "demo", ignore=shutil.ignore_patterns("__pycache__"))
    for folder, modules in (
        ("lightning", "system"),
        ("on_the_host", "heads"),
        ("parts_of_models", "detections, heads"),
    ):
        (top / "programs" / folder / "start.py").write_text(f"import {modules}\n\nprint({modules})\n")
    (top / ".git").mkdir()
    (top / "pyproject.toml").write_text(PYPROJECT)
    (top / "programs/classifier/pyproject.toml").write_text('[project]\nname = "part"\n')
    (top / "programs/classifier/tests").mkdir()
    (top / "programs/classifier/tests/measure.py").write_text(MEASURE)
    for file in top.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    return top


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The findings that the command line reports in a directory, by the real paths of their files."""

    def ask(directory: Path, *arguments: str, cache: bool = False) -> Findings:
        monkeypatch.chdir(directory)
        options = ["--output-format", "json", *([] if cache else ["-n"])]
        code = cli.main(["check", *options, *arguments])
        out, err = capsys.readouterr()
        found: Findings = json.loads(out)
        assert (int(bool(found)), "") == (code, err)
        return placed(found)

    return ask


def placed(findings: Iterable[dict[str, Any]]) -> Findings:
    """Findings by the real paths of their files, in the order of these."""
    found = list(findings)
    for one in found:
        for place in (one, *one["related"]):
            place["filename"] = os.path.realpath(place["filename"])
    return sorted(
        found, key=lambda one: (one["filename"], one["location"]["row"], one["location"]["column"], one["code"])
    )


def below(findings: Findings, path: Path) -> Findings:
    return [one for one in findings if Path(one["filename"]).is_relative_to(path)]


@pytest.fixture(scope="module")
def expected(repository: Path) -> Findings:
    """What a process that is started in the repository says of all of it."""
    command = [sys.executable, "-m", "torchlint", "check", "-n", "-j", "1", "--output-format", "json"]
    return placed(json.loads(subprocess.run(command, cwd=repository, capture_output=True, check=False).stdout))


def files(repository: Path) -> list[Path]:
    return [path for path in sorted(repository.rglob("*.py")) if "two" not in path.parts]


def some(repository: Path) -> list[Path]:
    """Files of each kind."""
    return files(repository)[::3]


def test_there_is_enough_to_tell(expected: Findings, repository: Path) -> None:
    names = {Path(one["filename"]).relative_to(repository).as_posix() for one in expected}

    assert 30 <= len(expected)
    assert 8 <= len({one["code"] for one in expected})
    assert not any("/two/" in name for name in names)
    assert "TL101" not in {one["code"] for one in expected if "/tests/" in one["filename"]}
    assert not [one for one in expected if "gan" in one["filename"] and one["code"] == "TL101"]


# Where one stands


def test_from_above(run: Run, repository: Path, expected: Findings) -> None:
    assert expected == run(repository.parent, repository.name)
    assert expected == run(Path(repository.anchor), str(repository))


@pytest.mark.parametrize("inner", ["demo", "programs", "programs/classifier", "programs/classifier/src/vision"])
def test_from_inside(run: Run, repository: Path, expected: Findings, inner: str) -> None:
    up = "/".join([".."] * (inner.count("/") + 1))

    assert expected == run(repository / inner, up)
    assert below(expected, repository / inner) == run(repository / inner, ".")


def test_from_elsewhere(run: Run, repository: Path, expected: Findings, tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text('select = ["TL001"]\n')

    assert expected == run(tmp_path, str(repository))
    assert expected == run(tmp_path, os.path.relpath(repository, tmp_path))


# How the files are named


def test_in_another_order_and_twice(run: Run, repository: Path, expected: Findings) -> None:
    parts = [str(path.relative_to(repository)) for path in files(repository)]

    assert expected == run(repository, *reversed(parts))
    assert expected == run(repository, "programs", ".", "demo")
    assert expected == run(repository, str(repository / "demo"), "./programs/", *parts[:5])


def test_in_part(run: Run, repository: Path, expected: Findings) -> None:
    for part in ("demo", "programs", "programs/classifier", "programs/ppo"):
        assert below(expected, repository / part) == run(repository, part)
        assert below(expected, repository / part) == run(repository.parent, f"{repository.name}/{part}")


def test_one_by_one(run: Run, repository: Path, expected: Findings, tmp_path: Path) -> None:
    for path in some(repository):
        assert below(expected, path) == run(repository, str(path.relative_to(repository))), path
        assert below(expected, path) == run(tmp_path, str(path)), path


def test_through_links(run: Run, repository: Path, expected: Findings, tmp_path: Path) -> None:
    (tmp_path / "whole").symlink_to(repository)
    (tmp_path / "part").symlink_to(repository / "programs/classifier")
    (tmp_path / "file.py").symlink_to(repository / "demo/engine.py")

    assert expected == run(tmp_path, "whole")
    assert expected == run(tmp_path / "whole", ".")
    assert below(expected, repository / "demo") == run(tmp_path, "whole/demo")
    assert below(expected, repository / "programs/classifier") == run(tmp_path, "part")
    assert below(expected, repository / "programs/classifier/src") == run(tmp_path / "part", "src")
    assert below(expected, repository / "demo/engine.py") == run(tmp_path, "file.py")


def test_from_standard_input(
    run: Run, repository: Path, expected: Findings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in some(repository):
        for directory, name in ((repository, str(path.relative_to(repository))), (tmp_path, str(path))):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
            assert below(expected, path) == run(directory, "-", "--stdin-filename", name), path


# Who asks


@pytest.mark.parametrize(
    ("jobs", "kind"),
    [
        pytest.param("2", executors.Forked, marks=FORKS),
        pytest.param("4", executors.Forked, marks=FORKS),
        ("2", executors.Spawned),
    ],
)
def test_several_processes(
    run: Run, repository: Path, expected: Findings, monkeypatch: pytest.MonkeyPatch, jobs: str, kind: Any
) -> None:
    monkeypatch.setattr(parallel, "WORTH", 0)
    monkeypatch.setattr(parallel, "WORTH_HERE", 0)
    monkeypatch.setattr(parallel, "_SMALLEST", 1)
    monkeypatch.setattr(executors, "local", kind)

    assert expected == run(repository.parent, repository.name, "-j", jobs)
    assert expected == run(repository / "demo", "..", "-j", jobs)


def test_a_cache(run: Run, repository: Path, expected: Findings, tmp_path: Path) -> None:
    options = ["-j", "1", "--cache-dir", str(tmp_path / "cache")]
    places = [
        (repository, "."),
        (repository.parent, repository.name),
        (repository / "demo", ".."),
        (tmp_path, str(repository)),
    ]
    for directory, name in (*places, *places):
        assert expected == run(directory, name, *options, cache=True)
        assert below(expected, repository / "demo") == run(directory, os.path.join(name, "demo"), *options, cache=True)


def test_python(repository: Path, expected: Findings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for directory in (repository, repository / "demo", tmp_path):
        monkeypatch.chdir(directory)
        result = check(repository)
        assert [(one["filename"], one["location"]["row"], one["code"]) for one in expected] == sorted(
            (os.path.realpath(one.path), one.line, one.code) for one in result.findings
        )


def test_a_session(repository: Path, expected: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    settings = config.load(load().values(), cwd=repository)
    names = [path.relative_to(repository).as_posix() for path in files(repository)]
    session = Session(repository, settings)

    looked = session.look(names)
    glanced = {}
    for name in names:
        session.edit(name, (repository / name).read_bytes())
        glanced[name] = session.glance(name)

    for results in (looked, glanced):
        found = [(name, one.line, one.code, one.message) for name in names for one in results[name].findings]
        assert [
            (os.path.relpath(one["filename"], repository), one["location"]["row"], one["code"], one["message"])
            for one in expected
        ] == sorted(found)


@pytest.mark.parametrize("folder", [".", "programs/classifier", ".."])
def test_an_editor(repository: Path, expected: Findings, folder: str) -> None:
    pytest.importorskip("pygls")
    from torchlint.lsp.engine import Engine
    from torchlint.lsp.looked import Client

    class Listener:
        def found(self, looked: Any, *, settled: bool) -> None: ...
        def progress(self, root: Path, message: str | None) -> None: ...
        def show(self, message: str) -> None:
            raise AssertionError(message)

        def log(self, message: str) -> None:
            raise AssertionError(message)

    engine = Engine(Client("utf-16"), Listener())
    engine.start()
    directory = Path.cwd()
    try:
        engine.configure((Path(os.path.normpath(repository / folder)),), {})
        for path in some(repository):
            engine.edit(path.as_uri(), 1, path.read_bytes())
            looked = engine.submit(partial(engine.result, path.as_uri())).result(60)
            assert looked is not None
            assert [(one["location"]["row"], one["code"], one["message"]) for one in below(expected, path)] == [
                (one.line, one.code, one.message) for one in looked.findings
            ]
    finally:
        engine.end()
        os.chdir(directory)


# Places


def test_the_place_of_a_file_is_told_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = Path(os.path.realpath(tmp_path))
    (top / "a/b").mkdir(parents=True)
    (top / "a/b/c.py").touch()
    (top / "link").symlink_to(top / "a")
    (top / "link.py").symlink_to(top / "a/b/c.py")
    monkeypatch.chdir(top / "a")

    home = Home(str(top / "link"))

    assert ["b/c.py"] * 7 == [
        home("b/c.py"), home("../a/b/c.py"), home("../link/b/c.py"), home(str(top / "a/b/c.py")),
        home(str(top / "link/b/c.py")), home("../link.py"), home("b/../b/c.py"),
    ]  # fmt: skip
    assert (top / "d.py").as_posix() == home("../d.py")
    assert "b/new.py" == home("b/new.py")
    assert "/x.py" == home("/x.py")


def test_the_root_is_the_top_of_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a/pyproject.toml").touch()

    assert tmp_path / "a" == project_root(inner)
    (tmp_path / ".git").mkdir()
    assert tmp_path == project_root(inner)
    (inner / ".git").touch()
    assert inner == project_root(inner)


@pytest.mark.parametrize("name", ["setup.py", "setup.cfg"])
def test_a_distribution_without_a_repository_is_a_project_but_no_module_of_that_name(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / name).touch()
    assert tmp_path / "a" == project_root(inner)

    (inner / name).touch()
    (inner / "__init__.py").touch()
    assert tmp_path / "a" == project_root(inner)


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "requirements.txt", "environment.yml"])
def test_what_was_downloaded_without_its_repository_is_a_project_by_what_stands_beside_it(
    tmp_path: Path, name: str
) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "b" / name).touch()
    assert tmp_path / "a" / "b" == project_root(inner)

    (tmp_path / "a" / "setup.py").touch()
    assert tmp_path / "a" == project_root(inner)


def test_what_paths_lie_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = Path(os.path.realpath(tmp_path))
    (top / "a/b").mkdir(parents=True)
    (top / "link").symlink_to(top / "a/b")
    monkeypatch.chdir(top / "a")

    assert top / "a" == around([]) == around(["."]) == around(["b", "c.py"])
    assert top / "a/b" == around(["b"]) == around(["b/c.py"]) == around(["../link"]) == around(["../link", "b"])
    assert top == around(["..", "b"])
