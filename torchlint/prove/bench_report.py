"""What a measurement leaves to be read: a table, JSON for programs, and what later runs are compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchlint.evidence.confirm import bytes_text
from torchlint.system.failure import Failure
from torchlint.system.printable import shown_path

from .bench import Bench, Kept, Row
from .report import CLOCKS, finite, race_fields

_VERSION = 1
_FOR_GPUS = ("reduce-overhead", "max-autotune")
_HEAD = ("", "start s", "compile s", "ms a step", "95 %", "times as fast", "95 %", "memory", "breaks", "numbers")


def text(found: Bench) -> str:
    """The table, and the percentiles of a program that serves."""
    first = found.first
    unit = "calls" if found.latency else "steps"
    lines = [
        f"{shown_path(found.entry)}: {CLOCKS[found.track.clock]}, {len(first.seconds)} rounds, in {found.track.how}"
        + (f" ({found.track.why})" if found.track.why else ""),
        "",
        *_table([_HEAD, *map(_cells, found.rows)]),
        *(row.failure for row in found.rows if row.failure),
        "",
        f"{first.name} against itself: {found.control:.3f}",
        *_of_graphs(found),
        f"start and compile: wall seconds of a first run, alone and with empty caches; {unit} with compiling do not count",
    ]
    if found.latency or len(first.times) > 1:
        what = "a call" if found.latency else "a step" if found.track.block <= 1 else f"{found.track.block} steps"
        lines += [
            "",
            *_table(
                [("", *(f"p{at}" for at in first.percentiles)), *(_percentiles(row) for row in found.rows if row.times)]
            ),
        ]
        lines.append(f"milliseconds of {what} that so many percent stay below")
    return "\n".join(lines) + "\n"


def _of_graphs(found: Bench) -> list[str]:
    """What modes that are meant for a GPU do without one."""
    modes = [row.name for row in found.rows if row.name in _FOR_GPUS]
    if not modes or any(row.scouted and row.scouted.cuda for row in found.rows):
        return []
    does = "does" if len(modes) == 1 else "do"
    return [
        f"no GPU was used: CUDA graphs and a search for kernels are for one, and {' and '.join(modes)} {does} what default does"
    ]


def _cells(row: Row) -> tuple[str, ...]:
    if not row.seconds or row.scouted is None:
        return (row.name, *["-"] * (len(_HEAD) - 1))
    low, high = row.between
    raced = row.raced
    return (
        row.name,
        f"{row.starting:.2f}",
        f"{row.compiling:.2f}" if row.scouted.compiled_at else "-",
        f"{1000 * row.step:.4g}",
        f"{1000 * low:.4g} to {1000 * high:.4g}" if len(row.seconds) > 2 else "-",
        f"{raced.speedup:.2f}" if raced else "1",
        f"{raced.low:.2f} to {raced.high:.2f}" if raced and len(raced.rounds) > 2 else "-",
        bytes_text(row.peak),
        str(row.scouted.breaks) if row.scouted.compiled_at else "-",
        row.judgement.name if row.judgement else "-",
    )


def _percentiles(row: Row) -> tuple[str, ...]:
    return (row.name, *(f"{1000 * value:.4g}" for value in row.percentiles.values()))


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under each other, the first to the left, the others to the right."""
    wide = [max(map(len, column)) for column in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)]
    return [
        "  ".join([row[0].ljust(wide[0]), *(cell.rjust(width) for cell, width in zip(row[1:], wide[1:], strict=False))])
        for row in rows
    ]


def as_json(found: Bench, environment: Mapping[str, Any]) -> str:
    """Everything for programs, and for `--compare`."""
    document = {
        "version": _VERSION,
        "entry": found.entry,
        "environment": environment,
        "track": asdict(found.track),
        "latency": found.latency,
        "control": found.control,
        "candidates": [
            {
                "name": row.name,
                "failure": row.failure,
                "start": row.starting,
                "compile": row.compiling,
                "breaks": row.scouted.breaks if row.scouted else 0,
                "peak": row.peak,
                "seconds": row.seconds,
                "percentiles": row.percentiles,
                "numbers": row.judgement.name if row.judgement else "",
                "race": race_fields(row.raced),
            }
            for row in found.rows
        ],
    }
    return json.dumps(finite(document), indent=1) + "\n"


def kept(path: Path) -> tuple[dict[str, Kept], dict[str, Any]]:
    """The candidates of a run that was kept, by name, and what it was made with. Raises Failure."""
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["version"] != _VERSION:
            raise Failure(f"{path} is of another version of torchlint")
        found = {
            one["name"]: Kept(tuple(map(float, one["seconds"])), int(one["peak"]), int(one["breaks"]), one["numbers"])
            for one in document["candidates"]
            if not one["failure"]
        }
        return found, dict(document["environment"])
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path} holds no measurement of torchlint bench") from error
