"""What the cached results of a project hang on in its other files, and which of them still stand when some have changed.

Kept beside the results: for each file what its result depends on, the answers to the questions about the whole project with
what they hang on, and of each file the text of its imports and the names it gives to functions and attributes, so that no
file that is as it was has to be read again.
"""

from __future__ import annotations

import dataclasses
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from operator import or_
from typing import Any

from ..lint.dispatch import last_word
from ..program import regions, step_index, stepping
from ..program.by_file import Told, columns_of, lines_of
from ..program.files import read
from ..program.noting import INDEXED, Answer, Atom
from ..program.places import LoopPlace, Place
from ..program.step_index import StepIndex
from ..query.closures import Depends, Renumbering, bits_of, chosen
from ..rule import load
from ..rule.analysis import Analysis
from ..settings.config import Settings
from ..settings.home import Home
from ..system.cached import cached_property
from ..system.stamp import digest, encoded
from .as_data import is_a
from .by_function import Key, Shown
from .dependencies import Recording

Bits = int
"""Of atoms in a table: the lowest bit is the first one's."""


@dataclasses.dataclass(frozen=True)
class Known:
    """The answer to a question about the whole project, and what it depends on."""

    answer: Any
    hangs_on: Bits


@dataclasses.dataclass(frozen=True)
class Links:
    """What was known of a project when its results were kept."""

    atoms: Sequence[Atom]
    hangs_on: Mapping[str, Bits]
    answers: Mapping[tuple[str, str], Known]
    paths: Sequence[str]
    told: Told
    """What files say by themselves."""
    functions: Mapping[Key, Known] = dataclasses.field(default_factory=dict)
    """What rules said of single functions."""


class Linked:
    """A project as it is now, linked anew with the help of what was known of it before."""

    def __init__(self, before: Links, changed: Collection[str], paths: Collection[str], settings: Settings) -> None:
        """`changed` are the files that are new, gone or other ones, `paths` all that there are now."""
        self._before = before
        self._changed = frozenset(changed)
        self._settings = settings
        self.project = Recording(
            {path: read(path) for path in paths},
            Home(str(settings.project)),
            before.told,
            self._changed,
        )
        self._analysis = Analysis(self.project, settings)
        # The table keeps its numbers, and things with them that nothing hangs on any more: they tell of files as they were once.
        known = (*before.answers.values(), *before.functions.values())
        used = reduce(or_, (*before.hangs_on.values(), *(one.hangs_on for one in known)), 0)
        atoms = chosen(enumerate(before.atoms), used)
        others = bits_of(n for n, atom in atoms if self.project.is_other(atom, self._changed))
        indexed = [n for n, atom in enumerate(before.atoms) if atom[0] in INDEXED]
        unknown = others | bits_of(indexed)
        self.project.answers.update(
            (name, Answer(known.answer, Depends(before.atoms, known.hangs_on)))
            for name, known in before.answers.items()
            if not unknown & known.hangs_on
        )
        index = Index(self._analysis, settings)
        self._others = others | bits_of(n for n in indexed if index.mark(*before.atoms[n][:2]) != before.atoms[n][2])

    def stands(self, path: str) -> bool:
        """Whether what was said of a file would be said again."""
        hangs_on = self._before.hangs_on.get(path)
        return path not in self._changed and hangs_on is not None and not self._others & hangs_on

    def hangs_on(self, path: str) -> Depends | None:
        """What the result of a file depends on; None where that is not known."""
        bits = self._before.hangs_on.get(path)
        return Depends(self._before.atoms, bits) if bits is not None else None

    @cached_property
    def functions(self) -> Mapping[Key, Shown]:
        """What rules would say again of single functions."""
        known = self._before.functions.items()
        atoms, others = self._before.atoms, self._others
        return {key: Shown(one.answer, Depends(atoms, one.hangs_on)) for key, one in known if not others & one.hangs_on}


