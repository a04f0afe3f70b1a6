"""A traced run for people and, as JSON, for machines.

What was not measured on a GPU says so; nothing here claims a speed-up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torchlint.evidence.advice import advise
from torchlint.evidence.budget import Verdict
from torchlint.evidence.confirm import (
    Row,
    break_hint,
    bytes_text,
    device_rows,
    is_async,
    launches,
    memory_slope,
    memory_slopes,
    number,
    once,
    possible_lines,
    rows,
    shown_rows,
    source_lines,
)
from torchlint.evidence.confirm import milliseconds as milliseconds_of
from torchlint.evidence.cost import Prediction, cheapness
from torchlint.evidence.profile import Profile
from torchlint.evidence.steady import Steady
from torchlint.evidence.tracing import Child, Trace
from torchlint.messages.event import Event
from torchlint.predict.changes import without
from torchlint.predict.estimate import Estimate, band
from torchlint.system.cached import cached_property
from torchlint.text.finding import Finding

from . import Look, budget, impact_rank, one_line, plural, profile
from .paint import Paint, Style

_WIDTH = 110
_TAIL_LINES = 12
_WORST = 12
_ADVICE = 6
_FEW_LINES = 2  # the sum says it all of fewer
_CONFIRMED: dict[str, Style] = {"confirmed": "red", "refuted": "green", "not reached": "dim"}


@dataclass(frozen=True)
class Report:
    """A traced run with the verdicts on `judged` findings and its own `discovered` ones.

    `budget` are limits that were set, `compared` those of an earlier run, `differences` how that one was made.
    """

    trace: Trace
    judged: tuple[Finding, ...]
    discovered: tuple[Finding, ...]
    budget: tuple[Verdict, ...] = ()
    compared: tuple[Verdict, ...] = ()
    differences: tuple[str, ...] = ()
    elsewhere: int = 0
    """How many findings are in files that the run did not import; they are not judged."""
    predicted_step: Prediction | None = None
    measured: Profile | None = None
    """The profile of a real run that all this is from, in place of a run of ours."""

    @property
    def estimate(self) -> Estimate | None:
        return self.predicted_step.estimate if self.predicted_step else None

    @property
    def verdicts(self) -> list[Finding]:
        """The judged findings: confirmed ones first, the dearest of them, then by the impact of their rules."""
        order = ("confirmed", "refuted", "not reached")
        judged = [
            (order.index(f.evidence.verdict), cheapness(f), impact_rank(f.code), f) for f in self.judged if f.evidence
        ]
        return [finding for *_, finding in sorted(judged, key=lambda one: (*one[:3], one[3].sort_key))]

    @cached_property
    def steady(self) -> Steady:
        return Steady.of(self.trace.events)

    @property
    def start(self) -> Event | None:
        return next((child.start for child in self.trace.children if child.start), None)

    @property
    def predicted(self) -> bool:
        """Whether no GPU was used: kernels were generated for the target and counted, not launched on it."""
        return self.start is not None and self.start.name in {"virtual", "cpu"}


def text(report: Report, look: Look) -> str:
    """The report for a terminal."""
    paint = Paint(look)
    parts = [
        _header(report, paint),
        *(_trouble(child, paint) for child in report.trace.children),
        _advice(report, look, paint),
        _predicted(report, paint),
        _per_step(report, look, paint),
        _times(report, look, paint),
        _device_table(report, look, paint),
        _eager_kernels(report, look, paint),
        _breaks(report, look, paint),
        _recompiles(report, look, paint),
        _graphs(report, look, paint),
        _unsupported(report, look, paint),
        _verdicts(report, look, paint),
        _discovered(report, look, paint),
        budget.text(report.budget, "Budget", look),
        budget.text(report.compared, _compared(report), look),
    ]
    return "\n".join(part for part in parts if part)


# --- tables ------------------------------------------------------------------------------------------------------


def _section(title: str, lines: Sequence[str], paint: Paint) -> str:
    return "".join([paint(title, "bold") + "\n", *(f"  {line}".rstrip() + "\n" for line in lines)]) if lines else ""


def _aligned(table: Sequence[tuple[str, ...]], *, right: int = 0) -> list[str]:
    """The rows with their columns under each other, the first `right` of them flush right; the last is free."""
    wide = [max(len(row[column]) for row in table) for column in range(len(table[0]) - 1)] if table else []
    lines = []
    for row in table:
        cells = [
            cell.rjust(w) if i < right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, wide, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return lines


def _place(event: Event, look: Look) -> str:
    if not event.file:
        return "outside the user's code"
    if possible_lines(event):
        return f"{look.path(event.file)}:{event.line} ({event.function})"
    return f"{look.path(event.file)}:{event.line}"


def _code(event: Event) -> str:
    lines = source_lines(event.file)
    return lines[event.line - 1].strip() if 0 < event.line <= len(lines) else ""


def _clip(line: str, width: int) -> str:
    line = one_line(line)
    return line if len(line) <= width else line[: width - 3] + "..."


# --- the parts ---------------------------------------------------------------------------------------------------


def _header(report: Report, paint: Paint) -> str:
    if report.measured is not None:
        found = report.measured
        steps = f"{plural(found.steps, 'step')} in" if found.steps else "no step is marked in its"
        title = f"{paint(_clip(report.trace.job.entry, _WIDTH - 40), 'bold')}: {steps} {milliseconds_of(found.seconds)}"
        lines = [title, paint(f"device: {found.device or 'none is told'}; measured by torch.profiler", "dim")]
        return "\n".join([*lines, *profile.notes(found)]) + "\n"
    job, start = report.trace.job, report.start
    first = report.trace.children[0]
    entry = " ".join([job.entry, *job.args])
    ended = first.end
    words = {"finished": "ran to its end", "error": "raised", "exit": "ended by"}
    how = words.get(ended.name, ended.name)
    steps = f"{plural(first.steps, 'step')}, " if first.steps else "no step taken, "
    lines = [f"{paint(_clip(entry, _WIDTH - 40), 'bold')}: {steps}{how} {ended.detail}".rstrip()]
    if start is not None:
        data = start.data or {}
        triton = f", triton {data['triton']}" if data.get("triton") else ""
        lines.append(paint(f"torch {start.detail}, Python {data.get('python', '')}{triton}", "dim"))
        if report.predicted:
            where = f"a virtual {job.target}" if start.name == "virtual" else "the CPU"
            note = f"device: {where}; predicted for {job.target}, torch {_short(start.detail)}: no GPU was used"
        else:
            note = f"device: {start.name}"
        lines.append(paint(note, "dim"))
    return "\n".join(lines) + "\n"


def _advice(report: Report, look: Look, paint: Paint) -> str:
    """The primary bottleneck, what shows it, and what to do about it."""
    given = advise(report.trace.events, report.estimate)
    if not given.bottleneck:
        return ""
    styles: dict[str, Style] = {"High": "red", "Medium": "yellow", "Low": "dim"}
    lines = [*given.evidence, ""]
    for todo in given.recommendations[:_ADVICE]:
        where = f"{look.path(todo.place[0])}:{todo.place[1]}: " if todo.place else ""
        lines.append(f"{paint(f'{todo.priority:6}', styles[todo.priority])}  {where}{_clip(todo.text, _WIDTH - 20)}")
    return _section(f"Primary bottleneck: {given.bottleneck}", lines, paint)


def _compared(report: Report) -> str:
    made = f" (made with {'; '.join(report.differences)})" if report.differences else ""
    return f"Compared with the earlier run{made}"


def _short(version: str) -> str:
    return ".".join(version.partition("+")[0].split(".")[:2])


def _trouble(child: Child, paint: Paint) -> str:
    """What a pass that did not end as asked left behind."""
    end = child.end
    if end.name in {"finished", "stopped"} or (end.name == "exit" and child.returncode == 0):
        return ""
    words = {
        "interrupted": "was interrupted",
        "error": f"raised {end.detail}",
        "exit": f"called {end.detail}",
        "died": f"died: {end.detail}",
        "killed": end.detail,
        "no torch": f"torch can't be imported: {end.detail}",
        "no entry": end.detail,
        "unable": f"did not start: {end.detail}",
    }
    seen = (
        f"after {plural(child.steps, 'step')}; what was seen until then is below" if child.steps else "before any step"
    )
    where = [f"at {event.file}:{event.line}" for event in child.events if event.kind == "error" and event.line]
    title = f"{paint(f'The {child.run} pass', 'yellow')} {words.get(end.name, end.detail)}, {seen}"
    tail = child.errors.strip().splitlines()[-_TAIL_LINES:]
    return _section(title, [*where, *(paint(f"| {line}", "dim") for line in tail)], paint)


_KINDS_OF_STEPS = {
    "torchlint.step": "torchlint.step()",
    "line": "reaching the line of --step-at",
    "backward": "a backward pass",
}


def _loop(events: Sequence[Event], look: Look) -> str:
    """What a step is where it is no step of an optimizer."""
    last = next((event for event in reversed(events) if event.kind == "step"), None)
    if last is None or not last.name:
        return ""
    file, _, line = last.detail.rpartition(":")
    if last.name == "call":
        return f" (a step is an iteration of the loop at {look.path(file)}:{line})" if file else " (a step is a call)"
    return f" (a step is {_KINDS_OF_STEPS[last.name]})"


def _per_step(report: Report, look: Look, paint: Paint) -> str:
    steady, events = report.steady, report.trace.events
    if not report.trace.observed:
        return ""
    table: list[tuple[str, ...]] = []
    if report.measured is not None:
        table.extend((value, what, "") for value, what in profile.summary(events, steady))
        span = "in all" if steady.whole else f"per step, over {plural(len(steady), 'step')}"
        return _section(f"Measured, {span}", _aligned(table, right=1), paint)
    device = device_rows(events, steady)
    syncs = [row for row in device if row.event.kind in {"sync", "synchronize"}]
    waiting = [row for row in device if row.event.kind in {"h2d", "d2h"} and not is_async(row.event)]
    overlapped = [row for row in device if is_async(row.event)]
    table.append((_total(syncs), "host-device synchronizations", ""))
    table.append((_total(waiting), "copies that the host waits for", _size(waiting)))
    table.append((_total(overlapped), "copies that it does not wait for", _size(overlapped)))
    if between := rows(events, steady, {"p2p"}):
        table.append((_total(between), "copies between devices, which it does not wait for", _size(between)))
    table.extend(_memory(events, steady))
    if operators := rows(events, steady, {"operator"}):
        table.append((_total(operators), "operators of eager code, which touch", _size(operators)))
    if report.trace.child("compile"):
        table.extend(_compiled(report))
    elif report.trace.compiles_nothing:
        table.append(("0", "graph breaks", "nothing is compiled"))
    span = (
        "in all (fewer than two steps)" if steady.whole else f"per step, over steps {steady.first + 1} to {steady.last}"
    )
    return _section(f"Steady state, {span}{_loop(events, look)}", _aligned(table, right=1), paint)


def _predicted(report: Report, paint: Paint) -> str:
    """The step on the GPU that was asked for; nothing here was measured."""
    prediction = report.predicted_step
    if prediction is None:
        return ""
    title = f"Predicted step on {prediction.estimate.gpu.name} ({assumptions(prediction)})"
    return _section(title, prediction_lines(prediction, report), paint)


def assumptions(prediction: Prediction) -> str:
    """Where the constants are from, and the batch."""
    measured = prediction.estimate.constants.calibrated
    return "; ".join(filter(None, (f"measured on {measured}" if measured else "assumed constants", prediction.note)))


def prediction_lines(prediction: Prediction, report: Report) -> list[str]:
    """How long the step takes, what bounds it, and what all findings cost together."""
    found = prediction.estimate
    seconds, host, device = found.seconds, found.host, found.device
    spread = f"{milliseconds(device.low)} to {milliseconds(device.high)}"
    lines = [
        f"about {milliseconds(seconds.middle)} ({milliseconds(seconds.low)} to {milliseconds(seconds.high)}), {_bound(found)}",
        f"host {milliseconds(host.low)} to {milliseconds(host.high)}, device {spread}",
        f"{found.step.light / found.step.seconds:.0%} of what the data sheet allows{_memory_of(report, found)}",
    ]
    if (saving := prediction.joint([*report.judged, *report.discovered])) is not None:
        lines.append(f"all that is priced below, mended together: {share_text(saving.share)} (savings do not add up)")
    return lines


def _bound(found: Estimate) -> str:
    if found.saving(without(("data",))).share.middle > 0.5:
        return "waiting for its loader"
    return f"{found.bound}-bound" if found.bound else "whether host or device bounds it can't be told"


def _memory_of(report: Report, found: Estimate) -> str:
    """The run's own peak, whatever batch is assumed."""
    peak = max((int(str((e.data or {}).get("peak", 0))) for e in report.trace.events if e.kind == "memory"), default=0)
    return f"; memory of the run {bytes_text(peak)} of {found.gpu.memory} GiB" if peak else ""


