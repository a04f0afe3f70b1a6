"""Keystrokes in one file, in the process of an editor's server: seconds of processor from the new text to its findings.

python -m tests.bench.editor FILE TIMES
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from pathlib import Path

from torchlint.lsp.session import Session
from torchlint.rule import load
from torchlint.settings.config import Settings


def keystrokes(file: Path, times: int) -> dict[str, float | int]:
    """A comment in the middle of the file grows by a letter each time; milliseconds."""
    os.chdir(file.parent)
    codes = frozenset(load())
    session = Session(file.parent, Settings(codes=codes, fixable=codes, root=file.parent))
    lines = file.read_text().splitlines(keepends=True)
    at = len(lines) // 2
    while at < len(lines) - 1 and lines[at].strip() and not lines[at].endswith(":\n"):
        at += 1
    session.look([file.name])
    gc.collect()
    gc.freeze()
    spent: list[float] = []
    findings = 0
    for turn in range(times):
        data = "".join([*lines[:at], f"# {'a' * turn}\n", *lines[at:]]).encode()
        start = time.process_time()
        session.edit(file.name, data)
        findings = len(session.glance(file.name).findings)
        spent.append((time.process_time() - start) * 1000)
    return {"median": statistics.median(spent), "worst": max(spent), "times": times, "findings": findings}


if __name__ == "__main__":
    print(json.dumps(keystrokes(Path(sys.argv[1]).resolve(), int(sys.argv[2]))))
