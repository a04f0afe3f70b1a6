"""How near to the data sheet kernels come, and what the host costs: assumed, or measured by `torchlint calibrate`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from torchlint.system.failure import Failure

from .gpus import Gpu

_MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class Constants:
    """Shares of the data sheet's rates that kernels reach, seconds that the host spends.

    `wide` is the factor within which a kernel's time lies in eight of ten models (docs/prediction.md).
    """

    matrix: float
    convolution: float
    grouped: float
    depthwise: float
    memory: float
    launch: float = 2.0 * _MICRO
    """What a kernel takes beside its work."""
    host: float = 12.0 * _MICRO
    """What the host spends on an operator that launches a kernel, with the views around it."""
    host_least: float = 6.0 * _MICRO
    host_most: float = 25.0 * _MICRO
    wait: float = 10.0 * _MICRO
    pageable: float = 6.0
    """GB/s of copies from and to memory that is not pinned."""
    pinned: float = 25.0
    """GB/s of copies from and to pinned memory."""
    wide: float = 1.6
    calibrated: str = ""
    """The GPU and the day that they were measured on, "" where they are assumed."""


ATTENTION = 0.75
"""Attention kernels reach this share of what matrix products do."""
_DATA_CENTRE = Constants(0.70, 0.55, 0.20, 0.35, 0.80)
_CONSUMER = Constants(1.0, 1.0, 0.35, 1.0, 1.0)


def assumed(gpu: Gpu) -> Constants:
    """What is assumed of a GPU that was not measured; kernels of desktops come close to their data sheets."""
    return replace(_CONSUMER if gpu.consumer else _DATA_CENTRE, pinned=gpu.pcie)


def with_host(constants: Constants, least: float, most: float) -> Constants:
    """The constants with an interval of the host's cost in microseconds; the middle is its geometric one."""
    middle = (least * most) ** 0.5
    return replace(constants, host=middle * _MICRO, host_least=least * _MICRO, host_most=most * _MICRO)


def to_json(constants: Constants, gpu: str) -> str:
    return json.dumps({"version": 1, "gpu": gpu, **asdict(constants)}, indent=2) + "\n"


def of_document(document: Any) -> Constants:
    """The constants that an object of JSON tells; KeyError, TypeError or ValueError for one that does not."""
    constants = Constants(**{field.name: document[field.name] for field in fields(Constants)})
    numbers = [value for name, value in asdict(constants).items() if name != "calibrated"]
    if not all(isinstance(value, int | float) and 0 < value < float("inf") for value in numbers):
        raise ValueError("a constant is no number above 0")
    if not isinstance(constants.calibrated, str):
        raise TypeError("what was calibrated is no text")
    return constants


def from_json(path: Path) -> tuple[str, Constants]:
    """The GPU and the constants that `torchlint calibrate` wrote. Failure for a file that is something else."""
    try:
        document = json.loads(path.read_text("utf-8"))
        return str(document["gpu"]), of_document(document)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path} is no calibration that `torchlint calibrate` wrote: {error}") from error
