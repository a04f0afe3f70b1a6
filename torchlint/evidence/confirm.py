"""Joins findings with what a traced run saw: verdicts, and findings of its own for what no rule had said.

Steady state: warm-up (model.to(device), compilation, the first allocations) is no part of a step. Events are counted
per step over the complete steps after the first two, or after the first where there are fewer than four.
"""

from __future__ import annotations

import itertools
import os
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ..messages.event import NAMED_OPERATORS, Event
from ..system.regex import regex
from ..text.finding import Evidence, Finding, Measured, Severity
from .checks import check
from .steady import Steady

ConfirmedBy = Mapping[str, tuple[str, ...]]

_COMPILE_KINDS = frozenset({"graph_break", "recompile", "recompile_limit"})
_ONCE_KINDS = _COMPILE_KINDS | {
    "kernel",
    "optimizer",
    "warning",
    "unsupported",
    "error",
}  # they happen once, however often the line runs
_DEVICE_KINDS = {"sync": "TLT01", "synchronize": "TLT01", "h2d": "TLT06", "d2h": "TLT06", "empty_cache": "TLT08"}
_COPIES = frozenset({"h2d", "d2h"})
_OF_THE_COMPILER = _COMPILE_KINDS | {"graph", "kernel"}
_FRAME = regex(r"(?P<file>.+):(?P<line>\d+) \S*$")
_NOUNS = {
    "sync": "host-device synchronization",
    "h2d": "such host-to-device copy",
    "d2h": "device-to-host copy",
    "synchronize": "explicit synchronization",
    "empty_cache": "emptied allocator cache",
    "graph_break": "graph break",
    "recompile": "recompile",
    "recompile_limit": "recompile limit",
    "graph": "compiled graph",
    "kernel": "kernel",
    "operator": "such operator on a device",
    "optimizer": "optimizer that takes parameters one by one",
    "warning": "such warning",
    "memory": "memory growth",
}
NAMES = {
    "TLT01": "sync-in-steady-state",
    "TLT02": "graph-break",
    "TLT03": "recompile",
    "TLT04": "kernels-per-step",
    "TLT05": "data-wait",
    "TLT06": "blocking-copy",
    "TLT07": "cuda-graphs-skipped",
    "TLT08": "allocator-flush",
    "TLT09": "memory-grows",
    "TLT11": "matmul-precision",
    "TLT13": "ddp-options",
    "TLT14": "changing-input-shapes",
}
_RANK = {
    code: rank
    for rank, code in enumerate(
        ("TLT02", "TLT03", "TLT07", "TLT01", "TLT06", "TLT05", "TLT08", "TLT09", "TLT14", "TLT11", "TLT13", "TLT04")
    )
}
_LEAK_SAMPLES = 6  # fewer say nothing: caches and optimizer states fill in the first steps
_MANY_SHAPES = 3
_FEW = 3
_FEW_LINES = 4  # more are named by their function


@dataclass(frozen=True, slots=True)
class Row:
    """The same event at the same line over the steady steps: `count` and `size` (bytes) are per step."""

    event: Event
    count: float
    size: float
    steps: int
    """In how many of the steady steps it happened."""
    seconds: float = 0.0
    """How long the host waited a step, where a profile has measured it."""

    @property
    def via(self) -> str:
        """The library line that it happened in, "" where it was the user's."""
        return self.event.via


def rows(events: Iterable[Event], steady: Steady, kinds: Iterable[str]) -> list[Row]:
    """The steady state's events of those kinds, one row for each line, library line and name, the most frequent first."""
    groups: defaultdict[tuple[str, str, int, str, str, str], list[Event]] = defaultdict(list)
    wanted = frozenset(kinds)
    for event in events:
        if event.kind in wanted and steady.holds(event):
            if event.kind == "operator" and event.name in NAMED_OPERATORS:
                event = replace(event, name="")  # one row for all of a line
            groups[event.kind, event.file, event.line, event.name, event.detail, event.via].append(event)
    found = [_row(group, len(steady)) for group in groups.values()]
    return sorted(found, key=lambda row: (-row.count, -row.size, row.event.file, row.event.line, row.event.name))


