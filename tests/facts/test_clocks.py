"""What a program times, and whether what is timed may wait for the device."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from torchlint.facts import clocks, names
from torchlint.facts.module import Function, Module
from torchlint.text.source import Source


def function(body: str) -> Function:
    code = "import time\n\ndef f(model, x, loader):\n" + "".join(
        f"    {line}\n" for line in dedent(body).strip().splitlines()
    )
    return Module(Source.of("timed.py", code.encode()), "timed", False).top_functions["f"]


def spans(body: str) -> list[list[str]]:
    found = function(body)

    def resolve(node: ast.expr) -> str | None:
        return names.resolve(found, node)

    reads = [call for call in found.flow.calls if resolve(call.func) in clocks.CLOCKS]
    made = [span for read in reads if (span := clocks.span(found, read, resolve)) is not None]
    return [[ast.unparse(call) for call in span.calls()] for span in made]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("t = time.time()\nmodel(x)\nprint(time.time() - t)", [["model(x)"]]),
        ("t = time.perf_counter()\nmodel(x)\nstop = time.perf_counter()\nmodel(x)\nprint(stop - t)", [["model(x)"]]),
        ("t = time.time()\nfor y in loader:\n    model(y)\nprint(time.time() - t)", [["model(y)"]]),
        ("t = time.time()\nmodel(x)\nt = time.time()\nprint(time.time() - t)", [[]]),
        ("t = time.time()\nfor y in loader:\n    print(time.time() - t)\n    t = time.time()", []),
        ("t = 3\nmodel(x)\nprint(time.time() - t)", []),
        ("t = time.time()\nmodel(x)\nprint(time.time())", []),
        ("print(t - time.time())", []),
    ],
)
def test_spans_and_the_calls_in_them(body: str, expected: list[list[str]]) -> None:
    assert expected == spans(body)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("torch.cuda.synchronize()", True),
        ("device_sync(x)", True),
        ("loss.item()", True),
        ("anything(x)", True),
        ("losses.append(x)", False),
        ("x.to(device)", False),
        ("range(3)", False),
    ],
)
def test_what_may_wait(call: str, expected: bool) -> None:
    found = function(call)

    assert expected is clocks.may_wait(found, found.flow.calls[-1], None, lambda *_: [])


def test_a_function_of_the_project_waits_where_what_it_calls_does() -> None:
    code = "def read(x):\n    return x.tolist()\n\ndef outer(x):\n    return read(x)\n\ndef quiet(x):\n    return x\n"
    module = Module(Source.of("timed.py", code.encode()), "timed", False)
    functions = module.top_functions

    def targets(_: Function, call: ast.Call) -> list[Function]:
        assert isinstance(call.func, ast.Name)
        return [functions[call.func.id]] if call.func.id in functions else []

    caller = function("outer(x)\nquiet(x)")
    outer, quiet = caller.flow.calls

    assert clocks.may_wait(caller, outer, None, targets)
    assert not clocks.may_wait(caller, quiet, None, targets)


@pytest.mark.parametrize(
    ("body", "near"),
    [
        ("wait()\na()\na()\na()\na()\ntime.time()", False),
        ("clock = time\nwait()", False),
        ("for i in x:\n    if i:\n        wait()\ntime.time()", False),
        ("with Timer():\n    for batch in loader:\n        wait()", False),
        ("with Timer():\n    for i in range(epochs):\n        wait()", False),
        ("with open(x):\n    for _ in range(n):\n        wait()", False),
        ("with Timer():\n    for _ in range(n):\n        a()\n        wait()", True),
        ("wait()\na()\nend = time.time()", True),
        ("event.record()\nwait()", True),
        ("start = time.perf_counter()\nif x:\n    wait()", True),
        ("if x:\n    a()\nelif y:\n    wait()\ntime.time()", True),
        ("with Timer() as timer:\n    a()\nwait()", True),
        ("wait()\nself.timers['step'].stop()", True),
        ("wait()\npool.stop()", False),
        ("if timer:\n    if cuda:\n        wait()\n    timer.toc()", True),
    ],
)
def test_clocks_near_a_place(body: str, near: bool) -> None:
    flow = function(body).flow

    assert clocks.is_read_near(flow, flow.calls_named("wait")[0]) is near


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("with open(x):\n    wait()", False),
        ("with profile.learn:\n    wait()\n    a()", False),
        ("with profile.learn:\n    a()\n    wait()", True),
        ("with self.timers.step:\n    if cuda:\n        wait()", True),
    ],
)
def test_the_last_statement_that_is_measured(body: str, ends: bool) -> None:
    flow = function(body).flow

    assert clocks.ends_measurement(flow, flow.calls_named("wait")[0]) is ends
