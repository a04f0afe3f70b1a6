"""What a helper gives that its callers give different things, for one call of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

ValueOf = Callable[[str], str]

CALLS = """\
mean(f()); array(f()); named(f()); second(f(), f()); pair(f()); chain(f(), 1); outer(f()); long(f())
Tools().mean(f()); Tools.still(f())
"""
HELPERS = """\
import numpy as np
def mean(x, mask=None, dim=None):
    if mask is None:
        return x.mean(dim=dim)
    return (x * mask).sum(dim=dim) / mask.sum()

def array(x):
    return x.mean(0).detach().cpu().numpy()

def named(x):
    return f(x, x.mean())

def second(x, y):
    return y.mean(0)

def pair(x):
    return x.mean(0), x.shape[0]

def chain(x, n):
    return x.mean(0) if n == 0 else chain(x.mean(0), n - 1)

def outer(x):
    return mean(x)

def parts(x):
    yield x.mean(0)

async def later(x):
    return x.mean(0)

def long(x):
{lines}
    return x.mean(0)

class Tools:
    def mean(self, x):
        return x.mean(0)

    @staticmethod
    def still(x):
        return x.mean(0)

{calls}
host = torch.zeros(3)
there = torch.zeros(3).cuda()
""".replace("{lines}", "\n".join(["    f()"] * 50)).replace("{calls}", "\n".join([CALLS] * 20))


@pytest.mark.parametrize(
    "code",
    [
        "mean(f())",
        "mean(*f())",
        "mean(there, **f())",
        "mean(np.zeros(3))",
        "for batch in DataLoader(d):\n    mean(batch['x'])",
        "named(there)",
        "second(there, f())",
        "long(there)",
        "later(there)",
    ],
)
def test_what_is_not_known(value_of: ValueOf, code: str) -> None:
    assert "unknown" == value_of(HELPERS + code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("mean(host)", "tensor @cpu"),
        ("mean(there)", "tensor @accelerator"),
        ("mean(x=there)", "tensor @accelerator"),
        ("mean(host, there)", "tensor @accelerator"),
        ("mean(there.cpu())", "tensor @cpu"),
        ("second(there, host)", "tensor @cpu"),
        ("pair(there)[0]", "tensor @accelerator"),
        ("pair(there)[1]", "number"),
        ("outer(there)", "tensor @accelerator"),
        ("outer(host)", "tensor @cpu"),
        ("chain(there, 3)", "tensor? @accelerator or unknown"),
        ("Tools().mean(there)", "tensor @accelerator"),
        ("Tools.still(there)", "tensor @accelerator"),
        ("array(there)", "ndarray"),
    ],
)
def test_what_a_call_gives_for_its_tensors(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(HELPERS + code)
