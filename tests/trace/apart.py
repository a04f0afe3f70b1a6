"""Programs with process groups, each in a process of its own that has a limit of time.

A whole run of the tests once waited for good in such a program, a single backward pass of DistributedDataParallel on gloo,
that 2,800 runs of it alone did not stop: gloo's threads and the interpreter may have waited for each other. So a process
ends itself at its limit and tells its stacks, and a second try tells so rare a race from a wait that is ours.
"""

from __future__ import annotations

import ast
import faulthandler
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.trace.programs import EVENTS, Traced, run_on_the_virtual_gpu

ROOT = Path(__file__).parents[2]
LIMIT = 120
"""Seconds that a program and the end of its process may take; one is usual."""
_LEFT = "left.txt"


def run_apart(script: Path, *, virtual: bool = True, limit: float = LIMIT) -> Traced:
    """Run a script in another process; of the names that it leaves behind, those of literals are kept.

    `limit`: seconds. Raises AssertionError, with what the process wrote, where it fails, or takes longer twice.
    """
    command = [sys.executable, "-m", __name__, str(script), str(limit), *(["virtual"] if virtual else [])]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        assert _stopped(done.stderr), done.stderr
        warnings.warn(f"took longer than {limit} s:\n{done.stderr}", stacklevel=2)
        for name in ("store", EVENTS):
            (script.parent / name).unlink(missing_ok=True)
    else:
        raise AssertionError(done.stderr)
    return Traced.of(script, ast.literal_eval((script.parent / _LEFT).read_text()))


def _stopped(stderr: str) -> bool:
    """Whether the process ended itself at its limit (faulthandler.c)."""
    return "Timeout (" in stderr


def _main(script: Path, limit: float, virtual: bool) -> None:
    import torch._dynamo  # noqa: F401 - notes torch's functions, so before the virtual GPU's stand in for them

    faulthandler.dump_traceback_later(limit, exit=True)  # by a thread of C, which needs nothing of the interpreter
    names = run_on_the_virtual_gpu(script) if virtual else runpy.run_path(str(script), run_name="__main__")
    (script.parent / _LEFT).write_text(repr({name: value for name, value in names.items() if _is_literal(value)}))


def _is_literal(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_literal, value))
    return value is None or type(value) in (bool, int, float, str)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), float(sys.argv[2]), "virtual" in sys.argv[3:])
