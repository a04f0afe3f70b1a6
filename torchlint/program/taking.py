"""Whether a file takes a name from another one, as far as its text says: what it defines so itself is another thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import Class, Function, Module
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.declared import import_spans
from ..text.finders import fact_of_words
from ..text.source import Source
from ..text.spoken import in_code
from ..text.whole_words import whole_word
from .files import OUTSIDE
from .project import Project

_TAKEN = rb"(?m)\bimport\b[^\n]*\bNAME\b|^[ \t(]*(?:\w+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*NAME[ \t]*(?:as\b|[,)#\\]|$)|\.[ \t]*NAME\b"
"""How a file takes a name from another one: by an import of one or more lines, and as a member."""
_IMPORTS = regex(rb"[ \t]*(?:from|import)[ \t\\]")
_LISTS = regex(rb"[\w \t,()\\]*(?:#.*)?\r?")
"""A line that may be part of an import of several lines."""
_ALL = regex(rb"(?m)^__all__[ \t]*\+?=[ \t]*[\[(][^\])]*")
_RENAMED = regex(rb"[ \t\\]+as\b")
_STAR = rb"\bimport[ \t]*\*"
_DEFINED = rb"(?m)^(?:async[ \t]+)?(?:def|class)[ \t]+NAME\b"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def takers(project: Project, module: Module, name: str, others: frozenset[str]) -> Iterator[str]:
    """The other files that have a name and may take it from one: in an import, as a member, or by a star import."""
    yield from takers_by_name(project, module, name, others)
    definers = defining(project, module, name)
    for path in sorted(others & project.holders(_STAR)):
        if path in definers and _defines_last(project, path, name):
            continue
        users = project.modules_for_imports([path])
        if not users or _may_have_by_star(project, users[0], module, name):
            yield path


def takers_by_name(project: Project, module: Module, name: str, others: frozenset[str]) -> Iterator[str]:
    """The same, less what star imports bring, which a file that nobody imports gives nothing to."""
    word, definers = as_bytes(name), defining(project, module, name)
    for path in sorted(others & project.holders(_TAKEN.replace(b"NAME", word), word=word)):
        # Where no other file defines it none of them is parsed.
        if uses(project, path, name) and not (definers and _takes_from_third(project, path, module, name)):
            yield path


def naming(project: Project, module: Module, name: str) -> frozenset[str]:
    """The other files that have a name in their text, in comments, too."""
    return project.holders(whole_word(name).pattern, word=as_bytes(name)) - {module.path}


def defining(project: Project, module: Module, name: str) -> frozenset[str]:
    """The other files that define a class or a function of that name at their top."""
    word = as_bytes(name)
    return project.holders(_DEFINED.replace(b"NAME", word), word=word) - {module.path}


def uses(project: Project, path: str, name: str) -> bool:
    """Whether the code of a file has a name; comments don't count, nor imports and `__all__`, which hand it on under that name."""
    return bool(project.fact(path, f"uses {name}", lambda source: _uses(source, name)))


def says(project: Project, path: str, name: str) -> bool:
    """Whether a file has a name outside of comments."""
    return bool(project.fact(path, f"says {name}", lambda source: _says(source, name)))


@fact_of_words("says")
def _says(source: Source, name: str) -> bool:
    return next(in_code(source.data, whole_word(name)), None) is not None


@fact_of_words("uses")
def _uses(source: Source, name: str) -> bool:
    data = source.data
    listed = []
    for found in in_code(data, whole_word(name)):
        start, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
        line = data[start:end] if end >= 0 else data[start:]
        if _LISTS.fullmatch(line) or data[found.start() - 1 : found.start()] in (b"'", b'"'):
            listed.append(found.start())
        elif not _IMPORTS.match(line):
            return True
        if _RENAMED.match(data, found.end()):
            return True  # it may have another name there
    spans = [*import_spans(data), *(found.span() for found in _ALL.finditer(data))] if listed else []
    return not all(any(start <= place < end for start, end in spans) for place in listed)


def _takes_from_third(project: Project, path: str, module: Module, name: str) -> bool:
    """Whether one import is all by which a file takes something of that name, and leads to a third file."""
    user = project.module(path)
    if user is None:
        return False
    imports = [one for one in ast.walk(user.whole_tree()) if isinstance(one, ast.ImportFrom)]
    lines = [alias.lineno for one in imports for alias in one.names if alias.name == name]
    origins = {one.imports[name] for one in user.functions if name in one.imports}
    if len(lines) != 1 or len(origins) != 1 or _lines_taking(user, name) != set(lines):
        return False
    (origin,) = origins
    # Of two files called the same nobody knows which one is found.
    if origin.split(".")[-2:] in ([name], [module.name.rpartition(".")[2], name]):
        return False
    found = project.definition(origin, user)
    return isinstance(found, Function | Class) and found.module is not module


def _lines_taking(user: Module, name: str) -> set[int]:
    data, word = user.source.data, as_bytes(name)
    found = in_code(data, re.compile(_TAKEN.replace(b"NAME", word)))
    return {data.count(b"\n", 0, match.end()) + 1 for match in found}


def _defines_last(project: Project, path: str, name: str) -> bool:
    """Whether a file defines a name behind its star imports, which may have had another one of that name."""
    user = project.module(path)
    if user is None:
        return False
    tree = user.whole_tree()
    stars = [one.lineno for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.names[0].name == "*"]
    own = [one.lineno for one in tree.body if isinstance(one, _DEFINITIONS) and one.name == name]
    return bool(own) and all(line < own[0] for line in stars)


def _may_have_by_star(project: Project, user: Module, module: Module, name: str) -> bool:
    """Whether a star import of a file may bring in what another one has."""
    return any(_may_lead_to(project, origin, user, module, name) for origin in user.stars)


def _may_lead_to(project: Project, origin: str, user: Module, module: Module, name: str) -> bool:
    """Whether all that a module has may have a name of a file in it."""
    found = project.find(origin, user)
    if found is None or found == module.path:
        return origin.partition(".")[0] not in OUTSIDE
    # Of two files called the same nobody knows which one is found.
    return project.may_hold(found, name) or len(project.called(origin.rpartition(".")[2])) > 1
