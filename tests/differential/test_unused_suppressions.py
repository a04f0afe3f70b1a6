"""The fix of TL002 takes comments away and nothing else: every token of the program stays, and what else a comment says."""

from __future__ import annotations

import io
import tokenize

import pytest

from torchlint.fix.run import fix_files
from torchlint.settings.config import Settings

COMMENTS = {
    "# noqa: TL101": "",
    "# noqa:TL101": "",
    "# NOQA : TL101": "",
    "#noqa: TL101": "",
    "# torchlint: ignore[TL101]": "",
    "# torchlint: ignore[TL101, TL104]": "",
    "# torchlint: ignore[item-in-hot-loop]": "",
    "# noqa: TL101, E501": "# noqa: E501",
    "# noqa: E501,TL101": "# noqa: E501",
    "# why  # noqa: TL101": "# why",
    "# noqa: TL101  # why": "# why",
    "# noqa: TL101 for #12": "# noqa: TL101 for #12",
    "# torchlint: ignore[TL101]  # and why": "# and why",
    "# torchlint: ignore[TL101] once  # and why": "# torchlint: ignore[TL101] once  # and why",
    "# type: ignore  # noqa: TL101": "# type: ignore",
    "# noqa: TL101 # torchlint: ignore[TL104]": "",
}
"""Comments that silence nothing, and what is left of them: what somebody has written stays."""
PLACES = (
    "x = 1  COMMENT\n",
    "if x:\n    y = 2\tCOMMENT\nelse:\n    pass\n",
    "COMMENT\nx = 1\n",
    "f(\n    a,  COMMENT\n    b,\n)\n",
    "x = '''a\n# noqa: TL101\n'''  COMMENT\n",
    "def f():  COMMENT\n    return 1\n",
    "x = 1; y = '# noqa: TL101'  COMMENT",
    "x = 1 + \\\n    2  COMMENT\ny = 3\n",
)


def fixed(text: str) -> str:
    settings = Settings(codes=frozenset(("TL002", "TL101", "TL104")), fixable=frozenset(("TL002",)))
    contents = fix_files({"a.py": text.encode()}, settings, unsafe=False, write=False).contents
    return contents.get("a.py", text.encode()).decode()


def tokens(text: str) -> tuple[list[tuple[int, str]], list[str]]:
    """The tokens that make the program, and its comments."""
    found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    beside = (tokenize.COMMENT, tokenize.NL)
    program = [(one.type, one.string.strip("\n")) for one in found if one.type not in beside]
    return program, [one.string for one in found if one.type == tokenize.COMMENT]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("comment", COMMENTS)
def test_only_the_unused_suppression_goes(comment: str, place: str, newline: str) -> None:
    text = place.replace("COMMENT", comment).replace("\n", newline)
    program, _ = tokens(text)
    left = COMMENTS[comment]

    after = fixed(text)

    assert (program, [left] if left else []) == tokens(after)
    assert fixed(after) == after
