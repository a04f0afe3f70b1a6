"""What operators ask of a GPU is worked out once for arguments that are alike, and anew for all others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

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


# --- what an operator asks of a GPU ------------------------------------------------------------------------------


def backward(layer: Any, size: int = 4) -> Work:
    """The work of a convolution's backward pass."""
    found = []

    class Noting(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if func._overloadpacket.__name__ == "convolution_backward":
                found.append(work_of(func, args, kwargs or {}, result))
            return result

    made = layer(torch.ones(2, 8, size, size, requires_grad=True))
    with Noting():  # type: ignore[no-untyped-call]
        made.backward(torch.ones_like(made))
    (work,) = found
    assert work is not None
    return work


@pytest.mark.parametrize("kind", ["Conv2d", "ConvTranspose2d"])
@pytest.mark.parametrize(("groups", "stride", "kernel"), [(1, 1, 3), (1, 2, 3), (2, 1, 3), (8, 1, 3), (8, 2, 1)])
def test_a_convolution_s_backward_pass_is_two_of_it_whatever_its_groups(
    kind: str, groups: int, stride: int, kernel: int
) -> None:
    layer = getattr(torch.nn, kind)(8, 16, kernel, stride=stride, groups=groups, bias=False)
    forward = FlopCounterMode(display=False)
    with forward:
        layer(torch.ones(2, 8, 4, 4))

    assert 2 * forward.get_total_flops() == backward(layer).flops


def test_a_convolution_s_gradients_read_what_comes_back_once_each() -> None:
    """Input and output are 2 x 8 x 4 x 4 numbers, the weights 64: read for both gradients, and written."""
    plane, weight, number = 2 * 8 * 4 * 4, 64, 4

    def size(bias: bool, frozen: bool = False) -> int:
        layer = torch.nn.Conv2d(8, 8, 1, bias=bias)
        layer.weight.requires_grad = not frozen
        return backward(layer).size

    assert number * (2 * plane + plane + weight + plane + weight) == size(bias=False)
    assert number * (plane + plane + weight + plane) == size(bias=False, frozen=True)
    assert number * (3 * plane + plane + weight + plane + weight + 8) == size(bias=True)


def test_a_batch_is_read_for_its_statistics_in_training_alone(log: WorkLog) -> None:
    x, ones = torch.ones(2, 8, 4, 4), torch.ones(8)

    def size(training: bool) -> int:
        work = of(
            log, (aten.native_batch_norm.default, (x, ones, ones, ones.clone(), ones.clone(), training, 0.1, 1e-5))
        )
        assert work is not None
        return work.size

    assert x.nbytes == size(True) - size(False) - (2 * ones.nbytes)  # and its statistics are written


def test_a_norm_s_backward_pass_reads_twice(log: WorkLog) -> None:
    x, weight, mean = torch.ones(4, 16), torch.ones(16), torch.ones(4, 1)
    call = aten.native_layer_norm_backward.default, (x, x, [16], mean, mean, weight, weight, [True, True, True])
    work = of(log, call)
    assert work is not None
    assert 5 * x.nbytes + 2 * mean.nbytes + 4 * weight.nbytes == work.size
