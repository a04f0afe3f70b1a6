"""Steps on two lanes: what holds of all of them, and a few that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchlint.messages.event import Operation
from torchlint.predict.changes import (
    Change,
    Lines,
    appended,
    in_lists,
    in_precision,
    overlapped,
    together,
    without,
    without_operators,
)
from torchlint.predict.constants import Constants, assumed
from torchlint.predict.estimate import Estimate
from torchlint.predict.gpus import GPUS, Gpu
from torchlint.predict.timeline import light, spans, step, tasks

_EPSILON = 1e-12
_KERNELS = ("matrix", "attention", "convolution", "grouped", "depthwise", "pointwise", "norm")
_COPIES = tuple(
    f"{pinned}-{blocking}" for pinned in ("pinned", "pageable") for blocking in ("blocking", "non-blocking")
)

_size = st.integers(0, 10**10)
_line = st.integers(1, 4)
_via = st.sampled_from(("", "", "torch/optim/adam.py:1 f"))
kernels = st.builds(
    Operation, st.sampled_from(_KERNELS), st.sampled_from(("op", "cat", "addcmul_", "_foreach_sqrt", "_foreach_mul_")), st.sampled_from(("float32", "bfloat16", "float64", "tf32")),
    st.integers(0, 10**13), _size, st.integers(1, 9), _size, st.just("train.py"), _line, _via,
    st.sampled_from(("", "", "train.py:2", "train.py:9")),
)  # fmt: skip
waits = st.builds(
    Operation, st.just("sync"), st.just("item"), file=st.just("train.py"), line=_line, launches=st.just(0)
)
copies = st.builds(
    Operation, st.sampled_from(("h2d", "d2h")), st.just("to"), st.sampled_from(_COPIES), bytes=_size,
    file=st.just("train.py"), line=_line, launches=st.just(0),
)  # fmt: skip
loaders = st.builds(Operation, st.just("data"), st.just("DataLoader"), bytes=st.integers(0, 10**6), launches=st.just(0))
operations = st.lists(st.one_of(kernels, kernels, waits, copies, loaders), max_size=30)
gpus = st.sampled_from(sorted(GPUS.values(), key=lambda gpu: gpu.name))
hosts = st.floats(1e-7, 1e-4)


quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def seconds(made: list[Operation], gpu: Gpu, constants: Constants) -> float:
    return step(tasks(made, gpu, constants)).seconds


@quick
@given(operations, gpus, hosts, st.data())
def test_what_is_taken_away_never_lengthens_a_step(
    made: list[Operation], gpu: Gpu, host: float, data: st.DataObject
) -> None:
    constants = replace(assumed(gpu), host=host)
    kept = data.draw(st.lists(st.sampled_from(range(len(made))), unique=True) if made else st.just([]))
    fewer = [made[position] for position in sorted(kept)]

    assert seconds(fewer, gpu, constants) <= seconds(made, gpu, constants) + _EPSILON


@quick
@given(operations, gpus, hosts, st.floats(1, 10), st.floats(1, 10))
def test_a_slower_host_or_device_never_shortens_a_step(
    made: list[Operation], gpu: Gpu, host: float, slower: float, narrower: float
) -> None:
    constants = replace(assumed(gpu), host=host)
    before = seconds(made, gpu, constants)

    assert seconds(made, gpu, replace(constants, host=host * slower)) >= before - _EPSILON
    assert seconds(made, replace(gpu, bandwidth=gpu.bandwidth / narrower), constants) >= before - _EPSILON
    assert seconds(made, replace(gpu, pcie=gpu.pcie / narrower), constants) >= before - _EPSILON
    assert seconds(made, replace(gpu, half=gpu.half / narrower), constants) >= before - _EPSILON


class Break(NamedTuple):
    """A graph break inside a fused kernel: where it cuts, what is written and read again, what the host does between."""

    place: float
    spilled: int
    resumes: int  # microseconds
    waits: bool


class Fused(NamedTuple):
    """What is one kernel unless graph breaks cut it."""

    kernel: Operation
    breaks: tuple[Break, ...]

    def cut(self, kept: frozenset[Break]) -> list[Operation]:
        """Its operations with those of its breaks: a kernel for each part, and the host's work between."""
        whole, found, begin = self.kernel, [], 0.0
        before = 0
        for one in [*(each for each in self.breaks if each in kept), None]:
            end, spilled = (one.place, one.spilled) if one is not None else (1.0, 0)
            flops, size, unordered = (
                int(value * end) - int(value * begin) for value in (whole.flops, whole.bytes, whole.unordered)
            )
            found.append(whole._replace(flops=flops, bytes=size + before + spilled, unordered=unordered))
            if one is not None:
                found.append(Operation("data", "resumed function", bytes=one.resumes, launches=0))
                found += [Operation("sync", "item", launches=0)] * one.waits
            begin, before = end, spilled
        return found


breaks = st.builds(Break, st.floats(0, 1), _size, st.integers(0, 1000), st.booleans())
fused = st.builds(
    Fused,
    kernels.map(lambda one: one._replace(launches=1)),
    st.lists(breaks, max_size=4, unique=True).map(lambda found: tuple(sorted(found))),
)


@quick
@given(st.lists(st.one_of(fused, operations), max_size=12), gpus, hosts, st.data())
def test_a_graph_break_less_never_lengthens_a_step(
    made: list[Fused | list[Operation]], gpu: Gpu, host: float, data: st.DataObject
) -> None:
    constants = replace(assumed(gpu), host=host)
    there = [one for part in made if isinstance(part, Fused) for one in part.breaks]
    kept = data.draw(st.lists(st.sampled_from(there), unique=True) if there else st.just([]))

    def timeline(breaks: list[Break]) -> list[Operation]:
        wanted = frozenset(breaks)
        return [one for part in made for one in (part.cut(wanted) if isinstance(part, Fused) else part)]

    assert seconds(timeline(kept), gpu, constants) <= seconds(timeline(there), gpu, constants) * (1 + 1e-9) + _EPSILON
    assert seconds(timeline([]), gpu, constants) <= seconds(timeline(kept), gpu, constants) * (1 + 1e-9) + _EPSILON


