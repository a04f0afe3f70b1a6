"""Whether a file takes a name from another one, as far as its text says: what it defines so itself is another thing."""

from __future__ import annotations

import ast
import re

from ..facts.module import Class, Function, Module
from ..system.stamp import as_bytes
from .files import OUTSIDE
from .project import Project

_TAKEN = rb"(?m)\bimport\b[^\n]*\bNAME\b|^[ \t(]*(?:\w+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*NAME[ \t]*(?:as\b|[,)#\\]|$)|\.[ \t]*NAME\b"
"""How a file takes a name from another one: by an import of one or more lines, in a comment, too, and as a member."""
_STAR = rb"\bimport[ \t]*\*"
_DEFINED = rb"(?m)^(?:async[ \t]+)?(?:def|class)[ \t]+NAME\b"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def may_take(project: Project, module: Module, name: str, others: frozenset[str]) -> bool:
    """Whether one of the other files that have a name may take it from one: in an import, as a member, or by a star import."""
    word, definers = as_bytes(name), defining(project, module, name)
    taking = others & project.holders(_TAKEN.replace(b"NAME", word), word=word)
    if taking and not definers:
        return True  # before any of them is parsed
    if any(not _takes_from_third(project, path, module, name) for path in sorted(taking)):
        return True
    starring = others & project.holders(_STAR)
    behind = {path for path in starring & definers if _defines_last(project, path, name)}
    users = project.modules_for_imports(sorted(starring - behind))
    return len(users) < len(starring - behind) or any(_may_have_by_star(project, one, module, name) for one in users)


def defining(project: Project, module: Module, name: str) -> frozenset[str]:
    """The other files that define a class or a function of that name at their top."""
    word = as_bytes(name)
    return project.holders(_DEFINED.replace(b"NAME", word), word=word) - {module.path}


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
    found = re.finditer(_TAKEN.replace(b"NAME", word), data)
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
