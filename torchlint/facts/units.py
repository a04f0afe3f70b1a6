"""Digests of parts of a file (a function, the head of a class), which tell when that part changes and nothing else.

A part depends on what its names mean too: a name of the module counts as what it is bound to there, not as how.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from ..system.cached import kept
from ..system.regex import regex
from ..system.stamp import as_bytes, digest
from .module import Class, Function, Module, first_line

_WORD = regex(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
BODY = "<module>"
"""The unit of a module's own statements, those of its classes among them."""


def bound(module: Module, name: str) -> str:
    """What a module binds a name to, as far as others can see without looking into it."""
    kinds = f"{name in module.top_functions:d}{name in module.top_classes:d}"
    origin = module.imports.get(name, "")
    again = f"{len(module.body.rebound.get(name, ()))}" if origin else ""
    return f"{kinds}{origin}{again}|{','.join(module.stars)}"


def outermost(function: Function) -> Function:
    """The outermost function around one: itself where it stands in no other, or is the module's body."""
    body = function.module.body
    while function.parent is not None and function.parent is not body:
        function = function.parent
    return function


def unit_of(function: Function) -> str:
    """The name of the outermost function around one, of one itself, or of the module's body."""
    return outermost(function).qualname


def top_of(part: Function | Class) -> str:
    """The name of the class or function at the top of the module that one is or is part of; "<module>" for its body."""
    return part.qualname.partition(".")[0]


def related(module: Module, one: str, other: str) -> bool:
    """Whether two things at the top of a module are one, or one of them names the other; its body goes with all."""
    if one == other or BODY in (one, other):
        return True
    return any(re.search(rf"\b{b}\b".encode(), _top_text(module, a)) for a, b in ((one, other), (other, one)))


def _top_text(module: Module, name: str) -> bytes:
    top = module.top_functions.get(name) or module.top_classes.get(name)
    node = top.node if top is not None else None
    if node is None or isinstance(node, ast.Module):
        return b""
    return _lines(module, first_line(node), node.end_lineno or node.lineno)


def unit(module: Module, name: str) -> str:
    """The digest of a function at the top of a module or of its classes, or of the module's body; "" where there is none."""
    known: dict[str, str] = module.__dict__.setdefault("units", {})
    if name not in known:
        text = _body(module) if name == BODY else b"\0".join(_texts(module, name))
        known[name] = _mark(module, text) if text or name == BODY else ""
    return known[name]


def top(module: Module, name: str) -> str:
    """The digest of all that stands at the top of a module under a name: a class with its methods, or a function."""
    known: dict[str, str] = module.__dict__.setdefault("tops", {})
    if name not in known:
        nodes = (klass.node for klass in module.classes if klass.qualname == name)
        classes = (_lines(module, first_line(node), node.end_lineno or node.lineno) for node in nodes)
        known[name] = _mark(module, b"\0".join((*_texts(module, name), *classes)))
    return known[name]


def head(klass: Class) -> str:
    """The digest of a class's bases, keywords and decorators, and of its methods' names and decorators."""
    return kept(klass, "head", lambda: _head(klass))


def _head(klass: Class) -> str:
    module = klass.module
    if klass.parent is not module.body:
        return _mark(module, module.source.data)
    node = klass.node
    parts = [ast.dump(part) for part in (*node.bases, *node.keywords, *node.decorator_list)]
    parts += ["", *(f"{name} {sorted(method.decorator_names)}" for name, method in klass.methods.items())]
    return _mark(module, "\n".join(parts).encode())


def stores(klass: Class, name: str, found: Iterable[Function]) -> str:
    """The digest of the places where a class gives its objects an attribute: methods that assign it, its own statements."""
    module = klass.module
    if klass.parent is not module.body:
        return digest(module.source.data).hex()
    parts = [unit_of(method) for method in found]
    registering = [method for method, _ in klass.registered.get(name, ())]
    setters = [klass.methods[one] for one in klass.setters] if registering else []
    parts += [unit(module, unit_of(method)) for method in dict.fromkeys((*registering, *setters))]
    for statement in klass.node.body:
        if isinstance(statement, ast.AnnAssign | ast.Assign):
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                parts.append(ast.dump(statement))
    return digest(*(part.encode() for part in parts)).hex()


def _mark(module: Module, text: bytes) -> str:
    own = module.body.bound
    words = sorted(word.decode() for word in _names(module).intersection(_WORD.findall(text)))
    meanings = (f"{word} {bound(module, word)} {word in own}" for word in words)
    return digest(text, *(as_bytes(meaning) for meaning in meanings), as_bytes(",".join(module.stars))).hex()


def _names(module: Module) -> frozenset[bytes]:
    """The names that mean something in a module, as its text has them."""
    known = (module.body.bound, module.imports, module.top_functions, module.top_classes)
    return kept(module, "names", lambda: frozenset(name.encode() for names in known for name in names))


def _texts(module: Module, name: str) -> list[bytes]:
    return [
        _lines(module, first_line(one.node), one.last_line)
        for one in module.functions
        if one.qualname == name and one.parent is module.body and not isinstance(one.node, ast.Module)
    ]


def _body(module: Module) -> bytes:
    """A module's statements and those of its classes, without functions but with their decorators, and with no lines between them."""
    data, starts = module.source.data, [*module.source.lines, len(module.source.data)]
    wanted = bytearray(len(starts))
    for first, last in _extents(module.tree.body):
        wanted[first : last + 1] = b"\1" * (last + 1 - first)
    for one in module.functions[1:]:
        if one.parent is module.body:
            wanted[one.first_line : one.last_line + 1] = bytes(one.last_line + 1 - one.first_line)
    return b"".join(data[starts[line - 1] : starts[line]] for line, is_wanted in enumerate(wanted) if is_wanted)


def _extents(body: Iterable[ast.stmt]) -> Iterator[tuple[int, int]]:
    """The first and last lines of statements; of a class those of its head and of the statements in it."""
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield first_line(statement), max(statement.lineno, statement.body[0].lineno - 1)
            yield from _extents(statement.body)
        else:
            yield first_line(statement), statement.end_lineno or statement.lineno


def _lines(module: Module, first: int, last: int) -> bytes:
    """The text of some lines, both included."""
    data, starts = module.source.data, module.source.lines
    return data[starts[first - 1] : starts[last] if last < len(starts) else len(data)]
