"""Optimizers of torch: where each was made, and whether it takes its parameters one by one."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from torchlint.messages.event import Event
from torchlint.trace.eager import private
from torchlint.trace.eager.work import WorkLog
from torchlint.trace.program.recorder import Place, Recorder, user_frame

_SAID = {
    "single": "one after the other",
    "foreach": "in kernels that take many",
    "fused": "in one kernel that takes many",
    "few": "on a device",
}


@contextlib.contextmanager
def optimizers(recorder: Recorder, work: WorkLog | None) -> Iterator[None]:
    """Record each optimizer at its first step, at the line that made it; `work` is told whose step its operators are."""
    made: weakref.WeakKeyDictionary[Optimizer, Place] = weakref.WeakKeyDictionary()
    told: weakref.WeakSet[Optimizer] = weakref.WeakSet()
    real_init = Optimizer.__init__

    def init(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        real_init(optimizer, *args, **kwargs)
        made[optimizer] = user_frame() or Place("", 0, "")

    def begins(optimizer: Optimizer, _args: object, _kwargs: object) -> None:
        place = made.get(optimizer)
        if place is None or torch.compiler.is_compiling():
            return
        if work is not None:
            work.owner = f"{place.file}:{place.line}"
        if optimizer not in told:
            told.add(optimizer)
            if (how := _how(optimizer)) is not None:
                said = f"{how['parameters']} parameter{'' if how['parameters'] == 1 else 's'}"
                detail = f"{said} {_SAID[str(how['how'])]}"
                recorder.emit(
                    Event("optimizer", *place, type(optimizer).__name__, detail, step=recorder.step, data=how)
                )

    def ends(_optimizer: Optimizer, _args: object, _kwargs: object) -> None:
        if work is not None:
            work.owner = ""

    hooks = register_optimizer_step_pre_hook(begins), register_optimizer_step_post_hook(ends)
    with mock.patch.object(Optimizer, "__init__", init):
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _how(optimizer: Optimizer) -> dict[str, object] | None:
    """How it updates its parameters on a device, and how many; None of one that has no such choice.

    `single`: a kernel for each and each operation; `foreach` and `fused`: kernels that take many; `few`: less than two.
    Of groups that differ the one with most parameters counts.
    """
    groups = [
        (sum(one.grad is not None and one.is_cuda for one in group["params"]), group)
        for group in optimizer.param_groups
    ]
    count, most = max(groups, key=lambda each: each[0])
    if "foreach" not in most:
        return None
    return {"how": _of_group(most) if count > 1 else "few", "parameters": count}


def _of_group(group: dict[str, Any]) -> str:
    if group.get("fused"):
        return "fused"
    foreach = group["foreach"]
    if foreach is None and not group.get("fused"):
        foreach = private.foreach_by_default(group["params"], bool(group.get("differentiable")))
    return "foreach" if foreach else "single"
