"""What is measured, a section each; a section's answer is plain data that `page.py` shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import tools
from .processes import Cost, Tool, in_turn, median, part, python_files, run

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_200_000)
"""Lines, for the plot."""
OF_ONE_FILE = (1_000, 5_000)
KEYSTROKES = 25
_FROM = re.compile(rb"^[ \t]*from[ \t]+[\w.]*?(\w+)[ \t]+import\b", re.MULTILINE)

Files = Sequence[tuple[Path, int]]
Data = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What to measure, and how thoroughly."""

    repositories: Mapping[str, Path]
    peers: Path | None
    repeat: int
    jobs: int
    slow_lines: int
    """Up to how many lines the slow peers are run on."""


@contextmanager
def copied(folder: Path, files: Files) -> Iterator[Path]:
    """Files in a folder of their own, so that every tool sees the same ones and nothing beside them."""
    with tempfile.TemporaryDirectory(prefix="bench") as place:
        root = Path(place) / folder.resolve().name
        for path, _ in files:
            target = root / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)  # its old date too: a cache trusts no file of this moment
        yield root


def lines(files: Files) -> int:
    return sum(count for _, count in files)


def figures(costs: Sequence[Cost]) -> Data:
    return {**asdict(median(costs)), "runs": len(costs)}


def everywhere(chosen: Sequence[Tool], target: str = ".") -> dict[str, Sequence[str]]:
    return {tool.name: [target] for tool in chosen}


def cold(plan: Plan) -> Data:
    """Each tool on each repository; slow tools on a part of it where it is large, beside torchlint on the same part."""
    return {name: _cold(plan, folder) for name, folder in plan.repositories.items()}


def _cold(plan: Plan, folder: Path) -> Data:
    files = python_files(folder)
    known = {"files": len(files), "lines": lines(files), "commit": tools.commit(folder)}
    with tempfile.TemporaryDirectory() as cache, copied(folder, files) as root:
        chosen = [*tools.own(plan.jobs, Path(cache)), *tools.peers(plan.peers, plan.jobs)]
        fast = [tool for tool in chosen if not tool.slow]
        rows = {name: figures(costs) for name, costs in in_turn(fast, everywhere(fast), root, plan.repeat).items()}
    sample = part(files, plan.slow_lines) if lines(files) > plan.slow_lines else files
    slow = [next(tools.own(plan.jobs, Path("unused"))), *(tool for tool in chosen if tool.slow)]
    with copied(folder, sample) as root:
        found = in_turn(slow, everywhere(slow), root, plan.repeat)
    return {**known, "rows": rows, "part": {"files": len(sample), "lines": lines(sample)}} | {
        "slow": {name: figures(costs) for name, costs in found.items()}
    }


