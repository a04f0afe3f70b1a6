"""A traced run as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from torchlint.evidence.advice import advise
from torchlint.evidence.budget import UNITS, Verdict
from torchlint.evidence.confirm import (
    Row,
    break_hint,
    bytes_text,
    device_rows,
    is_async,
    launches,
    number,
    once,
    rows,
    shown_rows,
    source_lines,
)
from torchlint.evidence.confirm import milliseconds as milliseconds_of
from torchlint.messages.event import Event
from torchlint.predict.timeline import Span
from torchlint.system.printable import printable

from . import Look, plural, profile
from .page import page as render
from .page import python
from .trace import Report, assumptions, memory_of, prediction_lines, price

_CONTEXT = 6  # lines shown around a noted one in a long file
_LONG = 400  # lines; a shorter file is shown whole
_TALLEST = 96  # pixels of the tallest step
_CLASSES = {"sync": "sync", "synchronize": "sync", "h2d": "copy", "d2h": "copy", "empty_cache": "sync"}
_NAMES = {
    "sync": "synchronizations",
    "copy": "copies the host waits for",
    "overlapped": "copies it does not wait for",
    "break": "graph breaks and recompiles",
}

_Values = dict[str, Any]
"""What a part of the template shows, by its names there."""


def page(report: Report, look: Look) -> str:
    """The report as an HTML document."""
    events = report.trace.events
    return render(
        "trace",
        entry=" ".join([report.trace.job.entry, *report.trace.job.args]),
        **_head(report),
        cards=_cards(report),
        advice=advise(events, report.estimate),
        at=lambda file, line: _place(file, line, look),
        predicted=_prediction(report, look),
        steps=_timeline(report),
        limits=[_limit(one) for one in report.budget],
        compared=[_limit(one) for one in report.compared],
        source=_source(report, look),
        times=_times(report, look),
        device=_device(report, look),
        for_target=f", predicted for {report.trace.job.target}" if report.predicted else "",
        graphs=_graphs(report, look),
        kernels=_kernels(report, look),
        findings=_findings(report, look),
        trouble=list(once(events, "unsupported", "error")),
        failed=[
            (child.run, child.errors.strip()[-4000:])
            for child in report.trace.children
            if child.end.name not in {"finished", "stopped"} and child.errors.strip()
        ],
    )


def _head(report: Report) -> _Values:
    """The facts of the run, and notes on how it ended."""
    start, job = report.start, report.trace.job
    if (found := report.measured) is not None:
        steps = plural(found.steps, "step") if found.steps else "no step is marked"
        facts = [steps, found.device or "no device is told", "measured by torch.profiler"]
        return {"facts": facts, "notes": profile.notes(found)}
    facts = [plural(report.trace.children[0].steps, "step")]
    if start is not None:
        facts += [f"torch {start.detail}", f"Python {(start.data or {}).get('python', '')}"]
        facts.append(f"predicted for {job.target}: no GPU was used" if report.predicted else start.name)
    ends = (f"{child.run} pass: {child.end.name} {child.end.detail}".strip() for child in report.trace.children)
    return {"facts": facts, "notes": ["; ".join(ends)]}


def _cards(report: Report) -> list[tuple[str, str]]:
    """Figures of the run, and what each is."""
    events, steady = report.trace.events, report.steady
    if report.measured is not None:
        return profile.summary(events, steady)
    device = device_rows(events, steady)
    waiting = [row for row in device if row.event.kind in {"h2d", "d2h"} and not is_async(row.event)]
    rate = "in all" if steady.whole else "a step"
    triton, library = launches(events)
    cards = [
        (_total(row for row in device if row.event.kind in {"sync", "synchronize"}), f"synchronizations {rate}"),
        (_total(waiting), f"copies {rate} that the host waits for"),
        (str(len(once(events, "graph_break"))), "graph breaks"),
        (str(sum(event.kind == "recompile" for event in events)), "recompiles"),
    ]
    if triton or library:
        cards.append((number(triton + library), f"kernels {rate} launched by compiled graphs"))
    if between := rows(events, steady, ["p2p"]):
        cards.append((_total(between), f"copies {rate} between devices"))
    for name, peak, slope in memory_of(events, steady):
        grows = f", grows by {bytes_text(slope)} a step" if slope else ""
        cards.append((bytes_text(peak), f"peak of {name}'s memory{grows}"))
    return cards


def _total(found: Iterable[Row]) -> str:
    return number(sum(row.count for row in found))


def _place(file: str, line: int, look: Look) -> str:
    """The line of a file as it is shown, "" of no line of the user's."""
    return f"{look.path(file)}:{line}" if file else ""


# --- the predicted step ------------------------------------------------------------------------------------------

_LANES = {"host": (0, "kernel"), "wait": (0, "sync"), "device": (1, "overlapped")}
_LANE = 34  # pixels
_MOST_SPANS = 4000
_WIDE = 960.0


class _Bar(NamedTuple):
    """A rectangle of a picture, in pixels, and what is said where the mouse rests on it."""

    kind: str
    x: str
    y: str
    width: str
    height: str
    said: str


