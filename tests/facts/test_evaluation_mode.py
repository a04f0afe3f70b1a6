"""Which model a call switches to evaluation, and what runs it."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import evaluation_mode
from torchlint.rule.site import Site

PARTS = """\
def helper(model, x, train=False):
    if train:
        model(x).sum().backward()
    else:
        return model(x)

def trains(model, x):
    model(x).sum().backward()

def measure(model):
    return model.parameters()

"""


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("load().eval()", None),
        ("a = b = load().eval()", None),
        ("net.eval()", "net"),
        ("self.net.cuda().eval()", "self.net"),
        ("net = load().eval().cuda()", "net"),
    ],
)
def test_what_is_switched(site_of: Callable[[str], Site], statement: str, name: str | None) -> None:
    site = site_of(f"def f(self, net):\n    {statement}\n    0\n")
    (call,) = site.flow.calls_named("eval")

    assert evaluation_mode.switched(site, call) == (name.split(".") if name is not None else None)


@pytest.mark.parametrize(
    ("call", "runs"),
    [
        ("other(x)", False),
        ("net.parameters()", False),
        ("trains(net, x)", False),
        ("measure(net)", False),
        ("helper(net, x, train=True)", False),
        ("helper(x, net)", False),
        ("net(x)", True),
        ("helper(net, x)", True),
        ("helper(net, x, train=False)", True),
    ],
)
def test_what_runs_the_model(site_of: Callable[[str], Site], call: str, runs: bool) -> None:
    site = site_of(f"{PARTS}def f(net, x):\n    {call}\n")
    assert isinstance(site.target, ast.Call)

    assert evaluation_mode.runs(site, site.target, ["net"]) is runs


def test_what_a_method_beside_it_runs(site_of: Callable[[str], Site]) -> None:
    site = site_of(
        "class Agent:\n    def act(self, x):\n        return self.net(x)\n    def f(self, x):\n        self.act(x)\n"
    )
    assert isinstance(site.target, ast.Call)

    assert evaluation_mode.runs(site, site.target, ["self", "net"])
    assert not evaluation_mode.runs(site, site.target, ["self", "other"])


@pytest.mark.parametrize(("between", "switched"), [("pass", False), ("other.train()", False), ("net.train()", True)])
def test_a_model_that_is_switched_back(site_of: Callable[[str], Site], between: str, switched: bool) -> None:
    site = site_of(f"def f(net, x):\n    net.eval()\n    {between}\n    net(x)\n")
    assert isinstance(site.target, ast.Call)
    first = site.flow.calls_named("eval")[0]

    assert evaluation_mode.switched_between(site, ["net"], first, site.target) is switched


@pytest.mark.parametrize(
    ("behind", "alone"),
    [
        ("evaluate(net)", False),
        ("other.eval()", False),
        ("net.eval()\n    train_one_epoch(net)", False),
        ("net.eval()\n    loss.backward()", False),
        ("net.eval()\n    sgd.step()", False),
        ("net.eval()\n    build_optimizer(net)", False),
        ("net.eval()\n    evaluate(net, train_mode=False)", True),
        ("net = net.cuda().eval()\n    evaluate(net)", True),
    ],
)
def test_what_is_wrapped_to_be_evaluated(site_of: Callable[[str], Site], behind: str, alone: bool) -> None:
    site = site_of(f"def f(net, other, loss, sgd):\n    net.eval()\n    net = wrap(net)\n    {behind}\n    0\n")
    wrapping = site.at(site.function, site.flow.calls_named("wrap")[0])

    assert evaluation_mode.is_wrapped_for_it(wrapping) is alone
