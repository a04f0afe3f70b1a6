"""Graph breaks and recompiles: the right line, the right id, once, and nothing else."""

from __future__ import annotations

import importlib.util
import logging
import runpy
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.evidence import explain
from torchlint.messages.event import Event
from torchlint.trace.compiled import breaks, private
from torchlint.trace.compiled.recording import compile_recording

pytestmark = pytest.mark.torch
ON_2_13 = torch.__version__.startswith("2.13.")


@dataclass
class Sink:
    """Keeps events in memory."""

    step: int = 0
    events: list[Event] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


Run = Callable[[str], Sink]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a program under the recording, with `compile` being torch.compile for a backend that costs nothing."""

    def run(source: str) -> Sink:
        path = tmp_path / "program.py"
        text = "import torch\ndef compile(f, **options):\n    return torch.compile(f, backend='eager', **options)\n"
        path.write_text(text + textwrap.dedent(source).lstrip("\n"), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("program", path)
        assert spec is not None and spec.loader is not None
        sink = Sink()
        with compile_recording(sink, virtual=False):
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        return sink

    yield run


def lines(sink: Sink, kind: str = "graph_break") -> list[tuple[int, str]]:
    """What was recorded, with lines counted from the program's own first."""
    return [(event.line - 3, event.name) for event in sink.of(kind)]


# --- constructs --------------------------------------------------------------------------------------------------

NO_BREAK = {
    "a shape": "return x if x.shape[0] > 2 else -x",
    "try and except": "try:\n    y = x * 2\nexcept ValueError:\n    y = x\nreturn y",
    "x.numpy()": "return x + x.numpy().sum()",
    "a mask that is written": "y = x.clone()\ny[y > 0] = 0\nreturn y",
    "an f-string of a shape": "return x + len(f'{x.shape}')",
    "torch.where with three arguments": "return torch.where(x > 0, x, 0)",
    "one_hot with classes": "return torch.nn.functional.one_hot(x.abs().long().clamp(max=3), 5)",
    "no_grad": "with torch.no_grad():\n    return x + 1",
    "os.environ": "import os\nreturn x + len(os.environ.get('HOME', ''))",
    "a generator": "return sum(v for v in [x, x])",
}

BREAKS = {
    "print": ("y = x + 1\nprint('a', end='')\nreturn y", 2, "GB0059"),
    "logging": ("y = x + 1\nLOG.info('%s', y.shape)\nreturn y", 2, "GB0291"),
    "warnings": ("y = x + 1\nwarnings.warn('a')\nreturn y", 2, "GB0007"),
    "item": ("y = x * 2\nreturn y * y.sum().item()", 2, "GB0124"),
    "float": ("return x * float(x.sum())", 1, "GB0124"),
    "tolist": ("return x * x.tolist()[0][0]", 1, "GB0109"),
    "branch": ("y = x + 1\nif y.sum() > 0:\n    return y\nreturn -y", 2, "GB0170"),
    "while": ("while x.sum() < 100:\n    x = x.abs() * 2 + 1\nreturn x", 1, "GB0170"),
    "mask": ("return x[x > 0] * 2", 1, "GB0036"),
    "nonzero": ("y = x + 1\nreturn y.nonzero()", 2, "GB0036"),
    "unique": ("return torch.unique(x)", 1, "GB0036"),
    "time": ("y = x + 1\nt = time.time()\nreturn y * t", 2, "GB0007"),
    "f-string of a tensor": ("y = x + 1\nreturn y + len(f'{y}')", 2, "GB0088"),
    "backward": ("w = torch.nn.functional.relu(x * W)\nw.sum().backward()\nreturn w", 2, "GB0123"),
    "deepcopy": ("y = x + 1\nreturn copy.deepcopy(y)", 2, "GB4198"),
    "numpy.random": ("y = x + 1\nreturn y * np.random.rand()", 2, "GB0033"),
    "equal": ("return x if torch.equal(x, x) else -x", 1, "GB0033"),
    "recurrent layer": ("y = x + 1\nreturn LSTM(y)[0]", 2, "GB0014"),
    "parameter made inside": ("y = x + 1\nreturn torch.nn.Linear(4, 4)(y)", 2, "GB0264"),
    "disabled function": ("y = x + 1\nreturn disabled(y)", 2, "GB0098"),
    "one_hot without classes": ("return torch.nn.functional.one_hot(x.abs().long())", 1, "GB0246"),
    "torch.save": ("y = x + 1\ntorch.save(y, '/dev/null')\nreturn y", 2, "GB0007"),
}

