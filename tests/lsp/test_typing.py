"""Somebody types, errs and takes it back; at the end the editor shows what the command line says."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

TEXT = """\
import torch
from helper import log

device = torch.device("cuda")
name = "é😀"; scale = torch.tensor(2.0).cuda()


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x.to(device)).sum() * scale
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        "😀"; print(loss.item())
        log(loss)
"""
HELPER = """\
import torch


def log(value):
    print(value.item())
"""


def position(text: str, offset: int) -> dict[str, int]:
    """As an editor counts: lines, and words of UTF-16 within one."""
    before = text[:offset]
    line = before.rsplit("\n", 1)[-1]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


class Typist:
    """An editor's buffer: what is done to it is sent to the server."""

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name
        self.text = ""
        self.version = 1
        self.history: list[tuple[int, int, str]] = []
        client.open(name, "")

    def replace(self, start: int, end: int, text: str) -> None:
        self.history.append((start, start + len(text), self.text[start:end]))
        place = {"start": position(self.text, start), "end": position(self.text, end)}
        self.text = self.text[:start] + text + self.text[end:]
        self.version += 1
        self.client.change(self.name, self.version, {"range": place, "text": text})

    def undo(self) -> None:
        self.replace(*self.history.pop())
        self.history.pop()


def told(root: Path, name: str) -> set[tuple[int, str, str]]:
    """What `torchlint check` says of a file, as (line, code, message)."""
    command = [sys.executable, "-m", "torchlint", "check", ".", "--output-format", "json"]
    found = json.loads(subprocess.run(command, cwd=root, capture_output=True, check=False).stdout)
    here = [one for one in found if Path(root, one["filename"]) == root / name]
    return {(one["location"]["row"], one["code"], one["message"]) for one in here}


def settled(typist: Typist, expected: set[tuple[int, str, str]]) -> set[tuple[int, str, str]]:
    """The diagnostics of the last version, once they are those expected or the server has looked at everything again."""
    found: set[tuple[int, str, str]] = {(0, "", "not looked at")}
    for _ in range(3):
        shown = typist.client.published(typist.name, typist.version)
        found = {(one["range"]["start"]["line"] + 1, one["code"], one["message"]) for one in shown}
        if found == expected:
            break
    return found


@pytest.mark.parametrize("seed", range(2))
def test_what_was_typed_is_judged_as_the_command_line_would(client: Any, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "train.py").write_text("")
    client.start()
    typist = Typist(client, "train.py")
    for character in TEXT:
        typist.replace(len(typist.text), len(typist.text), character)
        if dice.random() < 0.05:  # a slip, and back
            typist.replace(len(typist.text), len(typist.text), dice.choice(("(", "é", "😀", '"""', "\n")))
            typist.undo()
    assert TEXT == typist.text
    typed = len(typist.history)
    for _ in range(60):
        start = dice.randrange(len(typist.text) + 1)
        end = min(len(typist.text), start + dice.choice((0, 0, 1, 8)))
        typist.replace(start, end, dice.choice(("", "x", "\n", "    ", "😀", "loss.item()\n")))
        if dice.random() < 0.3:
            typist.undo()
    while len(typist.history) > typed:
        typist.undo()
    assert TEXT == typist.text
    (tmp_path / "train.py").write_text(typist.text)
    expected = told(tmp_path, "train.py")
    assert expected, "the text has findings"
    assert expected == settled(typist, expected)
