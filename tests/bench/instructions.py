"""How many instructions torchlint takes for a fixed set of files, against the committed figures: a repeatable cost.

    python -m tests.bench.instructions [--update] [CASE...]

Needs valgrind and Linux; a minute or so. Seconds depend on the machine and on what else it does, these counts nearly do not:
two runs of one version differ by less than the tolerance. They do depend on Python and libcst, so figures of other
versions are shown and not compared. `--update` writes what was counted to instructions.json, to be committed with the
change that explains it. Ends with 1 where a case takes more, or less, than the tolerance allows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from tests.test_linear import SHAPES

ROOT = Path(__file__).parents[2]
FIGURES = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.03
_COUNT = re.compile(r"I\s+refs:\s+([\d,]+)")


def nothing(folder: Path) -> None:
    """A file that has nothing to do with torch: what starting costs."""
    (folder / "plain.py").write_text("import json\n\nprint(json.dumps({}))\n")


def demo(folder: Path) -> None:
    """The small training program of the README, with many findings."""
    shutil.copytree(ROOT / "docs/demo", folder, dirs_exist_ok=True)


def projects(folder: Path) -> None:
    """The projects of the tests, several files that call each other."""
    shutil.copytree(ROOT / "tests/projects", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def grown(folder: Path) -> None:
    """Generated files of all shapes, 20 of everything."""
    for number, shape in enumerate(SHAPES.values()):
        for name, text in shape(20).items():
            path = folder / f"shape{number}" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


CASES: dict[str, Callable[[Path], None]] = {case.__name__: case for case in (nothing, demo, projects, grown)}


def count(case: str) -> int:
    """The instructions of one cold run in one process. Raises RuntimeError where valgrind tells none."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        CASES[case](folder)
        command = [sys.executable, "-m", "torchlint", "check", "--isolated", "--exit-zero", "--no-cache", "-j1"]
        command += ["--select", "ALL", "--preview", "--output-format", "concise", str(folder)]
        environment = {"PATH": os.environ["PATH"], "HOME": place, "PYTHONHASHSEED": "0"}
        subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)  # fresh bytecode
        told = subprocess.run(
            [
                "setarch",
                "-R",
                "valgrind",
                "--tool=cachegrind",
                "--cache-sim=no",
                "--cachegrind-out-file=/dev/null",
                *command,
            ],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    found = _COUNT.search(told.stderr)
    if told.returncode or found is None:
        raise RuntimeError(f"valgrind ended with {told.returncode}: {told.stderr[-1000:]}")
    return int(found[1].replace(",", ""))


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), "machine": platform.machine(), "libcst": metadata.version("libcst")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: {' '.join(CASES)}")
    parser.add_argument("--update", action="store_true", help="write the counts to instructions.json")
    options = parser.parse_args()
    unknown = [case for case in options.cases if case not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    lacking = [program for program in ("valgrind", "setarch") if shutil.which(program) is None]
    if lacking:
        sys.exit(f"{' and '.join(lacking)} can't be found: counting instructions needs Linux with valgrind")
    kept = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"versions": {}, "counts": {}}
    comparable = kept["versions"] == versions()
    if not comparable and kept["versions"]:
        print(f"not compared: the figures are of {kept['versions']}, this is {versions()}")
    counted: dict[str, int] = {}
    strayed = False
    for case in options.cases or CASES:
        counted[case] = count(case)
        before = kept["counts"].get(case) if comparable else None
        change = counted[case] / before - 1 if before else 0.0
        strayed = strayed or abs(change) > TOLERANCE
        print(f"{case:10} {counted[case] / 1e6:10,.0f} million" + (f" {change:+8.1%}" if before else ""), flush=True)
    if options.update:
        counts = {**(kept["counts"] if comparable else {}), **counted}
        FIGURES.write_text(json.dumps({"versions": versions(), "counts": counts}, indent=2) + "\n")
    elif strayed:
        sys.exit(f"More than {TOLERANCE:.0%} off: mend it, or commit the figures that --update writes and say why.")


if __name__ == "__main__":
    main()
