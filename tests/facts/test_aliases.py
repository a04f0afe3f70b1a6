"""Whether anybody may write to a batch on the host while a copy of it is under way."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts.aliases import Batch
from torchlint.program.project import Project

HEAD = """\
import torch
loader = torch.utils.data.DataLoader(dataset, pin_memory=True)
device = torch.device("cuda")

def train(model, optimizer):
"""


def left_alone(body: str) -> bool:
    """Whether it is, for the first `.to(device)` of a function's body."""
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    project = Project({"a.py": text.encode})
    module = project.module("a.py")
    assert module is not None
    function = module.functions[1]
    move = next(
        call
        for call in function.flow.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and ast.unparse(call.args[0]) == "device"
    )
    return Batch(function, move, lambda node: project.value(function, node)).is_left_alone()


@pytest.mark.parametrize(
    "body",
    [
        "for x, y in loader:\n    x = x.to(device)\n    loss = model(x)",
        "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    loss = model(x, y)\n    x.zero_()",
        "for x, y in loader:\n    loss = model(x.to(device), y.to(device))",
        "for i, (x, y) in enumerate(tqdm(loader, desc='a'), 1):\n    x = x.to(device)\n    model(x)\n    x += 1",
        "for batch in loader:\n    x, y = batch\n    x = x.to(device)\n    model(x, y.to(device))",
        "for batch in loader:\n    x, y = batch[0].to(device), batch[1].to(device)\n    model(x, y)",
        "for batch in loader:\n    x = batch['x'].to(device)\n    model(x)",
        "for batch in loader:\n    batch = {k: v.to(device) for k, v in batch.items()}\n    model(**batch)",
        "for batch in loader:\n    batch = [t.to(device) for t in batch]\n    model(*batch)",
        "for batch in loader:\n    for k in batch.keys():\n        batch[k] = batch[k].to(device)\n    model(batch)",
        "for x, y in loader:\n    z = x.to(device)\n    n = x.size(0) + len(x) + x.shape[0] + y.sum().item()\n    print(f'{x}')",
        "for x, y in loader:\n    z = x.to(device)\n    if x is None or z.dtype != x.dtype:\n        raise ValueError\n    w = x * 2",
        "for x, y in loader:\n    x = x.to(device)\n    del y",
        "for batch in loader:\n    model, y = batch\n    if len(batch) > 1:\n        z = model.to(device)",
        "for model, y in loader:\n    z = model.to(device)",
    ],
)
def test_what_is_only_read_is_left_alone(body: str) -> None:
    assert left_alone(body)


@pytest.mark.parametrize(
    "body",
    [
        # written on the host
        "for x, y in loader:\n    z = x.to(device)\n    x.zero_()",
        "for x, y in loader:\n    z = x.to(device)\n    x[0] = 1",
        "for x, y in loader:\n    z = x.to(device)\n    x += 1",
        "for x, y in loader:\n    z = x.to(device)\n    x.t().zero_()",
        "for x, y in loader:\n    z = x.to(device)\n    x.data.zero_()",
        "for x, y in loader:\n    z = x.to(device)\n    x.sum(out=x)",
        # through another name
        "for x, y in loader:\n    w = x\n    z = x.to(device)\n    w.zero_()",
        "for x, y in loader:\n    w = x[0]\n    x = x.to(device)\n    w.zero_()",
        "for batch in loader:\n    x, y = batch\n    x = x.to(device)\n    batch[0].zero_()",
        "for batch in loader:\n    x = batch['x'].to(device)\n    for t in batch.values():\n        t.zero_()",
        "for batch in loader:\n    x, *rest = batch\n    x = x.to(device)\n    rest[0].zero_()",
        "for x, y in loader:\n    w = x.to(torch.float32)\n    z = x.to(device)\n    w.zero_()",
        # by a function that gets it
        "for x, y in loader:\n    z = x.to(device)\n    torch.add(x, 1, out=x)",
        "for x, y in loader:\n    z = x.to(device)\n    torch.nn.functional.relu(x, inplace=True)",
        "for x, y in loader:\n    z = x.to(device)\n    model(x)",
        "for batch in loader:\n    x = batch['x'].to(device)\n    model(batch)",
        "for x, y in loader:\n    z = x.to(device)\n    model(**{'x': x})",
        "for x, y in loader:\n    z = x.to(device)\n    def f():\n        x.zero_()\n    f()",
        # kept by something else
        "for x, y in loader:\n    model.last = x\n    x = x.to(device)",
        "for x, y in loader:\n    seen = [x]\n    x = x.to(device)\n    seen[0].zero_()",
        "for x, y in loader:\n    store.append(x)\n    x = x.to(device)",
        "for x, y in loader:\n    z = x.to(device)\n    yield x",
        # of an unknown origin
        "for x in batches:\n    x = x.to(device)",
        "x = make()\nfor _ in loader:\n    z = x.to(device)",
        "model = model.to(device)",
        "for batch in loader:\n    if len(batch) > 1:\n        model = batch[0]\n    z = model.to(device)",
        # in an inner loop, where it is written to before the next copy
        "for batch in loader:\n    for k in batch.keys():\n        batch[k] = batch[k].to(device)\n        model(batch)",
    ],
)
def test_what_may_be_written_to_is_not(body: str) -> None:
    assert not left_alone(body)
