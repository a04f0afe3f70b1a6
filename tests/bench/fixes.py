"""Fix copies of repositories and hold the result to what a fix promises; run by hand.

    python tests/bench/fixes.py [--diffs FOLDER] FOLDER...

Each copy gets the safe fixes, then the unsafe ones on top of them. A line of the table: how many hunks both make, what
`ruff check --select F` counts and how many comments there are before, after the safe and after all fixes, and how many files a
second run changes. Reported besides: files that parse no more, findings that came, fixes that are still to be made, statements
that differ though no fix touched them.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path
from typing import Literal

from torchlint.fix.run import FixResult, fix_files
from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.settings.discover import discover
from torchlint.text.finding import Finding

Level = Literal["safe", "unsafe"]
LEVELS: tuple[Level, ...] = ("safe", "unsafe")


def key(finding: Finding) -> tuple[str, str, str]:
    return finding.path, finding.code, str(finding.severity)


def statements(text: str) -> Counter[str]:
    """The simple statements and the headers of the compound ones, as their `ast`."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            shallow = {
                f: v for f, v in ast.iter_fields(node) if f not in ("body", "orelse", "finalbody", "handlers", "cases")
            }
            found[
                f"{type(node).__name__} {[ast.dump(v) if isinstance(v, ast.AST) else [ast.dump(x) if isinstance(x, ast.AST) else x for x in v] if isinstance(v, list) else v for v in shallow.values()]}"
            ] += 1
    return found


def ruff(folder: Path) -> int:
    """How many findings of pyflakes ruff has in a folder, whatever the project ignores."""
    command = ["ruff", "check", "--isolated", "--no-cache", "--select", "F", "--output-format", "json", str(folder)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    return len(json.loads(done.stdout))


def comments(folder: Path) -> int:
    """How many comments the files have that can be read."""
    count = 0
    for path in folder.rglob("*.py"):
        with (
            contextlib.suppress(OSError, SyntaxError, tokenize.TokenError, UnicodeDecodeError),
            open(path, "rb") as file,
        ):
            count += sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(file.readline))
    return count


def hunks(result: FixResult) -> int:
    return sum(line.startswith(b"@@ ") for diff in result.diffs.values() for line in diff.splitlines())


def fixed(copy: Path, level: Level, diffs: Path | None) -> tuple[FixResult, bool, list[str]]:
    """Apply the fixes of a level: what that did, whether doing it again does something, and what is wrong with it."""
    codes = frozenset(load())
    settings = Settings(codes=codes, fixable=codes, root=copy)
    files = discover([copy], settings).files
    before = lint(files, settings)
    texts = {path: Path(path).read_text(encoding="utf-8", errors="replace") for path in map(str, files)}
    result = fix_files(files, settings, unsafe=level == "unsafe", write=True)
    if diffs is not None:
        (diffs / f"{copy.name}.{level}.diff").write_bytes(b"".join(result.diffs.values()))
    known = Counter(map(key, before.findings))
    came = Counter(map(key, result.result.findings)) - known
    problems = [f"new: {place}" for place in came]
    applied = ("safe",) if level == "safe" else ("safe", "unsafe")
    problems += [
        f"still fixable: {finding.path}:{finding.line} {finding.code}"
        for finding in result.result.findings
        if finding.fix is not None and finding.fix.applicability in applied
    ]
    for path in result.fixed:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        if path.endswith(".ipynb"):
            continue
        try:
            changed = statements(texts[str(path)]) - statements(text)
        except SyntaxError as error:
            problems.append(f"does not parse: {path}: {error}")
            continue
        if sum(changed.values()) > 3 * sum(result.fixed[path].values()):
            problems.append(f"changed more than it fixed: {path}: {sum(changed.values())} statements")
    problems += [f"failed: {error.path}: {error.message}" for error in result.failed]
    again = fix_files(files, settings, unsafe=level == "unsafe", write=True)
    return result, bool(again.fixed), problems


def check(folder: Path, diffs: Path | None) -> list[str]:
    """A line of the table, and what is wrong with the fixes of a repository."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        copy = Path(home) / folder.name
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".torchlint_cache"))
        (copy / ".git").mkdir()
        counted = [(ruff(copy), comments(copy))]
        made: list[int] = []
        again = 0
        codes: Counter[str] = Counter()
        for level in LEVELS:
            result, more, wrong = fixed(copy, level, diffs)
            problems += (f"{folder.name}: {level}: {problem}" for problem in wrong)
            counted.append((ruff(copy), comments(copy)))
            made.append(hunks(result))
            again += more
            codes += sum((Counter(c) for c in result.fixed.values()), Counter[str]())
        flakes, noted = (" / ".join(map(str, column)) for column in zip(*counted, strict=True))
        files = sum(1 for _ in copy.rglob("*.py"))
        listed = ", ".join(f"{code} {n}" for code, n in sorted(codes.items()))
        print(
            f"| {folder.name} | {files:,} | {made[0]} | {made[1]} | {flakes} | {noted} | {'changes' if again else 'nothing'} | {len(problems)} | {listed} |",
            flush=True,
        )
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--diffs", type=Path, help="where the diffs are put, to be read")
    options = parser.parse_args()
    if options.diffs is not None:
        options.diffs.mkdir(parents=True, exist_ok=True)
    print(
        "| repository | files | safe hunks | unsafe hunks | F before / safe / all | comments | second run | problems | by rule |\n"
        "|---|---:|---:|---:|---:|---:|---|---:|---|"
    )
    problems: list[str] = []
    for folder in options.folders:
        problems += check(folder.resolve(), options.diffs)
    print("\n".join(problems), file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main())
