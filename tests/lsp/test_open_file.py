"""A file that is open takes an edit inside of a function in place, and is then what a fresh parse of the text is."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from torchlint.facts.module import Module
from torchlint.lsp.open_file import OpenModule
from torchlint.text.source import Source

TEXT = '''\
"""A module."""

import torch

SIZE = 3


def first(x):
    y = x + 1

    def inner(z):
        return z * y

    return inner(y)


# between


class Net(torch.nn.Module):
    """A model."""

    size = 4

    @torch.no_grad()
    def forward(self, x, mask=None):
        # attends
        if mask is not None:
            x = x * mask
        return f"""{
            x
        } and {self.size}"""

    def empty(self): pass


def last():
    import math

    return math.pi
'''


def module(text: str) -> OpenModule:
    return OpenModule(Source.of("a.py", text.encode()), "a", False)


def changed(text: str, old: str, new: str) -> frozenset[str] | None:
    """What an edit changes; held to a fresh parse where it was taken."""
    assert text.count(old) == 1, old
    known = module(text)
    taken = known.take(Source.of("a.py", text.replace(old, new).encode()))
    fresh = module(text.replace(old, new) if taken is not None else text)
    assert told(fresh) == told(known)
    return taken


def told(module: Module) -> tuple[object, ...]:
    functions = [
        (
            one.qualname,
            one.start,
            one.last_line,
            one.imports,
            one.parent and one.parent.qualname,
            one.cls and one.cls.name,
        )
        for one in module.functions
    ]
    classes = [(one.qualname, one.start, {name: m.start for name, m in one.methods.items()}) for one in module.classes]
    nodes = {node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.Module)}
    assert {one.node for one in module.functions} == nodes
    return ast.dump(module.tree, include_attributes=True), functions, classes, module.source.data


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SIZE = 3", "SIZE = 4"),
        ("    size = 4", "    size = 5"),
        ('"""A module."""', '"""Module"""'),
        ('"""A model."""', "# a model"),
        ("def first(x)", "def first(y)"),
        ("mask=None", "mask=0"),
        ("@torch.no_grad()", "@torch.no_grad"),
        ("    def inner(z)", "    def outer(z)"),
        ("    import math", "    import cmath"),
        ("    y = x + 1", "    y = x + 1\n"),
        ("    y = x + 1", "    y = (x + 1"),
        ("    y = x + 1", "y = x + 1"),
        ("    return inner(y)", "    # nothing"),
        ("    return inner(y)", "    def more(): pass"),
        ("    return inner(y)", "return = 1"),
        ("# between", "between = 1"),
        ("# between", '"""'),
        ("def empty(self): pass", "def other(self): pass"),
        ("def empty(self): pass", "empty = None"),
    ],
)
def test_what_is_more_than_the_inside_of_a_function_is_not_taken(old: str, new: str) -> None:
    assert changed(TEXT, old, new) is None


@pytest.mark.parametrize(
    ("old", "new", "unit"),
    [
        ("y = x + 1", "y = x + 10", "first"),
        ("z * y", "z", "first"),
        ("inner(y)", "inner(lambda: y)", "first"),
        ("x * mask", "x", "Net.forward"),
        ("            x\n", "            x.y\n", "Net.forward"),
        ("self): pass", "self): return 1", "Net.empty"),
        ("math.pi", "math.e + 1", "last"),
    ],
)
def test_an_edit_inside_of_a_function_changes_that_alone(old: str, new: str, unit: str) -> None:
    assert changed(TEXT, old, new) == frozenset((unit,))


@pytest.mark.parametrize(
    ("old", "new"), [("# between", "# among"), ("# attends", "# looks"), ("y = x + 1", "y = x + 1  # more")]
)
def test_a_comment_changes_nothing(old: str, new: str) -> None:
    assert changed(TEXT, old, new) == frozenset()


def test_what_stands_elsewhere_stays_the_same_object() -> None:
    known = module(TEXT)
    before = {one.qualname: (one, one.flow, one.bindings) for one in known.functions}
    assert known.take(Source.of("a.py", TEXT.replace("x * mask", "x").encode())) == frozenset(("Net.forward",))
    after = {one.qualname: (one, one.flow, one.bindings) for one in known.functions}
    assert {name for name, parts in before.items() if parts != after[name]} == {"Net.forward"}
    assert before["Net.forward"][0] is after["Net.forward"][0]


@pytest.mark.parametrize("deep", [f"y = {'(' * 5000}x{')' * 5000}", f"y = x{' + x' * 900}", f"y = {'-' * 3000}x"])
def test_a_deep_text_harms_nothing(deep: str) -> None:
    known = module(TEXT)
    assert known.take(Source.of("a.py", TEXT.replace("y = x + 1", deep).encode())) in (None, frozenset(("first",)))
    assert known.take(Source.of("a.py", TEXT.replace("y = x + 1", "y = x + 2").encode())) == frozenset(("first",))
    assert told(known) == told(module(TEXT.replace("y = x + 1", "y = x + 2")))


FILES = sorted((Path(__file__).parents[2] / "torchlint/facts").glob("*.py"))


@pytest.mark.parametrize("path", FILES[::4], ids=lambda path: path.stem)
def test_random_edits_give_what_a_fresh_parse_gives(path: Path) -> None:
    dice = random.Random(path.name)
    text = path.read_text()
    known, taken = module(text), 0
    for _ in range(60):
        lines = text.splitlines(keepends=True)
        at = dice.randrange(len(lines))
        line = lines[at]
        cut = dice.randrange(len(line))
        lines[at] = dice.choice((line[:cut] + line[cut + 1 :], line.replace("(", "(0, ", 1), dice.choice(lines), "\n"))
        source = Source.of("a.py", "".join(lines).encode())
        if known.take(source) is not None:
            taken += 1
            text = "".join(lines)
            assert told(known) == told(module(text))
    assert taken or len(known.functions) == 1
