"""A safe fix rests on a proof: what is a tensor, or a device, whatever way the program takes."""

from __future__ import annotations

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings

TAIL = "return x.clone().detach()"


def kind(code: str, rule: str = "TL507", more: str = "") -> str:
    """How sure the fix is of the one finding in a file of a project."""
    codes = frozenset((rule,))
    files = {"a.py": f"import torch\n{code}\n".encode(), "b.py": more.encode()}
    found = [one.fix for one in lint(files, Settings(codes, codes, preview=True)).findings]
    assert len(found) == 1
    return found[0].applicability if found[0] is not None else "none"


@pytest.mark.parametrize(
    "code",
    [
        # An attribute may be bound anew: by a subclass, a caller, a text.
        f"class A:\n    def __init__(self):\n        self.x = torch.zeros(3)\n    def go(self):\n        x = self.x\n        {TAIL}",
        # What a method gives may be what a subclass makes of it.
        f"class A:\n    def make(self):\n        return torch.zeros(3)\n    def go(self):\n        x = self.make()\n        {TAIL}",
        # A decorator may give something else.
        f"@decorated\ndef make():\n    return torch.zeros(3)\ndef go():\n    x = make()\n    {TAIL}",
        # Whoever calls it today gives a tensor.
        f"def go(x):\n    {TAIL}\ngo(torch.zeros(3))",
        # What a function reads of its module another file may bind.
        f"x = torch.zeros(3)\ndef go():\n    {TAIL}",
        # Exceptions leave what was there before.
        f"def go(x, f):\n    try:\n        f()\n        x = torch.zeros(3)\n    except ValueError:\n        pass\n    {TAIL}\ngo(torch.ones(1), f)",
        f"def go(y, f):\n    x = y\n    with suppress(ValueError):\n        f()\n        x = torch.zeros(3)\n    {TAIL}\ngo(torch.ones(1), f)",
        # An object may say what an operator does, or a function of torch.
        f"class A:\n    def __radd__(self, other):\n        return self\ndef go(y):\n    x = torch.zeros(3) + y\n    {TAIL}",
        f"class A:\n    def __add__(self, other):\n        return self\n    __radd__ = __add__\ndef go(y):\n    x = torch.zeros(3) + y\n    {TAIL}",
        f"class A:\n    def __torch_function__(self, *given):\n        return self\ndef go(y: torch.Tensor):\n    x = torch.cat([y, y])\n    {TAIL}",
        f"class A:\n    def __torch_dispatch__(self, *given):\n        return self\ndef go(x: torch.Tensor):\n    {TAIL}",
        # A container may be changed by another name.
        f"def go(change):\n    d = {{'a': torch.zeros(3)}}\n    e = d\n    e['a'] = change\n    x = d['a']\n    {TAIL}",
        f"def go(z):\n    y = z\n    x = torch.zeros(3)\n    x, y = y, x\n    {TAIL}\ngo(torch.ones(1))",
        # What is tried in vain is proven nowhere else.
        f"def go(z):\n    r = z\n    y = torch.zeros(3) * r\n    x = r + y\n    {TAIL}\ngo(torch.ones(1))",
    ],
)
def test_values_that_are_likely_alone(code: str) -> None:
    assert kind(code) == "unsafe"


@pytest.mark.parametrize(
    "code",
    [
        f"def go(x: torch.Tensor):\n    {TAIL}",
        f"def go(x: 'torch.Tensor | None' = None):\n    {TAIL}",
        f"def go(x: torch.Tensor):\n    x = x.view(-1)[1:] * 2\n    {TAIL}",
        f"def go(x: torch.Tensor, y):\n    x = 1 - torch.sin(x) + y\n    x *= y\n    {TAIL}",
        f"def go(y: torch.Tensor, c):\n    x = y.float() if c else torch.zeros(3)\n    {TAIL}",
        f"def go(y: torch.Tensor):\n    z, x = y.max(dim=1).values, -y\n    {TAIL}",
        f"def go(y: torch.Tensor):\n    x, other = y.chunk(2)\n    {TAIL}",
        f"def go(y: torch.Tensor):\n    x = y\n    def inner():\n        {TAIL}\n    return inner",
        "def go(y: torch.Tensor):\n    return [x.clone().detach() for x in y]",
        f"def go(n):\n    try:\n        x = torch.zeros(n)\n    except RuntimeError:\n        x = torch.zeros(1)\n    {TAIL}",
        "x = torch.zeros(3)\ny = x.clone().detach()",
    ],
)
def test_values_that_nothing_else_can_be(code: str) -> None:
    assert kind(code) == "safe"


def test_what_the_project_replaces_in_torch() -> None:
    code = f"def go():\n    x = torch.ones(3)\n    {TAIL}"
    assert kind(code) == "safe"
    assert kind(code, more="import torch\ntorch.ones = make\n") == "unsafe"


STEP = "for batch in loader:\n    go().backward()\n    optimizer.step()\n"


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("def go():\n    device = torch.device('cuda')\n    return torch.zeros(3).to(device)", "safe"),
        ("def go():\n    device = 'cuda' if ready else 'cpu'\n    return torch.zeros(3).to(device)", "safe"),
        ("device = torch.device('cuda')\ndef go():\n    return torch.zeros(3).to(device)", "safe"),
        ("def go(device: torch.device):\n    return torch.zeros(3).to(device)", "safe"),
        ("def go(device):\n    return torch.zeros(3).to(device=device)", "safe"),
        ("def go(device):\n    return torch.zeros(3).to(device)", "unsafe"),
        (
            """def go(spec):
    device = torch.device('cuda')
    try:
        device = spec
        device = torch.device(spec)
    except TypeError:
        pass
    return torch.zeros(3).to(device)""",
            "unsafe",
        ),
    ],
)
def test_what_is_called_a_device_may_be_a_dtype(device: str, expected: str) -> None:
    assert kind(f"{device}\nmodel.to('cuda')\n{STEP}", "TL405") == expected


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ("(torch.zeros(3)).to('cuda')", "(torch.zeros(3, device='cuda'))"),
        ("(torch.zeros(3) ) . to('cuda')", "(torch.zeros(3, device='cuda') )"),
        ("((torch.zeros(3))).unsqueeze(0).to('cuda')", "((torch.zeros(3, device='cuda'))).unsqueeze(0)"),
    ],
)
def test_parentheses_around_what_is_moved(written: str, fixed: str) -> None:
    codes = frozenset(("TL405",))
    code = f"import torch\ndef go():\n    return {written}\n{STEP}".encode()
    (found,) = lint({"a.py": code}, Settings(codes, codes, preview=True)).findings
    assert found.fix is not None
    for edit in sorted(found.fix.edits, key=lambda edit: -edit.start):
        code = code[: edit.start] + edit.text + code[edit.end :]
    assert f"    return {fixed}\n" in code.decode()
