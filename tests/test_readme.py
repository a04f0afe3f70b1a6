"""What the README and docs/usage.md say of commands, options and output is so."""

from __future__ import annotations

import argparse
import html
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.commands import check
from torchlint.rule import load
from torchlint.settings import config, keys

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
USAGE = (ROOT / "docs" / "usage.md").read_text("utf-8")
RUNS = re.findall(r"^```console\n\$ (.*)\n((?:.*\n)*?)^```", README, re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), RUNS, ids=[command for command, _ in RUNS])
def test_the_output_is_real(command: str, output: str) -> None:
    arguments = shlex.split(command)[1:]
    ran = subprocess.run(
        [sys.executable, "-m", "torchlint", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (output, "", 1) == (ran.stdout, ran.stderr, ran.returncode)


def test_the_picture_is_of_a_real_run() -> None:
    picture = html.unescape((ROOT / "docs" / "pictures" / "check.svg").read_text("utf-8"))
    text = re.sub(r"<[^>]+>", "", re.sub(r"(?s)<style>.*?</style>", "", picture)).replace("\u00a0", " ")
    (arguments,) = re.findall(r"\$ torchlint (check .*?) *\n", text)
    ran = subprocess.run(
        [sys.executable, "-m", "torchlint", *arguments.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    words = re.sub(r"\s", "", text)
    told = "stale: run `python scripts/pictures.py`"
    assert [] == [line for line in ran.stdout.splitlines() if re.sub(r"\s", "", line) not in words], told


def test_the_demonstration_has_faults_in_several_files() -> None:
    found = re.findall(r"^(docs/demo/\w+\.py):\d+:\d+: (TL\d+) ", RUNS[0][1], re.MULTILINE)
    assert len({path for path, _ in found}) >= 3
    assert len({code for _, code in found}) >= 7


def test_what_was_tried_on_the_demonstration_is_found_in_it() -> None:
    """A run takes minutes: its candidates are held against the findings, their order and figures are not."""
    rows = re.findall(r"^\| \d \| (TL\d+) [\w-]+ \| (docs/demo/\w+\.py:\d+)", README, re.MULTILINE)
    assert len(rows) == 6
    found = re.findall(r"^(docs/demo/\w+\.py:\d+):\d+: (TL\d+) ", RUNS[0][1], re.MULTILINE)
    assert [] == [row for row in rows if (row[1], row[0]) not in found]


def test_every_option_is_named() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    check.add(commands)
    options = {option for action in commands.choices["check"]._actions for option in action.option_strings}
    options -= {option for option in options if option.startswith("--no-") and f"--{option[5:]}" in options}
    assert [] == sorted(option for option in options - {"-h", "--help"} if f"`{option}" not in USAGE)


def test_every_key_and_format_is_named() -> None:
    section = USAGE[USAGE.index("## Configuration") : USAGE.index("## Suppression")]
    assert [] == [
        key for key in keys.KEYS if f"`{key}`" not in section and not re.search(rf"^{key} =", section, re.MULTILINE)
    ]
    assert [] == [form for form in keys.FORMATS if f"`{form}`" not in USAGE]


def test_hooks_name_a_version_of_the_changelog() -> None:
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert [f"v{version}"] == re.findall(r"^ +rev: (\S+)", USAGE, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## [{version}] - " in changelog and f"The tag is `v{version}`." in changelog


def test_the_codes_it_names_exist() -> None:
    known = load()
    codes = set(re.findall(r"\bTL\d{3}\b", README + USAGE))
    assert codes <= known.keys()


def test_the_configuration_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", USAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(text)
    settings = config.load(load().values(), cwd=tmp_path)
    assert () == settings.warnings
    assert "TL712" in settings.codes and "TL702" not in settings.codes
