"""`torchlint optimize`: try every fix on a program, keep what pays and changes no numbers."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.system.failure import Failure

from . import terminal
from .running import (
    ENTRY_HELP,
    Progress,
    add_command,
    conditions,
    environment,
    one_entry,
    options_parser,
    split,
    what_can_not_be_written,
    with_clock,
    with_conditions,
)
from .trace import positive_float

if TYPE_CHECKING:
    from torchlint.evidence.certificate import Certificate
    from torchlint.prove.lab import Lab
    from torchlint.prove.optimize import Optimized, Plan

_DESCRIPTION = """\
Try the fixes of what torchlint finds in a program, and your own patches, one at a time: the numbers are compared, the
versions are raced, and what pays and changes no numbers is kept. This executes the program, many times, in copies of the
project; your files are not touched before --apply.
"""
_EXAMPLES = """\
examples:
  torchlint optimize train.py -- --epochs 1
  torchlint optimize train.py --patch fused.patch --goal 1.5
  torchlint optimize train.py --resume --apply       take what an earlier run has decided, and write it
  torchlint optimize --undo .torchlint/optimize/ID   take it back

exit codes:
  0  the goal is reached, or there was nothing to try
  1  the goal is not reached, or not shown
  2  the program can't be run, wants to write outside of its copy, or the work can't be done
  3  it can't be decided: the machine is too noisy, the program differs from itself, or the time was over first
  4  the whole change computes something else than its parts: nothing is applied
"""
_CODES = {"goal reached": 0, "nothing to try": 0, "faster": 1, "nothing paid": 1, "undecided": 3, "emergency stop": 4}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        _options(),
        summary="try every fix on a program, and keep what pays and changes no numbers",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    parser.add_argument("entry", metavar="ENTRY", nargs=argparse.REMAINDER, help=ENTRY_HELP)
    parser.set_defaults(run=run)


def _options() -> argparse.ArgumentParser:
    parser = options_parser("torchlint optimize", "ENTRY")
    option = parser.add_argument
    option("--goal", type=_goal, default=1.25, help="how many times as fast it is to become (default: 1.25)")
    option(
        "--latency",
        type=_latency,
        metavar="-20%",
        dest="goal",
        help="the same, by how much less time a step is to take",
    )
    option("--patch", action="append", type=Path, default=[], metavar="FILE", help="try this patch, too")
    option("--select", default="", metavar="CODES", help="only fixes of these rules, in preview or not")
    option("--suggestions", action="store_true", help="try what is only suggested, too, after all fixes")
    option(
        "--numbers",
        choices=("exact", "rounding"),
        default="rounding",
        help="what may differ at most (default: rounding)",
    )
    with_clock(parser)
    option("--seconds", type=positive_float, default=600.0, help="try nothing new after that time (default: 600)")
    option("--metric", metavar="CMD", help="a command that prints how good the program's result is: it decides on changes "
           "of precision, and for programs that can't be repeated; run with TORCHLINT_SEED 1, 2 and 3 in a copy")  # fmt: skip
    option("--metric-regex", type=_pattern, metavar="RE", help="its first group is the number (default: the last "
           "number that is printed)")  # fmt: skip
    option("--metric-better", choices=("higher", "lower"), default="higher", help="which is better (default: higher)")
    option("--profile", action="store_true", help="keep traces of torch's profiler, before and after")
    option("--out", type=Path, metavar="DIR", help="where the report goes (default: .torchlint/optimize/ID)")
    option("--certificate", type=Path, metavar="DIR", help="write the certificate there, too, under a name of its own")
    option("--apply", action="store_true", help="write what was kept into the tree")
    option("--undo", type=Path, metavar="DIR", help="take back what the run with that folder has applied")
    option("--resume", action="store_true", help="take decisions of earlier runs for what is unchanged")
    option("--retry", action="store_true", help="try again what earlier runs have refused")
    with_conditions(parser)
    return parser


def _goal(text: str) -> float:
    value = positive_float(text)
    if value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no gain; a goal is a number above 1, such as 1.3")
    return value


def _latency(text: str) -> float:
    number = text.removesuffix("%")
    try:
        share = -float(number) / 100
    except ValueError:
        share = 0.0
    if not 0 < share < 1 or number == text:
        raise argparse.ArgumentTypeError(f"{text!r} is no change of latency; write --latency=-20%")
    return 1 / (1 - share)


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groups
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    if groups != 1:
        raise argparse.ArgumentTypeError(f"{text!r} has {groups} groups; one is to hold the number")
    return text


def run(args: argparse.Namespace) -> int:
    parser = _options()
    parser.add_argument("entry", metavar="ENTRY", nargs="*")
    options, program = split(parser, args.arguments)
    if options.undo is not None:
        return _undo(options.undo)
    return _optimize(one_entry(options.entry), options, program)


def _optimize(entry: str, options: argparse.Namespace, program: list[str]) -> int:
    from torchlint.prove import report
    from torchlint.prove.history import History
    from torchlint.prove.lab import Lab
    from torchlint.prove.metric import Metric
    from torchlint.prove.optimize import Optimizer, Plan
    from torchlint.prove.runs import Runner
    from torchlint.prove.versions import Versions
    from torchlint.prove.workspace import Workspace

    plan = Plan(
        options.goal,
        options.seconds,
        options.numbers,
        options.clock,
        tuple(options.patch),
        options.select,
        options.resume,
        Metric(options.metric, options.metric_regex or "", options.metric_better) if options.metric else None,
        options.profile,
        options.suggestions,
    )
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    shown = Progress()
    with what_can_not_be_written(), Workspace() as space, Runner(space.folder) as runner:
        version = Versions(space, entry).entry()
        home = version.project.home
        folder = options.out or home / ".torchlint" / "optimize" / name
        try:
            _prepare(home, folder)
            history = History.read(home / ".torchlint" / "history.jsonl", name, options.retry)
            lab = Lab(space, runner, conditions(options, program))
            found = Optimizer(lab, version, plan, history, shown).run()
            certificate = _certificate(found, plan, lab)
            if options.certificate:
                certificate.write(options.certificate, "optimize")
            report.write(folder, lab, found, plan, environment(lab), name, certificate.markdown())
        except KeyboardInterrupt:
            shown.close()
            print("stopped; the tree is as it was, and --resume goes on from what is known", file=sys.stderr)
            raise
        finally:
            shown.close()
        terminal.out(report.markdown(found, plan).partition("\n## Optimization Applied")[0].rstrip("\n") + "\n\n")
        terminal.out(f"{certificate.decision}; the report is in {os.path.relpath(folder)}\n")
        if options.apply and found.diff and found.outcome in ("goal reached", "faster"):
            _apply(lab, found)
    return _CODES[found.outcome]


def _prepare(home: Path, folder: Path) -> None:
    """Make the folders; git is told to leave torchlint's own alone."""
    (home / ".torchlint").mkdir(exist_ok=True)
    ignore = home / ".torchlint" / ".gitignore"
    if not ignore.exists():
        ignore.write_text("# Made by torchlint.\n*\n", "utf-8")
    folder.mkdir(parents=True, exist_ok=True)


