"""What one run of one version of a program is asked to do, and what became of it: shared by parent and child."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

World = Literal["plain", "nudged", "float64", "traced", "profiled"]
Tick = Literal["step", "forward"]
End = Literal["finished", "stopped", "exit", "error", "no entry", "refused", "killed", "died"]

START = "start.pt"
"""The file in a run's folder with the parameters and the random state from which training started."""
PROFILE = "profile.json"
"""The file in the folder of a run in the world `profiled`, as torch's profiler writes it."""
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MPLCONFIGDIR", "TMPDIR")
"""Variables that name folders of what libraries keep from one run to the next: runs may write there."""


@dataclass(frozen=True, slots=True)
class Order:
    """One run in a copy of the project.

    `entry` is a script or `pkg.module:function`, seen from `cwd`; `top` is the copy, `area` the folder
    around it in which the program may write, `home` the project that it was copied from, `out` an empty folder for what
    the run leaves behind. The program is stopped after `steps` ticks: a tick
    is an optimizer step, or a call of an outermost module for a program that takes none.

    A recorded run may take place in another world: `nudged` moves every parameter by one unit in the last place before
    the first step, `float64` computes everything in double precision; in the world `traced`
    nothing is recorded but counted, on a virtual GPU where there is none, in `profiled` torch's profiler looks on. `keep_start` writes the parameters and the random
    state from which training starts to `out`, `start` takes them from such a file. `watch` holds lines to look out for.
    `mode` says how it compiles: `eager` not at all, `program` as it does itself, else as torchlint.runner.modes knows.
    """

    entry: str
    args: tuple[str, ...]
    top: str
    area: str
    home: str
    cwd: str
    out: str
    steps: int = 30
    seconds: float = 120.0
    tick: Tick = "step"
    world: World = "plain"
    keep_start: bool = False
    start: str = ""
    writable: tuple[str, ...] = ()
    threads: int = 1
    mode: str = "eager"
    watch: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Order:
        return cls(**values | {name: tuple(values[name]) for name in ("args", "writable")})


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended: `code` is the exit code of the program, `seconds` what it took with everything.

    `wall` and `cpu` hold the seconds of each tick of a timed run, the first with all that comes before it, the last what
    came after the last tick; `usage` are the CPU seconds of the whole run with every process that it started. `reached` are the watched lines that ran, as `file:line`; `outside` the places outside of
    the copy that the program wanted to write to; `forks` how often it started another process.
    """

    end: End
    detail: str = ""
    code: int = 0
    ticks: int = 0
    seconds: float = 0.0
    usage: float = 0.0
    wall: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()
    peak: int = 0
    forks: int = 0
    steps: int = 0
    forwards: int = 0
    cuda: bool = False
    compiles: bool = False
    compiling: float = 0.0
    """Wall seconds of compiling, of all compilers that it used."""
    compiled_at: tuple[int, ...] = ()
    """The ticks, from 1, in which something was compiled."""
    breaks: int = 0
    reached: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """The Python files of the copy that were imported, by their paths in it."""
    strangers: tuple[str, ...] = ()
    """Files of the project itself, not of the copy, that were imported all the same."""

    @property
    def ran(self) -> bool:
        """Whether the program did what it was asked to."""
        return self.end in ("finished", "stopped") or (self.end == "exit" and self.code == 0)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, values: dict[str, Any]) -> Done:
        """From a decoded JSON object."""
        lists = {one.name for one in fields(cls) if str(one.type).startswith("tuple")}
        given: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in values.items()}
        return cls(**given)