CHANGES: list[Change] = [
    without(("sync", "d2h")),
    without(("sync",), Lines("train.py", 2, 3)),
    without(("data",)),
    without_operators(("op", "zero_"), Lines("train.py", 1, 2)),
    appended(Lines("train.py", 2, 3, "")),
    in_lists(Lines("train.py", 2, 3)),
    overlapped(),
    in_precision("float32", "tf32"),
    in_precision("float64", "float32"),
]


@quick
@given(operations, gpus, st.lists(st.sampled_from(CHANGES), min_size=1, max_size=4, unique=True))
def test_a_saving_lies_between_nothing_and_the_step_and_all_save_more_than_one(
    made: list[Operation], gpu: Gpu, changes: list[Change]
) -> None:
    estimate = Estimate(tuple(made), gpu, assumed(gpu))
    single = [estimate.saving(change) for change in changes]
    joint = estimate.saving(together(changes))

    for saving in (*single, joint):
        assert 0 <= saving.share.low <= saving.share.middle <= saving.share.high <= 1
        assert saving.seconds.middle <= estimate.step.seconds
    assert joint.seconds.middle >= max(saving.seconds.middle for saving in single) - _EPSILON


@quick
@given(operations, gpus, hosts)
def test_a_step_is_no_shorter_than_either_lane_and_runs_like_its_picture(
    made: list[Operation], gpu: Gpu, host: float
) -> None:
    constants = replace(assumed(gpu), host=host)
    found = step(tasks(made, gpu, constants), sum(light(one, gpu) for one in made))
    drawn = spans(made, gpu, constants)

    assert found.seconds >= max(found.host, found.device) - _EPSILON
    for lane in ("host", "device"):
        own = [span for span in drawn if span.lane == lane]
        assert all(one.end <= other.start + 1e-9 for one, other in pairwise(own))


# --- by hand -----------------------------------------------------------------------------------------------------

_H100 = GPUS["h100"]
_PLAIN = replace(assumed(_H100), memory=1.0, matrix=1.0, launch=1e-9, host=10e-6, wait=10e-6, pageable=5.0)
_MILLISECOND = Operation("pointwise", "add", "float32", bytes=3_350_000_000)
_WAIT = Operation("sync", "item", launches=0)


def test_an_empty_step_takes_no_time() -> None:
    assert 0.0 == step([]).seconds


def test_a_wait_costs_a_large_step_almost_nothing_and_a_small_one_much() -> None:
    """The host is ahead by ten milliseconds of work, and loses the little that it did beside it; else it is what counts."""
    large, small = [_MILLISECOND] * 10, [_MILLISECOND._replace(bytes=33_500)] * 10

    assert seconds([*large, _WAIT], _H100, _PLAIN) == pytest.approx(10.03e-3, rel=1e-3)
    assert seconds(small, _H100, _PLAIN) == pytest.approx(100e-6, rel=1e-3)
    assert seconds([*small, _WAIT], _H100, _PLAIN) == pytest.approx(120e-6, rel=2e-2)


def test_a_copy_from_pageable_memory_holds_up_both_lanes_and_an_overlapped_one_neither_waits() -> None:
    copy = Operation("h2d", "to", "pageable-blocking", bytes=50_000_000, launches=0)
    estimate = Estimate((copy, _MILLISECOND), _H100, _PLAIN)

    assert estimate.step.seconds == pytest.approx(10e-3 + 1e-3, rel=0.02)
    assert estimate.saving(overlapped()).seconds.middle == pytest.approx(9e-3, rel=0.02)


def test_float32_without_tf32_is_several_times_slower() -> None:
    product = Operation("matrix", "mm", "float32", flops=10**12, bytes=10**6)
    saving = Estimate((product,), _H100, _PLAIN).saving(in_precision("float32", "tf32"))

    assert saving.share.middle == pytest.approx(1 - 67 / 494, rel=0.02)
    assert "large" == saving.band


def test_what_bounds_a_step_is_said_only_where_it_is_clear() -> None:
    device = Estimate((_MILLISECOND,) * 3, _H100, _PLAIN)
    host = Estimate((_MILLISECOND._replace(bytes=1000),) * 3, _H100, _PLAIN)
    neither = Estimate((_MILLISECOND._replace(bytes=33_500_000),) * 3, _H100, _PLAIN)

    assert ("device", "host", "") == (device.bound, host.bound, neither.bound)


def test_a_tensor_that_grows_is_written_to_instead() -> None:
    """Rows of a megabyte: each `cat` reads and writes all there are, and only one of them is new."""
    megabyte, at = 10**6, Lines("train.py", 4, 4)
    grown = [
        Operation("pointwise", "cat", bytes=2 * rows * megabyte, file="train.py", line=4) for rows in (1, 2, 3, 4, 1, 2)
    ]
    other, once = grown[0]._replace(line=5), grown[3:4]
    fewer = appended(at)([*grown[:4], other])

    assert [2 * megabyte] * 5 == [one.bytes for one in fewer]
    assert [2 * megabyte] * 4 == [one.bytes for one in appended(at)(grown)[:4]]
    assert [8 * megabyte // 3] == [one.bytes for one in appended(at)(once)], "what is new is not known"
    assert [] == [one for one, before in zip(appended()(grown), grown, strict=True) if one.bytes > before.bytes]