def milliseconds(seconds: float) -> str:
    """A time with as many digits as are known of it: one or two."""
    value = seconds * 1e3
    return f"{float(f'{value:.2g}'):g} ms"


def share_text(saves: tuple[float, float, float]) -> str:
    """`large, over 20 % of a step`; `negligible to small` where the least and the most lie apart."""
    limits = {"negligible": "under 1 %", "small": "1 to 5 %", "medium": "5 to 20 %", "large": "over 20 %"}
    low, middle, high = map(band, saves)
    said = f"{middle}, {limits[middle]} of a step"
    return said if low == high else f"{said} ({low} to {high})"


def price(finding: Finding, report: Report) -> str:
    """What mending it saves, "" where nobody can tell; milliseconds only of a GPU that was measured."""
    saves = finding.evidence.saves if finding.evidence else None
    if saves is None or report.predicted_step is None:
        return ""
    found = report.predicted_step.estimate
    exact = f", about {milliseconds(saves[1] * found.step.seconds)}" if found.constants.calibrated else ""
    return f"costs: {share_text(saves)}{exact}"


def _total(found: Iterable[Row]) -> str:
    return number(sum(row.count for row in found))


def _size(found: Iterable[Row]) -> str:
    size = sum(row.size for row in found)
    return bytes_text(size) if size else ""


