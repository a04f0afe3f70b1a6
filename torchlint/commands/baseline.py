"""`torchlint baseline`: write down what is found today, so that `check --baseline` shows only what is new."""

from __future__ import annotations

import argparse

from torchlint.settings.home import around

from . import terminal
from .check import linter, work_of
from .options import places, selection, settings_of, speed

_DESCRIPTION = """\
Write the findings in the given files and directories into a baseline, which `torchlint check --baseline` hides.

A finding is known again by its rule and the code it is about, not by its line: it stays known when code moves and when
a formatter rewrites it. Entries of files that are not looked at now or can't be, and of rules that are off, stay as
they are.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "baseline",
        help="write down the findings of today, for check --baseline",
        usage="torchlint baseline [OPTIONS] [PATH ...]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", default=["."], help="files and directories (default: the working directory)"
    )
    parser.add_argument(
        "-o",
        "--output-file",
        metavar="FILE",
        default=None,
        help="the baseline (default: the closest .torchlint-baseline.json, or a new one in the project's directory)",
    )
    selection(parser)
    speed(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint.lint import baseline
    from torchlint.report import plural
    from torchlint.system.failure import Failure

    if "-" in args.paths:
        raise Failure("a baseline is of files; standard input is none")
    settings = settings_of(args)
    work = work_of(args, settings)
    for warning in settings.all_warnings:
        terminal.warn(warning)
    result = linter(args)(work.files, settings, context=work.context)
    errors = (*work.errors, *result.errors)
    terminal.errors(errors)
    path = baseline.locate(args.output_file, around(places(args)))
    written = baseline.update(path, result, work.files, settings.enabled)
    terminal.out(f"Wrote {plural(written.found, 'finding')} to {path}.\n")
    for count, whose in ((written.unseen, "files that can't be read or parsed"), (written.off, "rules that are off")):
        if count:
            terminal.out(f"Kept {count} {'entry' if count == 1 else 'entries'} of {whose}.\n")
    return 2 if errors else 0
