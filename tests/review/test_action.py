"""The GitHub Action, run as a runner would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


IMAGE = f"ghcr.io/me/torchlint@sha256:{'0' * 64}"
DOCKER = f"""\
#!{sys.executable}
# `docker run`: of the environment, the folders and the user nothing is there but what options name
import os, subprocess, sys

assert sys.argv[1] == "run"
words, options = sys.argv[2:], []
while words[0].startswith("-"):
    name = words.pop(0)
    options.append((name, "" if name == "--rm" else words.pop(0)))
image, *arguments = words
assert image == {IMAGE!r}, image
environment = {{"PATH": os.environ["PATH"]}}
for name, _, value in (text.partition("=") for option, text in options if option == "--env"):
    environment[name] = value or os.environ.get(name, "")
mounted = [text.removesuffix(":ro").split(":") for option, text in options if option == "--volume"]
assert all(there == inside for there, inside in mounted), mounted
(folder,) = [text for option, text in options if option == "--workdir"]
assert {{folder, environment["GITHUB_EVENT_PATH"]}} == {{there for there, _ in mounted}}, mounted
assert ("--user", f"{{os.getuid()}}:{{os.getgid()}}") in options
sys.exit(subprocess.run([sys.executable, "-m", "torchlint", *arguments], cwd=folder, env=environment).returncode)
"""


@pytest.fixture
def run_step(github_site: Any, show: Any, changed: str, tmp_path: Path) -> Callable[[str], tuple[int, str, str]]:
    """Runs the action's review with an image, or with none, on a pull request that adds two findings."""
    yaml = pytest.importorskip("yaml")
    pytest.importorskip("github")
    show(github_site)
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-1]
    scripts = tmp_path / "torchlint" / "bin"
    scripts.mkdir(parents=True)
    for name, text in {"torchlint": f'#!/bin/sh\nexec {sys.executable} -m torchlint "$@"\n', "docker": DOCKER}.items():
        (scripts / name).write_text(text)
        (scripts / name).chmod(0o755)
    event = tmp_path / "event.json"
    event.write_text(f'{{"pull_request": {{"number": 7, "head": {{"sha": "{changed}"}}, "base": {{"sha": "main"}}}}}}')

    def run(image: str) -> tuple[int, str, str]:
        inputs = {
            "${{ inputs.token }}": github_site.token,
            "${{ inputs.arguments }}": "--exit-zero --select TL101,TL402",
            "${{ inputs.image }}": image,
        }
        environment = {
            **os.environ,
            "PATH": f"{scripts}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_WORKSPACE": str(Path.cwd()),
            "GITHUB_API_URL": github_site.url,
            "GITHUB_REPOSITORY": "me/it",
            "GITHUB_EVENT_PATH": str(event),
            **{name: inputs[value] for name, value in step["env"].items()},
        }
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("image", ["", IMAGE])
def test_the_review_step(github_site: Any, changed: str, run_step: Callable[[str], Any], image: str) -> None:
    assert run_step(image) == (0, "", "2 findings, 2 of them posted now.\n")
    assert [changed] == [one["commit_id"] for one in github_site.reviews]


@pytest.mark.parametrize("image", ["torchlint", "ghcr.io/me/torchlint:1", IMAGE + "0", f"--privileged={IMAGE}"])
def test_an_image_that_may_change_is_not_run(github_site: Any, run_step: Callable[[str], Any], image: str) -> None:
    message = (
        "::error::The image is not named by its digest (NAME@sha256:...), so that it could change "
        "from one run to the next.\n"
    )
    assert run_step(image) == (2, message, "")
    assert github_site.reviews == []


def test_torchlint_is_installed_only_where_no_image_is_named() -> None:
    yaml = pytest.importorskip("yaml")
    install = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][0]
    assert install["if"] == "inputs.image == ''"