def device_rows(events: Iterable[Event], steady: Steady) -> list[Row]:
    """Synchronizations, copies and emptied caches; the wait that belongs to a copy is not told beside the copy."""
    found = rows(events, steady, _DEVICE_KINDS)

    def place(row: Row) -> tuple[str, int, str]:
        return row.event.file, row.event.line, row.via

    copied = {place(row) for row in found if row.event.kind == "d2h"}
    return [
        row for row in found if not (row.event.kind == "sync" and row.event.name == "copy" and place(row) in copied)
    ]


def shown_rows(events: Sequence[Event], steady: Steady) -> list[Row]:
    """Those, and behind them the copies between devices, which the host does not wait for."""
    return [*device_rows(events, steady), *rows(events, steady, {"p2p"})]


def _row(group: Sequence[Event], steps: int) -> Row:
    count = sum(event.count for event in group) / steps
    size, seconds = (sum(each) / steps for each in ((e.size for e in group), map(seconds_of, group)))
    return Row(group[0], count, size, len({event.step for event in group}), seconds)


def seconds_of(event: Event, key: str = "seconds") -> float:
    """A time that a profile measured, 0 where there is none."""
    found = (event.data or {}).get(key, 0.0)
    return float(found) if isinstance(found, int | float) else 0.0


def possible_lines(event: Event) -> tuple[int, ...]:
    """The lines that an event of a profile may be of, () where its own is known."""
    found = (event.data or {}).get("lines")
    return tuple(line for line in found if isinstance(line, int)) if isinstance(found, list) else ()


def is_set_up(event: Event, steady: Steady) -> bool:
    """Whether it moves a module where no steps tell what happens once: before the first one, for all that is known."""
    return steady.whole and bool((event.data or {}).get("module"))


def is_async(event: Event) -> bool:
    """Whether it is a copy that the host does not wait for: one between devices, or with pinned memory."""
    data = event.data or {}
    if event.kind == "p2p":
        return True
    if event.kind in _COPIES and "pinned" not in data:  # a profile of a GPU that does not tell
        return not data.get("blocking")
    return event.kind in _COPIES and "pinned-non-blocking" in labels(event)


def labels(event: Event) -> frozenset[str]:
    """What a `confirmed_by` of a rule may name after the colon: the event's name, of a copy its two properties, of an optimizer how."""
    if event.kind == "optimizer":
        return frozenset({event.name, str((event.data or {}).get("how"))})
    if event.kind not in _COPIES:
        return frozenset({event.name})
    data = event.data or {}
    blocking = "blocking" if data.get("blocking") else "non-blocking"
    if "pinned" not in data and "device" in data:
        return frozenset({event.name, blocking})
    pinned = "pinned" if data.get("pinned") else "pageable"
    return frozenset({event.name, blocking, pinned, f"{pinned}-{blocking}"})


def confirm(findings: Iterable[Finding], events: Iterable[Event], confirmed_by: ConfirmedBy) -> list[Finding]:
    """The findings, each with a verdict if its rule names events that would prove it (`confirmed_by`, by code).

    Confirmed: such an event happened on a line of its statement. Refuted: the statement ran in steady state and none
    did; the severity drops to info. Not reached: the run can't tell.
    """
    index = _Index(tuple(events))
    return [_judged(one, index, confirmed_by.get(one.code, ()) if one.provable else ()) for one in findings]


def judge(findings: Iterable[Finding], events: Iterable[Event]) -> list[Finding]:
    """The findings with their verdicts; those of preview and opt-in rules are left only if they are confirmed."""
    from ..rule import load

    rules = load()
    judged = confirm(findings, events, {code: rule.confirmed_by for code, rule in rules.items()})
    return [
        finding
        for finding in judged
        if (rule := rules.get(finding.code)) is None
        or rule.set == "default"
        or (finding.evidence is not None and finding.evidence.verdict == "confirmed")
    ]


