"""Whether a project looks names up as it runs: what it may find so counts as used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import Module
from ..query.question import question
from ..system.regex import regex
from ..text.declared import WORD, import_text
from ..text.finders import fact_of_files
from ..text.source import Source, SourceError
from ..text.whole_words import WholeWords
from .project import Project

TOP, ANY_TOP, MEMBER, ANY_MEMBER = "*top", "*any top", "*member", "*any member"
"""What a project may find as it runs, in any file: what stands at its top, or a member; by a name that some text spells, or by any."""
_IMPORTS = (
    b"import",
    regex(rb"\b(?:import_module|__import__)\(\s{0,99}(?![\"'][\w.]*[\"']\s*[,)])(?:f?[\"'](\.?\w*))?"),
)
"""What imports a file by a text that is made as the program runs; found is how the text begins, where that is written."""
_LOADS = WholeWords(
    *(b"spec_from_file_location", b"SourceFileLoader", b"load_source", b"runpy", b"_target_", b"obj_from_dict")
)
"""What loads a file by its path, or a class by a name: mmcv's `obj_from_dict(dict(type="Net"), models)`."""
_BY_WHOLE = regex(rb"\.rsplit\(")
"""How the whole name of a class is divided into that of its file and its own: `path.rsplit(".", 1)`."""
_BY_TABLE = (
    WholeWords(*(b"pkgutil", b"__subclasses__")),
    regex(rb"(?<!in )\bsys\.modules\b(?!\[\s*(?:__name__|[\"'])|\.(?:get|pop|setdefault)\([\"'])"),
)
"""What goes through all that there is."""
_PUT_TOGETHER = regex(rb"(?i)camel|\.(?:title|capitalize)\(\)")
"""How a name is made of another one."""
_RUN = (
    regex(rb"\bglobals\(\)|\bsys\.modules\[__name__\]"),
    regex(rb"exec\((?<!def exec\()(?<![\w.]exec\()\s*[^)\s]"),
    regex(rb"eval\((?<!def eval\()(?<![\w.]eval\()\s*(?!f?[\"']\w+\.)[^)\s]"),
)
"""What runs a text, or finds by one, what a file has and imports."""
_RUNNERS = ("globals", "exec", "eval")
_ALL_OF = regex(rb"\bfrom \.*(\w[\w.]*) import ?\*")
"""All that a package hands out: `from runners import *`, where `eval(args.runner)` finds what its files have."""
_BY_OPTIONS = regex(rb"(?m)^[ \t]*(?:from|import)[ \t]+(?:hydra|jsonargparse|gin)\b")
_BY_COMMAND = regex(rb"(?m)^[ \t]*(?:from|import)[ \t]+fire\b")
_OPTIONS = (b"hydra", b"jsonargparse", b"gin")
"""What makes objects by the words of a configuration."""
_EVALUATED = (b"eval(", regex(rb"eval\((?<!def eval\()(?<![\w.]eval\()\s*f?[\"'](\w+)\."))
"""What evaluates a text that begins with a name: `eval("networks." + name)` finds what is in `networks`."""
_GETS = rb"getattr\((?<!\wgetattr\()\s{0,99}([A-Za-z_]\w{0,99})(?!\w)[\w.]{0,299}\s{0,99},(?!\s*[\"']\w*[\"']\s*[,)])"
_GIVEN = rb"\s{0,99}[A-Za-z_][\w.]{0,99}\s{0,99}[,)]"
_OF_OBJECT = (
    (b"getattr(", regex(_GETS + rb"(?=%s)" % _GIVEN), MEMBER),
    (b"getattr(", regex(_GETS + rb"(?!%s)" % _GIVEN), ANY_MEMBER),
    (b"vars(", regex(rb"vars\((?<!\wvars\()\s*([A-Za-z_]\w*)"), ANY_MEMBER),
    (b".__dict__", regex(rb"(?<!\w)([A-Za-z_]\w{0,99})(?!\w)[\w.]{0,299}\.__dict__\b"), ANY_MEMBER),
)
"""What looks a member up by a name that is made as the program runs, each with a word of it, and which names it may have; found is the first word of what it is of."""
_ORIGIN = regex(rb"[ \t]*from[ \t]+([\w.]+)")
_MODULE = regex(rb"mod|pack|pkg|lib|arch|net")
"""Part of a name that a parameter has which gets a module, or an object of one."""
_OBJECT = regex(rb"(?:^|_)(?:model|net|module)$")
"""What objects are called, and no files."""


