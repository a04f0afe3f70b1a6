"""What an optimization leaves to be read: the report in both formats, the results for machines, the page, the patches."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from torchlint.evidence.confirm import bytes_text
from torchlint.report import backticks
from torchlint.system import atomic
from torchlint.system.printable import printable

from .candidates import difference
from .lab import Lab
from .metric import Measured
from .optimize import Optimized, Plan
from .plot import svg
from .race import Raced
from .tried import Tried

SCHEMA = 1
CLOCKS = {"cpu": "CPU seconds of this machine", "wall": "seconds of this machine", "device": "seconds of the device"}
_OUTCOMES = {
    "goal reached": "the goal is reached",
    "faster": "faster for certain, the goal is not shown",
    "nothing paid": "nothing that was tried pays here",
    "nothing to try": "there was nothing to try",
    "undecided": "it could not be decided",
    "emergency stop": "the whole change computes something else than it may: nothing is to be applied",
}


def markdown(found: Optimized, plan: Plan) -> str:
    """The summary, and a section for each change that was applied."""
    return "\n".join([*_summary(found, plan), *(line for one in found.applied for line in _applied(found, one))]) + "\n"


def _summary(found: Optimized, plan: Plan) -> Iterator[str]:
    final, clock = found.raced, found.track.clock
    yield "## Optimization Summary"
    yield ""
    yield f"**Goal**: {plan.goal:.2f}x, or {1 - 1 / plan.goal:.0%} less latency, in {CLOCKS[clock]} a step"
    start = final.before if final else next((one.raced.before for one in found.tried if one.raced), 0.0)
    yield ""
    yield f"**Starting Point**: {1000 * start:.3g} ms a step" if start else "**Starting Point**: not raced"
    yield ""
    yield f"**Result**: {result(found)}"
    yield ""
    yield "### Optimizations Applied (in order)"
    yield ""
    yield "| # | Optimization | Place | Impact | Numbers | Status |"
    yield "|---|---|---|---|---|---|"
    for number, one in enumerate(found.tried, 1):
        numbers = one.judgement.name if one.judgement else "-"
        place = _place(one).replace("|", r"\|")
        yield f"| {number} | {one.candidate.name} | {place} | {_impact(one.raced)} | {numbers} | {one.decision.status} |"
    yield ""
    yield "### Cumulative Results"
    yield ""
    yield "| Metric | Before | After | Change |"
    yield "|---|---|---|---|"
    yield from _rows(final, found.before, found.after)
    yield from _metric(found.metric)
    yield (
        "| SOL % | not measured | not measured | no GPU was used |"
        if clock != "device"
        else "| SOL % | not measured | not measured | - |"
    )
    yield ""
    yield "### Remaining Opportunities"
    yield ""
    remaining = [one for one in found.tried if one.decision.status != "Applied"]
    for one in remaining:
        after = f" Next: {one.decision.next}." if one.decision.next else ""
        yield f"- {one.candidate.name} at {_place(one)}: {one.decision.status.lower()}, {one.decision.reason}.{after}"
    if not remaining:
        yield "None."
    yield ""


def _place(one: Tried) -> str:
    return printable(one.candidate.place)


def result(found: Optimized) -> str:
    said = _OUTCOMES[found.outcome]
    if found.raced and found.raced.rounds:
        said = f"{1000 * found.raced.after:.3g} ms a step, {_impact(found.raced)}: {said}"
    if found.for_gpu:
        said += "; the program is one for a GPU, and none was used"
    return said


def _impact(raced: Raced | None) -> str:
    if raced is None or not raced.rounds:
        return "not raced"
    return f"{raced.speedup:.2f}x [{raced.low:.2f}, {raced.high:.2f}], control {math.exp(raced.control.middle):.3f}"


def _applied(found: Optimized, one: Tried) -> Iterator[str]:
    raced, judged = one.raced, one.judgement
    yield f"## Optimization Applied: {one.candidate.name}"
    yield ""
    yield "### Prerequisites Checked"
    yield ""
    repeats = " " if judged and judged.name == "unknown" else "x"
    yield f"- [{repeats}] the program repeats itself to the bit"
    yield "- [x] what is different was run"
    yield f"- [x] both versions take the same steps ({found.scouted.ticks})"
    if one.metric:
        yield f"- [x] metric: {one.metric.said}"
    else:
        yield f"- [x] numbers: {judged.name if judged else 'as in an earlier run'}, at most {one.candidate.allowed} allowed"
    yield ""
    yield "### Implementation"
    yield ""
    note = f" {one.candidate.note}." if one.candidate.note else ""
    yield f"{_place(one)}: {one.candidate.why}. A change of the kind `{one.candidate.risk}`.{note}"
    yield ""
    fence = backticks(one.candidate.diff, 3)
    yield f"{fence}diff"
    yield one.candidate.diff.rstrip("\n")
    yield fence
    yield ""
    yield "### Validation"
    yield ""
    yield "| Metric | Before | After | Change |"
    yield "|---|---|---|---|"
    yield from _rows(raced, one.before, one.after)
    yield from _metric(one.metric)
    yield ""
    yield "### Result"
    yield ""
    yield f"{one.decision.status}: {one.decision.reason}, in {raced.track.how if raced else 'an earlier run'}."
    yield ""


def _rows(raced: Raced | None, before: dict[str, float], after: dict[str, float]) -> Iterator[str]:
    if raced and raced.rounds and raced.before and raced.after:
        rate = (1 / raced.before, 1 / raced.after)
        yield f"| Throughput (steps a {raced.track.clock} second) | {rate[0]:.4g} | {rate[1]:.4g} | {_change(*rate)} |"
        low, high = 1 / raced.high - 1, 1 / raced.low - 1
        yield f"| Latency (ms a step) | {1000 * raced.before:.4g} | {1000 * raced.after:.4g} | {_change(raced.before, raced.after)} [{low:+.1%}, {high:+.1%}] |"
        peaks = raced.peaks
        yield f"| Memory (peak of the process) | {bytes_text(peaks[0])} | {bytes_text(peaks[1])} | {_change(*peaks)} |"
    else:
        yield "| Throughput | not measured | not measured | - |"
        yield "| Latency | not measured | not measured | - |"
    for name, title in (("memory", "Memory (peak of a traced device)"), ("operators", "Operators a step"), ("traffic", "Bytes they touch a step"),
                        ("syncs", "Synchronizations a step"), ("h2d", "Copies to the device a step")):  # fmt: skip
        if before.get(name) or after.get(name):
            a, b = before.get(name, 0.0), after.get(name, 0.0)
            show = bytes_text if name in ("memory", "traffic") else "{:g}".format
            yield f"| {title} | {show(a)} | {show(b)} | {_change(a, b)} |"


def _metric(measured: Measured | None) -> Iterator[str]:
    if measured:
        before, after = fmean(measured.before), fmean(measured.after)
        yield f"| Metric (at most {measured.limit:.0%} worse) | {before:.4g} | {after:.4g} | {_change(before, after)} |"


def _change(before: float, after: float) -> str:
    return f"{after / before - 1:+.1%}" if before else "-"


def results(found: Optimized, plan: Plan, environment: dict[str, Any], run: str) -> str:
    """Everything for programs; docs/optimize.md says what each field is."""
    document = {
        "schema": SCHEMA,
        "run": run,
        "entry": found.version.entry,
        "outcome": found.outcome,
        "goal": plan.goal,
        "numbers": plan.allowed,
        "for_gpu": found.for_gpu,
        "environment": environment,
        "track": asdict(found.track),
        "seconds": found.seconds,
        "before": found.before,
        "after": found.after,
        "final": race_fields(found.raced),
        "final_numbers": _judged(found),
        "final_metric": asdict(found.metric) if found.metric else None,
        "tried": [_tried(one) for one in found.tried],
    }
    return json.dumps(finite(document), indent=1) + "\n"


def _tried(one: Tried) -> dict[str, Any]:
    return {
        "candidate": one.candidate.name,
        "place": one.candidate.place,
        "risk": one.candidate.risk,
        "allowed": one.candidate.allowed,
        "fingerprint": one.candidate.fingerprint,
        "diff": one.candidate.diff,
        "status": one.decision.status,
        "reason": one.decision.reason,
        "next": one.decision.next,
        "numbers": asdict(one.judgement) if one.judgement else None,
        "race": race_fields(one.raced),
        "metric": asdict(one.metric) if one.metric else None,
        "before": one.before,
        "after": one.after,
        "seconds": one.seconds,
        "known": one.known,
    }


def race_fields(raced: Raced | None) -> dict[str, Any] | None:
    if raced is None:
        return None
    return {
        "verdict": raced.verdict,
        "clock": raced.track.clock,
        "how": raced.track.how,
        "speedup": raced.speedup,
        "low": raced.low,
        "high": raced.high,
        "control": [math.exp(value) if value < 700 else math.inf for value in raced.control],
        "seconds": raced.seconds,
        "before": raced.before,
        "after": raced.after,
        "rounds": [asdict(one) for one in raced.rounds],
    }


def _judged(found: Optimized) -> dict[str, Any] | None:
    return asdict(found.judgement) if found.judgement else None


def finite(value: Any) -> Any:
    """JSON knows no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


