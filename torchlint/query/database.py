"""Answers by key: each is worked out once, and knows what it was made of.

Whoever wants an answer says its key, how it is worked out, and what stands for it where it is asked for by itself. What is
asked meanwhile is noted by the database, so that after a change of what was read (`changed`) only that is worked out anew
which was made of it.

Questions may lead back to themselves. Those that do are a circle, and are answered together: all of them begin with what
stands for them, and are worked out again until nothing changes. Which answers they get does not depend on what was asked
first:

- An answer that is being worked out waits for one other at a time. So the circle that is met first is the same from
  wherever one comes to it, and nothing that is not known for good was used before it was met.
- What is met while a circle is solved is answered by itself, if it can be. If it leads back into the circle, it is a part
  of it, and the circle is begun anew with it.
- A circle is worked out in the order of its keys' places, whatever was met first.
- Of each of its answers, and of the parts of these, it is remembered what was read of the circle for it. Where all of that
  would be read again, it is what it was; reading it again comes first, in the order in which it was read, so that what is
  worked out on the way, and when, is what it would be otherwise.
- Answers that were made of answers that may still change are not kept.

A circle that does not come to rest after some rounds leaves unknown what still changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ..system.fault import Passing
from .closures import NOTHING, Depends, Leaf, closures

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Key = Any
"""A tuple: what is asked, and about what."""
Among = Callable[[str], Iterable[str] | None]
ROUNDS = 8
"""How often a circle is worked out until what changes still is unknown."""
_OPEN: Any = object()
"""In place of an answer that is not known."""
_NONE: set[Any] = set()
"""What answers were made of, where that is not noted."""


class Node:
    """An answer, what was read for it, and the answers that it was made of."""

    __slots__ = ("leaves", "parts", "value")

    def __init__(self, *, noting: bool) -> None:
        self.value: Any = _OPEN
        self.leaves: set[Leaf] = set() if noting else _NONE
        self.parts: set[Node] = set() if noting else _NONE


class _Asked:
    """How an answer is worked out, and what stands for it meanwhile."""

    __slots__ = ("initial", "work")

    def __init__(self, work: Callable[[], Any], initial: Any) -> None:
        self.work = work
        self.initial = initial


class _Circle(Passing):
    """Questions lead back to the first of them. Not an Exception: nobody on the way may swallow it."""

    def __init__(self, first: _Asked, asked: dict[Key, _Asked]) -> None:
        self.first = first
        self.asked = asked


class _Joins(Passing):
    """Questions lead back into a circle that is being solved."""

    def __init__(self, circle: _Solving, asked: dict[Key, _Asked]) -> None:
        self.circle = circle
        self.asked = asked


class _Known(Passing):
    """A question was answered with others, while it was being answered by itself further out."""

    def __init__(self, asked: _Asked) -> None:
        self.asked = asked


class _Solving:
    """A circle that is being solved."""

    __slots__ = ("asked", "begun", "open", "others", "parts", "values")

    def __init__(self, asked: dict[Key, _Asked]) -> None:
        self.asked = asked
        self.values: dict[Key, Any] = {}
        """The answers as far as they are known."""
        self.begun: set[Key] = set()
        """What was worked out in this round, or is being so."""
        self.parts: dict[tuple[Parts, Any], Any] = {}
        """The parts of answers that hold in this round."""
        self.others: set[tuple[Parts, Any]] = set()
        """Parts that were seen to be others now, and are to be worked out next.

        Meanwhile those who ask in the midst of that are told what was found in its course, as if nothing had been looked up.
        """
        self.open: dict[Key, _Asked] = {}
        """Other questions that are being answered, each asked by the one before."""


class _Trace(NamedTuple):
    """What was worked out in a circle, and what was read of the circle for that, in order: who reads the same finds the same."""

    value: Any
    reads: list[tuple[Parts | None, Any, Any]]
    """Parts of answers with their keys, or answers (None and a key), and what they were."""


class Database:
    """What was answered, by key."""

    def __init__(self, place: Callable[[Key], Any], *, noting: bool = False) -> None:
        """`place` is what the keys of a circle are ordered by; with `noting` answers know what they were made of."""
        self._place = place
        self.noting = noting
        self._nodes: dict[Key, Node] = {}
        self._linked: dict[Key, Node] = {}
        """Answers that are kept elsewhere."""
        self.here: Node | None = None
        """The answer that is being worked out, where that is noted."""
        self.quiet = False
        """Whether what is opened at present is noted otherwise."""
        self._base: dict[Key, _Asked] = {}
        """What is being answered outside of all circles, each asked by the one before."""
        self._open = self._base
        """What is being answered since the innermost circle was met, each asked by the one before."""
        self._circles: list[_Solving] = []
        """Those that are being solved, each for the sake of the one before."""
        self._circle_of: dict[Key, _Solving] = {}
        self.circle: _Solving | None = None
        """The innermost circle, while what works out one of its own answers is running."""
        self.provisional = False
        """Whether that has read another of its answers."""
        self.reads: list[tuple[Parts | None, Any, Any]] | None = None
        """What that has read of the circle, as far as it is to be known."""
        self._traces: dict[tuple[Parts | None, Any], _Trace] = {}
        """What was worked out since the outermost circle was met."""

    def parts(self) -> Parts:
        """A place for parts of answers."""
        return Parts(self)

    def memo(self) -> dict[Any, Any]:
        """A place for what is looked up again and again for the parts of answers."""
        return {}

    def get(self, key: Key, work: Callable[[], T], initial: T) -> T:
        """The answer of a key; `work` finds it at the first time."""
        node = self._nodes.get(key)
        if node is None or node.value is _OPEN:
            return self._ask(key, work, initial)
        if self.here is not None:
            self.here.parts.add(node)
        value: T = node.value
        return value

    def _ask(self, key: Key, work: Callable[[], T], initial: T) -> T:
        if key in self._circle_of:
            circle = self._circle_of[key]
            if circle is self.circle:
                known: T = self._of_circle(circle, key)
                return known
            raise _Joins(circle, self._since(circle))
        if key in self._open:
            keys = list(self._open)
            raise _Circle(self._open[key], {one: self._open[one] for one in keys[keys.index(key) :]})
        node = self._node(key)
        opened, outer, here, provisional = self._open, self.circle, self.here, self.provisional
        quiet, self.quiet = self.quiet, False
        reads, self.reads = self.reads, None
        asked = opened[key] = _Asked(work, initial)
        self.circle = None
        self.here = node if self.noting else None
        met: _Circle | None = None
        try:
            node.value = work()
        except _Circle as circle_:
            if circle_.first is not asked:
                raise
            met = circle_
        except _Known as known:
            if known.asked is not asked:
                raise
        finally:
            del opened[key]
            self._open, self.circle, self.here, self.provisional = opened, outer, here, provisional
            self.quiet, self.reads = quiet, reads
        if met is not None:
            self._solve(met.asked)
        if here is not None:
            here.parts.add(node)
        value: T = node.value
        return value

    def _node(self, key: Key) -> Node:
        if key not in self._nodes:
            self._nodes[key] = Node(noting=self.noting)
        return self._nodes[key]

    # Circles

    def _since(self, circle: _Solving) -> dict[Key, _Asked]:
        """What was asked since a circle was met, up to what leads back into it."""
        found: dict[Key, _Asked] = {}
        for inner in reversed(self._circles):
            found.update(inner.open)
            if inner is circle:
                break
            found.update(inner.asked)
        return found

    def _solve(self, asked: dict[Key, _Asked]) -> None:
        """Answer questions that lead to one another."""
        opened, outer, here, provisional = self._open, self.circle, self.here, self.provisional
        reads, self.reads = self.reads, None
        circle = _Solving(asked)
        self._circles.append(circle)
        self._open = circle.open
        try:
            self._joined(circle)
        finally:
            self._circles.pop()
            for key in circle.asked:
                self._circle_of.pop(key, None)
            self._open, self.circle, self.here, self.provisional = opened, outer, here, provisional
            self.reads = reads
            if not self._circles:
                self._traces.clear()
        self._solved(circle.values)
        for opened in (self._base, *(outer.open for outer in self._circles)):
            for key, one in opened.items():
                if key in circle.values:
                    raise _Known(one)

    def _solved(self, values: dict[Key, Any]) -> None:
        """Take the answers of a circle."""
        for key, value in values.items():
            self._node(key).value = value

    def _joined(self, circle: _Solving) -> None:
        """Solve a circle with all that turns out to be a part of it."""
        while True:
            self._circle_of.update(dict.fromkeys(circle.asked, circle))
            circle.values = {key: one.initial for key, one in circle.asked.items()}
            try:
                return self._settle(circle)
            except _Joins as joins:
                if joins.circle is not circle:
                    raise
                circle.asked = {**circle.asked, **joins.asked}

    def _settle(self, circle: _Solving) -> None:
        """Work all answers of a circle out until none changes any more."""
        keys = sorted(circle.asked, key=self._place)
        for _ in range(ROUNDS):
            before = dict(circle.values)
            circle.begun.clear()
            circle.parts.clear()
            circle.others.clear()
            for key in keys:
                self._of_circle(circle, key)
            if circle.values == before:
                for (parts, part), value in circle.parts.items():
                    parts.keep(part, value)
                return
        for key in keys:
            if circle.values[key] != before[key]:
                circle.values[key] = circle.asked[key].initial

    def _of_circle(self, circle: _Solving, key: Key) -> Any:
        """The answer of a circle as far as it is known in this round."""
        here = self.here
        node = self._node(key)
        if key not in circle.begun:
            circle.begun.add(key)
            outer, quiet = self.circle, self.quiet
            self.circle, self.here, self.quiet = circle, node if self.noting else None, False
            try:
                value = self.again(circle, None, key)
                circle.values[key] = value if value is not _OPEN else self.traced(None, key, circle.asked[key].work)
            finally:
                self.circle, self.here, self.quiet = outer, here, quiet
        self.provisional = True
        if here is not None:
            here.parts.add(node)
        value = circle.values[key]
        if self.reads is not None:
            self.reads.append((None, key, value))
        return value

    def traced(self, parts: Parts | None, key: Any, work: Callable[[], T]) -> T:
        """An answer of a circle, or a part of one, worked out; what is read of the circle for it is remembered."""
        outer, self.reads = self.reads, []
        try:
            value = work()
            self._traces[parts, key] = _Trace(value, self.reads)
        finally:
            self.reads = outer
        return value

    def again(self, circle: _Solving, parts: Parts | None, key: Any) -> Any:
        """What was worked out before, where all that was read for it would be read again; else what stands for no answer."""
        trace = self._traces.get((parts, key))
        if trace is None:
            return _OPEN
        if self._reads_again(circle, trace):
            return trace.value
        if self._traces.get((parts, key)) is trace:
            del self._traces[parts, key]
        return _OPEN

    def _reads_again(self, circle: _Solving, trace: _Trace) -> bool:
        """Whether all that was read is what it was; read in the order in which it was, as who works it out anew does."""
        outer, self.reads = self.reads, None
        try:
            for parts, key, value in trace.reads:
                if parts is not None:
                    found = parts.again(circle, key)
                    if found is None:
                        circle.others.add((parts, key))
                    if found is not value:
                        return False
                elif key not in circle.asked:
                    return False
                else:
                    now = self._of_circle(circle, key)
                    if now is not value and now != value:
                        return False
            return True
        finally:
            self.reads = outer

    # What answers are made of

    def note(self, *leaf: str) -> None:
        """Told what is read for the answer that is being worked out."""
        if self.here is not None:
            self.here.leaves.add(leaf)

    def open(self, *leaf: str) -> None:
        """Told of something that is opened, of which it may be noted otherwise what is read."""
        if self.here is not None and not self.quiet:
            self.here.leaves.add(leaf)

    def quietly(self, answer: Callable[[], T]) -> T:
        """An answer for which things are opened, of which it is noted otherwise what is read."""
        quiet, self.quiet = self.quiet, True
        try:
            return answer()
        finally:
            self.quiet = quiet

    def linked(self, key: Key, answer: Callable[[], T]) -> T:
        """An answer that is kept elsewhere; what is read and asked for it is noted by its key."""
        if not self.noting:
            return answer()
        node = self._linked.get(key)
        if node is None:
            node = self._linked[key] = Node(noting=True)
        return self.noted(node, answer)

    def use(self, key: Key, kept: Depends = NOTHING) -> None:
        """Told that an answer that is kept elsewhere is used for the one that is being worked out.

        `kept` is all that was read for it, where it was worked out by another database.
        """
        if self.here is None:
            return
        if key in self._linked:
            self.here.parts.add(self._linked[key])
        else:
            self.here.leaves.update(kept.leaves)

    def noted(self, node: Node, answer: Callable[[], T]) -> T:
        """An answer that is kept elsewhere; what is read and asked for it is noted in the node."""
        if not self.noting:
            return answer()
        here, quiet = self.here, self.quiet
        if here is not None:
            here.parts.add(node)
        self.here, self.quiet = node, False
        try:
            return answer()
        finally:
            self.here, self.quiet = here, quiet

    def apart(self, answer: Callable[[], T]) -> T:
        """An answer that does not belong to the one being worked out."""
        here, self.here = self.here, None
        try:
            return answer()
        finally:
            self.here = here

    def leaves(self, key: Key) -> frozenset[Leaf]:
        """All that was read for an answer, and for those that it was made of."""
        node = self._nodes.get(key) or self._linked.get(key)
        return leaves(node) if node is not None else frozenset()

    def closures(self, keys: Sequence[Key]) -> list[Depends]:
        """The same of several answers, of which some is known each."""
        return closures([self._nodes.get(key) or self._linked.get(key) or Node(noting=True) for key in keys])

    def changed(
        self, is_other: Callable[[Leaf], bool], more: Iterable[Node] = (), among: Among = lambda kind: None
    ) -> set[Node]:
        """Forget the answers for which something was read that is another one now; tells which these were.

        `more` are nodes that may be part of no answer yet. `among` tells of a kind of things which of them may be
        others: those about some subjects, None for all.
        """
        every = list(_all((*self._nodes.values(), *self._linked.values(), *more)))
        read = set[Leaf]().union(*(node.leaves for node in every))
        others = {leaf for leaf in read if _is_among(leaf, among(leaf[0])) and is_other(leaf)}
        todo = [node for node in every if not others.isdisjoint(node.leaves)]
        makes = defaultdict[Node, list[Node]](list)
        for node in every if todo else ():
            for part in node.parts:
                makes[part].append(node)
        stale = set(todo)
        while todo:
            new = set(makes.get(todo.pop(), ())) - stale
            stale |= new
            todo += new
        for nodes in (self._nodes, self._linked):
            for key in [key for key, node in nodes.items() if node in stale]:
                del nodes[key]
        for node in stale:
            if isinstance(node, Parts):
                node.clear()
        return stale

    def forget(self, is_stale: Callable[[Key], bool]) -> None:
        """Forget the answers of some keys, and what those were made of that are kept elsewhere."""
        for nodes in (self._nodes, self._linked):
            for key in [key for key in nodes if is_stale(key)]:
                del nodes[key]

    def __contains__(self, key: Key) -> bool:
        """Whether it is known what the answer of a key was made of."""
        return key in self._nodes or key in self._linked


class Parts(Node):
    """Parts of answers, such as the values in a function: too many and too small to be questions of their own.

    What is read and asked for any of them (see `Database.noted`) counts for whoever asks for one.
    """

    __slots__ = ("_database", "known")

    def __init__(self, database: Database) -> None:
        super().__init__(noting=database.noting)
        self._database = database
        self.known: dict[Any, Any] = {}
        """Those that hold for good."""

    def of(self, key: K, work: Callable[[K], T]) -> T:
        """The part of that key, which is never None; `work` finds it at the first time."""
        known = self.known.get(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        database = self._database
        if database.circle is None:
            answer = self.known[key] = work(key)
            return answer
        circle = database.circle
        found: T | None = self.again(circle, key)
        if found is not None:
            database.provisional = True
            self._tell_read(key, found)
            return found
        before, database.provisional = database.provisional, False
        answer = database.traced(self, key, lambda: work(key))
        if database.provisional:
            circle.parts[self, key] = answer
            self._tell_read(key, answer)
        else:
            self.known[key] = answer
            database.provisional = before
        return answer

    def again(self, circle: _Solving, key: Any) -> Any:
        """The part of that key, where it need not be worked out anew in a round of a circle; else None."""
        found = self.known.get(key)
        if (self, key) in circle.others:
            circle.others.discard((self, key))
            return None
        if found is None:
            found = circle.parts.get((self, key))
        if found is None:
            before = self._database.again(circle, self, key)
            if before is not _OPEN:
                found = circle.parts[self, key] = before
        return found

    def _tell_read(self, key: Any, value: Any) -> None:
        if self._database.reads is not None:
            self._database.reads.append((self, key, value))

    def keep(self, key: Any, value: Any) -> None:
        """Keep one that holds for good."""
        self.known[key] = value

    def clear(self) -> None:
        """Forget them."""
        self.known.clear()
        self.leaves.clear()
        self.parts.clear()


def leaves(*nodes: Node) -> frozenset[Leaf]:
    """All that was read for some answers."""
    return frozenset[Leaf]().union(*(node.leaves for node in _all(nodes)))  # sets keep the hashes of what they hold


def _subject(leaf: Leaf) -> str:
    """What a thing that was read is about."""
    return leaf[1] if len(leaf) > 1 else ""


def _is_among(leaf: Leaf, subjects: Iterable[str] | None) -> bool:
    return subjects is None or _subject(leaf) in subjects


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
    """Some nodes, and all that they were made of."""
    seen = set(nodes)
    todo = list(seen)
    while todo:
        node = todo.pop()
        yield node
        new = node.parts - seen
        seen |= new
        todo += new
