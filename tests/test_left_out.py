"""TL803 where a context manager of another file leaves the exchange out."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings

CODES = frozenset(("TL803",))
TRAIN = """
import misc
from torch.nn.parallel import DistributedDataParallel

def train(model, loader, optimizer):
    model = DistributedDataParallel(model)
    while True:
        for micro_step in range(accumulation_steps):
            with misc.synced(model, micro_step == accumulation_steps - 1):
                model(next(loader)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("        with model.no_sync():\n            yield\n", []),
        ("        torch.cuda.nvtx.range_push('step')\n        yield\n", [10]),
    ],
)
def test_a_context_manager_of_the_project(tmp_path: Path, body: str, lines: list[int]) -> None:
    misc = f"import contextlib\nimport torch\n\n@contextlib.contextmanager\ndef synced(model, sync):\n    if sync:\n        yield\n    else:\n{body}"
    files = {"misc.py": misc.encode(), "train.py": TRAIN.encode()}
    result = lint(files, Settings(codes=CODES, fixable=CODES, root=tmp_path))
    assert [finding.line for finding in result.findings] == lines
