"""Programs run on the virtual GPU, with what their lines cause."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from torchlint.messages.event import Event

_EXPECTED = re.compile(r"#\s+((?:sync|h2d|d2h|p2p|synchronize|empty_cache|unsupported|operator) .*)$")


class Traced:
    """A program, what it left behind and the events it caused."""

    def __init__(self, source: str, names: dict[str, Any], events: list[Event]) -> None:
        self.source, self.names, self.events = source, names, events

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