class _Index:
    def __init__(self, events: Sequence[Event]) -> None:
        self.steady = Steady.of(events)
        self.compiled = any(event.kind in {"graph", "graph_break"} for event in events)
        self.profile = profiled(events)
        self.step_seconds = step_seconds(events, self.steady)
        self._by_file: defaultdict[str, list[tuple[int, Event]]] = defaultdict(list)
        self._somewhere: defaultdict[str, list[Event]] = defaultdict(list)
        for event in events:
            if possible_lines(event):
                self._somewhere[event.file].append(event)
                continue
            for file, line in _places(event):
                self._by_file[file].append((line, event))

    def at(self, finding: Finding) -> list[Event]:
        first, last = lines(finding)
        events = self._by_file.get(os.path.realpath(finding.path), ())
        return [event for line, event in events if first <= line <= last]

    def maybe_at(self, finding: Finding) -> list[Event]:
        """What happened there or at another line of the function: the profile can't tell which."""
        first, last = lines(finding)
        events = self._somewhere.get(os.path.realpath(finding.path), ())
        return [event for event in events if any(first <= line <= last for line in possible_lines(event))]


def profiled(events: Iterable[Event]) -> Mapping[str, object] | None:
    """What the profile of a real run can tell, None where the events are of another run."""
    started = (event.data or {} for event in events if event.kind == "start")
    return next((data for data in started if "profile" in data), None)


def step_seconds(events: Iterable[Event], steady: Steady) -> float:
    """How long a step took in a profile, 0 where that is not known."""
    ends = {event.step: seconds_of(event) for event in events if event.kind == "step"}
    if steady.whole or steady.first not in ends or steady.last not in ends:
        return 0.0
    return max(0.0, ends[steady.last] - ends[steady.first]) / len(steady)


def _places(event: Event) -> set[tuple[str, int]]:
    """The lines that an event speaks of: its own, and of a recompile also the calls that led to it."""
    places = {(event.file, event.line)}
    if event.kind in {"recompile", "recompile_limit"}:
        for frame in event.stack:
            if found := _FRAME.match(frame):
                places.add((found["file"], int(found["line"])))
    return places


def lines(finding: Finding) -> tuple[int, int]:
    """First and last line on which an event speaks of the finding."""
    return finding.statement if finding.statement[0] else (finding.line, finding.end_line)


def matches(event: Event, wanted: Iterable[str]) -> bool:
    """Whether the event is one of `wanted`: a kind (`sync`) or a kind and one of its labels (`sync:item`)."""
    for want in wanted:
        kind, _, label = want.partition(":")
        if event.kind == kind and (not label or label in labels(event)):
            return True
    return False


def _judged(finding: Finding, index: _Index, wanted: tuple[str, ...]) -> Finding:
    if not wanted or finding.cell is not None:
        return finding
    evidence = _evidence(index.at(finding), index, wanted)
    if index.profile is not None and evidence.verdict != "confirmed":
        evidence = _of_a_profile(evidence, index.maybe_at(finding), index, wanted)
    severity: Severity = "info" if evidence.verdict == "refuted" else finding.severity
    return replace(finding, evidence=evidence, severity=severity)


def _evidence(events: Sequence[Event], index: _Index, wanted: tuple[str, ...]) -> Evidence:
    steady = index.steady
    kinds = {want.partition(":")[0] for want in wanted}
    matching = [
        event for event in events if matches(event, wanted) and (event.kind in _ONCE_KINDS or steady.reached(event))
    ]
    if matching:
        return _proof(matching, steady, index.step_seconds)
    if "optimizer" in kinds and (made := [event for event in events if event.kind == "optimizer"]):
        return Evidence("refuted", f"{made[0].name}: {made[0].detail}")
    reached = {event.step for event in events if event.kind == "line" and steady.reached(event)}
    if "optimizer" in kinds and len(reached) < 2 and any(event.kind == "line" for event in events):
        return Evidence("not reached", "no optimizer that is made here took a step")
    if not reached:
        early = any(event.kind == "line" for event in events)
        return Evidence("not reached", "ran only in the first steps" if early else "the traced run did not come here")
    if kinds <= _OF_THE_COMPILER and not index.compiled:
        return Evidence("not reached", "nothing was compiled in this run (try --compile)")
    nouns = " or ".join(sorted({_NOUNS.get(kind, kind) for kind in kinds}))
    return Evidence("refuted", f"ran in {_steps(len(reached))} without a {nouns}")