def growth(plan: Plan) -> Data:
    """Time against lines, of parts of all repositories together."""
    pool = {folder: python_files(folder) for folder in plan.repositories.values()}
    whole = sum(map(lines, pool.values()))
    points: dict[str, list[Data]] = {}
    for size in SIZES:
        if size > whole * 1.1:
            break
        # Of each repository its share.
        chosen = {folder: part(files, size * lines(files) // whole) for folder, files in pool.items()}
        with ExitStack() as stack:
            roots = [stack.enter_context(copied(folder, files)) for folder, files in chosen.items()]
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            every = [*tools.own(plan.jobs, place / "cache"), *tools.peers(plan.peers, plan.jobs)]
            wanted = [tool for tool in every if not tool.warm and (not tool.slow or size <= plan.slow_lines)]
            targets = {tool.name: list(map(str, roots)) for tool in wanted}
            for name, costs in in_turn(wanted, targets, place, plan.repeat).items():
                points.setdefault(name, []).append({"lines": sum(map(lines, chosen.values())), **figures(costs)})
    return points


def warm(plan: Plan) -> Data:
    """A cache that knows all files but none or one: the one that most others import from gets a new function each time."""
    return {name: _warm(plan, folder) for name, folder in plan.repositories.items()}


def _warm(plan: Plan, folder: Path) -> Data:
    files = python_files(folder)
    with tempfile.TemporaryDirectory() as place, copied(folder, files) as root:
        command = [*tools.torchlint(*tools.ALL, f"-j{plan.jobs}", "--cache-dir", str(Path(place) / "cache")), "."]
        first = run(command, root, Path(place))
        same = [run(command, root, Path(place)) for _ in range(plan.repeat + 2)]
        central = root / most_imported(folder, files)
        changed = []
        for turn in range(plan.repeat):
            with central.open("a") as file:
                file.write(f"\n\ndef added_{turn}(tensor):\n    return tensor.item()\n")
            changed.append(run(command, root, Path(place)))
    return {
        "files": len(files),
        "lines": lines(files),
        "changed file": str(central.relative_to(root)),
        "first": figures([first]),
        "same": figures(same),
        "changed": figures(changed),
    }


def most_imported(folder: Path, files: Files) -> Path:
    """The file whose name most imports of other files end in."""
    stems = Counter(path.stem for path, _ in files)
    named: Counter[str] = Counter()
    for path, _ in files:
        named.update({name.decode() for name in _FROM.findall(path.read_bytes())})
    stem = next((name for name, _ in named.most_common() if stems[name] == 1), files[0][0].stem)
    return next(path for path, _ in files if path.stem == stem).relative_to(folder)


def hook(plan: Plan) -> Data:
    """Five files of a repository by their names, as a commit hook gives them: alone, and with the repository around them."""
    found: Data = {}
    for name, folder in plan.repositories.items():
        files = python_files(folder)
        five = [pair for pair in files if 300 <= pair[1] <= 2000][:5]
        with tempfile.TemporaryDirectory() as place, copied(folder, files) as root:
            given = [str(path.relative_to(folder)) for path, _ in five]
            chosen = [
                Tool("cold", tools.torchlint(*tools.ALL, *tools.COLD)),
                Tool("cached", tools.torchlint(*tools.ALL, "--cache-dir", str(Path(place) / "cache")), warm=True),
                *(tool for tool in tools.peers(plan.peers, plan.jobs) if tool.name.startswith("Ruff, default")),
            ]
            rows = in_turn(chosen, {tool.name: given for tool in chosen}, root, plan.repeat + 2)
            bare = [sys.executable, "-c", "pass"]
            rows["Python alone"] = [run(bare, root, Path(place)) for _ in range(plan.repeat + 2)]
            rows |= _in_repository(root, given, plan.repeat)
        found[name] = {"lines": lines(five), "rows": {tool: figures(costs) for tool, costs in rows.items()}}
    return found


def _in_repository(root: Path, given: Sequence[str], repeat: int) -> dict[str, list[Cost]]:
    """The same files where all others are of one project with them: cold, and behind an edit of one of them."""
    (root / ".git").mkdir()
    edited = root / given[0]
    text = edited.read_text()
    cold, changed = [], []
    for _ in range(repeat):
        edited.write_text(text)
        with tempfile.TemporaryDirectory() as place:
            command = [*tools.torchlint(*tools.ALL, "--cache-dir", str(Path(place) / "cache")), *given]
            cold.append(run(command, root, Path(place)))
            edited.write_text(_with_line(text))
            changed.append(run(command, root, Path(place)))
    return {"of a repository, cold": cold, "of a repository, behind an edit": changed}


def _with_line(text: str) -> str:
    """A file with one line more in its last function."""
    start = max(text.rfind("\n    def "), text.rfind("\ndef "))
    returned = text.find("        return ", start)
    at = returned if returned >= 0 else len(text)
    return f"{text[:at]}{' ' * 8 * (returned >= 0)}added = 1\n{text[at:]}"


def file(plan: Plan) -> Data:
    """One file of about 1,000 and one of about 5,000 lines, alone: a process each time, and in an editor's process."""
    found: Data = {}
    known = _with_findings(plan)
    for size in OF_ONE_FILE:
        path, count = _of_size(known, size)
        with tempfile.TemporaryDirectory() as place:
            root = Path(place) / "one"
            root.mkdir()
            shutil.copyfile(path, root / path.name)
            chosen = [
                Tool("torchlint, all rules", tools.torchlint(*tools.ALL, *tools.COLD)),
                *(tool for tool in tools.peers(plan.peers, plan.jobs) if not tool.warm),
            ]
            rows = in_turn(chosen, everywhere(chosen, path.name), root, plan.repeat + 2)
            keys = json.loads(_python("editor", str(root / path.name), str(KEYSTROKES)))
        found[str(size)] = {
            "file": path.name,
            "lines": count,
            "rows": {tool: figures(costs) for tool, costs in rows.items()},
            "editor": keys,
        }
    return found


def _of_size(known: Files, size: int) -> tuple[Path, int]:
    """The file whose lines come nearest to a number."""
    return min(known, key=lambda one: (abs(one[1] - size), str(one[0])))


def _with_findings(plan: Plan) -> Files:
    """The files of all repositories that torchlint finds something in: what finds nothing is quicker than most."""
    found: list[tuple[Path, int]] = []
    for folder in plan.repositories.values():
        files = python_files(folder)
        with copied(folder, files) as root:
            named = {Path(one["filename"]).resolve().relative_to(root.resolve()) for one in findings(root)}
        found += [(path, count) for path, count in files if path.relative_to(folder) in named]
    return found


def _python(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"tests.bench.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def findings(folder: Path, *options: str) -> list[Any]:
    """What torchlint finds in a folder, as JSON."""
    command = [*tools.torchlint(*tools.ALL, *tools.COLD, *options), "--output-format", "json", "."]
    return list(json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout))


def sieve(plan: Plan) -> Data:
    """Whether the fast engine finds what the plain one does."""
    found: Data = {}
    for name, folder in plan.repositories.items():
        files = python_files(folder)
        with copied(folder, files) as root:
            fast, plain = findings(root, f"-j{plan.jobs}"), findings(root, f"-j{plan.jobs}", "--no-sieve")
        found[name] = {"files": len(files), "lines": lines(files), "findings": len(plain)}
        found[name]["differences"] = sum(one not in plain for one in fast) + sum(one not in fast for one in plain)
    return found


SECTIONS: dict[str, Callable[[Plan], Data]] = {
    "cold": cold,
    "growth": growth,
    "warm": warm,
    "hook": hook,
    "file": file,
    "sieve": sieve,
}
