"""`torchlint generate-shell-completion`: a script that lets the Tab key complete commands and options."""

from __future__ import annotations

import argparse

from torchlint.failure import Failure

from . import terminal

_SHELLS = ("bash", "zsh", "tcsh")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "generate-shell-completion",
        help="write a script for shell completion",
        description="Write a script for shell completion to standard output.",
        epilog='To use it in bash, write into ~/.bashrc: eval "$(torchlint generate-shell-completion bash)"',
        allow_abbrev=False,
    )
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=f"one of {', '.join(_SHELLS)}")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        raise Failure("shtab is not installed; it comes with: pip install 'torchlint[completion]'") from None
    _complete_files(args.parser, shtab.FILE)
    terminal.out(shtab.complete(args.parser, args.shell) + "\n")
    return 0


def _complete_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Let file names complete where an option or argument takes one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in set(action.choices.values()):
                _complete_files(command, files)
        elif action.metavar in ("PATH", "FILE", "ENTRY", "PATH|KEY=VALUE"):
            action.complete = files  # type: ignore[attr-defined]
