"""What several answers depend on together is what each of them depends on by itself."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from torchlint.query.closures import Depends, Renumbering, bits_of, chosen, closures


@dataclass(eq=False)
class Answer:
    leaves: set[tuple[str, ...]] = field(default_factory=set)
    parts: set[Answer] = field(default_factory=set)


def read(depends: Depends) -> set[tuple[str, ...]]:
    return set(chosen(depends.things, depends.bits))


def below(root: Answer) -> set[tuple[str, ...]]:
    seen, todo = {root}, [root]
    while todo:
        new = todo.pop().parts - seen
        seen |= new
        todo += new
    return {leaf for one in seen for leaf in one.leaves}


def test_nothing_depends_on_nothing() -> None:
    assert [] == closures([])
    assert [set()] == [read(one) for one in closures([Answer()])]


def test_an_answer_depends_on_what_its_parts_have_read() -> None:
    part = Answer({("text", "a.py")})
    root = Answer({("text", "b.py")}, {part})
    assert [{("text", "a.py"), ("text", "b.py")}, {("text", "a.py")}] == [read(one) for one in closures([root, part])]


def test_answers_of_a_circle_depend_on_all_of_it() -> None:
    one, other = Answer({("text", "a.py")}), Answer({("text", "b.py")})
    one.parts.add(other)
    other.parts.add(one)
    assert [{("text", "a.py"), ("text", "b.py")}] * 2 == [read(found) for found in closures([one, other])]


def test_an_answer_that_is_asked_for_twice_is_told_twice() -> None:
    root = Answer({("text", "a.py")})
    assert [{("text", "a.py")}] * 2 == [read(one) for one in closures([root, root])]


@pytest.mark.parametrize("seed", range(40))
def test_any_graph(seed: int) -> None:
    rng = random.Random(seed)
    answers = [Answer({("text", str(rng.randrange(30)))} if rng.random() < 0.7 else set()) for _ in range(60)]
    for _ in range(rng.randrange(160)):
        rng.choice(answers).parts.add(rng.choice(answers))
    roots = rng.choices(answers, k=20)
    assert [below(root) for root in roots] == [read(one) for one in closures(roots)]


def test_bits_are_the_numbers_that_they_were_made_of() -> None:
    assert 0 == bits_of([])
    assert [0, 3, 64] == list(chosen(range(100), bits_of([64, 3, 0, 3])))


def test_rows_by_other_numbers_are_what_each_row_is_by_itself() -> None:
    draw = random.Random(1)
    for _ in range(500):
        numbers = [draw.randrange(10) for _ in range(draw.randint(1, 12))]  # some of them the same
        renumbering = Renumbering(numbers)
        for _ in range(6):
            bits = draw.getrandbits(len(numbers))
            assert renumbering.renumbered(bits) == bits_of(chosen(numbers, bits))
