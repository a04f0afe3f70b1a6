"""Linting with several processes: each looks into some of the files, also for what is to be known of all of them.

The project's step loops and compiled regions are found by questions about single files and functions, then its files are
linted, in chunks of neighbours. What is said of a file depends on the project only, so neither chunks nor processes show in
the result. This process reads the files and parses none, so that it stays small, and so do forks of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..program.by_file import Told
from ..program.places import asked_here, where
from ..program.project import Project
from ..program.regions import Regions, region_index
from ..program.step_index import step_index
from ..rule.analysis import Analysis
from ..settings.config import Settings, compiled_in
from ..settings.home import Home
from ..system.cached import cached_property
from ..system.fault import FileError, Passing
from ..torch_api.version import Range
from .run import Checked, Make, Result, gathered, lint_project, mention_torch, prepared

if TYPE_CHECKING:
    from .executors import Executor, Workers

WORTH = 8_000_000
"""Bytes of source in a project from which processes pay: timm (5 MB) takes 2 s of CPU in one, 3 s in two."""
WORTH_HERE = 1_000_000
"""Bytes of the files that are linted: of fewer, most of the work is what each process would find out about others."""
_SHARE, _SHARE_OF_QUESTIONS = 3, 16
"""A chunk is that part of what is left for a process, so that none waits long for the last one; an answer may take long
whatever the size of its file. Each chunk of files costs a walk through all that they hang on, where that is noted."""
_SMALLEST, _LARGEST = 200_000, 2_000_000
"""Bytes of a chunk of files; questions come in smaller ones, too."""

CGROUPS = "/sys/fs/cgroup"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Linter:
    """`lint` with that many processes (default: as many as there are CPUs for this one), or in a Dask cluster."""

    jobs: int | None = None
    scheduler: str | None = None
    """The address of the cluster's scheduler."""

    def lint(
        self,
        files: Sequence[Path] | Mapping[str, bytes],
        settings: Settings,
        *,
        context: Sequence[Path] = (),
        buffers: Mapping[str, bytes] | None = None,
        progress: Progress | None = None,
        make: Make = Project,
    ) -> Result:
        """What `lint.lint` gives; small runs stay in this process."""
        project, targets = gathered(files, settings.project, context, buffers, make)
        if self.scheduler is not None:
            from .executors_dask import Dask

            with closing(Dask(self.scheduler)) as cluster:
                return lint_in(cluster, cluster.jobs, project, targets, settings, progress)
        jobs = self.jobs or cpus()
        if jobs > 1 and mention_torch(project, targets) and _pays(project, targets):
            from .executors import local

            return lint_in(local(jobs), jobs, project, targets, settings, progress)
        return lint_project(project, targets, settings, progress)


def _pays(project: Project, targets: Sequence[str]) -> bool:
    """Whether more than one process is quicker."""
    if _size(project, targets) < WORTH_HERE:
        return False
    return project.is_known or _size(project, project.paths) >= WORTH


def lint_in(
    executor: Executor,
    jobs: int,
    project: Project,
    targets: Sequence[str],
    settings: Settings,
    progress: Progress | None = None,
) -> Result:
    """Lint files of a project in the processes of an executor, `jobs` of them at once.

    A file that ends each process that looks at it is an error; the others are linted as if it were not there.
    """
    lost: dict[str, Checked] = {}
    checked: dict[str, Checked] = {}
    while len(checked) < len(targets):
        _ = project.renames  # every process asks for them
        project.news()  # what is known before need not be told again
        workers = executor.open(Shared(project, settings))
        try:
            rest = [path for path in targets if path not in lost]
            checked = {**lost, **_Run(workers, jobs, project, settings, progress).checked(rest)}
        except _LostError as loss:
            lost[loss.path] = _lost(loss.path, loss.reason)
            project.leave_out(loss.path)
        finally:
            workers.close()
    checked = {path: checked[path] for path in targets}
    found = (path for path, one in checked.items() if one.findings)
    sources = {path: source for path in found if (source := project.source(path)) is not None}
    context = [error for path in sorted(lost.keys() - checked.keys()) for error in lost[path].errors]
    return Result.of(checked, sources, [*project.faults, *context])


