"""Checks of a traced run that no rule makes."""

from __future__ import annotations

from torchlint.evidence.checks import check
from torchlint.evidence.steady import Steady
from torchlint.messages.event import Event

FACTS = {
    "find_unused_parameters": 0,
    "unused_parameter_size": 0,
    "can_set_static_graph": False,
    "static_graph": False,
    "gradient_as_bucket_view": 1,
}


def at(line: int, kind: str, name: str = "", step: int = 3, **more: object) -> Event:
    return Event(kind, "train.py", line, "<module>", name, step=step, **more)  # type: ignore[arg-type]


def found(*events: Event) -> list[tuple[str, int, str, str]]:
    run = [*(Event("step", step=step, data={"seconds": float(step)}) for step in range(1, 5)), *events]
    return [(each.code, each.event.line, each.message, each.severity) for each in check(run, Steady.of(run))]


def test_a_quiet_run() -> None:
    assert [] == found()


def test_a_fast_loader() -> None:
    assert [] == found(*(at(3, "data", step=step, data={"seconds": 0.09}) for step in range(4)))


def test_a_loader_that_is_slow_in_the_warm_up_only() -> None:
    assert [] == found(at(3, "data", step=0, data={"seconds": 0.9}))


def test_a_slow_loader() -> None:
    message = "The program waits for its DataLoader {} of the time between steps on this machine."

    assert [("TLT05", 3, message.format("10%"), "info")] == found(
        *(at(3, "data", step=step, data={"seconds": 0.1}) for step in range(4))
    )
    assert [("TLT05", 3, message.format("50%"), "warning")] == found(
        *(at(3, "data", step=step, data={"seconds": 0.5}) for step in range(4))
    )


def test_skipped_cuda_graphs() -> None:
    skip = Event("cudagraph_skip", detail="3 times", count=3, step=4)

    assert [("TLT07", 0, "CUDA graphs were skipped: 3 times.", "warning")] == found(skip)


def test_retries_of_the_allocator_before_steady_state_are_warm_up() -> None:
    assert [] == found(*(Event("memory", size=1, step=step, data={"peak": 1, "retries": 2}) for step in (2, 3)))


def test_retries_of_the_allocator() -> None:
    message = "The allocator had to free its cache and try again 2 times in steady state: memory is short."

    assert [("TLT08", 0, message, "warning")] == found(
        *(Event("memory", size=1, step=step, data={"peak": 1, "retries": step}) for step in (2, 3, 4))
    )


def test_tf32_is_told_once_and_float64_at_each_line() -> None:
    slow = "Matrix products in float64, for which most GPUs have few units (1 a step)."
    switch = "Matrix products in float32 without TF32 (torch.set_float32_matmul_precision)."

    assert [("TLT11", 4, switch, "info"), ("TLT11", 6, slow, "info"), ("TLT11", 7, slow, "info")] == found(
        at(4, "precision", "float32", 0),
        *(at(line, "precision", "float64", step) for line in (6, 7) for step in (2, 3)),
    )


def test_ddp_as_it_should_be() -> None:
    assert [] == found(at(5, "ddp", "Net", data=FACTS))
    assert [] == found(at(5, "ddp", "Net", data=FACTS | {"find_unused_parameters": 1, "unused_parameter_size": 64}))
    assert [] == found(at(5, "ddp", "Net", data=FACTS | {"can_set_static_graph": True, "static_graph": True}))


def test_ddp_options() -> None:
    unused = "find_unused_parameters=True walks the graph in every step, and no parameter was unused."
    static = "The graph is the same in every step: static_graph=True can be set."
    view = "Gradients are copied into buckets: gradient_as_bucket_view=True saves the copy and the memory."
    facts = FACTS | {"find_unused_parameters": 1, "can_set_static_graph": True, "gradient_as_bucket_view": 0}

    assert [("TLT13", 5, unused, "warning"), ("TLT13", 5, static, "info"), ("TLT13", 5, view, "info")] == found(
        at(5, "ddp", "Net", data=facts)
    )