def _memory(events: Sequence[Event], steady: Steady) -> list[tuple[str, ...]]:
    return [
        (bytes_text(peak), f"peak of {device}'s memory", f"grows by {bytes_text(slope)} a step" if slope else "")
        for device, peak, slope in memory_of(events, steady)
    ]


def memory_of(events: Iterable[Event], steady: Steady) -> list[tuple[str, int, float]]:
    """Of each device (`the device` where there is one) the peak of its memory, and by how many bytes a step it grows."""
    events = tuple(events)
    peaks: dict[str, int] = {}
    for event in events:
        if event.kind == "memory":
            peaks[event.name] = max(peaks.get(event.name, 0), int(str((event.data or {}).get("peak", 0))))
    slopes = memory_slopes(events, steady)
    return [(name or "the device", peak, slopes.get(name, 0.0)) for name, peak in sorted(peaks.items()) if peak]


def _compiled(report: Report) -> list[tuple[str, ...]]:
    events = report.trace.events
    breaks = once(events, "graph_break")
    skipped = sum(bool((event.data or {}).get("frame_skipped")) for event in breaks)
    again = [event for event in events if event.kind == "recompile"]
    limits = sum(event.kind == "recompile_limit" for event in events)
    table: list[tuple[str, ...]] = [
        (
            str(len(breaks)),
            "graph breaks in the whole run",
            f"{skipped} with a function skipped whole" if skipped else "",
        ),
        (str(len(again)), "recompiles in the whole run", plural(limits, "limit") + " hit" if limits else ""),
    ]
    triton, library = launches(events)
    if triton or library:
        table.append((f"{number(triton)}+{number(library)}", "Triton and library kernels launched by graphs", ""))
    return table


