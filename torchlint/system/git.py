"""What git knows: commits, the files in them, and which lines a change touches."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .failure import Failure

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = dict(
    zip((bytes([byte]) for byte in b'abtnvfr"\\'), (bytes([byte]) for byte in b'\a\b\t\n\v\f\r"\\'), strict=True)
)
"""What git writes behind a backslash for a byte that has a letter of its own; others are three octal digits."""
_SETTINGS = (
    "core.quotePath=false",
    "diff.suppressBlankEmpty=false",
    # A repository that is linted is not trusted: nothing that its configuration names is run.
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "safe.bareRepository=explicit",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    # An object that is not here is not fetched by what the configuration says.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    # What names files, and how much stands around a change, is ours to say.
    "GIT_LITERAL_PATHSPECS": "0",
    "GIT_NOGLOB_PATHSPECS": "0",
    "GIT_GLOB_PATHSPECS": "0",
    "GIT_ICASE_PATHSPECS": "0",
    "GIT_DIFF_OPTS": "",
}
_OF_ONE = frozenset(
    f"GIT_{name}"
    for name in """DIR WORK_TREE IMPLICIT_WORK_TREE INDEX_FILE PREFIX COMMON_DIR OBJECT_DIRECTORY
    ALTERNATE_OBJECT_DIRECTORIES GRAFT_FILE SHALLOW_FILE NAMESPACE""".split()
)
"""What of the environment names one repository, or a part of it (`git rev-parse --local-env-vars`)."""
_REGULAR = ("100644", "100755")
"""The modes of files; links and submodules have others."""
_SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One run of changed lines with three lines around it, by the numbers of the new file.

    `old_line` gives the old number of each line that is unchanged; the others are added.
    """

    first: int
    last: int
    old_line: Mapping[int, int]

    def covers(self, first: int, last: int) -> bool:
        """Whether a comment on these lines can hang on this hunk."""
        return self.first <= first and last <= self.last

    def changes(self, first: int, last: int) -> bool:
        """Whether one of these lines is added or changed."""
        return any(line not in self.old_line for line in range(max(first, self.first), min(last, self.last) + 1))


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one file; git shows no lines (`hunks`) of one that it takes for binary."""

    path: str
    old_path: str
    hunks: tuple[Hunk, ...]
    binary: bool = False

    def touches(self, first: int, last: int) -> bool:
        return self.binary or any(hunk.changes(first, last) for hunk in self.hunks)

    def hunk(self, first: int, last: int) -> Hunk | None:
        """The hunk that holds all of these lines."""
        return next((hunk for hunk in self.hunks if hunk.covers(first, last)), None)


def rows(lines: Iterable[bytes]) -> Iterator[int]:
    """The numbers that git knows the lines of a file by: a lone carriage return ends none for it. One more than there are lines."""
    row = 1
    for line in lines:
        yield row
        row += line.endswith(b"\n")
    yield row


@dataclass(frozen=True)
class Repository:
    """The repository around a directory. Paths in it are relative to `top`, with forward slashes."""

    top: Path
    apart: bool = False
    """Whether it is not the one that the environment may name, as git's does for a hook: a submodule."""

    @classmethod
    def around(cls, directory: Path, *, apart: bool = False) -> Repository:
        """Raises Failure outside of a work tree, and where git is missing."""
        try:
            top = _git(directory, "rev-parse", "--show-toplevel", apart=apart)
            return cls(Path(os.fsdecode(top.rstrip(b"\n"))), apart)
        except Failure as error:
            if "not a git repository" in str(error):
                raise Failure(f"{directory} is not in a git repository") from None
            raise

    def name(self, path: str | Path) -> str:
        """A file's path as git writes it."""
        return os.path.relpath(os.path.realpath(path), self.top).replace(os.sep, "/")

    def commit(self, revision: str) -> str:
        """The hash of the commit that a revision stands for. Raises Failure if there is none."""
        try:
            found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
        except Failure:
            raise Failure(f"git knows no commit `{revision}`{self._shallow()}") from None
        return found.decode().strip()

    def merge_base(self, base: str, head: str) -> str:
        """The commit where `head` left `base`, which code hosts compare with. Raises Failure if there is none."""
        commits = self.commit(base), self.commit(head)
        try:
            return self._git("merge-base", *commits).decode().strip()
        except Failure:
            raise Failure(f"`{base}` and `{head}` have no commit in common{self._shallow()}") from None

    def changes(self, base: str, head: str | None = None, suffixes: Iterable[str] = ("",)) -> dict[str, Change]:
        """The changed files by their new paths, from one commit to another, or to the work tree; deleted ones are left out.

        Only those whose names end in one of the suffixes.
        """
        flags = "--no-color --no-ext-diff --no-textconv --find-renames --ignore-submodules --unified=3"
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        commits = [base] if head is None else [base, head]
        names = (f"*{end}" for end in suffixes)
        filters = self._filters() if head is None else []
        text = _git(
            self.top, "diff", *flags.split(), *prefixes, *commits, "--", *names, plain=filters, apart=self.apart
        )
        return {change.path: change for change in _changes(text.split(b"\n"))}

    def untracked(self) -> frozenset[str]:
        """Files that were never added, and are not ignored."""
        return frozenset(_paths(self._git("ls-files", "-z", "--others", "--exclude-standard", "--full-name", ":/")))

    def present(self) -> list[str]:
        """The files of the work tree that were added, or could be: what is neither ignored nor deleted."""
        listed = _paths(self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name", ":/"))
        return [path for path in dict.fromkeys(listed) if os.path.lexists(self.top / path)]

    def ignored(self) -> list[str]:
        """What git ignores; a folder of which everything is ignored stands for all that is in it."""
        flags = ("--others", "--ignored", "--exclude-standard", "--directory", "--full-name")
        return [path.rstrip("/") for path in _paths(self._git("ls-files", "-z", *flags, ":/"))]

    def submodules(self, commit: str | None = None) -> dict[str, str]:
        """The submodules that the index has, or a commit: their paths, and the commits that are recorded of them."""
        if commit is None:
            listed = self._git("ls-files", "-z", "--stage", "--full-name", ":/")
        else:
            listed = self._git("ls-tree", "-r", "-z", "--full-tree", commit)
        found = {}
        for entry in _paths(listed):
            facts, _, path = entry.partition("\t")
            words = facts.split(" ")
            if words[0] == _SUBMODULE:
                found[path] = words[1] if commit is None else words[2]
        return found

    def within(self, path: str) -> Repository | None:
        """The repository that a submodule's folder holds; None where it is not checked out."""
        folder = self.top / path
        if folder.is_symlink() or not (folder / ".git").exists():
            return None
        inner = Repository.around(folder, apart=True)
        return inner if os.path.samefile(inner.top, folder) else None

    def files(self, commit: str) -> dict[str, str]:
        """The regular files of a commit: their paths, and the objects with their contents."""
        found = {}
        for entry in _paths(self._git("ls-tree", "-r", "-z", "--full-tree", commit)):
            facts, _, path = entry.partition("\t")
            mode, _, name = facts.split(" ")
            if mode in _REGULAR:
                found[path] = name
        return found

    def read(self, objects: Iterable[str]) -> list[bytes]:
        """The contents of objects."""
        names = list(objects)
        if not names:
            return []
        output = self._git("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        contents, at = [], 0
        for name in names:
            end = output.index(b"\n", at)
            header = output[at:end].split()
            if header[-1] == b"missing":
                raise Failure(f"git lacks the object {name}; is this a partial clone?")
            size = int(header[2])
            contents.append(output[end + 1 : end + 1 + size])
            at = end + size + 2
        return contents

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return _git(self.top, *arguments, stdin=stdin, apart=self.apart)

    def _filters(self) -> list[str]:
        """The settings of programs that git would hand the files of the work tree to."""
        try:
            found = self._git(
                "config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$"
            )
        except Failure:  # there are none
            return []
        return _paths(found)

    def _shallow(self) -> str:
        if self._git("rev-parse", "--is-shallow-repository").strip() != b"true":
            return ""
        return "; this clone is shallow: fetch its history first (`git fetch --unshallow`, or `fetch-depth: 0`)"


def _git(directory: Path, *arguments: str, stdin: bytes = b"", plain: Sequence[str] = (), apart: bool = False) -> bytes:
    """What git prints. `plain` are settings of filters that are switched off; `apart` from what names a repository."""
    command = ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *arguments]
    environment = {**os.environ, **_ENVIRONMENT, **_settings(plain)}
    if apart:
        environment = {name: value for name, value in environment.items() if name not in _OF_ONE}
    try:
        done = subprocess.run(command, cwd=directory, input=stdin, capture_output=True, check=False, env=environment)
    except FileNotFoundError:
        raise Failure("git is not installed") from None
    if done.returncode:
        raise Failure(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _settings(empty: Sequence[str]) -> dict[str, str]:
    """The environment that gives settings no value: their names may hold what an argument can't."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(empty))} if empty else {}
    for number, name in enumerate(empty, first):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": ""}
    return variables


def _paths(output: bytes) -> list[str]:
    return [os.fsdecode(entry) for entry in output.split(b"\0") if entry]


def _changes(lines: list[bytes]) -> Iterator[Change]:
    """Read a diff. What a hunk's header counts is skipped whole, so no line of a file is taken for a header."""
    old = new = ""
    hunks: list[Hunk] = []
    binary = False
    at = 0

    def done() -> Iterator[Change]:
        if new:
            yield Change(new, old or new, tuple(hunks), binary)

    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(b"diff --git "):
            yield from done()
            old, new, hunks, binary = "", "", [], False
        elif line.startswith(b"--- "):
            old = _name(line[4:], b"a/")
        elif line.startswith(b"+++ "):
            new = _name(line[4:], b"b/")
        elif line.startswith(b"rename from "):
            old = _name(line[12:])
        elif line.startswith(b"rename to "):
            new = _name(line[10:])
        elif line.startswith(b"Binary files "):
            binary = True
            new = new or _binary(line)
        elif header := _HUNK.match(line):
            hunk, at = _hunk(lines, at, header)
            hunks.append(hunk)
    yield from done()


def _name(header: bytes, side: bytes = b"") -> str:
    """The path in a header; "" for /dev/null. Git quotes odd ones like C, and ends those with a space by a tab."""
    name = header.rstrip(b"\t")
    if name.startswith(b'"'):  # bytes beyond ASCII stand for themselves in it
        name = _ESCAPE.sub(lambda match: _ESCAPES.get(match[1]) or bytes([int(match[1], 8)]), name[1:-1])
    return os.fsdecode(name.removeprefix(side)) if name.startswith(side) else ""


def _binary(line: bytes) -> str:
    """The new path of what git takes for binary, of which there is no other header unless it is renamed."""
    names = line.removeprefix(b"Binary files ").removesuffix(b" differ")
    if names.startswith(b"/dev/null and "):
        return _name(names.removeprefix(b"/dev/null and "), b"b/")
    return "" if names.endswith(b" and /dev/null") else _name(names[(len(names) + len(b" and ")) // 2 :], b"b/")


def _hunk(lines: list[bytes], at: int, header: re.Match[bytes]) -> tuple[Hunk, int]:
    old, olds, new, news = (int(group) if group is not None else 1 for group in header.groups())
    first, last, old_end = new, new + news - 1, old + olds
    same = {}
    while new <= last or old < old_end:
        kind = lines[at][:1]
        at += 1
        if kind == b" ":
            same[new] = old
        old += kind in (b" ", b"-")
        new += kind in (b" ", b"+")
    return Hunk(first, last, same), at