def looks_up(project: Project, module: Module, *marks: str) -> bool:
    """Whether a project may find what a file defines by a name that it makes as it runs: `vars(models)[name]`.

    `marks`: also where it may find these in any file.
    """
    places = project.home(module.path).removesuffix(".py").split("/")
    imported = (places[-1], *module.top_classes, *module.top_functions)
    packages = ("/".join(places[at:-1]) + "/" for at in range(len(places) - 1))
    return bool({*marks, *places, *packages, *(f"={name}" for name in imported)} & looked_into(project))


@question("looked into", frozenset())
def looked_into(project: Project) -> frozenset[str]:
    """The words by which a project names modules whose members it looks up, with what it may find in any.

    Behind `=` what files import that run texts, before `/` the packages of which they import all.
    """
    said = project.said("looked into", _looked_into)
    words = {word for path, words in said.items() for word in words if not project.in_test(path, "")}
    return frozenset((*words, *_handed_on(project, [word for word in words if word.endswith("/")])))


def _handed_on(project: Project, packages: list[str]) -> Iterator[str]:
    """What the files import of which one that runs texts imports all: `from renderer import *` brings that, too."""
    seen: set[str] = set()
    while packages:
        place = packages.pop().rstrip("/")
        likely = (f"/{place}.py", f"/{place}/__init__.py")
        for path in project.called(place.rpartition("/")[2]):
            if path not in seen and f"/{project.home(path)}".endswith(likely):
                seen.add(path)
                text = project.import_text(path)
                yield from (f"={word.decode('latin-1')}" for word in WORD.findall(text))
                packages += (_place(name) for name in _ALL_OF.findall(text))


def _place(package: bytes) -> str:
    return package.decode("latin-1").replace(".", "/") + "/"


@fact_of_files("looked into")
def _looked_into(source: Source) -> list[str]:
    imports = source.fact("imports", import_text)
    named = any(word in imports for word in _OPTIONS) and source.holds(_BY_OPTIONS)
    found = {TOP} if named or source.holds(_LOADS) else set[str]()
    folder, _, file = source.path.replace("\\", "/").rpartition("/")
    for begins in set(_found(source, *_IMPORTS)):
        if begins:
            found.add(folder.rpartition("/")[2] if begins.startswith(b".") else begins.decode("latin-1"))
        else:
            found.add(TOP if source.holds(_BY_WHOLE) else ANY_TOP)
    if any(source.holds(one) for one in _BY_TABLE):
        found.add(ANY_TOP)
    if any(source.holds(one) for one in _RUN) and _runs_texts(source):
        own = file.removesuffix(".py")
        found.update(f"={word}" for word in (own, *(word.decode("latin-1") for word in WORD.findall(imports))))
        found.update(map(_place, _ALL_OF.findall(imports)))
    if b"fire" in imports and source.holds(_BY_COMMAND):
        found.update((ANY_TOP, ANY_MEMBER))
    owners = {(word, mark) for word, pattern, mark in _OF_OBJECT for word in _found(source, word, pattern)}
    for owner, mark in owners:
        if _MODULE.search(owner):
            mark = ANY_MEMBER if source.holds(_PUT_TOGETHER) else mark
            found.add(mark)
            if not _OBJECT.search(owner):
                found.add(TOP if mark == MEMBER else ANY_TOP)
        found.update(_imported_with(source, owner))
    for owner in set(_found(source, *_EVALUATED)):
        found.update(_imported_with(source, owner) or {ANY_TOP, ANY_MEMBER})
    return sorted(found)


def _runs_texts(source: Source) -> bool:
    """Whether the code of a file does what one of `_RUN` tells of: comments and docstrings speak of it, too."""
    try:
        nodes = ast.walk(source.parse())
    except SourceError:
        return True
    return any(
        node.func.id in _RUNNERS
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        else isinstance(node, ast.Attribute) and node.attr == "modules"
        for node in nodes
    )


def _found(source: Source, word: bytes, pattern: re.Pattern[bytes]) -> list[bytes]:
    return pattern.findall(source.data) if source.holds(word) else []


def _imported_with(source: Source, name: bytes) -> set[str]:
    """What the lines of a file that import a name bring: a module, or an object, with the file behind `=` that it stands in."""
    if name not in source.fact("imports", import_text):
        return set()
    lines = re.findall(rb"(?m)^[ \t]*(?:from|import)\b[^\n#]*\b%s\b" % name, source.data)
    found: set[bytes] = set()
    for line in lines:
        origin = _ORIGIN.match(line)
        brought = re.search(rb"(?<![\w.])([\w.]+)[ \t]+as[ \t]+%s$" % name, line)
        found.add((brought[1] if brought else name).rpartition(b".")[2])
        if origin:
            found.add(b"=" + origin[1].rpartition(b".")[2])
    return {one.decode("latin-1") for one in found}