class Index:
    """What is known of the whole project, as far as one file is concerned."""

    def __init__(self, analysis: Analysis, settings: Settings) -> None:
        self._analysis = analysis
        self._settings = settings

    def mark(self, kind: str, path: str = "") -> str:
        """The digest of one kind of what is known of the project."""
        if kind in ("steps", "regions"):
            return (self._steps if kind == "steps" else self._regions).get(path, "")
        known: str = getattr(self, f"_{kind}")
        return known

    def is_other(self, before: Index, atom: Atom) -> bool:
        """Whether a thing is another one than it was."""
        kind, analysis, known = atom[0], self._analysis, before._analysis
        if kind in ("steps", "training") and self.step_index is before.step_index:
            return False
        if kind == "regions" and analysis.regions.index is known.regions.index:
            return False
        if kind == "renames" and self.renames is before.renames:
            return False
        return self.mark(*atom) != before.mark(*atom)

    @cached_property
    def renames(self) -> Mapping[str, AbstractSet[str]]:
        """The other names that imports give to things."""
        return self._analysis.project.renames

    @cached_property
    def step_index(self) -> StepIndex:
        """What the project does on every step."""
        return self._analysis.steps.index

    @cached_property
    def _steps(self) -> dict[str, str]:
        index = self.step_index
        return _by_path([*index.loops.items(), *index.functions.items()])

    @cached_property
    def _regions(self) -> dict[str, str]:
        return _by_path(self._analysis.regions.index.functions.items())

    @cached_property
    def _training(self) -> str:
        return _mark(sorted(self.step_index.training))

    @cached_property
    def _options(self) -> str:
        return _mark(sorted(self._analysis.regions.options))

    @cached_property
    def _renames(self) -> str:
        """The other names that imports give to what rules look for."""
        words = {"compile", *(word for rule in load().values() for word in map(last_word, rule.on))}
        renames = self.renames.items()
        return _mark(sorted((alias, sorted(names & words)) for alias, names in renames if names & words))


