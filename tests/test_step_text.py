"""What the text of a call says of a step, and what the call itself says."""

from __future__ import annotations

import pytest

from torchlint.program.project import Project
from torchlint.program.steps import TRIGGER, Steps

MAY_BE = [
    "optimizer.step()",
    "scaler.step(optimizer)",
    "scaler.step(optimizer,)",
    "scaler.step(optimizer , )",
    "optimizer.step(closure)",
    "optimizer.step(lambda a, b: 0)",
    "optimizer.step(closure=f, x=1)",
    "optimizer.step(**a, **b)",
    "optimizer.step(closure=closure)",
    "scaler.step(self.optimizers[0])",
    "scaler.step(get(a, b))",
    "scaler.step('a', b)",
    "scaler.step(x == y, z)",
]
IS_NONE = [
    "scheduler.step(noise, t, x)",
    "scheduler.step(noise_pred[0], t, latents, **extra)",
    "scheduler.step(\n    noise,\n    t,\n    x,\n    return_dict=False,\n)",
    "env.step(action, render=True)",
    "env.step(agent.act(state), 1)",
    "env.step(*given, 1)",
]


@pytest.mark.parametrize("call", MAY_BE)
def test_what_may_be_a_step_is_looked_at(call: str) -> None:
    assert TRIGGER.search(call.encode())


@pytest.mark.parametrize("call", IS_NONE)
def test_what_takes_a_second_argument_is_no_step(call: str) -> None:
    assert TRIGGER.search(call.encode()) is None


@pytest.mark.parametrize("call", [*MAY_BE, *IS_NONE])
def test_no_call_is_a_step_that_the_text_says_is_none(call: str) -> None:
    text = f"def f():\n    for x in y:\n        {call}\n"
    project = Project({"a.py": text.encode})
    module = project.module("a.py")
    assert module is not None
    function = module.functions[1]
    is_step = any(Steps(project)._steps(function, one) for one in function.flow.calls_named("step"))
    assert not is_step or TRIGGER.search(call.encode())
