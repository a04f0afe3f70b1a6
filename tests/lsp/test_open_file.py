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
            module.line(one.start[0]) if one.parent else 0,
            one.last_line,
            one.imports,
            one.parent and one.parent.qualname,
            one.cls and one.cls.name,
        )
        for one in module.functions
    ]
    classes = [(one.qualname, module.line(one.start[0]), sorted(one.methods)) for one in module.classes]
    assert all(module.numbered(one.qualname, module.number_of(one)) is one for one in module.functions)
    assert [module.line(module.label(line)) for line in range(1, len(module.source.lines))] == list(
        range(1, len(module.source.lines))
    )
    nodes = {
        node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module)
    }
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
        ("    y = x + 1", "    y = (x + 1"),
        ("    y = x + 1", "y = x + 1"),
        ("    return inner(y)", "    def more(): pass"),
        ("    return inner(y)", "return = 1"),
        ("# between", "between = 1"),
        ("# between", '"""'),
        ("def empty(self): pass", "def other(self): pass"),
        ("def empty(self): pass", "empty = None"),
        ("SIZE = 3\n", "SIZE = 3\nMORE = 4\n"),
        ("SIZE = 3\n", "SIZE = (\n    # three\n    3\n)\n"),
        ("def first(x):\n", "def first(x):\n    import os\n"),
        ("def first(x):\n", "def first(\n    x\n):\n"),
        ("    @torch.no_grad()\n", "    @torch.no_grad()\n    # decorated\n"),
        ("    @torch.no_grad()\n", "    # decorated\n    @torch.no_grad()\n    @torch.no_grad()\n"),
        ("    return inner(y)\n", "    return inner(y)\n\n    def more(): pass\n"),
        ("    return inner(y)\n", "    return inner(y)\n\n\nmore = 1\n"),
        ("    return inner(y)\n", "    return inner(\n"),
        ("    return inner(y)\n", "    return inner(y)\nelse:\n"),
        ("    return inner(y)\n", "    return inner(y)\n    @first\n"),
        ("def first(x):\n    y = x + 1\n\n", ""),
        ("    size = 4\n", "    size = 4\n    more = 5\n"),
        ('    """A model."""\n', '    """A\n\n    model."""\n'),
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


@pytest.mark.parametrize(
    ("old", "new", "unit"),
    [
        ("    y = x + 1", "    y = x + 1\n    y = y + 1", "first"),
        ("    y = x + 1\n\n", "", "first"),
        ("    return inner(y)", "    # nothing", "first"),
        ("    return inner(y)\n", "    return inner(\n        y\n    )\n", "first"),
        ("    return inner(y)\n", "    y = inner(y)\n    return y\n\n    # at the end\n", "first"),
        ("    return inner(y)\n", "    return inner(y)\n\n    y()\n", "first"),
        ("    return inner(y)\n\n\n", "    return inner(y)\n    y()\n", "first"),
        ("        return z * y\n", "        z = z + 1\n        return z\n", "first"),
        ("            x = x * mask\n", "            x = x * mask\n        else:\n            x = -x\n", "Net.forward"),
        ("            x\n", "            # of x\n            x\n", "Net.forward"),
        ("self): pass", "self):\n        return 1", "Net.empty"),
        ("    return math.pi\n", "    return math.pi\n    last()\n", "last"),
    ],
)
def test_lines_that_come_or_go_in_a_function_move_what_stands_below(old: str, new: str, unit: str) -> None:
    if old == "            x\n":
        assert changed(TEXT, old, new) in (None, frozenset((unit,)))  # a comment in an f-string is new in Python 3.12
    elif "empty" in unit:
        assert changed(TEXT, old, new) is None  # the line of a `def` keeps its label
    else:
        assert changed(TEXT, old, new) == frozenset((unit,))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# between\n", ""),
        ("import torch\n", "import torch\n\n"),
        ("# between\n", "# between\n\n# two\n"),
        ("SIZE = 3\n\n\n", "SIZE = 3\n\n\n\n# first\n"),
        ("    size = 4\n\n", "    size = 4\n"),
        ("    y = x + 1\n\n", "    y = x + 1\n\n    # and then\n"),
        ("        # attends\n", ""),
        ("            x = x * mask\n", "\f\n# more\n            x = x * mask\n"),
        ("    def empty(self): pass\n\n\n", "    def empty(self): pass\n"),
    ],
)
def test_lines_that_say_nothing_move_what_stands_below(old: str, new: str) -> None:
    assert changed(TEXT, old, new) == frozenset()


