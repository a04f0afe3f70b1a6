"""What `torch._dynamo.explain` says of a program, beside what the trace log says: explain loses breaks.

Its numbers are made of the captured graphs alone, and so are these: a break with nothing to compile before it ends no
graph, and a frame that is skipped has none. Nothing is run for it, and torch is not imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchlint.messages.event import Event


@dataclass(frozen=True, slots=True)
class Explanation:
    """Both views; breaks in the order they were seen."""

    graphs: int
    listed: tuple[Event, ...]
    lost: tuple[Event, ...]

    @property
    def breaks(self) -> int:
        return len(self.listed) + len(self.lost)

    @property
    def explain_breaks(self) -> int:
        """`ExplainOutput.graph_break_count`: by definition one less than the graphs."""
        return self.graphs - 1


def explain(events: Sequence[Event]) -> Explanation:
    """Both views of the program whose events these are."""
    graphs = {event.name for event in events if event.kind == "graph" and not (event.data or {}).get("backward")}
    breaks = [event for event in events if event.kind == "graph_break"]
    listed = tuple(event for event in breaks if (event.data or {}).get("explained"))
    return Explanation(len(graphs), listed, tuple(event for event in breaks if event not in listed))


def text(explanation: Explanation) -> str:
    """Both views for a terminal."""
    lines = [
        "torch._dynamo.explain",
        f"  Graph Count: {explanation.graphs}",
        f"  Graph Break Count: {explanation.explain_breaks}",
        f"  Break Reasons: {len(explanation.listed)}",
        *map(_break, explanation.listed),
        "the trace log",
        f"  graph breaks: {explanation.breaks}",
    ]
    if explanation.lost:
        lines += [f"  not in explain: {len(explanation.lost)}", *map(_break, explanation.lost)]
    else:
        lines.append("  explain lost none")
    return "\n".join(lines) + "\n"


def _break(event: Event) -> str:
    why = " (the whole frame is skipped)" if (event.data or {}).get("frame_skipped") else ""
    return f"    {event.file}:{event.line} {event.name} {event.detail}{why}"
