"""Writes docs/prediction.md: how well published step times are predicted. With --check it says whether the page is stale.

    python scripts/prediction/page.py [--check]

published.json holds the times that others printed, models.json.gz what their models' operators ask of a GPU (record.py),
inductor.json the kernels that Inductor generates for some of them (inductor.py).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from torchlint.messages.event import Operation
from torchlint.predict.constants import Constants, assumed
from torchlint.predict.estimate import band
from torchlint.predict.gpus import GPUS, Gpu
from torchlint.predict.timeline import kernel, step, tasks

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "prediction.md"
_GPUS = {"RTX3090": "rtx3090", "RTX4090": "rtx4090", "RTX5090": "rtx5090", "PRO6000MQ": "pro6000-maxq"}
_NAMES = {"rtx3090": "RTX 3090", "rtx4090": "RTX 4090", "rtx5090": "RTX 5090", "pro6000-maxq": "RTX PRO 6000 Max-Q"}
_LEAST = 3
"""Fewer pairs than that have no rank correlation."""


@dataclass(frozen=True)
class Case:
    """A published time and what is predicted of it, in seconds for one example."""

    model: str
    size: int
    setting: str
    gpu: str
    mode: str
    compiled: bool
    channels_last: bool
    batch: int
    true: float
    predicted: float
    """With the assumed constants."""


@cache
def _models() -> dict[str, dict[str, list[list[Any]]]]:
    document = json.loads(gzip.decompress((HERE / "models.json.gz").read_bytes()))
    return dict(document["models"])


def _operations(rows: Iterable[Sequence[Any]], batch: int, channels_last: bool) -> list[Operation]:
    found = []
    for kind, dtype, launches, flops, flops0, size, size0, unordered, unordered0, count in rows:
        one = Operation(
            kind, "", dtype, flops * batch + flops0, size * batch + size0, launches,
            0 if channels_last else unordered * batch + unordered0,
        )  # fmt: skip
        found += [one] * count
    return found


def seconds(rows: Iterable[Sequence[Any]], batch: int, channels_last: bool, gpu: Gpu, constants: Constants) -> float:
    """A step of a batch, as the traced run predicts it."""
    return step(tasks(_operations(rows, batch, channels_last), gpu, constants)).seconds


@cache
def cases() -> tuple[Case, ...]:
    """Each published time whose model was recorded."""
    document = json.loads((HERE / "published.json").read_text("utf-8"))
    found = []
    for one in document["times"]:
        key, published = f"{one['model']} {one['size']} {one['mode']}", document["sets"][one["set"]]
        recorded = (_models().get(f"{key} merged") if "merged" in published else None) or _models().get(key)
        rows = recorded.get("fused" if one["compiled"] else "eager") if recorded else None
        if rows is None:
            continue
        name = _GPUS[one["gpu"]]
        gpu = GPUS[name]
        constants = assumed(gpu)
        if one["compiled"]:  # a graph is launched kernel by kernel without the operators' cost
            constants = replace(constants, host=3e-6)
        ordered = one["channels_last"] or one["compiled"]  # Inductor lays convolutions out by itself
        predicted = seconds(rows, one["batch"], ordered, gpu, constants)
        setting = published["name"].removeprefix("benchmark-")
        found.append(
            Case(
                one["model"],
                one["size"],
                setting,
                name,
                one["mode"],
                one["compiled"],
                one["channels_last"],
                one["batch"],
                one["ms"] * 1e-3 / one["batch"],
                predicted / one["batch"],
            )
        )
    return tuple(found)


def held_out(model: str) -> bool:
    """Whether a model is kept from what is fitted: half of them, by their names."""
    return hashlib.sha256(model.encode()).digest()[0] % 2 == 0


# --- statistics --------------------------------------------------------------------------------------------------


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's, for values without ties."""
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    for rank, position in enumerate(order):
        ranks[position] = float(rank)
    return ranks


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True)
class Accuracy:
    """Of one set of published times, over models that nothing was fitted on."""

    setting: str
    gpu: str
    count: int
    rank: float
    median: float
    worst_tenth: float
    covered: float
    scaled_median: float
    scaled_worst_tenth: float


def accuracy() -> list[Accuracy]:
    groups: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases():
        groups[case.setting].append(case)
    return [_accuracy(setting, group) for setting, group in groups.items()]


