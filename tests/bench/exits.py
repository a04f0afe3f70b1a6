"""Lint folders with every rule and without a cache: a run ends with 0 or 1 and says nothing on stderr; run by hand.

    python tests/bench/exits.py FOLDER...

A line of the table for each folder: exit code, seconds, files, findings, and lines on stderr, which are printed below it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

OPTIONS = ("--isolated", "--select", "ALL", "--preview", "--no-cache", "--output-format", "json-lines")


def row(folder: Path) -> tuple[bool, str]:
    """Whether the run of a folder ended as it should, and its line of the table."""
    command = [sys.executable, "-m", "torchlint", "check", *OPTIONS, str(folder)]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    seconds = time.perf_counter() - began
    files = sum(1 for suffix in ("py", "ipynb") for _ in folder.rglob(f"*.{suffix}"))
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    said = done.stderr.splitlines()
    line = f"| {folder.name} | {done.returncode} | {seconds:.1f} | {files:,} | {len(findings):,} | {len(said)} |"
    return done.returncode in (0, 1) and not said, "\n".join([line, *said])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    print("| what | exit code | seconds | files | findings | lines on stderr |\n|---|---:|---:|---:|---:|---:|")
    well = True
    for folder in parser.parse_args().folders:
        good, text = row(folder)
        well = well and good
        print(text, flush=True)
    return int(not well)


if __name__ == "__main__":
    sys.exit(main())