def _times(report: Report, look: Look, paint: Paint) -> str:
    """What a profile measured of each line."""
    if report.measured is None:
        return ""
    found = profile.lines(report.trace.events, report.steady)
    table = [
        (
            *(milliseconds_of(value) if value else "" for value in line.times[:3]),
            number(line.times.launches) if line.times.launches else "",
            _place(line.event, look),
            _clip(_code(line.event) if line.sure else "one of its lines", 50),
        )
        for line in found[: 2 * _WORST]
    ]
    if not table:
        return ""
    heads = ("host", "waits", "device", "launches", "where", "line")
    lines = _aligned([heads, *table], right=4)
    return _section("Time by line, a step", [paint(lines[0], "dim"), *lines[1:]], paint)


def _device_table(report: Report, look: Look, paint: Paint) -> str:
    table: list[tuple[str, ...]] = []
    for row in shown_rows(report.trace.events, report.steady):
        size = bytes_text(row.size) if row.size else ""
        detail = row.event.detail if row.event.kind in {"h2d", "d2h", "p2p"} else ""
        what = " ".join(filter(None, (row.event.kind, row.event.name, detail)))
        often = "" if report.steady.whole else f"{row.steps}/{len(report.steady)}"
        code = f"in {row.via}" if row.via else _code(row.event)
        took = (milliseconds_of(row.seconds),) if report.measured is not None else ()
        table.append((number(row.count), often, *took, size, what, _place(row.event, look), _clip(code, 60)))
    if not table:
        return ""
    took = ("time",) if report.measured is not None else ()
    heads = ("count", "steps", *took, "bytes", "what", "where", "line")
    lines = _aligned([heads, *table], right=3 + len(took))
    return _section("Synchronizations and copies", [paint(lines[0], "dim"), *lines[1:]], paint)


