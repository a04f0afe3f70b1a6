"""Where moves go, and who else moves what is made."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import moved_elsewhere, sending
from torchlint.rule.site import Site


@pytest.mark.parametrize(
    ("move", "target", "goes"),
    [
        ("x.to('cpu')", "'cpu'", False),
        ("x.to(torch.long)", "torch.long", False),
        ("x.to(unknown)", "unknown", False),
        ("x.type(torch.float64)", None, False),
        ("x.type_as(torch.zeros(2))", "torch.zeros(2)", False),
        ("x.cuda()", None, True),
        ("x.cuda(0)", "0", True),
        ("x.to('cuda:1')", "'cuda:1'", True),
        ("x.to(device=torch.device('cuda'))", "torch.device('cuda')", True),
        ("x.to(y)", "y", True),
        ("x.to(y.device)", "y.device", True),
        ("x.type_as(y.data)", "y", True),
        ("x.type(y.type())", "y", True),
        ("x.type(torch.cuda.FloatTensor)", None, True),
    ],
)
def test_where_a_move_goes(site_of: Callable[[str], Site], move: str, target: str | None, goes: bool) -> None:
    site = site_of(f"def f(x, y: torch.Tensor):\n    {move}\n")
    assert isinstance(site.target, ast.Call)

    found = sending.target_of(site.target)

    assert (ast.unparse(found) if found is not None else None) == target
    assert sending.goes_to_device(site, site.target) is goes


HELPERS = """\
def to_gpu(x):
    return x.cuda()

def to_any(x, device):
    return x.to(device)

def of_lists(x):
    if isinstance(x, list):
        return [one.cuda() for one in x]
    return x.cuda()

def scaled(x):
    x = x * 2
    return x.cuda()

def shown(x):
    print(x)
    return x.cuda()

"""


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("show(torch.zeros(2))", None),
        ("scaled(torch.zeros(2))", None),
        ("shown(torch.zeros(2))", None),
        ("to_gpu(*torch.zeros(2))", None),
        ("x = torch.zeros(2)\n    show(x)\n    to_gpu(x)", None),
        ("to_gpu(torch.zeros(2))", "to_gpu"),
        ("to_gpu(torch.zeros(2).long())", "to_gpu"),
        ("to_any(torch.zeros(2))", "to_any"),
        ("of_lists(torch.zeros(2))", "of_lists"),
        ("x = torch.zeros(2)\n    to_gpu(x)", "to_gpu"),
    ],
)
def test_who_moves_what_is_given(site_of: Callable[[str], Site], body: str, name: str | None) -> None:
    site = site_of(f"{HELPERS}def f():\n    {body}\n    0\n")
    (made,) = site.flow.calls_named("zeros")

    move = moved_elsewhere.mover(site.at(site.function, made), made)

    assert (move.function.name if move is not None else None) == name


@pytest.mark.parametrize(
    ("expression", "move"),
    [
        ("torch.tensor(1) + x.cuda()", None),
        ("show(torch.tensor(1)).cuda()", None),
        ("torch.tensor(1).sum().cuda()", None),
        ("torch.tensor(1).cuda()", "torch.tensor(1).cuda()"),
        ("torch.tensor(1).float()[None].to(x)", "torch.tensor(1).float()[None].to(x)"),
        ("(torch.tensor(1) / 255.0).cuda() + x", "(torch.tensor(1) / 255.0).cuda()"),
        ("torch.autograd.Variable(torch.tensor(1)).cuda()", "torch.autograd.Variable(torch.tensor(1)).cuda()"),
    ],
)
def test_what_moves_a_tensor_as_it_is_made(site_of: Callable[[str], Site], expression: str, move: str | None) -> None:
    site = site_of(f"def f(x):\n    {expression}\n")

    found = sending.move_of(site, site.flow.calls_named("tensor")[0])

    assert (ast.unparse(found) if found is not None else None) == move
