"""How many of the lines that broke have a finding, and how many findings on lines that ran broke."""

from __future__ import annotations

import ast
import collections
import json
from pathlib import Path
from typing import Any, NamedTuple

UNSEEN = {
    "GB0003": "a generator that Dynamo resumes",
    "GB0039": "the limit of recompilations",
    "GB0116": "an object without a source",
    "GB0119": "a module that is made there",
    "GB0156": "a method of `contextvars`",
    "GB0198": "a mapping that was changed",
    "GB4347": "an iterator that Dynamo resumes",
    "GB4841": "a type that Dynamo does not ask for",
}
"""Breaks of Dynamo's own, mostly behind another one, which neither a line nor its function shows."""

Place = tuple[str, int]


class Break(NamedTuple):
    """A line that broke, by the first reason that was met."""

    file: str
    line: int
    gb: str


class Package:
    """The statements of a package's files."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._statements: dict[str, list[tuple[int, int]]] = {}

    def statement(self, file: str, line: int) -> range:
        """The lines of the statement, or of the head of a compound one, that a line is in."""
        if file not in self._statements:
            tree = ast.parse((self.root / file).read_text(encoding="utf-8"))
            nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
            self._statements[file] = [(node.lineno, _end(node)) for node in nodes]
        around = [(first, last) for first, last in self._statements[file] if first <= line <= last]
        first, last = max(around, default=(line, line))
        return range(first, last + 1)

    def own(self, file: str) -> str:
        """A finding's file, from the package on."""
        return Path(file).resolve().relative_to(self.root).as_posix()


def _end(node: ast.stmt) -> int:
    """The last line of a statement, without the block that it heads."""
    body = getattr(node, "body", None)
    return max(node.lineno, body[0].lineno - 1) if isinstance(body, list) and body else node.end_lineno or node.lineno


def judge(runs: Path, findings: Path, package: Path, table: Path | None) -> None:
    """Print what was found of what broke, and what of what was found broke; write the lines that broke."""
    ran = [one for one in map(_read, sorted(runs.glob("*.*.*.json"))) if one["ok"]]
    broke = {
        (one["file"], one["line"]): Break(one["file"], one["line"], one["gb"]) for run in ran for one in run["breaks"]
    }
    code = Package(package)
    told: dict[Place, list[str]] = collections.defaultdict(list)
    statements: set[tuple[str, int, str]] = set()
    for one in _read(findings):
        if one["code"].startswith("TL20"):
            file, (first, last) = code.own(one["filename"]), one["statement_rows"]
            statements.add((file, first, one["code"]))
            for line in range(first, last + 1):
                told[file, line].append(one["code"])
    found = {place: _told(told, code, one) for place, one in broke.items()}
    seen = [place for place, one in broke.items() if one.gb not in UNSEEN]
    lines = {(file, line) for one in broke.values() for file in [one.file] for line in code.statement(file, one.line)}
    on_run = [(file, first) for file, first, _ in statements if any(_ran(run, code, file, first) for run in ran)]
    right = [place for place in on_run if not lines.isdisjoint((place[0], line) for line in code.statement(*place))]
    print(
        f"{len(ran)} runs of {len({one['model'] for one in ran})} models; {sum(bool(one['breaks']) for one in ran)} broke"
    )
    print(f"lines that broke: {len(broke)}, found {sum(map(bool, found.values()))}")
    print(f"of those that a line or its function shows: {len(seen)}, found {sum(bool(found[place]) for place in seen)}")
    print(f"findings on lines that ran: {len(on_run)}, broke {len(right)}")
    if table is not None:
        rows = [f"{one.file}\t{one.line}\t{one.gb}\t{found[place]}" for place, one in sorted(broke.items())]
        table.write_text("\n".join(["file\tline\tbreak\tfound", *rows]) + "\n", encoding="utf-8")


def _told(told: dict[Place, list[str]], code: Package, one: Break) -> str:
    """The first rule that has a finding in the statement of a break."""
    codes = [rule for line in code.statement(one.file, one.line) for rule in told.get((one.file, line), ())]
    return min(codes, default="")


def _ran(run: dict[str, Any], code: Package, file: str, line: int) -> bool:
    """Whether one run executed a statement, and Dynamo traced it."""
    executed, traced = run["executed"].get(file, ()), run["traced"].get(file, ())
    return any(one in executed and one in traced for one in code.statement(file, line))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