def _eager_kernels(report: Report, look: Look, paint: Paint) -> str:
    """The lines of eager code that launch most."""
    found = rows(report.trace.events, report.steady, {"operator"})
    table = [
        (
            number(row.count),
            bytes_text(row.size),
            _place(row.event, look),
            _clip(f"in {row.via}" if row.via else _code(row.event), 60),
        )
        for row in found[:_WORST]
    ]
    if len(found) < _FEW_LINES:
        return ""
    lines = _aligned([("count", "bytes", "where", "line"), *table], right=2)
    more = (
        [f"and {plural(len(found) - _WORST, 'line')} more, which --output-format json has"]
        if len(found) > _WORST
        else []
    )
    title = "Operators of eager code by line (on a device each is a kernel, or more)"
    return _section(title, [paint(lines[0], "dim"), *lines[1:], *(paint(line, "dim") for line in more)], paint)


def _breaks(report: Report, look: Look, paint: Paint) -> str:
    breaks = once(report.trace.events, "graph_break")
    breaks.sort(key=lambda event: (not (event.data or {}).get("frame_skipped"), event.file, event.line))
    lines: list[str] = []
    for event in breaks:
        data = event.data or {}
        skipped = paint("  the whole function runs eagerly", "red") if data.get("frame_skipped") else ""
        lines.append(f"{event.name:7} {_place(event, look)} in {event.function}{skipped}")
        lines += [f"        {_clip(_code(event), _WIDTH - 10)}"] if _code(event) else []
        parts = (event.detail, break_hint(event))
        lines += [paint(f"        {_clip(part, _WIDTH - 10)}", "dim") for part in parts if part]
    return _section("Graph breaks", lines, paint)


def _recompiles(report: Report, look: Look, paint: Paint) -> str:
    table = [
        (_place(event, look), event.kind.replace("_", " "), _clip(event.name, 80))
        for event in once(report.trace.events, "recompile", "recompile_limit")
    ]
    return _section("Recompiles", _aligned(table), paint)


def _graphs(report: Report, look: Look, paint: Paint) -> str:
    runs = {(row.event.file, row.event.name): row.count for row in rows(report.trace.events, report.steady, ["graph"])}
    table: list[tuple[str, ...]] = []
    for event in once(report.trace.events, "graph"):
        data = event.data or {}
        counts = str(data.get("triton", "?")), str(data.get("extern", "?"))
        often = number(runs.get((event.file, event.name), 0.0))
        table.append((*counts, often, event.name, _place(event, look), event.function))
    if not table:
        return ""
    start = report.start
    torch = f", torch {_short(start.detail)}" if start else ""
    predicted = f", predicted for {report.trace.job.target}{torch}" if report.predicted else ""
    lines = _aligned([("Triton", "library", "runs", "graph", "where", ""), *table], right=3)
    return _section(f"Kernel launches of each graph{predicted}", [paint(lines[0], "dim"), *lines[1:]], paint)


def _unsupported(report: Report, look: Look, paint: Paint) -> str:
    seen = once(report.trace.events, "unsupported")
    table = [(event.name, _place(event, look), _clip(event.detail, 70)) for event in seen]
    return _section("Not supported by the traced run", _aligned(table), paint)


def _verdicts(report: Report, look: Look, paint: Paint) -> str:
    lines = []
    for finding in report.verdicts:
        if finding.evidence:
            verdict = paint(f"{finding.evidence.verdict:11}", _CONFIRMED[finding.evidence.verdict])
            lines.append(f"{verdict}  {look.place(finding)}  {paint.code(finding)} {one_line(finding.message)}")
            lines.append(paint(f"             {_clip(finding.evidence.detail, _WIDTH - 15)}", "dim"))
            lines += [f"             {said}"] if (said := price(finding, report)) else []
    if report.elsewhere:
        where = "the run did not import" if report.measured is None else "the profile does not show"
        lines.append(paint(f"not judged: {plural(report.elsewhere, 'finding')} in files that {where}", "dim"))
    return _section("Verdicts", lines, paint)


def _discovered(report: Report, look: Look, paint: Paint) -> str:
    worst = [finding for finding in report.discovered if finding.code != "TLT04"]  # the table of launches tells it
    shown = []
    for finding in worst[:_WORST]:
        shown.append(f"{look.place(finding)}: {paint.code(finding)} {_clip(finding.message, _WIDTH - 30)}")
        shown += [f"  {said}"] if (said := price(finding, report)) else []
    if len(worst) > _WORST:
        rest = len(worst) - _WORST
        shown.append(paint(f"and {rest} more, which --output-format json has", "dim"))
    return _section("Look at these first", shown, paint)


