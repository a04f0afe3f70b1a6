"""Runs programs one after the other in this process, and tells what each printed: `run_programs.py programs.json results.json`.

What raises ends with the name of the exception and its first words.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path

import torch


def run(code: str) -> str:
    torch.manual_seed(0)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), torch.random.fork_rng(devices=[]):
        try:
            exec(compile(code, "program.py", "exec"), {"__name__": "__main__"})  # noqa: S102 - running it is the point
        except Exception as error:  # noqa: BLE001 - what it raised is the result
            print(f"{type(error).__name__}: {error}"[:200])
    return out.getvalue()


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    programs, results = map(Path, sys.argv[1:])
    codes: dict[str, str] = json.loads(programs.read_text("utf-8"))
    results.write_text(json.dumps({name: run(code) for name, code in codes.items()}), "utf-8")


if __name__ == "__main__":
    main()
