"""`torchlint compare`: whether two versions of a program compute the same numbers."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from . import terminal
from .running import add_command, conditions, options_parser, split, what_can_not_be_written, with_conditions

if TYPE_CHECKING:
    from torchlint.prove.compare import Compared

_DESCRIPTION = """\
Run two versions of a program and say whether they compute the same: losses, gradients, parameters, outputs, random
numbers, what is printed, what is written, the exit code. This executes both, six runs in all, in copies of the project.

A and B are scripts, folders, git revisions, or a patch (.patch, .diff), which is applied to the tree. What of a folder,
a revision or a patch is to be run, --entry says.
"""
_EXAMPLES = """\
examples:
  torchlint compare train.py train_fast.py -- --epochs 1
  torchlint compare . fast.patch --entry train.py
  torchlint compare main HEAD --entry pkg.train:main
  torchlint compare old/ new/ --entry train.py --numbers exact

exit codes:
  0  the same, as far as --numbers allows
  1  not the same, or B fails
  2  it can't be said: a version can't be run, or the program differs from itself
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        _options(),
        summary="run two versions of a program and say whether their numbers are the same",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    parser.add_argument("versions", metavar="A B", nargs=argparse.PARSER, help="the two versions. What follows -- is the "
                        "program's own")  # fmt: skip
    parser.set_defaults(run=run)


def _options() -> argparse.ArgumentParser:
    parser = options_parser("torchlint compare", "A B")
    option = parser.add_argument
    option("--entry", metavar="ENTRY", default="", help="the script, or pkg.module:function, in both versions")
    option("--numbers", choices=("exact", "rounding", "precision"), default="rounding", help="what may differ at most: "
           "nothing, what another order of the same sums gives, or what a lower precision gives (default: rounding)")  # fmt: skip
    with_conditions(parser)
    option("--output-format", choices=("text", "json"), default="text", help="how to report (default: text)")
    return parser


def run(args: argparse.Namespace) -> int:
    parser = _options()
    parser.add_argument("versions", metavar="A B", nargs=2)
    options, program = split(parser, args.arguments)
    a, b = options.versions
    from torchlint.prove.compare import Numbers
    from torchlint.prove.lab import Lab
    from torchlint.prove.runs import Runner
    from torchlint.prove.versions import Versions
    from torchlint.prove.workspace import Workspace

    with what_can_not_be_written(), Workspace() as space, Runner(space.folder) as runner:
        versions = Versions(space, options.entry)
        one, other = versions.named(a), versions.named(b)
        found = Numbers.of(Lab(space, runner, conditions(options, program)), one).with_(other)
    terminal.out(_json(found, options) if options.output_format == "json" else _text(found, a, b, options))
    if found.judgement.name == "unknown":
        return 2
    return int(not found.judgement.within(options.numbers))


_SAYS = {
    "exact": "the same to the bit",
    "rounding": "the same but for rounding",
    "init": "the same function, begun from other random numbers",
    "precision": "the same, computed in another precision",
    "changed": "not the same",
    "unknown": "it can't be said",
    "broken": "the second version fails",
}


def _text(found: Compared, a: str, b: str, options: argparse.Namespace) -> str:
    judged = found.judgement
    lines = [f"{b} against {a}: {judged.name} ({_SAYS[judged.name]})", *(f"  {reason}" for reason in judged.reasons)]
    if judged.first is not None:
        by = f", by {judged.first.difference:.1e}" if math.isfinite(judged.first.difference) else ""
        lines.append(f"  the first that differs: {judged.first.what} in step {judged.first.step}{by}")
    if judged.name == "broken" and found.plain.errors:
        lines += ["", *(f"  {line}" for line in found.plain.errors.splitlines())]
    wanted = "within" if judged.within(options.numbers) else "beyond"
    if judged.name != "unknown":
        lines.append(f"{wanted} --numbers {options.numbers}")
    return "\n".join(lines) + "\n"


def _json(found: Compared, options: argparse.Namespace) -> str:
    from torchlint.prove.report import finite

    judged = found.judgement
    document = {
        "class": judged.name,
        "within": judged.within(options.numbers),
        "allowed": options.numbers,
        "reasons": judged.reasons,
        "first": judged.first and asdict(judged.first),
        "steps": found.plain.done.steps,
        "figures": judged.figures,
        "unreached": [{"file": part.file, "function": part.name} for part in found.unreached],
    }
    return json.dumps(finite(document), indent=2) + "\n"
