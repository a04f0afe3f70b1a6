"""Searches for written-out words find what their patterns find."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.program.project import Project
from torchlint.text.source import Searches, Words
from torchlint.text.whole_words import WholeWords, as_pattern, quickest, quoted, set_or_quoted

PATTERNS = [rb"\bab\b", rb"\b(?:ab|a_b|b)\b", rb"\bab\(", rb"\b(?:ab|a_b|b)\(", rb"\.ab\(", rb"ab", rb"\.ab\b"]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(data=st.text(alphabet="ab_.( \n1\xe9", max_size=30).map(str.encode))
def test_a_quick_search_says_what_the_pattern_says(pattern: bytes, data: bytes) -> None:
    compiled = re.compile(pattern)
    assert (quickest(compiled).search(data) is None) is (compiled.search(data) is None)


@pytest.mark.parametrize(
    "pattern", [rb"ab|cd", rb"\bab[12]\b", rb"(?i:ab)", rb"\bab\s", rb"a.b", rb"\d", rb"ab$", rb""]
)
def test_other_patterns_are_searched_for_as_they_are(pattern: bytes) -> None:
    compiled = re.compile(pattern)
    assert quickest(compiled) is compiled


def test_patterns_with_flags_are_searched_for_as_they_are() -> None:
    compiled = re.compile(rb"\bab\b", re.IGNORECASE)
    assert quickest(compiled) is compiled


@pytest.mark.parametrize(
    "wanted",
    [
        b"a.b",
        Words(b"ab", b"c("),
        Words(b"ab", pattern=re.compile(rb"\bab\b"), sure=(b"cd",)),
        WholeWords(b"ab", b"b", sure=(b"c.",)),
        re.compile(rb"A+b", re.IGNORECASE),
    ],
)
def test_a_search_as_a_pattern(wanted: Searches | bytes) -> None:
    """The pattern finds something in the same texts."""
    told = as_pattern(wanted)
    assert told is not None
    pattern = re.compile(told[1], told[0])
    for letters in itertools.product(b"abc.( A", repeat=4):
        data = bytes(letters)
        held = wanted in data if isinstance(wanted, bytes) else wanted.search(data) is not None
        assert (pattern.search(data) is not None) is held, data


def test_a_search_that_is_no_pattern() -> None:
    assert as_pattern(Words(b"ab", pattern=re.compile(rb"AB", re.IGNORECASE))) is None


@given(data=st.text(alphabet="ab_.='\" x", max_size=30).map(str.encode))
def test_patterns_that_begin_with_their_word_find_what_those_that_begin_before_it_do(data: bytes) -> None:
    as_text, as_either = rb"[\"']ab[\"']", rb"\.ab[ \t]*=(?!=)|[\"']ab[\"']"
    assert (re.search(quoted(b"ab"), data) is None) is (re.search(as_text, data) is None)
    assert (re.search(set_or_quoted(b"ab"), data) is None) is (re.search(as_either, data) is None)


def test_which_search_is_quickest() -> None:
    assert isinstance(quickest(re.compile(rb"\b(?:ab|cd)\b")), WholeWords)
    assert isinstance(quickest(re.compile(rb"\bab\(")), Words)


def test_words_that_are_sure_count_inside_of_others() -> None:
    words = WholeWords(b"mps", sure=(b"cuda",))
    assert words.search(b"is_cuda_there") == b"cuda"
    assert words.search(b"jumps") is None
    assert words.search(b"jumps, mps") == b"mps"


@pytest.mark.parametrize(
    ("text", "heirs"),
    [
        ("class A(B): pass", [("A", ["B"])]),
        ("if x:\n\t class A ( B, c.D[E(1)] ):\n  pass", [("A", ["B", "D", "E", "c"])]),
        ("class A(B): pass\nclass C(D): pass", [("A", ["B"]), ("C", ["D"])]),
        ("# class A(\nclass C(D): pass", [("C", ["D"])]),
        ("x = 1; class A(B): pass", []),
        ("subclass A(B)", []),
        ("class A: pass\nclass_ = f(x)", []),
        ("class A(\n    B,\n): pass", [("A", ["B"])]),
    ],
)
def test_classes_by_what_they_are_derived_from(text: str, heirs: list[tuple[str, list[str]]]) -> None:
    project = Project({"a.py": text.encode})
    assert sorted({one for _, bases in heirs for base in bases for one in project.heirs(base)}) == [
        ("a.py", name) for name, _ in heirs
    ]
    assert all(project.heirs(base) for _, bases in heirs for base in bases)
    assert project.heirs("A") == []
