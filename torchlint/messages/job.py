"""What a traced run is asked to do: written by the parent, read by the child."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

Device = Literal["auto", "virtual", "cuda", "cpu"]
Pass = Literal["eager", "compile"]
Passes = Literal["eager", "compile", "both", "auto"]


@dataclass(frozen=True, slots=True)
class Job:
    """One child process's work.

    `entry` is a script's path, `pkg.module:function` or `-m pkg.module`. `run` says what is observed: `eager` sees synchronizations,
    copies and reached lines with torch.compile switched off; `compile` sees graph breaks, recompiles and kernels.
    The program is stopped after `steps` steps or `seconds` seconds, whichever comes first. `whatif` compiles the root
    module of a program that doesn't. `watch` holds the lines to look out for by real path; reaching `step_at` is a step.
    There are `gpus` virtual GPUs.
    `work` notes what operators ask of a GPU. DataLoaders make batches that are `batch` times as large.
    """

    entry: str
    args: tuple[str, ...]
    run: Pass
    events: str
    steps: int = 8
    seconds: float = 60.0
    device: Device = "auto"
    target: str = "sm_90"
    gpus: int = 1
    whatif: bool = False
    compute: bool = True
    shapes: bool = False
    keep: str | None = None
    watch: dict[str, tuple[int, ...]] = field(default_factory=dict)
    step_at: tuple[str, int] | None = None
    work: bool = False
    batch: int = 1

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        fields = json.loads(text)
        fields["args"] = tuple(fields["args"])
        fields["step_at"] = fields["step_at"] and tuple(fields["step_at"])
        return cls(**fields)