def _accuracy(setting: str, group: Sequence[Case]) -> Accuracy:
    kept = [case for case in group if held_out(case.model)]
    fitted = [case for case in group if not held_out(case.model)]
    errors = [abs(case.predicted / case.true - 1) for case in kept]
    scale = statistics.median(case.predicted / case.true for case in fitted)
    scaled = [abs(case.predicted / scale / case.true - 1) for case in kept]
    wide = assumed(GPUS[group[0].gpu]).wide
    covered = [1 / wide <= case.predicted / case.true <= wide for case in kept]
    return Accuracy(
        setting,
        group[0].gpu,
        len(kept),
        rank_correlation([case.true for case in kept], [case.predicted for case in kept]),
        statistics.median(errors),
        _quantile(errors, 0.9),
        sum(covered) / len(covered),
        statistics.median(scaled),
        _quantile(scaled, 0.9),
    )


@dataclass(frozen=True)
class WhatIf:
    """A published change of one model: what it saved and what is predicted, as shares of the step before it."""

    change: str
    true: float
    predicted: float


def what_ifs() -> list[WhatIf]:
    """Pairs of published times that differ in one thing."""
    by_key = {(c.model, c.size, c.gpu, c.mode, c.compiled, c.channels_last): c for c in cases()}
    found = []
    for (model, size, gpu, mode, compiled, channels_last), after in by_key.items():
        before = by_key.get((model, size, gpu, mode, False, False))
        if before is None or compiled == channels_last:
            continue
        name = f"torch.compile, {_NAMES[gpu]}" if compiled else f"channels_last, {_NAMES[gpu]}, {mode}"
        found.append(WhatIf(name, 1 - after.true / before.true, 1 - after.predicted / before.predicted))
    return found


def ordered_right(pairs: Sequence[WhatIf], apart: float) -> tuple[int, float]:
    """How many pairs of changes are so far apart, and the share of them that is predicted in the right order."""
    right = total = 0
    for position, one in enumerate(pairs):
        for other in pairs[:position]:
            if abs(one.true - other.true) >= apart:
                total += 1
                right += (one.true > other.true) == (one.predicted > other.predicted)
    return total, right / total if total else math.nan


# --- compiled models ---------------------------------------------------------------------------------------------

_LIBRARY = frozenset(("matrix", "convolution", "grouped", "depthwise", "attention"))
"""Kinds of operators whose kernels Inductor leaves to a library."""


@dataclass(frozen=True)
class Compiled:
    """A published gain of torch.compile, and what is predicted of it: with a guessed fusion, with Inductor's kernels."""

    true: float
    guessed: float
    lowered: float
    time: float
    """Of the compiled step, published."""
    guessed_time: float
    lowered_time: float


def compiled() -> list[Compiled]:
    """The models that Inductor lowered for an RTX 4090: its generated kernels by their bytes, a library's as they are."""
    models = json.loads((HERE / "inductor.json").read_text("utf-8"))["models"]
    gpu = GPUS["rtx4090"]
    constants = replace(assumed(gpu), host=3e-6)
    eager = {case.model: case for case in cases() if case.gpu == "rtx4090" and not case.compiled}
    found = []
    for case in cases():
        generated = models.get(f"{case.model} {case.size} {case.batch}")
        before = eager.get(case.model)
        if case.gpu != "rtx4090" or not case.compiled or generated is None or before is None:
            continue
        number, size = generated
        library = [one for one in _recorded(case, channels_last=True) if one.kind in _LIBRARY]
        device = sum(kernel(one, gpu, constants) for one in library)
        device += number * constants.launch + size / (gpu.bandwidth * 1e9 * constants.memory)
        time = max(device, constants.host * (number + len(library))) / case.batch
        found.append(
            Compiled(
                1 - case.true / before.true,
                1 - case.predicted / before.predicted,
                1 - time / before.predicted,
                case.true,
                case.predicted,
                time,
            )
        )
    return found


# --- grouped convolutions in channels_last -----------------------------------------------------------------------

_CHANNELS_LAST = "train-amp-nhwc"
_SOME, _HARDLY_ANY = 0.10, 0.02
"""Shares of a step that grouped convolutions take: models above the one show what they cost, those below have none."""


