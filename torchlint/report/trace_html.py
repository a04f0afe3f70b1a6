"""A traced run as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

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

from . import Look, one_line, plural, profile
from .document import document, escape
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


def page(report: Report, look: Look) -> str:
    """The report as an HTML document."""
    entry = escape(" ".join([report.trace.job.entry, *report.trace.job.args]))
    parts = (
        _head(report, entry),
        _cards(report),
        _advice(report, look),
        _prediction(report, look),
        _timeline(report),
        _budget("Budget", report.budget),
        _budget("Compared with the earlier run", report.compared),
        _source(report, look),
        _times(report, look),
        _device(report, look),
        _kernels(report, look),
        _verdicts(report, look),
        _trouble(report),
    )
    return document(f"torchlint trace: {entry}", "\n".join(part for part in parts if part))


def _head(report: Report, entry: str) -> str:
    start, job = report.start, report.trace.job
    if (found := report.measured) is not None:
        steps = plural(found.steps, "step") if found.steps else "no step is marked"
        facts = [steps, found.device or "no device is told", "measured by torch.profiler"]
        said = "<br>".join(map(escape, profile.notes(found)))
        return f"<h1><code>{entry}</code></h1>\n<div class=dim>{escape(' · '.join(facts))}<br>{said}</div>"
    facts = [plural(report.trace.children[0].steps, "step")]
    if start is not None:
        python = (start.data or {}).get("python", "")
        facts += [f"torch {start.detail}", f"Python {python}"]
        facts.append(f"predicted for {job.target}: no GPU was used" if report.predicted else start.name)
    ends = "; ".join(
        f"{child.run} pass: {child.end.name} {child.end.detail}".strip() for child in report.trace.children
    )
    return f"<h1><code>{entry}</code></h1>\n<div class=dim>{escape(' · '.join(facts))}<br>{escape(ends)}</div>"


def _cards(report: Report) -> str:
    events, steady = report.trace.events, report.steady
    if report.measured is not None:
        return _in_cards(profile.summary(events, steady))
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
    return _in_cards(cards)


def _in_cards(cards: Iterable[tuple[str, str]]) -> str:
    inner = "".join(
        f"<div class=card><b>{escape(value)}</b><span class=dim>{escape(name)}</span></div>" for value, name in cards
    )
    return f"<div class=cards>{inner}</div>"


def _total(found: Iterable[Row]) -> str:
    return number(sum(row.count for row in found))


def _tag(kind: str, text: str) -> str:
    return f'<span class="tag {kind.replace(" ", "-")}">{escape(text)}</span>'


def _place(file: str, line: int, look: Look) -> str:
    return f"{escape(look.path(file))}:{line}" if file else "outside the user's code"


def _advice(report: Report, look: Look) -> str:
    given = advise(report.trace.events, report.estimate)
    if not given.bottleneck:
        return ""
    todo = "".join(
        f"<li>{_tag(r.priority, r.priority)} "
        + (f"<code>{_place(*r.place, look)}</code> " if r.place else "")
        + f"{escape(one_line(r.text))}</li>"
        for r in given.recommendations
    )
    evidence = " ".join(map(escape, given.evidence))
    return f"<div class=advice><h2>Primary bottleneck: {escape(given.bottleneck)}</h2>{evidence}<ul>{todo}</ul></div>"


# --- the predicted step ------------------------------------------------------------------------------------------

_LANES = {"host": (0, "kernel-bar"), "wait": (0, "sync-bar"), "device": (1, "overlapped-bar")}
_LANE = 34  # pixels
_MOST_SPANS = 4000
_WIDE = 960.0


def _prediction(report: Report, look: Look) -> str:
    """Host and device of one step, with what waits for what at which line; nothing of it was measured."""
    prediction = report.predicted_step
    if prediction is None:
        return ""
    drawn = prediction.spans()
    end = max((span.end for span in drawn), default=0.0)
    if not end:
        return ""
    wide = [span for span in drawn if (span.end - span.start) / end * _WIDE >= 0.2][:_MOST_SPANS]
    bars = "".join(_bar(span, end, look) for span in wide)
    names = "".join(
        f"<text x='0' y='{lane * _LANE + 20}'>{name}</text>" for lane, name in enumerate(("host", "device"))
    )
    said = "<br>".join(escape(line) for line in prediction_lines(prediction, report))
    legend = "".join(
        f'<span><i style="background:var(--{name})"></i>{text}</span>'
        for name, text in (("kernel", "host"), ("sync", "the host waits"), ("overlapped", "device; gaps are idle"))
    )
    title = f"Predicted step on {prediction.estimate.gpu.name}"
    return (
        f"<h2>{escape(title)}</h2>\n<p>{said}<br><span class=dim>{escape(assumptions(prediction))}: nothing was measured"
        f"</span></p>\n<figure><svg viewBox='0 0 1080 {2 * _LANE + 6}' role=img aria-label='predicted timeline of a step'>"
        f"{names}{bars}</svg><figcaption>{legend}</figcaption></figure>"
    )


def _bar(span: Span, end: float, look: Look) -> str:
    lane, kind = _LANES[span.lane]
    left, width = 70 + span.start / end * _WIDE, (span.end - span.start) / end * _WIDE
    one = span.operation
    where = f" {look.path(one.file)}:{one.line}" if one.file else ""
    said = f"{'waits: ' if span.lane == 'wait' else ''}{one.name}{where}"
    return (
        f"<rect class={kind} x='{left:.2f}' y='{lane * _LANE + 4}' width='{max(width, 0.2):.2f}' height='{_LANE - 8}'>"
        f"<title>{escape(said)}</title></rect>"
    )


# --- steps -------------------------------------------------------------------------------------------------------


def _timeline(report: Report) -> str:
    """A column for each step, of what happened in it."""
    steps = max((event.step for event in report.trace.events if event.kind == "step"), default=0)
    if not steps:
        return ""
    columns = [_column(report.trace.events, step) for step in range(steps)]
    most = max(1, *(sum(column.values()) for column in columns))
    width = min(60.0, 1000 / steps)
    drawn = "".join(_drawn(column, step, most, width, report.steady.first) for step, column in enumerate(columns))
    legend = "".join(f'<span><i style="background:var(--{kind})"></i>{name}</span>' for kind, name in _NAMES.items())
    return (
        f"<h2>Steps</h2>\n<figure><svg viewBox='0 0 1080 {_TALLEST + 34}' role=img aria-label='events of each step'>{drawn}</svg>"
        f"<figcaption>{legend}<span>{_warm_up(report)}</span></figcaption></figure>"
    )


def _warm_up(report: Report) -> str:
    steady = report.steady
    return (
        "everything is counted: there was no second step"
        if steady.whole
        else f"grey: warm-up, {plural(steady.first, 'step')}"
    )


def _column(events: Iterable[Event], step: int) -> dict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for event in events:
        if event.step == step:
            if event.kind in _CLASSES:
                counts["overlapped" if is_async(event) else _CLASSES[event.kind]] += event.count
            elif event.kind in {"graph_break", "recompile"}:
                counts["break"] += event.count
    return counts


def _drawn(column: dict[str, int], step: int, most: int, width: float, warm: int) -> str:
    left, bottom = 30 + step * width, _TALLEST + 12
    parts = [
        f"<rect class=warm x='{left:.1f}' y='0' width='{width:.1f}' height='{bottom + 22}'/>" if step < warm else ""
    ]
    for kind, name in _NAMES.items():
        if count := column.get(kind, 0):
            height = max(2.0, _TALLEST * count / most)
            bottom_of_bar = bottom - height
            parts.append(
                f"<rect class={kind}-bar x='{left + 3:.1f}' y='{bottom_of_bar:.1f}' width='{max(1.0, width - 6):.1f}' "
                f"height='{height:.1f}' rx='2'><title>step {step + 1}: {count} {name}</title></rect>"
            )
            bottom = int(bottom_of_bar) - 1
    label = f"<text x='{left + width / 2:.1f}' y='{_TALLEST + 28}' text-anchor='middle'>{step + 1}</text>"
    return "".join(parts) + (label if width >= 16 or step % 10 == 9 else "")


# --- source ------------------------------------------------------------------------------------------------------


def _source(report: Report, look: Look) -> str:
    notes = _notes(report)
    files = sorted({file for file, _ in notes if file and source_lines(file)})
    shown = "\n".join(
        _file(file, {line: found for (name, line), found in notes.items() if name == file}, look) for file in files
    )
    return f"<h2>Source</h2>\n{shown}" if shown else ""


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
    what = " ".join(filter(None, (event.kind, event.name, event.detail if event.kind in {"h2d", "d2h", "p2p"} else "")))
    size = f", {bytes_text(row.size)}" if row.size else ""
    via = f", in {row.via}" if row.via else ""
    took = f", {milliseconds_of(row.seconds)}" if row.seconds else ""
    return f"{what}: {number(row.count)} {'in all' if whole else 'a step'}{size}{took}{via}"


def _file(file: str, notes: dict[int, list[Note]], look: Look) -> str:
    lines = _highlighted(file)
    shown: list[str] = []
    before = 0
    for line in _shown(len(lines), notes):
        if line > before + 1:
            shown.append("<div class=gap>⋯</div>")
        shown.append(_line(line, lines[line - 1], notes.get(line, [])))
        before = line
    count = plural(sum(map(len, notes.values())), "note")
    body = "\n".join(shown)
    return f"<details open><summary><code>{escape(look.path(file))}</code> <span class=dim>{count}</span></summary><div class='source mono'>{body}</div></details>"


def _shown(length: int, notes: Iterable[int]) -> Iterator[int]:
    noted = sorted(notes)
    for line in range(1, length + 1):
        if length <= _LONG or any(abs(line - other) <= _CONTEXT for other in noted):
            yield line


def _line(line: int, text: str, notes: Sequence[Note]) -> str:
    kind = f" noted {notes[0][0]}" if notes else ""
    row = f'<div class="row{kind}"><span class=no>{line}</span><span class=text>{text}</span></div>'
    return row + "".join(f"<div class=note>{_tag(kind, kind)} {escape(one_line(said))}</div>" for kind, said in notes)


def _highlighted(file: str) -> list[str]:
    """The lines of a Python file as HTML."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    text = "\n".join(printable(line.expandtabs(4)) for line in source_lines(file)) + "\n"
    return str(highlight(text, PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))).split("\n")[:-1]


