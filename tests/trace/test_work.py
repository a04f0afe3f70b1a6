"""What operators ask of a GPU is worked out once for arguments that are alike, and anew for all others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.trace.eager.work import Work, WorkLog, work_of
from torchlint.trace.program.recorder import Recorder

pytestmark = pytest.mark.torch
aten = torch.ops.aten
Call = tuple[Callable[..., object], tuple[object, ...]]


@pytest.fixture
def log(tmp_path: Path) -> WorkLog:
    return WorkLog(Recorder(tmp_path / "events.jsonl"))


def of(log: WorkLog, call: Call) -> Work | None:
    func, args = call
    return log.work(func, args, {}, func(*args))


def test_views_and_new_memory_are_no_work(log: WorkLog) -> None:
    assert [None] * 3 == [
        of(log, call)
        for call in (
            (aten.t.default, (torch.ones(2, 3),)),
            (aten.empty_like.default, (torch.ones(2),)),
            (aten.detach.default, (torch.ones(2),)),
        )
    ]


def test_the_same_call_again_is_the_same_work(log: WorkLog) -> None:
    add = aten.add.Tensor, (torch.ones(8), torch.ones(8))
    assert of(log, add) is of(log, (aten.add.Tensor, (torch.zeros(8), torch.zeros(8))))
    assert work_of(aten.add.Tensor, add[1], {}, torch.ones(8)) == of(log, add)


def test_a_result_whose_size_depends_on_the_data_is_worked_out_for_itself(log: WorkLog) -> None:
    x = torch.ones(8)
    few = of(log, (aten.index.Tensor, (x, [torch.arange(8) < 2])))
    many = of(log, (aten.index.Tensor, (x, [torch.arange(8) < 6])))
    assert few is not None and many is not None
    assert 2 * 4 * (6 - 2) == many.size - few.size


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.ones(4, 8), torch.ones(8, 4)),
        (torch.ones(8), torch.ones(8, dtype=torch.float64)),
        (torch.ones(8), torch.ones(1).expand(8)),
    ],
    ids=["shape", "dtype", "stride"],
)
def test_tensors_that_differ_are_worked_out_for_themselves(log: WorkLog, one: Any, other: Any) -> None:
    first, second = of(log, (aten.neg.default, (one,))), of(log, (aten.neg.default, (other,)))
    assert first is not second
    assert [work_of(aten.neg.default, (x,), {}, -x) for x in (one, other)] == [first, second]


def test_arguments_that_are_no_tensors_count_too(log: WorkLog) -> None:
    image, weight = torch.ones(1, 4, 8, 8), torch.ones(4, 1, 3, 3)
    whole = torch.ones(4, 4, 3, 3)
    plain = of(log, (aten.convolution.default, (image, whole, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)))
    grouped = of(log, (aten.convolution.default, (image, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)))
    assert plain is not None and grouped is not None
    assert ("convolution", "depthwise") == (plain.kind, grouped.kind)
