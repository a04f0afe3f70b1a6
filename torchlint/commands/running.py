"""What the commands that run programs in copies have in common: their options, and how a command line is split."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.system.failure import Failure

from .trace import positive_float, positive_int

if TYPE_CHECKING:
    from torchlint.prove.lab import Conditions


ENTRY_HELP = "a script, or pkg.module:function. What follows -- is the program's own"


def options_parser(name: str, what: str) -> argparse.ArgumentParser:
    """For the options of a command that runs `what`."""
    usage = f"{name} [options] {what} [-- argument ...]"
    return argparse.ArgumentParser(name, usage=usage, add_help=False, allow_abbrev=False)


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    options: argparse.ArgumentParser,
    *,
    summary: str,
    description: str,
    epilog: str,
) -> argparse.ArgumentParser:
    """A command with these options, called as the parser of its options is."""
    return commands.add_parser(
        options.prog.rpartition(" ")[2],
        parents=[options],
        help=summary,
        usage=options.usage,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def with_conditions(parser: argparse.ArgumentParser, steps: int = 30, seconds: float = 120.0) -> None:
    """Add the options that say under which conditions a program is run."""
    option = parser.add_argument_group("runs").add_argument
    option("--steps", type=positive_int, default=steps, help=f"stop each run after this many steps (default: {steps})")
    option("--run-seconds", type=positive_float, default=seconds, metavar="SECONDS",
           help=f"give a run up after that time (default: {seconds:g})")  # fmt: skip
    option("--threads", type=positive_int, default=1, help="threads that torch computes with (default: 1)")
    option(
        "--allow-writes", action="append", default=[], metavar="DIR", help="let programs write below this folder, too"
    )


def conditions(options: argparse.Namespace, program: Sequence[str]) -> Conditions:
    from torchlint.prove.lab import Conditions

    writable = tuple(os.path.realpath(folder) for folder in options.allow_writes)
    return Conditions(
        tuple(program),
        options.steps,
        options.run_seconds,
        options.threads,
        writable,
        min(os.cpu_count() or 1, 2),
    )


@contextlib.contextmanager
def what_can_not_be_written() -> Iterator[None]:
    """A disk that is full, or a folder that may not be written to, is a reason to stop and no crash."""
    try:
        yield
    except OSError as error:
        raise Failure(f"{error.filename or 'a temporary file'}: {error.strerror or error}") from error


def split(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options and arguments of a command, wherever they stand, and behind `--` those of the program."""
    own = list(arguments[1:])
    end = own.index("--") if "--" in own else len(own)
    return parser.parse_intermixed_args(own[:end]), own[end + 1 :]