def _lines(text: str) -> str:
    return "\n".join(map(escape, text.split("\n")))


# --- tables ------------------------------------------------------------------------------------------------------


def _table(title: str, heads: Sequence[str], body: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A table of cells that are HTML already; the first `numbers` columns are flush right."""
    if not body:
        return ""
    mark = [" class=n" if column < numbers else "" for column in range(len(heads))]
    head = "".join(f"<th{m}>{escape(text)}</th>" for m, text in zip(mark, heads, strict=True))
    lines = "\n".join(
        "<tr>" + "".join(f"<td{m}>{cell}</td>" for m, cell in zip(mark, row, strict=True)) + "</tr>" for row in body
    )
    return f"<h2>{escape(title)}</h2>\n<div class=wide><table><thead><tr>{head}</tr></thead><tbody>\n{lines}\n</tbody></table></div>"


def _times(report: Report, look: Look) -> str:
    """What a profile measured of each line."""
    if report.measured is None:
        return ""
    body = [
        (
            *(milliseconds_of(value) if value else "" for value in line.times[:3]),
            number(line.times.launches) if line.times.launches else "",
            f"<code>{_place(line.event.file, line.event.line, look)}</code>",
            "" if line.sure else f"one of the lines of <code>{escape(line.event.function)}</code>",
        )
        for line in profile.lines(report.trace.events, report.steady)
    ]
    heads = ("host", "waits", "device", "launches", "where", "")
    return _table("Time by line, a step", heads, body, 4)


def _device(report: Report, look: Look) -> str:
    steady = report.steady
    body = []
    for row in shown_rows(report.trace.events, steady):
        kind = "overlapped" if is_async(row.event) else _CLASSES[row.event.kind]
        detail = row.event.detail if row.event.kind in {"h2d", "d2h", "p2p"} else ""
        body.append(
            (
                number(row.count),
                "" if steady.whole else f"{row.steps}/{len(steady)}",
                bytes_text(row.size) if row.size else "",
                *((milliseconds_of(row.seconds),) if report.measured is not None else ()),
                f"{_tag(kind, row.event.kind)} {escape(' '.join(filter(None, (row.event.name, detail))))}",
                f"<code>{_place(row.event.file, row.event.line, look)}</code>",
                f"<code>{escape(row.via)}</code>",
            )
        )
    took = ("time",) if report.measured is not None else ()
    heads = ("count", "steps", "bytes", *took, "what", "where", "inside")
    return _table("Synchronizations and copies", heads, body, 3 + len(took))


def _kernels(report: Report, look: Look) -> str:
    runs = {(row.event.file, row.event.name): row.count for row in rows(report.trace.events, report.steady, ["graph"])}
    graphs = [
        (
            str((event.data or {}).get("triton", "?")),
            str((event.data or {}).get("extern", "?")),
            number(runs.get((event.file, event.name), 0.0)),
            escape(event.name),
            f"<code>{_place(event.file, event.line, look)}</code> {escape(event.function)}",
        )
        for event in once(report.trace.events, "graph")
    ]
    kernels = [
        (
            str(event.count),
            f"<code>{escape(event.name)}</code>",
            "library" if (event.data or {}).get("extern") else "Triton",
            escape(str((event.data or {}).get("graph", ""))),
            "<br>".join(f"<code>{_served(line, look)}</code>" for line in _lines_of(event)),
        )
        for event in report.trace.events
        if event.kind == "kernel"
    ]
    predicted = f", predicted for {report.trace.job.target}" if report.predicted else ""
    return _table(f"Graphs{predicted}", ("Triton", "library", "runs", "graph", "where"), graphs, 3) + _table(
        f"Kernels{predicted}", ("launches", "kernel", "kind", "graph", "for the lines"), kernels, 1
    )


def _lines_of(event: Event) -> list[str]:
    lines = (event.data or {}).get("lines") or []
    return [str(line) for line in lines] if isinstance(lines, list) else []


def _served(place: str, look: Look) -> str:
    file, _, line = place.rpartition(":")
    return f"{escape(os.path.basename(look.path(file)))}:{escape(line)}"


def _verdicts(report: Report, look: Look) -> str:
    body = [
        (
            _tag(found.evidence.verdict, found.evidence.verdict),
            escape(found.code),
            f"<code>{escape(look.place(found))}</code>",
            f"{escape(one_line(found.message))}<br><span class=dim>{escape(one_line(found.evidence.detail))}</span>"
            + (f"<br><b>{escape(said)}</b>" if (said := price(found, report)) else ""),
        )
        for found in (*report.verdicts, *report.discovered)
        if found.evidence
    ]
    return _table("Findings", ("verdict", "rule", "where", "what"), body)


def _budget(title: str, verdicts: Sequence[Verdict]) -> str:
    body = [
        (
            _tag("over", "over") if verdict.over else _tag("ok", "ok"),
            escape(verdict.measure.name),
            escape(verdict.measure.missing or _amount(verdict.measure.name, verdict.measure.value)),
            escape(_amount(verdict.measure.name, verdict.limit)),
            "<br>".join(
                f"<code>{escape(part.file)}:{part.line}</code> {escape(_amount(verdict.measure.name, part.count))}"
                f"{' new' if part.new else ''}"
                for part in verdict.measure.parts[:8]
                if verdict.over
            ),
        )
        for verdict in verdicts
    ]
    return _table(title, ("", "number", "measured", "limit", "lines"), body)


def _amount(name: str, value: float) -> str:
    return bytes_text(value) if "bytes" in UNITS[name] else number(value)


def _trouble(report: Report) -> str:
    """What a pass that failed wrote, and what was not supported."""
    body = [
        (escape(event.name), f"<code>{escape(event.file)}:{event.line}</code>", escape(event.detail))
        for event in once(report.trace.events, "unsupported", "error")
    ]
    tails = "".join(
        f"<h2>Standard error of the {child.run} pass</h2>\n<pre class=wide>{_lines(child.errors.strip()[-4000:])}</pre>"
        for child in report.trace.children
        if child.end.name not in {"finished", "stopped"} and child.errors.strip()
    )
    return _table("Not supported, and errors", ("what", "where", "why"), body) + tails