class _LostError(Passing):
    """A file of the project that no process survives. Not an Exception: no fault of torchlint may be made of it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def _lost(path: str, reason: str) -> Checked:
    return Checked(errors=(FileError(path, f"could not be linted: the worker died ({reason})"),))


class _Run:
    """One go at all files."""

    def __init__(
        self, workers: Workers, jobs: int, project: Project, settings: Settings, progress: Progress | None
    ) -> None:
        self.workers = workers
        self.jobs = jobs
        self.project = project
        self.settings = settings
        self.progress = progress or (lambda done, total: None)
        self.total = 0

    def checked(self, targets: Sequence[str]) -> dict[str, Checked]:
        """What is said of each file, the lost ones among them."""
        import pickle

        self.total = len(targets)
        self.progress(0, self.total)
        asking = self.project.asking
        steps = step_index(self.project, asking(lambda question, keys: self._asked("steps", question, keys)))
        regions = region_index(
            Regions(self.project, compiled_in(self.project.paths, self.settings)),
            asking(lambda question, keys: self._asked("regions", question, keys)),
        )
        links = pickle.dumps((steps, regions), pickle.HIGHEST_PROTOCOL)
        checked: dict[str, Checked] = {}
        for keys, answer in self._answers(_lint, self._chunks(targets, _SHARE, _SMALLEST), links):
            if isinstance(answer, str):
                checked[keys[0]] = _lost(keys[0], answer)
            else:
                checked.update(zip(keys, answer.checked, strict=True))
                self.project.faults += answer.faults
                self.project.hear(answer.news)
            self.progress(len(checked), self.total)
        return checked

    def _asked(self, part: str, question: Callable[[Any, Any], Any], keys: Sequence[Any]) -> list[Any]:
        """The answers to a question about each of the keys."""
        known: dict[Any, Any] = {}
        for chunk, answer in self._answers(_answer, self._chunks(keys, _SHARE_OF_QUESTIONS, 1), (part, question)):
            if isinstance(answer, str):
                raise _LostError(where(chunk[0]), answer)
            known.update(zip(chunk, answer, strict=True))
            self.progress(0, self.total)
        return [known[key] for key in keys]

    def _answers(
        self, work: Callable[[Shared, tuple[Any, list[Any]]], Any], chunks: list[list[Any]], setting: Any
    ) -> Iterator[tuple[list[Any], Any]]:
        """What the workers say of the keys of each chunk; a text for a single one of which it can't be had."""
        from .executors import Died

        while chunks:
            again: list[list[Any]] = []
            begins = [self._where[where(chunk[0])] for chunk in chunks]
            with closing(self.workers.map(work, [(setting, chunk) for chunk in chunks], begins)) as answers:
                for place, answer in answers:
                    chunk = chunks[place]
                    if not isinstance(answer, Died):
                        yield chunk, answer
                    elif len(chunk) == 1:
                        yield chunk, answer.reason
                    else:
                        again += [[key] for key in chunk]
            chunks = again

    @cached_property
    def _where(self) -> dict[str, float]:
        """How much of the project's source lies before each file, as a fraction of all."""
        sizes = [_size(self.project, [path]) + 1 for path in self.project.paths]
        total = sum(sizes)
        before = accumulate(sizes, initial=0)
        return {path: start / total for path, start in zip(self.project.paths, before, strict=False)}

    def _chunks(self, keys: Iterable[Any], share: int, smallest: int) -> list[list[Any]]:
        """The keys in pieces, neighbours together and those of one file in one piece; those of each process get smaller."""
        paths: dict[str, list[Any]] = {}
        for key in dict.fromkeys(keys):
            paths.setdefault(where(key), []).append(key)
        sizes = {path: _size(self.project, [path]) for path in sorted(paths)}
        chunks: list[list[Any]] = []
        for _, run in groupby(sizes, lambda path: int(self._where[path] * self.jobs)):
            own = list(run)
            left, room = sum(sizes[path] for path in own), 0
            for path in own:
                if room <= 0 or path is own[0]:
                    chunks.append([])
                    room = min(max(left // share, smallest), _LARGEST)
                chunks[-1] += paths[path]
                left -= sizes[path]
                room -= sizes[path]
        return chunks


def _size(project: Project, paths: Iterable[str]) -> int:
    return sum(len(source.data) for source in map(project.source, paths) if source is not None)


# In the workers


class Shared:
    """What a worker knows: the project, and what it has found out about it."""

    def __init__(self, project: Project, settings: Settings) -> None:
        self.project = project
        self.settings = settings
        self.analysis = Analysis(project, settings)
        self._links = b""

    def know(self, links: bytes) -> None:
        """Take over what others have found out about the whole project, pickled."""
        import pickle

        if links != self._links:
            self._links = links
            steps, regions = pickle.loads(links)
            self.analysis.steps.know(steps)
            self.analysis.regions.know(regions)

    def __reduce__(self) -> tuple[Any, ...]:
        """For a process that knows nothing, has another working directory and maybe another disk."""
        from .elsewhere import elsewhere

        files = {path: self.project.raw(path) for path in self.project.paths}
        folders = {path.rpartition("/")[0] for path in files}
        torch = {folder: self.analysis.stated_torch(folder) for folder in folders}
        home = self.project.home
        for path in files:
            home(path)
        return _shared, (type(self.project), files, home, elsewhere(self.settings, files), torch)


def _shared(
    kind: type[Project],
    files: Mapping[str, bytes | OSError],
    home: Home,
    settings: Settings,
    torch: Mapping[str, Range | None],
) -> Shared:
    if settings.plugins:
        from ..rule.plugins import plug

        plug(settings.plugins)
    shared = Shared(kind({path: partial(_read, data) for path, data in files.items()}, home), settings)
    shared.analysis.know_torch(torch)
    return shared


def _read(data: bytes | OSError) -> bytes:
    if isinstance(data, OSError):
        raise data
    return data


def _answer(shared: Shared, item: tuple[tuple[str, Callable[[Any, Any], Any]], Sequence[Any]]) -> list[Any]:
    (part, question), keys = item
    subject = getattr(shared.analysis, part)
    with prepared():
        return shared.project.together(lambda: asked_here(subject)(question, keys))


class _Linted(NamedTuple):
    """What is said of some files, and what a worker has learnt that others hang on as well."""

    checked: list[Checked]
    faults: list[FileError]
    """What torchlint failed at."""
    news: Told
    """What files say by themselves."""


def _lint(shared: Shared, item: tuple[bytes, Sequence[str]]) -> _Linted:
    links, paths = item
    shared.know(links)
    result = lint_project(shared.project, paths, shared.settings, analysis=shared.analysis)
    return _Linted(list((result.checked or {}).values()), shared.project.faults, shared.project.news())


# How many


def cpus() -> int:
    """How many CPUs this process may use: what its affinity and its container leave of those of the machine."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _quota() or count)


def _quota() -> int | None:
    """The CPUs that the container of this process may keep busy, rounded up; None where nothing is said of that."""
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        with suppress(OSError, ValueError):
            words = " ".join(Path(CGROUPS, name).read_text("ascii") for name in files).split()
            quota, period = int(words[0]), int(words[1])  # "max", or -1, where there is no limit
            if quota > 0:
                return -(-quota // period)
    return None
