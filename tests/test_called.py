"""How a text calls a name, told without a tree."""

from __future__ import annotations

import ast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from torchlint.text.called import how_called


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("", ""),
        ("def make(self): ...", ""),
        ("async def make(self): ...", ""),
        ("make = 1\nx.make = make", ""),
        ("remake(1)\nmake_it(1)\nx.maker(2)", ""),
        ("self.make(1)", "own"),
        ("return cls.make(1)", "own"),
        ("def make(self):\n    return super().make()", "base"),
        ("def make(self):\n    super().make()\n    self.make()", "any"),
        ("super().make()\nself.make = 1", "any"),
        ("(self.make(1), 2)", "own"),
        ("make(1)", "any"),
        ("x.make(1)", "any"),
        ("x.self.make(1)", "any"),
        ("myself.make(1)", "any"),
        ("super(A, self).make(1)", "any"),
        ("mysuper().make(1)", "any"),
        ("x.super().make(1)", "any"),
        # What is said of it besides may be anything.
        ("self.make(1)\nself.make = other.make", "any"),
        ('self.make(1)\ngetattr(x, "make")', "any"),
        ("self.make(1)  # see make", "any"),
        ("    # make it\nself.make(1)", "own"),
        ('"""\n    >>> x.make(1)\n"""', ""),
        ("x = 1  # x.make(1)", ""),
        ("x = '#'; x.make(1)", "any"),
        (">>> 1\nmake(1)", "any"),
        ('"""\n    ... x.make(1)\n"""', "any"),
        ("self.make(1)\nmake\n(2)", "any"),
        ("self.make(1)\nx.make(2)", "any"),
    ],
)
def test_how_a_text_calls_a_name(text: str, how: str) -> None:
    assert how_called(text.encode(), b"make") == how


@given(st.lists(st.sampled_from([*"make ( ) . self x = 1".split(), "def ", "\n"]), max_size=9).map("".join))
def test_a_text_that_is_said_to_call_nothing_calls_nothing(text: str) -> None:
    assume("make (" not in text)
    try:
        calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return
    named = [func for func in calls if ast.unparse(func).rpartition(".")[2] == "make"]
    assert not named or how_called(text.encode(), b"make")