HEADER = """
import copy, logging, time, warnings
import numpy as np
warnings.simplefilter("ignore")
W = torch.ones(4, 4, requires_grad=True)
LSTM = torch.nn.LSTM(4, 4)
LOG = logging.getLogger("a")
@torch.compiler.disable
def disabled(y):
    return y + 1
"""


@pytest.fixture(scope="module")
def constructs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, str]]]:
    """Each construct in a function of its own, all run in one recording; lines count from the function's first."""
    pytest.importorskip("numpy")
    bodies = {**NO_BREAK, **{name: body for name, (body, _, _) in BREAKS.items()}}
    text = "import torch" + HEADER
    first: dict[str, int] = {}
    for number, (name, body) in enumerate(bodies.items()):
        text += f"def f{number}(x):\n"
        first[name] = text.count("\n")
        text += textwrap.indent(body, "    ") + "\n"
    for number in range(len(bodies)):
        text += f"torch.compile(f{number}, backend='eager')(torch.randn(4, 4))\n"
    path = tmp_path_factory.mktemp("constructs") / "constructs.py"
    path.write_text(text, encoding="utf-8")
    sink = Sink()
    with compile_recording(sink, virtual=False):
        runpy.run_path(str(path))
    seen: dict[str, list[tuple[int, str]]] = {name: [] for name in bodies}
    names = list(bodies)
    for event in sink.of("graph_break"):
        assert Path(event.file) == path.resolve()
        name = names[int(event.function.removeprefix("f"))]
        seen[name].append((event.line - first[name], event.name))
    return seen


@pytest.mark.skipif(not ON_2_13, reason="what breaks differs between torch versions")
@pytest.mark.parametrize("name", NO_BREAK)
def test_construct_that_does_not_break(name: str, constructs: dict[str, list[tuple[int, str]]]) -> None:
    assert constructs[name] == []


@pytest.mark.skipif(not ON_2_13, reason="what breaks differs between torch versions")
@pytest.mark.parametrize("name", BREAKS)
def test_construct_breaks_on_its_line(name: str, constructs: dict[str, list[tuple[int, str]]]) -> None:
    _, line, identifier = BREAKS[name]

    assert constructs[name] == [(line, identifier)]


def test_ids_are_those_of_the_installed_registry(constructs: dict[str, list[tuple[int, str]]]) -> None:
    registry = private.graph_break_registry()
    if not registry:
        pytest.skip("torch before 2.8 ships no registry")
    seen = {identifier for found in constructs.values() for _, identifier in found}

    assert seen
    assert seen <= set(registry)


# --- how often, and what it means --------------------------------------------------------------------------------


def test_a_program_without_compile_tells_nothing(run: Run) -> None:
    assert run("torch.ones(2).sum().item()").events == []


def test_fullgraph_captures_item(run: Run) -> None:
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 10):
        pytest.skip("an error before torch 2.10")
    sink = run("""
        def f(x):
            return x * x.sum().item()
        compile(f, fullgraph=True)(torch.ones(3))
    """)

    assert [event.kind for event in sink.events] == ["graph"]


def test_disabled_compilation_tells_nothing(run: Run) -> None:
    sink = run("""
        def f(x):
            print(end='')
            return x * x.sum().item()
        compile(f, disable=True)(torch.ones(3))
    """)

    assert sink.events == []


