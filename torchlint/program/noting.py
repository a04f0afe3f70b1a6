"""A project that notes what is read of it, so that it is known which answers hang on a file.

The engine of questions (`query.database`) knows of each answer which others it was made of, and what was read for it. Here
it is told what is read: a file whose objects are looked at with all that is in it, and of the other files only what makes
an answer another one, such as which of them mention a name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ..facts.module import Function, Module
from ..query.closures import NOTHING, Depends
from ..settings.home import Home
from ..system.cached import cached_property
from ..system.fault import FileError
from ..system.stamp import as_bytes, digest, encoded
from ..text import search_path
from ..text.called import How
from ..text.declared import called_in, classes_in, functions_in, packages_of, renamed_in
from ..text.finders import found_by_name
from ..text.source import Source
from .by_file import FACT, TEXT, WORDS, ByFile, Told
from .project import Project
from .texts import MAX_FILES, Sought, holding, words_of

Atom = tuple[str, ...]
"""One thing in the files that an answer depends on: a kind, what it is about and, last, how it was."""
IN_FILE = frozenset(
    (
        *("may hold", "may call", "called as", "may import", "listing", "writes", "fact"),
        *("pattern", "calls", "holding", "looping", "lists", "having", "named"),
        *("imports", "parses", "name", "unit", "top", "tops", "class", "stores"),
    )
)
"""Kinds of things that one file says by itself."""
BY_TEXT = frozenset(("may hold", "may call", "called as", "may import", "listing", "writes", "fact", "pattern"))
"""Those of them that its text alone tells."""
INDEXED = frozenset(("steps", "regions", "training", "options", "renames"))
"""Kinds of things that are known of the whole project only."""
SEPARATOR = "\0"
"""Between paths."""
MANY = f"*{SEPARATOR}"
"""In front of paths where there are too many to be looked at: so many of them that without a few there are still too many."""
OF_A_RUN = ("file", "once")
"""Kinds of answers that are worked out anew in each run."""
_IMPORTS, _WORDS, _FACT = "imports", "words", "fact "
"""What tables of what files say by themselves are called; a fact with its name behind it."""
_MADE_OF = {
    "importers": (_IMPORTS, f"{_FACT}{search_path.FOLDERS}"),
    "word": (_WORDS,),
    "heirs": (f"{_FACT}classes",),
    "lineage": (f"{_FACT}classes", f"{_FACT}renames"),
    "lineage of": (f"{_FACT}classes", f"{_FACT}renames"),
    "definers": (f"{_FACT}functions",),
    "calling": (f"{_FACT}called behind",),
    "renamed": (f"{_FACT}renames",),
}
"""What files say by themselves of which things of the whole project are made."""
T = TypeVar("T")


@dataclass(slots=True)
class Answer:
    """The answer to a question about the whole project, and what it depends on."""

    answer: Any
    hangs_on: Depends


class _Asked:
    """A question that brings back with its answer what that depends on."""

    def __init__(self, question: Callable[[Any, Any], Any]) -> None:
        self.question = question
        self.__qualname__ = question.__qualname__

    def __call__(self, subject: Any, key: Any) -> Answer:
        project: Noting = subject.project
        name = self.question.__name__, repr(key)
        node = "question", *name
        answer = project.linked(node, lambda: self.question(subject, key))
        project.asked_again(node, lambda: project.answers.update({name: self(subject, key)}))
        return project.found(node, Answer(answer, NOTHING))


class Noting(Project):
    """A project that notes which files each answer depends on."""

    _of_files: Collection[str] = ("text", *IN_FILE)
    """Kinds of things that no other file makes others."""

    def __init__(
        self,
        files: Mapping[str, Callable[[], bytes]],
        home: Home | None = None,
        before: Told | None = None,
        changed: Collection[str] = (),
    ) -> None:
        """`before` is what files said when they were read last; some have `changed` since."""
        before = before or {}
        told = {name: {path: lines[path] for path in lines if path not in changed} for name, lines in before.items()}
        self._before = {
            name: {path: lines[path] for path in changed if path in lines} for name, lines in before.items()
        }
        """What those said that have changed."""
        self._same: dict[tuple[str, str], bool] = {}
        """Whether they say the same now, by their paths and what it is."""
        self._said_last: dict[tuple[str, str], object] = {}
        """What the file said that was taken in last, before it had another text, likewise."""
        self._is_told = bool(told)
        self._stems: dict[str, Atom] = {}
        """What is noted of dotted names that are looked for."""
        self._import_texts = ByFile(TEXT, told.get(_IMPORTS))
        self._own_words = ByFile(WORDS, told.get(_WORDS))
        facts = {name.removeprefix(_FACT): lines for name, lines in told.items() if name.startswith(_FACT)}
        self._facts = {name: ByFile(FACT, lines) for name, lines in facts.items()}
        """By name."""
        self._naming: dict[bytes, list[str]] = {}
        """The files whose imports hold a word, by those words that were looked for in kept texts."""
        self._finds: dict[str, Callable[[Source], Any]] = {}
        """How facts are found that were asked for, by name."""
        self._fact_atoms: dict[tuple[str, str], Atom] = {}
        """What is noted of facts, by path and name."""
        self._listed: dict[tuple[str, str], Atom] = {}
        """What is noted of tables, by kind and name."""
        self._by_import: dict[str, str] = {}
        """What is noted of the files whose imports hold a word."""
        self.searches: dict[Sought, str] = {}
        """How searches for callers end, by what they are about."""
        self.answers: dict[tuple[str, str], Answer] = {}
        """By the name of the question and what it was about."""
        self._found_last: dict[tuple[str, ...], Answer] = {}
        """Those of which it is not told yet what they depend on, by where that is noted."""
        self.used: set[tuple[str, str]] = set()
        """Those of them that were asked for."""
        self.is_whole = True
        """Whether no file was left out."""
        super().__init__(files, home, noting=True)

    # Answers

    def asking(self, ask: Callable[[Any, Sequence[Any]], Sequence[Any]]) -> Callable[[Any, Sequence[Any]], list[Any]]:
        def remembered(question: Callable[[Any, Any], Any], keys: Sequence[Any]) -> list[Any]:
            names = [(question.__name__, repr(key)) for key in keys]
            self.used.update(names)
            new = {name: key for name, key in zip(names, keys, strict=True) if not self._stands(name)}
            failed: dict[tuple[str, str], FileError] = {}
            for name, one in zip(
                new, self.together(lambda: ask(_Asked(question), list(new.values()))) if new else (), strict=True
            ):
                if isinstance(one, FileError):
                    failed[name] = one
                else:
                    self.answers[name] = one
            for name in names:
                if name not in failed:
                    self._database.use(("question", *name), self.answers[name].hangs_on)
            return [failed.get(name) or self.answers[name].answer for name in names]

        return remembered

    def found(self, node: tuple[str, ...], answer: Answer) -> Answer:
        """Told of an answer, and where it is noted what that depends on."""
        self._found_last[node] = answer
        return answer

    def together(self, find: Callable[[], T]) -> T:
        """What is found, with what the answers depend on that it is made of.

        That is gone through soon after: what is asked of the same functions later would count for them, too. And for all at once, as they share most of it.
        """
        before, self._found_last = self._found_last, {}
        try:
            return find()
        finally:
            last, self._found_last = self._found_last, before
            for answer, hangs_on in zip(last.values(), self.all_hang_on(list(last)), strict=True):
                answer.hangs_on = hangs_on or NOTHING

    def asked_again(self, key: tuple[Any, ...], ask: Callable[[], None]) -> None:
        """Told how an answer that is kept elsewhere is asked for again."""

    def _stands(self, name: tuple[str, str]) -> bool:
        """Whether the answer to a question about the whole project is known."""
        return name in self.answers

    @property
    def is_known(self) -> bool:
        return bool(self.answers)

    def leave_out(self, path: str) -> None:
        self.is_whole = False
        self.answers.clear()
        self.searches.clear()
        self._listed.clear()
        for known in self._tables().values():
            known.pop(path)
        super().leave_out(path)

    @property
    def _notes(self) -> bool:
        """Whether an answer is being worked out whose dependencies are noted."""
        return self._database.here is not None

    def quietly(self, answer: Callable[[], T]) -> T:
        """An answer for which files are looked at whose part in it is noted otherwise."""
        return self._database.quietly(answer)

    # Files

    @property
    def paths(self) -> list[str]:
        self._database.open("all")
        return self._paths

    @paths.setter
    def paths(self, paths: list[str]) -> None:
        self._paths = paths

    def source(self, path: str) -> Source | None:
        self._database.open("text", path)
        return super().source(path)

    def module(self, path: str) -> Module | None:
        self._database.open("text", path)
        return super().module(path)

    def called(self, stem: str) -> Sequence[str]:
        self._note_stem(stem)
        return super().called(stem)

    def find(self, dotted: str, near: Module) -> str | None:
        self._note_stem(dotted)
        return super().find(dotted, near)

    def _note_stem(self, dotted: str) -> None:
        if not self._notes:
            return
        atom = self._stems.get(dotted)
        if atom is None:
            stem = dotted.rpartition(".")[2]
            atom = self._stems[dotted] = ("stem", stem, self.files_called(stem))
        self.note(*atom)

    def files_called(self, stem: str) -> str:
        """Digest of the paths of the files that a module of that name may be."""
        return mark(self._by_stem.get(stem, ()))

    def may_hold(self, path: str, name: str) -> bool:
        found = self.quietly(lambda: super(Noting, self).may_hold(path, name))
        self.note("may hold", path, name, str(found))
        return found

    def may_import(self, path: str, name: str) -> bool:
        found = self.quietly(lambda: super(Noting, self).may_import(path, name))
        self.note("may import", path, name, str(found))
        return found

    def may_call(self, path: str, name: str) -> bool:
        found = self.quietly(lambda: super(Noting, self).may_call(path, name))
        self.note("may call", path, name, str(found))
        return found

    def called_as(self, path: str, name: str) -> How:
        found = self.quietly(lambda: super(Noting, self).called_as(path, name))
        self.note("called as", path, name, found)
        return found

    def lines_listing(self, path: str, name: str) -> list[int]:
        found = self.quietly(lambda: super(Noting, self).lines_listing(path, name))
        self.note("listing", path, name, str(bool(found)))  # whoever looks at the lines parses the file
        return found

    def writes(self, path: str, text: str) -> bool:
        found = self.quietly(lambda: super(Noting, self).writes(path, text))
        self.note("writes", path, text, str(found))
        return found

    def may_be_own(self, function: Function, call: ast.Call) -> bool:
        if self._notes and isinstance(call.func, ast.Attribute):
            self.note("word", call.func.attr, str(call.func.attr in self._callable_words))
        return super().may_be_own(function, call)

    def mentioning(self, sought: Sought) -> list[str] | None:
        if sought not in self.searches:
            self.searches[sought] = self._searched(sought)
        mark = self.searches[sought]
        self.note("callers", sought.path, sought.module, sought.imported, sought.name, mark)
        return None if mark.startswith(MANY) else _paths(mark)

    def _searched(self, sought: Sought) -> str:
        found = sorted(self.quietly(lambda: self._users(sought)))
        return (MANY if len(found) > MAX_FILES else "") + SEPARATOR.join(found)

    def naming(self, word: bytes) -> list[str]:
        if word not in self._naming:
            texts = self._import_texts
            if "_importers" in self.__dict__ or not texts.is_searched(len(self._paths)):
                return super().naming(word)
            self.apart(lambda: [self.import_text(path) for path in self._paths if path not in texts])
            found = texts.holding(word.decode("latin-1"), self._paths)
            self._naming[word] = self.apart(lambda: [path for path in found if word in self.import_words(path)])
        return self._naming[word]

    # The whole project

    def importers(self, file: str) -> list[str]:
        found = self.quietly(lambda: super(Noting, self).importers(file))
        if self._notes:
            word = self._name(file)[0].rpartition(".")[2]
            self._note_stem(word)
            self.note("importers", word, self.files_importing(word))
        return found

    def files_importing(self, word: str) -> str:
        """Digest of the paths of the files whose imports hold a word, with the dotted names there that it ends, and the folders that they put on `sys.path`."""
        if word not in self._by_import:
            self._by_import[word] = self.apart(lambda: self._importing_of(as_bytes(word)))
        return self._by_import[word]

    def _importing_of(self, word: bytes) -> str:
        dotted = re.compile(rb"[\w.\x80-\xff]*\.%s" % re.escape(word))
        paths = self.naming(word)
        put = ((path, self.fact(path, search_path.FOLDERS, search_path.find_folders)) for path in paths)
        folders = (f"{path} {found}" for path, found in put if found)
        texts = map(self.import_text, paths)
        names = (
            sorted({one.decode("latin-1") for one in dotted.findall(text)} | packages_of(text, word)) for text in texts
        )
        told = (line for path, found in zip(paths, names, strict=True) for line in (path, *found))
        return mark([*told, "", *folders])

    def import_text(self, path: str) -> bytes:
        self._database.open("text", path)
        if path not in self._import_texts:
            self._import_texts[path] = self.quietly(lambda: super(Noting, self).import_text(path))
        return self._import_texts[path]  # type: ignore[no-any-return]

    def own_words(self, path: str) -> frozenset[bytes]:
        if path not in self._own_words:
            self._own_words[path] = self.quietly(lambda: super(Noting, self).own_words(path))
        return self._own_words[path]  # type: ignore[no-any-return]

    def fact(self, path: str, name: str, find: Callable[[Source], T]) -> T | None:
        if name.startswith("holds "):
            find = self._finds.setdefault(name, find)  # the first one knows by which words it is quicker
        self._finds[name] = find
        found = self._fact(path, name, find)
        if self._notes:
            if (path, name) not in self._fact_atoms:
                self._fact_atoms[path, name] = ("fact", path, name, _fact_mark(found))
            self._database.open(*self._fact_atoms[path, name])
        return found

    def _fact(self, path: str, name: str, find: Callable[[Source], T]) -> T | None:
        known = self._facts.get(name)
        if known is None:
            known = self._facts[name] = ByFile(FACT)
        if path not in known:
            known[path] = self.apart(lambda: super(Noting, self).fact(path, name, find))
        return known[path]  # type: ignore[no-any-return]

    def _fact_now(self, path: str, name: str) -> str | None:
        """What is noted of a fact now; None where it is not known how that is found."""
        find = self._found_by(name)
        return _fact_mark(self._fact(path, name, find)) if find is not None and path in self._files else None

    def told(self) -> Told:
        """What is known of files by themselves: the texts of their imports and their own words of all."""
        for path in self._paths:
            self.import_text(path)
            self.own_words(path)
        return {name: table.lines() for name, table in self._tables().items()}

    def news(self) -> Told:
        return {name: new for name, table in self._facts.items() if (new := table.news())}

    def hear(self, news: Told) -> None:
        for name, lines in news.items():
            self._facts.setdefault(name, ByFile(FACT)).hear(lines)

    def _tables(self) -> dict[str, ByFile]:
        facts = {f"{_FACT}{name}": table for name, table in self._facts.items()}
        return {_IMPORTS: self._import_texts, _WORDS: self._own_words, **facts}

    def _says_as_before(self, path: str, name: str) -> bool:
        """Whether a file that has changed says the same as before."""
        if (path, name) not in self._same:
            before = self._before.get(name, {}).get(path)
            if path not in self._files:
                is_same = False
            elif (path, name) in self._said_last:
                is_same = self._said_now_by(path, name) == self._said_last[path, name]
            else:
                is_same = before is not None and self._line(path, name) == before
            self._same[path, name] = is_same
        return self._same[path, name]

    def _said_now_by(self, path: str, name: str) -> object:
        """What a file says now; None where it is not known how that is found."""
        if name == _IMPORTS:
            return self.import_text(path)
        if name == _WORDS:
            return self.own_words(path)
        find = self._found_by(name.removeprefix(_FACT))
        return self._fact(path, name.removeprefix(_FACT), find) if find is not None else None

    def _found_by(self, name: str) -> Callable[[Source], Any] | None:
        """How a fact of that name is found."""
        return self._finds.get(name) or found_by_name(name) or _holding(name)

    def _line(self, path: str, name: str) -> str | None:
        """What a file says now."""
        self._said_now_by(path, name)
        return self._tables()[name].line(path)

    def renamed(self, name: str) -> list[str]:
        found = super().renamed(name)
        self.note("renamed", name, mark(found))
        return found

    def said(self, name: str, find: Callable[[Source], T]) -> Mapping[str, T]:
        found = self.apart(lambda: super(Noting, self).said(name, find))
        self._note_listed("said", name, _as_texts(found))
        return found

    def _said_now(self, name: str) -> str | None:
        """What is noted of what files say now; None where it is not known how that is found."""
        find = self._finds.get(name) or found_by_name(name)
        return mark(_as_texts(self.apart(lambda: super(Noting, self).said(name, find)))) if find is not None else None

    def any_holds(self, pattern: bytes, places: str = "", *, word: bytes = b"") -> bool:
        found = self.apart(lambda: super(Noting, self).any_holds(pattern, places, word=word))
        self.note("holds", pattern.decode("latin-1"), places, str(found))
        return found

    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]:
        found = self.apart(lambda: super(Noting, self).holders(pattern, word=word))
        self.note("holders", pattern.decode("latin-1"), mark(sorted(found)))
        return found

    def _looked_through(self, pattern: re.Pattern[bytes], word: bytes) -> Sequence[str]:
        if self._rewritten or self._is_told:
            return self.paths
        found = super()._looked_through(pattern, word)
        others = {*self.paths}.difference(found)
        if others:  # those hold none, which need not be searched for when they are linted again
            known = self._facts.setdefault(holding(pattern, words_of(word))[0], ByFile(FACT))
            for path in others:
                known[path] = False
        return found

    def spells(self, word: str) -> bool:
        found = super().spells(word)
        self.note("spells", word, str(found))
        return found

    def _calling_behind(self, name: str) -> list[str]:
        found = self._listing("called behind", "_called_behind", called_in, name)
        return found if found is not None else super()._calling_behind(name)

    def _defining(self, name: str) -> list[str]:
        found = self._listing("functions", "_definers", functions_in, name)
        return found if found is not None else super()._defining(name)

    def _listing(self, fact: str, table: str, find: Callable[[Source], list[str]], word: str) -> list[str] | None:
        """The files of which a fact lists a word, where they are quicker found than a table of all words is made."""
        known = self._facts.get(fact)
        if known is None or table in self.__dict__ or not known.is_searched(len(self._paths)):
            return None
        listed = partial(self.fact, name=fact, find=find)
        self.apart(lambda: [listed(path) for path in self._paths if path not in known])
        return [path for path in known.holding(f" {word} ", self._paths) if word in (known[path] or ())]

    def calling(self, name: str) -> frozenset[str]:
        found = self.apart(lambda: super(Noting, self).calling(name))
        self.note("calling", name, mark(sorted(found)))
        return found

    def heirs(self, name: str) -> list[tuple[str, str]]:
        found = super().heirs(name)
        self._note_listed("heirs", name, (f"{path} {heir}" for path, heir in found))
        return found

    def lineage(self, name: str) -> frozenset[str]:
        found = self.apart(lambda: super(Noting, self).lineage(name))
        self.note("lineage", name, mark(sorted(found)))
        return found

    def lineage_of(self, part: str) -> frozenset[str]:
        found = self.apart(lambda: super(Noting, self).lineage_of(part))
        self.note("lineage of", part, mark(sorted(found)))
        return found

    def definers(self, name: str) -> list[str]:
        found = super().definers(name)
        self._note_listed("definers", name, found)
        return found

    def _note_listed(self, kind: str, name: str, found: Iterable[str]) -> None:
        """Note what a table has by a name, which many ask for."""
        if self._notes:
            atom = self._listed.get((kind, name))
            if atom is None:
                atom = self._listed[kind, name] = (kind, name, mark(found))
            self.note(*atom)

    # How things are now

    def now(self, atom: Atom) -> str | None:
        """How the thing is now that an atom is about; None where that is not for the project to say."""
        kind, *about = atom
        match kind:
            case "stem":
                return self.files_called(about[0])
            case "importers":
                return self.files_importing(about[0])
            case "word":
                return str(about[0] in self._callable_words)
            case "holds":
                return str(self.any_holds(about[0].encode("latin-1"), about[1]))
            case "holders":
                return mark(sorted(self.holders(about[0].encode("latin-1"))))
            case "spells":
                return str(super().spells(about[0]))
            case "heirs":
                return mark(f"{path} {heir}" for path, heir in super().heirs(about[0]))
            case "lineage" | "calling":
                return mark(sorted(getattr(super(), kind)(about[0])))
            case "lineage of":
                return mark(sorted(super().lineage_of(about[0])))
            case "said":
                return self._said_now(about[0])
            case "renamed" | "definers":
                return mark(getattr(super(), kind)(about[0]))
            case "listing":
                return str(about[0] in self._files and bool(self.lines_listing(about[0], about[1])))
            case "fact":
                return self._fact_now(about[0], about[1])
            case "pattern":
                return self._holds_now(about[0], about[1])
            case "called as":
                return self.called_as(about[0], about[1]) if about[0] in self._files else ""
            case "may hold" | "may call" | "may import" | "writes":
                asked = getattr(self, kind.replace(" ", "_"))
                return str(about[0] in self._files and asked(about[0], about[1]))
        return None

    def _holds_now(self, path: str, told: str) -> str:
        """Whether a file holds a pattern, as that is told: its flags, and its text."""
        source = self.source(path) if path in self._files else None
        return str(source is not None and source.holds(_pattern(told)))

    def is_other(self, atom: Atom, changed: Collection[str]) -> bool:
        """Whether a thing is another one than it was before some files changed, as far as files tell."""
        kind = atom[0]
        if kind in IN_FILE:  # most of them
            return atom[1] in changed and self.now(atom) != atom[-1]
        if kind == "all":
            return bool(changed)
        if kind == "text":
            return atom[1] in changed
        if kind == "callers":
            return self.search(atom, changed) != atom[-1]
        made_of = self._made_of(atom)
        if made_of and all(self._says_as_before(path, name) for path in changed for name in made_of):
            return False
        return kind not in INDEXED and self.now(atom) != atom[-1]

    def _made_of(self, atom: Atom) -> tuple[str, ...]:
        """What files say by themselves of which a thing of the whole project is made."""
        if atom[0] == "said":
            return (f"{_FACT}{atom[1]}",)
        if atom[0] in ("holds", "holders"):
            return (f"{_FACT}{holding(re.compile(atom[1].encode('latin-1')), frozenset())[0]}",)
        return _MADE_OF.get(atom[0], ())

    def search(self, atom: Atom, changed: Collection[str]) -> str:
        """How a search for callers ends now that some files have changed; the others are not looked into."""
        _, own, module, imported, name, before = atom
        sought = Sought(own, module, imported, name)
        if sought not in self.searches:
            self.searches[sought] = self._searched_again(sought, before, changed)
        return self.searches[sought]

    def _searched_again(self, sought: Sought, before: str, changed: Collection[str]) -> str:
        found = {*_paths(before)} - {*changed}
        if before.startswith(MANY):
            return before if len(found) > MAX_FILES else self._searched(sought)
        found.update(path for path in changed if path in self._files and self.may_use(path, sought))
        return SEPARATOR.join(sorted(found)) if len(found) <= MAX_FILES else self._searched(sought)

    def take(self, path: str) -> None:
        """Take in that a file has another text now: forget what depends on it, and on what others saw of it.

        What is known of the whole project only (`INDEXED`) is left to who knows that; see `renew`.
        """
        used = self._uses(path)
        before = self._modules.pop(path, None)
        self._taken(path, used, lambda owner: getattr(owner, "module", owner) is before)

    def _uses(self, path: str) -> dict[Sought, bool]:
        """Whether a file may use what was looked for."""
        return {sought: self.may_use(path, sought) for sought in self.searches}

    def _taken(self, path: str, used: Mapping[Sought, bool], is_gone: Callable[[Any], bool]) -> None:
        """Forget what depends on a file that has another text, and all about functions, classes and modules that are gone.

        `used` tells of what was looked for, as far as the file may use it now and did not, or the other way round.
        """
        self._sources.pop(path, None)
        self.errors.pop(path, None)
        self._forget_tables(path)
        self.searches = {
            one: found
            for one, found in self.searches.items()
            if one not in used or used[one] == self.may_use(path, one)
        }
        evaluators = self._evaluators.values()
        stale = self._database.changed(
            lambda atom: self.is_other(atom, (path,)),
            (values.answers for values in evaluators),
            lambda kind: self._may_be_others(kind, path),
        )
        self._evaluators = {
            function: values
            for function, values in self._evaluators.items()
            if not is_gone(function) and values.answers not in stale
        }
        self._forget_gone(is_gone)
        self._keep_answered()

    def _may_be_others(self, kind: str, path: str) -> tuple[str, ...] | None:
        """Which things of a kind may be others because of a file: those of it, none, or (None) any."""
        if kind in self._of_files:
            return (path,)
        made_of = _MADE_OF.get(kind, ())
        is_same = bool(made_of) and all(self._says_as_before(path, name) for name in made_of)
        return () if is_same or kind in ("stem", *INDEXED) else None

    def _forget_gone(self, is_gone: Callable[[Any], bool]) -> None:
        """Forget the answers of a run, and those about something that is gone."""
        self._database.forget(lambda key: key[0] in OF_A_RUN or any(map(is_gone, key[1:])))

    def renew(self, is_other: Callable[[Atom], bool]) -> None:
        """Forget what depends on things of the whole project that are others now."""
        self._database.changed(is_other, among=lambda kind: None if kind in INDEXED else ())

    def _keep_answered(self) -> None:
        """Keep of the answers to questions about the whole project those that stand."""
        self.answers = {name: answer for name, answer in self.answers.items() if ("question", *name) in self._database}

    def _forget_tables(self, path: str) -> None:
        """Forget what a file says by itself, and what is known of the whole project because of it."""
        self._rewritten.add(path)
        self._listed.clear()
        facts = {name: table.pop(path) for name, table in self._facts.items() if path in table}
        for name in facts:
            self._fact_atoms.pop((path, name), None)
        words, imports = self._own_words.pop(path), self._import_texts.pop(path)
        self._same.clear()
        self._said_last = {(path, f"{_FACT}{name}"): found for name, found in facts.items()}
        self._said_last |= {
            (path, name): told for name, told in ((_WORDS, words), (_IMPORTS, imports)) if told is not None
        }
        for lines in self._before.values():
            lines.pop(path, None)
        tables = ["_callable_words"] if words is not None and words != self.own_words(path) else []

        def is_other(name: str, find: Callable[[Source], Any]) -> bool:
            return name in facts and facts[name] != self.fact(path, name, find)

        if is_other("classes", classes_in):
            tables.append("_heirs")
        if is_other("functions", functions_in):
            tables.append("_definers")
        if is_other("renames", renamed_in):
            tables += ["renames", "_aliases"]
        if imports is not None and imports != self.import_text(path):
            tables.append("_importers")
            self._import_words.pop(path, None)
            self._naming.clear()
            self._module_importers.clear()
        if "_importers" in tables or is_other(search_path.FOLDERS, search_path.find_folders):
            self._by_import.clear()
        for table in tables:
            self.__dict__.pop(table, None)
        if {"_heirs", "_aliases"} & set(tables):
            self._lineages.clear()
            self._lineages_of.clear()
        place = self.home(path)
        for (text, places), (held, word) in [*self._held.items()]:
            if re.match(places, place) is None:
                continue
            pattern, words = re.compile(text), words_of(word)
            before = facts.get(holding(pattern, words)[0], held)
            if self.holds(path, pattern, words) != before:
                del self._held[text, places]
        for name in self._said.keys() & facts.keys():
            del self._said[name]
        for text, (found, word) in self._holders.items():
            holds = self.holds(path, re.compile(text), words_of(word))
            if holds != (path in found):
                self._holders[text] = found | {path} if holds else found - {path}, word


def _paths(search: str) -> list[str]:
    """The files that a search has found, or some of them where there are many."""
    return [path for path in search.removeprefix(MANY).split(SEPARATOR) if path]


def _apart(table: str) -> Any:
    """A table of the whole project, which belongs to no answer that is being worked out."""
    known = cached_property(lambda noting: noting.apart(lambda: getattr(super(Noting, noting), table)))
    known.__set_name__(Noting, table)
    return known


for _table in "_by_stem _callable_words renames _aliases _importers _heirs _called_behind _definers".split():
    setattr(Noting, _table, _apart(_table))


def _as_texts(said: Mapping[str, object]) -> Iterator[str]:
    """What files say, a text each."""
    return (f"{path} {_fact_mark(one)}" for path, one in said.items())


def _fact_mark(value: object) -> str:
    return str(value) if value is None or isinstance(value, bool) else mark((repr(value),))


def _holding(name: str) -> Callable[[Source], bool] | None:
    """How a fact of that name is found, if it is that a file holds a pattern."""
    kind, _, about = name.partition(" ")
    if kind != "holds":
        return None
    return holding(_pattern(about), frozenset())[1]


def _pattern(told: str) -> re.Pattern[bytes]:
    """The pattern of which the flags and the text are told."""
    flags, _, text = told.partition(" ")
    return re.compile(text.encode("latin-1"), int(flags))


def mark(texts: Iterable[str]) -> str:
    return digest(*map(encoded, texts)).hex()
