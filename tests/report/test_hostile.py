"""Names and code of a repository that nobody trusts: reports show them, and they command neither terminals nor runners."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from torchlint.report import Look, render
from torchlint.settings.keys import FORMATS
from torchlint.system.printable import in_json, printable, several_lines, shown_path
from torchlint.text.finding import Edit, Evidence, Finding, Fix, Related
from torchlint.text.source import Source

SIGNS = "\x00\x07\x08\r\n\x1b[2J\x1b]0;title\x07\x7f\x85\x9b31m\xad\u061c\u200b\u202e\u2028\u2066\ufeff\U000e0041\udcff\ud800"
"""What a terminal obeys, what turns text round, and what is no character."""
COMMANDS = (
    "\n::error file=x::pwned",
    "\n  ::set-output name=x::y",
    "##[add-mask]x",
    "##vso[task.setvariable variable=x]y",
)
"""What runners obey: at the start of a line, or anywhere in one."""
HOSTILE = SIGNS + "".join(COMMANDS)
NAMES = ("a{}.py", "::error file=x::{}.py", "  ::warning::{}.py", "##[error]{}.py", os.fsdecode(b"\xff\xfe.py"))
CODE = (
    "import torch\n"
    f"x = '''{SIGNS[:-2].translate({10: None, 13: None, 0: None})}'''; y = x.item()  # ##vso[task.complete]##[error]\n"
    "'''\n::error::pwned\n##vso[task.complete result=Failed]\n'''\n"
)
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def hostile(name: str, code: str = CODE) -> tuple[Any, Finding]:
    """A result whose every word is hostile, in a file of that name."""
    path = name.format(HOSTILE.replace("\ud800", ""))  # which no name can hold
    data = code.encode()
    fix = Fix(f"title{HOSTILE}", (Edit(7, 12, b"torch; x = '\x1b[2J##vso[x]'"),), "safe", f"note{HOSTILE}")
    unsafe = Fix(f"title{HOSTILE}", (Edit(7, 12, b"numpy"),), "unsafe", f"note{HOSTILE}")
    related = (Related(path, 3, 1, f"related{HOSTILE}"),)
    evidence = Evidence("confirmed", f"detail{HOSTILE}", 1.0)
    one = Finding(
        path, 2, 1, 6, 1, "TL101", "item-in-loop", f"message{HOSTILE}", "warning", fix, related, None, evidence, (2, 2)
    )
    two = replace(one, fix=unsafe, line=2, end_line=2, end_column=9)

    class Hostile:
        findings = (one, two)
        suppressed, files = 0, 1

        def source(self, path: str) -> Source:
            return Source(path, data, data, "utf-8", False)

        def line(self, path: str, line: int) -> str:
            return self.source(path).line_text(line)

    return Hostile(), one


def commands(text: str) -> list[str]:
    """The lines that runners of GitHub, Azure or TeamCity take for commands; none is named `:`, as the mark `:::` would have it."""
    return [line for line in re.split(r"[\n\r]", text) if re.match(r"\s*::(?!: )", line) or re.search(r"##\w*\[", line)]


@pytest.fixture
def look() -> Look:
    return Look()


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", [form for form in FORMATS if form not in ("github", "azure")])
def test_no_format_gives_commands(form: str, name: str, color: bool, look: Look) -> None:
    result, _ = hostile(name)
    text = render(form, result, replace(look, color=color))
    text = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
    assert [] == HIDDEN.findall(text)
    assert [] == commands(text)
    text.encode()


@pytest.mark.parametrize("name", NAMES)
def test_githubs_own_commands_are_the_only_ones(name: str, look: Look) -> None:
    result, _ = hostile(name)
    text = render("github", result, look)
    assert [] == HIDDEN.findall(text)
    assert (
        2 == text.count("\n") == len([line for line in commands(text) if re.match(r"::warning title=torchlint ", line)])
    )
    assert [] == re.findall(r"##\w*\[", text)


@pytest.mark.parametrize("name", NAMES)
def test_azures_own_commands_are_the_only_ones(name: str, look: Look) -> None:
    result, _ = hostile(name)
    text = render("azure", result, look)
    assert [] == HIDDEN.findall(text)
    assert (
        2 == text.count("\n") == len(re.findall(r"^##vso\[task\.logissue type=warning;sourcepath=", text, re.MULTILINE))
    )
    assert 2 == len(re.findall(r"##\w*\[", text))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["json", "sarif", "gitlab", "rdjson"])
def test_what_machines_read_is_what_there_is(form: str, name: str, look: Look) -> None:
    result, finding = hostile(name)
    document = json.loads(render(form, result, look))
    message = finding.message.replace("\udcff", r"\xff").replace("\ud800", r"\ud800")
    assert 2 == sum(text in (message, f"TL101: {message}") for text in strings(document))
    for text in strings(document):
        text.encode()


def strings(document: object) -> list[str]:
    if isinstance(document, dict):
        return [text for key, value in document.items() for text in (key, *strings(value))]
    if isinstance(document, list):
        return [text for value in document for text in strings(value)]
    return [document] if isinstance(document, str) else []


@pytest.mark.parametrize("form", ["json-lines", "rdjsonl"])
def test_a_line_is_an_object(form: str, look: Look) -> None:
    result, _ = hostile(NAMES[0])
    lines = render(form, result, look).split("\n")
    assert 3 == len(lines)
    assert all(json.loads(line) for line in lines[:-1])


def test_junit_stays_well_formed(look: Look) -> None:
    result, _ = hostile(NAMES[0])
    suite = ElementTree.fromstring(render("junit", result, look))[0]
    assert "\n" not in (suite.get("name") or "")


@pytest.mark.parametrize("start", ["x", "\t", "\x1b", "\u202e"])
def test_carets_stand_below_what_is_shown(start: str, look: Look) -> None:
    code = f"y = '{start}'; x.item()\n"
    result, finding = hostile("a.py", code)
    column = code.index("x.item") + 1
    result.findings = (
        replace(finding, line=1, column=column, end_line=1, end_column=column + 8, fix=None, related=()),
    )
    _, _, _, shown, carets, *_ = render("full", result, look).splitlines()
    assert shown.index("x.item()") == carets.index("^")
    assert 8 == carets.count("^")


def test_text_that_is_harmless_stays() -> None:
    for text in ("a b/é.py", "# comment ## heading", "日本語 🎉", "a\u00a0b", "##", "::", "C:\\x"):
        assert text == printable(text)
    assert "./::a.py" == shown_path("::a.py")
    assert "./ ::a.py" == shown_path(" ::a.py")
    assert "a::b.py" == shown_path("a::b.py")


def test_escapes_are_pythons() -> None:
    assert r"a\x1b[2J\n\t\r\x9b\u202e\U000e0041\xff\ud800" == printable(
        "a\x1b[2J\n\t\r\x9b\u202e\U000e0041\udcff\ud800"
    )
    assert r"#\x23[error] #\x23vso[x]" == printable("##[error] ##vso[x]")
    assert "a\n  | ::error::b" == several_lines("a\n::error::b")
    tricky = "\x85\u202e\U000e0041 ##[x] \udcff"
    assert "\x85\u202e\U000e0041 ##[x] \\xff" == json.loads(in_json(json.dumps(tricky, ensure_ascii=False)))
