"""Whether anything carries the graph of a model's output on."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import graph_liveness
from torchlint.facts.module import Module
from torchlint.rule.site import Site

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)

def to_np(t):
    return t.detach().cpu().numpy()

def act(x):
    net = Net()
"""


def model_call(site: Site) -> ast.Call:
    return next(call for call in site.flow.calls if isinstance(call.func, ast.Name) and call.func.id == "net")


@pytest.mark.parametrize(
    ("body", "dead"),
    [
        # What is kept, given away or given back may be differentiated by somebody else.
        ("y = net(x)\nself.y = y\n0", False),
        ("y = net(x)\nshow(y)\n0", False),
        ("print(unknown(net(x)))\n0", False),
        ("y = net(x)\nprint = keep\nprint(y)\n0", False),
        ("y = net(x)\nlog(x % y)\n0", False),
        ("y = net(x)\nlog(layout.format(y))\n0", False),
        ("y = net(x)\nreturn y\n0", False),
        ("y = net(x)\ny = y * 2\ny.sum().backward()\n0", False),
        ("ys = []\nys.append(net(x))\nreturn ys\n0", False),
        ("global y\ny = net(x)\ny.detach()\n0", False),
        ("y = net(x)\nf = lambda: y\ny.detach()\n0", False),
        ("y = net(x)\nif x:\n    y = 0\nreturn y\n0", False),
        # What loses its graph everywhere.
        ("net(x).detach()\n0", True),
        ("y = net(x)\nz = y.softmax(1) + 1\nreturn z.argmax(1)\n0", True),
        ("y, z = net(x), 1\nreturn y.detach()\n0", True),
        ("y = net(x)\nreturn float(y), y.shape\n0", True),
        ("y = net(x)\nreturn to_np(y * 2)\n0", True),
        ("ys = []\nfor i in x:\n    ys.append(net(i))\nreturn torch.stack(ys).detach()\n0", True),
        ("y = net(x)\ny = y.detach()\nreturn y\n0", True),
        ("y = net(x)\nreturn y > 0\n0", True),
        ("y = net(x)\nwith torch.no_grad():\n    return y * 2\n0", True),
        ("for i in x:\n    y = net(i)\n    y = net(y)\n    print(y.item())\n0", True),
        # A text of it, or what is written.
        ("y = net(x)\nprint('loss', y)\n0", True),
        ("y = net(x)\nlog(f'loss {y.mean():.3f}')\n0", True),
        ("y = net(x)\nlog('loss %.3f, %.3f' % (3, y[1]))\n0", True),
        ("y = net(x)\nlog('loss {:.3f}'.format(y.mean()))\n0", True),
        ("y = net(x)\nreturn str(y)\n0", True),
    ],
)
def test_what_becomes_of_a_graph(site_of: Callable[[str], Site], body: str, dead: bool) -> None:
    site = site_of(NET + "".join(f"    {line}\n" for line in body.splitlines()))

    assert graph_liveness.is_dead(site, model_call(site)) is dead


@pytest.mark.parametrize(
    ("body", "array"),
    [
        ("y = net(x)\ny.cpu()\n0", False),
        ("y = net(x)\nf(y).numpy()\n0", False),
        ("y = net(x).detach()\ny.numpy()\n0", False),
        ("net(x).squeeze(0).cpu().numpy()\n0", True),
        ("y = net(x)\ny.cpu().numpy()\n0", True),
    ],
)
def test_what_would_raise_with_a_graph(site_of: Callable[[str], Site], body: str, array: bool) -> None:
    site = site_of(NET + "".join(f"    {line}\n" for line in body.splitlines()))

    assert graph_liveness.becomes_array(site, model_call(site)) is array


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("return t", None),
        ("return t.cpu()", None),
        ("t = t.detach()\n    return t", None),
        ("return other.detach()", None),
        ("return t.detach().cpu()", "t"),
        ('"""To the host."""\n    return t[0].data', "t"),
    ],
)
def test_helpers_that_drop_a_graph(module_of: Callable[[str], Module], body: str, name: str | None) -> None:
    function = module_of(f"def helper(t):\n    {body}\n").top_functions["helper"]

    assert graph_liveness.dropped_parameter(function) == name
