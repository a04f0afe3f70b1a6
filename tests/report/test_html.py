"""The page of findings: what it says, that nothing of the code becomes markup, and that a browser sorts and searches it."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from torchlint.lint.run import Result
from torchlint.report import Look, render
from torchlint.text.finding import Edit, Evidence, Finding, Fix, Related
from torchlint.text.source import Source

TEXT = b"import torch\n# <script>alert(1)</script>\nx = y.item()\nz = y.item()\n"
BROWSER = shutil.which("chromium")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr")
VOID = ("meta", "link", "br", "input")


def result(*lines: int, path: str = "a.py", **more: object) -> Result:
    fix = Fix("Drop <it>", (Edit(44, 57, b"pass\n"),), "unsafe", "<b>minds</b>")
    findings = tuple(
        Finding(path, n, 5, n, 13, "TL101", "item-in-hot-loop", f"`y[{n}]` <waits>", "warning", fix=fix) for n in lines
    )
    return Result(findings, 0, 1, (), {path: Source.of(path, TEXT)})


class Page(HTMLParser):
    """Checks that every element is closed in order; keeps the tags and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.said = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"}.intersection(self.open):
            self.said += data


def test_nothing_found() -> None:
    page = Page(render("html", Result(), Look()))
    assert "All checks passed!" in page.said
    assert "table" not in page.tags


def test_nothing_of_the_code_becomes_markup() -> None:
    page = Page(render("html", result(3, path="<i>.py"), Look()))
    assert (["script"], []) == ([tag for tag in page.tags if tag in ("script", "i", "it", "waits")], page.open)
    assert "<script>alert(1)</script>" in page.said
    assert "<i>.py:3:5" in page.said


def test_no_string_of_a_finding_becomes_markup() -> None:
    evil = "'\"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}{% raw %}`"
    fix = Fix(evil, (Edit(44, 57, evil.encode()),), "unsafe", evil)
    found = Finding(evil, 3, 5, 3, 13, "TL101", evil, f"{evil} `{evil}`", "warning", fix=fix,
                    related=(Related(evil, 1, 1, evil),), evidence=Evidence("confirmed", evil))  # fmt: skip
    text = f"import torch\n# {evil}\nx = y.item()\nz = y.item()  # {evil}\n".encode()
    look = Look(rule_url=f"https://example.org/{evil}/{{code}}")
    document = render("html", Result((found,), 0, 1, (), {evil: Source.of(evil, text)}), look)
    page = Page(document)

    assert [] == page.open
    assert 1 == page.tags.count("script")  # the page's own
    assert "img" not in page.tags
    assert "{{ 7 * 7 }}" in page.said


@pytest.mark.parametrize(
    "address", ["javascript:alert('{code}')", "JavaScript:{code}", "data:text/html,{code}", " javascript:{code}"]
)
def test_an_address_that_runs_something_is_no_link(address: str) -> None:
    assert "a" not in Page(render("html", result(3), Look(rule_url=address))).tags
    assert "a" in Page(render("html", result(3), Look(rule_url="https://example.org/{code}"))).tags


@pytest.mark.parametrize(
    ("text", "said"),
    [("a", "a"), ("`a` b", "<code>a</code> b"), ("a `b`", "a <code>b</code>"), ("a `b", "a `b"), ("`a` `b", "<code>a</code> `b"), ("", "")],
)  # fmt: skip
def test_what_stands_between_backticks_is_code(text: str, said: str) -> None:
    found = Finding("a.py", 3, 5, 3, 13, "TL101", "item-in-hot-loop", text, "warning")
    document = render("html", Result((found,), 0, 1, (), {}), Look())
    assert f'<td data-key="{text}">{said}\n<details>' in document


def test_a_finding_has_its_place_rule_code_and_fix() -> None:
    said = Page(render("html", result(3), Look())).said
    for text in ("1 finding in 1 file", "a.py:3:5", "TL101", "warning", "high", "y[3] <waits>", "x = y.item()"):
        assert text in said
    assert "Drop <it> (unsafe). <b>minds</b>" in said


@pytest.mark.skipif(BROWSER is None, reason="needs Debian's chromium")
def test_a_browser_sorts_and_searches(tmp_path: Path) -> None:
    clicks = (
        'const buttons=document.querySelectorAll("th button");buttons[0].click();buttons[0].click();'
        'const input=document.querySelector("input");input.value="y[4]";input.dispatchEvent(new Event("input"));'
    )
    text = render("html", result(3, 4), Look()).replace("</body>", f"<script>{clicks}</script></body>")
    (tmp_path / "page.html").write_text(text, "utf-8")
    command = [
        str(BROWSER),
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        f"file://{tmp_path}/page.html",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert [] == [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    rows = re.findall(r"<tr( hidden[^>]*)?><td class=\"?place\"? data-key=\"([^\"]*)\"", done.stdout)
    assert [("4", False), ("3", True)] == [(key.split(":")[-1].strip(), bool(hidden)) for hidden, key in rows]
    assert 'aria-sort="descending"' in done.stdout
