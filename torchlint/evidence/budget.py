"""Budgets of a traced run: what it measured, against limits or an earlier run."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..messages.event import DYNAMO_FAILED, NO_CODE, Event
from ..settings.keys import BUDGETS
from ..settings.select import suggestion
from ..system.failure import Failure
from .confirm import Row, device_rows, launches, once, rows, source_lines
from .steady import Steady

Unit = Literal["a step", "in the whole run", "bytes a step", "bytes"]
_UNITS: tuple[Unit, ...] = (
    "a step", "a step", "a step", "bytes a step", "bytes", "in the whole run", "in the whole run", "a step",
    "a step", "bytes a step",
)  # fmt: skip
UNITS: dict[str, Unit] = dict(zip(BUDGETS, _UNITS, strict=True))
"""What can be limited: synchronizations, copies and their bytes, the peak of the device's memory, graph breaks, recompiles
the kernels that compiled graphs launch,
the operators of eager code and the bytes that they touch."""
_COMPILED = frozenset({"breaks", "recompiles", "kernels"})
_SIZES = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9, "b": 1}
_VERSION = 1

Limits = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Part:
    """What one line contributes to a measure; `code` is its text."""

    file: str
    line: int
    code: str
    count: float
    new: bool = False
    """Whether the run compared with had no such line, or fewer of it."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a traced run and the lines it comes from, the largest first."""

    name: str
    value: float
    parts: tuple[Part, ...] = ()
    missing: str = ""
    """Why it could not be measured; "" when it was."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A measure beside its limit."""

    measure: Measure
    limit: float

    @property
    def over(self) -> bool:
        return bool(self.measure.missing) or self.measure.value > self.limit


@dataclass(frozen=True, slots=True)
class Baseline:
    """The measures of an earlier run, and what it ran with (`torch`, `device`, `target`)."""

    measures: Mapping[str, Measure]
    made_with: Mapping[str, str]


def parse(text: str) -> dict[str, float]:
    """The limits of `syncs=1,kernels=40,memory=2GiB`. Raises Failure for anything else."""
    limits: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise Failure(f"`{part}` is no budget; write NAME=LIMIT, such as syncs=1")
        limits[name.strip()] = limit(name.strip(), value.strip())
    if not limits:
        raise Failure("a budget is NAME=LIMIT,..., such as syncs=1,breaks=0")
    return limits


def limit(name: str, value: object) -> float:
    """The limit as a number; a text may end in KiB, MiB or GiB where bytes are counted. Raises Failure."""
    if name not in UNITS:
        raise Failure(f"there is no budget `{name}`{suggestion(name, UNITS) or '; there are ' + ', '.join(UNITS)}")
    if isinstance(value, str):
        number, factor = value, 1
        if "bytes" in UNITS[name]:
            unit = next((unit for unit in _SIZES if value.lower().endswith(unit)), "")
            number, factor = value[: len(value) - len(unit)], _SIZES.get(unit, 1)
        try:
            value = float(number) * factor
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise Failure(
            f"the budget `{name}` has to be a number from 0 on"
            + ", or a size such as 2GiB" * (name in {"bytes", "memory"})
        )
    return float(value)


def measure(events: Iterable[Event], missing: Callable[[str], str] = lambda name: "") -> dict[str, Measure]:
    """Everything in `UNITS`, of a run's events; `missing` says why a name was not measured ("" if it was)."""
    events = tuple(events)
    steady = Steady.of(events)
    device = device_rows(events, steady)
    operators = rows(events, steady, {"operator"})
    graphs = any(event.kind == "graph" for event in events)
    found = {
        "syncs": _rows(row for row in device if row.event.kind in {"sync", "synchronize"}),
        "h2d": _rows(row for row in device if row.event.kind == "h2d"),
        "d2h": _rows(row for row in device if row.event.kind == "d2h"),
        "bytes": _rows((row for row in device if row.size), lambda row: row.size),
        "memory": [],
        "breaks": _once(events, "graph_break"),
        "recompiles": _once(events, "recompile"),
        "kernels": _launched(events, steady),
        "operators": _rows(operators),
        "traffic": _rows(operators, lambda row: row.size),
    }
    values = {name: sum(part.count for part in parts) for name, parts in found.items()}
    values["memory"] = max(
        (float(str((e.data or {}).get("peak", 0))) for e in events if e.kind == "memory"), default=0.0
    )
    values["kernels"] = sum(launches(events))
    reasons = {name: missing(name) for name in UNITS}
    for name, why in _unknown(events).items():
        reasons[name] = reasons[name] or why
    if not graphs and not reasons["kernels"]:
        reasons["kernels"] = "nothing was compiled"
    return {name: Measure(name, values[name], _sorted(found[name]), reasons[name]) for name in UNITS}


