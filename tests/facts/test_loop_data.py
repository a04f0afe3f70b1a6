"""What a loop only reads, only adds to, or collects element by element."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import loop_data
from torchlint.facts.syntax import given_to_target
from torchlint.rule.site import Site


def in_loop(site_of: Callable[[str], Site], before: str, body: str) -> Site:
    """The place that calls `torch.tensor` in a loop with that body, behind some statements."""
    inside = "".join(f"        {line}\n" for line in body.splitlines())
    site = site_of(f"def f(data, steps):\n    {before}\n    for i in range(steps):\n{inside}    0\n")
    return site.at(site.function, site.flow.calls_named("tensor")[0])


@pytest.mark.parametrize(
    ("body", "same"),
    [
        ("torch.tensor(data)\ndata = step(data)", False),
        ("torch.tensor(data)\ndata[0] = i", False),
        ("torch.tensor(data)\ndata.append(i)", False),
        ("torch.tensor(data)\nstep(data)", False),
        ("torch.tensor(i)", False),
        ("torch.tensor(data)", True),
        ("torch.tensor(data.sizes)\nprint(data)", True),
        ("torch.tensor(data)\nx = data[0] + len(data)", True),
    ],
)
def test_what_stays_the_same(site_of: Callable[[str], Site], body: str, same: bool) -> None:
    site = in_loop(site_of, "pass", body)

    assert loop_data.stays_same(site, site.call.args[0]) is same


@pytest.mark.parametrize(
    ("before", "body", "grows"),
    [
        ("kept = []", "torch.tensor(kept)", False),
        ("kept = list(data)", "kept.append(i)\ntorch.tensor(kept)", False),
        ("kept = []", "kept = []\nkept.append(i)\ntorch.tensor(kept)", False),
        ("kept = []", "kept.append(i)\ndel kept[0]\ntorch.tensor(kept)", False),
        ("kept = []", "kept.append(i)\nif i:\n    torch.tensor(kept)", False),
        ("kept = []", "kept.append(i)\ntorch.tensor(kept)", True),
        ("a, kept = 0, [1]", "kept += [i]\ntorch.tensor([kept])", True),
    ],
)
def test_lists_that_a_loop_only_adds_to(site_of: Callable[[str], Site], before: str, body: str, grows: bool) -> None:
    site = in_loop(site_of, before, body)

    assert loop_data.only_grows(site, site.call.args[0]) is grows


@pytest.mark.parametrize(
    ("before", "body", "name"),
    [
        ("kept = torch.zeros(9)", "kept[i] = torch.tensor(i).cuda()", None),
        ("kept = torch.zeros(9).cuda()", "kept[i] = torch.tensor(i).cuda()\nstep(kept)", None),
        ("kept = torch.zeros(9).cuda()", "kept[0] = torch.tensor(i).cuda()", None),
        ("kept = torch.zeros(9).cuda()", "kept[i] = step(torch.tensor(i).cuda())", None),
        ("kept = torch.zeros(9).cuda()", "kept[i] = torch.tensor(i).cuda()", "kept"),
        ("kept = torch.zeros(9, 2).cuda()", "kept[i, 0] = torch.tensor(i).cuda().float()", "kept"),
    ],
)
def test_tensors_that_get_an_element_on_each_iteration(
    site_of: Callable[[str], Site], before: str, body: str, name: str | None
) -> None:
    site = in_loop(site_of, before, body)

    assert loop_data.collected_in(site, site.call) == name


def test_what_an_assignment_gives_its_targets(site_of: Callable[[str], Site]) -> None:
    flow = site_of("def f():\n    a = 1\n    b, c = 2, 3\n    d, e = g()\n    for h in i:\n        0\n").flow
    given = {name: given_to_target(flow, flow.stores[name][0]) for name in "abcdeh"}

    assert {name: ast.unparse(node) if node is not None else None for name, node in given.items()} == {
        "a": "1", "b": "2", "c": "3", "d": None, "e": None, "h": None,
    }  # fmt: skip
