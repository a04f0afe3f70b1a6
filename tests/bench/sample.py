"""Draw findings to read and judge, per rule, spread over repositories; the same ones each time. Run by hand.

    python tests/bench/sample.py [--rules TL1,TL2] [--size 30] [--todo] REPOSITORY.json...

Each file is what `torchlint check . --isolated --output-format json` printed in that repository, and is named as its folder.
`--todo` leaves out what docs/accuracy/*.jsonl judges already.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

CONTEXT = 12  # lines before and after
JUDGED = Path(__file__).parents[2] / "docs" / "accuracy"


class Drawn(NamedTuple):
    code: str
    repo: str
    path: str  # in the repository
    line: int
    message: str
    file: Path


def read(report: Path) -> Iterator[Drawn]:
    """The findings of a repository; of a rule's on one line the first."""
    repo, seen = report.stem, set()
    for finding in json.loads(report.read_text("utf-8")):
        file = Path(finding["filename"])
        path = PurePosixPath(*file.parts[file.parts.index(repo) + 1 :])
        place = finding["code"], path, finding["location"]["row"]
        if place in seen:
            continue
        seen.add(place)
        yield Drawn(finding["code"], repo, str(path), finding["location"]["row"], finding["message"], file)


def draw(found: Iterable[Drawn], size: int) -> list[Drawn]:
    """Up to `size` findings, in turn from each repository; within one the order is that of a hash, the same on each run."""
    queues: dict[str, list[Drawn]] = defaultdict(list)
    for one in sorted(found, key=lambda one: sha256(repr(one[:4]).encode()).hexdigest()):
        queues[one.repo].append(one)
    depths = ((depth, repo) for repo, queue in queues.items() for depth in range(len(queue)))
    return [queues[repo][depth] for depth, repo in sorted(depths)[:size]]


def show(one: Drawn) -> str:
    lines = one.file.read_text("utf-8", errors="replace").splitlines()
    first = max(one.line - 1 - CONTEXT, 0)
    shown = (
        f"{'>' if number == one.line else ' '}{number:5} {text}"
        for number, text in enumerate(lines[first : one.line + CONTEXT], first + 1)
    )
    return "\n".join([f"=== {one.code} {one.repo} {one.path}:{one.line}", f"    {one.message}", *shown, ""])


def judged() -> set[tuple[str, ...]]:
    files = (file for file in JUDGED.glob("*.jsonl") if not file.name.startswith("unseen"))
    rows = (json.loads(row) for file in files for row in file.read_text("utf-8").splitlines())
    return {(row["code"], row["repo"], row["path"], str(row["line"])) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="TL", help="beginnings of codes, with commas")
    parser.add_argument("--size", type=int, default=30, help="findings a rule")
    parser.add_argument("--todo", action="store_true", help="leave out what is judged")
    parser.add_argument("reports", nargs="+", type=Path)
    options = parser.parse_args()
    rules: dict[str, list[Drawn]] = defaultdict(list)
    for report in options.reports:
        for one in read(report):
            if one.code.startswith(tuple(options.rules.split(","))):
                rules[one.code].append(one)
    known = judged() if options.todo else set()
    for _, found in sorted(rules.items()):
        for one in draw(found, options.size):
            if (one.code, one.repo, one.path, str(one.line)) not in known:
                print(show(one))


if __name__ == "__main__":
    main()
