"""The tour and the page on peers: what they name is there, and their figures are those of the pages that measure."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path

import pytest

from torchlint import cli

ROOT = Path(__file__).parents[1]
TOUR = (ROOT / "docs/tour.md").read_text("utf-8")
PEERS = (ROOT / "docs/peers.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ torchlint (.*)$", TOUR, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_tour_is_one(command: str) -> None:
    words = shlex.split(command)
    args = cli._parse(words)
    assert words[0] == args.command


@pytest.mark.parametrize("name", re.findall(r"\]\(pictures/(\w+)\.svg\)", TOUR))
def test_a_picture_is_of_a_command_that_the_tour_shows(name: str) -> None:
    picture = html.unescape((ROOT / f"docs/pictures/{name}.svg").read_text("utf-8"))
    text = re.sub(r"<[^>]+>", "", re.sub(r"(?s)<style>.*?</style>", "", picture)).replace("\u00a0", " ")
    (shown,) = re.findall(r"\$ torchlint (.*?) *\n", text)
    assert shown.split()[:2] in [command.split()[:2] for command in COMMANDS]
    assert str(shown.split()) in (ROOT / "scripts/pictures.py").read_text("utf-8").replace('"', "'").replace(
        ", '--color', 'always'", ""
    )


def test_speeds_are_those_that_were_measured() -> None:
    measured = (ROOT / "docs/speed.md").read_text("utf-8").partition("### timm: 315 files, 136,193 lines")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \| [\d.]+ \|$", PEERS, re.MULTILINE)
    rows += re.findall(r"^\| (torchlint, all rules) \| ([\d.]+) \| 1 \|$", PEERS, re.MULTILINE)
    assert 6 <= len(rows)
    for tool, seconds in rows:
        assert re.search(rf"^\| {re.escape(tool)} \| {re.escape(seconds)} \|", measured, re.MULTILINE), tool


def test_accuracy_is_what_was_measured() -> None:
    measured = (ROOT / "docs/accuracy.md").read_text("utf-8")
    (row,) = re.findall(r"^\| \*\*all kinds\*\* (.*)", measured, re.MULTILINE)
    every, _, default, _ = re.findall(r"\(([\d.]+) %\)", row)
    assert f"find {default} % of the faults ({every} % with all rules)" in (ROOT / "README.md").read_text("utf-8")
    assert [every, default] == re.findall(r"^\| torchlint, \w+ rules \| ([\d.]+) % \|", PEERS, re.MULTILINE)
