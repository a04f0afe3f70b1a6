"""Linting with several processes: what is global is worked out once, then chunks of files are linted wherever there is room.

What a rule says of a file does not depend on which files are linted with it, so neither the chunks nor the processes show in the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .config import Settings
from .lint import Checked, FileError, Result, gathered, lint_project, mention_torch, prepared
from .project import Project
from .site import Analysis

if TYPE_CHECKING:
    from .executors import Executor

WORTH = 600_000
"""Bytes of source from which processes pay."""
_CHUNKS = 16
"""For each process, so that none waits long for the last one."""
_SMALLEST, _LARGEST = 50_000, 500_000
"""Bytes of a chunk."""

CGROUPS = "/sys/fs/cgroup"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Linter:
    """`lint` with that many processes (default: as many as there are CPUs for this one)."""

    jobs: int | None = None

    def lint(
        self,
        files: Sequence[Path] | Mapping[str, bytes],
        settings: Settings,
        *,
        context: Sequence[Path] = (),
        buffers: Mapping[str, bytes] | None = None,
        progress: Progress | None = None,
    ) -> Result:
        """What `lint.lint` gives; small runs stay in this process."""
        project, targets = gathered(files, context, buffers)
        jobs = self.jobs or cpus()
        if jobs > 1 and _size(project, targets) >= WORTH and mention_torch(project, targets):
            from .executors import local

            return lint_in(local(jobs), jobs, project, targets, settings, progress)
        return lint_project(project, targets, settings, progress)


@dataclass(frozen=True)
class _Shared:
    """What every chunk is linted with."""

    project: Project
    settings: Settings
    analysis: Analysis


def lint_in(
    executor: Executor,
    jobs: int,
    project: Project,
    targets: Sequence[str],
    settings: Settings,
    progress: Progress | None = None,
) -> Result:
    """Lint files of a project in the processes of an executor, `jobs` of them at once."""
    from .executors import Died

    analysis = Analysis(project, settings)
    with prepared():
        _link(analysis)
    shared = _Shared(project, settings, analysis)
    checked: dict[str, Checked] = {}
    todo = _chunks(project, targets, jobs)
    while todo:
        again: list[list[str]] = []
        with closing(executor.map(_lint, shared, todo)) as answers:
            for place, answer in answers:
                chunk = todo[place]
                if not isinstance(answer, Died):
                    checked.update(zip(chunk, answer, strict=True))
                elif len(chunk) == 1:
                    checked[chunk[0]] = _lost(chunk[0], answer.reason)
                else:
                    again += [[path] for path in chunk]
                if progress is not None:
                    progress(len(checked), len(targets))
        todo = again
    checked = {path: checked[path] for path in targets}
    found = (path for path, one in checked.items() if one.findings)
    return Result.of(checked, {path: source for path in found if (source := project.source(path)) is not None})


def _link(analysis: Analysis) -> None:
    """Work out what all files ask for."""
    _ = analysis.steps.index, analysis.regions.index, analysis.project.renames


def _lint(shared: _Shared, chunk: Sequence[str]) -> tuple[Checked, ...]:
    result = lint_project(shared.project, chunk, shared.settings, analysis=shared.analysis)
    return tuple((result.checked or {}).values())


def _lost(path: str, reason: str) -> Checked:
    return Checked(errors=(FileError(path, f"could not be linted: the worker died ({reason})"),))


def _size(project: Project, paths: Iterable[str]) -> int:
    return sum(len(source.data) for source in map(project.source, paths) if source is not None)


def _chunks(project: Project, targets: Iterable[str], jobs: int) -> list[list[str]]:
    """The files in pieces of about one size, neighbours together."""
    paths = sorted(dict.fromkeys(targets))
    share = min(max(_size(project, paths) // (jobs * _CHUNKS), _SMALLEST), _LARGEST)
    chunks: list[list[str]] = []
    room = 0
    for path in paths:
        if room <= 0:
            chunks.append([])
            room = share
        chunks[-1].append(path)
        room -= _size(project, [path])
    return chunks


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
