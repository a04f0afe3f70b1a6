"""Dynamo is the judge of TL201 to TL209 and TL301: what they predict is what the installed torch does."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from torchlint.facts import break_table
from torchlint.fix import apply as fix
from torchlint.lint.run import lint
from torchlint.messages.event import Event
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.text.finding import Finding
from torchlint.text.source import Source
from torchlint.torch_api.version import Range
from torchlint.trace.compiled.recording import compile_recording

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
VERSION = ".".join(torch.__version__.split(".")[:2])
TARGET = Range.stated(f"=={VERSION}")
BREAKS = frozenset(f"TL20{number}" for number in range(1, 9))
SCRIPT = Path(__file__).parents[2] / "scripts" / "break_table.py"

# Constructs that Dynamo breaks at and no rule reports.
NOT_REPORTED = {
    "not": "`z = not t` by itself: rare, and a negation inside a test is reported there",
    "chained comparison": "`z = 0 < t < 1` by itself: rare, and inside a test it is reported there",
    ".step()": "documented: a compiled function that steps the optimizer compiles the update itself",
    ".requires_grad_() input": "whether a tensor is an input of the region is not known in the functions it calls",
    ".requires_grad_() other": "breaks only where such a tensor is returned",
    "torch.compiler.disable": "asked for by name: TL209 tells of it where nothing may break",
    "class": "a class statement in compiled code: not seen in the corpora",
}


@dataclass
class Sink:
    """Keeps events in memory."""

    step: int = 0
    events: list[Event] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        self.events.append(event)


@pytest.fixture(scope="session")
def script() -> ModuleType:
    """scripts/break_table.py."""
    spec = importlib.util.spec_from_file_location("break_table_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def measured(script: ModuleType) -> dict[str, dict[str, list[str]]]:
    """What the installed torch answers to every construct."""
    with pytest.MonkeyPatch.context() as patch:
        # How long guards take is measured with emptied caches, a third of the time of a graph, and nobody asks for it here.
        patch.setattr("torch._dynamo.guards.profile_guard_manager", lambda *_: 0.0, raising=False)
        answers: dict[str, dict[str, list[str]]] = script.measure()
    return answers


def linted(source: str, codes: frozenset[str]) -> list[Finding]:
    settings = Settings(codes=codes, fixable=frozenset(), target_torch=TARGET)
    result = lint({"example.py": source.encode()}, settings)
    assert result.errors == ()
    return list(result.findings)


def predicted(script: ModuleType, decorator: str, codes: frozenset[str]) -> dict[str, set[str]]:
    """The codes found in each construct, all of them being compiled."""
    constructs = script.constructs()
    source = script.program(constructs, decorator)
    starts = [number for number, line in enumerate(source.splitlines(), 1) if line.startswith("def construct_")]
    found: dict[str, set[str]] = {key: set() for key in constructs}
    for finding in linted(source, codes):
        if finding.line >= starts[0]:
            number = max(index for index, start in enumerate(starts) if start <= finding.line)
            found[list(constructs)[number]].add(finding.code)
    return found


def test_the_table_says_what_the_installed_torch_does(measured: dict[str, dict[str, list[str]]]) -> None:
    if not any(break_table.ids(key, "breaks", TARGET) for key in measured):
        pytest.skip(f"torch {VERSION} was never measured")
    expected = {
        key: {mode: list(break_table.ids(key, mode, TARGET)) for mode in ("breaks", "fullgraph")} for key in measured
    }

    assert expected == measured


def test_a_break_is_reported_and_what_is_traced_is_not(
    script: ModuleType, measured: dict[str, dict[str, list[str]]]
) -> None:
    found = predicted(script, "@torch.compile\n", BREAKS)
    rules = {key: rule for key, (rule, _) in script.constructs().items()}
    expected = {key: {rules[key]} if answer["breaks"] else set() for key, answer in measured.items()}

    differ = {key for key in expected if expected[key] != found[key]}

    assert {key: expected[key] for key in NOT_REPORTED} == {key: expected[key] for key in differ}
    assert not any(found[key] for key in NOT_REPORTED)


def test_what_fullgraph_raises_for_is_reported(script: ModuleType, measured: dict[str, dict[str, list[str]]]) -> None:
    found = predicted(script, "@torch.compile(fullgraph=True)\n", frozenset(("TL209",)))
    # That a list is one of floats, which alone are an error, the source seldom proves.
    silent = {*NOT_REPORTED, ".tolist() float"} - {"torch.compiler.disable"}

    differ = {key for key, answer in measured.items() if bool(answer["fullgraph"]) != bool(found[key])}

    assert {key for key in silent if measured[key]["fullgraph"]} == differ


# --- examples ----------------------------------------------------------------------------------------------------

FENCE = re.compile(r"^## (Bad|Good)\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRELUDE = "import torch\n"
X = "torch.ones(3, 8)"
# What runs the example of each page.
RUNS = {
    "TL201": f"scale({X})",
    "TL202": f"clip({X})",
    "TL203": f"step({X})",
    "TL204": f"positives({X})",
    "TL205": f"forward({X})",
    "TL206": f"model({X})",
    "TL207": f"step({X})",
    "TL208": f"model({X})",
    "TL209": f"clip({X})",
    "TL301": f"[model({X}) for _ in range(4)]",
}


def example(code: str, which: str) -> str:
    return PRELUDE + str(dict(FENCE.findall(load()[code].doc))[which])


def eager(function: Any = None, **options: Any) -> Any:
    """torch.compile with a backend that costs nothing."""
    options["backend"] = "eager"
    return partial(REAL, **options) if function is None else REAL(function, **options)


REAL = torch.compile
Runner = Callable[[str, str], list[Event]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Runs a program, then an expression in it, and gives the events of the compiler."""

    def run(source: str, call: str) -> list[Event]:
        path = tmp_path / "example.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("example", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        torch._dynamo.reset()
        sink = Sink()
        with compile_recording(sink, virtual=False), monkeypatch.context() as patch:
            patch.setattr(torch, "compile", eager)
            spec.loader.exec_module(module)
            eval(call, vars(module))
        return sink.events

    return run


