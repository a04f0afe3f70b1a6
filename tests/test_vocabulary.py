"""Which of many texts hold a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.program.project import Project
from torchlint.text.vocabulary import Vocabulary

WORDS = st.text("ab_", min_size=1, max_size=3).map(str.encode)


@given(texts=st.lists(st.lists(WORDS, max_size=3).map(b"\n".join), max_size=5), name=WORDS)
def test_it_tells_the_texts_that_a_search_through_each_tells(texts: list[bytes], name: bytes) -> None:
    assert [number for number, text in enumerate(texts) if name in text] == list(Vocabulary(texts).holding(name))


def test_a_name_does_not_reach_from_one_text_into_the_next() -> None:
    assert [] == list(Vocabulary([b"ab", b"c"]).holding(b"abc"))
    assert [1, 3] == list(Vocabulary([b"", b"ab", b"", b"b\nxab"]).holding(b"ab"))


@pytest.mark.parametrize("word", [b"scale", b".scale =", b""])
def test_files_are_looked_through_by_a_word_of_what_is_looked_for(word: bytes) -> None:
    texts = {"a.py": b"self.scale = 2\n", "b.py": b"rescale(x)\n", "c.py": b"shift = 1\n"}
    project = Project({path: lambda text=text: text for path, text in texts.items()})  # type: ignore[misc]
    assert {"a.py"} == project.holders(rb"\.scale =", word=word)
    assert project.any_holds(rb"\.scale =", word=word)
    assert not project.any_holds(rb"\.scale =", "b", word=word)


def test_a_file_that_is_left_out_holds_nothing() -> None:
    project = Project({"a.py": lambda: b"scale = 2\n", "b.py": lambda: b"scale = 3\n"})
    assert {"a.py", "b.py"} == project.holders(rb"scale =", word=b"scale")
    project.leave_out("a.py")
    assert {"b.py"} == project.holders(rb"scale  *=", word=b"scale")