@pytest.mark.parametrize("tail", ["\\\n\nlast()\n", "\\\n    \n"])
def test_a_line_behind_a_backslash_belongs_to_it(tail: str) -> None:
    text = f"{TEXT}\n\nx = 1 {tail}"
    known = module(text)
    lines = text.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.endswith("\\\n"))
    assert known.take(Source.of("a.py", "".join((*lines[: at + 1], *lines[at + 2 :])).encode())) is None
    assert told(known) == told(module(text))


def test_labels_that_have_no_room_left_are_made_anew() -> None:
    text, known = TEXT, module(TEXT)
    for number in range(100):
        text = text.replace("    y = x + 1\n", f"    y = x + 1\n    y = {number}\n")
        if known.take(Source.of("a.py", text.encode())) is None:
            break
        assert told(known) == told(module(text))
    assert 10 < number < 99


def test_a_line_more_leaves_the_label_of_each_other_line() -> None:
    known = module(TEXT)
    known.take(Source.of("a.py", TEXT.replace("# between\n", "# between\n#\n").encode()))
    before = {one.qualname: (one, one.flow, one.start) for one in known.functions}
    text = TEXT.replace("# between\n", "# between\n#\n#\n")
    known.take(Source.of("a.py", text.encode()))
    assert {one.qualname: (one, one.flow, one.start) for one in known.functions} == before
    known.take(Source.of("a.py", text.replace("    y = x + 1\n", "    y = x + 1\n    y += 1\n").encode()))
    after = {one.qualname: (one, one.flow, one.start) for one in known.functions}
    assert {name for name, parts in before.items() if parts != after[name]} == {"first", "first.inner"}
    assert [start for _, _, start in after.values()] == [start for _, _, start in before.values()]


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


STATEMENTS = (
    "pass",
    "return 1",
    "# comment",
    "",
    "y = '''",
    "x = foo(",
    ")",
    "else:",
    "def g(): pass",
    "x = \\",
    "\f",
    "import os",
)


@pytest.mark.parametrize("path", FILES[::4], ids=lambda path: path.stem)
def test_random_edits_give_what_a_fresh_parse_gives(path: Path) -> None:
    dice = random.Random(path.name)
    newline = dice.choice(("\n", "\r\n"))
    text = path.read_text().replace("\n", newline)
    known, taken = module(text), 0
    for _ in range(40):
        lines = text.split(newline)
        at = dice.randrange(len(lines))
        line = lines[at]
        cut = dice.randrange(len(line) + 1)
        margin = line[: len(line) - len(line.lstrip())]
        match dice.randrange(6):
            case 0:
                lines[at] = dice.choice(
                    (line[:cut] + line[cut + 1 :], line.replace("(", "(0, ", 1), dice.choice(lines))
                )
            case 1:
                del lines[at : at + dice.randrange(1, 3)]
            case 2:
                lines[at:at] = [margin + dice.choice(STATEMENTS) for _ in range(dice.randrange(1, 3))]
            case 3:
                lines[at + 1 : at + 1] = [margin + dice.choice(STATEMENTS)]
            case 4:
                lines[at : at + 1] = [line, "", f"{margin}# more"]
            case _:
                lines[at : at + 2] = reversed(lines[at : at + 2])
        source = Source.of("a.py", newline.join(lines).encode())
        if known.take(source) is not None:
            taken += 1
            text = newline.join(lines)
            assert told(known) == told(module(text))
    assert taken or len(known.functions) == 1
