"""Linting with a cache: what was said of a file is said again as long as all that it depends on is as it was.

What is said of a file depends on its own bytes and, where it has to do with torch, on the other files of the project and
on what names the project's torch. Bytes are known by their hash; they are read again only where the file's stamp has
moved, or was so young when it was noted that a later change need not have moved it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lint.run import Checked, Result, may_be_torch, prepared
from ..program import scripts, spelled
from ..program.files import normal
from ..program.installed import PAGES, is_for_others, is_installed, started
from ..program.stated import Reader, demanded_by, is_page, manifests, packages, told_by
from ..query.closures import Depends
from ..settings.config import Settings, compiled_in
from ..settings.home import Home, project_root
from ..system import stamp
from ..system.cached import cached_property
from ..system.failure import Failure
from ..system.stamp import digest, encoded
from ..text.source import Source, SourceError
from ..torch_api.version import Range
from .as_data import as_data, is_a, of_data
from .by_function import FEW, ByFunction, Key, Shown, latest
from .dependencies import Recording
from .links import Linked, Links, noted, packed, unpacked
from .store import Cache, identity

_NOT_FOUND_BY = frozenset(
    """fixable force_exclude exclude respect_gitignore output_format fix unsafe_fixes fix_only show_fixes budget source
    warnings cache_dir closest""".split()
)
"""Settings that no finding depends on; which files there are is looked up each time."""

if TYPE_CHECKING:
    from ..system.witness import Witness

Lint = Callable[..., Result]
"""What the cache stands in front of: `lint.lint`, or what spreads it over processes, which takes the same arguments."""


def lint(
    files: Sequence[Path],
    settings: Settings,
    cache: Cache,
    inner: Lint,
    *,
    context: Sequence[Path] = (),
    witness: Witness | None = None,
    warn: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Result:
    """What `inner` finds, which is asked only for the files of which the cache does not know it.

    A cache that can't be written is told to `warn`, once; the result is the same. `witness` is told what was looked at.
    """
    run = _Run(files, settings, cache, context)
    with prepared():  # step loops are looked for before anything is linted
        result = run.result(inner, options)
    if witness is not None:
        run.testify(witness)
    try:
        run.save()
    except (OSError, TypeError) as error:  # or something that JSON can't hold
        reason = error.strerror if isinstance(error, OSError) else None
        warn(f"{cache.directory}: {reason or error}; nothing is kept for the next run")
    return result


@dataclass(frozen=True, slots=True)
class _Row:
    """A file as it was read; `stamp` is "" where that was too young to be trusted."""

    stamp: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said of a file with these bytes in a project of this state; of any state where that is None."""

    digest: str
    state: str | None
    text: Any


class _Files:
    """Files by the hashes of their bytes, each looked at once."""

    def __init__(self, known: Mapping[str, _Row], targets: Container[str]) -> None:
        self._known = known
        self._targets = targets
        self.rows: dict[str, _Row | None] = {}
        """Of what was looked at; None where it can't be read."""
        self.plain: set[str] = set()
        """Of the files that are linted those that were read and can't have to do with torch."""

    def digest(self, path: str) -> str | None:
        """The hash of a file; None where it can't be read."""
        if path not in self.rows:
            self.rows[path] = self._row(path)
        row = self.rows[path]
        return row.digest if row is not None else None

    def _row(self, path: str) -> _Row | None:
        try:
            lasting = stamp.lasting(path)
            known = self._known.get(path)
            if known is not None and lasting and known.stamp == lasting:
                return known
            data = stamp.contents(path)
        except OSError:
            return None
        if path in self._targets and not may_be_torch(data):
            self.plain.add(path)
        return _Row(lasting, digest(data).hex())

    def unchanged(self) -> bool:
        """Whether all that was looked at is still as it was."""
        return all(self._is_unchanged(path, row) for path, row in self.rows.items())

    def _is_unchanged(self, path: str, row: _Row | None) -> bool:
        try:
            if row is not None and row.stamp:
                return stamp.stamp(path) == row.stamp
            return stamp.content(path) == (row and row.digest)
        except OSError:
            return row is None