def _by_path(items: Iterable[tuple[Place | LoopPlace, object]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for place, what in items:
        found.setdefault(place[0], []).append(repr((place, what)))
    return {path: _mark(texts) for path, texts in found.items()}


def _mark(what: object) -> str:
    return digest(encoded(repr(what))).hex()


def noted(
    project: Recording,
    settings: Settings,
    hangs_on: Mapping[str, Depends],
    kept: Mapping[str, Depends],
    functions: Mapping[Key, Shown] | None = None,
) -> Links:
    """What is known of a project now that it was linted; `kept` is what known results hang on, as it was kept.

    `functions` is what rules say of single functions, of those of other files as it was kept.
    """
    shown = _with_hangs_on(project, functions or {})
    index = Index(Analysis(project, settings), settings)
    of_files = {**hangs_on, **kept}
    own = {path: (("steps", path), ("regions", path), ("renames",)) for path in hangs_on.keys() - kept.keys()}
    used = {name: one for name, one in project.answers.items() if name in project.used}
    # Files of one process share a table, and so do the answers that were known: each thing in it is looked at once.
    every_one = [*of_files.values(), *(one.hangs_on for one in used.values()), *(one for _, one in shown.values())]
    tables = {id(one.things): one.things for one in every_one}
    read = dict.fromkeys(tables, 0)
    for one in every_one:
        read[id(one.things)] |= one.bits
    atoms = _still_good(kept, read)
    every: set[Atom] = {atom for of_one in own.values() for atom in of_one}
    every.update(*(chosen(things, read[table]) for table, things in tables.items() if things is not atoms))
    whole = {atom: _complete(atom, index) for atom in every}
    numbers = {atom: number for number, atom in enumerate(atoms)}
    for atom in sorted({*whole.values()} - numbers.keys()):
        numbers[atom] = len(numbers)
    number_of = {atom: numbers[one] for atom, one in whole.items()}
    shared = Counter(id(one.things) for one in every_one)
    rows = {
        table: Renumbering([number_of.get(thing, 0) for thing in things])
        for table, things in tables.items()
        if shared[table] > 1 and things is not atoms
    }

    def numbered(one: Depends) -> Bits:
        if one.things is atoms:
            return one.bits
        row = rows.get(id(one.things))
        return row.renumbered(one.bits) if row is not None else bits_of(number_of[atom] for atom in one.leaves)

    def with_own(path: str, one: Depends) -> Bits:
        return numbered(one) | bits_of(number_of[atom] for atom in own.get(path, ()))

    alike = sorted(of_files.items(), key=lambda item: item[1].bits.bit_count())
    bits = {path: with_own(path, one) for path, one in alike}
    said = {key: Known(told, numbered(one)) for key, (told, one) in shown.items()}
    for (path, *_), known_one in said.items():
        if path in hangs_on:
            bits[path] |= known_one.hangs_on
    linked = {path: bits[path] for path in of_files}
    _ = index.mark("regions", ""), index.mark("steps", "")
    known = {name: Known(one.answer, numbered(one.hangs_on)) for name, one in used.items()}
    return Links(list(numbers), linked, known, project.paths, project.told(), said)


def _with_hangs_on(project: Recording, functions: Mapping[Key, Shown]) -> dict[Key, tuple[Any, Depends]]:
    """What rules say of functions, each with what it depends on."""
    new = [key for key, one in functions.items() if one.hangs_on is None]
    found = dict(zip(new, project.all_hang_on([("shown", *key) for key in new]), strict=True))
    every = ((key, one.told, one.hangs_on or found[key]) for key, one in functions.items())
    return {key: (told, hangs_on) for key, told, hangs_on in every if hangs_on is not None}


def _still_good(kept: Mapping[str, Depends], read: Mapping[int, Bits]) -> Sequence[Atom]:
    """The table of what known results hang on, if most of it is of use still: its numbers stay, which saves to count anew."""
    atoms = next((one.things for one in kept.values()), ())
    return atoms if 4 * read.get(id(atoms), 0).bit_count() > 3 * len(atoms) else ()


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
    """The links as plain data."""
    width = _width(links.atoms)
    return {
        "atoms": links.atoms,
        "files": list(links.hangs_on),
        "hang on": _rows(links.hangs_on.values(), width),
        "answers": [[*name, _plain(one.answer)] for name, one in links.answers.items()],
        "answers hang on": _rows((one.hangs_on for one in links.answers.values()), width),
        "functions": [[*key, one.answer] for key, one in links.functions.items()],
        "functions hang on": _rows((one.hangs_on for one in links.functions.values()), width),
        "paths": links.paths,
        "told": columns_of(links.told, links.paths),
    }


def unpacked(data: Any) -> Links | None:
    """The links, read from plain data; None where that is not well formed."""
    try:
        atoms = [_atom(parts) for parts in data["atoms"]]
        bits = _bits(data["answers hang on"], len(data["answers"]), atoms)
        answers = {
            (question, key): Known(_answer(answer), one)
            for (question, key, answer), one in zip(data["answers"], bits, strict=True)
        }
        told = {name: lines_of(column, data["paths"]) for name, column in data["told"].items()}
        hangs_on = dict(zip(data["files"], _bits(data["hang on"], len(data["files"]), atoms), strict=True))
        bits = _bits(data["functions hang on"], len(data["functions"]), atoms)
        functions = {
            (is_a(str, path), is_a(str, qualname), is_a(int, number), is_a(str, what)): Known(told, one)
            for (path, qualname, number, what, told), one in zip(data["functions"], bits, strict=True)
        }
        return Links(atoms, hangs_on, answers, data["paths"], told, functions)
    except (TypeError, ValueError, LookupError, AttributeError, zlib.error):
        return None


def _width(atoms: Sequence[Atom]) -> int:
    """How many bytes hold a bit for each atom."""
    return (len(atoms) + 7) // 8


def _rows(every: Iterable[Bits], width: int) -> str:
    """Bits as text: most rows are much like the one before."""
    return b64encode(zlib.compress(b"".join(bits.to_bytes(width, "little") for bits in every), 1)).decode()


def _bits(text: str, rows: int, atoms: Sequence[Atom]) -> list[Bits]:
    """The bits of such rows. Raises ValueError and zlib.error where they are not well formed."""
    width = _width(atoms)
    data = zlib.decompressobj().decompress(b64decode(text), width * rows + 1)
    found = [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width or 1)]
    if len(data) != width * rows or any(bits >> len(atoms) for bits in found):
        raise ValueError(text[:9])
    return found or [0] * rows


_OF_PROJECT = (
    "stem",
    "importers",
    "word",
    "renamed",
    "heirs",
    "lineage",
    "lineage of",
    "definers",
    "holders",
    "spells",
    "said",
    "calling",
)
_LENGTHS = {"callers": 6, "stores": 5, **dict.fromkeys((*INDEXED, *_OF_PROJECT, "all", "text", "parses", "imports"), 3)}
_STRINGS = {str}


def _atom(parts: Any) -> Atom:
    atom = tuple(parts)
    if len(atom) != _LENGTHS.get(atom[0], 4) or {*map(type, atom)} != _STRINGS:
        raise ValueError(parts)
    return atom


def _plain(answer: Any) -> Any:
    if not isinstance(answer, list | tuple):
        return answer
    parts = [_plain(part) for part in answer]
    return {type(answer).__name__: parts} if type(answer) in _KINDS.values() else parts


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
    for module in (step_index, stepping, regions)
    for kind in vars(module).values()
    if hasattr(kind, "_fields")
}
"""The named tuples that answers are made of: those of these modules, and those that they import."""