@pytest.fixture
def faults(run: Runner) -> Runner:
    """Runs a program, and gives the breaks and recompiles only."""
    return lambda source, call: [event for event in run(source, call) if event.kind in ("graph_break", "recompile")]


@pytest.mark.parametrize("code", [code for code in RUNS if code not in ("TL209", "TL301")])
def test_the_bad_example_breaks_where_the_rule_says(code: str, faults: Runner) -> None:
    source = example(code, "Bad")
    findings = {finding.line: finding for finding in linted(source, frozenset((code,)))}

    told = {event.line: event.name for event in faults(source, RUNS[code]) if event.line in findings}

    assert set(findings) == set(told)
    assert all(name in findings[line].message for line, name in told.items())


@pytest.mark.parametrize("code", [code for code in RUNS if code not in ("TL209", "TL301")])
def test_the_good_example_is_one_graph(code: str, faults: Runner) -> None:
    source = example(code, "Good")

    assert [] == faults(source, RUNS[code])
    assert [] == linted(source, BREAKS)


def test_the_bad_example_of_fullgraph_raises(faults: Runner) -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Data-dependent"):
        faults(example("TL209", "Bad"), RUNS["TL209"])


def test_the_good_example_of_fullgraph_does_not(faults: Runner) -> None:
    assert [] == faults(example("TL209", "Good"), RUNS["TL209"])


def test_a_counter_that_is_guarded_on_recompiles(faults: Runner) -> None:
    events = faults(example("TL301", "Bad"), RUNS["TL301"])

    assert ["recompile"] * 3 == [event.kind for event in events]


def test_a_counter_in_a_buffer_does_not(faults: Runner) -> None:
    assert [] == faults(example("TL301", "Good"), RUNS["TL301"])


@pytest.mark.parametrize(("which", "graphs"), [("Bad", 0), ("Good", 2)])
def test_only_a_module_that_is_called_is_compiled(which: str, graphs: int, run: Runner) -> None:
    events = run(example("TL210", which), "None")

    assert ["graph"] * graphs == [event.kind for event in events]


@pytest.mark.parametrize(("which", "recompiles"), [("Bad", True), ("Good", False)])
def test_layers_with_numbers_of_their_own_share_nothing(which: str, recompiles: bool, faults: Runner) -> None:
    events = faults(example("TL302", which), f"[layer({X}) for layer in layers]")

    assert recompiles == any(event.kind == "recompile" for event in events)


@pytest.mark.parametrize(("which", "recompiles"), [("Bad", 3), ("Good", 1)])
def test_a_loop_over_a_size_recompiles_for_each(which: str, recompiles: int, faults: Runner) -> None:
    events = faults(example("TL305", which), "[scan(torch.ones(3, n, 2)) for n in (4, 5, 6, 7)]")

    assert ["recompile"] * recompiles == [event.kind for event in events]


ASSERTION = """
@torch.compile
def clip(x: torch.Tensor) -> torch.Tensor:
    assert x.min() >= 0, f"negative: {x.shape}"
    return x * 2
"""


@pytest.mark.parametrize(
    ("code", "source", "call"),
    [("TL202", PRELUDE + ASSERTION, f"clip({X})"), ("TL203", example("TL203", "Bad"), RUNS["TL203"])],
)
def test_the_fix_makes_it_one_graph(code: str, source: str, call: str, faults: Runner) -> None:
    codes = frozenset((code,))
    settings = Settings(codes=codes, fixable=codes, target_torch=TARGET)
    (finding,) = lint({"example.py": source.encode()}, settings).findings
    assert finding.fix is not None

    fixed, _ = fix.apply(Source.of("example.py", source.encode()), [finding.fix])

    assert ["graph_break"] == [event.kind for event in faults(source, call)]
    assert [] == faults(fixed.decode(), call)


def test_a_second_torch_lengthens_ends_and_begins_spans(script: ModuleType) -> None:
    same, gone, new = ".item()", "print()", "try"
    first = {key: {"breaks": ["GB0001"] if key in (same, gone) else [], "fullgraph": []} for key in script.constructs()}
    second = {key: {"breaks": ["GB0001"] if key in (same, new) else [], "fullgraph": []} for key in script.constructs()}

    table = script.merged(script.merged({}, first, "2.9"), second, "2.13")

    assert ["2.9", "2.13"] == table["measured"]
    assert [{"ids": ["GB0001"], "first": "2.9", "last": "2.13"}] == table["constructs"][same]["breaks"]
    assert [{"ids": ["GB0001"], "first": "2.9", "last": "2.9"}] == table["constructs"][gone]["breaks"]
    assert [{"ids": ["GB0001"], "first": "2.13", "last": "2.13"}] == table["constructs"][new]["breaks"]
