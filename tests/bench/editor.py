"""Keystrokes in one file, in the process of an editor's server: seconds of processor from the new text to its findings.

python -m tests.bench.editor FILE TIMES [comment|code|line]
"""

from __future__ import annotations

import ast
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

PLACES = 8
"""In so many functions of the file something is typed."""


def keystrokes(file: Path, times: int, kind: str = "comment") -> dict[str, float | int]:
    """Each time a comment behind a statement grows by a letter, a number changes, or a line comes or goes; milliseconds."""
    os.chdir(file.parent)
    codes = frozenset(load())
    session = Session(file.parent, Settings(codes=codes, fixable=codes, root=file.parent))
    text = file.read_text()
    lines = f"{text}\n".splitlines(keepends=True)
    session.look([file.name])
    session.edit(file.name, "".join(lines).encode())
    session.look([file.name])
    gc.collect()
    gc.freeze()
    gc.disable()  # as the engine does while people type
    spent: list[float] = []
    findings = 0
    for at in _statements(text):
        for turn in range(times + 1):
            data = "".join((*lines[: at - 1], _typed(lines[at - 1], kind, turn), *lines[at:])).encode()
            start = time.process_time()
            session.edit(file.name, data)
            findings = len(session.glance(file.name).findings)
            if turn:
                spent.append((time.process_time() - start) * 1000)
        gc.collect()
    return {"median": statistics.median(spent), "worst": max(spent), "times": len(spent), "findings": findings}


def _statements(text: str) -> list[int]:
    """The lines of statements of functions, spread over a file."""
    found = {
        statement.lineno
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in function.body[1:]
        if isinstance(statement, ast.Assign | ast.Expr) and statement.lineno == statement.end_lineno
    }
    return sorted(found)[:: max(len(found) // PLACES, 1)]


def _typed(line: str, kind: str, turn: int) -> str:
    code, margin = line.rstrip("\n"), line[: len(line) - len(line.lstrip())]
    if kind == "comment":
        return f"{code}  # {'a' * turn}\n"
    if kind == "code":
        return f"{code}; typed = {turn}\n"
    return f"{code}\n" + f"{margin}typed = {turn}\n" * (turn % 2)


if __name__ == "__main__":
    print(json.dumps(keystrokes(Path(sys.argv[1]).resolve(), int(sys.argv[2]), *sys.argv[3:])))
