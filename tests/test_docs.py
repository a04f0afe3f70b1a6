"""The pages of the rules are what their docstrings give."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint import docs
from torchlint.rule import Rule, load

ROOT = Path(__file__).parents[1]
STALE = "stale: run `python -m torchlint.docs docs`"
RULES = list(load().values())


@pytest.mark.parametrize("path", docs.pages())
def test_a_committed_page_is_fresh(path: str) -> None:
    page = ROOT / "docs" / path
    assert page.exists() and docs.pages()[path] == page.read_text("utf-8"), STALE


def test_no_page_is_left_of_a_rule_that_is_no_more() -> None:
    pages = {f"rules/{page.name}" for page in (ROOT / "docs" / "rules").iterdir()}
    assert {path for path in docs.pages() if path.startswith("rules/")} == pages, STALE


def test_the_command_writes_them(tmp_path: Path) -> None:
    (tmp_path / "docs" / "rules").mkdir(parents=True)
    (tmp_path / "docs" / "rules" / "gone.md").touch()
    (tmp_path / "docs" / "kept.md").touch()

    subprocess.run([sys.executable, "-m", "torchlint.docs", "docs"], cwd=tmp_path, check=True)

    written = {str(page.relative_to(tmp_path / "docs").as_posix()) for page in tmp_path.rglob("*.*")}
    assert docs.pages().keys() | {"kept.md"} == written


def test_the_table_names_every_rule_once() -> None:
    names = re.findall(r"^\| (TL\w+) \| \[([\w-]+)\]\(rules/([\w-]+)\.md\)", docs.pages()["rules.md"], re.MULTILINE)
    assert [(rule.code, rule.name, rule.name) for rule in RULES] == names


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_a_summary_is_one_sentence_on_one_line(rule: Rule) -> None:
    assert re.fullmatch(r"(?:[A-Z`]|torch\.).*[^.]\.", rule.summary)
    assert len(rule.summary) <= 120


@pytest.mark.parametrize("path", docs.pages())
def test_links_between_pages_lead_somewhere(path: str) -> None:
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", docs.pages()[path], flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert [] == [link for link in links if not (ROOT / "docs" / Path(path).parent / link).exists()]


def test_what_the_fixer_says_stands_under_fix_safety(monkeypatch: pytest.MonkeyPatch) -> None:
    def fix() -> None:
        """Remove the comment.

        And more.
        """

    monkeypatch.setattr("torchlint.docs.fixer", lambda name: fix)
    text = docs.page(load()["TL002"])
    assert "\n## Fix safety\n\nRemove the comment.\n\nRemoves the code, or" in text


def test_options_stand_on_the_page_with_what_turns_them_on() -> None:
    text = docs.page(load()["TL706"])
    assert (
        "\n## Options\n\nOff unless turned on in the configuration:\n\n- `suggest-fused`: find `Adam`, `AdamW` and `SGD` without "
        "`fused=True` too, in programs that use CUDA.\n\n"
        "```toml\n[tool.torchlint.optimizer-slow-impl]\nsuggest-fused = true\n```\n\n## Bad\n"
    ) in text
