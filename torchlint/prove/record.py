"""What a recorded run left behind, read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.messages.event import Event, read_events
from torchlint.messages.order import Done

from ..system.cached import cached_property
from . import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

_TEXT_LIMIT = 2**20
_TAIL_LINES = 12


class Kept(NamedTuple):
    """What is known of one tensor: its digest, its norm, and where its sketch is. Zeros have no digest."""

    digest: str
    norm: float
    start: int
    length: int


@dataclass(frozen=True)
class Row:
    """The gradients or parameters of an optimizer at one step, or all that the modules held at the end."""

    step: int
    what: str
    names: tuple[str, ...]
    tensors: tuple[Kept, ...]


@dataclass(frozen=True)
class Output:
    """One tensor that an outermost module gave."""

    step: int
    name: str
    training: bool
    kind: str
    tensor: Kept


@dataclass(frozen=True)
class File:
    """A file that the program wrote: its lines if it is text."""

    size: int
    digest: str
    lines: tuple[text.Line, ...] | None


@dataclass(frozen=True)
class Record:
    """One run of one version."""

    done: Done
    losses: tuple[tuple[int, float, str], ...]
    rows: tuple[Row, ...]
    outputs: tuple[Output, ...]
    calls: int
    random: tuple[str, ...]
    printed: tuple[text.Line, ...]
    files: Mapping[str, File]
    errors: str
    """The end of what it wrote to standard error."""
    reached: frozenset[tuple[str, int]]
    """The watched lines that ran, by file and line."""
    folder: Path
    """Of the run, with its sketches, and the start if it was asked for."""

    @cached_property
    def sketches(self) -> numpy.ndarray[Any, Any]:
        import numpy

        loaded: numpy.ndarray[Any, Any] = numpy.load(self.folder / "sketches.npy")
        return loaded

    @property
    def events(self) -> list[Event]:
        """What a traced run saw."""
        try:
            return read_events(self.folder / "events.jsonl")
        except (OSError, ValueError):
            return []

    @property
    def dtypes(self) -> frozenset[str]:
        return frozenset(dtype for _, _, dtype in self.losses)

    @property
    def anything(self) -> bool:
        """Whether there is something to compare at all."""
        return bool(self.losses or self.rows or self.outputs or self.printed or self.files)


def read(done: Done, out: Path, root: Path, written: Mapping[str, Path]) -> Record:
    """The record in a run's folder, made in the copy `root`, with the files that the run has written."""
    try:
        found = json.loads((out / "record.json").read_text("utf-8"))
    except (OSError, ValueError):  # it did not come to that
        found = {"losses": [], "rows": [], "outputs": [], "calls": 0, "random": []}
    return Record(
        done,
        tuple((step, loss, dtype) for step, loss, dtype in found["losses"]),
        tuple(
            Row(row["step"], row["what"], tuple(row["names"]), tuple(Kept(*one) for one in row["tensors"]))
            for row in found["rows"]
        ),
        tuple(
            Output(one["step"], one["name"], one["training"], one["kind"], Kept(*one["tensor"]))
            for one in found["outputs"]
        ),
        found["calls"],
        tuple(found["random"]),
        text.lines((out / "stdout").read_text("utf-8", "replace") if (out / "stdout").exists() else ""),
        _files(written),
        tail(out),
        frozenset(_place(one, root) for one in done.reached),
        out,
    )


def _place(reached: str, root: Path) -> tuple[str, int]:
    path, _, line = reached.rpartition(":")
    return Path(path).relative_to(root).as_posix(), int(line)


def tail(out: Path) -> str:
    with suppress(OSError):
        lines = (out / "stderr").read_text("utf-8", "replace").strip().splitlines()
        return "\n".join(lines[-_TAIL_LINES:])
    return ""


def _files(written: Mapping[str, Path]) -> dict[str, File]:
    """By their names with the numbers in them taken out, which are times as often as not."""
    found: dict[str, File] = {}
    for name, path in sorted(written.items()):
        data = path.read_bytes()
        words = None
        if len(data) <= _TEXT_LIMIT and b"\0" not in data:
            try:
                words = text.lines(data.decode())
            except UnicodeDecodeError:
                words = None
        line: Sequence[text.Line] = text.lines(name)
        found[line[0].words if line else name] = File(len(data), sha256(data).hexdigest(), words)
    return found
