"""Which models a file freezes."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts.frozen import is_frozen, is_made_frozen
from torchlint.rule.site import Site


@pytest.mark.parametrize(
    ("code", "frozen"),
    [
        ("net = load()", False),
        ("other.requires_grad_(False)\nnet = load()", False),
        ("for p in net.parameters():\n    if p.requires_grad:\n        show(p)", False),
        ("assert net.weight.requires_grad == True", False),
        ("set_requires_grad(net, False)\nset_requires_grad(net, True)", False),
        ("network.requires_grad_(False)", False),
        ("for p in net.parameters():\n    p.requires_grad = True", False),
        ("net.requires_grad_(True)\nnet.head.requires_grad_()", False),
        ("net.requires_grad_(True)\nnet.requires_grad_(train)", True),
        ("net.freeze_backbone()", False),
        ("net.freeze()\nfit()\nnet.unfreeze()", False),
        ("other.net_two.freeze()", False),
        ("for p in net.parameters():\n    p.grad.detach_()", False),
        ("for p in other.parameters():\n    p.detach_()", False),
        ("if ema:\n    for p in net.parameters():\n        p.detach_()", False),
        ("net(x).detach_()", False),
        ("for p in net.parameters():\n    p.detach_()", True),
        ("net.freeze()", True),
        ("self.net.freeze_all()", True),
        ("net.requires_grad_(False)", True),
        ("net.weight.requires_grad = False", True),
        ("for p in net.parameters():\n    p.requires_grad = False", True),
        ("for p in net.parameters():\n\n    p.requires_grad_(False)", True),
        ("set_requires_grad(net, False)", True),
        ("disable_requires_grad(net)", True),
    ],
)
def test_what_is_frozen(site_of: Callable[[str], Site], code: str, frozen: bool) -> None:
    assert is_frozen(site_of(f"{code}\n0\n"), "net") is frozen


def test_a_base_class_freezes_for_its_heirs(site_of: Callable[[str], Site]) -> None:
    base = "class Base:\n    def freeze(self):\n        for p in self.net.parameters():\n            p.requires_grad = False\n"
    site = site_of(f"{base}class Agent(Base):\n    def act(self, x):\n        self.net(x)\n")

    assert is_frozen(site, "net")


MAKER = """\
def create(ema=False, frozen=True):
    model = load()
    if ema:
        for p in model.parameters():
            p.detach_()
    return model
def off(part):
    model = load()
    for p in part.parameters():
        p.requires_grad = False
    return model
def step(net, x):
    net(x)
"""


@pytest.mark.parametrize(
    ("code", "frozen"),
    [
        ("net = create()", False),
        ("net = create(frozen=True)", False),
        ("net = create(ema=flag)", False),
        ("net = off(part)", False),
        ("net = create(True)\nif again:\n    net = create()", False),
        ("net = copy.deepcopy(create(ema=True))", False),
        ("net = create(True)", True),
        ("net = create(ema=True)\nnet = nn.DataParallel(net)\nnet = net.cuda()", True),
    ],
)
def test_what_makes_a_model_freezes_it(site_of: Callable[[str], Site], code: str, frozen: bool) -> None:
    site = site_of(f"{MAKER}{code}\nnet(x)\n")
    net = ast.parse("net").body[0]
    assert isinstance(net, ast.Expr)

    assert is_made_frozen(site, net.value) is frozen


@pytest.mark.parametrize(("other", "frozen"), [("create(True)", True), ("create()", False)])
def test_all_callers_give_what_was_made_frozen(site_of: Callable[[str], Site], other: str, frozen: bool) -> None:
    site = site_of(f"{MAKER}one = create(ema=True)\nother = {other}\nstep(one, x)\nstep(other, x)\n")
    step = next(one for one in site.module.functions if one.name == "step")
    (call,) = step.flow.calls

    assert is_made_frozen(site.at(step, call), call.func) is frozen
