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
_HOMES = frozenset((b"torch", b"nn", b"F", b"functional", b"init", b"amp", b"checkpoint"))
"""What modules of torch are called where something is put into them."""
_MEMBER = rb"[\"']?([\w.]+)(?:\.|,\s*[\"'])(\w+)[\"']"
_PATCHES = (
    rb"\n[ \t]*(torch)\.(?!backends\b|_dynamo\b|_inductor\b)(?:\w+\.)*(\w+)[ \t]*=(?!=)",
    rb"\n[ \t]*(F)\.(\w+)[ \t]*=(?!=)",
    rb"nn\.(init|functional)\.(\w+)[ \t]*=(?!=)",
    rb"setattr\(\s*" + _MEMBER,
    rb"patch(?:\.object)?\(\s*" + _MEMBER,
)
"""Ways to put something of one's own into a module: searches for what begins with a text take a few milliseconds."""
_PUT = rb"\.(%(names)s)[ \t]*=(?!=)|,\s*[\"'](%(names)s)[\"']"
"""How a file puts something into a module that it has imported: `helper.autocast = ...`, `setattr(helper, "autocast", ...)`."""
_CALLED = (rb"import torch as (\w+)", rb"import torch\.nn as (\w+)", rb"functional as (\w+)")
"""How files call modules of torch; what most call them is in `_PATCHES`."""
_UNDER = rb"\n[ \t]*%s\.(?:\w+\.)*(\w+)[ \t]*=(?!=)"
_RENAMES = regex(
    rb"(?<![\w.])exec\(|(?<![\w.])(?:globals|vars|locals)\(\)(?:\.update\(|\.__setitem__\(|\[[^\]\n]*\][ \t]*=(?!=))"
    rb"|sys\.modules\[[^\]\n]*\][\w.]*(?:\[[^\]\n]*\])?[ \t]*=(?!=)|setattr\(\s*sys\.modules\["
)
"""How a program gives its names another meaning without an assignment to them."""
_OWNER = regex(rb"[A-Za-z_][\w.]*$")
_FAR = 100
"""No dotted name is longer."""
_WORD = regex(rb"[A-Za-z_]\w*")


def is_meant(site: Site) -> bool:
    """Whether the names at a place that imports bind mean these imports, whatever way the program took there."""
    return not any(_may_be_another(site, node, origin) for node, origin in _imported(site))


def told_of_patches(site: Site, fix: Fix) -> Fix:
    """The fix; unsafe where the project puts something of its own in the place of what it takes or gives."""
    if fix.applicability != "safe":
        return fix
    project = site.project
    given = {word for edit in fix.edits for word in _WORD.findall(edit.text)}
    taken = set(_WORD.findall(site.name.rpartition(".")[2].encode()))
    for word in sorted((given | taken) & _patched_in_torch(project)):
        return _no_longer(fix, f"the project puts something else in the place of torch's `{word.decode()}`")
    names_ = {node.id.encode() for node, _ in _imported(site)}
    if names_ and site.module.source.holds(_RENAMES):
        return _no_longer(fix, "this file gives names another meaning as it runs")
    for word in sorted((given | names_) & _replaced(project, site.module)):
        return _no_longer(fix, f"the project puts something else in the place of this file's `{word.decode()}`")
    return fix


def _no_longer(fix: Fix, note: str) -> Fix:
    return replace(fix, applicability="unsafe", note=note)


def _patched_in_torch(project: Project) -> frozenset[bytes]:
    """The names in modules of torch under which any file of the project puts something."""

    def found() -> Iterator[bytes]:
        yield from (name for owner, name in _patched(project) if not _HOMES.isdisjoint(owner.split(b".")))
        for path in sorted({path for way in _CALLED for path in project.holders(way)}):
            source = project.source(path)
            yield from _put_under_aliases(source.data) if source is not None else ()

    return project.ask(("patched", "torch"), lambda: frozenset(found()), frozenset[bytes]())


def _put_under_aliases(data: bytes) -> Iterator[bytes]:
    """What a file puts into modules of torch that it calls by names of its own: `th.tensor = tensor`."""
    called = {name for way in _CALLED for name in re.findall(way, data)} - {b"F", b"nn", b"torch"}
    for name in sorted(called):
        yield from re.findall(_UNDER % name, data)


def _patched(project: Project) -> frozenset[tuple[bytes, bytes]]:
    """What any file of the project puts into a module by its dotted name, of torch or its own: what is called how, and the member."""

    def found() -> Iterator[tuple[bytes, bytes]]:
        for way in _PATCHES:
            for path in project.holders(way):
                source = project.source(path)
                yield from re.findall(way, source.data) if source is not None else ()

    return project.ask(("patched", "modules"), lambda: frozenset(found()), frozenset[tuple[bytes, bytes]]())


def _replaced(project: Project, module: Module) -> frozenset[bytes]:
    """The imports of a module in whose place another file of the project puts something, as tests do."""
    return project.ask(
        ("replaced", module), lambda: frozenset(_put_from_elsewhere(project, module)), frozenset[bytes]()
    )


def _put_from_elsewhere(project: Project, module: Module) -> Iterator[bytes]:
    stem = module.name.rpartition(".")[2]
    yield from (name for owner, name in _patched(project) if owner.rpartition(b".")[2] == stem.encode())
    imported = b"|".join(re.escape(name.encode()) for name in sorted(module.body.imports))
    put = re.compile(_PUT % {b"names": imported})
    for path in project.importers(module) if imported else ():
        source, other = project.source(path), None
        for found in put.finditer(source.data) if source is not None else ():
            owner = _OWNER.search(found.string[max(found.start() - _FAR, 0) : found.start()])
            other = other or project.module(path)
            if owner is not None and other is not None and _is_called(owner[0].decode(), stem, other):
                yield found[1] or found[2]


def _is_called(written: str, stem: str, module: Module) -> bool:
    """Whether a dotted name is that of an imported module whose own name has such an end."""
    first, _, rest = written.partition(".")
    origins = (scope.imports[first] for scope in module.functions if first in scope.imports)
    return any(f"{origin}.{rest}".rstrip(".").rpartition(".")[2] == stem for origin in origins)


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
