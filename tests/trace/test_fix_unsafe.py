"""After an unsafe fix a program still trains, and prints what it printed but for what the fix's note says.

The programs stand in pages, one a rule, `unsafe/NAME.md`. The first fence of a page is how each of its programs begins.
A ```python fixed fence is a program that `--fix --unsafe-fixes` changes, a ```python kept fence one that it leaves as it is
because it might not do the same. A ```output fence behind a program is what it prints before and after.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchlint.config import Settings
from torchlint.fixing import fix_files
from torchlint.rule import load

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

PAGES = Path(__file__).parent / "unsafe"
RUNNER = Path(__file__).with_name("run_programs.py")
FENCE = re.compile(
    r"^```python ?(?P<kind>\w*)\n(?P<code>.*?)^```(?:\n+^```output\n(?P<output>.*?)^```)?", re.MULTILINE | re.DOTALL
)
CODES = {rule.name.replace("-", "_"): rule.code for rule in load().values()}


@dataclass(frozen=True)
class Program:
    name: str
    rule: str
    kind: str
    code: str
    output: str | None

    @property
    def fixed(self) -> str:
        """The program as the fixes of its rule leave it."""
        rules = frozenset((self.rule,))
        result = fix_files({"program.py": self.code.encode()}, Settings(rules, fixable=rules), unsafe=True, write=False)
        assert result.failed == () and not [one for one in result.result.findings if one.code != self.rule]
        return result.contents.get("program.py", self.code.encode()).decode()


def programs() -> list[Program]:
    found = []
    for page in sorted(PAGES.glob("*.md")):
        start, *rest = FENCE.finditer(page.read_text("utf-8"))
        for number, match in enumerate(rest):
            name, code = f"{page.stem}-{number}", start["code"] + match["code"]
            found.append(Program(name, CODES[page.stem], match["kind"], code, match["output"]))
    return found


PROGRAMS = programs()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.name))
def test_is_fixed_where_it_will_do_the_same(program: Program) -> None:
    changed = program.fixed != program.code

    assert changed == {"fixed": True, "kept": False}[program.kind]


def test_prints_the_same_after_its_fix(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    codes = {program.name: program.code for program in PROGRAMS}
    fixed = {f"{program.name} fixed": program.fixed for program in PROGRAMS if program.kind == "fixed"}
    before.write_text(json.dumps(codes | fixed), "utf-8")

    subprocess.run([sys.executable, str(RUNNER), str(before), str(after)], check=True, cwd=tmp_path, timeout=600)

    printed: dict[str, str] = json.loads(after.read_text("utf-8"))
    expected = {program.name: program.output for program in PROGRAMS if program.output is not None}
    assert {name: printed[name] for name in expected} == expected
    assert {name: printed[name] for name in fixed} == {name: printed[name.removesuffix(" fixed")] for name in fixed}