_PROFILES = ("before", "after")
_BESIDE = (
    "report.md", "certificate.md", "results.json", "change.patch", "backup.patch", "traces/before.json", "traces/after.json",
)  # fmt: skip
"""What lies beside the page."""


def page(found: Optimized, plan: Plan, certificate: str) -> str:
    """All of it on one page."""
    from markupsafe import Markup

    from torchlint.report.page import page

    return page(
        "optimize",
        entry=found.version.entry,
        picture=Markup(_picture(found)),
        links=[*_BESIDE, *(f"traces/{name}.profile.json" for name, _ in zip(_PROFILES, found.profiles, strict=False))],
        texts=[text for text in (markdown(found, plan), certificate, found.diff) if text],
    )


def _picture(found: Optimized) -> str:
    return svg([(one.candidate.name, one.raced) for one in found.tried], found.raced)


def put(path: Path, contents: bytes) -> None:
    """Write a file whole or not at all. Raises OSError, which names it."""
    try:
        atomic.put(str(path), contents)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def write(
    folder: Path, lab: Lab, found: Optimized, plan: Plan, environment: dict[str, Any], run: str, certificate: str
) -> None:
    """Write all files; what they are called docs/optimize.md says. Raises OSError."""
    back = difference(lab.space, found.version.project, found.state, found.version.overlay)
    files = {
        "report.md": markdown(found, plan),
        "certificate.md": certificate,
        "results.json": results(found, plan, environment, run),
        "plot.svg": _picture(found),
        "report.html": page(found, plan, certificate),
        "change.patch": found.diff,
        "backup.patch": back,
        "traces/before.json": json.dumps(found.before, indent=1) + "\n",
        "traces/after.json": json.dumps(found.after, indent=1) + "\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, text.encode("utf-8", "surrogateescape"))
    for name, profile in zip(_PROFILES, found.profiles, strict=False):
        shutil.copyfile(profile, folder / "traces" / f"{name}.profile.json")
