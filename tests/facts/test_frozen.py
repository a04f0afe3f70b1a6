"""Which models a file freezes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchlint.facts.frozen import is_frozen
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
