"""The numbers check: the runs that it needs, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from torchlint.messages.order import START

from . import reach
from .lab import Asked, Lab, does_not_run
from .numbers import Judgement, Original, judge
from .reach import Part
from .record import Record
from .versions import Version
from .workspace import Workspace


@dataclass(frozen=True)
class Compared:
    """A version beside the original: what its numbers are, and the runs that say so."""

    judgement: Judgement
    plain: Record
    double: Record
    traced: Record
    unreached: tuple[Part, ...]
    """What is different and was not run."""


@dataclass
class Numbers:
    """The runs of one version, which others are compared with."""

    lab: Lab
    version: Version
    runs: Original
    counted: bool = False
    """Whether each version is traced, too."""

    @classmethod
    def of(cls, lab: Lab, version: Version) -> Numbers:
        """Run it four times. Raises Failure for a program that can't be run."""
        asked = [Asked(version), Asked(version), Asked(version, "nudged"), Asked(version, "float64")]
        runs = Original(*lab.record(asked))
        if not (done := runs.plain.done).ran:
            raise does_not_run(version, done, runs.plain.errors)
        return cls(lab, version, runs)

    def with_(self, other: Version) -> Compared:
        """Run another version twice, and compare."""
        changed = tuple(differences(self.version, other, self.lab.space))
        plain, double, *counted = self.lab.record(
            [Asked(other, watch=changed), Asked(other, "float64"), *([Asked(other, "traced")] if self.counted else [])]
        )
        judgement = judge(self.runs, plain, double, lambda: self._from_the_same_start(other))
        unreached = tuple(part for part in changed if not _came(part, plain))
        if unreached and judgement.name in ("exact", "rounding", "init", "precision"):
            where = ", ".join(f"{part.name or 'the top'} in {part.file}" for part in unreached[:3])
            judgement = replace(judgement, name="unknown", reasons=(f"what is different was not run: {where}",))
        return Compared(judgement, plain, double, counted[0] if counted else plain, unreached)

    def after(self, other: Version, compared: Compared) -> Numbers:
        """The runs of a version that was compared, for others to be compared with it."""
        again, nudged = self.lab.record([Asked(other), Asked(other, "nudged")])
        runs = Original(compared.plain, again, nudged, compared.double)
        return Numbers(self.lab, other, runs, self.counted)

    def _from_the_same_start(self, other: Version) -> tuple[Record, Record]:
        (one,) = self.lab.record([Asked(self.version, "float64", keep_start=True)])
        start = one.folder / START
        if not one.done.ran or not start.exists():
            return one, one
        (two,) = self.lab.record([Asked(other, "float64", start=str(start))])
        return one, two


def differences(one: Version, other: Version, space: Workspace) -> Iterator[Part]:
    """Where the Python files of two versions of one project differ, and the scripts of both if they are two."""
    if one.project.home != other.project.home:
        return

    def contents(version: Version, path: str) -> bytes | None:
        return version.overlay[path] if path in version.overlay else space.frozen(version.project, path)

    for path in sorted({*one.overlay, *other.overlay}):
        before, after = contents(one, path), contents(other, path)
        if path.endswith(".py") and before != after:
            yield from reach.parts(path, before, after)
    if one.script != other.script and one.script and other.script:
        yield from reach.parts(other.script, contents(one, one.script), contents(other, other.script))


def _came(part: Part, record: Record) -> bool:
    return any((part.file, line) in record.reached for line in part.lines)
