"""Write programs with a fault in other words, fix them, and see whether they show the same; by hand, for it is slow.

    python -m tests.bench.respelled_fixes [SPELLING...] [--only PART] [--programs N]

The programs are those of `tests/differential`, the words those of `tests.bench.spellings`. What a spelled program shows
before and after its safe fixes is compared in a child process, as the tests do for the programs themselves.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from torchlint.rule import load

from ..differential.judge import judged, started
from ..differential.programs import Grid, Program
from ..differential.situations import situations
from .spellings import SPELLINGS, Spelling

GRIDS = Path(__file__).parents[1] / "differential/grids"


def _spelled(programs: list[Program], spelling: Spelling) -> Iterator[Program]:
    for program in programs:
        tree = ast.parse(program.text)
        other = spelling(copy.deepcopy(tree))
        text = ast.unparse(ast.fix_missing_locations(other)) if other is not None else ""
        if text and text != ast.unparse(tree) and _is_python(text):
            yield replace(program, text=text + "\n")


def _is_python(text: str) -> bool:
    """Whether a text compiles: names that are `global` can't be annotated."""
    try:
        compile(text, "<spelled>", "exec")
    except SyntaxError:
        return False
    return True


def _programs(name: str, count: int) -> list[Program]:
    grids: tuple[Grid, ...] = importlib.import_module(f"..differential.grids.{name}", __package__).GRIDS
    return [program for grid in grids for program in grid.programs(count // len(grids))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.respelled_fixes", description=__doc__)
    parser.add_argument("spellings", nargs="*", metavar="SPELLING", help="default: all")
    parser.add_argument("--only", default="", metavar="PART", help="rules with that in their names")
    parser.add_argument("--programs", type=int, default=200, metavar="N", help="of each rule (default: 200)")
    args = parser.parse_args()
    names = [path.stem for path in sorted(GRIDS.glob("*.py")) if args.only in path.stem]
    codes = {rule.name.replace("-", "_"): rule.code for rule in load().values()}
    print("| spelling | rule | programs | fixed | differ |\n|---|---|---:|---:|---:|")
    with started() as child:
        for spelling in args.spellings or SPELLINGS:
            for name in names:
                programs = list(_spelled(_programs(name, args.programs), SPELLINGS[spelling]))
                found = judged(programs, codes[name], situations(), child)
                differ = len(found.differences)
                print(f"| {spelling} | {name} | {len(programs)} | {found.situations} | {differ} |", flush=True)
                for one in found.differences:
                    print(one, one.program.text, one.fixed, sep="\n\n", flush=True)


if __name__ == "__main__":
    main()
