"""What a traced run says should be done first."""

from __future__ import annotations

import pytest

from torchlint.evidence.advice import Advice, Recommendation, advise
from torchlint.evidence.checks import data_share
from torchlint.evidence.steady import Steady
from torchlint.messages.event import Event

PINNED = {"pinned": True, "blocking": True}
PAGEABLE = {"pinned": False, "blocking": True}
KEEP = "Keep what `item` reads on the device, or read it every few steps."


def at(line: int, kind: str, name: str = "", step: int = 3, **more: object) -> Event:
    return Event(kind, "train.py", line, "<module>", name, step=step, **more)  # type: ignore[arg-type]


def every_step(line: int, kind: str, name: str = "", **more: object) -> list[Event]:
    return [at(line, kind, name, step, **more) for step in range(4)]


def run(*events: Event) -> list[Event]:
    return [*(Event("step", step=step, data={"seconds": float(step)}) for step in range(1, 5)), *events]


def test_a_quiet_run_needs_no_advice() -> None:
    assert Advice("", (), ()) == advise(run())


def test_what_happened_in_the_warm_up_is_no_bottleneck() -> None:
    assert Advice("", (), ()) == advise(run(at(4, "sync", "item", 0), at(2, "recompile", "size", 1)))


def test_overlapped_copies_are_no_bottleneck() -> None:
    assert Advice("", (), ()) == advise(
        run(*every_step(3, "h2d", "to", data={"pinned": True, "blocking": False}, size=2**20))
    )


def test_waits_of_every_step_come_before_seldom_ones() -> None:
    assert Advice(
        "host-device synchronization",
        ("The host waits for the device 1.5 times a step, on 2 lines.",),
        (Recommendation("High", KEEP, ("train.py", 4)), Recommendation("Low", KEEP, ("train.py", 5))),
    ) == advise(run(*every_step(4, "sync", "item"), at(5, "sync", "item", 3)))


@pytest.mark.parametrize(
    ("kind", "name", "data", "size", "expected"),
    [
        ("h2d", "to", PINNED, 2**20, ("High", "Copy with non_blocking=True: the batch is pinned already.")),
        (
            "h2d",
            "to",
            PAGEABLE,
            2**20,
            (
                "High",
                "Make this tensor on the device, or copy from pinned memory (pin_memory()) with non_blocking=True.",
            ),
        ),
        ("h2d", "tensor", PAGEABLE, 8, ("Medium", "Make this tensor on the device, or once before the loop.")),
        ("d2h", "cpu", PAGEABLE, 8, ("Medium", "Leave the result on the device, or copy it every few steps.")),
    ],
)
def test_each_copy_has_its_own_advice(
    kind: str, name: str, data: dict[str, object], size: int, expected: tuple[str, str]
) -> None:
    advice = advise(run(*every_step(3, kind, name, data=data, size=size)))

    assert ("blocking copies", (Recommendation(*expected, ("train.py", 3)),)) == (  # type: ignore[arg-type]
        advice.bottleneck,
        advice.recommendations,
    )


def test_what_a_loader_gives_is_pinned_by_the_loader() -> None:
    copied = every_step(3, "h2d", "cuda", data=PAGEABLE, size=8)
    loaded = at(2, "data", "DataLoader", 1, data={"seconds": 0.0})

    assert [one.text for one in advise(run(*copied, loaded)).recommendations] == [
        "Let the DataLoader pin (pin_memory=True) and copy with non_blocking=True."
    ]


@pytest.mark.parametrize(
    ("name", "via", "expected"),
    [
        ("item", "torch/nn/utils/clip_grad.py:120 clip", KEEP),
        ("barrier", "", "Take the barrier out of the step: collectives wait for one another by themselves."),
        ("item", "torch/distributions/half_cauchy.py:60 f", KEEP),
        (
            "bool",
            "torch/distributions/distribution.py:76 __init__",
            "Pass validate_args=False: the distribution reads its tensors to check them.",
        ),
        (
            "mask",
            "",
            "Avoid a mask as index: the host waits to know how many elements are chosen (torch.where keeps the shape).",
        ),
        (
            "all_reduce",
            "torch/distributed/distributed_c10d.py:3211 all_reduce",
            "Use NCCL for tensors of the device: gloo sends them by way of the host, which waits.",
        ),
        (
            "all_gather_object",
            "torch/distributed/distributed_c10d.py:3514 all_gather_object",
            "Send tensors in place of objects, or send them every few steps.",
        ),
        (
            "item",
            "somelib/fit.py:3 fit",
            "`item` is called inside somelib/fit.py:3 fit: look for an option that switches it off, or call it less often.",
        ),
    ],
)
def test_a_wait_is_told_by_who_asks_for_it(name: str, via: str, expected: str) -> None:
    assert [expected] == [
        one.text for one in advise(run(*every_step(4, "sync", name, data={"via": via}))).recommendations
    ]


