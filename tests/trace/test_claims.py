"""Each rule that names an event has its page's examples run: the event is on the marked line of Bad, and not in Good."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from torchlint.docs import page
from torchlint.evidence.confirm import confirm, matches
from torchlint.evidence.tracing import trace
from torchlint.lint.run import lint
from torchlint.messages.event import Event
from torchlint.messages.job import Job, Pass
from torchlint.rule import Rule, load
from torchlint.settings.config import Settings
from torchlint.text.finding import Finding

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

EXAMPLE = re.compile(r"^## (Bad|Good)\n(?:(?!## )[^\n]*\n)*?```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUNNER = Path(__file__).with_name("run_examples.py")
PRELUDE = "import torch; device = torch.device('cuda')\n"
COMPILED = {"graph_break", "recompile", "recompile_limit", "graph", "kernel", "unsupported"}

# Rules that name an event and whose examples can't be run, with the reason. Their pages have to say it, too.
NOT_RUN: dict[str, str] = {}

# Rules whose examples need a package that isn't always there.
NEEDS = {"TLK08": "triton"}

# What an example is meant to raise.
RAISES = {"tl209_bad": "Unsupported"}

CLAIMS = {
    code: rule
    for code, rule in load().items()
    if rule.confirmed_by and code not in NOT_RUN and (code not in NEEDS or find_spec(NEEDS[code]))
}


@dataclass(frozen=True)
class Example:
    """One example of a page after it was run: its file, why it failed ("" if it didn't), and its events."""

    path: Path
    failure: str
    events: tuple[Event, ...]

    @property
    def lines(self) -> list[str]:
        return self.path.read_text("utf-8").splitlines()

    def matching(self, rule: Rule, besides: Example) -> int:
        """How many such events there were, not counting lines that are the same in the other example."""
        own = {number for number, line in enumerate(self.lines, 1) if line not in besides.lines}
        events = (event for event in self.events if event.line in own and matches(event, rule.confirmed_by))
        return sum(event.count for event in events)

    def findings(self, rule: Rule) -> list[Finding]:
        """What the rule finds in it, with the lines of the example."""
        codes = frozenset({rule.code})
        text = PRELUDE + self.path.read_text("utf-8")
        result = lint({str(self.path): text.encode()}, Settings(codes=codes, fixable=codes, root=self.path.parent))
        assert result.errors == ()
        return [_up(finding) for finding in result.findings]

    def marked(self, rule: Rule) -> list[int]:
        return [number for number, line in enumerate(self.lines, 1) if line.endswith(f"# {rule.code}")]


def _up(finding: Finding) -> Finding:
    first, last = finding.statement
    return replace(finding, line=finding.line - 1, end_line=finding.end_line - 1, statement=(first - 1, last - 1))


def pass_of(rule: Rule) -> Pass:
    return "compile" if {event.partition(":")[0] for event in rule.confirmed_by} <= COMPILED else "eager"


def observed(which: Pass, folder: Path) -> dict[str, Example]:
    """Run the examples of all rules of that pass in one process."""
    files: list[Path] = []
    for code, rule in CLAIMS.items():
        for name, text in EXAMPLE.findall(rule.doc) if pass_of(rule) == which else ():
            files.append(folder / f"{code.lower()}_{name.lower()}.py")
            files[-1].write_text(text, "utf-8")
    report = folder / f"{which}.json"
    arguments = (which, str(report), *map(str, files))
    job = Job(str(RUNNER), arguments, which, "", steps=10**6, seconds=300.0, device="virtual")
    (child,) = trace(job, which).children
    assert child.end.name == "finished", child.errors
    failures: dict[str, str] = json.loads(report.read_text("utf-8"))
    # Without steps: one example after the other, each from its first call on.
    events = [event for event in child.events if event.kind != "step"]
    return {
        file.stem: Example(file, failures[file.stem], tuple(event for event in events if event.file == str(file)))
        for file in files
    }


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Example]:
    folder = tmp_path_factory.mktemp("claims")
    return observed("eager", folder) | observed("compile", folder)


@pytest.mark.parametrize("code", CLAIMS)
def test_the_examples_run(code: str, examples: Mapping[str, Example]) -> None:
    failures = {
        name: examples[name].failure.partition(":")[0] for name in (f"{code.lower()}_bad", f"{code.lower()}_good")
    }

    assert {name: RAISES.get(name, "") for name in failures} == failures


@pytest.mark.parametrize("code", CLAIMS)
def test_the_good_example_has_no_such_event_or_seldom(code: str, examples: Mapping[str, Example]) -> None:
    rule = CLAIMS[code]
    bad, good = (examples[f"{code.lower()}_{which}"] for which in ("bad", "good"))
    before, after = bad.matching(rule, good), good.matching(rule, bad)

    if "kernel" in rule.confirmed_by:  # there are some in both
        assert after < before
    else:
        assert 2 * after <= before


@pytest.mark.parametrize("code", CLAIMS)
def test_what_is_found_in_the_bad_example_is_confirmed(code: str, examples: Mapping[str, Example]) -> None:
    rule = CLAIMS[code]
    bad = examples[f"{code.lower()}_bad"]
    judged = confirm(bad.findings(rule), bad.events, {code: rule.confirmed_by})

    assert [(line, "confirmed") for line in bad.marked(rule)] == [
        (finding.line, finding.evidence and finding.evidence.verdict) for finding in judged
    ]


def test_what_is_not_run_says_so_on_its_page() -> None:
    assert {} == {code: why for code, why in NOT_RUN.items() if why not in load()[code].doc}


def test_a_rule_without_an_event_says_so_on_its_page() -> None:
    silent = {code for code, rule in load().items() if not rule.confirmed_by}

    assert silent == {code for code, rule in load().items() if "A traced run can't confirm it." in page(rule)}
