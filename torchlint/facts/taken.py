"""Which names a file may have from another one: by an import, of a module that it holds as an object, by a text."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import PurePath

from ..system.regex import regex
from ..text.declared import import_text, packages_of
from ..text.source import Source, SourceError
from .names import chain, last

Others = Callable[[bytes], Iterable[Source]]
"""The other files of the project that hold a word, of whatever kind."""
_OUTSIDE = frozenset(("torch", "functorch", "triton", "torchvision", "numpy", "scipy")) | sys.stdlib_module_names
"""What is no file of the project."""
_PYTHON = (".py", ".pyi", ".ipynb")
_OWN = frozenset(("self", "cls"))
_OPTIONS = frozenset("args opt opts cfg conf config options hparams flags params".split())
"""What holds options, and is no module unless it is imported."""
_TEXT = regex(r"(?:[\w.]*[.:])?([^\W\d]\w*)")
"""A text that may name a member, with or without its module: `"autocast"`, `"train.autocast"`, `"train:main"`."""
_WORD = regex(r"[^\W\d]\w*")
_IMPORTS = regex(rb"\bfrom[ \t]+(?!(?:torch|functorch|triton)\b)[\w.]+[ \t]+import\b(?:[^\n(]*|[ \t]*\([^)]*)")
_STAR = regex(rb"\bimport[\s\\]*\*")
_SHEBANG = regex(rb"#![^\n]*python")
_LOOKS_UP = regex(
    rb"\bgetattr\(\s{0,99}([\w.]{1,99})\s{0,99},(?!\s{0,99}[\"']\w*[\"']\s{0,99}[,)])"
    rb"|\b(?:vars|dir|getmembers)\(\s{0,99}([\w.]{1,99})\s{0,99}[,)]|(?<![\w.])([\w.]{1,99})\.__dict__"
)
"""How a file looks up members of what it has a name for, by names that only the run knows, or goes through all of them."""


def may_be_taken(path: str, name: str, others: Others) -> bool:
    """Whether another file may have what an import binds to a name in a file.

    Who has the file as an object reaches all its names: so any file counts that has the word otherwise than from torch.
    """
    stems = list(_names_of(path, others))
    if any(_takes(source, name, stems) for source in others(name.encode())):
        return True
    return any(_looks_into(source, stem) for stem in stems for source in others(stem.encode()))


def _takes(source: Source, name: str, stems: Iterable[str]) -> bool:
    """Whether a file reads a name that may be that of a file which is called in one of some ways."""
    if not source.holds(_mark(name)):
        return False
    if not source.path.endswith(_PYTHON) and not source.holds(_SHEBANG):
        return any(re.search(rb"\b%s\b" % name.encode(), one) for one in _IMPORTS.findall(source.data))
    try:
        taken = source.fact("taken", lambda one: frozenset(_taken(one.parse())))
    except SourceError:
        return True
    return name in taken or any(f"{stem}.{name}" in taken for stem in ("", *stems))


def _mark(name: str) -> re.Pattern[bytes]:
    """What is in a file that takes a name: behind a dot or in quotes, imported from elsewhere, or by a star import."""
    word = name.encode()
    behind = rb"(?<!\btorch)(?<!\btorch\.amp)(?<!\btorch\.cuda\.amp)(?<!\bself)[.:\"'][\s\\]{0,99}%s\b" % word
    imported = rb"\bimport[\s\\](?:[^\n(]|\\\n)*(?:\([^)]*)?\b%s\b" % word
    return re.compile(rb"%s|%s|\bimport[\s\\]*\*" % (behind, imported))


def _taken(tree: ast.AST) -> Iterator[str]:
    """The names that the code of a file has from elsewhere than torch and what is no file of the project.

    What it may have by a star import stands behind what that imports from: `utils.vmap`.
    """
    nodes = list(ast.walk(tree))
    outside, imported = set[str](), set[str]()
    bound, stars = dict[str, int](), dict[str, int]()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            imported |= names
            bound.update(dict.fromkeys(names, node.lineno))
            if _is_outside(node):
                outside |= names
            elif isinstance(node, ast.ImportFrom):
                if "*" in names:
                    stars[(node.module or "").rpartition(".")[2]] = node.lineno
                yield from (alias.name for alias in node.names)
    options, objects = _OPTIONS - imported, _OWN | _made(nodes)
    loaded = set[str]()
    spoken = {part for node in nodes for part in _spoken(node)}
    for node in nodes:
        match node:
            case ast.Attribute(ctx=ast.Load() | ast.Del(), attr=name) if not _is_of(
                node.value, outside | options, options | objects
            ):
                yield name
            case ast.Name(id=name, ctx=ast.Load()):
                loaded.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound[name] = max(node.lineno, bound.get(name, 0))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound[name] = max(node.lineno, bound.get(name, 0))
            case ast.Constant(value=str(text)) if node not in spoken:
                yield from _named_in(text)
    # What a star import brings stands in the place of what was bound above it.
    for stem, line in stars.items():
        yield from (f"{stem}.{name}" for name in loaded if bound.get(name, 0) < line)


def _spoken(node: ast.AST) -> Iterator[ast.AST]:
    """The texts of a node that are read by nobody, or name what the file itself has: docstrings and annotations."""
    if isinstance(node, ast.Expr):
        yield node.value
    for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
        if annotation is not None:
            yield from ast.walk(annotation)


def _is_outside(node: ast.Import | ast.ImportFrom) -> bool:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    level = node.level if isinstance(node, ast.ImportFrom) else 0
    return level == 0 and all(name.partition(".")[0] in _OUTSIDE for name in modules)


def _made(nodes: Iterable[ast.AST]) -> set[str]:
    """The names and attributes that are objects of classes by all that is assigned to them: `accelerator = Accelerator()`."""
    made, other = set[str](), set[str]()
    for node in nodes:
        if isinstance(node, ast.Assign):
            is_made = isinstance(node.value, ast.Call) and _is_class(last(node.value.func))
            (made if is_made else other).update(map(last, node.targets))
        elif isinstance(node, ast.arg):
            other.add(node.arg)
    return made - other


def _is_class(name: str) -> bool:
    return name[:1].isupper()


def _is_of(owner: ast.expr, roots: Collection[str], ends: Collection[str]) -> bool:
    """Whether an expression begins with what is no file of the project, or ends with an object that is no module."""
    if isinstance(owner, ast.Call):
        return last(owner.func) == "super" or _is_class(last(owner.func))
    parts = chain(owner)
    return parts is not None and (parts[0] in roots or parts[-1] in ends)


def _named_in(text: str) -> Iterator[str]:
    """The member that a text may name, or all words of one that is a program."""
    named = _TEXT.fullmatch(text)
    if named is not None:
        yield named[1]
    elif "import" in text:
        yield from _WORD.findall(text)


def _names_of(path: str, others: Others) -> Iterator[str]:
    """What a file is called, with the files and packages that hand on all it has."""
    seen, todo = set[str](), [_stem(path)]
    while todo:
        stem = todo.pop()
        if stem in seen:
            continue
        seen.add(stem)
        yield stem
        handing = rb"\bfrom [\w.]*\b%s import \*" % re.escape(stem.encode())
        for source in others(stem.encode()):
            if source.holds(_STAR) and re.search(handing, source.fact("imports", import_text)):
                todo.append(_stem(source.path))


def _stem(path: str) -> str:
    place = PurePath(path)
    return place.parent.name if place.stem == "__init__" else place.stem


def _looks_into(source: Source, stem: str) -> bool:
    """Whether a file looks up members of a module that is called so, by names that only the run knows."""
    return source.holds(_LOOKS_UP) and stem in source.fact("modules looked into", _looked_into)


def _looked_into(source: Source) -> frozenset[str]:
    imports = source.fact("imports", import_text)
    found = set[str]()
    for parts in _LOOKS_UP.findall(source.data):
        owner = b"".join(parts)
        root, _, rest = owner.partition(b".")
        word = rb"\b%s\b" % re.escape(root)
        by_text = re.findall(word + rb"\s*=[^\n]*\b(?:import_module|__import__)\(\s*[\"']([\w.]+)", source.data)
        if not by_text and not re.search(word, imports):
            continue
        renamed = re.findall(rb"([\w.]+) as " + word, imports)
        origins = packages_of(imports, root) if not rest else ()
        known = {*(one.decode("latin-1") for one in renamed), *origins}
        if not known or not all(one.partition(".")[0] in _OUTSIDE for one in known):
            found.update(one.rpartition(b".")[2].decode("latin-1") for one in (*by_text, *renamed, owner))
    return frozenset(found)
