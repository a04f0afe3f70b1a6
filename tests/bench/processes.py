"""Processes, and what they cost: seconds of processor, seconds of clock, memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32


@dataclass(frozen=True)
class Cost:
    """What one run of a process and its children took."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, user and system, children included."""
    peak: float
    """MiB of the largest process; the sizes of processes that share pages can't be added."""


@dataclass(frozen=True)
class Tool:
    """A program and its arguments; the files or folders follow."""

    name: str
    command: tuple[str, ...]
    slow: bool = False
    """Whether it runs on a part of the files and once where there are many."""
    warm: bool = False
    """Whether the cache of a run before is kept: the first run is not counted."""


def run(command: Sequence[str], folder: Path, home: Path) -> Cost:
    """Run a process once, in `folder`, with its output thrown away; raises RuntimeError where it did not get to its end."""
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home)}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode < 0 or process.returncode > 2:
            errors.seek(0)
            told = errors.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{' '.join(command[:4])} ended with {process.returncode}: {told}")
    # ru_maxrss is that of the largest process waited for; on macOS it counts bytes.
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def in_turn(
    tools: Sequence[Tool], targets: Mapping[str, Sequence[str]], folder: Path, repeat: int
) -> dict[str, list[Cost]]:
    """`repeat` rounds of all tools, one after the other, so that what else the machine does falls on all of them alike.

    `targets` are the files or folders for each tool by its name. A slow tool runs in the first round only.
    """
    found: dict[str, list[Cost]] = {tool.name: [] for tool in tools}
    with tempfile.TemporaryDirectory() as home:
        for tool in tools:
            if tool.warm:
                run([*tool.command, *targets[tool.name]], folder, Path(home))
        for turn in range(repeat):
            for tool in tools:
                if turn and tool.slow:
                    continue
                cost = run([*tool.command, *targets[tool.name]], folder, Path(home))
                found[tool.name].append(cost)
                print(f"  {tool.name}: {cost.cpu:.2f} s CPU, {cost.wall:.2f} s, {cost.peak:.0f} MiB", file=sys.stderr)
    return found


def median(costs: Iterable[Cost]) -> Cost:
    """The median of each figure by itself."""
    known = list(costs)
    return Cost(
        statistics.median(cost.wall for cost in known),
        statistics.median(cost.cpu for cost in known),
        statistics.median(cost.peak for cost in known),
    )


def python_files(folder: Path) -> list[tuple[Path, int]]:
    """The Python files of a folder and their lines, in a fixed order without any sense: a part of them is like the whole."""
    found = [(path, path.read_bytes().count(b"\n")) for path in folder.rglob("*.py") if path.is_file()]
    return sorted(found, key=lambda pair: crc32(pair[0].relative_to(folder).as_posix().encode()))


def part(files: Sequence[tuple[Path, int]], lines: int) -> list[tuple[Path, int]]:
    """The first files that together hold about so many lines; all of them where there are fewer."""
    found: list[tuple[Path, int]] = []
    total = 0
    for path, count in files:
        if total + count > lines * 1.1:
            continue
        found.append((path, count))
        total += count
        if total >= lines:
            break
    return found
