"""A metric of the user's: what a program computes may change in precision as long as this hardly gets worse."""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from torchlint.system.failure import Failure

from .lab import Lab, key
from .runs import python_module
from .versions import Version

Better = Literal["higher", "lower"]

SEEDS = (1, 2, 3)
HALF, INT8 = 0.01, 0.02
"""By how much the metric may get worse, in proportion: with half precision or float32, and with integers of 8 bits."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_INT8 = re.compile(r"\bq?u?int8\b|\bquantiz", re.IGNORECASE)


@dataclass(frozen=True)
class Metric:
    """A command that prints the metric; run with TORCHLINT_SEED set to each of a few seeds. `pattern` finds the number:
    its first group, in the last place where it fits; without one the last number that is printed counts."""

    command: str
    pattern: str = ""
    better: Better = "higher"


@dataclass(frozen=True)
class Measured:
    """The metric of two versions, a value for each seed, and by how much the second one may be worse."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    limit: float
    better: Better

    @property
    def loss(self) -> float:
        """By how much it is worse, in proportion; below 0 it is better."""
        before, after = fmean(self.before), fmean(self.after)
        worse = before - after if self.better == "higher" else after - before
        if worse == 0:
            return 0.0
        return worse / abs(before) if before else math.copysign(math.inf, worse)

    @property
    def within(self) -> bool:
        return self.loss <= self.limit

    @property
    def said(self) -> str:
        return (
            f"the metric goes from {fmean(self.before):.4g} to {fmean(self.after):.4g} over {len(self.before)} seeds, "
            f"{self.limit:.0%} worse at most"
        )


def limit(diff: str) -> float:
    """By how much a change may make the metric worse: by what it brings in."""
    added = "\n".join(line for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++"))
    return INT8 if _INT8.search(added) else HALF


class Metrics:
    """Runs the command in copies of versions; what a version gave is remembered."""

    def __init__(self, lab: Lab, metric: Metric) -> None:
        self._lab, self._metric = lab, metric
        self._known: dict[str, tuple[float, ...]] = {}

    def compare(self, one: Version, other: Version, diff: str) -> Measured:
        """Raises Failure where the command fails or prints no number."""
        return Measured(self._values(one), self._values(other), limit(diff), self._metric.better)

    def _values(self, version: Version) -> tuple[float, ...]:
        name = key(version)
        if name not in self._known:
            self._known[name] = tuple(self._value(version, seed) for seed in SEEDS)
        return self._known[name]

    def _value(self, version: Version, seed: int) -> float:
        (tree,) = self._lab.trees(version, 1)
        out = self._lab.space.output()
        writable = [str(tree.area), str(out), *self._lab.conditions.writable]
        environment = {**os.environ, "TORCHLINT_SEED": str(seed), "TMPDIR": str(out), "PYTHONDONTWRITEBYTECODE": "1"}
        place = str(tree.root / version.cwd)
        command = [*python_module("torchlint.runner.confined"), self._metric.command, place, *writable]
        try:
            done = subprocess.run(
                command, cwd=out, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, errors="replace", timeout=10 * self._lab.conditions.seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise Failure(f"--metric: `{self._metric.command}` was not done after {error.timeout:g} seconds") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise Failure(f"--metric: `{self._metric.command}` ended with {done.returncode}: {last}")
        return self._number(done.stdout)

    def _number(self, text: str) -> float:
        found: Sequence[str] = re.findall(self._metric.pattern, text) if self._metric.pattern else _NUMBER.findall(text)
        try:
            value = float(found[-1])
        except (IndexError, ValueError, TypeError):
            value = math.nan
        if not math.isfinite(value):
            raise Failure(f"--metric: `{self._metric.command}` printed no number: {text.strip()[-80:] or 'nothing'}")
        return value
