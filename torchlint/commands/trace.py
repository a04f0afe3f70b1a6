"""`torchlint trace`: run a program under observation and say what it did."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.messages.job import Job, Pass
from torchlint.system.failure import Failure

from . import progress, shared, terminal

if TYPE_CHECKING:
    from torchlint.evidence.cost import Pricing
    from torchlint.evidence.tracing import Child, Tell, Trace
    from torchlint.messages.event import Event
    from torchlint.text.finding import Finding

_TARGETS = "sm_90, sm_80, ..."
_INTERRUPTED = 130
_MOST_GPUS = 64
_USAGE = 2
"""The exit code of argparse and others for arguments that a program can't use."""
_NO_TRITON = re.compile(r"No module named '?triton\b")
_DID_SOMETHING = frozenset({"operator", "graph", "sync", "synchronize", "h2d", "d2h", "step", "memory"})
_INSTALL = "torch can't be imported ({}). A traced run needs it: {}"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "trace",
        parents=[_options()],
        help="run a program and report synchronizations, copies, graph breaks, recompiles and kernels",
        description="Run a program twice, once eagerly and once compiled, on a virtual GPU where there is none, and "
        "report what it did line by line. This executes the program: trace only what you would run.",
        usage="torchlint trace [options] SCRIPT.py|PKG.MODULE:FUNCTION [options] [-- argument ...]\n"
        "       torchlint trace [options] -m PKG.MODULE [options] [-- argument ...]\n"
        "       torchlint trace [options] --profile FILE [PATH]",
    )
    entry = parser.add_argument("entry", metavar="ENTRY", nargs=argparse.PARSER, help="a script, or pkg.module:function; a "
                        "function that returns a module and example inputs has forward and backward of that module "
                        "traced. What follows -- is the program's own")  # fmt: skip
    entry.required = False  # a profile needs none
    parser.set_defaults(run=run)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("torchlint trace", add_help=False)
    option = parser.add_argument
    option("-m", action="store_true", dest="module", help="ENTRY is a module or package, run as `python -m` runs it")
    option("--steps", type=positive_int, default=8, help="stop after this many optimizer steps (default: 8)")
    option("--seconds", type=positive_float, default=60.0, help="stop each pass after that time (default: 60)")
    option("--target", type=_target, default="sm_90", help=f"the GPU to generate code for: {_TARGETS} (default: sm_90)")
    option("--gpus", type=_gpus, default=1, metavar="N", help="how many virtual GPUs there are (default: 1)")
    option("--device", choices=("auto", "virtual", "cuda", "cpu"), default="auto", help="where the program runs "
           "(default: auto, a virtual GPU where there is none)")  # fmt: skip
    option("--pass", choices=("auto", "eager", "compile", "both"), default="auto", dest="passes", help="what is run: "
           "eagerly, compiled, or both (default: auto, the second only where the program compiles something)")  # fmt: skip
    option("--step-at", metavar="FILE:LINE", type=_line, help="a step ends whenever this line is reached; else it is an "
           "optimizer's step, a backward pass, a call of torchlint.step() or an iteration of the loop around the "
           "outermost modules")  # fmt: skip
    option("--compile", action="store_true", dest="whatif", help="compile the root module after the first step")
    option("--no-compute", action="store_false", dest="compute", help="don't compute values on the virtual GPU")
    option("--shapes", action="store_true", help="record the input shapes of each outermost module")
    option("--keep", metavar="DIR", type=Path, help="keep the generated Triton code in this folder")
    option("--explain", action="store_true", help="show torch._dynamo.explain's own view beside this one")
    option("--findings", action="store_true", help="judge the findings of `torchlint check` in the entry's folder")
    option("--events", metavar="FILE", type=Path, help="write the events, for `torchlint check --evidence FILE`")
    option("--budget", metavar="NAME=LIMIT,...", type=_budget, default={}, help="exit with 1 if a number goes over: "
           "syncs=1,breaks=0,recompiles=0,kernels=40 (also h2d, d2h, bytes, memory, operators, traffic)")  # fmt: skip
    option("--save", metavar="FILE", type=Path, help="keep the numbers of this run")
    option("--compare", metavar="FILE", type=Path, help="exit with 1 if a number is above that of the run kept there")
    option("--certificate", metavar="DIR", type=Path, help="write a certificate of what was judged, and how, there")
    option("--gpu", metavar="NAME", type=_gpu, help="predict the step on that GPU, and what findings cost of it: h100, "
           "a100, l4, rtx4090, ...; nothing is measured")  # fmt: skip
    option("--assume-batch", metavar="N", type=positive_int, help="predict for batches of N; the program is run once "
           "more, with batches twice as large")  # fmt: skip
    option("--host-us", metavar="LEAST-MOST", type=_host, help="microseconds that the host spends on an operator "
           "(default: 6-25)")  # fmt: skip
    option("--calibration", metavar="FILE", type=Path, help="constants that `torchlint calibrate` measured on the GPU")
    option("--timeline", metavar="FILE", type=Path, help="write the predicted step as a Chrome trace, for Perfetto")
    option("--profile", metavar="FILE", type=Path, help="run nothing: read a Chrome trace that torch.profiler wrote of a "
           "real run (plain or .gz), and join its times to the lines and findings of PATH (default: here)")  # fmt: skip
    option("--html", metavar="FILE", type=Path, help="write the report as one HTML page, too")
    option("--output-format", choices=("text", "json", "html"), default="text", help="how to report (default: text)")
    option("--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)")
    return parser


def positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def positive_float(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a time above 0")


def _gpus(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_GPUS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {_MOST_GPUS}")
    return int(text)


def _gpu(text: str) -> str:
    from torchlint.predict.gpus import gpu

    try:
        gpu(text)
    except Failure as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text.lower()


def _host(text: str) -> tuple[float, float]:
    least, dash, most = text.partition("-")
    with contextlib.suppress(ValueError):
        found = float(least), float(most if dash else least)
        if 0 < found[0] <= found[1] < float("inf"):
            return found
    raise argparse.ArgumentTypeError(f"{text!r} is no interval of microseconds; write LEAST-MOST, such as 6-25")


def _line(text: str) -> tuple[str, int]:
    file, _, line = text.rpartition(":")
    if not file or not line.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no line; write FILE:LINE, such as train.py:12")
    if not Path(file).is_file():
        raise argparse.ArgumentTypeError(f"{file}: no such file")
    return str(Path(file).resolve()), int(line)


def _budget(text: str) -> dict[str, float]:
    from torchlint.evidence import budget

    try:
        return budget.parse(text)
    except Failure as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _target(text: str) -> str:
    if not re.fullmatch(r"sm_\d{2,3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no GPU architecture; write {_TARGETS}")
    return text


def run(args: argparse.Namespace) -> int:
    """Trace, print the report and return 0, 1 over budget, or 2 when the program failed; Failure when nothing was observed."""
    entry, options, program = _split(args)
    if options.profile is not None:
        from .profile import run as read

        return read(entry, options, program)
    job = Job(
        entry,
        tuple(program),
        "eager",
        "",
        steps=options.steps,
        seconds=options.seconds,
        device=options.device,
        target=options.target,
        gpus=options.gpus,
        whatif=options.whatif,
        compute=options.compute,
        shapes=options.shapes,
        keep=_folder(options.keep),
        step_at=options.step_at,
        work=options.gpu is not None,
    )
    if options.gpus > 1 and options.gpu is not None:
        raise Failure("--gpu predicts a step on one GPU; there is no prediction for several (--gpus)")
    pricing = _pricing(options)
    from torchlint.evidence import budget, confirm, cost, tracing

    limits = _limits(job.entry) | options.budget
    before = budget.from_json(options.compare) if options.compare else None
    findings = shared.lint_of([shared.project_of(job.entry)], job.entry) if options.findings else []
    for file in (
        options.events,
        options.save,
        options.html,
        options.timeline,
    ):  # what can't be written is better known before the run
        shared.write(file, None)
    with progress.Line(sys.stderr) as line:
        traced = tracing.trace(replace(job, watch=_watch(findings)), options.passes, _teller(line, job))
        larger = tracing.trace(replace(job, batch=2), "eager", _teller(line, job)) if options.assume_batch else None
    _complain(traced)
    if options.events:
        told = (pricing.noted(event, options.gpu) if pricing else event for event in traced.events)
        shared.write(options.events, "".join(event.to_json() + "\n" for event in told))
    here, elsewhere = _imported(findings, traced, job.entry) if options.findings else ([], 0)
    judged = confirm.judge(here, traced.events) if here else []
    discovered = confirm.discover(traced.events, judged, entry if Path(entry).is_file() else "")
    more = larger.events if larger else None
    predicted = pricing.predict(traced.events, more, options.assume_batch) if pricing else None
    if predicted is not None:
        judged, discovered = predicted.priced(judged), sorted(predicted.priced(discovered), key=cost.cheapness)
        shared.write(options.timeline, predicted.chrome_trace())
    measures = budget.measure(traced.events, partial(_unmeasured, traced))
    made_with = _made_with(traced)
    shared.write(options.save, budget.to_json(measures, made_with))
    from torchlint.report import trace

    report = trace.Report(
        traced,
        tuple(judged),
        tuple(discovered),
        tuple(budget.check(measures, limits)),
        tuple(budget.compare(measures, before)) if before else (),
        _differences(before.made_with, made_with) if before else (),
        elsewhere,
        predicted,
    )
    shared.show(report, options)
    if options.certificate:
        from .certified import of_trace

        of_trace(options.certificate, report, failure_of(traced))
    if traced.children[-1].interrupted:
        return _INTERRUPTED
    if failed := failure_of(traced):
        terminal.error(failed)
        return 2
    return int(any(verdict.over for verdict in (*report.budget, *report.compared)))


def failure_of(traced: Trace) -> str:
    """The program's own failure in one sentence, "" where it had none: what was counted until then is no whole answer."""
    child = next((child for child in traced.children if child.failure), traced.children[0])
    said = child.failure
    if not said and not child.steps and child.end.name in {"finished", "exit"}:
        if child.asked:
            said = "ended"
        elif not any(event.kind in _DID_SOMETHING for event in traced.events):
            return "nothing was measured: the program ended before any step and used no tensor"
    if not said:
        return ""
    text = f"the program {said} {_when(child)}"
    if child.asked:
        text += "; it asked for input, and a traced run gives none"
    elif hint := _hint(child):
        text += f"; {hint}"
    return text


def _pricing(options: argparse.Namespace) -> Pricing | None:
    """How costs are worked out; Failure for options that contradict each other or need --gpu."""
    if options.gpu is None:
        for name in ("assume_batch", "host_us", "calibration", "timeline"):
            if getattr(options, name) is not None:
                raise Failure(f"--{name.replace('_', '-')} is about a prediction: add --gpu, such as --gpu h100")
        return None
    if options.passes == "compile" or options.device in ("cuda", "cpu"):
        raise Failure("--gpu predicts from the eager pass on a virtual GPU: leave --pass and --device as they are")
    from torchlint.evidence.cost import Pricing

    return Pricing.of(options.gpu, options.calibration, options.host_us)


def _when(child: Child) -> str:
    from torchlint.report import plural

    return f"after {plural(child.steps, 'step')}" if child.steps else "before any step"


def _hint(child: Child) -> str:
    """What would have let the program run, "" where nobody knows."""
    error = next((event for event in child.events if event.kind == "error"), None)
    if error is not None and error.name == "ModuleNotFoundError" and _NO_TRITON.search(error.detail):
        return "pip install triton: it needs neither a GPU nor a driver to be read"
    if child.steps:
        return ""
    usage = child.returncode == _USAGE and "usage:" in child.errors.lower()
    if usage or (error is not None and error.name == "IndexError" and _reads_arguments(error)):
        return "its own arguments come after --, as in `torchlint trace train.py -- --epochs 1`"
    return ""


def _reads_arguments(error: Event) -> bool:
    from torchlint.evidence.confirm import source_lines

    lines = source_lines(error.file)
    return 0 < error.line <= len(lines) and "argv" in lines[error.line - 1]


def _teller(line: progress.Line, job: Job) -> Tell:
    def tell(run: Pass, steps: int, seconds: float) -> None:
        line(f"{run} pass: step {steps} of {job.steps}, {seconds:.0f} s")

    return tell


def _limits(entry: str) -> dict[str, float]:
    """The budget of the configuration."""
    from torchlint import rule
    from torchlint.evidence import budget
    from torchlint.settings import config

    settings = config.load(list(rule.load().values()), cwd=shared.folder_of(entry))
    return {name: budget.limit(name, value) for name, value in settings.budget}


def _unmeasured(traced: Trace, name: str) -> str:
    """Why a number of the budget was not measured, "" if it was."""
    from torchlint.evidence import budget

    run: Pass = "compile" if budget.of_the_compile_pass(name) else "eager"
    if run == "compile" and traced.compiles_nothing:
        run = "eager"  # it says that nothing is compiled, as far as it came
    child = traced.child(run)
    if child is None or child.start is None:
        return f"there was no {run} pass"
    return "" if child.end.name in {"finished", "stopped"} or child.steps > 1 else f"the {run} pass failed"


def _made_with(traced: Trace) -> dict[str, str]:
    start = next(child.start for child in traced.children if child.start)
    return {
        "entry": " ".join([traced.job.entry, *traced.job.args]),
        "torch": start.detail,
        "device": start.name,
        "target": traced.job.target,
    }


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """What the earlier run was made with and this one was not, such as `torch 2.12.0, now 2.13.0`."""
    return tuple(f"{key} {before[key]}, now {now[key]}" for key in now if before.get(key, now[key]) != now[key])


def _split(args: argparse.Namespace) -> tuple[str, argparse.Namespace, Sequence[str]]:
    """The entry, the options (also those after it) and the program's own arguments."""
    if args.profile is not None and args.entry is None:
        return "", args, ()
    if args.entry is None:
        raise Failure("name a script or pkg.module:function, or a profile of a run with --profile")
    entry, *rest = args.entry
    end = rest.index("--") if "--" in rest else len(rest)
    options, unknown = _options().parse_known_args(rest[:end], args)
    if unknown:
        raise Failure(f"unknown option {unknown[0]}; the program's own arguments come after --: -- {' '.join(unknown)}")
    if options.profile is not None:
        return entry, options, rest[end + 1 :]
    if options.module:
        return f"-m {entry}", options, rest[end + 1 :]
    if ":" not in entry and not Path(entry).is_file():
        raise Failure(f"{entry}: no such script (a function is written pkg.module:function, a module -m pkg.module)")
    return entry, options, rest[end + 1 :]


def _folder(keep: Path | None) -> str | None:
    if keep is None:
        return None
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{keep}: {error.strerror}") from error
    return str(keep.resolve())


def _complain(traced: Trace) -> None:
    """Failure when the program did not run at all."""
    end = traced.children[-1].end
    if end.name == "no torch":
        from torchlint.system import install

        raise Failure(_INSTALL.format(end.detail, install.command("trace", "torch")))
    if not traced.observed:
        tail = traced.children[-1].errors.strip()
        raise Failure(f"nothing could be observed: {end.detail}" + (f"\n{tail}" if end.name == "died" else ""))


def _imported(findings: Sequence[Finding], traced: Trace, entry: str) -> tuple[list[Finding], int]:
    """The findings in files that the run imported, and how many there are in others.

    Of a file outside the project nobody watched which lines run, so that only what the run confirms is known of it.
    """
    from torchlint.evidence.confirm import judge

    told = [event for event in traced.events if event.kind == "imported"]
    listed = (told[0].data or {}).get("files") if told else None
    files = set(map(str, listed)) if isinstance(listed, list) else {event.file for event in traced.events}
    here = [finding for finding in findings if str(Path(finding.path).resolve()) in files]
    root = shared.project_of(entry).resolve()
    outside = sorted(Path(file) for file in files if file and not Path(file).is_relative_to(root))
    proved = [
        finding
        for finding in judge(shared.lint_of(outside, entry) if outside else [], traced.events)
        if finding.evidence is not None and finding.evidence.verdict == "confirmed"
    ]
    return [*here, *proved], len(findings) - len(here)


def _watch(findings: Sequence[Finding]) -> dict[str, tuple[int, ...]]:
    from torchlint.evidence.confirm import lines

    watch: dict[str, set[int]] = {}
    for finding in findings:
        first, last = lines(finding)
        watch.setdefault(str(Path(finding.path).resolve()), set()).update(range(first, last + 1))
    return {path: tuple(sorted(numbers)) for path, numbers in watch.items()}
