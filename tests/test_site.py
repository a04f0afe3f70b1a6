"""The documentation site: every page is led to, and every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
LEFT_OUT = ("node_modules", "demo", "accuracy")
PAGES = sorted(
    page.relative_to(DOCS).as_posix()
    for page in DOCS.rglob("*.md")
    if not set(LEFT_OUT).intersection(page.relative_to(DOCS).parts[:-1])
)


def links(page: str) -> set[str]:
    """The files of the documentation that a page links to, relative to `docs/`."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose)
    return {((DOCS / page).parent / target).resolve().relative_to(DOCS).as_posix() for target in targets}


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_to_a_file_of_the_site(page: str) -> None:
    assert [] == sorted(target for target in links(page) if not (DOCS / target).is_file())


def test_every_page_is_reached_from_the_first_one() -> None:
    reached, new = set[str](), {"index.md"}
    while new:
        reached |= new
        new = {target for page in new for target in links(page) if target.endswith(".md")} - reached
    assert [] == sorted(set(PAGES) - reached)


def test_the_site_names_every_page_but_those_of_rules() -> None:
    text = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    named = set(re.findall(r": ([\w/-]+\.md)$", text, re.MULTILINE))
    assert {page for page in PAGES if not page.startswith("rules/")} == named