def _unknown(events: Sequence[Event]) -> dict[str, str]:
    """Why what compiled code does is not known, by measure: a number that leaves out a graph is no number."""
    unknown: dict[str, str] = {}
    for event in (event for event in events if event.kind in {"graph", "unsupported"}):
        at = f"{os.path.relpath(event.file)}:{event.line}" if event.file else "a library's code"
        if event.kind == "graph" and "triton" not in (event.data or {}):
            why = "" if (backend := (event.data or {}).get("backend", "inductor")) == "inductor" else f" of `{backend}`"
            unknown.setdefault("kernels", f"the graph at {at} has no code{why} that could be counted")
        elif event.kind == "unsupported" and event.name == NO_CODE:
            unknown.setdefault("kernels", f"the code of the graph at {at} could not be generated")
        elif event.kind == "unsupported" and event.name.startswith(DYNAMO_FAILED):
            for name in _COMPILED:
                unknown[name] = f"the function at {at} could not be analysed ({event.name.removeprefix(DYNAMO_FAILED)})"
    return unknown


def of_the_compile_pass(name: str) -> bool:
    """Whether the compile pass measures it; else the eager pass does."""
    return name in _COMPILED


def _part(event: Event, count: float) -> Part:
    lines = source_lines(event.file)
    code = lines[event.line - 1].strip() if 0 < event.line <= len(lines) else ""
    return Part(os.path.relpath(event.file) if event.file else "", event.line, code, count)


def _rows(rows: Iterable[Row], count: Callable[[Row], float] = lambda row: row.count) -> list[Part]:
    return [_part(row.event, count(row)) for row in rows]


def _once(events: Iterable[Event], kind: str) -> list[Part]:
    """Breaks count once a line and name, recompiles as often as they happen."""
    return [_part(event, event.count if kind == "recompile" else 1) for event in once(events, kind)]


def _launched(events: Iterable[Event], steady: Steady) -> list[Part]:
    parts: list[Part] = []
    for event in events:
        if event.kind == "graph" and steady.holds(event):
            data = event.data or {}
            kernels = int(str(data.get("triton", 0))) + int(str(data.get("extern", 0)))
            parts.append(_part(event, event.count * kernels / len(steady)))
    return parts


def _sorted(parts: Iterable[Part]) -> tuple[Part, ...]:
    """One part a line, the largest first."""
    sums: defaultdict[tuple[str, int, str], float] = defaultdict(float)
    for part in parts:
        sums[part.file, part.line, part.code] += part.count
    return tuple(sorted((Part(*key, count) for key, count in sums.items()), key=lambda p: (-p.count, p.file, p.line)))


def check(measures: Mapping[str, Measure], limits: Limits) -> list[Verdict]:
    """Each limit beside what was measured, in the order of `UNITS`."""
    return [Verdict(measures[name], limits[name]) for name in UNITS if name in limits]


# --- an earlier run ----------------------------------------------------------------------------------------------


def compare(measures: Mapping[str, Measure], before: Baseline) -> list[Verdict]:
    """Each measure that the earlier run had, with its value as the limit; lines that it hadn't are marked new."""
    verdicts = []
    for name, earlier in before.measures.items():
        if earlier.missing:
            continue
        counts: defaultdict[tuple[str, str], float] = defaultdict(float)
        for part in earlier.parts:
            counts[part.file, part.code] += part.count
        now = measures[name]
        parts = tuple(replace(part, new=part.count > counts[part.file, part.code]) for part in now.parts)
        verdicts.append(Verdict(replace(now, parts=parts), earlier.value))
    return verdicts


def to_json(measures: Mapping[str, Measure], made_with: Mapping[str, str]) -> str:
    """The measures as the text of a baseline file; paths are relative to the present directory."""
    return (
        json.dumps({"version": _VERSION, **made_with, "measures": [_plain(m) for m in measures.values()]}, indent=2)
        + "\n"
    )


def _plain(measure: Measure) -> dict[str, Any]:
    parts = [{key: value for key, value in asdict(part).items() if key != "new"} for part in measure.parts]
    return {**asdict(measure), "parts": parts}


def from_json(path: Path) -> Baseline:
    """Read a baseline. Raises Failure for a file that can't be read or is none."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise Failure(f"{path} is no baseline: {error}") from error
    try:
        if document["version"] != _VERSION:
            raise Failure(f"{path} is a baseline of another version of torchlint; make it again with --save")
        measures = [_measure(item) for item in document["measures"] if item["name"] in UNITS]
        made_with = {key: str(value) for key, value in document.items() if key not in {"version", "measures"}}
    except (KeyError, TypeError) as error:
        raise Failure(f"{path} is no baseline that --save wrote") from error
    return Baseline({measure.name: measure for measure in measures}, made_with)


def _measure(item: Mapping[str, Any]) -> Measure:
    parts: Sequence[Part] = [Part(**part) for part in item["parts"]]
    return Measure(item["name"], float(item["value"]), tuple(parts), item["missing"])