class _Run:
    def __init__(self, files: Sequence[Path], settings: Settings, cache: Cache, context: Sequence[Path]) -> None:
        self.settings = settings
        self.cache = cache
        self.context = context
        self.targets = {normal(str(file)): file for file in files}
        self.key = _key(settings, cache.directory, self.targets)
        self.links_key = digest(self.key, b"links")
        self.rows, self.said = _loaded(cache.load(self.key))
        self.files = _Files(self.rows, self.targets)
        self.new: dict[str, _Said] = {}
        self.links: Links | None = None
        """What new results hang on."""
        self.is_sure = True
        """Whether what is said is known to be of the files that were looked at."""

    def result(self, inner: Lint, options: Mapping[str, Any]) -> Result:
        fresh = {path: known for path in self.targets if (known := self._known(path)) is not None}
        stale = [path for path in self.targets if path not in fresh]
        if not stale:
            if "linked" in self.__dict__ and self.linked is not None:
                self._link(self.linked.project, {})
            return Result.of(fresh, _Sources(fresh, {}, self.files))
        state = self.state if any(path not in self.files.plain for path in stale) else None
        context = _Chain([self.targets[path] for path in fresh], self.context) if fresh else self.context
        made: list[Recording] = []

        def make(files: Mapping[str, Callable[[], bytes]], home: Home) -> Recording:
            linked = self.linked if state is not None else None
            made.append(linked.project if linked is not None else Recording(files, home))
            if len(stale) <= FEW:
                made[0].by_function = ByFunction(linked.functions if linked is not None else {})
            return made[0]

        found = inner([self.targets[path] for path in stale], self.settings, context=context, make=make, **options)
        if found.checked is None:
            self.is_sure = False
            return found
        alone = {error for one in found.checked.values() for error in one.errors}
        self.is_sure = (
            self.files.unchanged() and all(project.is_whole for project in made) and alone.issuperset(found.errors)
        )
        if self.is_sure:
            self._learn(found.checked, state)
            if state is not None and made:
                self._link(made[0], found.checked)
        checked = {path: fresh.get(path) or found.checked[path] for path in self.targets}
        return Result.of(checked, _Sources(fresh, found.sources or {}, self.files), found.errors)

    def _known(self, path: str) -> Checked | None:
        """What was said of a file, if it would be said again."""
        said = self.said.get(path)
        if said is None or said.digest != self.files.digest(path):
            return None
        if said.state is not None and said.state != self.state and not self._stands(path, said):
            return None
        return _checked(path, said.text, alone=said.state is None)

    def _stands(self, path: str, said: _Said) -> bool:
        """Whether what was said in another state of the project would be said again in this one."""
        return self.linked is not None and said.state == self.linked_state and self.linked.stands(path)

    def _learn(self, checked: Mapping[str, Checked], state: str | None) -> None:
        for path, one in checked.items():
            row = self.files.rows.get(path)
            # What went wrong may go right the next time.
            if row is not None and not one.errors and (one.alone or state is not None):
                self.new[path] = _Said(row.digest, None if one.alone else state, _text(one))

    # The project

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every file of the project."""
        return frozenset((*self.targets, *(normal(str(path)) for path in self.context)))

    @cached_property
    def digests(self) -> dict[str, str | None]:
        """The digest of every file of the project; None where it can't be read."""
        return {path: self.files.digest(path) for path in sorted(self.paths)}

    @cached_property
    def state(self) -> str:
        """Digest of all that the findings of a file may depend on: the frame, every file and the words of the texts beside them."""
        words = _words_of(spelled.words_in(self.texts))
        return digest(self.frame, words, *(encoded(f"{path}\n{one}") for path, one in self.digests.items())).hex()

    @cached_property
    def frame(self) -> bytes:
        """Digest of what all findings depend on: the torch that is named, what is compiled, which directories are packages, what else lies there, what configurations spell."""
        named = _torch_named(self.directories) if self.settings.target_torch is None else []
        compiled = compiled_in(self.paths, self.settings)
        packages = [path for path in self.digests if path.endswith(("__init__.py", "setup.py"))]
        packages += [f"{folder}/pyproject.toml" for folder in _with_settings(packages)]
        beside = _beside(self.paths)
        names = _words_of(spelled.names_in(self.configurations))
        importing = [one.text for one in scripts.importing(self.scripts)]
        parts = (compiled, packages, beside, importing)
        return digest(*named, names, *(part for one in parts for part in (b"", *map(encoded, one))))

    @cached_property
    def configurations(self) -> spelled.Found:
        """The configurations of a program."""
        return spelled.configurations(str(self.settings.project))

    @cached_property
    def texts(self) -> spelled.Found:
        """What may spell its options."""
        return spelled.texts(str(self.settings.project))

    @cached_property
    def scripts(self) -> spelled.Found:
        """The scripts that are no modules."""
        return scripts.scripts(str(self.settings.project))

    @cached_property
    def directories(self) -> dict[str, list[tuple[str, Reader]]]:
        """Where it is looked for what torch the files are for, and what is read there, each file with what reads it."""
        return _torch_directories(self.paths)

    @cached_property
    def linked(self) -> Linked | None:
        """The project, linked anew with what is known of it in another state; None where nothing is known."""
        kept = self.cache.load(self.links_key)
        try:
            state, frame, digests = is_a(str, kept["state"]), is_a(str, kept["frame"]), is_a(dict, kept["digests"])
        except (TypeError, KeyError):
            return None
        links = unpacked(kept["links"]) if frame == self.frame.hex() and "links" in kept else None
        if links is None:
            return None
        self.linked_state = state
        paths = {*digests, *self.digests}
        changed = [path for path in paths if digests.get(path, "") != self.digests.get(path, "")]
        return Linked(links, changed, self.digests, self.settings)

    def _link(self, project: Recording, checked: Mapping[str, Checked]) -> None:
        """Keep what the new results hang on, with what those hang on that still stand."""
        kept: dict[str, Depends] = {}
        for path, said in self.said.items():
            if path in self.new or said.state is None or said.digest != self.digests.get(path) or self.linked is None:
                continue
            if said.state != self.state and self._stands(path, said):
                self.new[path] = _Said(said.digest, self.state, said.text)
            if said.state == self.state == self.linked_state or path in self.new:
                known = self.linked.hangs_on(path)
                if known is not None:
                    kept[path] = known
        new = {path: one for path, one in checked.items() if path in self.new and not one.alone}
        hangs_on = {path: one.hangs_on for path, one in new.items() if one.hangs_on is not None}
        self.links = noted(project, self.settings, hangs_on, kept, self._of_functions(project, hangs_on))

    def _of_functions(self, project: Recording, linted: Container[str]) -> dict[Key, Shown]:
        """What rules say of single functions: of the files that were linted now, and of some others what still stands."""
        now = project.by_function.said if project.by_function is not None else {}
        before = self.linked.functions if self.linked is not None else {}
        said = {key: one for key, one in now.items() if key[0] in linted}
        return latest({**said, **{key: one for key, one in before.items() if key[0] not in linted}})

    def testify(self, witness: Witness) -> None:
        """Tell what the result depends on."""
        witness.directory_of_cache = self.cache.directory
        witness.exact &= self.is_sure and None not in self.files.rows.values()
        witness.files.update({path: (row.stamp, row.digest) for path, row in self.files.rows.items() if row})
        if "state" in self.__dict__ and self.settings.target_torch is None:
            seen = {os.path.abspath(path) for path in witness.files if path.endswith("__init__.py")}
            for directory, files in self.directories.items():
                witness.manifest(directory)
                for path in (*(path for path, _ in files), *islice(packages(directory), 1)):
                    if path not in seen:
                        witness.file(path)

        if "state" in self.__dict__:
            pages = (os.path.join(str(self.settings.project), name) for name in (*PAGES, "setup.cfg"))
            for path in filter(os.path.exists, pages):
                witness.file(path)
            for found in (self.configurations, self.texts, self.scripts):
                _testify_to(found, witness)

    def save(self) -> None:
        """Keep what is new. Raises OSError where that is not to be had."""
        rows = {**self.rows, **{path: row for path, row in self.files.rows.items() if row is not None}}
        said = {**self.said, **self.new}
        if "state" in self.__dict__:  # then all files are known, and what hangs on how they were before
            rows = {path: row for path, row in rows.items() if path in self.paths}
            said = {path: one for path, one in said.items() if path in rows and one.state in (None, self.state)}
        if self.links is not None:
            links = packed(self.links)
            kept = {"state": self.state, "frame": self.frame.hex(), "digests": self.digests, "links": links}
            self.cache.save(self.links_key, kept)
        if rows != self.rows or said != self.said:
            self.cache.save(self.key, _entry(rows, said))


