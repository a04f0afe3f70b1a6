"""Answers that stand after a change where nothing they were made of came out different: early cutoff.

`Database.changed` forgets all that was made of a thing that is another one now. Here only what read the thing itself is
forgotten; what was made of that is doubted. When somebody asks for a doubted answer, those that it was made of are seen to
first, and worked out again where they have to be. If all of them are what they were, so is the answer, and nobody works it
out. (As in Salsa and Bazel's Skyframe, "verified at" and "changed at".)

- Answers that lead to one another stand together or not at all.
- What is asked for in the middle of another question is not looked into: it is worked out anew if it is doubted. So nothing
  that is doubted is ever used, and circles are met as in a database that knows nothing.
- Of each value of a function (`Parts`) it is known by itself what it was made of, since all values of a function together
  are made of almost anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from .circles import in_order
from .closures import Leaf
from .database import _OPEN, Among, Database, Key, Node, Parts, _all, _Solving, _subject

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
OLD = 50
"""So many changes after it was asked for last, a doubted answer is forgotten."""


class Answer(Node):
    """An answer that may be doubted."""

    __slots__ = ("__weakref__", "before", "changed", "circle", "doubted", "initial", "key", "past", "verified", "work")

    def __init__(self, key: Key) -> None:
        super().__init__(noting=True)
        self.key = key
        self.work: Callable[[], Any] | None = None
        """How it is worked out; None where only who asks for it knows that."""
        self.initial: Any = None
        self.before: Any = _OPEN
        """What it was before it was doubted."""
        self.doubted = False
        self.circle: tuple[Answer, ...] = ()
        """Those that it was answered together with."""
        self.past: tuple[Node, ...] = ()
        """What it was made of before it was forgotten."""
        self.verified = 0
        """The revision in which it was last known to stand."""
        self.changed = 0
        """The revision in which it became what it is."""

    def doubt(self) -> None:
        """It may be another one."""
        if not self.doubted and self.value is not _OPEN:
            self.before, self.value, self.doubted = self.value, _OPEN, True

    def forget(self) -> None:
        """It has to be worked out anew."""
        if self.value is not _OPEN:
            self.before = self.value
        self.value, self.doubted, self.past = _OPEN, False, tuple(self.parts)
        self.leaves, self.parts = set(), set()
        circle, self.circle = self.circle, ()
        for one in circle:
            one.forget()

    def settle(self, revision: int) -> None:
        """It was worked out in a revision."""
        if self.before is _OPEN or not _is_same(self.before, self.value):
            self.changed = revision
        self.before, self.past, self.verified = _OPEN, (), revision


def _is_same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - what can't be compared is another one
        return False


class Incremental(Database):
    """A database that is asked again and again between changes."""

    def __init__(self, place: Callable[[Key], Any]) -> None:
        super().__init__(place, noting=True)
        self._nodes: dict[Key, Answer]  # type: ignore[assignment]
        self._linked: dict[Key, Answer]  # type: ignore[assignment]
        self.revision = 1
        self._caches: WeakSet[_Parts] = WeakSet()
        self._settled: dict[Answer, None] = {}
        """Those that were worked out since the last change."""
        self._about: dict[Any, list[Key]] = {}
        """The keys of answers by what they are about first, those that are forgotten since among them."""
        self._readers: dict[str, dict[str, dict[Leaf, set[Answer | _Parts]]]] = {}
        """What was made of a thing that was read, or was so once, by kind and by what the thing is about."""
        self._makes: dict[Node, set[Answer | _Parts]] = {}
        """What was made of an answer, or was so once."""

    def parts(self) -> Parts:
        found = _Parts(self)
        self._caches.add(found)
        return found

    def memo(self) -> dict[Any, Any]:
        return _Nothing()

    def _node(self, key: Key) -> Answer:
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Answer(key)
            self._note_subject(key)
        return node

    @property
    def is_free(self) -> bool:
        """Whether no question is being answered."""
        return not self._base and not self._circles

    def _ask(self, key: Key, work: Callable[[], T], initial: T) -> T:
        node = self._node(key)
        if node.doubted:
            self._look_into(node)
        elif node.past and self.is_free:
            self._look_back(node)
        if node.value is not _OPEN:
            if self.here is not None:
                self.here.parts.add(node)
            known: T = node.value
            return known
        node.work, node.initial = work, initial
        value = super()._ask(key, work, initial)
        if node.value is not _OPEN and node.verified != self.revision:
            self._take(node)
        return value

    def _note_subject(self, key: Key) -> None:
        self._about.setdefault(key[1] if len(key) > 1 else None, []).append(key)

    def _take(self, node: Answer) -> None:
        node.settle(self.revision)
        self._settled[node] = None

    def _solved(self, values: dict[Key, Any]) -> None:
        super()._solved(values)
        circle = tuple(map(self._node, values))
        for one, other in zip(circle, (*circle[1:], circle[0]), strict=True):
            self._take(one)
            one.circle = circle
            one.parts.add(other)

    # Answers that are kept elsewhere

    def linked(self, key: Key, answer: Callable[[], T]) -> T:
        node = self._linked.get(key)
        if node is None:
            node = self._linked[key] = Answer(key)
        if node.value is _OPEN:
            node.forget()
        here, quiet = self.here, self.quiet
        if here is not None:
            here.parts.add(node)
        self.here, self.quiet = node, False
        try:
            value = node.value = answer()
        finally:
            self.here, self.quiet = here, quiet
        if node.verified != self.revision:
            node.settle(self.revision)
        self._settled[node] = None
        return value

    def asked_again(self, key: Key, ask: Callable[[], None]) -> None:
        """Told how an answer that is kept elsewhere is asked for again, by `linked`."""
        self._linked[key].work = ask

    def may_stand(self, key: Key) -> bool:
        """Whether it is known what an answer that is kept elsewhere was made of, and it need not be worked out anew."""
        node = self._linked.get(key)
        return node is not None and (node.doubted or node.value is not _OPEN)

    def noted(self, node: Node, answer: Callable[[], T]) -> T:
        """What is asked of the parts of answers counts for who asks."""
        assert isinstance(node, _Parts)
        quiet, self.quiet = self.quiet, False
        try:
            return answer()
        finally:
            self.quiet = quiet

    def __contains__(self, key: Key) -> bool:
        """Whether the answer of a key stands."""
        node = self._nodes.get(key) or self._linked.get(key)
        if node is not None and node.doubted:
            self._look_into(node)
        return node is not None and node.value is not _OPEN

    # Doubts

    def _look_into(self, node: Answer) -> None:
        """See whether a doubted answer stands; if not, or if that can't be seen to now, forget it."""
        if not self.is_free:
            node.forget()
            return
        here, quiet = self.here, self.quiet
        self.here, self.quiet = None, False
        try:
            for circle in in_order([node], _doubted):
                self._stand_together(circle)
        finally:
            self.here, self.quiet = here, quiet

    def _look_back(self, node: Answer) -> None:
        """See to what a forgotten answer was made of: it may ask for that again, in the middle of a question."""
        past, node.past = node.past, ()
        here, quiet = self.here, self.quiet
        self.here, self.quiet = None, False
        try:
            for one in past:
                assert isinstance(one, Answer)
                if one.doubted:
                    self._look_into(one)
                elif one.value is _OPEN and one.past and one.work is not None:
                    self._worked_out(one)
        finally:
            self.here, self.quiet = here, quiet

    def _worked_out(self, node: Answer) -> None:
        """Work an answer out where that can be done now."""
        assert node.work is not None
        with suppress(Exception):  # who asks for it next is told
            if self._linked.get(node.key) is node:
                node.work()
            else:
                self._ask(node.key, node.work, node.initial)

    def _stand_together(self, circle: list[Answer]) -> None:
        """See whether answers that lead to one another stand."""
        for one in circle:
            for part in tuple(one.parts):
                assert isinstance(part, Answer)
                if not part.doubted and part.value is not _OPEN and part.changed <= one.verified:
                    continue  # as most of them do
                if part not in circle and one.doubted and not self._is_as_it_was(part, one.verified):
                    for other in circle:
                        if other.doubted:
                            other.forget()
                    return
        stands = all(one.doubted for one in circle)  # else one was worked out for the sake of another question
        for one in circle:
            if one.doubted and stands:
                one.value, one.before, one.doubted, one.verified = one.before, _OPEN, False, self.revision
            elif one.doubted:
                one.forget()

    def stand(self, parts: Iterable[Node], since: int) -> bool:
        """Whether some answers are what they were in a revision."""
        here, quiet = self.here, self.quiet
        self.here, self.quiet = None, False
        try:
            return all(self._is_as_it_was(part, since) for part in parts)
        finally:
            self.here, self.quiet = here, quiet

    def _is_as_it_was(self, part: Node, since: int) -> bool:
        assert isinstance(part, Answer)
        if part.doubted:
            self._look_into(part)
        if part.value is _OPEN:
            if part.work is None:
                return False
            self._worked_out(part)
            if part.value is _OPEN:
                return False
        return part.changed <= since

    # Changes

    def _read(self, among: Among) -> list[Leaf]:
        """What was read that may be another thing."""
        found: list[Leaf] = []
        for kind, by_subject in self._readers.items():
            subjects = among(kind)
            some = by_subject.values() if subjects is None else (by_subject.get(one, {}) for one in subjects)
            found += chain.from_iterable(some)
        return found

    def changed(
        self, is_other: Callable[[Leaf], bool], more: Iterable[Node] = (), among: Among = lambda kind: None
    ) -> set[Node]:
        """Doubt the answers for which something was read that is another one now; tells which these were.

        `among` tells of a kind of things which of them may be others: those about some subjects, or all.
        """
        self._index()
        others = set(filter(is_other, self._read(among)))
        if not others:
            return set()
        forgotten: set[Answer] = set()
        caches: set[_Parts] = set()
        for leaf in others:
            for reader in self._readers[leaf[0]][_subject(leaf)].pop(leaf):
                if isinstance(reader, _Parts):
                    caches.add(reader)
                elif leaf in reader.leaves:
                    forgotten.add(reader)
        stale: set[Node] = set(forgotten)
        todo: list[Node] = list(forgotten)
        while todo:
            part = todo.pop()
            for made in self._makes.get(part, ()):
                if isinstance(made, _Parts):
                    caches.add(made)
                elif made not in stale and part in made.parts:
                    stale.add(made)
                    todo.append(made)
        for cache in caches:
            cache.doubt(others, stale, self.revision)
        self.revision += 1
        for node in stale:
            assert isinstance(node, Answer)
            if node in forgotten:
                node.forget()
            else:
                node.doubt()
        if self.revision % OLD == 0:
            self._clean()
        return stale

    def _index(self) -> None:
        """Take in what the answers of late were made of."""
        for node in self._settled:
            self.index(node, node)
        self._settled.clear()

    def index(self, own: Answer | _Parts, made: Node | _Made) -> None:
        """Know of an answer, or a part of answers, what it was made of."""
        for leaf in made.leaves:
            subjects = self._readers.setdefault(leaf[0], {})
            subjects.setdefault(_subject(leaf), {}).setdefault(leaf, set()).add(own)
        makes = self._makes
        for part in made.parts:
            known = makes.get(part)
            if known is None:
                makes[part] = {own}
            else:
                known.add(own)

    def _clean(self) -> None:
        """Forget doubted answers that nobody asks for, and what was made of what once."""
        old = self.revision - OLD
        for nodes in (self._nodes, self._linked):
            for key in [key for key, node in nodes.items() if node.value is _OPEN and node.verified < old]:
                nodes.pop(key).work = None
        self._readers, self._makes, self._about = {}, {}, {}
        for key in self._nodes:
            self._note_subject(key)
        for node in _all((*self._nodes.values(), *self._linked.values())):
            assert isinstance(node, Answer)
            self.index(node, node)
        for cache in self._caches:
            for made in cache.made:
                self.index(cache, made)

    def forget(self, is_stale: Callable[[Key], bool]) -> None:
        for key in [key for key in self._nodes if is_stale(key)]:
            self._nodes.pop(key).work = None
        self.forget_linked(is_stale)

    def forget_about(self, owners: Iterable[Any], is_stale: Callable[[Key], bool]) -> None:
        """Forget the answers of some keys that are about some things first."""
        for owner in owners:
            keys = self._about.get(owner, [])
            for key in filter(is_stale, keys):
                node = self._nodes.pop(key, None)
                if node is not None:
                    node.work = None
            keys[:] = [key for key in keys if key in self._nodes]

    def forget_linked(self, is_stale: Callable[[Key], bool]) -> None:
        """Forget what some answers were made of that are kept elsewhere."""
        for key in [key for key in self._linked if is_stale(key)]:
            self._linked.pop(key).work = None


