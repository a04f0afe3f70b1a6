"""docs/accuracy.md says what docs/accuracy/ holds, and that is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.rule import load

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "accuracy"
JUDGED = sorted(file for file in DATA.glob("*.jsonl") if not file.name.startswith("unseen"))
ROWS = [json.loads(row) for file in JUDGED for row in file.read_text("utf-8").splitlines()]
LABELS = [json.loads(row) for file in DATA.glob("unseen*.jsonl") for row in file.read_text("utf-8").splitlines()]
REPOSITORIES = json.loads((DATA / "repositories.json").read_text("utf-8"))
COUNTS = json.loads((DATA / "counts.json").read_text("utf-8"))


def test_the_tables_are_fresh() -> None:
    command = [sys.executable, "scripts/accuracy.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ("", 0) == (ran.stderr, ran.returncode)


def test_every_repository_is_counted() -> None:
    assert REPOSITORIES.keys() == COUNTS.keys()


def test_a_label_has_its_keys_and_no_text_of_anybody() -> None:
    keys = {
        *("repo", "dir", "commit", "path", "line", "end_line", "kind", "verdict", "why", "confidence"),
        *("stmt", "func", "exhaustive", "line_sha1"),
    }
    assert [] == [
        row
        for row in LABELS
        if row.keys() - {"alt_lines"} != keys or row["verdict"] not in ("bad", "trap") or len(row["line_sha1"]) != 12
    ]


def test_a_judgement_has_its_keys_and_its_sentence() -> None:
    keys = {"code", "repo", "path", "line", "verdict", "reason"}
    assert [] == [
        row
        for row in ROWS
        if row.keys() - {"mended"} != keys
        or row["code"] not in load()
        or row["repo"] not in REPOSITORIES
        or row["verdict"] not in ("right", "debatable", "wrong")
        or not row["reason"].endswith(".")
    ]


def test_no_finding_is_judged_twice() -> None:
    places = [(row["code"], row["repo"], row["path"], row["line"]) for row in ROWS]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("code", [code for code, rule in load().items() if rule.set == "default" and code > "TL01"])
def test_thirty_findings_of_a_default_rule_are_judged_or_all_there_are(code: str) -> None:
    judged = sum(row["code"] == code and "mended" not in row for row in ROWS)
    assert min(30, sum(codes.get(code, 0) for codes in COUNTS.values())) <= judged


DEFAULT = [code for code, rule in load().items() if rule.set == "default"]


@pytest.mark.parametrize("code", DEFAULT)
def test_a_default_rule_is_wrong_once_in_twenty_at_most(code: str) -> None:
    read = [row["verdict"] for row in ROWS if row["code"] == code and "mended" not in row]
    assert read.count("wrong") <= max(1, len(read) // 20)


@pytest.mark.parametrize("code", DEFAULT)
def test_a_default_rule_is_worth_reading(code: str) -> None:
    """Nine times in ten, a debatable finding being half of one; three times in four where it claims to be no more than information."""
    read = [row["verdict"] for row in ROWS if row["code"] == code and "mended" not in row]
    bar = 0.75 if load()[code].severity == "info" else 0.9
    assert len(read) < 10 or read.count("right") + read.count("debatable") / 2 >= bar * len(read)


def test_every_set_of_labels_has_its_first_reading() -> None:
    sets = json.loads((DATA / "sets.json").read_text("utf-8"))
    assert {file.stem.removeprefix("unseen-") for file in DATA.glob("unseen-*.jsonl")} == sets.keys()


def test_every_reading_is_described_and_its_repositories_are_listed() -> None:
    described = [about["file"] for about in json.loads((DATA / "readings.json").read_text("utf-8"))]
    assert sorted(file.name for file in DATA.glob("unseen*.tsv")) == sorted(described)
    read = {row.split("\t")[0] for file in described for row in (DATA / file).read_text("utf-8").splitlines()[1:]}
    listed = [row.split("\t")[0] for row in (DATA / "read.tsv").read_text("utf-8").splitlines()[1:]]
    assert sorted(read) == sorted(listed)
