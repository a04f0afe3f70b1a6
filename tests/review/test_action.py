"""The GitHub Action, run as a runner would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def test_the_review_step(github_site: Any, show: Any, changed: str, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    pytest.importorskip("github")
    show(github_site)
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-1]
    scripts = tmp_path / "torchlint" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "torchlint").write_text(f'#!/bin/sh\nexec {sys.executable} -m torchlint "$@"\n')
    (scripts / "torchlint").chmod(0o755)
    event = tmp_path / "event.json"
    event.write_text(f'{{"pull_request": {{"number": 7, "head": {{"sha": "{changed}"}}, "base": {{"sha": "main"}}}}}}')
    inputs = {"${{ inputs.token }}": github_site.token, "${{ inputs.arguments }}": "--exit-zero --select TL101,TL402"}
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_API_URL": github_site.url,
        "GITHUB_REPOSITORY": "me/it",
        "GITHUB_EVENT_PATH": str(event),
        **{name: inputs[value] for name, value in step["env"].items()},
    }
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=environment, cwd=Path.cwd(), capture_output=True, text=True, check=False
    )
    assert (0, "", "2 findings, 2 of them posted now.\n") == (done.returncode, done.stdout, done.stderr)
    assert [changed] == [one["commit_id"] for one in github_site.reviews]
