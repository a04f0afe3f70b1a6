"""The packaged extension in a real VS Code (code-server) in a headless browser.

Skipped unless TORCHLINT_CODE_SERVER names a folder with `node_modules/code-server` and `node_modules/playwright-core`;
docs/editors.md says how such a folder is made. Node and chromium must be installed.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

HOME = os.environ.get("TORCHLINT_CODE_SERVER", "")
EXTENSION = Path(__file__).parents[2] / "docs" / "editors" / "vscode"
DRIVER = Path(__file__).with_name("vscode.js")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
TRAIN = """\
import torch


def train(model, loader, optimizer):
    for x in loader:
        with torch.cuda.amp.autocast(dtype=torch.bfloat16):
            loss = model(x.cuda()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
PROGRAM = """\
import torch

weight = torch.ones(3, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = weight.sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
ON_THE_CPU = """\
import torch

torch.manual_seed(0)
weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(3):
    optimizer.zero_grad(set_to_none=False)
    loss = weight.sum()
    loss.backward()
    optimizer.step()
print(loss)
"""
SETTINGS = {
    "torchlint.command": [sys.executable, "-m", "torchlint"],
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "extensions.ignoreRecommendations": True,
    "telemetry.telemetryLevel": "off",
}

pytestmark = pytest.mark.skipif(
    not (HOME and CHROMIUM and shutil.which("node")),
    reason="needs TORCHLINT_CODE_SERVER (a code-server with playwright-core), node and chromium",
)


@pytest.fixture(scope="module")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, packaged from its sources as its README says."""
    folder = tmp_path_factory.mktemp("extension") / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "*.vsix"))
    for words in (["npm", "ci", "--no-audit", "--no-fund"], ["npm", "run", "package"]):
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder / "torchlint.vsix"


@pytest.fixture
def editor(vsix: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a VS Code that has tmp_path/project open."""
    project, data, extensions = tmp_path / "project", tmp_path / "data", tmp_path / "extensions"
    (data / "User").mkdir(parents=True)
    (data / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    (project / "program.py").write_text(PROGRAM)
    (project / "cpu.py").write_text(ON_THE_CPU)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    entry = Path(HOME) / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    command = ["node", str(entry), "--user-data-dir", str(data), "--extensions-dir", str(extensions)]
    subprocess.run([*command, "--install-extension", str(vsix)], check=True, capture_output=True)
    server = subprocess.Popen(
        [*command, "--auth", "none", "--bind-addr", address, "--disable-telemetry", "--disable-update-check"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(60):
            with suppress(OSError):
                urllib.request.urlopen(f"http://{address}/healthz", timeout=5).close()
                break
            time.sleep(0.5)
        yield f"http://{address}/?folder={project}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def drive(editor: str, what: str, tmp_path: Path) -> Any:
    """What the browser saw while it did something."""
    environment = {**os.environ, "NODE_PATH": str(Path(HOME) / "node_modules"), "CHROMIUM": CHROMIUM}
    command = ["node", str(DRIVER), editor, what, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_findings_are_shown_fixed_and_gone(editor: str, tmp_path: Path) -> None:
    seen = drive(editor, "lint", tmp_path)
    assert ["TL104", "TL901"] == seen["before"]
    assert ["TL104"] == seen["after"]
    text = (tmp_path / "project" / "train.py").read_text()
    assert (
        TRAIN.replace(
            "torch.cuda.amp.autocast(dtype=torch.bfloat16)", 'torch.amp.autocast("cuda", dtype=torch.bfloat16)'
        )
        == text
    )


@pytest.mark.torch
def test_a_traced_run_opens_its_page(editor: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert "program.py" in drive(editor, "trace", tmp_path)["page"]


@pytest.mark.torch
def test_an_optimized_program_opens_its_report(editor: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    page = drive(editor, "optimize", tmp_path)["page"]
    assert "cpu.py:7" in page and "TL501" in page
    assert ON_THE_CPU == (tmp_path / "project" / "cpu.py").read_text()  # it is tried in copies
