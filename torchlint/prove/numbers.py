"""Whether two versions of a program compute the same: a class, and the first place where they don't.

Six runs decide it: the program, the program again, the other version, the program with every parameter moved by one
unit in the last place, and both versions in double precision. What differs by no more than a hundred times what moving
by one unit does, and not at all in double precision, is rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..system.cached import cached_property
from . import text
from .record import File, Kept, Output, Record

Class = Literal["exact", "rounding", "init", "precision", "changed", "unknown", "broken"]
Allowed = Literal["exact", "rounding", "init", "precision"]

ACCEPTED: dict[Allowed, frozenset[Class]] = {
    "exact": frozenset({"exact"}),
    "rounding": frozenset({"exact", "rounding"}),
    "init": frozenset({"exact", "rounding", "init"}),
    "precision": frozenset({"exact", "rounding", "precision"}),
}
"""What passes where that much is allowed."""

_FACTOR = 100.0
"""So many times what moving by one unit in the last place does is still rounding."""
_SAME_IN_DOUBLE = 1e-9
_EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-23, "float64": 2.0**-52}
_UNITS = 2.0
"""Units of the last printed digit that rounding may move a number by."""
_FILE_SIZE = 0.01


@dataclass(frozen=True)
class First:
    """Where two runs part: a step (from 1), what it is, and by how much in proportion to its size."""

    step: int
    what: str
    difference: float


@dataclass(frozen=True)
class Difference:
    """Two runs beside each other. The series hold relative differences in the order in which things happened."""

    structure: str = ""
    """The first thing that can't even be put side by side: counts of steps and losses, exit codes, words."""
    tensors: str = ""
    """Which gradients or parameters there are more or fewer of."""
    kinds: str = ""
    random: int = 0
    """The first step after which the random streams differ, 0 if none does."""
    bitwise: bool = True
    first: First | None = None
    series: dict[str, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    printed: text.TextDifference = field(default_factory=text.TextDifference)
    files: str = ""
    written: text.TextDifference = field(default_factory=text.TextDifference)

    def largest(self, what: str) -> float:
        return max((value for _, value in self.series.get(what, ())), default=0.0)


@dataclass(frozen=True)
class Judgement:
    """What is to be said of a version: `reasons` in words, `figures` the largest relative differences."""

    name: Class
    reasons: tuple[str, ...]
    first: First | None = None
    figures: dict[str, float] = field(default_factory=dict)

    def within(self, allowed: Allowed) -> bool:
        return self.name in ACCEPTED[allowed]


@dataclass(frozen=True)
class Known:
    """What differs between two runs of one program: times and rates that it prints, files with a date in them."""

    printed: bool = True
    """Whether the words that it prints are the same each time: else nothing that it prints is compared."""
    places: frozenset[text.Place] = frozenset()
    files: frozenset[str] = frozenset()

    @classmethod
    def of(cls, one: Record, again: Record) -> Known:
        printed = text.varying(one.printed, again.printed)
        places = set(printed or ())
        files = set(one.files.keys() ^ again.files.keys())
        for name in one.files.keys() & again.files.keys():
            a, b = one.files[name], again.files[name]
            if a.digest != b.digest:
                found = text.varying(a.lines, b.lines) if a.lines is not None and b.lines is not None else None
                if found is None:
                    files.add(name)
                else:
                    places |= found
        return cls(printed is not None, frozenset(places), frozenset(files))


@dataclass(frozen=True)
class Original:
    """The version that is compared with: two runs of it, one that is nudged, one in double precision."""

    plain: Record
    again: Record
    nudged: Record
    double: Record

    @cached_property
    def known(self) -> Known:
        return Known.of(self.plain, self.again)

    @cached_property
    def wobble(self) -> str:
        """In what it differs from itself when it is run again, "" if it doesn't."""
        repeated = compare(self.plain, self.again, self.known)
        if repeated.structure or repeated.tensors:
            return repeated.structure or repeated.tensors
        if repeated.random:
            return f"its random numbers differ from step {repeated.random} on"
        return f"{repeated.first.what} differs in step {repeated.first.step}" if repeated.first else ""


def judge(
    original: Original, other: Record, double: Record, same_start: Callable[[], tuple[Record, Record]]
) -> Judgement:
    """The class of another version, run plainly and in double precision.

    `same_start` runs both in double precision again, the other one from the parameters and random numbers of the first;
    it is asked only if nothing else explains the difference.
    """
    known = original.known
    if not original.plain.anything:
        return Judgement("unknown", ("the program trains nothing, calls no module, prints nothing and writes nothing",))
    if not other.done.ran:
        return Judgement("broken", (other.done.detail or other.done.end,))
    if wobble := original.wobble:
        return Judgement("unknown", (f"the program differs from itself when it is run again: {wobble}",))
    plain = compare(original.plain, other, known)
    control = compare(original.plain, original.nudged, known)
    figures = {f"{what} difference": plain.largest(what) for what in plain.series}
    figures |= {f"{what} control": control.largest(what) for what in control.series}
    if plain.structure:
        return Judgement("changed", (plain.structure,), plain.first, figures)
    if (
        plain.bitwise
        and not plain.random
        and not plain.tensors
        and not plain.kinds
        and plain.printed.same
        and not plain.files
        and plain.written.same
    ):
        return Judgement("exact", ("the same to the bit",), None, figures)
    in_double, doubt = _in_double(original, double, known, control)
    if in_double is not None:
        figures |= {f"{what} in double precision": in_double.largest(what) for what in in_double.series}

    def verdict(name: Class, *reasons: str) -> Judgement:
        return Judgement(name, reasons, plain.first, figures)

    if plain.random or plain.tensors:
        why = f"random numbers differ from step {plain.random} on" if plain.random else plain.tensors
        return _from_the_same_start(original, same_start, verdict, why)
    if plain.files:
        return verdict("changed", plain.files)
    if in_double is None:
        return verdict("unknown", f"it is not the same to the bit, and double precision can't be asked: {doubt}")
    if doubt:
        return verdict("changed", doubt)
    if excess := _beyond_rounding(plain, control, original.plain):
        return verdict("precision", excess, "the same in double precision")
    if plain.kinds:
        return verdict("precision", plain.kinds, "the same in double precision")
    return verdict(
        "rounding", "as near as moving each parameter by one unit in the last place", "the same in double precision"
    )


def _in_double(original: Original, double: Record, known: Known, control: Difference) -> tuple[Difference | None, str]:
    """How both differ in double precision, and what speaks against their being the same there."""
    for run in (original.double, double):
        if not run.done.ran:
            return None, f"a run in it fails, {run.done.detail}"
        if run.dtypes - {"float64"}:
            return None, f"a loss stays {next(iter(run.dtypes - {'float64'}))}"
    found = compare(original.double, double, known)
    if found.structure or found.tensors:
        return found, found.structure or found.tensors
    for what, series in found.series.items():
        allowed = _Allowed(control.series.get(what, ()), _EPSILON["float64"] / _EPSILON["float32"])
        for step, value in series:
            if value > max(_SAME_IN_DOUBLE, allowed.at(step)):
                return found, f"in double precision {what} still differs in step {step}, by {value:.1e}"
    for printed, where in ((found.printed, "what is printed"), (found.written, "what is written")):
        if printed.words:
            return found, f"{where} differs: {printed.words}"
        if printed.relative > _SAME_IN_DOUBLE:
            return found, f"in double precision {where} still differs: {printed.line}"
    return found, ""


class _Allowed:
    """What rounding may do up to a step: a hundred times the most that the control has shown until then."""

    def __init__(self, control: Sequence[tuple[int, float]], scale: float = 1.0, floor: float = 0.0) -> None:
        self._control = list(control)
        self._scale = scale
        self._most = floor

    def at(self, step: int) -> float:
        while self._control and self._control[0][0] <= step:
            value = self._control.pop(0)[1]
            if math.isfinite(value):
                self._most = max(self._most, value)
        return _FACTOR * self._most * self._scale


def _beyond_rounding(plain: Difference, control: Difference, record: Record) -> str:
    epsilon = max((_EPSILON.get(dtype, _EPSILON["float32"]) for dtype in record.dtypes), default=_EPSILON["float32"])
    for what, series in plain.series.items():
        allowed = _Allowed(control.series.get(what, ()), floor=4 * epsilon)
        for step, value in series:
            if value > (limit := allowed.at(step)):
                return f"{what} differs in step {step} by {value:.1e}, rounding by up to {limit:.1e}"
    for printed, by_control in ((plain.printed, control.printed), (plain.written, control.written)):
        limit = max(10 * by_control.relative, 1e-6)
        if printed.relative > limit and printed.units > _UNITS:
            return f"a printed number differs by {printed.relative:.1e}: {printed.line}"
    return ""


def _from_the_same_start(
    original: Original, same_start: Callable[[], tuple[Record, Record]], verdict: Callable[..., Judgement], why: str
) -> Judgement:
    """Random numbers are drawn in another order: is it the same function of the same parameters?"""
    one, other = same_start()
    if not (one.done.ran and other.done.ran and one.losses):
        return verdict("changed", why)
    found = compare(one, other, original.known, parameters=False)
    near = max((found.largest(what) for what in ("loss", "output")), default=0.0) <= _SAME_IN_DOUBLE
    if not found.structure and near and not found.printed.words and found.printed.relative <= _SAME_IN_DOUBLE:
        return verdict("init", f"{why}; from the same parameters the losses are the same")
    return verdict("changed", why)


# --- two runs beside each other -----------------------------------------------------------------------------------


def compare(one: Record, other: Record, known: Known, parameters: bool = True) -> Difference:
    """The differences of two runs. `known` are numbers in the text that vary, None leaves the text out.

    Without `parameters`, only losses and outputs are looked at, and the random streams are not.
    """
    structure = next(_structure(one, other), "")
    tensors = next(_tensors(one, other), "") if parameters else ""
    first = next(_parting(one, other, parameters), None)
    printed = text.difference(one.printed, other.printed, known.places) if known.printed else text.TextDifference()
    if printed.words:
        structure = structure or f"what is printed differs: {printed.words}"
    files, written = _written(one.files, other.files, known)
    streams = zip(one.random, other.random, strict=False) if parameters else ()
    return Difference(
        structure,
        tensors,
        next(_kinds(one, other), ""),
        next((at for at, (x, y) in enumerate(streams, 1) if x != y), 0),
        first is None,
        first,
        {} if structure else dict(_series(one, other, parameters and not tensors)),
        printed,
        files,
        written,
    )


def _structure(one: Record, other: Record) -> Iterator[str]:
    """What can't even be put side by side."""
    for what, a, b in (
        ("the exit code is {1}, was {0}", one.done.code, other.done.code),
        ("{1} steps are taken, were {0}", one.done.steps, other.done.steps),
        ("{1} losses, were {0}", len(one.losses), len(other.losses)),
    ):
        if a != b:
            yield what.format(a, b)
    if not one.losses and one.done.steps == 0 and len(one.outputs) != len(other.outputs):
        yield f"modules give {len(other.outputs)} tensors, gave {len(one.outputs)}"


def _tensors(one: Record, other: Record) -> Iterator[str]:
    if [(row.step, row.what) for row in one.rows] != [(row.step, row.what) for row in other.rows]:
        yield "optimizers take their steps in another order"
        return
    for a, b in zip(one.rows, other.rows, strict=True):
        if len(a.tensors) != len(b.tensors):
            yield f"{len(b.tensors)} {a.what if a.what != 'state at the end' else 'tensors'}, were {len(a.tensors)}"
            return


def _kinds(one: Record, other: Record) -> Iterator[str]:
    for (_, _, a), (_, _, b) in zip(one.losses, other.losses, strict=False):
        if a != b:
            yield f"the loss is {b}, was {a}"
    if one.calls == other.calls:
        for before, after in zip(one.outputs, other.outputs, strict=False):
            if before.kind != after.kind:
                yield f"{before.name} is {after.kind}, was {before.kind}"


def _parting(one: Record, other: Record, parameters: bool) -> Iterator[First]:
    """Where bits differ, in the order of the steps: outputs come before losses, losses before gradients."""
    events: list[tuple[int, int, str, float]] = []
    if one.calls == other.calls:
        for before, after in zip(one.outputs, other.outputs, strict=False):
            if before.tensor.digest != after.tensor.digest:
                difference = _apart(one, other, [before.tensor], [after.tensor])
                events.append((before.step, 0, before.name, difference))
                break
    for (step, x, _), (_, y, _) in zip(one.losses, other.losses, strict=False):
        if x != y and not (math.isnan(x) and math.isnan(y)):
            events.append((step, 1, "the loss", _relative(x, y)))
            break
    for row, beside in zip(one.rows, other.rows, strict=False) if parameters else ():
        pairs = zip(row.names, row.tensors, beside.tensors, strict=False)
        found = next(((name, a, b) for name, a, b in pairs if a.digest != b.digest), None)
        if found:
            name, a, b = found
            noun = {"gradients": "the gradient of ", "parameters": ""}.get(row.what, "")
            events.append((row.step, 2, f"{noun}{name}", _apart(one, other, [a], [b])))
            break
    for step, _, what, difference in sorted(events, key=lambda event: event[:2])[:1]:
        yield First(step, what, difference)


def _series(one: Record, other: Record, parameters: bool) -> Iterator[tuple[str, tuple[tuple[int, float], ...]]]:
    pairs = zip(one.losses, other.losses, strict=True)
    yield "loss", tuple((step, _relative(x, y)) for (step, x, _), (_, y, _) in pairs)
    for what in ("gradients", "parameters", "state at the end") if parameters else ():
        rows = [(a, b) for a, b in zip(one.rows, other.rows, strict=True) if a.what == what]
        yield what, tuple((a.step, _apart(one, other, a.tensors, b.tensors)) for a, b in rows)
    if one.calls == other.calls and len(one.outputs) == len(other.outputs):
        beside = zip(one.outputs, other.outputs, strict=True)
        yield "output", tuple((a.step, _apart(one, other, [a.tensor], [b.tensor])) for a, b in beside if _alike(a, b))


def _alike(a: Output, b: Output) -> bool:
    return a.kind.partition(" ")[2] == b.kind.partition(" ")[2]


def _relative(x: float, y: float) -> float:
    if x == y or (math.isnan(x) and math.isnan(y)):
        return 0.0
    gap = abs(x - y)
    return gap / max(abs(x), 1e-12) if math.isfinite(gap) else math.inf


def _apart(one: Record, other: Record, left: Sequence[Kept], right: Sequence[Kept]) -> float:
    """The norm of the difference of some tensors, taken together, in proportion to the norm of the first ones."""
    square = 0.0
    for x, y in zip(left, right, strict=True):
        if x.digest == y.digest:
            continue
        a = one.sketches[x.start : x.start + x.length]
        b = other.sketches[y.start : y.start + y.length]
        if len(a) != len(b):
            if len(a) and len(b):
                return math.inf
            a, b = (a, a * 0) if len(a) else (b * 0, b)
        square += float(((a - b) ** 2).sum())
    size = math.sqrt(sum(x.norm**2 for x in left))
    if not math.isfinite(square) or not math.isfinite(size):
        return math.inf
    return math.sqrt(square) / size if size else (0.0 if square == 0 else math.inf)


def _written(one: Mapping[str, File], other: Mapping[str, File], known: Known) -> tuple[str, text.TextDifference]:
    """What is to be said of the files that were written, and how those that are text differ."""
    if names := ", ".join(sorted((one.keys() ^ other.keys()) - known.files)[:3]):
        return f"other files are written: {names}", text.TextDifference()
    worst = text.TextDifference()
    for name in one.keys() & other.keys() - known.files:
        before, after = one[name], other[name]
        if before.digest == after.digest:
            continue
        if before.lines is None or after.lines is None:
            if abs(before.size - after.size) > _FILE_SIZE * before.size:
                return f"{name} has {after.size} bytes, had {before.size}", text.TextDifference()
            continue
        found = text.difference(before.lines, after.lines, known.places)
        if found.words:
            return f"{name} differs: {found.words}", text.TextDifference()
        worst = max(worst, found, key=lambda difference: difference.relative)
    return "", worst
