"""Only what is on changed lines; and how git's diffs are read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.system.failure import Failure
from torchlint.system.git import Repository

LOADED = """\
import torch
from torch.utils.data import DataLoader

def train(model, optimizer, dataset):
    loader = DataLoader(dataset, pin_memory=True)
    for x, y in loader:
        x = x.to("cuda")
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
"""
"""Line 7 is TL402, with a safe fix."""
ANOTHER = LOADED.replace("        loss =", '        y = y.to("cuda")\n        loss =')

ODD = [
    "with space.py", "ümlaut.py", 'quo"te.py', "tab\t.py", "sub/a b.py", 'q"é.py', "back\\slash é.py", "\a\b\n\v\f\r\x01\x7f.py",
    os.fsdecode(b'q"\xff.py'), os.fsdecode(b"\xe9 \xff.py"), "this and that.py", 'b"é and b.py', "\\377.py", "tab at end\t",
]  # fmt: skip
"""Names that git quotes, or might."""

Check = Callable[..., tuple[int, list[str]]]


def git(*arguments: str, cwd: Path | None = None) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True, cwd=cwd)


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, LOADED as train.py, on branch main."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "x")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "x@x")
    top = tmp_path / "top"
    top.mkdir()
    monkeypatch.chdir(top)
    git("init", "-q", "-b", "main")
    commit(train=LOADED)
    return top


def commit(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.py").write_text(text)
    git("add", "-A")
    git("commit", "-q", "-m", "x")


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """Run `check --diff-base main` and give its exit code and the places of what it found."""

    def run(*options: str, base: str = "main") -> tuple[int, list[str]]:
        code = cli.main(["check", "--select=TL402", f"--diff-base={base}", "--output-format=concise", "-q", *options])
        return code, [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]

    return run


class TestChangedLines:
    def test_nothing_without_a_change(self, check: Check) -> None:
        assert (0, []) == check()

    def test_nothing_on_other_lines(self, check: Check) -> None:
        Path("train.py").write_text(LOADED + "\n\nprint()\n")
        assert (0, []) == check()

    def test_a_submodule_is_compared_with_what_was_recorded_of_it(
        self, check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        library = tmp_path / "library"
        library.mkdir()
        git("init", "-q", "-b", "main", cwd=library)
        (library / "old.py").write_text(LOADED)
        git("add", "-A", cwd=library)
        git("commit", "-q", "-m", "x", cwd=library)
        git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
        git("commit", "-q", "-m", "x")
        assert (0, []) == check()
        Path("sub/old.py").write_text("# new\n" + LOADED)
        Path("sub/more.py").write_text(LOADED)
        found = check()
        assert 1 == found[0] and {place.partition(":")[0] for place in found[1]} == {"sub/more.py"}
        git("add", "-A", cwd=Path("sub"))
        git("commit", "-q", "-m", "x", cwd=Path("sub"))
        assert found == check()
        assert {"sub/more.py", "sub/old.py"} == {place.partition(":")[0] for place in check(base="main~1")[1]}
        monkeypatch.setenv("GIT_DIR", str(Path(".git").absolute()))  # as in a hook
        assert found == check()

    def test_a_submodule_that_lacks_the_commit_is_said(self, check: Check, capsys: pytest.CaptureFixture[str]) -> None:
        git("init", "-q", "-b", "main", "sub")
        Path("sub/old.py").write_text(LOADED)
        git("add", "-A", cwd=Path("sub"))
        git("commit", "-q", "-m", "x", cwd=Path("sub"))
        git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
        git("commit", "-q", "-m", "x")
        code = cli.main(["check", "--select=TL402", "--diff-base=main", "-q"])
        told = capsys.readouterr()
        assert (0, "") == (code, told.out)
        assert told.err == (
            f"warning: sub: git knows no commit `{'1' * 40}`; nothing in this submodule counts as changed\n"
        )

    def test_lines_that_end_as_on_an_old_mac_are_one_for_git(self, check: Check) -> None:
        commit(train=LOADED.replace("\n", "\r"))
        git("switch", "-qc", "feature")
        assert (0, []) == check(base="main")
        Path("train.py").write_text(LOADED.replace("\n", "\r").replace("dataset", "data"), newline="")
        assert (1, ["train.py:7:13"]) == check(base="HEAD")
        mixed = f"if a:\r    b()\r    c()\n{LOADED}"
        commit(train=mixed)
        Path("train.py").write_text(mixed.replace("b()", "d()"), newline="")
        assert (0, []) == check(base="HEAD")
        Path("train.py").write_text(mixed.replace('x.to("cuda")', 'x.to("cuda:0")'), newline="")
        assert (1, ["train.py:10:13"]) == check(base="HEAD")

    def test_a_removed_line_changes_no_other(self, check: Check) -> None:
        Path("train.py").write_text(LOADED.replace("        loss = model(x).sum()\n", ""))
        assert (0, []) == check()

    def test_a_renamed_file_is_not_changed(self, check: Check) -> None:
        git("mv", "train.py", "other.py")
        assert (0, []) == check()

    def test_a_new_line(self, check: Check) -> None:
        Path("train.py").write_text(ANOTHER)
        assert (1, ["train.py:8:13"]) == check()

    def test_an_edited_line(self, check: Check) -> None:
        Path("train.py").write_text(LOADED.replace("x = x.to", "x = (x).to"))
        assert (1, ["train.py:7:13"]) == check()

    def test_every_line_of_an_untracked_file(self, check: Check) -> None:
        Path("new.py").write_text(LOADED)
        assert (1, ["new.py:7:13"]) == check()

    def test_what_the_base_got_later_is_not_ours(self, check: Check) -> None:
        git("switch", "-q", "-c", "feature")
        commit(other="x = 1\n")
        git("switch", "-q", "main")
        commit(train="import torch\n")
        git("switch", "-q", "feature")
        assert (0, []) == check()

    def test_from_a_folder_below(self, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("below").mkdir()
        Path("train.py").write_text(ANOTHER)
        monkeypatch.chdir("below")
        assert (1, [f"{Path.cwd().parent}/train.py:8:13"]) == check("..")

    def test_a_file_that_was_unreadable_before(self, check: Check) -> None:
        Path("train.py").write_bytes(LOADED.encode() + b"\0")
        git("commit", "-q", "-a", "-m", "x")
        assert (0, []) == check()

    @pytest.mark.parametrize(("line", "place"), [(b"\0", "11:1"), (b"# \xff\n", "11:3")])
    def test_a_file_that_became_unreadable(self, check: Check, line: bytes, place: str) -> None:
        Path("train.py").write_bytes(LOADED.encode() + line)
        assert (1, [f"train.py:{place}"]) == check()

    @pytest.mark.parametrize("how", ["LITERAL", "NOGLOB", "GLOB", "ICASE"])
    def test_what_the_environment_says_of_patterns(
        self, check: Check, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        monkeypatch.setenv(f"GIT_{how}_PATHSPECS", "1")
        Path("below").mkdir()
        Path("below/new.py").write_text(LOADED)
        git("add", "-A")
        Path("train.py").write_text(ANOTHER)
        assert (1, ["below/new.py:7:13", "train.py:8:13"]) == check()

    def test_only_changed_lines_are_fixed(self, check: Check) -> None:
        Path("train.py").write_text("import os\n" + ANOTHER)
        assert (0, []) == check("--fix")
        lines = Path("train.py").read_text().splitlines()
        assert ['        x = x.to("cuda")', '        y = y.to("cuda", non_blocking=True)'] == lines[7:9]


class TestNames:
    def test_what_the_environment_says_of_context(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GIT_DIFF_OPTS", "--unified=0")
        Path("train.py").write_text(ANOTHER)
        hunk = Repository.around(Path.cwd()).changes("HEAD")["train.py"].hunk(8, 8)
        assert hunk is not None
        assert (5, 11) == (hunk.first, hunk.last)

    @pytest.mark.parametrize("content", ["x = 1\n", "\0"])
    @pytest.mark.parametrize("name", ODD)
    def test_odd_names(self, name: str, content: str) -> None:
        Path("sub").mkdir()
        Path(name).write_text(content)
        git("add", "-A")
        change = Repository.around(Path.cwd()).changes("HEAD")
        assert {name} == set(change)
        assert change[name].touches(1, 1)
        git("commit", "-q", "-m", "x")
        Path(name).write_text(f"{content}y = 2\n")
        assert {name} == set(Repository.around(Path.cwd()).changes("HEAD"))

    @pytest.mark.parametrize("name", ODD)
    def test_renamed_to_and_from_odd_names(self, name: str) -> None:
        Path("sub").mkdir()
        git("mv", "train.py", name)
        git("commit", "-q", "-m", "x")
        git("mv", name, "back.py")
        repository = Repository.around(Path.cwd())
        assert [(name, "train.py")] == [
            (one.path, one.old_path) for one in repository.changes("HEAD~1", "HEAD").values()
        ]
        assert [("back.py", name)] == [(one.path, one.old_path) for one in repository.changes("HEAD").values()]

    def test_lines_that_look_like_headers(self) -> None:
        commit(sql="-- a\n-- b\nx\n")
        Path("sql.py").write_text("++ b/none.py\nx\n")
        change = Repository.around(Path.cwd()).changes("HEAD")["sql.py"]
        assert [True, False] == [change.touches(line, line) for line in (1, 2)]

    def test_settings_of_the_user_change_nothing(self) -> None:
        for setting in ("diff.noprefix", "diff.mnemonicPrefix", "color.ui=always"):
            name, _, value = setting.partition("=")
            git("config", name, value or "true")
        Path("train.py").write_text(ANOTHER)
        assert {"train.py"} == set(Repository.around(Path.cwd()).changes("HEAD"))

    def test_deleted_binary_and_linked_files(self) -> None:
        commit(gone="x = 1\n")
        Path("gone.py").unlink()
        Path("binary.py").write_bytes(b"\0\0")
        Path("link.py").symlink_to("train.py")
        git("add", "-A")
        changes = Repository.around(Path.cwd()).changes("HEAD")
        assert ["binary.py", "link.py"] == sorted(changes)
        assert (True, ()) == (changes["binary.py"].touches(3, 4), changes["binary.py"].hunks)

    def test_old_lines_of_unchanged_ones(self) -> None:
        Path("train.py").write_text(ANOTHER)
        (hunk,) = Repository.around(Path.cwd()).changes("HEAD")["train.py"].hunks
        assert (5, 11, {5: 5, 6: 6, 7: 7, 9: 8, 10: 9, 11: 10}) == (hunk.first, hunk.last, hunk.old_line)


class TestBadInput:
    def test_outside_of_a_repository(self, tmp_path: Path) -> None:
        with pytest.raises(Failure, match=f"{tmp_path} is not in a git repository"):
            Repository.around(tmp_path)

    def test_unknown_base(self, check: Check, capsys: pytest.CaptureFixture[str]) -> None:
        assert 2 == cli.main(["check", "--diff-base=nowhere"])
        assert "torchlint failed\n  Cause: git knows no commit `nowhere`\n" == capsys.readouterr().err

    def test_a_base_that_looks_like_an_option(self) -> None:
        with pytest.raises(Failure, match="git knows no commit `--all`"):
            Repository.around(Path.cwd()).commit("--all")

    def test_a_shallow_clone(self, repository: Path, tmp_path: Path) -> None:
        commit(more="")
        git("clone", "-q", "--depth=1", f"file://{repository}", "clone", cwd=tmp_path)
        with pytest.raises(
            Failure, match="git knows no commit `HEAD~1`; this clone is shallow: fetch its history first"
        ):
            Repository.around(tmp_path / "clone").merge_base("HEAD~1", "HEAD")

    def test_no_common_commit(self) -> None:
        git("switch", "-q", "--orphan", "lonely")
        commit(a="")
        with pytest.raises(Failure, match=r"`main` and `HEAD` have no commit in common$"):
            Repository.around(Path.cwd()).merge_base("main", "HEAD")

    def test_with_a_baseline(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert 2 == cli.main(["check", "--diff-base=main", "--baseline"])
        assert "are two ways to say what is new; give one" in capsys.readouterr().err


def test_files_and_their_contents() -> None:
    Path("link.py").symlink_to("train.py")
    commit(binary="\0\n\n", empty="")
    found = Repository.around(Path.cwd())
    files = found.files("HEAD")
    assert ["binary.py", "empty.py", "train.py"] == sorted(files)
    assert [b"\0\n\n", b"", LOADED.encode()] == found.read(files[name] for name in sorted(files))


class TestNobodyIsTrusted:
    """Nothing that the configuration of a repository names is run."""

    @pytest.fixture
    def traps(self, repository: Path) -> Path:
        """A repository that names a program wherever git would run one; the file that they would leave."""
        trap = repository.parent / "sprung"
        program = repository.parent / "program"
        program.write_text(f'#!/bin/sh\necho "$0 $*" >> {trap}\ncat\n')
        program.chmod(0o755)
        hooks = repository / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-index-change", "fsmonitor-watchman", "query-watchman", "reference-transaction"):
            (hooks / name).write_text(f"#!/bin/sh\n{program}\n")
            (hooks / name).chmod(0o755)
        commit(other=LOADED)
        for name, value in (
            ("core.fsmonitor", program),
            ("core.hooksPath", hooks),
            ("core.sshCommand", program),
            ("core.gitProxy", program),
            ("core.pager", program),
            ("core.alternateRefsCommand", program),
            ("credential.helper", f"!{program}"),
            ("diff.external", program),
            ("diff.trap.command", program),
            ("diff.trap.textconv", program),
            ("filter.trap.clean", program),
            ("filter.trap.smudge", program),
            ("filter.a=b.clean", program),
            ("filter.c d.process", program),
            ("filter.trap.required", "true"),
            ("diff.suppressBlankEmpty", "true"),
            ("remote.origin.url", f"ext::{program}"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.uploadpack", program),
            ("protocol.ext.allow", "always"),
            ("extensions.partialClone", "origin"),
        ):
            git("config", name, str(value))
        Path(".gitattributes").write_text("*.py diff=trap filter=trap\nother.py filter=a=b\n")
        trap.unlink(missing_ok=True)
        return trap

    @pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
    def test_lines_that_changed(self, check: Check, traps: Path) -> None:
        Path("train.py").write_text(ANOTHER)
        Path("other.py").write_text(ANOTHER)
        Path("new.py").write_text(LOADED)
        code, found = check()
        assert (1, ["new.py:7:13", "other.py:8:13", "train.py:8:13"]) == (code, found)
        assert not traps.exists()

    @pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
    def test_objects_that_are_not_here(self, check: Check, traps: Path, capsys: pytest.CaptureFixture[str]) -> None:
        blob = subprocess.run(
            ["git", "rev-parse", "HEAD:train.py"], capture_output=True, text=True, check=True
        ).stdout.strip()
        (Path(".git/objects") / blob[:2] / blob[2:]).unlink()
        Path("train.py").write_text(ANOTHER)
        assert 2 == cli.main(["check", "--diff-base=main", "-q"])
        assert "Cause: git" in capsys.readouterr().err
        assert not traps.exists()

    @pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
    def test_a_bare_repository_among_the_files(self, traps: Path, repository: Path) -> None:
        """`git` takes a directory with HEAD, objects and refs for a repository, and reads the `config` there."""
        bare = repository / "sub"
        git("init", "-q", "--bare", str(bare))
        git("config", "core.fsmonitor", str(repository.parent / "program"), cwd=bare)
        git("config", "core.bare", "false", cwd=bare)
        git("config", "core.worktree", str(repository), cwd=bare)
        traps.unlink(missing_ok=True)
        with pytest.raises(Failure, match="cannot use bare repository"):
            Repository.around(bare)
        assert not traps.exists()

    def test_settings_that_the_user_gives_by_the_environment_stay(
        self, check: Check, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        git("config", "filter.x.clean", "false")
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.abbrev")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "7")
        Path(".gitattributes").write_text("*.py filter=x\n")
        Path("train.py").write_text(ANOTHER)
        assert (1, ["train.py:8:13"]) == check()
