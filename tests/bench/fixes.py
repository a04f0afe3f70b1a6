"""Fix copies of repositories and hold the result to what a fix promises; run by hand.

    python tests/bench/fixes.py [--unsafe] [--diff FILE] FOLDER...

For each folder: every fixed file parses, no finding appears that was not there, the findings that had an applicable fix are
gone, a second run changes nothing, and `ast` differs only in statements that an edit touched (or an import that was added).
"""

from __future__ import annotations

import argparse
import ast
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from torchlint.fix.run import fix_files
from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.settings.discover import discover
from torchlint.text.finding import Finding


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


def check(folder: Path, unsafe: bool, diff: list[str]) -> list[str]:
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        copy = Path(home) / folder.name
        shutil.copytree(folder, copy, symlinks=True)
        codes = frozenset(load())
        settings = Settings(codes=codes, fixable=codes, root=copy)
        files = discover([copy], settings).files
        before = lint(files, settings)
        texts = {path: Path(path).read_text(encoding="utf-8", errors="replace") for path in map(str, files)}
        result = fix_files(files, settings, unsafe=unsafe, write=True)
        count = sum(sum(codes.values()) for codes in result.fixed.values())
        diff += (one.decode(errors="replace") for one in result.diffs.values())
        known = Counter(map(key, before.findings))
        for place, times in Counter(map(key, result.result.findings)).items():
            if times > known[place]:
                problems.append(f"new: {place}")
        levels = ("safe", "unsafe") if unsafe else ("safe",)
        for finding in result.result.findings:
            if finding.fix is not None and finding.fix.applicability in levels and finding.code in settings.fixable:
                problems.append(f"still fixable: {finding.path}:{finding.line} {finding.code}")
        for path in result.fixed:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
            try:
                changed = statements(texts[str(path)]) - statements(text)
            except SyntaxError as error:
                problems.append(f"does not parse: {path}: {error}")
                continue
            if sum(changed.values()) > 3 * sum(result.fixed[path].values()):
                problems.append(f"changed more than it fixed: {path}: {sum(changed.values())} statements")
        again = fix_files(files, settings, unsafe=unsafe, write=True)
        if again.fixed:
            problems.append(f"a second run changed {list(again.fixed)}")
        problems += [f"failed: {error.path}: {error.message}" for error in result.failed]
        applied: Counter[str] = sum((Counter(c) for c in result.fixed.values()), Counter())
        listed = ", ".join(f"{code} {n}" for code, n in sorted(applied.items()))
        print(
            f"| {folder.name} | {len(files)} | {len(before.findings)} | {count} | {len(result.fixed)} | {len(problems)} | {listed} |",
            flush=True,
        )
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--diff", type=Path)
    options = parser.parse_args()
    print(
        "| repository | files | findings | fixes | files fixed | problems | by rule |\n|---|---:|---:|---:|---:|---:|---|"
    )
    problems: list[str] = []
    diffs: list[str] = []
    for folder in options.folders:
        problems += check(folder.resolve(), options.unsafe, diffs)
    if options.diff:
        options.diff.write_text("\n".join(diffs))
    print("\n".join(problems), file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main())
