"""What files say by themselves is kept as lines of text, of which few are read."""

from __future__ import annotations

from typing import Any

import pytest

from torchlint.program.by_file import FACT, TEXT, WORDS, ByFile, Form


@pytest.mark.parametrize(
    ("form", "value"),
    [
        *(
            (FACT, one)
            for one in (True, False, None, [], [""], ["a"], ["a", "b c"], ["a\nb"], ["l'un", '"b"'], ["\ud800"])
        ),
        *((FACT, one) for one in ([["A", ["B", "C"]], ["D", []]], [["a'", '"']], ["\u2003", "caf\xe9"], ["=", "["])),
        (TEXT, b""),
        (TEXT, b"from a import b \xc3\xa9 \x85"),
        (WORDS, frozenset[bytes]()),
        (WORDS, frozenset((b"a", b"\xc3\xa9"))),
    ],
)
def test_a_line_says_the_same(form: Form, value: Any) -> None:
    told = ByFile(form)
    told["a.py"] = value
    line = told.line("a.py")

    assert line is not None
    assert "\n" not in line
    assert ByFile(form, {"a.py": line})["a.py"] == value


def test_the_files_of_which_a_line_holds_a_word() -> None:
    told = ByFile(FACT, {"a.py": "= fit loss_of ", "b.py": "= loss ", "c.py": "[]"})
    told["d.py"] = ["loss"]

    # Of a list that is no list of words it is to be read.
    assert ["b.py", "c.py", "d.py"] == told.holding(" loss ", ["a.py", "b.py", "c.py", "d.py"])


def test_what_is_forgotten_is_known_no_more() -> None:
    told = ByFile(FACT, {"a.py": "1"})

    assert told.pop("a.py") is True
    assert "a.py" not in told
    assert told.line("a.py") is None
    assert told.pop("a.py") is None


def test_news_are_what_was_found_out_since_they_were_asked_for_last() -> None:
    told = ByFile(FACT, {"a.py": "1"})

    assert told.news() == {}
    told["b.py"] = ["loss"]
    told["c.py"] = False
    assert told.news() == {"b.py": "= loss ", "c.py": "0"}
    assert told.news() == {}


def test_what_another_process_has_found_out_is_known_and_no_news() -> None:
    told = ByFile(FACT, {"a.py": "1"})

    told.hear({"a.py": "0", "b.py": "= loss "})

    assert told["a.py"] is True
    assert told["b.py"] == ["loss"]
    assert told.news() == {}
