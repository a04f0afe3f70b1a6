"""What torchlint writes and deletes on disk is its own: a cache that lies among other files is refused, and they stay."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.cache import replay
from torchlint.cache.store import Cache
from torchlint.system import state
from torchlint.system.witness import Witness

CODE = "import torch\nscaler = torch.cuda.amp.GradScaler()\n"
"""It has one finding, TL408 or not; what counts is that something is found and can be fixed."""
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a repository with one file, beside a directory of the user's that is nobody else's business."""
    monkeypatch.delenv("TORCHLINT_CACHE_DIR", raising=False)
    root, victim = tmp_path / "repo", tmp_path / "victim"
    (root / ".git").mkdir(parents=True)
    (root / "a.py").write_text(CODE)
    victim.mkdir()
    (victim / ".gitignore").write_text("keep-me\n")
    (victim / "notes.txt").write_text("precious\n")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def tree(folder: str | Path = "..") -> dict[str, bytes | None]:
    """Every name below a directory, with what the files say."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in Path(folder).rglob("*")
    }


class TestRefused:
    @pytest.mark.parametrize(
        ("where", "why"),
        [
            (".", "the project {root} lies in it"),
            ("", "the project {root} lies in it"),
            ("..", "the project {root} lies in it"),
            ("sub/..", "the project {root} lies in it"),
            ("sub", "it holds other files (precious.txt)"),
            ("../victim", "it holds other files (.gitignore, notes.txt)"),
            ("here", "the project {root} lies in it"),
            ("there", "it is a link; name the directory that it leads to"),
            (".git", "it holds other files (HEAD)"),
        ],
    )
    def test_a_directory_with_other_files(self, run: Run, project: Path, where: str, why: str) -> None:
        (project / "sub").mkdir()
        (project / "sub" / "precious.txt").write_text("")
        (project / "here").symlink_to(".")
        (project / "there").symlink_to("../victim")
        (project / ".git" / "HEAD").write_text("")
        (project / "torchlint.toml").write_text(f'cache-dir = "{where}"\n')
        before = tree()

        directory = os.path.normpath(project / where)
        message = f"torchlint failed\n  Cause: `cache-dir` can't be {directory}: {why.format(root=project)}\n"
        for command in (["check"], ["check", "--fix"], ["clean"]):
            code, out, err = run(*command)
            assert (2, "") == (code, out)
            assert message == err

        assert before == tree()

    @pytest.mark.parametrize("option", ["--cache-dir=../victim", "TORCHLINT_CACHE_DIR"])
    def test_it_may_be_named_anywhere(self, run: Run, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
        before = tree()
        if option.startswith("--"):
            codes = run("check", option)[0], run("clean", option)[0]
        else:
            monkeypatch.setenv(option, "../victim")
            codes = run("check")[0], run("clean")[0]
        assert (2, 2) == codes
        assert before == tree()

    def test_it_does_not_matter_to_a_run_without_a_cache(self, run: Run) -> None:
        Path("torchlint.toml").write_text('cache-dir = "."\n')
        assert 1 == run("check", "-n")[0]

    def test_a_tag_does_not_make_the_project_a_cache(self, run: Run, project: Path) -> None:
        run("check")
        (project / ".torchlint_cache" / "CACHEDIR.TAG").rename("CACHEDIR.TAG")
        Path("torchlint.toml").write_text('cache-dir = "."\n')
        before = tree(project)
        assert (2, 2) == (run("check")[0], run("clean")[0])
        assert before == tree(project)

    def test_the_cache_of_another_tool(self, run: Run) -> None:
        for text in (TAG, TAG + "# This file was made by torchlint's neighbour.\n"):
            Path("../victim/CACHEDIR.TAG").write_text(text)
            Path("../victim/build.o").write_text("x")
            before = tree()
            assert (2, 2) == (run("check", "--cache-dir", "../victim")[0], run("clean", "--cache-dir", "../victim")[0])
            assert before == tree()

    def test_a_link_in_the_place_of_the_cache_is_told_and_left(self, run: Run, project: Path) -> None:
        (project / ".torchlint_cache").symlink_to("../victim")
        before = tree()
        code, out, err = run("check")
        assert (code, out) == run("check", "-n")[:2]
        why = "it is a link; name the directory that it leads to"
        assert f"warning: {project}/.torchlint_cache: {why}; nothing is kept for the next run\n" == err
        code, out, err = run("clean")
        cause = f"{project}/.torchlint_cache is a link; name the directory that it leads to"
        assert (2, "", f"torchlint failed\n  Cause: {cause}\n") == (code, out, err)
        assert before == tree()

    def test_a_link_to_a_cache_is_not_followed_either(self, run: Run) -> None:
        run("check", "--cache-dir", "../other")
        Path(".torchlint_cache").symlink_to("../other")
        before = tree()
        assert 2 == run("clean")[0]
        run("check")
        assert before == tree()

    def test_other_files_in_the_place_of_the_cache_are_told_and_left(self, run: Run, project: Path) -> None:
        (project / ".torchlint_cache").mkdir()
        (project / ".torchlint_cache" / "data.txt").write_text("precious")
        before = tree()
        code, _, err = run("check")
        assert 1 == code
        assert "it holds other files (data.txt); nothing is kept for the next run" in err
        assert (2, f"torchlint failed\n  Cause: {project}/.torchlint_cache is no cache of torchlint\n") == run("clean")[
            ::2
        ]
        assert before == tree()


class TestUsed:
    def test_an_empty_directory(self, run: Run) -> None:
        Path("cache").mkdir()
        assert (1, "") == run("check", "--cache-dir", "cache")[::2]
        assert Path("cache/CACHEDIR.TAG").exists()

    def test_one_whose_making_was_interrupted(self, run: Run) -> None:
        run("check", "--cache-dir", "cache")
        Path("cache/CACHEDIR.TAG").unlink()
        Path("cache/.torchlint-0123456789abcdef.tmp").write_text("Signature: 8a4")
        assert (1, "") == run("check", "--cache-dir", "cache", "--select", "ALL")[::2]
        assert Path("cache/CACHEDIR.TAG").exists()

    def test_a_list_of_what_git_ignores_is_never_overwritten(self, run: Run) -> None:
        run("check", "--cache-dir", "cache")
        Path("cache/.gitignore").write_text("mine\n")
        run("check", "--cache-dir", "cache", "--select", "ALL")
        assert "mine\n" == Path("cache/.gitignore").read_text()

    def test_a_link_in_the_place_of_an_entry_is_not_written_through(self, run: Run) -> None:
        run("check")
        entries = list(Path(".torchlint_cache").glob("*.entry"))
        for entry in entries:
            entry.unlink()
            entry.symlink_to("../../victim/notes.txt")
        run("check")
        assert "precious\n" == Path("../victim/notes.txt").read_text()
        assert not any(entry.is_symlink() for entry in entries)

    def test_a_pipe_in_the_place_of_an_entry_is_not_waited_for(self, run: Run) -> None:
        run("check")
        for entry in Path(".torchlint_cache").glob("*.entry"):
            entry.unlink()
            os.mkfifo(entry)
        assert (1, "") == run("check")[::2]


class TestClean:
    def test_what_torchlint_did_not_write_stays(self, run: Run, project: Path) -> None:
        run("check")
        folder = project / ".torchlint_cache"
        names = {"notes.txt", "0" * 32 + ".entry", "1" * 32 + ".entry", "my.entry", ".torchlint-mine.tmp"}
        for name in names:
            (folder / name).write_text("precious")
        (folder / "sub").mkdir()
        (folder / "sub" / ("2" * 32 + ".entry")).write_text("precious")
        (folder / ("3" * 32 + ".entry")).symlink_to("../../victim/notes.txt")
        (folder / ("4" * 32 + ".entry")).symlink_to(next(folder.glob("[!01m]*.entry")).name)
        names |= {"sub", "3" * 32 + ".entry", "4" * 32 + ".entry"}

        code, out, err = run("clean")

        assert (0, "") == (code, out)
        less = f"less what torchlint did not write: {', '.join(sorted(names))}"
        assert f"Emptied the cache at {folder}, {less}\n" == err
        assert {*names, "CACHEDIR.TAG", ".gitignore"} == set(os.listdir(folder))
        assert "precious\n" == Path("../victim/notes.txt").read_text()

    def test_an_entry_that_was_renamed_is_nobodys(self, run: Run) -> None:
        run("check")
        entry = next(Path(".torchlint_cache").glob("*.entry"))
        entry.rename(entry.with_name("0" * 32 + ".entry"))
        run("clean")
        assert ["0" * 32 + ".entry"] == [path.name for path in Path(".torchlint_cache").glob("*.entry")]

    def test_its_own_list_of_what_git_ignores_stays_if_it_was_changed(self, run: Run) -> None:
        run("check")
        Path(".torchlint_cache/.gitignore").write_text("mine\n")
        assert 0 == run("clean")[0]
        assert {".gitignore", "CACHEDIR.TAG"} == set(os.listdir(".torchlint_cache"))

    def test_entries_of_all_versions_and_users_go(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        run("check")
        name = bytes(range(16))
        old = b"torchlint cache 1\n" + name + bytes(16) + b"{}"
        Path(".torchlint_cache", name.hex() + ".entry").write_bytes(old)
        Path(".torchlint_cache", bytes(16).hex() + ".entry").write_bytes(b"")  # as a loss of power leaves it
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
        assert 0 == run("clean")[0]
        assert not Path(".torchlint_cache").exists()


class TestPruned:
    def test_only_entries_by_their_own_names(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = tmp_path / "my.entry.d" / "p"
        root.mkdir(parents=True)
        (root / "a.py").write_text(CODE)
        monkeypatch.chdir(root)
        monkeypatch.setattr("torchlint.cache.store.LIMIT", 1)
        run("check", "--cache-dir", "cache")
        names = ("old.txt", "x.entry.1", "0" * 32 + ".entry", "x.entry")
        for name in names:
            Path("cache", name).write_text("precious")
            os.utime(Path("cache", name), (1, 1))
        run("check", "--cache-dir", "cache", "--select", "ALL", "--preview")
        assert {*names, "CACHEDIR.TAG", ".gitignore"} < set(os.listdir("cache"))


class TestBelieved:
    """Only what torchlint wrote for this very user."""

    ARGUMENTS = ("check", "--output-format", "concise")
    LIE = "All checks passed!\n::error file=a.py::pwned\n\x1b]0;title\x07"

    def lie(self, directory: str | Path, witness: str) -> None:
        body = f"0 {len(witness)} {len(self.LIE)}\n{witness}{self.LIE}".encode()
        Cache(str(directory)).write(replay._key(self.ARGUMENTS), body)

    def witness(self) -> str:
        seen = Witness()
        seen.file("a.py")
        seen.above(["a.py"])
        text = seen.text()
        assert text is not None
        return text

    def test_what_another_user_wrote_is_not(self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        honest = run(*self.ARGUMENTS, "-n")
        with monkeypatch.context() as other:
            other.setenv("XDG_STATE_HOME", str(tmp_path / "attacker"))
            self.lie(".torchlint_cache", self.witness())
            assert (0, self.LIE, "") == run(*self.ARGUMENTS)
        assert honest == run(*self.ARGUMENTS)

    def test_findings_that_another_user_took_out_are_found(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        with monkeypatch.context() as other:
            other.setenv("XDG_STATE_HOME", str(tmp_path / "attacker"))
            run(*self.ARGUMENTS)
        for entry in Path(".torchlint_cache").glob("*.entry"):
            data = entry.read_bytes()
            entry.write_bytes(data.replace(b"TL", b"XX"))
        assert run(*self.ARGUMENTS, "-n") == run(*self.ARGUMENTS)

    def test_an_entry_under_another_name_is_not(self, run: Run) -> None:
        run(*self.ARGUMENTS)
        run("check", "--select", "TL001", "--output-format", "concise")
        entries = sorted(Path(".torchlint_cache").glob("*.entry"))
        data = [entry.read_bytes() for entry in entries]
        for entry, other in zip(entries, [*data[1:], data[0]], strict=True):
            entry.write_bytes(data[0][:18] + bytes.fromhex(entry.stem) + other[34:])
        assert run(*self.ARGUMENTS, "-n") == run(*self.ARGUMENTS)

    def test_no_cache_above_the_project_is_read(self, run: Run, project: Path) -> None:
        (project / "sub").mkdir()
        (project / "sub" / "a.py").write_text(CODE)
        for here in (project, project / "sub"):
            os.chdir(here)
            honest = run(*self.ARGUMENTS, "-n")
            for above in (project.parent, project.parent.parent):
                self.lie(above / ".torchlint_cache", self.witness())
            assert honest == run(*self.ARGUMENTS)

    def test_without_a_project_only_the_working_directory_counts(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = tmp_path / "plain" / "deep"
        here.mkdir(parents=True)
        (here / "a.py").write_text(CODE)
        monkeypatch.chdir(here)
        self.lie("../.torchlint_cache", self.witness())
        assert run(*self.ARGUMENTS, "-n") == run(*self.ARGUMENTS)

    @pytest.mark.parametrize("witness", ["0 0 0 0", "0 0 0 1\n1\ta.py", "0 0 1 0\n\t."])
    def test_a_run_that_looked_at_nothing_is_not(self, run: Run, witness: str) -> None:
        self.lie(".torchlint_cache", witness)
        assert run(*self.ARGUMENTS, "-n") == run(*self.ARGUMENTS)


class TestKey:
    """Without a key there is no cache, and nobody is bothered."""

    def no_cache(self, run: Run, why: str) -> None:
        code, _, err = run("check")
        assert (1, "") == (code, err)
        assert not Path(".torchlint_cache").exists()
        assert f"Nothing is kept for the next run: {why}.\n" in run("check", "-v")[2]

    def test_it_is_the_users_alone(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        run("check")
        folder = tmp_path / "state" / "torchlint"
        assert (0o700, 0o600) == (folder.stat().st_mode & 0o777, (folder / "key").stat().st_mode & 0o777)
        assert 32 == (folder / "key").stat().st_size
        assert ["key"] == [name for name in os.listdir(folder) if name != "unfinished"]

    def test_a_home_that_is_not_there(self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
        self.no_cache(run, f"there is no home directory '{tmp_path}/nobody'")
        assert not (tmp_path / "nobody").exists()

    def test_a_home_that_is_relative(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setenv("HOME", ".")
        self.no_cache(run, "there is no home directory '.'")

    def test_a_home_in_the_project(self, run: Run, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(project / "home"))
        self.no_cache(run, f"{project}/home/torchlint, where its key would be, lies in the project {project}")

    def test_a_home_in_another_repository(self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "else" / ".git").mkdir(parents=True)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "else" / "home"))
        self.no_cache(
            run, f"{tmp_path}/else/home/torchlint, where its key would be, lies in the project {tmp_path}/else"
        )

    @pytest.fixture
    def dotfiles(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        """A home that is a repository."""
        (tmp_path / ".git").mkdir()
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        return tmp_path

    @pytest.mark.parametrize("mark", [".git", "pyproject.toml", "setup.py"])
    def test_a_home_that_is_a_repository_with_the_project_in_it(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, dotfiles: Path, mark: str
    ) -> None:
        inner = dotfiles / "work" / "package"
        inner.mkdir(parents=True)
        (inner / "a.py").write_text(CODE)
        (inner.parent / mark).touch()
        monkeypatch.chdir(inner)
        assert (1, "") == run("check")[::2]
        assert (inner.parent / ".torchlint_cache").exists()
        assert (dotfiles / ".local/state/torchlint/key").exists()

    def test_a_home_that_is_a_repository_and_the_project(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, dotfiles: Path
    ) -> None:
        key = f"{dotfiles}/.local/state/torchlint/key"
        inner = dotfiles / "scripts"
        inner.mkdir()
        (inner / "a.py").write_text(CODE)
        monkeypatch.chdir(inner)
        self.no_cache(run, f"{key.removesuffix('/key')}, where its key would be, lies in the project {dotfiles}")

    @pytest.fixture
    def key(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        state.key(make=True)
        return tmp_path / "state" / "torchlint" / "key"

    def test_one_that_others_can_read(self, run: Run, key: Path) -> None:
        key.chmod(0o640)
        self.no_cache(run, f"{key} can be read by others; delete it for a new one")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
    def test_one_of_another_user(self, run: Run, key: Path) -> None:
        os.chown(key, 65534, 65534)
        self.no_cache(run, f"{key} belongs to another user")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
    def test_nothing_of_ones_own_is_put_into_the_home_of_another(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "home").mkdir()
        os.chown(tmp_path / "home", 65534, 65534)
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        self.no_cache(run, f"{tmp_path}/home belongs to another user")
        assert [] == os.listdir(tmp_path / "home")

    @pytest.mark.parametrize("data", [b"", b"x" * 31, b"x" * 33])
    def test_one_of_another_length(self, run: Run, key: Path, data: bytes) -> None:
        key.write_bytes(data)
        self.no_cache(run, f"{key} is no key of torchlint; delete it for a new one")

    def test_a_link_and_a_pipe_are_none(self, run: Run, key: Path) -> None:
        key.rename(key.with_name("elsewhere"))
        key.symlink_to("elsewhere")
        assert 1 == run("check")[0]
        key.unlink()
        os.mkfifo(key, 0o600)
        self.no_cache(run, f"{key} is no key of torchlint; delete it for a new one")

    def test_a_new_one_makes_what_was_kept_worthless(self, run: Run, key: Path) -> None:
        run("check")
        key.unlink()
        first = run("check", "-n")
        assert [first, first] == [run("check"), run("check")]


def test_a_socket_beside_the_files_is_nothing_to_delete(run: Run) -> None:
    run("check")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(".torchlint_cache/s")
        assert 0 == run("clean")[0]
        assert Path(".torchlint_cache/s").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no kill -9 here")
def test_a_run_that_is_killed_leaves_nothing_that_the_next_one_leaves(project: Path) -> None:
    """Killed at some moments; then a run says what one without a cache says, and no other file is there."""
    command = [
        sys.executable,
        "-m",
        "torchlint",
        "check",
        "-j",
        "1",
        "--fix",
        "--unsafe-fixes",
        "--output-format",
        "concise",
    ]
    for delay in range(8):
        (project / "a.py").write_text(CODE * (delay + 1))
        process = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.2 + delay * 0.08)
        process.kill()
        process.wait()
        assert (project / "a.py").read_text() in (
            CODE * (delay + 1),
            (CODE * (delay + 1)).replace("torch.cuda.amp.GradScaler()", 'torch.amp.GradScaler("cuda")'),
        )
    subprocess.run(command, cwd=project, capture_output=True, check=False)
    names = set(os.listdir(project / ".torchlint_cache"))
    assert {"a.py", ".git", ".torchlint_cache"} == set(os.listdir(project))
    assert {"CACHEDIR.TAG", ".gitignore"} == {name for name in names if not name.endswith(".entry")}
    assert [] == state.unfinished()
