"""What findings cost: the recorded step of a run is simulated with and without them."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..messages.event import Event
from ..predict.changes import (
    Change,
    Lines,
    appended,
    in_lists,
    in_precision,
    overlapped,
    together,
    without,
    without_operators,
)
from ..predict.constants import Constants, assumed, from_json, of_document, with_host
from ..predict.estimate import Estimate, Saving, at_batch, batch_of, operations_of
from ..predict.gpus import Gpu, gpu
from ..predict.timeline import Span, spans
from ..system.failure import Failure
from ..text.finding import Evidence, Finding
from .confirm import lines
from .steady import Steady

_WAITS = ("sync", "d2h")
_COMPILES = "what the program compiles is priced as if it ran eagerly"
_MENDED_BY = {"growing-cat": appended, "optimizer-slow-impl": in_lists}
"""Rules whose repair is more than operators or waits that go away."""


def estimate(events: Sequence[Event], on: Gpu, constants: Constants) -> Estimate | None:
    """The step of a run on that GPU, None where no operators were recorded."""
    operations = operations_of(events, _waited(events))
    return Estimate(operations, on, constants) if operations else None


def _waited(events: Sequence[Event]) -> list[tuple[str, int, float]]:
    """How long a step waits for each loader, on the machine that ran it."""
    steady = Steady.of(events)
    seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
    for event in events:
        if event.kind == "data" and steady.holds(event):
            seconds[event.file, event.line] += float(str((event.data or {}).get("seconds", 0.0))) / len(steady)
    return [(file, line, each) for (file, line), each in seconds.items()]


def change_of(finding: Finding, confirmed_by: Sequence[str] = ()) -> Change | None:
    """What mending the finding takes out of a step; None where nobody can tell from a recorded step."""
    if finding.evidence is None or finding.evidence.verdict != "confirmed":
        return None
    first, last = lines(finding)
    at = Lines(os.path.realpath(finding.path), first, last, _inside(finding.evidence))
    if finding.code == "TLT05":
        return without(("data",))
    if finding.code == "TLT11":
        double = "float64" in finding.message
        return in_precision("float64", "float32", at) if double else in_precision("float32", "tf32")
    if finding.code == "TLT01":
        return without(("sync",), at)
    if finding.code == "TLT06":
        return together((overlapped(at), without(_WAITS, at)))
    if (mend := _MENDED_BY.get(finding.name)) is not None:
        return mend(at)
    kinds = {one.partition(":")[0] for one in confirmed_by}
    found: list[Change] = []
    if "operator" in kinds:
        found.append(without_operators((one.partition(":")[2] for one in confirmed_by), at))
    if kinds & {"sync", "synchronize", "d2h"}:
        found.append(without(_WAITS, at))
    if "h2d" in kinds:
        found.append(overlapped(at))
    if "precision" in kinds:
        found.append(in_precision("float32", "tf32"))
    return together(found) if found else None


def _inside(evidence: Evidence) -> str | None:
    """The library line that the evidence names, None where it speaks of all of the user's line."""
    _, found, via = evidence.detail.partition(", inside ")
    return via if found else None


def priced(findings: Iterable[Finding], of: Estimate, confirmed_by: dict[str, tuple[str, ...]]) -> list[Finding]:
    """The findings, in their order, with what each saves."""
    found = []
    for finding in findings:
        change = change_of(finding, confirmed_by.get(finding.code, ()))
        if change is not None and finding.evidence is not None:
            low, middle, high = of.saving(change).share
            finding = replace(finding, evidence=replace(finding.evidence, saves=(low, middle, high)))
        found.append(finding)
    return found


def cheapness(finding: Finding) -> float:
    """Sorts dear findings first and those without a price behind all."""
    evidence = finding.evidence
    if evidence is not None and evidence.saves is None and evidence.measured is not None:
        return -evidence.measured.share
    return -evidence.saves[1] if evidence is not None and evidence.saves is not None else 1.0


def joint(findings: Iterable[Finding], of: Estimate, confirmed_by: dict[str, tuple[str, ...]]) -> Saving | None:
    """What all of them save together, which is not the sum of what each does."""
    found = [change for one in findings if (change := change_of(one, confirmed_by.get(one.code, ())))]
    return of.saving(together(found)) if found else None