class Recall:
    """What the cache knows of files of a project as it is now, for an editor's server, which lints by other means.

    What it learns stands in an entry of its own, so that what `torchlint check` keeps is not lost.
    """

    def __init__(self, files: Sequence[Path], settings: Settings, cache: Cache, context: Sequence[Path]) -> None:
        self._run = _Run(files, settings, cache, context)
        self._key = digest(self._run.key, b"editor")
        self._rows, self._said = _loaded(cache.load(self._key))
        self._run.files = _Files({**self._rows, **self._run.rows}, self._run.targets)
        self._state = self._run.state

    def known(self) -> dict[str, Checked]:
        """What would be said again."""
        found: dict[str, Checked] = {}
        for path in self._run.targets:
            for said in (self._run.said.get(path), self._said.get(path)):
                if said is None or said.digest != self._run.digests[path] or said.state not in (None, self._state):
                    continue
                if (checked := _checked(path, said.text, alone=said.state is None)) is not None:
                    found[path] = checked
        return found

    def learn(self, checked: Mapping[str, Checked]) -> None:
        """Keep what was found since, where no file has changed meanwhile. Raises OSError where that is not to be had."""
        rows = {path: row for path, row in self._run.files.rows.items() if row is not None}
        said = {path: one for path, one in self._said.items() if one.state in (None, self._state) and path in rows}
        said.update(
            (path, _Said(rows[path].digest, None if one.alone else self._state, _text(one)))
            for path, one in checked.items()
            if path in rows and not one.errors
        )
        if said != self._said and self._run.files.unchanged():
            self._run.cache.save(self._key, _entry(rows, said))


