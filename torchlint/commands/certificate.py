"""`torchlint certificate verify`: whether a certificate still holds for the files that it names."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import terminal


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "certificate",
        help="check a certificate against the files that it names",
        usage="torchlint certificate verify [--root DIR] FILE",
        description="Check that a certificate is as it was written, and that the files that it was given for are as they were. "
        "Exit code 0: it holds; 1: it does not, and what has changed is listed; 2: it is no certificate.",
        allow_abbrev=False,
    )
    parser.add_argument("what", choices=("verify",), help="what to do with it")
    parser.add_argument("file", metavar="FILE", type=Path, help="the certificate")
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="where the paths in it start "
                        "(default: the working directory)")  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint.evidence.certificate import verify

    wrong = verify(args.file, args.root)
    terminal.out("".join(f"{line}\n" for line in wrong) or f"{args.file} holds\n")
    return int(bool(wrong))
