"""Whether what a fix relies on is what it is taken for: names of imports, and functions of torch that nobody replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from ..facts import names
from ..facts.lookup import lookup
from ..facts.module import Module
from ..program.project import Project
from ..rule import Site
from ..system.regex import regex
from ..text.finding import Fix
from ..text.source import Source

_KNOWN = frozenset(("torch", "functorch", "triton", "numpy", "tensorrt", "time"))
"""The packages whose names fixers know."""
_SCOPES = regex(rb"\b(?:global|nonlocal)\b")
_HOMES = rb"[\"']?(?:torch|nn|F|functional|init|amp|checkpoint)\b[\w.]*?(?:\.|,\s*[\"'])%s[\"']"
_PATCHES = (
    rb"\n[ \t]*torch\.(?!backends\b|_dynamo\b|_inductor\b)(?:\w+\.)*%s[ \t]*=(?!=)",
    rb"\n[ \t]*F\.%s[ \t]*=(?!=)",
    rb"setattr\(\s*" + _HOMES,
    rb"patch(?:\.object)?\(\s*" + _HOMES,
)
"""Ways to put something of one's own into a module of torch; searches for what begins with a text take a few milliseconds."""
_WORD = regex(rb"[A-Za-z_]\w+")


def is_meant(site: Site) -> bool:
    """Whether the names at a place that imports bind mean these imports, whatever way the program took there."""
    return not any(_may_be_another(site, node, origin) for node, origin in _imported(site))


def told_of_patches(site: Site, fix: Fix) -> Fix:
    """The fix; unsafe where the project puts something of its own in the place of what it takes or gives."""
    if fix.applicability != "safe":
        return fix
    project = site.project
    patched = project.ask(("patched", "torch"), lambda: frozenset(_patched(project)), frozenset[bytes]())
    words = {word for edit in fix.edits for word in _WORD.findall(edit.text)} if patched else set[bytes]()
    words |= set(_WORD.findall(site.name.rpartition(".")[2].encode()))
    for word in sorted(words & patched):
        note = f"the project puts something else in the place of torch's `{word.decode()}`"
        return replace(fix, applicability="unsafe", note=note)
    return fix


def _patched(project: Project) -> Iterator[bytes]:
    """The names in modules of torch under which any file of the project puts something of its own."""
    for way in _PATCHES:
        for path in project.holders(way % rb"\w+"):
            source = project.source(path)
            yield from re.findall(way % rb"(\w+)", source.data) if source is not None else ()


def _imported(site: Site) -> Iterator[tuple[ast.Name, str]]:
    """The names of known packages in the expression that the rule speaks of."""
    whole = site.match.whole if site.pattern else site.target
    if isinstance(whole, ast.stmt):
        whole = site.target
    for node in ast.walk(whole) if isinstance(whole, ast.expr) else ():
        if isinstance(node, ast.Name):
            origin = names.imported(site.function, node.id, node)
            if origin is not None and origin.partition(".")[0] in _KNOWN:
                yield node, origin


def _may_be_another(site: Site, node: ast.Name, origin: str) -> bool:
    module, name = site.module, node.id
    again = site.once(("bound again", module, name), lambda: _is_bound_again(module.source, name))
    if again and lookup(module).may_be_another(node, name, origin):
        return True
    key = ("brought", module, name, origin)
    return bool(module.stars) and site.once(key, lambda: _is_brought(site.project, module, name, origin))


def _is_bound_again(source: Source, name: str) -> bool:
    """Whether more than one import may bind a name, as far as the text tells: mostly it stands before a dot or a parenthesis."""
    if source.holds(_SCOPES):
        return True
    word = name.encode()
    bare = re.compile(rb"(?<![\w.])%s(?![\w.(])|\b(?:def|class)\s+%s\b" % (word, word))
    for count, found in enumerate(bare.finditer(source.data)):
        line = source.data[source.data.rfind(b"\n", 0, found.start()) + 1 : found.start()].lstrip()
        if count or not line.startswith((b"import ", b"from ")):
            return True
    return False


def _is_brought(project: Project, module: Module, name: str, origin: str) -> bool:
    """Whether a star import of the project may bring something else under that name."""
    seen, todo = {module.path}, [module]
    while todo:
        one = todo.pop()
        for star in one.stars:
            path = project.find(star, one)
            if path is None or path in seen:
                continue
            seen.add(path)
            other = project.module(path)
            if other is None or other.body.binds(name):
                return True
            if name in other.imports and project.canonical(other.imports[name], other) != project.canonical(
                origin, module
            ):
                return True
            todo.append(other)
    return False