@pytest.mark.parametrize(
    ("kind", "name", "via", "expected"),
    [
        (
            "h2d",
            "to",
            "somelib/fit.py:3 fit",
            "`to` is called inside somelib/fit.py:3 fit: give it what is on the device, or call it less often.",
        ),
        (
            "d2h",
            "cpu",
            "somelib/fit.py:3 fit",
            "`cpu` is called inside somelib/fit.py:3 fit: look for an option that switches it off, or call it less often.",
        ),
        (
            "h2d",
            "to",
            "torch/distributed/distributed_c10d.py:3410 _object_to_tensor",
            "Send tensors in place of objects, or send them every few steps.",
        ),
        ("d2h", "cpu", "torch/_tensor.py:3 f", "Leave the result on the device, or copy it every few steps."),
    ],
)
def test_a_copy_of_a_library_is_not_the_programs_to_change(kind: str, name: str, via: str, expected: str) -> None:
    copies = every_step(3, kind, name, data={**PAGEABLE, "via": via}, size=8)

    assert [expected] == [one.text for one in advise(run(*copies)).recommendations]


def test_what_two_events_of_a_line_need_is_said_once() -> None:
    twice = [
        at(4, "sync", "all_gather_object", step, data={"via": f"torch/distributed/c.py:{n} f"})
        for step in range(4)
        for n in (1, 2)
    ]

    assert ["Send tensors in place of objects, or send them every few steps."] == [
        one.text for one in advise(run(*twice)).recommendations
    ]


def test_a_skipped_function_is_worse_than_a_wait() -> None:
    skipped = at(2, "graph_break", "GB0059", 0, detail="print", data={"frame_skipped": True})
    advice = advise(run(*every_step(4, "sync", "item"), skipped))

    assert "skipped compilation" == advice.bottleneck
    assert (
        "A graph break makes 1 compiled function run eagerly.",
        "The host waits for the device once a step, on 1 line.",
    ) == advice.evidence


def test_the_recompile_limit_is_the_worst() -> None:
    skipped = at(2, "graph_break", "GB0059", 0, detail="print", data={"frame_skipped": True})
    advice = advise(run(skipped, at(9, "recompile_limit", "recompile_limit", 3)))

    assert "recompilation" == advice.bottleneck
    assert "torch.compile gave up after recompile limit." == advice.evidence[0]


def test_many_launches() -> None:
    advice = advise(run(*every_step(2, "graph", "0/0", data={"triton": 200, "extern": 100})))

    assert ("kernel launches", ("Compiled code launches 300 kernels a step.",)) == (advice.bottleneck, advice.evidence)


def test_the_share_of_waiting_for_data() -> None:
    waits = [at(3, "data", step=step, data={"seconds": 0.25}) for step in range(4)]

    assert 0.25 == data_share(run(*waits), Steady(2, 4))
    assert 0.0 == data_share(waits, Steady(0, 1, whole=True))


def test_waiting_for_data_is_a_bottleneck_from_a_tenth_on() -> None:
    slow = advise(run(*(at(3, "data", step=step, data={"seconds": 0.6}) for step in range(4))))
    fast = advise(run(*(at(3, "data", step=step, data={"seconds": 0.05}) for step in range(4))))

    assert ("data loading", "") == (slow.bottleneck, fast.bottleneck)
    assert ("The program waits for its DataLoader 60% of the time between steps on this machine.",) == slow.evidence


def test_a_loader_that_takes_most_of_the_time_comes_before_many_waits() -> None:
    waits = every_step(9, "sync", "item", count=12)

    def loader(seconds: float) -> list[Event]:
        return every_step(3, "data", data={"seconds": seconds})

    assert "data loading" == advise(run(*waits, *loader(0.7))).bottleneck
    assert "host-device synchronization" == advise(run(*waits, *loader(0.3))).bottleneck


def test_moving_a_module_is_set_up_where_no_steps_are_known() -> None:
    moved = at(3, "h2d", "to", 0, size=2**20, data={**PAGEABLE, "module": True})
    batch = at(4, "h2d", "to", 0, size=2**20, data=PAGEABLE)

    assert Advice("", (), ()) == advise([moved])
    assert [("train.py", 4)] == [todo.place for todo in advise([moved, batch]).recommendations]
    every = every_step(3, "h2d", "to", size=2**20, data={**PAGEABLE, "module": True})
    assert "blocking copies" == advise(run(*every)).bottleneck


def test_a_wait_inside_a_library_is_not_the_users_to_take_out() -> None:
    (todo,) = advise(run(*every_step(4, "sync", "item", data={"via": "lib/loop.py:8 log"}))).recommendations

    assert todo.text == (
        "`item` is called inside lib/loop.py:8 log: look for an option that switches it off, or call it less often."
    )
