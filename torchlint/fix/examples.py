"""The examples on a rule's page, run: a page that is wrong fails its rule's test.

A page holds ```python fences. `# TL101` at the end of a line says that the rule fires on that line, `# ok` that it must
not although a naive matcher would; what is not marked must not fire either. The text in front of a fence's first line is
`import torch` and `device = torch.device("cuda")`, unless the fence is ```python whole; ```python torch2.4 is for code of that
torch, ```python suggest-fused turns on that option of the rule. An ```output fence behind it holds the findings as
`line:column severity message` (lines of the fence), a ```fixed fence what `--fix` (with --unsafe-fixes) makes of it, a
```safe fence what `--fix` alone does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..lint.run import Result, lint
from ..rule import Rule
from ..settings.config import Settings
from ..system.regex import regex
from ..text.finding import Finding
from ..text.source import Source
from ..torch_api.version import Range
from .apply import apply

PRELUDE = "import torch\ndevice = torch.device('cuda')\n"
FENCE = regex(
    r"^```python(?P<whole> whole)?(?P<target> torch\S+)?(?P<option> suggest-\S+)?(?P<preview> preview)?\n(?P<code>.*?)^```"
    r"(?:\n+^```output\n(?P<output>.*?)^```)?"
    r"(?:\n+^```fixed\n(?P<fixed>.*?)^```)?"
    r"(?:\n+^```safe\n(?P<safe>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
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
    preview: bool = False
    """Whether `--preview` is on, which a rule may find more with."""

    @property
    def settings(self) -> Settings:
        wanted = frozenset((self.rule.code,))
        target = Range.stated(self.target) if self.target else None
        return Settings(codes=wanted, fixable=wanted, target_torch=target, options=self.options, preview=self.preview)

    def result(self, source: bytes, sieve: bool = True) -> Result:
        return lint({"example.py": source}, replace(self.settings, sieve=sieve))


def examples(rule: Rule, text: str, where: str) -> Iterator[Example]:
    """The examples in a text on a rule; `where` goes into their names."""
    for number, match in enumerate(FENCE.finditer(text)):
        prelude = "" if match["whole"] else PRELUDE
        target = (match["target"] or "").strip().removeprefix("torch")
        options = frozenset(f"{rule.code}.{option}" for option in (match["option"] or "").split())
        name = f"{rule.name}-{where}-{number}"
        given = match["code"], match["output"], match["fixed"], match["safe"]
        yield Example(name, rule, *given, prelude, target, options, match["preview"] is not None)


def mistakes(example: Example) -> Iterator[str]:
    """The differences between an example and what its page says of it, in sentences."""
    rule, offset = example.rule, example.prelude.count("\n")
    source = (example.prelude + example.code).encode()
    mark = re.compile(rf"#.*\b{rule.code}\b")
    expected = [n for n, line in enumerate(example.code.splitlines(), 1) if mark.search(line)]
    result = example.result(source)
    yield from map(str, result.errors)
    findings = list(result.findings)
    lines = sorted({finding.line - offset for finding in findings})
    if lines != expected:
        yield f"it fires on {_lines(lines)}, the page says on {_lines(expected)}"
    if findings != list(example.result(source, sieve=False).findings):
        yield "it finds something else when every function is shown to it (its `shape` lacks a form that the code may have)"
    told = "".join(f"{f.line - offset}:{f.column} {f.severity} {f.message}\n" for f in findings)
    yield from _differs("is told", example.output, told)
    repaired = repair(source, findings)
    yield from _differs("`--fix --unsafe-fixes` makes", example.fixed, repaired.decode().removeprefix(example.prelude))
    if example.safe is not None:
        safe = [f for f in findings if f.fix is not None and f.fix.applicability == "safe"]
        yield from _differs("`--fix` makes", example.safe, repair(source, safe).decode().removeprefix(example.prelude))
    if repaired != source:
        yield from _unstable(example, repaired, findings)


def repair(source: bytes, findings: list[Finding]) -> bytes:
    """A text with the fixes of its findings, less what is only suggested."""
    fixes = [f.fix for f in findings if f.fix is not None and f.fix.applicability != "suggestion"]
    return apply(Source.of("example.py", source), fixes)[0]


def _unstable(example: Example, repaired: bytes, before: list[Finding]) -> Iterator[str]:
    """What is wrong with a repaired text."""
    try:
        ast.parse(repaired)
    except SyntaxError as error:
        yield f"the fix breaks the code: {error}"
        return
    again = list(example.result(repaired).findings)
    if repair(repaired, again) != repaired:
        yield "a second run fixes more"
    if len(again) != len([f for f in before if f.fix is None or f.fix.applicability == "suggestion"]):
        yield "what was fixed is found again"


def _differs(what: str, said: str | None, got: str) -> Iterator[str]:
    if said is not None and said != got:
        yield f"{what}\n{got}the page says\n{said}"


def _lines(numbers: list[int]) -> str:
    return f"line {', '.join(map(str, numbers))}" if numbers else "no line"