def test_a_break_in_an_inlined_function_is_told_once(run: Run) -> None:
    sink = run("""
        def inner(x):
            return x.tolist()
        def outer(x):
            y = x + 1
            inner(y)
            return y * 2
        compile(outer)(torch.ones(3))
    """)

    assert lines(sink) == [(2, "GB0109")]


def test_the_event_explains_itself(run: Run) -> None:
    sink = run("""
        def f(x):
            y = x + 1
            return y * y.sum().item()
        compile(f)(torch.ones(3))
    """)

    [event] = sink.of("graph_break")
    assert event.function == "f"
    assert "Tensor.item()" in event.detail
    assert event.data is not None
    assert event.data["type"] == "Unsupported Tensor.item() call with capture_scalar_outputs=False"
    assert "capture_scalar_outputs" in str(event.data["hint"])
    assert event.data["frame_skipped"] is False
    assert str(event.data["url"]).endswith("/gb0124.html")
    assert [frame.rpartition(":")[2] for frame in event.stack[:2]] == ["6 f", "7 <module>"]


def test_a_break_in_a_loop_skips_the_frame(run: Run) -> None:
    sink = run("""
        def f(x):
            for _ in range(2):
                x = x + 1
                print(end='')
            return x
        compile(f)(torch.ones(3))
    """)

    [event] = sink.of("graph_break")
    assert (event.line - 3, event.name) == (4, "GB0059")
    assert event.data is not None
    assert event.data["frame_skipped"] is True
    assert event.data["in_loop"] is True
    assert str(event.data["skipped"]).startswith("f (")


def test_a_break_in_a_layer_called_from_a_loop_skips_the_caller(run: Run) -> None:
    sink = run("""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(2))
            def forward(self, x):
                for layer in self.layers:
                    x = apply(layer, x)
                return x
        def apply(layer, x):
            x = layer(x)
            if x.sum() > 0:
                x = x + 1
            return x
        compile(Model())(torch.ones(3, 2))
    """)

    [event] = sink.of("graph_break")
    assert (event.line - 3, event.name, event.function) == (11, "GB0170", "apply")
    assert event.data is not None
    assert event.data["frame_skipped"] is True
    assert str(event.data["skipped"]).startswith("forward (")


def test_a_break_inside_the_library_is_told_at_the_users_line(run: Run) -> None:
    sink = run("""
        parameter = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        def f(x):
            y = x + 1
            optimizer.zero_grad()
            return y
        compile(f)(torch.ones(2))
    """)

    [event] = sink.of("graph_break")
    assert event.line - 3 == 5


def test_a_break_inside_a_layer_of_torch_is_told_where_the_compiled_code_calls_it(run: Run) -> None:
    sink = run("""
        layer = torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
        encoder = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        mask = torch.triu(torch.ones(4, 4), 1).bool()
        def f(x):
            y = x * 2
            return encoder(y, mask=mask)
        compile(f)(torch.ones(2, 4, 8))
    """)

    [event] = sink.of("graph_break")
    assert (event.line - 3, event.function, event.name) == (6, "f", "GB0124")
    assert event.data is not None
    assert "transformer.py:" in str(event.data["via"])


def test_logging_switched_off_hides_no_break(run: Run) -> None:
    try:
        sink = run("""
            import logging
            logging.disable(logging.CRITICAL)
            def f(x):
                print(end='')
                return x + 1
            compile(f)(torch.ones(2))
        """)
    finally:
        logging.disable(logging.NOTSET)

    assert lines(sink) == [(4, "GB0059")]


def test_a_program_that_raises_keeps_its_breaks() -> None:
    sink = Sink()

    def f(x: Any) -> Any:
        y = x + 1
        print(end="")
        y.mean().item()
        return {}[y]

    with pytest.raises(KeyError), compile_recording(sink, virtual=False):
        torch.compile(f, backend="eager")(torch.ones(2))

    assert [event.name for event in sink.of("graph_break")][:2] == ["GB0059", "GB0124"]


