"""What was tried before: decisions with their reasons, one JSON object a line; what was decided is not tried again unchanged."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from .candidates import Candidate
from .decide import Decision
from .tried import Tried

_OPEN = ("undecided", "too noisy")
"""Verdicts of races that more time or a quieter machine may change."""


@dataclass
class History:
    """A file of decisions; `run` is the one that is being made."""

    path: Path
    run: str
    _known: dict[tuple[str, str], Decision] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, run: str, again: bool = False) -> History:
        """With `again`, what it says is forgotten; lines that can't be read are left out."""
        history = cls(path, run)
        if again or not path.exists():
            return history
        for line in path.read_text("utf-8", "replace").splitlines():
            try:
                found = json.loads(line)
                decision = Decision(found["status"], found["reason"], found["next"])
                key = (found["state"], found["fingerprint"])
                history._known.pop(key, None)
                if found.get("verdict") not in _OPEN:
                    history._known[key] = decision
            except (ValueError, KeyError, TypeError):
                continue
        return history

    def known(self, state: str, candidate: Candidate) -> Decision | None:
        return self._known.get((state, candidate.fingerprint))

    def add(self, state: str, candidate: Candidate, tried: Tried) -> None:
        """Write a decision down at once: an interrupted run loses none."""
        entry = {
            "run": self.run,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "state": state,
            "fingerprint": candidate.fingerprint,
            "candidate": candidate.name,
            "place": candidate.place,
            "numbers": tried.judgement.name if tried.judgement else "",
            "speedup": [tried.raced.speedup, tried.raced.low, tried.raced.high]
            if tried.raced and tried.raced.rounds
            else [],
            "verdict": tried.raced.verdict if tried.raced else "",
            "status": tried.decision.status,
            "reason": tried.decision.reason,
            "next": tried.decision.next,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
