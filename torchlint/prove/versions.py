"""What is compared: a version of a program, given as a file, a folder, a revision, or a patch against the tree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from torchlint.system.failure import Failure
from torchlint.system.git import Repository

from .workspace import Overlay, Project, Workspace

_PATCHES = (".patch", ".diff")


@dataclass(frozen=True)
class Version:
    """A project with something different in it. `entry` is as the user would write it, seen from `cwd` in the project."""

    name: str
    project: Project
    overlay: Overlay
    entry: str
    cwd: str = "."
    mode: str = "eager"
    """How it compiles, as an order says it."""

    @property
    def script(self) -> str:
        """The script by its path in the project, "" where the entry is a function."""
        return "" if ":" in self.entry else os.path.normpath(os.path.join(self.cwd, self.entry))


def entered(entry: str, project: Project, here: Path) -> tuple[str, str]:
    """The entry as seen from the folder in which it is run, and that folder in the project.

    It runs where the user stands if that is in the project, else beside the script.
    """
    if here.resolve().is_relative_to(project.home):
        cwd = project.relative(here)
    else:
        cwd = project.relative(Path(entry).parent) if is_script(entry) else "."
    if not is_script(entry):
        return entry, cwd
    return os.path.relpath(os.path.realpath(entry), project.home / cwd), cwd


def is_script(entry: str) -> bool:
    return os.path.isfile(entry)


class Versions:
    """Finds versions by what the user calls them, and freezes the projects that they are of."""

    def __init__(self, space: Workspace, entry: str) -> None:
        self._space = space
        self._entry = entry
        self._projects: dict[Path, Project] = {}

    def named(self, name: str) -> Version:
        """A script, a folder, a patch against the tree, or a revision. Raises Failure for what is none of them."""
        path = Path(name)
        if path.suffix in _PATCHES and path.is_file():
            project = self._project(Path.cwd(), self._needed())
            return self._at(name, project, patched(path.read_bytes(), project, self._space, {}), self._needed())
        if path.is_file():
            return self._at(name, self._project(path.parent, name), {}, name)
        return self._folder(path) if path.is_dir() else self._revision(name)

    def entry(self) -> Version:
        """The entry itself, in the tree as it is."""
        if not is_script(self._entry) and ":" not in self._entry:
            raise Failure(f"{self._entry}: no such script (a function is written pkg.module:function)")
        script = self._entry if is_script(self._entry) else ""
        folder = Path(script).parent if script else Path.cwd()
        return self._at(self._entry, self._project(folder, script), {}, self._entry)

    def _needed(self) -> str:
        if not self._entry:
            raise Failure("what is to be run? Give --entry SCRIPT.py or --entry PKG.MODULE:FUNCTION")
        return self._entry

    def _project(self, folder: Path, needed: str) -> Project:
        project = Project.around(folder, needed if is_script(needed) else "")
        if project.home not in self._projects:
            self._projects[project.home] = project
            self._space.freeze(project)
        return self._projects[project.home]

    def _at(self, name: str, project: Project, overlay: Overlay, entry: str) -> Version:
        seen, cwd = entered(entry, project, Path.cwd())
        return Version(name, project, overlay, seen, cwd)

    def _folder(self, folder: Path) -> Version:
        entry = self._needed()
        script = "" if ":" in entry else str(folder / entry)
        if script and not is_script(script):
            raise Failure(f"{script}: no such script")
        project = self._project(folder, script)
        return Version(str(folder), project, {}, entry, project.relative(folder))

    def _revision(self, name: str) -> Version:
        try:
            repository = Repository.around(Path.cwd())
            commit = repository.commit(name)
        except Failure as error:
            raise Failure(f"{name} is no file, no folder, no patch and no revision: {error}") from None
        project = self._project(repository.top, "")
        files = repository.files(commit)
        overlay: dict[str, bytes | None] = {path: None for path in project.copied if path not in files}
        for path, contents in zip(files, repository.read(files.values()), strict=True):
            if self._space.frozen(project, path) != contents:
                overlay[path] = contents
        return Version(name, project, overlay, self._needed(), project.relative(Path.cwd()))


def patched(patch: bytes, project: Project, space: Workspace, overlay: Overlay) -> Overlay:
    """The version `overlay` with a patch on top. Raises Failure where it does not apply."""
    scratch = space.output()
    place = scratch / "change.patch"
    place.write_bytes(patch)
    home = os.path.relpath(Path.cwd().resolve(), project.home)
    why = ""
    for strip, folder in dict.fromkeys((s, f) for f in (".", home) for s in ("-p1", "-p0") if not f.startswith("..")):
        touched = _touched(scratch, strip)
        if not touched:
            continue
        tree = scratch / f"tree{strip}{len(os.listdir(scratch))}"
        tree.mkdir()
        before: dict[str, bytes | None] = {}
        for name in touched:
            path = str(PurePosixPath(os.path.normpath(os.path.join(folder, name))))
            before[path] = overlay[path] if path in overlay else space.frozen(project, path)
            if (contents := before[path]) is not None:
                target = tree / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(contents)
        flags = [strip, "--whitespace=nowarn"] + ([f"--directory={folder}"] if folder != "." else [])
        done = _git_apply(tree, *flags, str(place))
        if done.returncode == 0:
            return {**overlay, **_changed(before, tree)}
        why = why or done.stderr.decode(errors="replace").strip().splitlines()[0].removeprefix("error: ")
    raise Failure(f"the patch does not apply: {why or 'it names no file'}")


def _touched(scratch: Path, strip: str) -> list[str]:
    listed = _git_apply(scratch, strip, "--numstat", "-z", "change.patch")
    return [line.split("\t", 2)[2] for line in os.fsdecode(listed.stdout).split("\0") if line.count("\t") >= 2]


def _changed(before: Mapping[str, bytes | None], tree: Path) -> dict[str, bytes | None]:
    names = {*before, *(path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file())}
    after = {name: (tree / name).read_bytes() if (tree / name).is_file() else None for name in names}
    return {name: contents for name, contents in after.items() if before.get(name) != contents}


def _git_apply(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`git apply` outside of every repository."""
    environment = {**os.environ, "GIT_DIR": os.devnull, "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["git", "apply", *arguments], cwd=folder, env=environment, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise Failure("git is not installed; it applies patches") from None
