"""What lies on the host since it is calculated with what does, whichever part of a function is asked first."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts.met_on_host import is_met_on_host
from torchlint.rule.site import Site

CODE = """\
def f(x: torch.Tensor, z: torch.Tensor, apart: torch.Tensor):
    told = x + torch.zeros(3)
    y = torch.cat([x, z])
    shown(apart)
    shown(y)
    shown(x)
"""
MET = {"apart": False, "x": True}


def asked(site: Site) -> dict[str, ast.expr]:
    """What is shown, by its name."""
    calls = site.flow.calls_named("shown")
    return {ast.unparse(call.args[0]): call.args[0] for call in calls}


@pytest.mark.parametrize("name", MET)
def test_what_is_calculated_with_the_host_lies_there(site_of: Callable[[str], Site], name: str) -> None:
    site = site_of(CODE)

    assert is_met_on_host(site, asked(site)[name]) is MET[name]


@pytest.mark.parametrize("first", ["x", "y", "apart"])
def test_an_answer_is_the_same_whatever_was_asked_before(site_of: Callable[[str], Site], first: str) -> None:
    alone = {}
    for name in asked(site_of(CODE)):
        site = site_of(CODE)
        alone[name] = is_met_on_host(site, asked(site)[name])
    site = site_of(CODE)

    is_met_on_host(site, asked(site)[first])

    assert {name: is_met_on_host(site, node) for name, node in asked(site).items()} == alone
