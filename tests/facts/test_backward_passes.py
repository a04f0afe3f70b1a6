"""Which losses a loop runs the backward passes of."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import backward_passes, graph_liveness
from torchlint.rule.site import Site

STEP = """\
def step(loss, optimizer):
    loss.backward()
    optimizer.step()

def kept(loss):
    loss.backward(retain_graph=True)

def f(loader, scaler, accelerator, optimizer):
    net = nn.Linear(2, 2)
    for x, y in loader:
        out = net(x)
        loss = F.mse_loss(out, y)
"""


def looped(site_of: Callable[[str], Site], body: str, name: str) -> tuple[Site, ast.Name, ast.For]:
    site = site_of(STEP + "".join(f"        {line}\n" for line in [*body.splitlines(), "0"]))
    (loop,) = (node for node in site.flow.nodes if isinstance(node, ast.For))
    return site, site.flow.loads[name][-1], loop


@pytest.mark.parametrize(
    ("body", "name", "used_up"),
    [
        ("use(loss)", "loss", False),
        ("loss.backward(retain_graph=True)", "loss", False),
        ("kept(loss)", "loss", False),
        ("other = loss * 2\nother.backward()\nuse(y)", "y", False),
        ("loss.backward()", "loss", True),
        ("scaler.scale(loss).backward()", "loss", True),
        ("accelerator.backward(loss)", "loss", True),
        ("step(loss, optimizer)", "loss", True),
        ("whole_loss = loss + 0.1 * out.mean()\nwhole_loss.backward()\nuse(loss)", "loss", True),
        ("loss.backward()\nuse(out)", "out", True),
    ],
)
def test_whose_graph_is_used_up(site_of: Callable[[str], Site], body: str, name: str, used_up: bool) -> None:
    site, read, loop = looped(site_of, body, name)

    assert backward_passes.is_used_up(site, read, loop) is used_up


@pytest.mark.parametrize(
    ("kept", "reaches"),
    [
        ("loss.item()", False),
        ("loss.detach() + 1", False),
        ("other(loss)", False),
        ("loss > 0", False),
        ("[loss.numel()]", False),
        ("loss", True),
        ("loss / 2", True),
        ("(loss.mean(), 1)", True),
        ("torch.sqrt(loss)", True),
    ],
)
def test_whether_the_graph_gets_there(site_of: Callable[[str], Site], kept: str, reaches: bool) -> None:
    site, read, _ = looped(site_of, f"total.append({kept})", "loss")
    (call,) = (call for call in site.flow.calls_named("append"))

    assert graph_liveness.reaches(site, read, call.args[0]) is reaches


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        ("loss = loss", False),
        ("loss = loss.mean()", False),
        ("loss = loss / 2", False),
        ("loss += 1", False),
        ("loss = loss.detach()", True),
        ("loss = loss.data", True),
        ("loss = loss.item()", True),
        ("loss = reduced(loss)", True),
    ],
)
def test_whether_a_name_loses_its_graph(site_of: Callable[[str], Site], body: str, cut: bool) -> None:
    site, _, loop = looped(site_of, f"{body}\nuse(loss)", "loss")

    assert graph_liveness.is_cut(site, "loss", loop) is cut
