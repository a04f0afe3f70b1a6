"""What is ignored is what git ignores, and nobody waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from torchlint.settings.config import Settings
from torchlint.settings.discover import discover
from torchlint.settings.gitignore import Ignores

NAMES = ("a.py", "b.py", "ab.py", "a b.py", "[a].py", "x-z.py", "a\\b.py", "#a.py", "!a.py", "é.py", "*.py")
FOLDERS = ("", "a", "b", "a/b", "a/b/a", "build", "ab")
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
posix = pytest.mark.skipif(os.name == "nt", reason="no such names there")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of the names in all of the folders."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    for folder in FOLDERS:
        (root / folder).mkdir(exist_ok=True)
        for name in NAMES:
            (root / folder / name).touch()
    return root


def by_git(root: Path) -> list[str]:
    command = ["git", "ls-files", "-z", "--others", "--exclude-standard", "--", "*.py"]
    out = subprocess.run(command, cwd=root, capture_output=True, check=True, env={**os.environ, **GIT}).stdout
    return sorted(os.fsdecode(path) for path in out.split(b"\0") if path)


def by_torchlint(root: Path) -> list[str]:
    found = discover([root], Settings(frozenset(), frozenset(), exclude=(), root=root))
    return sorted(str(path.relative_to(root)) for path in found.files)


PIECES = st.sampled_from(
    ["a", "b", "ab", "*", "?", "[ab]", "[!a]", "[a-c]", "[z-a]", "[]-a]", "[[:alpha:]]", "\\a", "\\*", ".py", "é"]
)
PART = st.one_of(
    st.lists(PIECES, min_size=1, max_size=4).map("".join), st.just("**"), st.sampled_from(["build", "a b.py", "*.py"])
)
LINE = st.builds(
    lambda sign, root, parts, end: f"{sign}{root}{'/'.join(parts)}{end}",
    st.sampled_from(["", "", "", "!", "\\!", "#", "\\#"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PART, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "\\ ", "\\", "/**", "\r"]),
)


@posix
@settings(max_examples=50, deadline=None)
@given(top=st.lists(LINE, max_size=4), below=st.lists(LINE, max_size=2))
@example(top=["\\", "a\\", "[", "[z-a].py", "[[:foo:]].py", "!", "/", "//", "***/a.py", "**"], below=[])
@example(top=["*.py", "!a.py", "a/**/a.py", "/b/"], below=["!b.py", "a"])
@example(top=["\\#a.py", "\\!a.py", "a b.py  ", "a\\\\b.py", "[[]a].py", "[é].py", "?.py", "??.py"], below=[])
@example(top=["*", "!*/", "!a.py"], below=["**/b", "a/**"])
def test_what_git_ignores_is_ignored(repository: Path, top: list[str], below: list[str]) -> None:
    (repository / ".gitignore").write_bytes("\n".join(top).encode() + b"\n")
    (repository / "a" / ".gitignore").write_bytes("\n".join(below).encode())
    assert by_git(repository) == by_torchlint(repository)


@posix
def test_bytes_that_are_no_text(repository: Path) -> None:
    odd = os.fsdecode(b"\xff.py")
    (repository / odd).touch()
    try:
        for line in (b"\xff.py", b"[\xff].py", b"\xfe.py", b"*\xff*"):
            (repository / ".gitignore").write_bytes(b"\xef\xbb\xbf" + line + b"\n")
            (repository / "a" / ".gitignore").write_bytes(b"")
            assert by_git(repository) == by_torchlint(repository)
    finally:
        (repository / odd).unlink()


@pytest.mark.parametrize(
    "line",
    [
        "*a" * 40 + "\\b",
        "*a" * 40 + "b",
        "*a*" * 100 + "b",
        "*?" * 100 + "b",
        "*[ab]" * 60 + "c",
        "**/" * 60 + "*a" * 40 + "b",
        "**/a/" * 40 + "b",
        "*" * 200 + "b",
        "!" + "*a" * 40 + "/b",
        "[" * 200,
        "[a-" * 100,
    ],
)
def test_stars_cost_no_time(line: str) -> None:
    """A second is a thousand times more than it takes; a naive translation takes years."""
    ignores = Ignores("/p", [line])
    name = "a" * 250 + ".py"
    path = "/p/" + "a/" * 1500 + name
    started = time.perf_counter()
    for is_directory in (True, False):
        assert not ignores.verdict(path, name, is_directory)
    assert not ignores.covers(path, False)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("name", ["b.py", "build"])
def test_plain_lines_need_no_regular_expression(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ignores = Ignores("/p", ["*.pyc", "build/", "/b.py", "a/**/c"])
    monkeypatch.setattr("torchlint.settings.gitignore.compiled", None)
    assert (name == "build") is bool(ignores.verdict(f"/p/x/{name}", name, True))


def test_a_name_is_matched_by_bytes_only_where_it_has_others() -> None:
    assert sys.getfilesystemencoding() == "utf-8"
    assert Ignores("/p", ["??.py"]).verdict("/p/é.py", "é.py", False)
    assert Ignores("/p", ["?.py"]).verdict("/p/é.py", "é.py", False) is None
