"""What the commands that run programs in copies have in common: their options, and how a command line is split."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchlint.system.failure import Failure

from .trace import positive_float, positive_int

if TYPE_CHECKING:
    from typing_extensions import Self

    from torchlint.prove.lab import Conditions, Lab


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


def with_clock(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clock", choices=("auto", "cpu", "wall", "device"), default="auto", help="which time counts "
                        "(default: the CPU's, for programs that use a GPU the device's)")  # fmt: skip


def one_entry(given: Sequence[str]) -> str:
    if len(given) != 1:
        raise Failure(
            "what is to be run? Give one ENTRY: SCRIPT.py or PKG.MODULE:FUNCTION; its own arguments come after --"
        )
    return given[0]


def conditions(options: argparse.Namespace, program: Sequence[str]) -> Conditions:
    from torchlint.prove.lab import Conditions

    writable = tuple(os.path.realpath(folder) for folder in options.allow_writes)
    return Conditions(
        tuple(program), options.steps, options.run_seconds, options.threads, writable, min(os.cpu_count() or 1, 2)
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


def environment(lab: Lab) -> dict[str, Any]:
    """What a measurement was made with."""
    from importlib.metadata import version

    return {
        "torchlint": version("torchlint"),
        "torch": version("torch"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": os.getloadavg(),
        "threads": lab.conditions.threads,
        "steps": lab.conditions.steps,
        "arguments": lab.conditions.args,
    }


class Progress:
    """One line on a terminal that says what is being done; elsewhere a line for each decision."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        decided = text.startswith(("Applied: ", "Rolled back: ", "Not applied: "))
        if self._terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            sys.stderr.write(f"\r\033[K{text[:width]}" + "\n" * decided)
            sys.stderr.flush()
        elif decided:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
