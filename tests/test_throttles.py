"""The suggestion to log once in a hundred steps."""

from __future__ import annotations

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings

LOOP = """import torch
for step, x in enumerate(loader):
    loss = torch.nn.functional.mse_loss(model(x.to(device)), x.to(device))
    loss.backward()
    if {condition}:
        optimizer.step()
        print(loss)
"""


@pytest.mark.parametrize(
    ("condition", "suggested"),
    [
        ("True", "Log once in 100 steps of `step`"),
        ("len(x) == 4", "Log once in 100 steps of `step`"),
        # 100 is no step behind which three batches were gathered.
        ("(step + 1) % 3 == 0", None),
        ("step > start", None),
    ],
)
def test_a_count_that_a_condition_asks_for_is_not_asked_again(condition: str, suggested: str | None) -> None:
    rules = frozenset(("TL104",))
    files = {"a.py": LOOP.format(condition=condition).encode()}

    (finding,) = lint(files, Settings(rules, fixable=rules)).findings

    assert (finding.fix.title if finding.fix is not None else None) == suggested