def _of_a_profile(found: Evidence, maybe: Sequence[Event], index: _Index, wanted: tuple[str, ...]) -> Evidence:
    """What a profile can say of a finding that it does not confirm."""
    known = index.profile or {}
    if not any(want.partition(":")[0] in _DEVICE_KINDS for want in wanted):
        return Evidence("not reached", "a profile does not show such things")
    if not known.get("gpu"):
        return Evidence("not reached", "the profile saw no GPU at work")
    matching = [event for event in maybe if matches(event, wanted) and index.steady.holds(event)]
    if matching:
        row = _row(matching, len(index.steady))
        return Evidence(
            "not reached", f"it is not known which line it was: {_what(row, index.steady, [row.event.name])}"
        )
    if found.verdict == "refuted":
        return found
    missing = (
        "the profile does not show this line" if known.get("stacks") else "the profile names no lines (with_stack)"
    )
    return Evidence("not reached", missing)


def _steps(count: int) -> str:
    return f"{count} step" if count == 1 else f"{count} steps"


def _proof(matching: Sequence[Event], steady: Steady, step: float = 0.0) -> Evidence:
    first = matching[0]
    if first.kind == "kernel":
        count = sum(event.count for event in matching)
        said = "1 kernel" if count == 1 else f"{count} kernels"
        return Evidence("confirmed", f"{said} where it is compiled: {_listed(matching)}", float(count))
    if first.kind in _ONCE_KINDS:
        name = "" if first.kind in _COMPILE_KINDS - {"graph_break"} else f"{first.name}: "
        return Evidence("confirmed", f"{name}{first.detail or first.name}", float(sum(e.count for e in matching)))
    inside = [event for event in matching if steady.holds(event)]
    if not inside:
        total = sum(event.count for event in matching)
        return Evidence("confirmed", f"`{first.name}`, {total} times after the last step")
    row = _row(inside, len(steady))
    what = _what(row, steady, sorted({event.name for event in inside}))
    return Evidence("confirmed", what, row.count, measured=_measured(row, step))


def _measured(row: Row, step: float) -> Measured | None:
    return Measured(row.seconds, row.seconds / step if step else 0.0) if row.seconds else None


def _listed(events: Sequence[Event]) -> str:
    names = list(dict.fromkeys(event.name for event in events))
    return ", ".join(names[:_FEW]) + (", ..." if len(names) > _FEW else "")


def _what(row: Row, steady: Steady, names: Sequence[str]) -> str:
    event = row.event
    said = ", ".join(f"`{name}`" for name in names if name) or event.kind
    how = f" ({event.detail})" if event.kind in _COPIES and event.detail else ""
    rate = "in all" if steady.whole else f"a step ({row.steps} of {len(steady)} steps)"
    size = f", {bytes_text(row.size)}" if row.size else ""
    via = f", inside {row.via}" if row.via else ""
    took = f", {milliseconds(row.seconds)} measured" if row.seconds else ""
    return f"{said}{how}, {number(row.count)} {rate}{size}{took}{via}{_somewhere(event)}"


def _somewhere(event: Event) -> str:
    """Which lines of its function an event may be of, where that is not known."""
    if not (found := possible_lines(event)):
        return ""
    if len(found) > _FEW_LINES:
        return f", somewhere in `{event.function}`"
    return f", on line {' or '.join(map(str, found))}"


def milliseconds(seconds: float) -> str:
    """A measured time, with three digits."""
    return f"{float(f'{seconds * 1e3:.3g}'):g} ms"


def number(value: float) -> str:
    """A count per step: whole where it is, else two digits."""
    return f"{value:.0f}" if value == int(value) else f"{value:.2g}" if value < 100 else f"{value:.0f}"


