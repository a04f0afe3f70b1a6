"""Which tensors are filled on the host by numbers alone."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import host_filled
from torchlint.rule.site import Site


@pytest.mark.parametrize(
    ("made", "how"),
    [
        # Of data, of what is given, on the device already, or of a generator of the host.
        ("torch.tensor(x)", None),
        ("torch.zeros(2) + x", None),
        ("torch.zeros(2, device='cuda')", None),
        ("torch.randn(2, generator=g)", None),
        ("torch.empty(0)", None),
        ("torch.zeros_like(x)", None),
        ("torch.from_numpy(np.array(x))", None),
        ("torch.FloatTensor([x])", None),
        ("torch.zeros(2).index_fill_(0, x, 1)", None),
        ("torch.zeros(2, requires_grad=True)", None),
        ("torch.zeros(2, requires_grad=x)", None),
        ("torch.zeros(2, pin_memory=True)", None),
        ("torch.from_numpy(np.repeat(x, 2))", None),
        ("torch.from_numpy(np.repeat(range(2), x))", None),
        ("torch.from_numpy(np.tile(np.array(x), 2))", None),
        ("torch.from_numpy(np.repeat(*x))", None),
        ("torch.zeros(2)", "factory"),
        ("torch.zeros(2, requires_grad=False, pin_memory=False)", "factory"),
        ("torch.zeros(2).long().view(-1, 1)", "factory"),
        ("torch.arange(4).to(torch.int32)", "factory"),
        ("torch.exp(torch.arange(4) * -0.5)", "factory"),
        ("-torch.ones(2)", "factory"),
        ("torch.ones(2) * torch.arange(2)", "calculated"),
        ("torch.stack([torch.zeros(2), torch.ones(2)])", "calculated"),
        ("torch.triu(torch.ones(2, 2)) == 1", "calculated"),
        ("torch.from_numpy(np.eye(3).flatten())", "calculated"),
        ("torch.from_numpy(np.repeat(range(5), 3))", "calculated"),
        ("torch.from_numpy(np.tile(np.arange(5), 3))", "calculated"),
        ("torch.FloatTensor(2, 3).normal_(0, 1)", "calculated"),
        ("torch.normal(0.0, 1.0, size=(2, 3))", "calculated"),
        ("net(x).type(torch.FloatTensor)", "cast"),
    ],
)
def test_what_is_filled(site_of: Callable[[str], Site], made: str, how: str | None) -> None:
    site = site_of(f"net = nn.Linear(2, 2).cuda()\ndef f(x, g):\n    {made}\n")
    assert isinstance(site.target, ast.expr)

    found = host_filled.filled(site, site.target)

    assert (found.how if found is not None else None) == how


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("m = torch.zeros(2)\nm[0] = x", None),
        ("m = torch.zeros(2)\nshow(m)", None),
        ("m = x\nif x:\n    m = torch.zeros(2)", None),
        ("for i in x:\n    m = torch.zeros(2)", None),
        ("m = torch.zeros(2)\nm = torch.ones(2)", 2),
        ("m = torch.zeros(2)", 1),
        ("m = torch.zeros(2)\nm[0] = 1", 1),
        ("n = torch.arange(2)\nm = n * n", 1),
    ],
)
def test_what_a_name_was_filled_by(site_of: Callable[[str], Site], body: str, line: int | None) -> None:
    text = "".join(f"    {one}\n" for one in body.splitlines())
    site = site_of(f"def f(x):\n{text}    m.cuda()\n")
    assert isinstance(site.target, ast.Call)
    assert isinstance(site.target.func, ast.Attribute)

    found = host_filled.filled(site, site.target.func.value)

    first = site.function.node.body[0].lineno
    assert (found.node.lineno - first + 1 if found is not None else None) == line
