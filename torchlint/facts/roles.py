"""What a file or a function is for, by its path and name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal

from ..system.cached import kept
from ..system.regex import regex
from ..text.source import Source
from . import names
from .module import Class, Function, Module

Role = Literal["library", "script", "test", "benchmark"]

_TEST = regex(
    r"(?:^|/)(?:tests?|testing|test_utils)/|(?:^|/)(?:test_[^/]*|[^/]*_(?:tests?|tests_[^/]*)|conftest|naive|_?testing(?:_utils)?)\.py$"
)
_AMONG_TESTS = regex(r"(?:^|/)(?:tests?|testing|test_utils)/")
_EVALUATES = regex(r"(?:^|/)test_[^/]*\.py$")
_TAKES = (b"parse_args(", b"@hydra.main", b"load_state_dict(")
"""What a program that evaluates does first: it takes options, or what was trained."""
_TRAINS = (b".backward(", b"DataLoader(", b"__main__")
"""What a program holds that trains on data, and asserts nothing."""
_OF_PYTEST = regex(rb"(?m)^\s*(?:async )?def test_\w*\(\s*(?:self)?\s*\)")
_CASES = regex(rb"class Test(?!er\b)")
"""A class of tests; a `Tester` runs a model."""
_GIVEN_LOADER = regex(rb"(?m)^def test_\w*\([^()]*loader")
"""A function at the top of a file that is given a loader, which no test is."""
_RUNS_LOADER = regex(rb"(?m)^def (?!test_)\w+\([^()]*loader")
_NAMED_TEST = regex(rb"(?m)^\s*(?:async )?def test_")
"""What pytest calls by its name."""
_CALLED = regex(rb"(?m)^(?![ \t]*(?:async )?def )[^#\n]*(?<![\w.])test_\w+\([^)\n]")
"""A call of what is named like a test, with arguments: pytest alone calls tests."""
_OF_PROGRAM = regex(r"loader|^(?:args|opts?|cfg|config|epoch|dataset|(?:test|valid|val|eval)_?(?:set|data|dataset))$")
"""What a function of a program is given, and a test makes for itself."""
_BENCHMARK = regex(
    r"(?:^|/)bench[^/]*(?:/|\.py$)|_bench(?:mark)?\.py$|(?:^|/)profil[^/]*\.py$"
    r"|(?:^|[/_])(?:speed_?test|(?:test|measure|inference)_(?:speed|fps|latency))\.py$"
)

_SCORES = (b"DataLoader(", b"load_state_dict(")
_TIMES = regex(rb"\btime(?:it)?\b|perf_counter|synchronize|Event\(|profil|latency|throughput")

_LASTING = frozenset(("DataLoader", "parse_args", "load_state_dict", "save", "from_pretrained"))
_PROGRAM = frozenset(("backward", "step")) | _LASTING
"""What a file calls that is run for more than to check itself."""
_READS = frozenset(("open", "load", "read", "imread", "make", "reset", "load_dataset", "parse_known_args"))
"""What brings data, or an environment, from elsewhere."""
_RANDOM = (["torch", "randn"], ["torch", "rand"], ["torch", "randint"])
_COMPARES = frozenset(("allclose", "isclose", "equal", "item", "norm", "assert_close"))


def role_of(module: Module, place: str) -> Role:
    """What a file is for, by its place in the project and its top-level code."""
    if _TEST.search(place) and not runs_a_program(place, module.source):
        return "test"
    if module.source.holds(b"torch.utils.benchmark") or (_BENCHMARK.search(place) and not _scores(module.source)):
        return "benchmark"
    return "script" if module.source.holds(b"__main__") else "library"


def _scores(source: Source) -> bool:
    """Whether a file of `benchmark/` runs a trained model over the data of one, and times nothing."""
    data = source.data
    return all(word in data for word in _SCORES) and _TIMES.search(data) is None


def runs_a_program(place: str, source: Source) -> bool:
    """Whether `model_test.py` or `test_model.py` is a script that evaluates, or `train_test.py` trains, and holds no test."""
    data = source.data
    if not may_run_a_program(place) or b"unittest" in data or b"pytest" in data or _CASES.search(data):
        return False
    if not place.endswith("_test.py"):
        if all(word in data for word in _TRAINS) and not any(word in data for word in (b"def test", b"assert")):
            return True
        if b"assert" not in data and _GIVEN_LOADER.search(data) is not None:
            return True
        if b".eval()" in data and _RUNS_LOADER.search(data) is not None and _NAMED_TEST.search(data) is None:
            return True
        return (any(word in data for word in _TAKES) or calls_tests(source)) and _OF_PYTEST.search(data) is None
    if b"__main__" in data and b"def test" not in data:
        return True
    named = is_test(place.removesuffix("_test.py") + ".py", "")  # by its folder, too
    return b".backward(" in data and b"def test_" not in data and not named


def may_run_a_program(place: str) -> bool:
    """Whether a file that is named like a test lies where programs do, and not among tests."""
    return place.endswith("_test.py") or (_EVALUATES.search(place) is not None and _AMONG_TESTS.search(place) is None)


def calls_tests(source: Source) -> bool:
    """Whether a file calls what is named like a test, and asserts nothing: `score = test_case(net, image)`."""
    return source.fact("calls tests", _calls_tests)


def _calls_tests(source: Source) -> bool:
    return b"assert" not in source.data and _CALLED.search(source.data) is not None


def evaluates(function: Function, place: str) -> bool:
    """Whether `def test_epoch(model, loader)` is a part of a program by what it is given, and no test.

    In a file that calls what is named like a test, what is given something is none; nor is a method of a class of no tests.
    """
    given = [one.arg for one in function.parameters if one.arg != function.own_name]
    if not function.name.startswith("test_") or not given:
        return False
    if any(map(_OF_PROGRAM.search, given)):
        return True
    if function.cls is not None and _TEST.search(place) is None and not _is_of_tests(function.cls):
        return True
    source = function.module.source
    return calls_tests(source) and (_TEST.search(place) is None or runs_a_program(place, source))


def _is_of_tests(klass: Class) -> bool:
    """Whether a class is one of tests, by its name or its bases: pytest looks for `Test...`."""
    return any("Test" in name for name in (klass.name, *map(names.last, klass.bases)))


def is_own_test(function: Function) -> bool:
    """Whether a function beside the code of a program is a test of it: `def test_masking():` with an `assert`, given nothing;
    a method of a case of `unittest`.
    """
    if function.cls is not None:
        return any(names.last(base) == "TestCase" for base in function.cls.bases)
    return (
        function.name.startswith("test_")
        and not function.parameters
        and any(isinstance(node, ast.Assert) for node in function.flow.nodes)
    )


def is_own_check(function: Function, node: ast.AST) -> bool:
    """Whether a place is in the `if __name__ == "__main__":` of a file of modules that only asserts what these compute."""
    return _is_run(function, node, b"assert ", _only_checks)


def is_own_trial(function: Function, node: ast.AST) -> bool:
    """Whether a place is in the `if __name__ == "__main__":` of a file of modules that runs them on random data and keeps nothing.

    It tries them where others import the file; where nobody does, it may be a program that is made small.
    """
    return _is_run(function, node, b"torch.rand", _only_tries)


def _is_run(function: Function, node: ast.AST, word: bytes, is_one: Callable[[Module, ast.If], bool]) -> bool:
    """Whether a place is in a block of one kind that a file of modules runs as a program; such a block holds a word."""
    module = function.module
    if not isinstance(function.node, ast.Module) or not module.top_classes or not module.source.holds(word):
        return False
    blocks = kept(module, is_one.__name__, lambda: _blocks(module, is_one))
    line = getattr(node, "lineno", 0)
    return any(block.lineno <= line <= (block.end_lineno or block.lineno) for block in blocks)


def _blocks(module: Module, is_one: Callable[[Module, ast.If], bool]) -> list[ast.If]:
    body = module.body.node.body
    return [one for one in body if isinstance(one, ast.If) and is_main(one.test) and is_one(module, one)]


def is_main(test: ast.expr) -> bool:
    """`__name__ == "__main__"`"""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _only_checks(module: Module, block: ast.If) -> bool:
    """Whether a block asserts what modules compute, and neither trains nor takes options."""
    flow = module.body.flow
    called = {names.last(call.func) for call in flow.calls_within(block)}
    if not called.isdisjoint(_PROGRAM):
        return False
    asserted = [node.test for node in ast.walk(block) if isinstance(node, ast.Assert)]
    return any(
        isinstance(part, ast.Call) and names.last(part.func) in _COMPARES for one in asserted for part in ast.walk(one)
    )


def _only_tries(module: Module, block: ast.If) -> bool:
    """Whether a block feeds random data alone, some number of times, and neither takes options nor keeps anything."""
    calls = module.body.flow.calls_within(block)
    if not {names.last(call.func) for call in calls}.isdisjoint(_LASTING | _READS):
        return False
    loops = [node for node in ast.walk(block) if isinstance(node, ast.For | ast.While)]
    return all(map(_counts, loops)) and any(names.chain(call.func) in _RANDOM for call in calls)


def _counts(loop: ast.For | ast.While) -> bool:
    """`for step in range(10)`."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and names.last(loop.iter.func) == "range"


def is_test(place: str, name: str) -> bool:
    """Whether a function of that name in a file at that place is part of a test: it tells nothing of how often a program calls anything."""
    return name.startswith("test_") or _TEST.search(place) is not None
