"""The unsafe fixes of reads of the device: programs run before and after them, and give the same to rounding."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from torchlint.fix.run import fix_files
from torchlint.settings.config import Settings

torch = pytest.importorskip("torch")

START = """
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = torch.nn.Linear(4, 3).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [torch.randn(5, 4) for _ in range(6)]
"""


def repaired(code: str, rule: str) -> str:
    settings = Settings(codes=frozenset((rule,)), fixable=frozenset((rule,)))
    fixed = fix_files({"program.py": code.encode()}, settings, unsafe=True, write=False)
    assert fixed.result.findings == ()
    return fixed.contents["program.py"].decode()


def result(code: str, folder: Path) -> Any:
    program = folder / "program.py"
    program.write_text(code)
    return runpy.run_path(str(program))["result"]


SUM = """
def train():
    total = 0.0
    right = 0
    seen = []
    for step, batch in enumerate(batches):
        output = model(batch.to(device))
        loss = output.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * 2
        right += output.argmax(1).eq(1).sum().item()
        if step == 3:
            seen.append(total)
    right /= len(batches)
    total /= len(batches)
    return total, right, seen

result = train()
"""


def test_a_sum_is_kept_on_the_device(tmp_path: Path) -> None:
    code = START + SUM

    fixed = repaired(code, "TL101")

    assert ".item()" not in fixed
    (total, right, seen), (total_after, right_after, seen_after) = result(code, tmp_path), result(fixed, tmp_path)
    assert pytest.approx(total) == total_after
    assert right == right_after
    assert pytest.approx(seen) == seen_after


def test_elements_are_read_at_once(tmp_path: Path) -> None:
    code = START + (
        "result = []\n"
        "for batch in batches:\n"
        "    losses = torch.relu(model(batch.to(device))).sum(1)\n"
        "    losses.mean().backward()\n"
        "    optimizer.step()\n"
        "    result.append([loss.item() for loss in losses])\n"
    )

    fixed = repaired(code, "TL105")

    assert "losses.flatten().tolist()" in fixed
    assert result(code, tmp_path) == result(fixed, tmp_path)


def test_a_distribution_without_checks_gives_the_same(tmp_path: Path) -> None:
    code = START + (
        "for batch in batches:\n"
        "    policy = torch.distributions.Categorical(logits=model(batch.to(device)))\n"
        "    result = -policy.entropy().mean()\n"
        "    result.backward()\n"
        "    optimizer.step()\n"
        "result = result.item()\n"
    )

    assert result(code, tmp_path) == result(repaired(code, "TL110"), tmp_path)


def test_functions_that_do_not_check_give_the_same(tmp_path: Path) -> None:
    code = START + (
        "result = []\n"
        "for batch in batches:\n"
        "    output = model(batch.to(device))\n"
        "    matrix = output.T @ output + torch.eye(3, device=device)\n"
        "    inverse = torch.inverse(matrix)\n"
        "    lower = torch.linalg.cholesky(matrix)\n"
        "    solved = torch.linalg.solve(matrix, lower)\n"
        "    inverse.sum().backward()\n"
        "    optimizer.step()\n"
        "    result.append([x.detach().sum().item() for x in (inverse, lower, solved)])\n"
    )

    assert result(code, tmp_path) == result(repaired(code, "TL111"), tmp_path)
