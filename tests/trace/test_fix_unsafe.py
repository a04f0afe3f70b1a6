"""After an unsafe fix a program still trains, and prints what it printed but for what the fix's note says.

The programs stand in pages, one a rule, `unsafe/NAME.md`. The first fence of a page is how each of its programs begins.
A ```python fixed fence is a program that `--fix --unsafe-fixes` changes, a ```python kept fence one that it leaves as it is
because it might not do the same. What is fixed is fixed in other forms too: with carriage returns, with tabs, with
statements behind semicolons, with comments wherever one may stand.
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchlint.fix.run import fix_files
from torchlint.rule import load
from torchlint.settings.config import Settings

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

PAGES = Path(__file__).parent / "unsafe"
RUNNER = Path(__file__).with_name("run_programs.py")
FENCE = re.compile(r"^```python ?(?P<kind>\w*)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
CODES = {rule.name.replace("-", "_"): rule.code for rule in load().values()}


@dataclass(frozen=True)
class Program:
    name: str
    rule: str
    kind: str
    code: str

    def fixed(self, form: Callable[[str], str] = str) -> str:
        """The program, in some form, as the fixes of its rule leave it."""
        code, rules = form(self.code).encode(), frozenset((self.rule, "TL001", "TL004"))
        result = fix_files({"program.py": code}, Settings(rules, fixable=rules), unsafe=True, write=False)
        assert [] == [one for one in result.result.findings if one.code != self.rule]
        return result.contents.get("program.py", code).decode()


def programs() -> list[Program]:
    found = []
    for page in sorted(PAGES.glob("*.md")):
        start, *rest = FENCE.finditer(page.read_text("utf-8"))
        for number, match in enumerate(rest):
            name, code = f"{page.stem}-{number}", start["code"] + match["code"]
            found.append(Program(name, CODES[page.stem], match["kind"], code))
    return found


PROGRAMS = programs()


def with_carriage_returns(code: str) -> str:
    return code.replace("\n", "\r\n")


def with_tabs(code: str) -> str:
    return re.sub(r"^(?: {4})+", lambda margin: "\t" * (len(margin[0]) // 4), code, flags=re.MULTILINE)


def with_semicolons(code: str) -> str:
    """Statements of one line that stand below each other are put on one line."""
    lines: list[str | None] = [*code.split("\n")]
    for block in [body for node in ast.walk(ast.parse(code)) if isinstance(body := getattr(node, "body", None), list)]:
        for one, other in reversed(list(itertools.pairwise(block))):
            simple = all(not hasattr(part, "body") and part.lineno == part.end_lineno for part in (one, other))
            first, second = lines[one.lineno - 1], lines[other.lineno - 1]
            if simple and one.lineno + 1 == other.lineno and first and second and "#" not in first:
                lines[one.lineno - 1 : other.lineno] = f"{first}; {second.lstrip()}", None
    return "\n".join(line for line in lines if line is not None)


def with_comments(code: str) -> str:
    """A comment behind every comma and parenthesis that may end a line."""
    places, depth, quoted = [], 0, 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        name = tokenize.tok_name[token.type]
        quoted += (name == "FSTRING_START") - (name == "FSTRING_END")
        depth += (
            (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}")) if token.type == tokenize.OP else 0
        )
        if token.type == tokenize.OP and token.string in ("(", ",") and depth and not quoted:
            places.append(token.end)
    lines = code.split("\n")
    for number, (row, column) in reversed(list(enumerate(places))):
        line = lines[row - 1]
        rest = line[column:].lstrip()
        lines[row - 1 : row] = [line] if rest.startswith("#") else [f"{line[:column]}  # {number}", f"    {rest}"]
    return "\n".join(lines)


FORMS = (str, with_carriage_returns, with_tabs, with_semicolons, with_comments)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.name))
def test_is_fixed_where_it_will_do_the_same(program: Program) -> None:
    changed = program.fixed() != program.code

    assert changed == {"fixed": True, "kept": False}[program.kind]


@pytest.mark.parametrize("form", FORMS[1:3], ids=lambda form: str(form.__name__))
@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.kind == "fixed"], ids=lambda one: str(one.name))
def test_is_fixed_alike_whatever_ends_and_begins_its_lines(program: Program, form: Callable[[str], str]) -> None:
    assert form(program.fixed()) == program.fixed(form)


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.kind == "fixed"], ids=lambda one: str(one.name))
def test_no_comment_is_lost(program: Program) -> None:
    written = re.findall(r"#.*", with_comments(program.code))

    assert written == re.findall(r"#.*", program.fixed(with_comments))


def test_prints_the_same_after_its_fix(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    codes = {program.name: program.code for program in PROGRAMS}
    fixed = {
        f"{program.name} {form.__name__}": program.fixed(form)
        for program in PROGRAMS
        if program.kind == "fixed"
        for form in FORMS
    }
    before.write_text(json.dumps(codes | fixed), "utf-8")

    subprocess.run([sys.executable, str(RUNNER), str(before), str(after)], check=True, cwd=tmp_path, timeout=600)

    printed: dict[str, str] = json.loads(after.read_text("utf-8"))
    assert {name: printed[name] for name in fixed} == {name: printed[name.partition(" ")[0]] for name in fixed}
