"""Which files are looked at."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torchlint.settings import discover as discovery
from torchlint.settings.config import Settings
from torchlint.settings.discover import ProjectFiles, discover, excluded
from torchlint.settings.home import project_root
from torchlint.settings.keys import EXCLUDE

SETTINGS = Settings(frozenset(), frozenset(), root=Path("/"))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, no git repository."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


def plant(*paths: str) -> None:
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(*paths: str, **changes: Any) -> list[str]:
    settings = replace(SETTINGS, root=Path.cwd(), **changes)
    result = discover(paths or ["."], settings)
    assert () == result.warnings
    return [path.as_posix() for path in result.files]


def errors(*paths: str) -> list[str]:
    return [str(error) for error in discover(paths, replace(SETTINGS, root=Path.cwd())).errors]


class TestWalk:
    def test_takes_python_files_in_order(self) -> None:
        plant("b.py", "a.pyi", "c/z.py", "c/a.py", "README.md", "a.pyc", "py", "x.PY")
        assert ["a.pyi", "b.py", "c/a.py", "c/z.py"] == found()

    def test_leaves_out_what_is_not_the_projects(self) -> None:
        plant(*(f"{name}/a.py" for name in (".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist")))
        plant("deep/site-packages/a.py", "deep/.tox/a.py", "deep/.mypy_cache/a.py", "building/a.py")
        assert ["building/a.py"] == found()

    def test_a_directory_named_like_a_file_is_a_directory(self) -> None:
        plant("x.py/y.py")
        assert ["x.py/y.py"] == found()
        assert ["x.py/y.py"] == found("x.py")

    def test_links_to_directories_are_not_followed(self) -> None:
        plant("a/x.py")
        Path("a/loop").symlink_to("..")
        Path("b").symlink_to("a")
        assert ["a/x.py"] == found()

    def test_a_linked_file_is_taken_once(self) -> None:
        plant("b.py", "build/out.py")
        Path(".git").mkdir()
        Path("a.py").symlink_to("b.py")
        Path("c.py").symlink_to("build/out.py")
        Path("d.py").symlink_to("build/out.py")
        Path("broken.py").symlink_to("gone")
        assert ["b.py", "c.py"] == found()

    @pytest.mark.parametrize("target", ["../outside.py", "/etc/passwd", "/proc/self/environ", "chain.txt"])
    def test_a_link_out_of_the_project_is_told_and_left_out(self, target: str, project: Path) -> None:
        plant("a.py", "../outside.py")
        Path("pyproject.toml").touch()
        Path("chain.txt").symlink_to("../outside.py")
        Path("link.py").symlink_to(target)
        for start in (".", str(project)):
            result = discover([start], replace(SETTINGS, root=Path.cwd()))
            assert ["a.py"] == [str(path) for path in result.files]
            assert ("link.py: the link leads out of the project and was not followed",) == result.warnings

    def test_a_link_up_into_the_same_project(self) -> None:
        plant("shared/x.py", "sub/a.py")
        Path(".git").mkdir()
        Path("sub/x.py").symlink_to("../shared/x.py")
        assert ["sub/a.py", "sub/x.py"] == found("sub")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
    def test_what_is_no_regular_file_is_left_out(self) -> None:
        plant("a.py")
        os.mkfifo("pipe.py")
        Path("zero.py").symlink_to("/dev/zero")
        Path("to_pipe.py").symlink_to("pipe.py")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket.py")
            assert ["a.py"] == found()
            for name in ("pipe.py", "zero.py", "to_pipe.py", "socket.py"):
                assert [f"{name}: not a regular file"] == errors(name)

    def test_an_empty_path_is_no_directory(self) -> None:
        plant("a.py")
        assert ['"": an empty path names no file'] == errors("")
        assert ["a.py"] == found("", "a.py")

    def test_nothing_is_found_in_an_empty_directory(self) -> None:
        assert [] == found()

    def test_an_unreadable_directory_is_a_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plant("a/x.py", "b/y.py")
        real = os.scandir

        def scandir(path: str) -> Any:
            if path == "a":
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, "scandir", scandir)
        result = discover(["."], replace(SETTINGS, root=Path.cwd()))
        assert ["b/y.py"] == [str(path) for path in result.files]
        assert ("a: Permission denied; nothing in it was looked at",) == result.warnings


class TestArguments:
    def test_a_named_file_is_taken_whatever_it_is(self) -> None:
        plant("script", "build/a.py")
        assert ["script", "build/a.py"] == found("script", "build/a.py", "build")

    def test_each_file_once_in_the_order_of_the_arguments(self) -> None:
        plant("a/x.py", "b/y.py")
        assert ["b/y.py", "a/x.py"] == found("b", "./a/x.py", ".", str(Path.cwd() / "b" / "y.py"))

    def test_paths_below_the_working_directory_are_relative(self, tmp_path: Path) -> None:
        plant("a.py")
        (tmp_path / "other.py").touch()
        assert ["a.py", "../other.py"] == found(str(Path.cwd()), "../other.py")

    @pytest.mark.parametrize("path", ["gone", "gone.py", "gone/deep.py"])
    def test_a_missing_path_is_told_and_the_others_are_found(self, path: str) -> None:
        plant("a.py")
        assert [f"{path}: No such file or directory"] == errors(path)
        result = discover([path, "a.py"], replace(SETTINGS, root=Path.cwd()))
        assert [Path("a.py")] == list(result.files)

    def test_a_file_and_links_to_it_are_one(self, tmp_path: Path) -> None:
        plant("a.py", "d/x.py", "../outside.py")
        Path("link.py").symlink_to("a.py")
        Path("l").symlink_to("d")
        assert (
            ["a.py"]
            == found("a.py", "link.py")
            == found("link.py", "a.py")
            == found("a.py", str(Path.cwd() / "link.py"))
        )
        assert ["a.py", "d/x.py"] == found("link.py", ".")
        assert ["d/x.py"] == found("d", "l") == found("d/x.py", "l/x.py") == found("l/x.py", "d")
        assert ["l/x.py"] == found("l", "d") == found("l")

    def test_a_named_link_is_followed_wherever_it_leads(self, tmp_path: Path) -> None:
        plant("../outside.py", "../folder/x.py")
        Path("pyproject.toml").touch()
        Path("link.py").symlink_to(tmp_path / "outside.py")
        Path("l").symlink_to("../folder")
        assert ["link.py"] == found("link.py")
        assert ["l/x.py"] == found("l")

    def test_a_broken_link_fails(self) -> None:
        Path("link.py").symlink_to("gone")
        assert ["link.py: the link leads nowhere"] == errors("link.py")


class TestExclude:
    def test_patterns(self) -> None:
        plant("a.py", "old/a.py", "gen/a.py", "gen/b_pb2.py", "deep/gen/c_pb2.py", "deep/old/x.py")
        assert ["a.py", "gen/a.py"] == found(exclude=("old", "*_pb2.py"))
        assert ["a.py", "deep/gen/c_pb2.py", "deep/old/x.py", "old/a.py"] == found(exclude=("gen/*.py",))
        assert ["a.py", "gen/a.py", "gen/b_pb2.py"] == found(exclude=("deep/", "/old"))

    def test_a_file_name(self) -> None:
        plant("a.py", "b/a.py", "b/c.py")
        assert ["b/c.py"] == found(exclude=("a.py",))

    def test_force_exclude_reaches_named_paths(self) -> None:
        plant("build/deep/a.py", "gen/b_pb2.py", "c.py")
        named = ("build/deep/a.py", "build/deep", "gen/b_pb2.py", "c.py")
        assert ["build/deep/a.py", "gen/b_pb2.py", "c.py"] == found(*named, exclude=(*EXCLUDE, "*_pb2.py"))
        assert ["c.py"] == found(*named, exclude=(*EXCLUDE, "*_pb2.py"), force_exclude=True)

    def test_a_name_can_be_asked_for(self) -> None:
        settings = replace(SETTINGS, root=Path.cwd())
        assert (True, False) == (excluded("build/a.py", settings), excluded("a.py", settings))


class TestGitignore:
    @pytest.fixture(autouse=True)
    def repository(self, project: Path) -> None:
        (project / ".git" / "info").mkdir(parents=True)

    def test_is_respected_at_every_level(self) -> None:
        plant("a.py", "data/x.py", "sub/a.py", "sub/keep.py", "sub/gen/y.py", "sub/deep/gen/z.py")
        Path(".gitignore").write_text("# comment\n\n/a.py\ndata/\n")
        Path("sub/.gitignore").write_text("/gen\n")
        assert ["sub/a.py", "sub/deep/gen/z.py", "sub/keep.py"] == found()

    def test_the_deeper_file_decides(self) -> None:
        plant("gen_a.py", "sub/gen_a.py", "sub/gen_b.py")
        Path(".gitignore").write_text("gen_*.py\n")
        Path("sub/.gitignore").write_text("!gen_a.py\n")
        assert ["sub/gen_a.py"] == found()

    def test_files_above_the_argument_count(self) -> None:
        plant("sub/a.py", "sub/b.py")
        Path(".gitignore").write_text("b.py\n")
        assert ["sub/a.py"] == found("sub")

    def test_a_named_path_is_taken_though_ignored(self) -> None:
        plant("sub/a.py", "b.py")
        Path(".gitignore").write_text("sub/\nb.py\n")
        assert ["sub/a.py", "b.py"] == found("sub", "b.py")
        assert [] == found()

    def test_info_exclude_counts(self) -> None:
        plant("a.py", "b.py")
        Path(".git/info/exclude").write_text("b.py\n")
        assert ["a.py"] == found()

    def test_a_repository_within_starts_afresh(self) -> None:
        plant("inner/.git/HEAD", "inner/b.py", "inner/c.py", "b.py")
        Path(".gitignore").write_text("b.py\n")
        Path("inner/.gitignore").write_text("c.py\n")
        assert ["inner/b.py"] == found()

    def test_can_be_switched_off(self) -> None:
        plant("a.py")
        Path(".gitignore").write_text("a.py\n")
        assert ["a.py"] == found(respect_gitignore=False)

    def test_odd_bytes_do_no_harm(self) -> None:
        plant("a.py", "b.py")
        Path(".gitignore").write_bytes(b"\xff\xfe\nb.py\n")
        assert ["a.py"] == found()


def test_gitignore_is_nothing_outside_a_repository() -> None:
    plant("a.py")
    Path(".gitignore").write_text("a.py\n")
    assert ["a.py"] == found()


class TestProject:
    @pytest.mark.parametrize("mark", ["pyproject.toml", "torchlint.toml", ".torchlint.toml", ".git"])
    def test_the_root_is_the_nearest_marked_directory(self, project: Path, mark: str) -> None:
        (project / mark).touch()
        below = project / "a" / "b"
        below.mkdir(parents=True)
        assert project == project_root(below)

    def test_nothing_marked_is_no_project(self, project: Path) -> None:
        assert project_root(project) is None

    def test_the_home_directory_is_no_project(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / ".git").mkdir()
        (project / "a").mkdir()
        monkeypatch.setenv("HOME", str(project))
        assert project_root(project / "a") is None

    def test_the_other_files_are_those_not_linted(self, project: Path) -> None:
        plant("a.py", "b.py", "c/d.py")
        others = ProjectFiles(project, [Path("b.py")], replace(SETTINGS, root=project))
        assert (2, ["a.py", "c/d.py"]) == (len(others), [str(path) for path in others])

    def test_they_can_be_indexed(self, project: Path) -> None:
        plant("a.py", "b.py", "c.py")
        others = ProjectFiles(project, [Path("b.py")], replace(SETTINGS, root=project))
        assert (Path("c.py"), (Path("a.py"),)) == (others[1], others[:1])

    def test_nobody_walks_before_they_are_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(discovery, "discover", None)
        ProjectFiles(Path("/"), [], SETTINGS)

    def test_without_a_project_there_are_none(self) -> None:
        assert [] == list(ProjectFiles(None, [], SETTINGS))