# --- for machines ------------------------------------------------------------------------------------------------


def as_json(report: Report, look: Look) -> str:
    """One JSON object; counts and bytes are per step of the steady state, paths absolute."""
    events, steady, start = report.trace.events, report.steady, report.start
    triton, library = launches(events)
    document: dict[str, Any] = {
        "entry": report.trace.job.entry,
        "args": list(report.trace.job.args),
        "torch": start.detail if start else None,
        "python": (start.data or {}).get("python") if start else None,
        "device": start.name if start else None,
        "target": report.trace.job.target,
        "predicted": report.predicted,
        "passes": [_pass(child) for child in report.trace.children],
        "steady": {"first": steady.first, "last": steady.last, "whole": steady.whole},
        "device_events": [_row(row) for row in shown_rows(events, steady)],
        "operators": [_row(row) for row in rows(events, steady, {"operator"})],
        "launches": {"triton": triton, "library": library},
        "memory": [_event(event) for event in events if event.kind == "memory"],
        "memory_slope": memory_slope(events, steady),
        "graph_breaks": [_event(event) for event in events if event.kind == "graph_break"],
        "recompiles": [_event(event) for event in events if event.kind in {"recompile", "recompile_limit"}],
        "graphs": [_event(event) for event in events if event.kind == "graph"],
        "kernels": [_event(event) for event in events if event.kind == "kernel"],
        "shapes": [_event(event) for event in events if event.kind == "shape"],
        "warnings": [_event(event) for event in events if event.kind == "warning"],
        "unsupported": [_event(event) for event in events if event.kind == "unsupported"],
        "errors": [_event(event) for event in events if event.kind == "error"],
        "elsewhere": report.elsewhere,
        "verdicts": [_finding(finding, look) for finding in report.verdicts],
        "findings": [_finding(finding, look) for finding in report.discovered],
        "profile": report.measured and profile.as_json(report.measured, steady),
        "prediction": report.predicted_step and _prediction(report.predicted_step, report),
        "advice": _advised(report),
        "budget": budget.as_json(report.budget),
        "compared": budget.as_json(report.compared),
        "differences": list(report.differences),
    }
    return json.dumps(document, indent=2) + "\n"


def _prediction(prediction: Prediction, report: Report) -> dict[str, Any]:
    found, joint = prediction.estimate, prediction.joint([*report.judged, *report.discovered])
    return {
        "gpu": found.gpu.name,
        "calibrated": found.constants.calibrated or None,
        "note": prediction.note,
        "seconds": list(found.seconds),
        "host_seconds": list(found.host),
        "device_seconds": list(found.device),
        "bound": found.bound or None,
        "share_of_data_sheet": found.step.light / found.step.seconds if found.step.seconds else None,
        "joint_saving": joint and list(joint.share),
    }


def _advised(report: Report) -> dict[str, Any]:
    given = advise(report.trace.events, report.estimate)
    todo = [
        {"priority": r.priority, "text": r.text, "filename": r.place and r.place[0], "line": r.place and r.place[1]}
        for r in given.recommendations
    ]
    return {"bottleneck": given.bottleneck or None, "evidence": list(given.evidence), "recommendations": todo}


def _pass(child: Child) -> dict[str, Any]:
    return {
        "pass": child.run,
        "end": child.end.name,
        "detail": child.end.detail,
        "returncode": child.returncode,
        "steps": child.steps,
        "seconds": round(child.seconds, 2),
        "stdout_tail": child.output,
        "stderr_tail": child.errors,
    }


def _event(event: Event) -> dict[str, Any]:
    return dict(json.loads(event.to_json()))


def _row(row: Row) -> dict[str, Any]:
    took = {"seconds": row.seconds} if row.seconds else {}
    return {**_event(row.event), "count": row.count, "size": row.size, "steps": row.steps, **took}


def _finding(finding: Finding, look: Look) -> dict[str, Any]:
    evidence = finding.evidence
    return {
        "code": finding.code,
        "name": finding.name,
        "filename": look.absolute(finding.path),
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "severity": finding.severity,
        "evidence": evidence
        and {
            "verdict": evidence.verdict,
            "detail": evidence.detail,
            "count": evidence.count,
            "saves": evidence.saves and list(evidence.saves),
            **({"measured_seconds": evidence.measured.seconds} if evidence.measured else {}),
        },
    }
