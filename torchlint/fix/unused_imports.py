"""Imports of torch that fixes have made unused, taken out again; in doubt they stay."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..facts.hidden_reads import is_doctest, reads_any
from ..facts.names import chain
from ..facts.taken import Others, may_be_taken
from ..text.finding import Edit
from ..text.source import Source
from ..text.suppress import comments
from ..text.tree import Tree

_PACKAGES = ("torch", "functorch", "triton")
"""What fixes stop using; importing it does nothing else that somebody may want."""
_CATCH_IMPORTS = frozenset(("ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"))

Import = ast.Import | ast.ImportFrom


def unused_imports(before: Source, after: Source, others: Others) -> list[Edit]:
    """The edits of `after` that take out imports which `before` still used.

    `others` gives the other files of the project that hold a word.
    """
    if Path(after.path).name == "__init__.py":
        return []
    module = after.parse()
    old, new = Names(before.parse()), Names(module)
    if new.read_at_run_time:
        return []
    gone = [(one, alias) for one, alias in new.imports if old.uses(one, alias) and not new.uses(one, alias)]
    taken = {_local(one, alias) for one, alias in gone}
    if gone:
        taken = {name for name in taken if not may_be_taken(after.path, name, others)}
    local = list(_gone_in_functions(old.tree, module))
    gone = [pair for pair in gone if _local(*pair) in taken and pair not in local] + local
    gone = [pair for pair in gone if not _word(_local(*pair)).search(after.unread)]
    tree = Tree(after, lambda: module)
    edits: list[Edit] = []
    for statement in dict.fromkeys(one for one, _ in gone):
        aliases = [alias for one, alias in gone if one is statement]
        edits += _without(tree, statement, aliases)
    return edits


def _gone_in_functions(old: ast.AST, new: ast.AST) -> Iterator[tuple[Import, ast.alias]]:
    """The imports that stand in functions which use them no more, whatever else has such a name."""
    before, after = _functions(old), _functions(new)
    if [one.name for one in before] != [one.name for one in after]:
        return
    for was, now in zip(before, after, strict=True):
        names = Names(now)
        used = Names(was) if names.imports else names
        for one, alias in names.imports:
            mine = not any(one in ast.walk(inner) for inner in _functions(now) if inner is not now)
            if mine and used.uses(one, alias) and not names.uses(one, alias):
                yield one, alias


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


class Names:
    """The imports of packages that fixes touch in a module or function, and what the rest of it uses."""

    def __init__(self, tree: ast.AST) -> None:
        self.tree = tree
        self.imports: list[tuple[Import, ast.alias]] = []
        self._bound: list[str] = []
        self._loaded: set[str] = set()
        self._dotted: set[str] = set()
        self._texts: list[str] = []
        self.read_at_run_time = False
        kept = {node for block in ast.walk(tree) if _tries_imports(block) for node in ast.walk(block)}
        # What a class imports is an attribute of it.
        kept.update(node for block in ast.walk(tree) if isinstance(block, ast.ClassDef) for node in block.body)
        for node in ast.walk(tree):
            self._read(node, plain=node not in kept)

    def _read(self, node: ast.AST, plain: bool) -> None:
        self.read_at_run_time |= reads_any(node)
        match node:
            case ast.Import() | ast.ImportFrom():
                self._bound += [_local(node, alias) for alias in node.names]
                if plain:
                    self.imports += [(node, alias) for alias in node.names if _is_of_packages(node, alias)]
            case ast.Name(id=name, ctx=ast.Load()):
                self._loaded.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._bound.append(name)
            case ast.ClassDef(name=name):
                self._bound.append(name)
            case ast.Global(names=others) | ast.Nonlocal(names=others):
                self._loaded.update(others)
            case ast.Attribute():
                self._dotted.add(".".join(chain(node) or ()))
            case ast.Constant(value=str(text)):
                self._texts.append(text)

    def uses(self, statement: Import, alias: ast.alias) -> bool:
        """Whether anything may need the import; where several statements bind its name, whether that can't be told."""
        name = _local(statement, alias)
        word = _word(name)
        if any(word.search(text) for text in self._texts if len(text) < 200 or _is_program(text)):
            return True  # in `__all__`, in an annotation, or in a program of its own
        if isinstance(statement, ast.Import) and alias.asname is None and "." in alias.name:
            # It binds the package too: without another import of that it stays.
            return alias.name in self._dotted or (name in self._loaded and not self._is_bound_before_reads(name))
        return name in self._loaded or self._bound.count(name) > 1

    def _is_bound_before_reads(self, package: str) -> bool:
        """Whether `import torch` stands in front of all that reads that name, where it runs in any case."""
        reads = (node.lineno for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == package)
        first = min(reads, default=0)
        return any(
            isinstance(one, ast.Import) and one.lineno < first and any(_is_plain(alias, package) for alias in one.names)
            for one in getattr(self.tree, "body", ())
        )


def _is_plain(alias: ast.alias, package: str) -> bool:
    return alias.name == package and alias.asname in (None, package)


def _is_program(text: str) -> bool:
    """Whether a text is run, in the module or with what that has: a doctest, `from __main__ import model`."""
    return "__main__" in text or is_doctest(text)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def _tries_imports(node: ast.AST) -> bool:
    """Whether what is imported inside may be an experiment, whose outcome counts."""
    if not isinstance(node, ast.Try):
        return False
    caught = [part for handler in node.handlers for part in ast.walk(handler.type or ast.Name("Exception"))]
    return any(isinstance(part, ast.Name) and part.id in _CATCH_IMPORTS for part in caught)


def _is_of_packages(node: Import, alias: ast.alias) -> bool:
    module = alias.name if isinstance(node, ast.Import) else node.module or ""
    level = node.level if isinstance(node, ast.ImportFrom) else 0
    return level == 0 and module.partition(".")[0] in _PACKAGES and alias.name != "*"


def _local(node: Import, alias: ast.alias) -> str:
    """The name that one part of an import binds."""
    return alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)


def _without(tree: Tree, statement: Import, aliases: Sequence[ast.alias]) -> Iterator[Edit]:
    """The edits that take some names out of an import; none where a comment would go with them."""
    data, source = tree.source.data, tree.source
    if not aliases:
        return
    if len(aliases) == len(statement.names):
        edit = tree.delete_statement(statement)
        if edit is not None and not any(comments(data[edit.start : edit.end])):
            yield edit
        return
    kept = [alias for alias in statement.names if alias not in aliases]
    for alias in aliases:
        at = statement.names.index(alias)
        start = source.start_of(alias)
        end = source.end_of(alias)
        if at > statement.names.index(kept[-1]):
            start = source.end_of(statement.names[at - 1])
        else:
            end = source.start_of(statement.names[at + 1])
        if not any(comments(data[start:end])):
            yield Edit(start, end, b"")
