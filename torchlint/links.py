"""What the cached results of a project hang on in its other files, and which of them still stand when some have changed.

Kept beside the results: for each file what its result hangs on, the answers to the questions about the whole project with
what they hang on, and of each file the text of its imports and the names it gives to functions and attributes, so that no
file that is as it was has to be read again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

from . import regions, steps
from .config import Settings
from .dependencies import IN_FILE, Answer, Atom, Recording
from .dispatch import last_word
from .project import read
from .rule import load
from .site import Analysis
from .stamp import digest, encoded

INDEXED = frozenset(("steps", "regions", "training", "options", "renames"))
"""Kinds of things that are known of the whole project only."""


@dataclasses.dataclass(frozen=True)
class Links:
    """What was known of a project when its results were kept."""

    hangs_on: Mapping[str, tuple[Atom, ...]]
    answers: Mapping[tuple[str, str], Answer]
    import_texts: Mapping[str, bytes]
    own_words: Mapping[str, frozenset[bytes]]


class Linked:
    """A project as it is now, linked anew with the help of what was known of it before."""

    def __init__(self, before: Links, changed: Collection[str], paths: Collection[str], settings: Settings) -> None:
        """`changed` are the files that are new, gone or other ones, `paths` all that there are now."""
        self._before = before
        self._known: dict[Atom, bool] = {}
        self._changed = frozenset(changed)
        self._settings = settings
        same = [path for path in paths if path not in self._changed]
        self.project = Recording(
            {path: read(path) for path in paths},
            {path: before.import_texts[path] for path in same if path in before.import_texts},
            {path: before.own_words[path] for path in same if path in before.own_words},
        )
        self.project.answers.update(
            (name, one)
            for name, one in before.answers.items()
            if INDEXED.isdisjoint(atom[0] for atom in one.hangs_on) and self._stand(one.hangs_on)
        )
        self._analysis = Analysis(self.project, settings)

    def stands(self, path: str) -> bool:
        """Whether what was said of a file would be said again."""
        hangs_on = self._before.hangs_on.get(path)
        return path not in self._changed and hangs_on is not None and self._stand(hangs_on)

    def hangs_on(self, path: str) -> tuple[Atom, ...]:
        """What that hangs on, as far as that is known."""
        return self._before.hangs_on.get(path, (("all", "", "never"),))

    def _stand(self, atoms: Iterable[Atom]) -> bool:
        return not any(map(self._is_other, atoms))

    def _is_other(self, atom: Atom) -> bool:
        """Whether a thing is another one than it was."""
        known = self._known.get(atom)
        if known is None:
            known = self._known[atom] = self._now(atom) != atom[-1]
        return known

    def _now(self, atom: Atom) -> str | None:
        """How a thing is now, as an atom says it in its last part."""
        kind, path = atom[0], atom[1]
        if kind == "all":
            return None if self._changed else ""
        if kind == "text":
            return path if path not in self._changed else None
        if kind in INDEXED:
            return self._index.mark(kind, path)
        if kind in IN_FILE:
            return self.project.now(atom) if path in self._changed else atom[-1]
        if kind == "callers":
            return self.project.callers_after(atom, self._changed)
        return self.project.now(atom)

    @cached_property
    def _index(self) -> Index:
        return Index(self._analysis, self._settings)


class Index:
    """What is known of the whole project, as far as one file is concerned."""

    def __init__(self, analysis: Analysis, settings: Settings) -> None:
        self._analysis = analysis
        self._settings = settings

    def mark(self, kind: str, path: str) -> str:
        """What stands for it."""
        if kind in ("steps", "regions"):
            return (self._steps if kind == "steps" else self._regions).get(path, "")
        known: str = getattr(self, f"_{kind}")
        return known

    @cached_property
    def _steps(self) -> dict[str, str]:
        index = self._analysis.steps.index
        return _by_path([*index.loops.items(), *index.functions.items()])

    @cached_property
    def _regions(self) -> dict[str, str]:
        return _by_path(self._analysis.regions.index.functions.items())

    @cached_property
    def _training(self) -> str:
        return _mark(sorted(self._analysis.steps.index.training))

    @cached_property
    def _options(self) -> str:
        return _mark(sorted(self._analysis.regions.options))

    @cached_property
    def _renames(self) -> str:
        """The other names that imports give to what rules look for."""
        words = {"compile", *(word for rule in load().values() for word in map(last_word, rule.on))}
        renames = self._analysis.project.renames
        return _mark(sorted((alias, sorted(names & words)) for alias, names in renames.items() if names & words))


def _by_path(items: Iterable[tuple[tuple[str, int, int], object]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for place, what in items:
        found.setdefault(place[0], []).append(repr((place, what)))
    return {path: _mark(texts) for path, texts in found.items()}


def _mark(what: object) -> str:
    return digest(encoded(repr(what))).hex()


def noted(
    project: Recording,
    settings: Settings,
    hangs_on: Mapping[str, tuple[Atom, ...]],
    kept: Mapping[str, tuple[Atom, ...]],
) -> Links:
    """What is known of a project now that it was linted; `kept` is what known results hang on, as it was kept."""
    index = Index(Analysis(project, settings), settings)

    def whole(path: str, atoms: Iterable[Atom]) -> tuple[Atom, ...]:
        always = (("steps", path), ("regions", path), ("renames",))
        return tuple({_complete(atom, index): None for atom in (*always, *atoms)})

    linked = {path: whole(path, atoms) for path, atoms in hangs_on.items()}
    answers = {
        name: Answer(one.answer, tuple(_complete(atom, index) for atom in one.hangs_on))
        for name, one in project.answers.items()
        if name in project.used
    }
    paths = list(project.paths)
    return Links(
        {**kept, **linked},
        answers,
        {path: project.import_text(path) for path in paths},
        {path: project.own_words(path) for path in paths},
    )


def _complete(atom: Atom, index: Index) -> Atom:
    """An atom with how things are, where only the whole project knows that."""
    if atom[0] == "text" and len(atom) == 2:
        return ("text", atom[1], atom[1])
    if atom[0] == "all" and len(atom) == 1:
        return ("all", "", "")
    if atom[0] in INDEXED and len(atom) < 3:
        path = atom[1] if len(atom) > 1 else ""
        return (atom[0], path, index.mark(atom[0], path))
    return atom


# For JSON


def packed(links: Links) -> Any:
    """The links as plain data, each atom once."""
    numbers: dict[Atom, int] = {}

    def number(atoms: Iterable[Atom]) -> list[int]:
        return [numbers.setdefault(atom, len(numbers)) for atom in atoms]

    hangs_on = {path: number(atoms) for path, atoms in links.hangs_on.items()}
    answers = [[*name, _plain(one.answer), number(one.hangs_on)] for name, one in links.answers.items()]
    return {
        "atoms": list(numbers),
        "hangs on": hangs_on,
        "answers": answers,
        "imports": {path: text.decode("latin-1") for path, text in links.import_texts.items()},
        "words": {path: b" ".join(sorted(words)).decode("latin-1") for path, words in links.own_words.items()},
    }


def unpacked(data: Any) -> Links | None:
    """The links that plain data stands for; None where it stands for none."""
    try:
        atoms = [_atom(parts) for parts in data["atoms"]]
        return Links(
            {path: tuple(atoms[i] for i in numbers) for path, numbers in data["hangs on"].items()},
            {
                (question, key): Answer(_answer(answer), tuple(atoms[i] for i in numbers))
                for question, key, answer, numbers in data["answers"]
            },
            {path: text.encode("latin-1") for path, text in data["imports"].items()},
            {path: frozenset(text.encode("latin-1").split()) for path, text in data["words"].items()},
        )
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None


_LENGTHS = {
    "callers": 7,
    "stores": 5,
    **dict.fromkeys((*INDEXED, "all", "text", "stem", "importers", "word", "parses"), 3),
}


def _atom(parts: Any) -> Atom:
    atom = tuple(parts)
    if len(atom) != _LENGTHS.get(atom[0], 4) or not all(type(part) is str for part in atom):
        raise ValueError(parts)
    return atom


def _plain(answer: Any) -> Any:
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        return {type(answer).__name__: [_plain(getattr(answer, one.name)) for one in dataclasses.fields(answer)]}
    return [_plain(part) for part in answer] if isinstance(answer, list | tuple) else answer


def _answer(data: Any) -> Any:
    if isinstance(data, list):
        return tuple(map(_answer, data))
    if isinstance(data, dict):
        ((name, parts),) = data.items()
        kind: Callable[..., Any] = _KINDS[name]
        return kind(*map(_answer, parts))
    return data


_KINDS = {
    kind.__name__: kind
    for module in (steps, regions)
    for kind in vars(module).values()
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module.__name__
}