def _apply(lab: Lab, found: Optimized) -> None:
    from torchlint.prove.applying import write

    version = found.version
    before = {path: lab.space.frozen(version.project, path) for path in found.state}
    for path in write(version.project.home, before, found.state):
        terminal.out(f"written: {path}\n")


def _undo(folder: Path) -> int:
    """Apply the backup of a run, where the files are still as the run has left them."""
    from torchlint.prove.applying import write
    from torchlint.prove.versions import patched
    from torchlint.prove.workspace import Project, Workspace

    patch = folder / "backup.patch"
    if not patch.is_file():
        raise Failure(f"{folder} is no folder of an optimization: it has no backup.patch")
    with Workspace() as space:
        project = Project.around(Path.cwd())
        space.freeze(project)
        after = patched(patch.read_bytes(), project, space, {})
        before = {path: space.frozen(project, path) for path in after}
        for path in write(project.home, before, after):
            terminal.out(f"taken back: {path}\n")
    return 0


def _certificate(found: Optimized, plan: Plan, lab: Lab) -> Certificate:
    """The status: approved only where the goal was reached on the kind of machine that the program is for."""
    from torchlint.evidence.certificate import Certificate, Status
    from torchlint.prove.report import result

    status: Status = {
        "goal reached": "CONDITIONALLY_APPROVED" if found.for_gpu else "APPROVED",
        "faster": "CONDITIONALLY_APPROVED",
        "nothing paid": "DO_NOT_RECOMMEND",
        "nothing to try": "ADVISORY_ONLY",
        "undecided": "NEEDS_FURTHER_REVIEW",
        "emergency stop": "EMERGENCY_STOP",
    }[found.outcome]
    conditions = ["repeat on the GPU that the program is for: none was used"] if found.for_gpu else []
    if found.scouted.compiles:
        conditions.append("torch.compile was switched off while it was measured")
    conditions += [one.metric.said for one in found.applied if one.metric]
    if found.outcome == "faster":
        conditions.append(f"the goal of {plan.goal:.2f}x is not shown")
    paths = sorted({*found.state, *filter(None, [found.version.script])})
    files = [(path, contents) for path in paths if (contents := _after(found, lab, path)) is not None]
    return Certificate(
        found.version.entry,
        "torchlint optimize",
        f"{len(found.tried)} changes to {found.version.entry}, run for {lab.conditions.steps} steps at most with "
        f"{lab.conditions.threads} thread, by the {found.track.clock} clock, in {found.track.how}",
        status,
        result(found),
        [
            f"{one.candidate.place} {one.candidate.name}: {one.decision.status} ({one.decision.reason})"
            for one in found.tried
        ],
        conditions,
        [
            "results.json, plot.svg, change.patch",
            *(f"final numbers: {found.judgement.name}" for _ in [0] if found.judgement),
        ],
        ["numbers: six runs of each version", "races in rounds with a control, see results.json"],
        files,
    )


def _after(found: Optimized, lab: Lab, path: str) -> bytes | None:
    return found.state[path] if path in found.state else lab.space.frozen(found.version.project, path)
