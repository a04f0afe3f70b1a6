"""What a lint run says: plain frozen data, the only vocabulary drivers, reporters and editors share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

Severity = Literal["error", "warning", "info"]
Applicability = Literal["safe", "unsafe", "suggestion"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The most severe first."""
Verdict = Literal["confirmed", "refuted", "not reached"]


@dataclass(frozen=True, order=True, slots=True)
class Edit:
    """Replace the bytes from `start` to `end` of `Source.data` by `text` (both UTF-8)."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to repair a finding. Its edits do not overlap and belong to one file.

    `safe`: same values, shapes, dtypes and exceptions for all inputs. `unsafe`: same intent, and `note` says in
    one sentence what may change. `suggestion`: shown to people, never applied.
    """

    title: str
    edits: tuple[Edit, ...]
    applicability: Applicability
    note: str = ""


@dataclass(frozen=True, order=True, slots=True)
class Related:
    """Another place that explains a finding: the loop that makes it hot, the `torch.compile` that compiles it."""

    path: str
    line: int
    column: int
    message: str


class Measured(NamedTuple):
    """For how long the host waited there in the profile of a real run: seconds a step, and the share of the step."""

    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a traced run said of a finding; `count` is events per steady-state step (0 when refuted).

    `saves` is what mending it saves of a step on the GPU that was asked for: the least, the likely and the most, as
    shares from 0 to 1; None where that was not asked or nobody can tell.
    """

    verdict: Verdict
    detail: str
    count: float = 0.0
    saves: tuple[float, float, float] | None = None
    measured: Measured | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule broken at one place. Lines and columns count from 1, columns in characters, the end exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    name: str
    message: str
    severity: Severity
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    cell: int | None = None
    """The cell of a notebook (from 1, all cells count) that it is in; lines go on counting through all code cells."""
    evidence: Evidence | None = None
    statement: tuple[int, int] = (0, 0)
    """First and last line of the statement where a suppression or an event of a traced run counts: the one around it, if the rule says no other."""
    provable: bool = True
    """Whether the events that its rule names could show in a traced run at all: `gc.collect()` gives none."""
    told: object = field(default=None, compare=False, repr=False)
    """What the rule tells its fixer beyond the place (`facts/told.py`); None when the fixer has been asked."""
    shown: object = field(default=None, compare=False, repr=False)
    """The node of `ast` that it is shown at; None when it was seen that this runs."""

    @property
    def sort_key(self) -> tuple[str, int, int, int, str, str, int, int]:
        """The order of findings; that of sets is another one in each process."""
        place = (self.path, self.cell or 0, self.line, self.column)
        return (*place, self.code, self.message, self.end_line, self.end_column)
