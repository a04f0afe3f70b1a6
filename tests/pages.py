"""The pages of the rules as tests read them: the examples of the docstrings and those of tests/rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from torchlint.lint.run import lint
from torchlint.rule import Rule, load
from torchlint.settings.config import Settings
from torchlint.text.finding import Finding
from torchlint.torch_api.version import Range

PRELUDE = "import torch\ndevice = torch.device('cuda')\n"
FENCE = re.compile(
    r"^```python(?P<whole> whole)?(?P<target> torch\S+)?(?P<option> suggest-\S+)?\n(?P<code>.*?)^```"
    r"(?:\n+^```output\n(?P<output>.*?)^```)?"
    r"(?:\n+^```fixed\n(?P<fixed>.*?)^```)?"
    r"(?:\n+^```safe\n(?P<safe>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
CASES = Path(__file__).parent / "rules"
RULES = [rule for rule in load().values() if rule.scope != "file"]


@dataclass(frozen=True)
class Case:
    """One example of a rule."""

    name: str
    rule: Rule
    code: str
    output: str | None
    fixed: str | None
    safe: str | None
    prelude: str
    target: str
    options: frozenset[str]

    @property
    def settings(self) -> Settings:
        wanted = frozenset((self.rule.code,))
        target = Range.stated(self.target) if self.target else None
        return Settings(codes=wanted, fixable=wanted, target_torch=target, options=self.options)

    def lint(self, source: bytes, sieve: bool = True) -> list[Finding]:
        result = lint({"example.py": source}, replace(self.settings, sieve=sieve))
        assert result.errors == ()
        return list(result.findings)


def page_of(rule: Rule) -> str:
    """The edge cases of a rule, "" where it has none."""
    page = CASES / f"{rule.name.replace('-', '_')}.md"
    return page.read_text("utf-8") if page.exists() else ""


def cases() -> list[Case]:
    """Every example of every rule."""
    found = []
    for rule in RULES:
        for where, text in (("doc", rule.doc), ("case", page_of(rule))):
            for number, match in enumerate(FENCE.finditer(text)):
                prelude = "" if match["whole"] else PRELUDE
                target = (match["target"] or "").strip().removeprefix("torch")
                options = frozenset(f"{rule.code}.{option}" for option in (match["option"] or "").split())
                name = f"{rule.name}-{where}-{number}"
                given = match["code"], match["output"], match["fixed"], match["safe"]
                found.append(Case(name, rule, *given, prelude, target, options))
    return found
