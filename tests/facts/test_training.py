"""Whether a backward pass starts at values, or at what is made of them."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import training
from torchlint.facts.derived import Derived
from torchlint.rule.site import Site


@pytest.mark.parametrize(
    ("body", "starts"),
    [
        ("show(kept)", False),
        ("other.backward()", False),
        ("total = sum(kept)\nshow(total)\nother.backward()", False),
        ("measure(kept)", False),
        ("kept.backward()", True),
        ("torch.stack(kept).mean().backward()", True),
        ("total = sum(kept)\ntotal.backward()", True),
        ("for one in kept:\n    one.backward()", True),
        ("self.losses[0] = sum(kept)\nself.losses[1].backward()", True),
        ("accelerator.backward(kept[0])", True),
        ("step(sum(kept))", True),
    ],
)
def test_backward_passes_on_what_is_kept(site_of: Callable[[str], Site], body: str, starts: bool) -> None:
    text = "".join(f"    {line}\n" for line in body.splitlines())
    site = site_of(
        "def step(loss):\n    loss.backward()\ndef measure(loss):\n    print(loss)\n"
        f"def f(self, kept, other, accelerator):\n{text}    0\n"
    )

    assert training.starts_backward(site, site.function, site.flow.loads.get("kept", ()), 0) is starts


def test_what_is_made_of_values(site_of: Callable[[str], Site]) -> None:
    flow = site_of(
        "def f(x, y):\n    a = x + 1\n    (b := a)\n    c, d = y, 2\n    y += c\n    e = [b for i in y]\n    0\n"
    ).flow
    made = Derived(flow, flow.loads["x"])

    held = {
        node.targets[0].id
        for node in flow.nodes
        if isinstance(node, ast.Assign) and made.holds(node.value)
        if isinstance(node.targets[0], ast.Name)
    }
    assert held == {"a", "e"}
