"""What each rule says of its fixes (`Rule.numbers`) is so: a program with all of them is run before and after each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from torchlint.fix.run import fix_files
from torchlint.prove.numbers import ACCEPTED
from torchlint.rule import Rule, load
from torchlint.settings import config

from .conftest import Compare

pytestmark = pytest.mark.torch

PROGRAMS = Path(__file__).with_name("programs")

NOT_RUN = {
    "TL606": "a GradScaler is off without a GPU",
    "TL902": "the program raised before",
    "TLK01": "Triton needs a GPU",
    "TLK04": "Triton needs a GPU",
    "TLK08": "Triton needs a GPU",
    "TLM03": "events need a GPU",
}
"""Rules whose fixes can't be run here, with the reason."""

APPLIED = {code: rule for code, rule in load().items() if rule.fix in ("safe", "unsafe")}
RUN = {code: rule for code, rule in APPLIED.items() if code not in NOT_RUN}


def source(code: str) -> str:
    """The program that has something for that rule."""
    if code == "TL704":  # without its evaluation: running means know the bias from the first steps on
        return _program("convolution").partition("model.eval()")[0] + "print(loss.item())\n"
    if code == "TL905":  # by itself: code that compiles reads the old switches
        return "import torch\n\ntorch.backends.cuda.matmul.allow_tf32 = True\nprint(torch.ones(4, 4).mm(torch.ones(4, 4)).sum().item())\n"
    if code == "TL709":  # the compiler fuses by itself
        return _program("fixable").replace("    torch.compile(model)  # noqa: TL101\n", "")
    if code == "TL610":  # a file with autocast gets no solution in float32
        return _program("fixable").replace("with torch.cuda.amp.autocast(enabled=False):", "if True:")
    return _program("predicting" if code == "TLD01" else "fixable")


def _program(name: str) -> str:
    return (PROGRAMS / f"{name}.py").read_text("utf-8")


def fixed(rule: Rule) -> str:
    """The same after all fixes of one rule."""
    also = ["TL101"] if rule.code == "TL002" else []
    settings = config.load(
        load().values(), {"select": [rule.code, *also], "preview": True, "target-torch": ">=2.9"}, isolated=True
    )
    settings = replace(settings, fixable=frozenset({rule.code}))
    (contents,) = fix_files(
        {"train.py": source(rule.code).encode()}, settings, unsafe=True, write=False
    ).contents.values()
    return contents.decode()


def test_each_rule_with_a_fix_says_what_it_does_to_the_numbers() -> None:
    assert {} == {code: rule.fix for code, rule in APPLIED.items() if not rule.numbers}
    assert {} == {code: rule.numbers for code, rule in load().items() if rule.numbers and code not in APPLIED}


@pytest.mark.parametrize("code", RUN)
def test_a_fix_does_no_more_than_its_rule_says(code: str, compared: Compare) -> None:
    rule = RUN[code]
    judgement = compared(source(code), fixed(rule)).judgement

    allowed = {"changed"} if rule.numbers == "changed" else ACCEPTED[rule.numbers]  # type: ignore[index]
    assert judgement.name in allowed, judgement.reasons