def _prediction(report: Report, look: Look) -> _Values | None:
    """Host and device of one step, with what waits for what at which line; nothing of it was measured."""
    prediction = report.predicted_step
    if prediction is None:
        return None
    drawn = prediction.spans()
    end = max((span.end for span in drawn), default=0.0)
    if not end:
        return None
    wide = [span for span in drawn if (span.end - span.start) / end * _WIDE >= 0.2][:_MOST_SPANS]
    return {
        "gpu": prediction.estimate.gpu.name,
        "lines": prediction_lines(prediction, report),
        "assumes": assumptions(prediction),
        "height": 2 * _LANE + 6,
        "lanes": [(name, lane * _LANE + 20) for lane, name in enumerate(("host", "device"))],
        "bars": [_bar(span, end, look) for span in wide],
    }


def _bar(span: Span, end: float, look: Look) -> _Bar:
    lane, kind = _LANES[span.lane]
    left, width = 70 + span.start / end * _WIDE, (span.end - span.start) / end * _WIDE
    one = span.operation
    where = f" {look.path(one.file)}:{one.line}" if one.file else ""
    said = f"{'waits: ' if span.lane == 'wait' else ''}{one.name}{where}"
    return _Bar(kind, f"{left:.2f}", str(lane * _LANE + 4), f"{max(width, 0.2):.2f}", str(_LANE - 8), said)


# --- steps -------------------------------------------------------------------------------------------------------


def _timeline(report: Report) -> _Values | None:
    """A column for each step, of what happened in it; those of the warm-up are grey."""
    steps = max((event.step for event in report.trace.events if event.kind == "step"), default=0)
    if not steps:
        return None
    columns = [_column(report.trace.events, step) for step in range(steps)]
    most = max(1, *(sum(column.values()) for column in columns))
    width = min(60.0, 1000 / steps)
    steady = report.steady
    return {
        "height": _TALLEST + 34,
        "width": f"{width:.1f}",
        "warm": [f"{30 + step * width:.1f}" for step in range(min(steady.first, steps))],
        "bars": [bar for step, column in enumerate(columns) for bar in _bars(column, step, most, width)],
        "labels": [
            (f"{30 + (step + 0.5) * width:.1f}", step + 1) for step in range(steps) if width >= 16 or step % 10 == 9
        ],
        "kinds": _NAMES.items(),
        "said": "everything is counted: there was no second step"
        if steady.whole
        else f"grey: warm-up, {plural(steady.first, 'step')}",
    }


def _column(events: Iterable[Event], step: int) -> dict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for event in events:
        if event.step == step:
            if event.kind in _CLASSES:
                counts["overlapped" if is_async(event) else _CLASSES[event.kind]] += event.count
            elif event.kind in {"graph_break", "recompile"}:
                counts["break"] += event.count
    return counts


def _bars(column: dict[str, int], step: int, most: int, width: float) -> Iterator[_Bar]:
    left, bottom = 30 + step * width, _TALLEST + 12
    for kind, name in _NAMES.items():
        if count := column.get(kind, 0):
            height = max(2.0, _TALLEST * count / most)
            top = bottom - height
            said = f"step {step + 1}: {count} {name}"
            yield _Bar(kind, f"{left + 3:.1f}", f"{top:.1f}", f"{max(1.0, width - 6):.1f}", f"{height:.1f}", said)
            bottom = int(top) - 1


# --- source ------------------------------------------------------------------------------------------------------


def _source(report: Report, look: Look) -> list[_Values]:
    notes = _notes(report)
    files = sorted({file for file, _ in notes if file and source_lines(file)})
    return [_file(file, {line: found for (name, line), found in notes.items() if name == file}, look) for file in files]


Note = tuple[str, str]
"""The class of a note, and its text."""


def _notes(report: Report) -> dict[tuple[str, int], list[Note]]:
    """What is said at each line, the gravest first."""
    events, steady = report.trace.events, report.steady
    notes: defaultdict[tuple[str, int], list[Note]] = defaultdict(list)
    for event in once(events, "graph_break", "recompile", "recompile_limit"):
        whole = ": the whole function runs eagerly" if (event.data or {}).get("frame_skipped") else ""
        hint = break_hint(event) if event.kind == "graph_break" else ""
        text = f"{event.kind.replace('_', ' ')} {event.name}{whole}. {event.detail} {hint}"
        notes[event.file, event.line].append(("break", text))
    for row in shown_rows(events, steady):
        kind = "overlapped" if is_async(row.event) else _CLASSES[row.event.kind]
        notes[row.event.file, row.event.line].append((kind, _said(row, steady.whole)))
    for row in rows(events, steady, ["graph"]):
        data = row.event.data or {}
        text = f"graph {row.event.name}: {data.get('triton', '?')} Triton and {data.get('extern', '?')} library kernels, {number(row.count)} times"
        notes[row.event.file, row.event.line].append(("kernel", text))
    return notes