@dataclass(frozen=True)
class Grouped:
    """How much longer grouped convolutions take in channels_last, found on some families of models, judged on others."""

    factor: float
    families: int
    found_on: int
    count: int
    before: float
    after: float
    others: int
    rank_of_others: float
    """Of the models without any."""


def family(model: str) -> str:
    """`resnet` of `resnet50d`."""
    return model[: next((at for at, sign in enumerate(model) if not sign.isalpha()), len(model))]


def grouped() -> Grouped:
    """One factor for all grouped convolutions of training in channels_last (a cuDNN of 2022).

    It is the median, over the models of the families that are not judged, of what the published time leaves for them
    when all else takes what it takes in models without them.
    """
    rows = []
    for case in cases():
        if case.setting.startswith(_CHANNELS_LAST):
            gpu = GPUS[case.gpu]
            recorded = _recorded(case, channels_last=case.channels_last)
            parts = [(one.kind, kernel(one, gpu, assumed(gpu))) for one in recorded]
            whole = sum(time for _, time in parts)
            rows.append((case, whole, sum(time for kind, time in parts if kind == "grouped")))
    found_on = [row for row in rows if not held_out(family(row[0].model))]
    judged = [row for row in rows if held_out(family(row[0].model))]
    slower = statistics.median(
        case.true * case.batch / whole for case, whole, own in found_on if own < _HARDLY_ANY * whole
    )
    factors = [
        (case.true * case.batch / slower - whole + own) / own for case, whole, own in found_on if own > _SOME * whole
    ]
    factor = statistics.median(factors)

    def rank(of: Sequence[tuple[Case, float, float]], factor: float) -> float:
        predicted = [(whole + (factor - 1) * own) / case.batch for case, whole, own in of]
        return rank_correlation([case.true for case, *_ in of], predicted)

    others = [row for row in judged if row[2] < _HARDLY_ANY * row[1]]
    families = len({family(case.model) for case, *_ in judged})
    return Grouped(
        factor, families, len(factors), len(judged), rank(judged, 1.0), rank(judged, factor), len(others),
        rank(others, 1.0),
    )  # fmt: skip


def _recorded(case: Case, *, channels_last: bool) -> list[Operation]:
    rows = _models()[f"{case.model} {case.size} {case.mode}"]["eager"]
    return _operations(rows, case.batch, channels_last)


# --- the page ----------------------------------------------------------------------------------------------------


def page() -> str:
    sets = {one["name"].removeprefix("benchmark-"): one["source"] for one in _published()["sets"]}
    accuracies = accuracy()
    text = (HERE / "page.md").read_text("utf-8")
    parts = {
        "ACCURACY": _accuracies(accuracies, sets),
        "WHATIFS": _what_ifs(),
        "GPUS": _gpus(),
        "CASES": str(len(cases())),
        "TIMES": str(len(_published()["times"])),
        "MODELS": str(len({(case.model, case.size) for case in cases()})),
        "BARS": _bars(accuracies),
        "GROUPED": _grouped(),
        "COMPILED": _compiled(),
    }
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _published() -> dict[str, Any]:
    return dict(json.loads((HERE / "published.json").read_text("utf-8")))


