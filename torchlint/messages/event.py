"""What a traced run saw: plain data, one JSON object a line, written by the child and read by the parent."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal, NamedTuple

Kind = Literal[
    "sync",  # the host waits for the device: item, bool, nonzero, a blocking copy, ...
    "h2d",  # a host-to-device copy
    "d2h",  # a device-to-host copy
    "p2p",  # a copy from one device to another, which the host does not wait for
    "synchronize",  # torch.cuda.synchronize, stream.synchronize, event.synchronize
    "empty_cache",
    "graph_break",
    "compiles",  # the program called code that it has compiled, told by the pass that compiles nothing
    "recompile",
    "recompile_limit",
    "graph",  # one compiled graph: its Triton and extern launches
    "kernel",  # one kernel of a graph and the user lines it serves
    "operator",  # operators of eager code that a line had computed, and the bytes that they touched
    "step",  # a step ended; `data.seconds` since the program was started, `name` what else than an optimizer's step it is
    "work",  # what the operators of the last whole step ask of a GPU, in their order; asked for by --gpu
    "line",  # a watched line was reached
    "memory",  # virtual memory after a step
    "data",  # the program waited for a batch of a DataLoader: `data.seconds`
    "time",  # of a profile: what a line took, `data` has `host` and `device` seconds and `launches`
    "cudagraph_skip",  # Inductor could not use CUDA graphs
    "precision",  # a matrix product in a slow dtype or shape: float64, float32, unaligned
    "optimizer",  # an optimizer of torch, where it was made: `data.how` it updates its `data.parameters`
    "ddp",  # what DistributedDataParallel says of itself after the run
    "unsupported",  # something a virtual GPU can't do, by name; the run went on
    "warning",  # a Python warning with a category worth keeping (FutureWarning, UserWarning of torch)
    "shape",  # the dtypes and shapes given to an outermost module
    "start",  # the child has imported torch: versions and device
    "error",  # the program raised
    "input",  # the program read from standard input, which is empty
    "imported",  # `data.files`: the user's files that the program has imported
    "end",  # the child is done
]


class Operation(NamedTuple):
    """One operator, copy or wait of a step: what it asks of a GPU, and the line that it serves.

    `kind` is that of the operator (`matrix`, `convolution`, `pointwise`, ...), `sync`, `h2d` or `d2h`; of a copy
    `dtype` says how it is made (`pageable-blocking`).
    """

    kind: str
    name: str = ""
    dtype: str = ""
    flops: int = 0
    bytes: int = 0
    launches: int = 1
    unordered: int = 0
    """Bytes of a convolution's activations that are put into another order first."""
    file: str = ""
    line: int = 0
    via: str = ""
    owner: str = ""
    """Where the optimizer was made in whose step it ran, as `file:line`; "" of what no optimizer of torch did."""


NAMED_OPERATORS = frozenset({"cat", "zero_", "_foreach_zero_", "zeros", "zeros_like"})
"""The operators on a device whose events have their names, for rules to name them (`operator:cat`); others have none."""

DYNAMO_FAILED = "torch.compile: "
"""How the name of an `unsupported` event begins that tells that Dynamo gave a function up by an error of its own."""

NO_CODE = "Triton code generation"
"""The name of an `unsupported` event that tells that a graph has no code to count."""


@dataclass(frozen=True, slots=True)
class Event:
    """One observation at one line of user code.

    `file` is a real path ("" where there is none), `line` counts from 1 (0 where there is none), `name` tells kinds
    apart (`item`, `nonzero`, `GB0124`, a kernel's name), `count` is how often it happened in `step`, `size` is in bytes.
    `step` is the number of optimizer steps finished before it (or of calls, for a callable entry);
    `data` holds what only one kind has (pinned, blocking, reason, hint, lines, ...); `stack` holds at most eight
    user frames, innermost first, as `file:line function`.
    """

    kind: Kind
    file: str = ""
    line: int = 0
    function: str = ""
    name: str = ""
    detail: str = ""
    count: int = 1
    size: int = 0
    step: int = 0
    data: dict[str, object] | None = None
    stack: tuple[str, ...] = ()

    @property
    def via(self) -> str:
        """The library line that it happened in, such as `torch/nn/functional.py:6030 name`; "" for the user's own."""
        return str((self.data or {}).get("via", ""))

    @property
    def identity(self) -> tuple[str, str, int, str, str]:
        """What tells events of one run apart where it counts once what happens again."""
        return self.kind, self.file, self.line, self.name, self.via

    def to_json(self) -> str:
        # Field by field: a run of small steps writes thousands, and `asdict` would copy `data` besides.
        told: dict[str, object] = {"kind": self.kind}
        if self.file:
            told["file"] = self.file
        told["line"] = self.line
        if self.function:
            told["function"] = self.function
        if self.name:
            told["name"] = self.name
        if self.detail:
            told["detail"] = self.detail
        told["count"], told["size"], told["step"] = self.count, self.size, self.step
        if self.data is not None:
            told["data"] = self.data
        if self.stack:
            told["stack"] = self.stack
        return json.dumps(told)

    @classmethod
    def from_json(cls, line: str) -> Event:
        """Read one line; raises ValueError or TypeError for a line that isn't an event (a torn last line)."""
        try:
            fields = json.loads(line)
        except RecursionError as error:
            raise ValueError(line[:40]) from error
        if not isinstance(fields, dict):
            raise TypeError(fields)
        fields["stack"] = tuple(fields.get("stack", ()))
        event = cls(**fields)
        words = event.kind, event.file, event.function, event.name, event.detail, *event.stack
        numbers = event.line, event.count, event.size, event.step
        if not (all(isinstance(word, str) for word in words) and all(isinstance(number, int) for number in numbers)):
            raise TypeError(event)
        if not isinstance(event.data, dict | None):
            raise TypeError(event.data)
        return event


def read_events(path: str | PathLike[str]) -> list[Event]:
    """The events of a file, identical ones of a step added up; a torn last line is left out.

    Raises OSError for a file that can't be read and ValueError for one whose first line is not an event.
    """
    events: dict[tuple[object, ...], Event] = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines):
            try:
                event = Event.from_json(line)
            except (ValueError, TypeError) as error:
                if number == 0:
                    raise ValueError(f"{path} is not a file of torchlint events") from error
                continue
            data = "" if event.data is None else json.dumps(event.data, sort_keys=True)
            key = event.kind, event.file, event.line, event.function, event.name, event.detail, event.step, data
            if known := events.get(key):
                event = replace(known, count=known.count + event.count, size=known.size + event.size)
            events[key] = event
    return list(events.values())
