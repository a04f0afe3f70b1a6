"""What a fix must leave: the comments inside of what it replaces."""

from __future__ import annotations

import pytest

from torchlint.lint.kept import keeps_comments
from torchlint.text.finding import Applicability, Edit, Fix
from torchlint.text.source import Source

CODE = "x = f(  # why\n    a,  # which\n    'b#c',\n)\n"


def keeps(old: str, new: str, applicability: Applicability = "safe") -> bool:
    """Whether a fix that puts something in place of a part of `CODE` keeps its comments."""
    start = CODE.index(old)
    edit = Edit(start, start + len(old), new.encode())
    return keeps_comments(Source.of("a.py", CODE.encode()), Fix("", (edit,), applicability))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# why\n    a,", "a,\n"),
        (CODE[4:-1], "f(a, 'b#c')"),
        (CODE[4:-1], "f(  # which\n    a, 'b#c')"),
        ("# which", "'# which'"),
        ("# which", "# what"),
    ],
)
def test_a_comment_that_goes(old: str, new: str) -> None:
    assert not keeps(old, new)
    assert keeps(old, new, "suggestion"), "people see what goes"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'b#c'", "'d#e'"),
        ("a", "b"),
        (CODE[4:-1], "g(  # why\n    a)  # which"),
        ("# why\n    a,  # which", "\n    a,  # which\n    # why "),
        ("x = ", "x: int = "),
    ],
)
def test_a_comment_that_stays_or_none(old: str, new: str) -> None:
    assert keeps(old, new)
