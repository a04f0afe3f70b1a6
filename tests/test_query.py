"""Answers are worked out once, know what they were made of, and do not depend on what was asked first."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable

import pytest

from torchlint.query.closures import Depends
from torchlint.query.database import _OPEN, ROUNDS, Database
from torchlint.query.incremental import Incremental


def mixed(*parts: int) -> int:
    """A number made of numbers, without a pattern that a reader or an engine could use."""
    found = 17
    for part in parts:
        found = (found * 1_000_003 ^ (part + 0x9E3779B9)) % 2_147_483_647
        found ^= found >> 13
    return found


class World:
    """Questions about numbers that ask each other at random, of files that may change.

    What they ask depends on what they were told before if `jumps`; they grow with what they are told if `grows`.
    """

    def __init__(
        self,
        seed: int,
        size: int,
        *,
        jumps: bool = False,
        grows: bool = False,
        few: int = 50,
        nested: bool = False,
        database: Callable[[], Database] = lambda: Database(lambda key: key[1], noting=True),
    ) -> None:
        self.seed, self.size, self.jumps, self.grows, self.few = seed, size, jumps, grows, few
        self.nested = nested
        """Whether parts of answers are made of other parts."""
        self.files = dict.fromkeys(range(size), 0)
        self.counted: Counter[int] = Counter()
        self.database = database()
        self.parts = [self.database.parts() for _ in range(3)]
        self.shown: dict[int, int] = {}

    def fresh(self) -> World:
        """The same world, of which nothing was asked."""
        other = World(self.seed, self.size, jumps=self.jumps, grows=self.grows, few=self.few, nested=self.nested)
        other.files = dict(self.files)
        return other

    def text(self, one: int) -> int:
        """What a file says, without its version where that makes no difference."""
        return mixed(self.seed, one, self.files[one] // 2)

    def read(self, one: int) -> int:
        self.database.note("file", str(one), str(self.text(one)))
        return self.text(one)

    def ask(self, one: int) -> int:
        return self.database.get(("number", one), lambda: self.work(one), 0)

    def work(self, one: int) -> int:
        self.counted[one] += 1
        said = self.read(one)
        told: list[int] = []
        for step in range(said % 4):
            if step == 1:
                told.append(self.part(mixed(said, one) % 12))
            else:
                told.append(self.ask(mixed(said, step, *(told if self.jumps else ())) % self.size))
        if self.grows:
            return max([said % 7 if said % 3 == 0 else 0, *told])
        return mixed(said, *told) % self.few

    def part(self, number: int) -> int:
        """A part of an answer that many are made of: of this group or that, two questions joined."""
        parts = self.parts[number % len(self.parts)]

        def work(number: int) -> int:
            if self.nested and number > 3:
                told = self.part(number // 2)
                return mixed(
                    told, self.ask(mixed(number, told if self.jumps else 0) % self.size), self.part(number // 3)
                )
            return self.ask(mixed(self.seed, number) % self.size) + self.ask(mixed(number, self.seed) % self.size)

        return self.database.noted(parts, lambda: parts.of(number, work))

    def look(self, one: int) -> int:
        """What is kept elsewhere, and made of two answers."""
        key = ("look", one)
        if one not in self.shown or key not in self.database:
            self.shown[one] = self.database.linked(key, lambda: self.ask(one) + self.part(one % 12))
        return self.shown[one]

    def all(self, order: random.Random | None = None) -> list[int]:
        numbers = list(range(self.size))
        if order is not None:
            order.shuffle(numbers)
        told = {one: self.ask(one) for one in numbers}
        return [told[one] for one in range(self.size)]

    def changed(self) -> None:
        self.database.changed(lambda leaf: str(self.text(int(leaf[1]))) != leaf[2])


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("size", [2, 4, 7, 12, 25])
def test_answers_in_any_order_are_the_same(size: int, jumps: bool, grows: bool) -> None:
    for seed in range(20):
        for few in (2, 50):
            world = World(seed, size, jumps=jumps, grows=grows, few=few)
            told = world.all()
            for turn in range(2):
                assert world.fresh().all(random.Random(turn)) == told, (seed, few, turn)


class Forgetful(Database):
    """A database that works all of a circle out anew in each round."""

    def again(self, circle: object, parts: object, key: object) -> object:
        return _OPEN


@pytest.mark.parametrize("few", [2, 5, 50])
@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("size", [2, 4, 7, 12, 25])
def test_what_is_not_worked_out_again_in_a_circle_would_be_the_same(
    size: int, jumps: bool, grows: bool, few: int
) -> None:
    spared = 0
    for seed in range(8):
        order = random.Random(seed)
        world = World(seed, size, jumps=jumps, grows=grows, few=few, nested=True)
        plain = World(
            seed, size, jumps=jumps, grows=grows, few=few, nested=True, database=lambda: Forgetful(lambda key: key[1])
        )
        for _ in range(3):
            one = order.randrange(size)
            assert world.ask(one) == plain.ask(one), (seed, one)
        assert world.all() == plain.all(), seed
        assert [parts.known for parts in world.parts] == [parts.known for parts in plain.parts], seed
        assert all(world.counted[one] <= plain.counted[one] for one in range(size)), seed
        spared += plain.counted.total() - world.counted.total()
    assert spared > 0 or size == 2


@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("size", [4, 9, 20])
def test_answers_after_edits_are_those_of_a_fresh_database(size: int, jumps: bool) -> None:
    for seed in range(15):
        order = random.Random(seed)
        world = World(seed, size, jumps=jumps)
        for _ in range(6):
            world.all(order) if order.random() < 0.5 else world.ask(order.randrange(size))
            for _ in range(order.randrange(3)):
                world.files[order.randrange(size)] += 1
            world.changed()
            assert world.all(order) == world.fresh().all(), seed


@pytest.mark.parametrize("few", [1, 2, 5, 50])
@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("size", [3, 4, 9, 20])
def test_answers_that_stand_after_edits_are_those_of_a_fresh_database(
    size: int, jumps: bool, grows: bool, few: int
) -> None:
    for seed in range(10):
        order = random.Random(seed)
        nested = seed % 2 == 1
        database = lambda: Incremental(lambda key: key[1])
        world = World(seed, size, jumps=jumps, grows=grows, few=few, nested=nested, database=database)
        fresh = world.fresh()
        for turn in range(12):
            for _ in range(order.randrange(3)):
                one = order.randrange(size)
                assert world.ask(one) == fresh.ask(one), (seed, turn)
            for _ in range(order.randrange(3)):
                world.files[order.randrange(size)] += 1
            world.changed()
            fresh = world.fresh()
            for _ in range(order.randrange(3)):
                one = order.randrange(size)
                assert world.look(one) == fresh.look(one), (seed, turn)
            if order.random() < 0.3:
                assert world.all(order) == fresh.all(), (seed, turn)


def test_what_was_made_of_an_answer_that_comes_out_equal_stands() -> None:
    files, counted = {"a": 4, "b": 1}, Counter[str]()
    database = Incremental(lambda key: key)
    parts = database.parts()

    def ask(name: str) -> int:
        def work() -> int:
            counted[name] += 1
            if name in files:
                database.note(name, str(files[name]))
                return files[name] // 2
            return sum(map(ask, name)) if name != "part" else database.noted(parts, lambda: parts.of("ab", ask))

        return database.get((name,), work, 0)

    def look() -> int:
        if ("look",) not in database:
            counted["look"] += 1
            return database.linked(("look",), lambda: ask("part") + ask("b"))
        return 2

    assert look() == 2
    assert counted == {"a": 1, "b": 1, "ab": 1, "part": 1, "look": 1}
    files["a"] = 5
    database.changed(lambda leaf: str(files[leaf[0]]) != leaf[1])
    assert look() == 2
    assert counted == {"a": 2, "b": 1, "ab": 1, "part": 1, "look": 1}
    files["a"], files["b"] = 2, 2  # their sum is what it was
    database.changed(lambda leaf: str(files[leaf[0]]) != leaf[1])
    assert look() == 3
    assert counted == {"a": 3, "b": 2, "ab": 2, "part": 1, "look": 2}
    files["a"] = 6
    database.changed(lambda leaf: str(files[leaf[0]]) != leaf[1])
    assert look() == 5
    assert counted == {"a": 4, "b": 2, "ab": 3, "part": 2, "look": 3}


def test_answers_of_a_circle_stand_together() -> None:
    files, counted = {"a": 3, "b": 1}, Counter[str]()
    database = Incremental(lambda key: key)
    graph = {"x": ["y", "a"], "y": ["x", "b"], "z": ["y"]}

    def ask(name: str) -> int:
        def work() -> int:
            counted[name] += 1
            if name in files:
                database.note(name, str(files[name]))
                return files[name] // 2
            return max(map(ask, graph[name]))

        return database.get((name,), work, 0)

    assert ask("z") == 1
    counted.clear()
    files["a"] = 2
    database.changed(lambda leaf: str(files[leaf[0]]) != leaf[1])
    assert ask("z") == 1
    assert counted == {"a": 1}
    files["a"], files["b"] = 1, 5
    database.changed(lambda leaf: str(files[leaf[0]]) != leaf[1])
    assert ask("z") == 2
    files["b"] = 0
    database.changed(lambda leaf: str(files[leaf[0]]) != leaf[1])
    assert ask("z") == 0  # nothing that only they say of each other stays


def test_nothing_is_worked_out_anew_for_a_change_that_says_the_same() -> None:
    world = World(3, 25)
    world.all()
    world.counted.clear()
    for one in world.files:
        world.files[one] += 1
    world.changed()
    world.all()
    assert not world.counted


def test_a_change_costs_what_was_made_of_it_only() -> None:
    asked: list[str] = []
    files = {"a": "1", "b": "2"}
    database = Database(lambda key: key)

    def known(database: Database, name: str) -> str:
        def work() -> str:
            asked.append(name)
            if name in files:
                database.note(name, files[name])
                return files[name]
            return "".join(known(database, one) for one in name)

        return database.get((name,), work, "")

    database = Database(lambda key: key, noting=True)
    assert [known(database, one) for one in ("ab", "bb", "aa")] == ["12", "22", "11"]
    assert sorted(asked) == ["a", "aa", "ab", "b", "bb"]
    assert database.leaves(("bb",)) == {("b", "2")}
    assert database.leaves(("ab",)) == {("a", "1"), ("b", "2")}
    asked.clear()
    files["a"] = "3"
    database.changed(lambda leaf: files[leaf[0]] != leaf[1])
    assert [known(database, one) for one in ("ab", "bb", "aa")] == ["32", "22", "33"]
    assert sorted(asked) == ["a", "aa", "ab"]


def asking(graph: dict[str, Callable[[Callable[[str], int]], int]]) -> tuple[Callable[[str], int], Counter[str]]:
    """Who answers questions that are told by functions, and how often each was worked out."""
    database = Database(lambda key: key)
    counted: Counter[str] = Counter()

    def ask(name: str) -> int:
        def work() -> int:
            counted[name] += 1
            return graph[name](ask)

        return database.get((name,), work, 0)

    return ask, counted


def test_without_circles_each_answer_is_worked_out_once() -> None:
    ask, counted = asking(
        {"a": lambda ask: ask("b") + ask("c"), "b": lambda ask: ask("c") + ask("c"), "c": lambda ask: 1}
    )
    assert ask("a") == 3
    assert counted == {"a": 1, "b": 1, "c": 1}


def test_a_chain_has_no_end_that_matters() -> None:
    def before(number: int) -> Callable[[Callable[[str], int]], int]:
        return lambda ask: ask(str(number - 1)) + 1 if number else 0

    ask, counted = asking({str(number): before(number) for number in range(150)})
    assert ask("149") == 149
    assert set(counted.values()) == {1}


def test_a_circle_is_answered_with_what_goes_round_in_it() -> None:
    graph = {
        "even": lambda ask: max(ask("odd"), 3),
        "odd": lambda ask: max(ask("other"), ask("even")),
        "other": lambda ask: ask("even"),
        "who asks": lambda ask: ask("odd") + 1,
    }
    for first in graph:
        ask, _ = asking(graph)
        ask(first)
        assert [ask(name) for name in graph] == [3, 3, 3, 4]


def test_a_circle_that_does_not_rest_is_unknown_and_what_rests_in_it_is_not() -> None:
    graph = {
        "grows": lambda ask: ask("grows") + 1,
        "steady": lambda ask: 5 if ask("grows") >= 0 and ask("steady") >= 0 else 6,
        "outside": lambda ask: ask("grows") + ask("steady"),
    }
    for first in graph:
        ask, counted = asking(graph)
        ask(first)
        assert [ask(name) for name in graph] == [0, 5, 5]
        assert counted["grows"] <= ROUNDS + 1


def test_what_fails_is_asked_again_and_nothing_provisional_is_kept() -> None:
    fails = [True]

    def other(ask: Callable[[str], int]) -> int:
        told = ask("first")
        if fails[0]:
            raise ValueError("no")
        return max(told, 2)

    ask, counted = asking({"first": lambda ask: ask("other") + 0, "other": other, "third": lambda ask: 7})
    for name in ("first", "other", "first"):
        with pytest.raises(ValueError, match="no"):
            ask(name)
        assert ask("third") == 7
    fails[0] = False
    assert [ask("first"), ask("other")] == [2, 2]
    assert counted["third"] == 1


def test_too_little_stack_leaves_no_trace() -> None:
    deep = 3 * sys.getrecursionlimit()

    def before(number: int) -> Callable[[Callable[[str], int]], int]:
        return lambda ask: ask(str((number - 1) % deep)) if number % deep else max(ask(str(deep - 1)), 1)

    ask, _ = asking({str(number): before(number) for number in range(deep)})
    with pytest.raises(RecursionError):
        ask("0")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * deep)
    try:
        assert ask("0") == 1
    finally:
        sys.setrecursionlimit(limit)


def test_circles_are_solved_in_a_number_of_steps_that_does_not_run_away() -> None:
    """Every question asks every other one: the worst that there is."""
    size = 20
    names = [f"{number:02}" for number in range(size)]
    graph = {name: lambda ask, own=name: max([int(own), *map(ask, names)]) for name in names}
    ask, counted = asking(graph)  # type: ignore[arg-type]
    assert {ask(name) for name in names} == {size - 1}
    assert counted.total() < 3 * size * size


def test_an_answer_hangs_on_what_another_database_has_read_for_a_part_of_it() -> None:
    database = Database(lambda key: key, noting=True)
    database.linked(("near",), lambda: database.note("a", "1"))

    def found() -> int:
        for key in ("near", "far"):
            database.use((key,), Depends.on([("b", "2")]))
        return 3

    assert database.get(("all",), found, 0) == 3
    assert database.leaves(("all",)) == {("a", "1"), ("b", "2")}
