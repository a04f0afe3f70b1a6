"""Programs run on the virtual GPU, with what their lines cause."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

from torchlint.messages.event import Event

_EXPECTED = re.compile(r"#\s+((?:sync|h2d|d2h|p2p|synchronize|empty_cache|unsupported|operator) .*)$")
EVENTS = "events.jsonl"
"""The file beside a script that its events are written to."""


def run_on_the_virtual_gpu(script: Path, **options: Any) -> dict[str, Any]:
    """Run a script in this process and record its events; returns the names that it leaves behind."""
    from torchlint.trace.eager.virtual import virtual_gpu
    from torchlint.trace.program.recorder import Recorder

    recorder = Recorder(script.parent / EVENTS)
    try:
        with virtual_gpu(recorder, **options):
            return runpy.run_path(str(script), run_name="__main__")
    finally:
        recorder.close()


class Traced:
    """A program, what it left behind and the events it caused."""

    def __init__(self, source: str, names: dict[str, Any], events: list[Event]) -> None:
        self.source, self.names, self.events = source, names, events

    @classmethod
    def of(cls, script: Path, names: dict[str, Any]) -> Traced:
        """A script that has run, with the events that lie beside it, which are taken away."""
        recorded = script.parent / EVENTS
        lines = recorded.read_text().splitlines() if recorded.is_file() else []
        recorded.unlink(missing_ok=True)
        events = map(Event.from_json, lines)
        return cls(script.read_text(), names, [event for event in events if event.kind != "precision"])

    def lines(self) -> dict[str, Counter[str]]:
        """Counted events by line, the line named by its code."""
        code = self.source.splitlines()
        found: dict[str, Counter[str]] = {}
        for event in self.events:
            line = code[event.line - 1] if event.line else "?"
            found.setdefault(line.strip(), Counter())[f"{event.kind} {event.name}"] += event.count
        return found

    def expected(self) -> dict[str, Counter[str]]:
        """What the comments say; `x3` behind an event is its count."""
        found: dict[str, Counter[str]] = {}
        for line in self.source.splitlines():
            if match := _EXPECTED.search(line):
                counts: Counter[str] = Counter()
                for item in match[1].split(", "):
                    name, _, count = item.partition(" x")
                    counts[name] += int(count or 1)
                found[line.strip()] = counts
        return found