@dataclass(frozen=True, slots=True)
class Pricing:
    """A GPU and its constants."""

    gpu: Gpu
    constants: Constants

    @classmethod
    def of(cls, name: str, calibration: Path | None = None, host: tuple[float, float] | None = None) -> Pricing:
        """Those of that name, with the host's cost in microseconds. Failure for a calibration of another GPU."""
        found = gpu(name)
        constants = assumed(found)
        if calibration is not None:
            measured, constants = from_json(calibration)
            if measured != name:
                raise Failure(f"{calibration} was measured on {measured}, not on {name}")
        return cls(found, with_host(constants, *host) if host else constants)

    def noted(self, event: Event, name: str) -> Event:
        """What operators ask of a GPU with the GPU, by its name, and the constants that it was asked for with."""
        if event.kind != "work":
            return event
        return replace(event, name=name, data={**(event.data or {}), "constants": asdict(self.constants)})

    @classmethod
    def of_events(cls, events: Iterable[Event]) -> Pricing | None:
        """Those that a run was asked for with, None where it was not; Failure for constants that are none."""
        work = next((event for event in events if event.kind == "work" and event.name), None)
        if work is None:
            return None
        told = (work.data or {}).get("constants")
        try:
            return cls.of(work.name) if told is None else cls(gpu(work.name), of_document(told))
        except (KeyError, TypeError, ValueError) as error:
            raise Failure(f"the events have no constants of {work.name}: {error}") from error

    def predict(
        self, events: Sequence[Event], larger: Sequence[Event] | None = None, batch: int | None = None
    ) -> Prediction | None:
        """The step of a run, with another batch where a second run had one twice as large; None if none was recorded."""
        found = estimate(events, self.gpu, self.constants)
        if found is None:
            return None
        note = _COMPILES if any(event.kind in ("compiles", "graph") for event in events) else ""
        if larger is not None and batch is not None:
            batches = batch_of(events), batch_of(larger)
            other = estimate(larger, self.gpu, self.constants)
            moved = at_batch(found.operations, other.operations, batches, batch) if other and all(batches) else None
            if moved is None:
                told = f"batches of {batch} can't be assumed: "
                told += "other operators run" if all(batches) else "the program makes no DataLoader with a batch_size"
            else:
                found, told = replace(found, operations=moved), f"batches of {batch} in place of {batches[0]}"
            note = "; ".join(filter(None, (told, note)))
        return Prediction(found, note)


@dataclass(frozen=True, slots=True)
class Prediction:
    """An estimate, what it assumes, and what findings cost by it."""

    estimate: Estimate
    note: str = ""

    def priced(self, findings: Iterable[Finding]) -> list[Finding]:
        return priced(findings, self.estimate, _proofs())

    def joint(self, findings: Iterable[Finding]) -> Saving | None:
        return joint(findings, self.estimate, _proofs())

    def chrome_trace(self) -> str:
        """One step as a Chrome trace, which Perfetto shows; times are predicted."""
        lanes = {"host": 1, "wait": 1, "device": 2}
        names = [
            {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": f"{lane} (predicted)"}}
            for lane, tid in (("host", 1), ("device", 2))
        ]
        drawn = [
            {
                "ph": "X",
                "pid": 1,
                "tid": lanes[span.lane],
                "ts": span.start * 1e6,
                "dur": (span.end - span.start) * 1e6,
                "name": f"wait: {span.operation.name}" if span.lane == "wait" else span.operation.name,
                "cat": span.operation.kind,
                "args": {"line": f"{span.operation.file}:{span.operation.line}", "inside": span.operation.via},
            }
            for span in self.spans()
        ]
        return json.dumps({"traceEvents": [*names, *drawn]}) + "\n"

    def spans(self) -> list[Span]:
        return spans(self.estimate.operations, self.estimate.gpu, self.estimate.constants)


def _proofs() -> dict[str, tuple[str, ...]]:
    from ..rule import load

    return {code: rule.confirmed_by for code, rule in load().items()}
