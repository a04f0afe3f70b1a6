"""Match the rules' patterns on libcst first, over whole files, and hold that to what a run finds; by hand, for it is slow.

    python -m tests.bench.match_first FOLDER...

A run looks for words, then tests `ast`, and asks libcst last. Here each file is parsed by libcst as a whole, each pattern is
held against each of its nodes, and the rules are shown what has a shape there, wherever it is. The findings, fixes included,
must be the same; where they are not, they are shown and the exit code is 1.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from torchlint.facts.module import Function, Module
from torchlint.lint.dispatch import Asked, Dispatch, last_word, searchable
from torchlint.lint.run import Result, lint
from torchlint.pattern import on_libcst
from torchlint.pattern.match import in_tree
from torchlint.pattern.shape import shape
from torchlint.rule import Finding, Site, load
from torchlint.settings.config import Settings
from torchlint.settings.discover import discover
from torchlint.text.tree import _KINDS, Tree

Shown = tuple[ast.AST, ast.AST, Asked]
Fail = Callable[[Exception, ast.AST], None]


class File:
    """The nodes of libcst of a file, and the nodes of `ast` that they stand for."""

    def __init__(self, module: Module) -> None:
        self.tree = Tree(module.source, module.whole_tree)
        piece = self.tree._parse(module.tree, whole=True)
        self.nodes = list(piece.spans) if piece is not None else None
        self.functions = {node: function for function in module.functions for node in function.flow.nodes}
        imports = [pair for function in module.functions for pair in function.imports.items()]
        self.renamed = {origin.rpartition(".")[2] for local, origin in imports if origin.rpartition(".")[2] != local}
        """The words that go by other names in the file."""
        self.strings: dict[Any, ast.AST] = {}
        """What stands in f-strings, whose parts have no positions before Python 3.12, with the whole string."""
        for node in self.nodes or ():
            if type(node).__name__ in ("FormattedString", "ConcatenatedString") and node not in self.strings:
                whole = self.tree.counterpart(node)
                if isinstance(whole, ast.JoinedStr):
                    self.strings.update(dict.fromkeys(list(on_libcst.expressions(node))[1:], whole))

    def text(self, node: Any) -> bytes:
        """What is written there, decorators too."""
        start, end = self.tree.span(node)
        start = min([start, *(self.tree.span(one)[0] for one in getattr(node, "decorators", ()))])
        return self.tree.source.data[start:end]

    def counterparts(self, node: Any) -> list[ast.AST]:
        """The nodes of `ast` that a node of libcst stands for: in an f-string all that are written like it."""
        if node in self.strings:
            written = on_libcst.written(node)
            inside = (one for one in ast.walk(self.strings[node]) if isinstance(one, ast.expr))
            return [one for one in inside if ast.unparse(one) == written]
        found = self.tree.counterpart(node)
        return [found] if found is not None else []


class First:
    """Shows rules what libcst finds first."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.shown: dict[tuple[int, str], dict[Function, list[Shown]]] = {}
        self.unread: set[str] = set()
        self.plainly = Dispatch.nodes

    def nodes(
        self, dispatch: Dispatch, function: Function, lines: Collection[int] | None, fail: Fail
    ) -> Iterator[Shown]:
        path = function.module.path
        if path not in self.files:
            self.files[path] = File(function.module)
        file = self.files[path]
        if file.nodes is None:
            self.unread.add(path)
            yield from self.plainly(dispatch, function, None, fail)
            return
        key = (id(dispatch), path)
        if key not in self.shown:
            self.shown[key] = self._found(dispatch, file)
        yield from self.shown[key].get(function, ())

    def _found(self, dispatch: Dispatch, file: File) -> dict[Function, list[Shown]]:
        tables = (dispatch._kinds, dispatch._methods, dispatch._attributes, dispatch._calls, dispatch._uses)
        asked = {one[:2]: one for table in tables for some in table.values() for one in some}.values()
        by_class: dict[str, list[tuple[str, Asked]]] = {}
        for one in asked:
            for pattern in one[2]:
                for kind in {kind for each in shape(pattern).classes for kind in _KINDS[each.__name__]}:
                    by_class.setdefault(kind, []).append((pattern, one))
        shown: dict[Function, list[Shown]] = {}
        known: set[tuple[int, str, str]] = set()
        renamed = file.renamed | {last_word(name) for some in dispatch.project.renames.values() for name in some}
        for node in file.nodes or ():
            candidates = by_class.get(type(node).__name__, ())
            text = file.text(node) if candidates else b""
            for pattern, one in candidates:
                word = last_word(one[0])
                if searchable(one[0]) and word not in renamed and word.encode() not in text:
                    continue
                for function, place in self._places(dispatch, file, node, pattern, one):
                    key = (id(place), one[0], one[1].code)
                    if key not in known:
                        known.add(key)
                        parent = function.flow.parents[place]
                        shown.setdefault(function, []).append((place, parent, (one[0], one[1], (pattern,))))
        return shown

    def _places(
        self, dispatch: Dispatch, file: File, node: Any, pattern: str, asked: Asked
    ) -> Iterator[tuple[Function, ast.AST]]:
        for whole in file.counterparts(node):
            function = file.functions.get(whole)
            if function is None:
                continue
            match = in_tree(pattern, node, partial(dispatch.project.resolve, function))
            for place in file.counterparts(match.place) if match is not None else ():
                if self._is_asked(dispatch, function, place, asked) and _above(function, place, whole, pattern):
                    yield function, place

    def _is_asked(self, dispatch: Dispatch, function: Function, place: ast.AST, asked: Asked) -> bool:
        """Whether the name of the place is meant: what is called is no method of a module, a name no part of a longer one."""
        if asked[0].endswith("()") and searchable(asked[0]):
            assert isinstance(place, ast.Call)
            return any(one[:2] == asked[:2] for one in dispatch._called(function, place.func))
        if searchable(asked[0]) and not asked[0].startswith("."):
            return not isinstance(function.flow.parents[place], ast.Attribute)
        return True


