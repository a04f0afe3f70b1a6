"""`torchlint bench`: what a step takes, in several versions and ways to compile it."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint.settings import discover
from torchlint.system.failure import Failure

from . import shared, terminal
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
    from torchlint.prove.bench import Bench
    from torchlint.prove.versions import Version, Versions

_MODES = ("eager", "program", "default", "reduce-overhead", "max-autotune", "fullgraph", "dynamic")
_DESCRIPTION = """\
Measure a program: milliseconds a step, start-up, compiling, memory. Several versions of it, and ways to compile it, run
in one race, one step of each at a time in random order, and the numbers of each are compared with the first one's. This
executes the program, many times, in copies of the project.

Modes are eager (torch.compile switched off), program (as the program compiles by itself), and those in which every
outermost module is compiled: default, reduce-overhead, max-autotune, fullgraph, dynamic.
"""
_EXAMPLES = """\
examples:
  torchlint bench train.py -- --epochs 1
  torchlint bench train.py --against origin/main           for CI: 1 if the tree is slower
  torchlint bench train.py --modes eager,default,max-autotune --backends aot_eager
  torchlint bench serve.py --save before.json              and later --compare before.json

exit codes:
  0  measured; nothing is slower than what it is compared with
  1  slower for certain than --against, or worse than --compare allows
  2  the program can't be run, wants to write outside of its copy, or the work can't be done
  3  the machine is too noisy to tell
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        _options(),
        summary="measure a program, its versions and ways to compile it",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    parser.add_argument("entry", metavar="ENTRY", nargs=argparse.REMAINDER, help=ENTRY_HELP)
    parser.set_defaults(run=run)


def _options() -> argparse.ArgumentParser:
    parser = options_parser("torchlint bench", "ENTRY")
    option = parser.add_argument
    option(
        "--against", metavar="WHAT", help="an earlier version: a revision or a folder; or a patch, which is a later one"
    )
    option("--modes", type=_modes, default=("eager",), metavar="NAMES", help=f"of {', '.join(_MODES)} (default: eager); "
           "the first one is what the others are compared with")  # fmt: skip
    option("--backends", type=_names, default=(), metavar="NAMES", help="backends of torch.compile, as further modes")
    with_clock(parser)
    option("--seconds", type=positive_float, default=120.0, help="end the race after that time (default: 120)")
    option("--save", type=Path, metavar="FILE", help="keep the figures of this run")
    option(
        "--compare", type=Path, metavar="FILE", help="exit with 1 if a candidate is worse than in the run kept there"
    )
    option("--tolerance", type=_share, default=0.05, metavar="5%%", help="by how much it may be (default: 5%%)")
    option("--plot", type=Path, metavar="FILE", help="write a picture of the race as SVG")
    option("--output-format", choices=("text", "json"), default="text", help="how to report (default: text)")
    with_conditions(parser)
    return parser


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if wrong := next((name for name in names if not re.fullmatch(r"[\w-]+", name)), None):
        raise argparse.ArgumentTypeError(f"{wrong!r} is no name of a backend")
    return names


def _modes(text: str) -> tuple[str, ...]:
    names = _names(text)
    if wrong := next((name for name in names if name not in _MODES), None):
        raise argparse.ArgumentTypeError(f"there is no mode {wrong!r}; there are {', '.join(_MODES)}, and --backends")
    if not names:
        raise argparse.ArgumentTypeError("name at least one mode, such as eager")
    return names


def _share(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = -1.0
    if not text.endswith("%") or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no share; write 5%")
    return value


def run(args: argparse.Namespace) -> int:
    parser = _options()
    parser.add_argument("entry", metavar="ENTRY", nargs="*")
    options, program = split(parser, args.arguments)
    entry = one_entry(options.entry)
    from torchlint.prove import bench_report
    from torchlint.prove.bench import measure
    from torchlint.prove.lab import Lab
    from torchlint.prove.plot import svg
    from torchlint.prove.runs import Runner
    from torchlint.prove.versions import Versions
    from torchlint.prove.workspace import Workspace

    for file in filter(None, (options.save, options.plot)):
        discover.spare_code(str(file))
    known = bench_report.kept(options.compare) if options.compare else None
    with what_can_not_be_written(), Workspace() as space, Runner(space.folder) as runner:
        versions = _versions(Versions(space, entry), options)
        lab = Lab(space, runner, conditions(options, program))
        with Progress() as shown:
            found = measure(lab, versions, options.clock, options.seconds, shown)
        made_with = environment(lab)
        text = bench_report.as_json(found, made_with)
        for path, contents in (
            (options.save, text),
            (options.plot, svg([(row.name, row.raced) for row in found.rows])),
        ):
            if path:
                shared.write(path, contents)
    terminal.out(text if options.output_format == "json" else bench_report.text(found))
    return max(_against(found, options), _compared(found, known, made_with, options.tolerance) if known else 0)


def _versions(versions: Versions, options: argparse.Namespace) -> list[Version]:
    """What it is compared with in the first mode, and the tree in each: the earlier one first."""
    tree = versions.entry()
    modes = [*options.modes, *(name for name in options.backends if name not in options.modes)]
    found = [replace(tree, name=name, mode=name) for name in modes]
    if options.against is None:
        return found
    other = replace(versions.named(options.against), mode=modes[0])
    return [found[0], other, *found[1:]] if _is_later(options.against) else [other, *found]


def _is_later(against: str) -> bool:
    return Path(against).is_file()


def _against(found: Bench, options: argparse.Namespace) -> int:
    """The exit code of a comparison with another version."""
    if options.against is None:
        return 0
    row = found.rows[1]
    if row.failure or row.raced is None:
        terminal.error(f"{row.name} can't be measured: {row.failure}")
        return 2
    if row.raced.verdict == "too noisy":
        terminal.error(f"the machine is too noisy to tell: {found.first.name} beats itself")
        return 3
    if row.raced.verdict == "slower":
        terminal.error(f"{row.name} is slower than {found.first.name}: {row.raced.speedup:.2f} times as fast")
        return 1
    return 0


def _compared(
    found: Bench, known: tuple[dict[str, Any], dict[str, Any]], made_with: dict[str, Any], tolerance: float
) -> int:
    """What is worse than in the run that was kept: said on stderr; the exit code."""
    from torchlint.prove.bench import worse

    before, with_what = known
    for name in ("torch", "machine", "processors", "threads", "steps", "arguments"):
        if with_what.get(name) != (now := _plain(made_with[name])):
            terminal.warn(f"the run that was kept had another {name}: {with_what.get(name)}, now {now}")
    rows = {row.name: row for row in found.rows if row.seconds}
    said = []
    for name, one in before.items():
        if name in rows:
            said += [f"{name}: {what}" for what in worse(rows[name], one, tolerance)]
        else:
            said.append(f"{name}: it was measured before, and is not now")
    if not before.keys() & rows.keys():
        raise Failure("the run that was kept has none of these candidates")
    for line in said:
        terminal.error(f"worse than before: {line}")
    return int(bool(said))


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return list(value) if isinstance(value, tuple) else value