def cache_of(settings: Settings) -> Cache:
    """The cache of the project. Raises Failure where one is asked for that would lie among other files."""
    root = project_root(settings.project) or (settings.root if settings.source else Path.cwd())
    if settings.cache_dir is None:
        return Cache(str(root / stamp.CACHE))
    cache = Cache(os.path.abspath(settings.cache_dir))
    inside = (place for place in (root, settings.root, Path.cwd()) if _is_in(place, settings.cache_dir))
    reason = next((f"the project {place} lies in it" for place in inside), None) or cache.refused()
    if reason is not None:
        raise Failure(f"`cache-dir` can't be {cache.directory}: {reason}")
    return cache


def _is_in(path: Path, directory: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory))


class _Chain(Sequence[Path]):
    """One sequence behind another, which is not looked at before it is needed."""

    def __init__(self, first: Sequence[Path], second: Sequence[Path]) -> None:
        self._parts = (first, second)

    def __getitem__(self, index: Any) -> Any:
        return [*self._parts[0], *self._parts[1]][index]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Path]:
        for part in self._parts:
            yield from part


class _Sources(Mapping[str, Source]):
    """The files with findings; one that was not linted is read when a report wants to show it, if it is still the same."""

    def __init__(self, fresh: Mapping[str, Checked], read: Mapping[str, Source], files: _Files) -> None:
        self._read = dict(read)
        self._files = files
        self._paths = {path: None for path, one in fresh.items() if one.findings} | dict.fromkeys(read)

    def __getitem__(self, path: str) -> Source:
        if path not in self._read:
            if path not in self._paths:
                raise KeyError(path)
            try:
                data = stamp.contents(path)
                if digest(data).hex() != self._files.digest(path):
                    raise KeyError(path)
                self._read[path] = Source.of(path, data)
            except (OSError, SourceError) as error:
                raise KeyError(path) from error
        return self._read[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _key(settings: Settings, directory: str, paths: Iterable[str] = ()) -> bytes:
    """The key of an entry: digest of what is the same in all runs that may use it. A project that was moved keeps its own."""
    home = os.path.dirname(os.path.abspath(directory))
    root = str(settings.project)
    told = sorted(started(root)) if is_installed(root) else []
    parts = [f"cwd={_relative(os.getcwd(), home)}", f"for others={is_for_others(root)}", f"started={told}"]
    others = {one.root: one for path in paths if (one := settings.at(path)) is not settings}
    for one in (settings, *(others[root] for root in sorted(others))):
        for field in fields(one):
            if field.name not in _NOT_FOUND_BY:
                parts.append(f"{field.name}={_plain(getattr(one, field.name), home)!r}")
    if settings.plugins:
        from ..rule.plugins import files

        parts += [f"{_relative(path, home)} {stamp.content(path)}" for path in files(settings.plugins)]
    return digest(identity(), *map(encoded, parts))


def _plain(value: object, home: str) -> object:
    """A value of the settings, always written the same."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_plain(item, home) for item in value]
    return _relative(str(value), home) if isinstance(value, Path) else str(value)


def _relative(path: str, home: str) -> str:
    try:
        return os.path.relpath(path, home)
    except ValueError:  # on another drive
        return path


def _torch_named(directories: Mapping[str, Sequence[tuple[str, Reader]]]) -> list[bytes]:
    """What is said in some directories that may name the torch that some files are for: of pages, which grow, only what they tell of it."""
    here = os.path.realpath(os.curdir)
    parts = []
    for directory, files in sorted(directories.items()):
        if files or os.path.exists(os.path.join(directory, ".git")):
            parts.append(encoded(f"{_relative(directory, here)}\n{len(files)}\n{told_by(files)!r}"))
        for path, read in files:
            try:
                parts += [encoded(os.path.basename(path)), b"" if is_page(read) else stamp.contents(path)]
            except OSError:
                parts.append(b"")
        for path in islice(packages(directory), 1):  # of its lines only these, else each of its files would hang on all
            if (asked := demanded_by(path)) != Range():
                parts.append(encoded(f"{_relative(directory, here)}\n{asked}"))
    return parts


def _words_of(found: frozenset[str] | None) -> bytes:
    """Digest of some words; another one where nobody can tell which there are."""
    return digest(*map(encoded, sorted(found))) if found is not None else b""


def _testify_to(found: spelled.Found, witness: Witness) -> None:
    """Tell what was looked for beside the files, and what was passed over."""
    walked = {os.path.abspath(path) for path in witness.directories}
    for path in found.folders:
        if path not in walked:
            witness.directory(path)
    for path in found.paths:
        if path not in witness.files:  # notebooks that were linted
            witness.text_beside(path, spelled.MOST_BYTES)
    for path in found.passed:
        witness.passed_over(path)
    witness.there.update((os.path.join(path, ""), os.path.isdir(path)) for path in found.links)


def _with_settings(packages: Iterable[str]) -> list[str]:
    """The folders above packages that say how these are installed."""
    above = {os.path.dirname(os.path.dirname(path)) for path in packages if path.endswith("__init__.py")}
    return [folder for folder in sorted(above) if os.path.exists(os.path.join(folder, "pyproject.toml"))]


def _beside(paths: Collection[str]) -> list[str]:
    """What an import may find beside some files and is none of them, nor a folder of theirs."""
    here = os.path.realpath(os.curdir)
    directories = {os.path.dirname(path) for path in paths}
    known = {*paths, *directories}
    for directory in directories:
        known.update(accumulate(directory.split("/"), "{}/{}".format))
    places = (
        os.path.join(directory, name)
        for directory in sorted(directories)
        for name in stamp.importable(directory or os.curdir)
    )
    return [_relative(os.path.realpath(place), here) for place in places if normal(place) not in known]


def _torch_directories(paths: Iterable[str]) -> dict[str, list[tuple[str, Reader]]]:
    """The directories where `version.project_torch` looks for what some files are for, and what it reads there."""
    found: dict[str, list[tuple[str, Reader]]] = {}
    todo = {os.path.realpath(folder) for folder in {os.path.dirname(path) or os.curdir for path in paths}}
    while todo:
        directory = todo.pop()
        if directory in found:
            continue
        found[directory] = manifests(directory)
        above = os.path.dirname(directory)
        if above != directory and not os.path.exists(os.path.join(directory, ".git")):
            todo.add(above)
    return found


# What is kept is taken for what it looks like only: whatever does not look right is worked out again.


def _entry(rows: Mapping[str, _Row], said: Mapping[str, _Said]) -> dict[str, Any]:
    """What is known of files, for JSON."""
    return {
        "rows": {path: [row.stamp, row.digest] for path, row in rows.items()},
        "said": {path: [one.digest, one.state, one.text] for path, one in said.items()},
    }


def _loaded(entry: Any) -> tuple[dict[str, _Row], dict[str, _Said]]:
    try:
        rows = {
            path: _Row(is_a(str, lasting), is_a(str, digest))
            for path, (lasting, digest) in is_a(dict, entry["rows"]).items()
        }
        said = {
            path: _Said(is_a(str, digest), state if state is None else is_a(str, state), text)
            for path, (digest, state, text) in is_a(dict, entry["said"]).items()
        }
    except (TypeError, ValueError, KeyError):
        return {}, {}
    return rows, said


def _text(checked: Checked) -> Any:
    """What was said of a file, for JSON."""
    return [[*map(as_data, checked.findings)], checked.suppressed]


def _checked(path: str, text: Any, *, alone: bool) -> Checked | None:
    """What was said of a file; None where that can't be made out."""
    try:
        findings, suppressed = text
        found = tuple(of_data(path, data) for data in findings)
        return Checked(found, is_a(int, suppressed), alone=alone)
    except (TypeError, ValueError):
        return None