def bytes_text(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError(size)


@cache
def source_lines(path: str) -> tuple[str, ...]:
    """The lines of a Python file, () where it can't be read."""
    try:
        with tokenize.open(path) as file:
            return tuple(file.read().splitlines())
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ()


def discover(events: Iterable[Event], findings: Iterable[Finding] = (), entry: str = "") -> list[Finding]:
    """Findings of the run's own (TLT codes), worst first, for what no confirmed one of `findings` tells.

    What belongs to no line (memory that grows) is reported at the first line of `entry`.
    """
    events = tuple(events)
    steady = Steady.of(events)
    told = {
        (os.path.realpath(finding.path), line)
        for finding in findings
        if finding.evidence and finding.evidence.verdict == "confirmed"
        for line in range(lines(finding)[0], lines(finding)[1] + 1)
    }
    found = [
        *_device(events, steady),
        *_compilation(events, steady),
        *_shapes(events),
        *_leak(events, steady, entry),
        *_kernels(events, steady),
        *_checked(events, steady, entry),
    ]
    new = [one for one in found if (os.path.realpath(one[1].path), one[1].line) not in told or one[1].code == "TLT04"]
    return [finding for _, finding in sorted(new, key=lambda one: (one[1].severity != "warning", _order(one)))]


_Weighed = tuple[float, Finding]


def _order(one: _Weighed) -> tuple[int, float, str, int]:
    weight, finding = one
    return (_RANK[finding.code], -weight, finding.path, finding.line)


def _finding(code: str, event: Event, message: str, severity: Severity) -> Finding:
    path = os.path.relpath(event.file) if event.file.startswith(os.getcwd() + os.sep) else event.file
    source = source_lines(event.file)
    text = source[event.line - 1] if 0 < event.line <= len(source) else ""
    start = len(text) - len(text.lstrip()) + 1
    evidence = Evidence("confirmed", event.detail or event.name, float(event.count))
    line = max(event.line, 1)
    return Finding(
        path, line, start, line, len(text.rstrip()) + 1, code, NAMES[code], message, severity, evidence=evidence
    )


def _device(events: Sequence[Event], steady: Steady) -> Iterable[_Weighed]:
    sentences = {
        "TLT01": "The host waits for the device",
        "TLT06": "The host waits for a copy",
        "TLT08": "The allocator's cache is emptied",
    }
    step = step_seconds(events, steady)
    for row in device_rows(events, steady):
        if row.event.file and not is_async(row.event) and not is_set_up(row.event, steady):
            code = _DEVICE_KINDS[row.event.kind]
            what = _what(row, steady, [row.event.name])
            often: Severity = "warning" if steady.whole or row.count >= 0.5 else "info"
            finding = _finding(code, row.event, f"{sentences[code]}: {what}.", often)
            evidence = Evidence("confirmed", what, row.count, measured=_measured(row, step))
            yield row.seconds or row.count, replace(finding, evidence=evidence)


def break_hint(event: Event) -> str:
    """What to do about a graph break: torch's hint, or whose it is where the code is a library's; "" if nobody knows."""
    if event.via:
        return (
            f"It is inside {event.via}: call it outside the compiled function, or see whether the library can avoid it."
        )
    return str((event.data or {}).get("hint") or "")


def _compilation(events: Sequence[Event], steady: Steady) -> Iterable[_Weighed]:
    for event in _once(events, "graph_break"):
        skipped = bool((event.data or {}).get("frame_skipped"))
        hint = f" {hint}" if (hint := break_hint(event)) else ""
        whole = " The whole function runs eagerly." if skipped else ""
        message = f"Graph break {event.name}: {event.detail.rstrip('.')}.{whole}{hint}"
        yield 2.0 if skipped else 1.0, _finding("TLT02", event, message, "warning")
    for event in _once(events, "recompile_limit"):
        message = f"The recompile limit is hit: {event.name}; {event.detail or 'it runs eagerly from now on'}."
        yield 1e6, _finding("TLT03", event, message, "warning")
    for event in _once(events, "recompile"):
        late = steady.reached(event)
        yield float(event.count), _finding("TLT03", event, f"Recompiled: {event.name}.", "warning" if late else "info")


def once(events: Iterable[Event], *kinds: str) -> list[Event]:
    """The events of those kinds, each place and name once, with their counts added up."""
    found: dict[object, Event] = {}
    for event in events:
        if event.kind in kinds:
            known = found.get(event.identity)
            found[event.identity] = replace(known, count=known.count + event.count) if known else event
    return list(found.values())


def _once(events: Sequence[Event], kind: str) -> list[Event]:
    return [event for event in once(events, kind) if event.file]


def _shapes(events: Sequence[Event]) -> Iterable[_Weighed]:
    seen: defaultdict[tuple[str, int, str], dict[str, Event]] = defaultdict(dict)
    for event in events:
        if event.kind == "shape":
            seen[event.file, event.line, event.name].setdefault(event.detail, event)
    for (_, _, name), shapes in seen.items():
        if len(shapes) > _MANY_SHAPES:
            message = f"{name} is called with {len(shapes)} different input shapes."
            yield float(len(shapes)), _finding("TLT14", next(iter(shapes.values())), message, "warning")


def memory_slope(events: Iterable[Event], steady: Steady) -> float:
    """By how many bytes the memory held after a step grows each step, on the device where it grows most."""
    return max(memory_slopes(events, steady).values(), default=0.0)


def memory_slopes(events: Iterable[Event], steady: Steady) -> dict[str, float]:
    """That of each device, "" where there is one; 0 unless it grew in every one of at least five steps."""
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    for event in events:
        # The sample of step n is taken when n steps are done: the warm-up's own end is left out.
        if event.kind == "memory" and event.step > steady.first:
            sizes[event.name].append(event.size)
    return {device: 0.0 if steady.whole else _slope(each) for device, each in sizes.items()}


def _slope(sizes: Sequence[int]) -> float:
    pairs = list(itertools.pairwise(sizes))
    if len(sizes) < _LEAK_SAMPLES or any(after <= before for before, after in pairs):
        return 0.0
    return (sizes[-1] - sizes[0]) / len(pairs)


def _leak(events: Sequence[Event], steady: Steady, entry: str) -> Iterable[_Weighed]:
    if slope := memory_slope(events, steady):
        place = Event("memory", os.path.realpath(entry), 1, detail=f"{bytes_text(slope)} a step")
        message = f"Memory held on the device grows by {bytes_text(slope)} every step."
        yield slope, _finding("TLT09", place, message, "warning")


def _kernels(events: Sequence[Event], steady: Steady) -> Iterable[_Weighed]:
    """What each compiled function launches in a step, forward and backward together."""
    found: dict[tuple[str, int], tuple[Event, list[Event]]] = {}
    for event in events:
        if event.kind == "graph" and event.file and steady.holds(event):
            found.setdefault((event.file, event.line), (event, []))[1].append(event)
    for place, graphs in found.values():
        triton, library = (total / len(steady) for total in _launched(graphs))
        launched = f"{number(triton)} Triton and {number(library)} library kernels"
        rate = "in all" if steady.whole else "a step"
        finding = _finding("TLT04", place, f"`{place.function}` launches {launched} {rate} when compiled.", "info")
        yield triton + library, replace(finding, evidence=Evidence("confirmed", launched, triton + library))


def _checked(events: Sequence[Event], steady: Steady, entry: str) -> Iterable[_Weighed]:
    for found in check(events, steady):
        place = found.event if found.event.file else replace(found.event, file=os.path.realpath(entry), line=1)
        yield found.weight, _finding(found.code, place, found.message, found.severity)


def launches(events: Iterable[Event]) -> tuple[float, float]:
    """Triton and library kernels that compiled graphs launch in one steady step."""
    events = tuple(events)
    steady = Steady.of(events)
    triton, library = _launched(event for event in events if steady.holds(event))
    return triton / len(steady), library / len(steady)


def _launched(events: Iterable[Event]) -> tuple[int, int]:
    triton = library = 0
    for event in events:
        if event.kind == "graph":
            data = event.data or {}
            triton += event.count * int(str(data.get("triton", 0)))
            library += event.count * int(str(data.get("extern", 0)))
    return triton, library