def test_the_first_program_leaves_nothing_for_the_second(run: Run) -> None:
    program = """
        def f(x):
            print(end='')
            return x + 1
        compile(f)(torch.ones(2))
    """

    assert lines(run(program)) == lines(run(program)) == [(2, "GB0059")]


# --- recompiles --------------------------------------------------------------------------------------------------


def test_equal_calls_do_not_recompile(run: Run) -> None:
    sink = run("""
        def f(x):
            return x + 1
        g = compile(f)
        for _ in range(3):
            g(torch.ones(2))
    """)

    assert [(event.kind, event.count) for event in sink.events] == [("graph", 1), ("graph", 2)]


def test_a_constant_that_changes_recompiles_at_the_line_that_used_it(run: Run) -> None:
    sink = run("""
        def f(x, name):
            y = x + 1
            return y if name == "a" else y * 2
        g = compile(f)
        g(torch.ones(2), "a")
        g(torch.ones(2), "b")
    """)

    [event] = sink.of("recompile")
    assert (event.line - 3, event.function) == (3, "f")
    assert event.name == "name == 'a'"
    assert event.data is not None
    assert event.data["guards"] == ["name == 'a'"]
    assert str(event.data["frame"]).startswith("f (")


def test_a_shape_that_changes_recompiles_the_frame(run: Run) -> None:
    sink = run("""
        def f(x):
            return x + 1
        g = compile(f)
        g(torch.ones(4, 2))
        g(torch.ones(7, 2))
    """)

    [event] = sink.of("recompile")
    assert event.line - 3 == 1
    assert "size mismatch at index 0" in event.name


def test_all_reasons_of_a_recompile_are_told(run: Run) -> None:
    sink = run("""
        def f(x, name):
            return x * len(name)
        g = compile(f)
        for name in "a", "bb", "ccc":
            g(torch.ones(2), name)
    """)

    assert [len(event.data["guards"]) for event in sink.of("recompile") if event.data] == [1, 2]  # type: ignore[arg-type]


def test_the_recompile_limit_is_no_graph_break(run: Run) -> None:
    with torch._dynamo.config.patch(recompile_limit=2):
        sink = run("""
            def f(x, name):
                return x * len(name)
            g = compile(f)
            for name in "a", "bb", "ccc", "dddd", "eeeee":
                g(torch.ones(2), name)
        """)

    assert sink.of("graph_break") == []
    assert lines(sink, "recompile_limit") == [(1, "recompile_limit")]


def test_events_carry_the_step() -> None:
    sink = Sink()

    def f(x: Any) -> Any:
        return x + 1

    with compile_recording(sink, virtual=False):
        compiled = torch.compile(f, backend="eager")
        compiled(torch.ones(4))
        sink.step = 3
        compiled(torch.ones(5))

    assert [(event.kind, event.step) for event in sink.events] == [("graph", 0), ("recompile", 3), ("graph", 3)]


# --- the log's text in other versions ----------------------------------------------------------------------------


def test_a_break_without_a_link_gets_its_id_from_the_registry() -> None:
    if not private.graph_break_registry():
        pytest.skip("torch before 2.8 ships no registry")
    payload = textwrap.dedent("""\
        Graph break in user code at /home/me/model.py:12
        Graph Break Reason: Data-dependent branching
          Explanation: Detected data-dependent branching.
          Hint: Use `torch.cond` to express dynamic control flow.

        User code traceback:
          File "/home/me/train.py", line 30, in main
            model(x)
          File "/home/me/model.py", line 12, in torch_dynamo_resume_in_forward_at_10
            if x.sum() > 0:

        NoneType: None
        """)

    found = breaks.parse_break(payload)

    assert found.identifier == "GB0170"
    assert found.hint == "Use `torch.cond` to express dynamic control flow."
    assert found.frames == (
        breaks.Frame("/home/me/model.py", 12, "forward"),
        breaks.Frame("/home/me/train.py", 30, "main"),
    )
    assert not found.frame_skipped