def _accuracies(found: Sequence[Accuracy], sets: dict[str, str]) -> str:
    rows = [
        (
            "| published times | GPU | n | rank correlation | median error | 90th percentile | in the interval | "
            "median error, one factor fitted |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        shares = (one.median, one.worst_tenth, one.covered, one.scaled_median)
        cells = " | ".join(f"{share:.0%}" for share in shares)
        rows.append(
            f"| [{one.setting}]({sets[one.setting]}) | {_NAMES[one.gpu]} | {one.count} | {one.rank:.3f} | {cells} |"
        )
    return "\n".join(rows)


def _bars(found: Sequence[Accuracy]) -> str:
    inference = [one for one in found if one.setting.startswith("infer")]
    pooled = what_ifs()
    rank = rank_correlation([one.true for one in pooled], [one.predicted for one in pooled])
    ranks, medians = [one.rank for one in found], [one.median for one in inference]
    alone = [one.rank for one in inference]
    return "\n".join(
        (
            "| asked | measured |",
            "|---|---|",
            f"| rank correlation over held-out models at least .95 | {_span(ranks)}; inference alone {_span(alone)} |",
            f"| median error of inference without calibration at most 20 % | {min(medians):.0%} to {max(medians):.0%} |",
            f"| rank correlation of pooled what-ifs at least .75 | {rank:.2f} (n = {len(pooled)}) |",
        )
    )


def _grouped() -> str:
    one = grouped()
    return (
        f"One factor for them, {one.factor:.1f}, is the median of the {one.found_on} models whose step they are more than "
        f"a tenth of in the families of models that are not judged here (families are told by the first word of a name, "
        f"and divided by its hash). With it the {one.count} models of the other {one.families} families have a rank "
        f"correlation of {one.after:.3f}, without it {one.before:.3f}; the {one.others} of them that have no grouped "
        f"convolutions have {one.rank_of_others:.3f}."
    )


def _compiled() -> str:
    found = compiled()
    true = [one.true for one in found]
    always = [statistics.median(true[:number] + true[number + 1 :]) for number in range(len(true))]
    times = [one.time for one in found]
    rows = [
        (
            "| how the compiled step is priced | n | its time: rank correlation | median error | saved, median | "
            "rank correlation | median error | 90th percentile |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, predicted, saved in (
        (
            "with a fusion that is guessed, as above",
            [one.guessed_time for one in found],
            [one.guessed for one in found],
        ),
        ("by Inductor's own kernels and bytes", [one.lowered_time for one in found], [one.lowered for one in found]),
    ):
        errors = [abs(one - other) for one, other in zip(saved, true, strict=True)]
        off = statistics.median(abs(one / other - 1) for one, other in zip(predicted, times, strict=True))
        rows.append(
            f"| {name} | {len(found)} | {rank_correlation(times, predicted):.3f} | {off:.0%} | {statistics.median(saved):.0%} "
            f"| {rank_correlation(true, saved):.2f} | {statistics.median(errors) * 100:.0f} points "
            f"| {_quantile(errors, 0.9) * 100:.0f} points |"
        )
    errors = [abs(one - other) for one, other in zip(always, true, strict=True)]
    rows.append(
        f"| not at all: what the others saved, in the median | {len(found)} | | | {statistics.median(always):.0%} | "
        f"| {statistics.median(errors) * 100:.0f} points | {_quantile(errors, 0.9) * 100:.0f} points |"
    )
    return "\n".join(rows) + f"\n\nPublished is a median of {statistics.median(true):.0%}."


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"


def _what_ifs() -> str:
    pooled = what_ifs()
    groups: defaultdict[str, list[WhatIf]] = defaultdict(list)
    for one in pooled:
        groups[one.change].append(one)
    rows = [
        "| change | n | saved, median | predicted, median | rank correlation | median error | sign right | same band |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, group in [*sorted(groups.items()), ("all of them pooled", pooled)]:
        true, predicted = [one.true for one in group], [one.predicted for one in group]
        error = statistics.median(abs(one.true - one.predicted) for one in group)
        sign = sum((one.true > 0) == (one.predicted > 0) for one in group) / len(group)
        same = sum(band(max(one.true, 0.0)) == band(max(one.predicted, 0.0)) for one in group) / len(group)
        rank = f"{rank_correlation(true, predicted):.2f}" if len(group) >= _LEAST else ""
        rows.append(
            f"| {name} | {len(group)} | {statistics.median(true):.0%} | {statistics.median(predicted):.0%} | {rank} "
            f"| {error * 100:.0f} points | {sign:.0%} | {same:.0%} |"
        )
    said = []
    for apart in (0.03, 0.10, 0.20):
        total, right = ordered_right(pooled, apart)
        said.append(f"{right:.0%} of {total:,} pairs that are at least {apart * 100:.0f} points apart")
    return "\n".join(rows) + f"\n\nOf two changes the dearer one is told: {'; '.join(said)}."


def _gpus() -> str:
    rows = [
        "| `--gpu` | | half | TF32 | float32 | GB/s | pinned copies, GB/s | GiB | source |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows += [
        f"| `{name}` | {one.name} | {one.half:g} | {one.tf32:g} | {one.single:g} | {one.bandwidth:g} | {one.pcie:g} "
        f"| {one.memory} | [data sheet]({one.source}) |"
        for name, one in GPUS.items()
    ]
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> int:
    text = page()
    if "--check" in arguments:
        return int(text != PAGE.read_text("utf-8"))
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