def _said(row: Row, whole: bool) -> str:
    event = row.event
    what = " ".join(filter(None, (event.kind, event.name, _detail(event))))
    size = f", {bytes_text(row.size)}" if row.size else ""
    via = f", in {row.via}" if row.via else ""
    took = f", {milliseconds_of(row.seconds)}" if row.seconds else ""
    return f"{what}: {number(row.count)} {'in all' if whole else 'a step'}{size}{took}{via}"


def _file(file: str, notes: dict[int, list[Note]], look: Look) -> _Values:
    lines = _highlighted(file)
    shown: list[_Values] = []
    before = 0
    for line in _shown(len(lines), notes):
        shown.append({"gap": line > before + 1, "number": line, "text": lines[line - 1], "notes": notes.get(line, ())})
        before = line
    return {"path": look.path(file), "count": plural(sum(map(len, notes.values())), "note"), "lines": shown}


def _shown(length: int, notes: Iterable[int]) -> Iterator[int]:
    noted = sorted(notes)
    for line in range(1, length + 1):
        if length <= _LONG or any(abs(line - other) <= _CONTEXT for other in noted):
            yield line


def _highlighted(file: str) -> Sequence[str]:
    """The lines of a Python file as HTML."""
    text = "\n".join(printable(line.expandtabs(4)) for line in source_lines(file)) + "\n"
    return python(text).split("\n")[:-1]


# --- tables ------------------------------------------------------------------------------------------------------


def _times(report: Report, look: Look) -> list[_Values]:
    """What a profile measured of each line."""
    if report.measured is None:
        return []
    return [
        {
            "numbers": (
                *(milliseconds_of(value) if value else "" for value in line.times[:3]),
                number(line.times.launches) if line.times.launches else "",
            ),
            "place": _place(line.event.file, line.event.line, look),
            "of": "" if line.sure else line.event.function,
        }
        for line in profile.lines(report.trace.events, report.steady)
    ]


def _device(report: Report, look: Look) -> _Values:
    steady, measured = report.steady, report.measured is not None
    found = [
        {
            "numbers": (
                number(row.count),
                "" if steady.whole else f"{row.steps}/{len(steady)}",
                bytes_text(row.size) if row.size else "",
                *((milliseconds_of(row.seconds),) if measured else ()),
            ),
            "kind": "overlapped" if is_async(row.event) else _CLASSES[row.event.kind],
            "tag": row.event.kind,
            "what": " ".join(filter(None, (row.event.name, _detail(row.event)))),
            "place": _place(row.event.file, row.event.line, look),
            "via": row.via,
        }
        for row in shown_rows(report.trace.events, steady)
    ]
    took = ("time",) if measured else ()
    return {
        "heads": ("count", "steps", "bytes", *took, "what", "where", "inside"),
        "numbers": 3 + len(took),
        "rows": found,
    }


def _detail(event: Event) -> str:
    return event.detail if event.kind in {"h2d", "d2h", "p2p"} else ""


def _graphs(report: Report, look: Look) -> list[_Values]:
    runs = {(row.event.file, row.event.name): row.count for row in rows(report.trace.events, report.steady, ["graph"])}
    return [
        {
            "numbers": (
                (event.data or {}).get("triton", "?"),
                (event.data or {}).get("extern", "?"),
                number(runs.get((event.file, event.name), 0.0)),
            ),
            "name": event.name,
            "place": _place(event.file, event.line, look),
            "function": event.function,
        }
        for event in once(report.trace.events, "graph")
    ]


def _kernels(report: Report, look: Look) -> list[_Values]:
    return [
        {
            "count": event.count,
            "name": event.name,
            "kind": "library" if (event.data or {}).get("extern") else "Triton",
            "graph": (event.data or {}).get("graph", ""),
            "lines": [_served(line, look) for line in _lines_of(event)],
        }
        for event in report.trace.events
        if event.kind == "kernel"
    ]


def _lines_of(event: Event) -> list[str]:
    lines = (event.data or {}).get("lines") or []
    return [str(line) for line in lines] if isinstance(lines, list) else []


def _served(place: str, look: Look) -> str:
    file, _, line = place.rpartition(":")
    return f"{os.path.basename(look.path(file))}:{line}"


def _findings(report: Report, look: Look) -> list[_Values]:
    return [
        {
            "verdict": found.evidence.verdict,
            "code": found.code,
            "place": look.place(found),
            "message": found.message,
            "detail": found.evidence.detail,
            "price": price(found, report),
        }
        for found in (*report.verdicts, *report.discovered)
        if found.evidence
    ]


def _limit(verdict: Verdict) -> _Values:
    """A number against its limit, and the lines that make it up where it is over."""
    measure = verdict.measure
    return {
        "state": "over" if verdict.over else "ok",
        "name": measure.name,
        "measured": measure.missing or _amount(measure.name, measure.value),
        "limit": _amount(measure.name, verdict.limit),
        "parts": [
            (f"{part.file}:{part.line}", _amount(measure.name, part.count) + (" new" if part.new else ""))
            for part in measure.parts[:8]
            if verdict.over
        ],
    }


def _amount(name: str, value: float) -> str:
    return bytes_text(value) if "bytes" in UNITS[name] else number(value)