def test_a_break_that_torch_does_not_explain_is_told_by_its_type() -> None:
    payload = textwrap.dedent("""\
        Graph break in user code at /home/me/model.py:12
        Graph Break Reason: Encountered graph break when attempting to trace CALL

        Operator does not support running with fake tensors
          Explanation:\x20
          Hint: see https://example.org/how-to-fix

        User code traceback:
          File "/home/me/model.py", line 12, in forward
            return torch.ops.mine.thing(x)
        """)

    found = breaks.parse_break(payload)

    assert (found.reason, found.hint) == (
        "Operator does not support running with fake tensors",
        "see https://example.org/how-to-fix",
    )


def test_a_frame_that_cannot_be_resumed_is_skipped() -> None:
    payload = textwrap.dedent("""\
        Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.
        torch.compile will skip tracing the frame f (/home/me/model.py line 3) and fall back to eager.
        The graph break occurred in the following user code:
          File "/home/me/model.py", line 5, in f
            with lock:

        Traceback (most recent call last):
          File "/usr/lib/python3/site-packages/torch/_dynamo/exc.py", line 1, in unimplemented
            raise Unsupported(msg)
        torch._dynamo.exc.Unsupported: Unsupported context manager
          Explanation: Dynamo does not know how to enter a `lock` context manager.

          Developer debug context: Attempted SETUP_WITH
        """)

    found = breaks.parse_break(payload)

    assert (found.type, found.frame_skipped) == ("Unsupported context manager", True)
    assert found.frames == (breaks.Frame("/home/me/model.py", 5, "f"),)


def test_the_old_wording_is_read() -> None:
    payload = textwrap.dedent("""\
        Graph break in user code at /home/me/model.py:7
        Reason: Unsupported: builtin: print [<class 'ConstantVariable'>] False
        User code traceback:
          File "/home/me/model.py", line 7, in f
            print("a")

        """)

    found = breaks.parse_break(payload)

    assert found.type == "builtin: print [<class 'ConstantVariable'>] False"
    assert found.frames[0].line == 7


# --- torch._dynamo.explain ---------------------------------------------------------------------------------------


def test_explain_is_shown_with_what_it_lost(run: Run) -> None:
    sink = run("""
        def f(x):
            print(end='')
            y = x + 1
            y.sum().item()
            for _ in range(2):
                y = y * 2
            return y
        compile(f)(torch.ones(3))
    """)
    explained = explain.explain(sink.events)

    assert [(event.line - 3, event.name) for event in explained.lost] == [(2, "GB0059")]
    assert [(event.line - 3, event.name) for event in explained.listed] == [(4, "GB0124")]
    assert explain.text(explained).splitlines()[:4] == [
        "torch._dynamo.explain",
        "  Graph Count: 2",
        "  Graph Break Count: 1",
        "  Break Reasons: 1",
    ]
    assert "  not in explain: 1" in explain.text(explained)


def test_explain_says_what_torch_says() -> None:
    def f(x: Any) -> Any:
        print(end="")
        y = x + 1
        y.sum().item()
        y = y * 2
        y.mean().item()
        return y - 1

    theirs = torch._dynamo.explain(f)(torch.ones(3))
    sink = Sink()
    with compile_recording(sink, virtual=False):
        torch.compile(f, backend="eager")(torch.ones(3))
    ours = explain.explain(sink.events)

    assert (ours.graphs, ours.explain_breaks) == (theirs.graph_count, theirs.graph_break_count)
    assert [event.line for event in ours.listed] == [reason.user_stack[-1].lineno for reason in theirs.break_reasons]
    assert ours.breaks == 3


def test_explain_of_a_program_without_breaks_lost_none(run: Run) -> None:
    sink = run("""
        def f(x):
            return x + 1
        compile(f)(torch.ones(3))
    """)

    assert explain.text(explain.explain(sink.events)).endswith("  graph breaks: 0\n  explain lost none\n")