def _above(function: Function, place: ast.AST, whole: ast.AST, pattern: str) -> bool:
    """Whether the whole lies above the place as in the pattern: of what is written twice in an f-string, the right one."""
    node: ast.AST | None = place
    for _ in range(shape(pattern).height):
        node = function.flow.parents.get(node) if node is not None else None
    return node is whole


def look(site: Site, patterns: Collection[str], parent: ast.AST) -> bool:
    """What libcst found has the shape."""
    (site.pattern,) = patterns
    site._match = site._looked(parent)
    return True


def matched_first(files: Collection[Path], settings: Settings) -> tuple[Result, First]:
    """What a run finds that begins with libcst."""
    first = First()
    with (
        patch.object(Dispatch, "nodes", lambda *args: first.nodes(*args)),
        patch.object(Site, "look", look),
    ):
        return lint(list(files), settings), first


def key(finding: Finding) -> tuple[object, ...]:
    return finding.sort_key, finding.message, finding.severity, finding.fix


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    codes = frozenset(load())
    failed = False
    for folder in parser.parse_args().folders:
        settings = Settings(codes=codes, fixable=codes, root=folder, project=folder, preview=True, sieve=False)
        files = discover([folder], settings).files
        start = time.process_time()
        usual = lint(files, Settings(codes=codes, fixable=codes, root=folder, project=folder, preview=True))
        between = time.process_time()
        other, first = matched_first(files, settings)
        seconds = between - start, time.process_time() - between
        one, two = ({key(f): f for f in result.findings} for result in (usual, other))
        for sign, lost in (("-", one.keys() - two.keys()), ("+", two.keys() - one.keys())):
            for finding in sorted(map({**one, **two}.__getitem__, lost), key=lambda f: f.sort_key):
                print(f"{sign} {finding.path}:{finding.line}:{finding.column} {finding.code} {finding.message}")
        errors = {str(error) for error in other.errors} - {str(error) for error in usual.errors}
        print(*sorted(errors), sep="\n", end="\n" if errors else "")
        failed = failed or one.keys() != two.keys() or bool(errors)
        print(
            f"{folder.name}: {len(one)} findings, {len(two)} with libcst first; {seconds[0]:.1f} s and {seconds[1]:.1f} s; "
            f"{len(first.files)} files, {len(first.unread)} of which libcst can't read"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
