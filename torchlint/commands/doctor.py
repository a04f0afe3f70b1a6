"""`torchlint doctor`: what a traced run can see with the torch that is installed here, and why the rest is off."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from torchlint.system.failure import Failure

from . import terminal

if TYPE_CHECKING:
    from torchlint.trace.doctor import Diagnosis

_SECONDS = 600.0


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "doctor",
        help="test what a traced run can do with the installed torch",
        description="Run a small program for each capability of `torchlint trace` and say which work. "
        "Exit code 1 if any is off.",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis: 0 if all works, 1 if something is off; Failure when it could not be made."""
    from torchlint.trace.doctor import as_json, as_text

    diagnosis = diagnose()
    terminal.out(as_json(diagnosis) + "\n" if args.output_format == "json" else as_text(diagnosis))
    return 0 if diagnosis.works else 1


def diagnose() -> Diagnosis:
    """The diagnosis of a process of its own: torch may crash, and is not imported here."""
    import subprocess

    from torchlint.trace.doctor import Check, Diagnosis

    command = [sys.executable, "-m", "torchlint.trace.doctor", "--json"]
    try:
        child = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"the self-tests did not end within {_SECONDS:.0f} seconds") from None
    try:
        answer = json.loads(child.stdout[child.stdout.index("{") :])
        return Diagnosis(**{**answer, "checks": tuple(Check(**check) for check in answer["checks"])})
    except (ValueError, TypeError, KeyError) as error:
        last = next(iter(child.stderr.strip().splitlines()[-1:]), "it printed nothing")
        raise Failure(f"the self-tests died with exit code {child.returncode}: {last}") from error