def _doubted(node: Answer) -> Iterator[Answer]:
    """The doubted ones of those that an answer was made of."""
    for part in node.parts:
        assert isinstance(part, Answer)
        if part.doubted:
            yield part


class _Nothing(dict[Any, Any]):
    """Keeps nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


class _Made(NamedTuple):
    """What a part was made of."""

    leaves: frozenset[Leaf]
    parts: frozenset[Node]


class _Parts(Parts):
    """Parts of answers of each of which it is known what it was made of."""

    __slots__ = ("__weakref__", "_doubted", "_made", "_same", "_values")

    def __init__(self, database: Incremental) -> None:
        super().__init__(database)
        self._values: dict[Any, Any] = {}
        """Those that were made of something; `known` are the others."""
        self._made: dict[Any, _Made] = {}
        self._same: dict[_Made, _Made] = {}
        """What parts were made of, each once."""
        self._doubted: dict[Any, tuple[Any, _Made, int]] = {}
        """Those that may be others now, what they were made of, and when they stood."""

    @property
    def made(self) -> Iterable[_Made]:
        """What they were made of."""
        return self._same

    def of(self, key: K, work: Callable[[K], T]) -> T:
        known = self.known.get(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        database = self._database
        known = self._values.get(key)
        if known is None and self._doubted:
            known = self._standing(key)
        if known is not None:
            self._tell(self._made[key])
            return known  # type: ignore[no-any-return]
        circle = database.circle
        if circle is not None and (known := self.again(circle, key)) is not None:
            database.provisional = True
            self._tell_read(key, known)
            return known  # type: ignore[no-any-return]
        before, database.provisional = database.provisional, False
        here = database.here
        database.here = own = Node(noting=True)
        try:
            answer = database.traced(self, key, lambda: work(key)) if circle is not None else work(key)
        finally:
            database.here = here
            if here is not None:
                here.leaves |= own.leaves
                here.parts |= own.parts
        self._made.pop(key, None)
        if own.leaves or own.parts:
            made = _Made(frozenset(own.leaves), frozenset(own.parts))
            if made not in self._same:
                self._same[made] = made
                database.index(self, made)  # type: ignore[attr-defined]
            self._made[key] = self._same[made]
        if circle is not None and database.provisional:
            circle.parts[self, key] = answer
            self._tell_read(key, answer)
        else:
            database.provisional = before
            self.keep(key, answer)
        return answer

    def again(self, circle: _Solving, key: Any) -> Any:
        found = self._values.get(key)
        if found is None:
            found = super().again(circle, key)
        if found is not None and key in self._made:
            self._tell(self._made[key])
        return found

    def keep(self, key: Any, value: Any) -> None:
        (self._values if key in self._made else self.known)[key] = value

    def _standing(self, key: Any) -> Any:
        """A doubted part that stands, None where there is none."""
        database = self._database
        assert isinstance(database, Incremental)
        found = self._doubted.pop(key, None)
        if found is None or not database.is_free or not database.stand(found[1].parts, found[2]):
            return None
        self._made[key] = found[1]
        self._values[key] = found[0]
        return found[0]

    def _tell(self, made: _Made) -> None:
        here = self._database.here
        if here is not None:
            here.leaves |= made.leaves
            here.parts |= made.parts

    def doubt(self, others: set[Leaf], stale: set[Node], revision: int) -> None:
        """Doubt those for which something was read that is another one now, or that were made of doubted answers."""
        # By identity: each is kept once, and to hash them all takes longer than all else.
        gone = {id(made): made for made in self._same if not others.isdisjoint(made.leaves)}
        doubted = {id(made) for made in self._same if not stale.isdisjoint(made.parts)} - gone.keys()
        if not gone and not doubted:
            return
        touched = gone.keys() | doubted
        for key in [key for key, made in self._made.items() if id(made) in touched]:
            made, value = self._made.pop(key), self._values.pop(key, None)
            if id(made) in doubted and value is not None:
                self._doubted[key] = value, made, revision
        if gone:
            self._doubted = {key: one for key, one in self._doubted.items() if id(one[1]) not in gone}
        for made in gone.values():
            del self._same[made]

    def clear(self) -> None:
        super().clear()
        for kept in (self._values, self._made, self._same, self._doubted):
            kept.clear()
