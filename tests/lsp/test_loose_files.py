"""Files that belong to no project, and an editor that leaves while the server works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

TRAIN = """\
from log import log


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log(loss)
"""
LOG = "import torch\n\n\ndef log(value):\n    print(value.item())\n"


def codes(diagnostics: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(one["range"]["start"]["line"] + 1, one["code"]) for one in diagnostics]


@pytest.fixture
def loose(client: Any, tmp_path: Path) -> Any:
    """The client without a workspace: no folder, and nothing around its files that marks a project."""
    client.start(rootUri=None, workspaceFolders=None)
    return client


def test_a_file_without_a_project_is_looked_at_alone(loose: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    loose.open("log.py", LOG)
    assert [] == loose.published("log.py")


def test_files_without_a_project_that_are_open_together_know_each_other(loose: Any) -> None:
    loose.open("train.py", TRAIN)
    assert [] == loose.published("train.py")
    loose.open("log.py", LOG)
    while not (found := loose.published("log.py")):
        pass
    assert [(5, "TL104")] == codes(found)


def test_a_folder_that_can_not_be_read_is_no_matter_to_a_loose_file(loose: Any, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    os.mkfifo(tmp_path / "beside" / "pipe.py")
    loose.open("train.py", TRAIN.replace("log(loss)", "print(loss.item())"))
    assert [(10, "TL104")] == codes(loose.published("train.py"))


def test_a_configuration_file_that_comes_makes_a_project_of_the_folder(loose: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    loose.open("log.py", LOG)
    assert [] == loose.published("log.py")
    (tmp_path / "pyproject.toml").write_text("")
    loose.notify("workspace/didChangeWatchedFiles", changes=[{"uri": loose.uri("pyproject.toml"), "type": 1}])
    while not (found := loose.published("log.py")):
        pass
    assert [(5, "TL104")] == codes(found)


def test_a_file_in_a_folder_that_is_not_there_is_looked_at_alone(loose: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    loose.open("gone/away/log.py", LOG)
    assert [] == loose.published("gone/away/log.py")


def test_the_server_ends_at_once_during_a_first_look(client: Any, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    body = "".join(f"    value = step(value, {number})\n" for number in range(400))
    for number in range(400):
        text = f"import torch\nfrom module{number + 1} import step\n\n\ndef step(value, n):\n{body}    return value.item()\n"
        (tmp_path / f"module{number}.py").write_text(text)
    client.start()
    client.open("module0.py")
    client.note("$/progress")
    assert 0 == client.stop()
