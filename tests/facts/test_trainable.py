"""Which calls run a model that has something to train."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import trainable
from torchlint.rule.site import Site


@pytest.mark.parametrize(
    ("made", "weights"),
    [
        ("nn.ReLU()", False),
        ("nn.Sequential(nn.ReLU(), nn.Flatten())", False),
        ("Inner()", False),
        ("nn.Linear(2, 2)", True),
        ("nn.Parameter(torch.ones(2))", True),
        ("Unknown(2)", True),
        ("given(2)", False),
    ],
)
def test_modules_with_weights(site_of: Callable[[str], Site], made: str, weights: bool) -> None:
    site = site_of(
        "class Inner(nn.Module):\n    def forward(self, x):\n        return F.relu(x)\n"
        f"class Net(nn.Module):\n    def __init__(self, given):\n        self.part = {made}\n0\n"
    )

    assert trainable.has_weights(site, site.module.top_classes["Net"]) is weights


def test_what_a_module_is_given_may_have_weights(site_of: Callable[[str], Site]) -> None:
    site = site_of("class Net(nn.Module):\n    def forward(self, x):\n        return self.inner(x)\n0\n")

    assert trainable.has_weights(site, site.module.top_classes["Net"])


@pytest.mark.parametrize(
    ("call", "runs"),
    [
        ("net.eval()", False),
        ("net.parameters()", False),
        ("net.quiet(x)", False),
        ("net.attack(x)", False),
        ("net(x, training=False)", False),
        ("nn.CrossEntropyLoss()(x, x)", False),
        ("nn.Softmax(1)(x)", False),
        ("other(x)", False),
        ("net(x)", True),
        ("net.predict(x)", True),
    ],
)
def test_calls_that_run_a_model(site_of: Callable[[str], Site], call: str, runs: bool) -> None:
    site = site_of(
        "class Net(nn.Module):\n"
        "    def __init__(self):\n        self.layer = nn.Linear(2, 2)\n"
        "    def predict(self, x):\n        return self.layer(x)\n"
        "    def quiet(self, x):\n        with torch.no_grad():\n            return self.layer(x)\n"
        "    def attack(self, x):\n        return torch.autograd.grad(self.layer(x).sum(), x)\n"
        f"net = Net()\n{call}\n"
    )
    assert isinstance(site.target, ast.Call)

    assert trainable.runs_trainable(site, site.target) is runs


@pytest.mark.parametrize(
    ("body", "last", "lines"),
    [
        ("y = net(x)", "x", []),
        ("y = net(x)\nz = other(x)", "z", []),
        ("y = net(x)", "y + 1", [1]),
        ("y = net(x)\nz = 2 * y", "z", [1]),
        ("ys = []\nys.append(net(x))", "torch.stack(ys)", [2]),
        ("y = 1", "net(net(x))", [2, 2]),
    ],
)
def test_the_models_that_a_value_comes_from(
    site_of: Callable[[str], Site], body: str, last: str, lines: list[int]
) -> None:
    site = site_of(f"net = nn.Linear(2, 2)\n{body}\n{last}\n")
    assert isinstance(site.target, ast.expr)
    first = site.target.lineno - 1 - len(body.splitlines())

    assert [call.lineno - first for call in trainable.sources(site, site.target)] == lines
