"""What the text of a call says of a step, and what the call itself says."""

from __future__ import annotations

import functools

import pytest

from torchlint.program.project import Project
from torchlint.program.step_calls import parts_of_step
from torchlint.program.step_text import TRIGGER
from torchlint.program.steps import Steps

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
    is_step = any(parts_of_step(project, function, one) for one in function.flow.calls_named("step"))
    assert not is_step or TRIGGER.search(call.encode())


# Files


@pytest.mark.parametrize(
    "code",
    [
        "# loss.backward()",
        "x = 1  # then loss.backward()",
        '"""\n>>> loss.backward()\n"""',
        "class F(Function):\n    def forward(ctx, x): ctx.save_for_backward(x)\n    def backward(ctx, g): return g",
        "register_backward(f)",
        "scheduler.step()",
        "self.lr_scheduler.step()",
        "prof.step()\nenv.step()",
        "class Scheduler(Base):\n    def step(self): ...",
        "class Scheduler(Base):\n    def step(self): ...\nclass Base: ...",
        "def compute_loss(): ...",
        "# loss_scaler(loss, optimizer)",
        "print(loss, model, optimizer)",
        "print(loss, optimizer.lr)",
    ],
)
def test_files_that_take_no_step_are_not_parsed_for_it(code: str) -> None:
    project = Project({"a.py": code.encode})

    assert Steps(project).index.loops == {}
    assert not project.parsed


@pytest.mark.parametrize(
    "code",
    [
        "loss.backward()",
        "loss.\\\nbackward()",
        "accelerator.backward(loss)",
        "self.manual_backward(loss)",
        "torch.autograd.backward(loss)",
        "print('#'); loss.backward()",
        "optimizer.step()",
        "self.optimizers[0].step()",
        "get().step()",
        "scheduler.step(optimizer)",
        "optimizer_scheduled.step()",
        "loss_scaler(loss, optimizer, clip_grad=1)",
        "descend(\n    self.optims[0],\n    out.loss,\n)",
        "class A:\n    def training_step(self): ...",
        "class A(Optimizer):\n    def step(self): ...",
        "class A(torch.optim.Optimizer):\n    def step(self): ...",
        "class A(B):\n    def step(self): ...\nclass B(C): ...\nclass C(MyOptimizer): ...",
        "from x import Trainer as Base\nclass A(Base):\n    def compute_loss(self): ...\nclass B(Trainer): ...",
    ],
)
def test_files_that_may_take_a_step_are_parsed(code: str) -> None:
    project = Project({"a.py": code.encode})

    _ = Steps(project).index

    assert project.parsed


def test_bases_in_other_files_are_seen() -> None:
    files = {
        "a.py": b"from b import B as Base\nclass A(Base):\n    def compute_loss(self, x): ...",
        "b.py": b"from c import C\nclass B(C): ...",
        "c.py": b"import lib\nclass C(lib.SomeTrainer): ...",
    }
    project = Project({path: functools.partial(bytes, text) for path, text in files.items()})

    assert ("a.py", "A.compute_loss") in {place[:2] for place in Steps(project).index.functions}
