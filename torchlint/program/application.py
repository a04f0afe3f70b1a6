"""What is known of a project as a whole: whether it is a program, and whether it looks names up as it runs."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from ..facts.module import Module
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import contents
from ..text.source import Source
from .project import Project

_BY_TEXT = regex(
    rb"(?m)\bimportlib\b|\b__import__\b|\bimport_module\b|\bpkgutil\b|\brunpy\b|\b_target_\b"
    rb"|^[ \t]*(?:from|import)[ \t]+(?:hydra|fire|jsonargparse|gin)\b"
    rb"|(?<!def )(?<![\w.])exec\(\s*[^)\s]|(?<!def )(?<![\w.])eval\(\s*(?!f?[\"']\w+\.)[^)\s]|\bglobals\(\)|\bsys\.modules\b|\b__subclasses__\b"
)
"""What imports files, finds members of them, or calls methods by a text."""
_EVALUATED = regex(rb"(?<!def )(?<![\w.])eval\(\s*f?[\"'](\w+)\.")
"""What evaluates a text that begins with a name: `eval("networks." + name)` finds what is in `networks`."""
_OF_OBJECT = regex(
    rb"\bgetattr\(\s*([A-Za-z_]\w*)[\w.]*\s*,(?!\s*[\"']\w*[\"']\s*[,)])|\bvars\(\s*([A-Za-z_]\w*)|\b([A-Za-z_]\w*)[\w.]*\.__dict__\b"
)
"""What looks a member up by a name that is made as the program runs; the first word of what it is of."""
_MODULE = regex(rb"mod|pack|pkg|lib|arch|net")
"""Part of a name that a parameter has which gets a module."""


_TORCH = rb"\btorch\b"
_MAIN = rb"(?m)^if __name__ == "
_SCRIPTS = regex(r"(?:scripts?|tools?|demos?|bin|src|code|experiments?)/[^/]+$")
"""Where the scripts of a program lie that has none at its top."""
_BUILD = regex(rb"(?m)^\[build-system\]")
_MOST_BYTES = 1 << 20


@question("library", False)
def is_library(project: Project) -> bool:
    """Whether a project is built or installed for others, which takes no look at what its files say."""
    places = (project.home(path) for stem in ("setup", "hubconf") for path in project.called(stem))
    return any(place in ("setup.py", "hubconf.py") for place in places) or is_built(project.home.root)


@question("application", False)
def is_application(project: Project) -> bool:
    """Whether a project is a program and no library: scripts stand at its top, or in a folder there that is called so."""
    if is_library(project):
        return False
    places = sorted(place for path in project.paths if (place := project.home(path)).endswith(".py"))
    if any(project.any_holds(_TORCH, place) for place in places if "/" not in place):
        return True
    scripts = [place for place in places if _SCRIPTS.match(place) is not None]
    return any(project.any_holds(_MAIN, place) and project.any_holds(_TORCH, place) for place in scripts)


def is_built(root: str) -> bool:
    """Whether the `pyproject.toml` of a directory says how to build a package; the cache is told by its key."""
    with suppress(OSError):
        return _BUILD.search(contents(os.path.join(root, "pyproject.toml"), _MOST_BYTES)) is not None
    return False


def looks_up(project: Project, module: Module, *, by_text: bool = True) -> bool:
    """Whether a project may find what a file defines by a name that it makes as it runs: `vars(models)[name]`.

    `by_text`: also where it may import any file so, or call methods of any object.
    """
    places = project.home(module.path).removesuffix(".py").split("/")
    return bool({"*", *places} & looked_into(project) - ({"*"} if not by_text else set()))


@question("looked into", frozenset())
def looked_into(project: Project) -> frozenset[str]:
    """The words by which a project names modules whose members it looks up; "*" stands for any."""
    return frozenset(word for path in project.paths for word in project.fact(path, "looked into", _looked_into) or ())


def _looked_into(source: Source) -> list[str]:
    found = {b"*"} if source.holds(_BY_TEXT) else set[bytes]()
    for owner in {word for one in _OF_OBJECT.finditer(source.data) for word in one.groups() if word}:
        if _MODULE.search(owner):
            found.add(b"*")
        for line in _imports_of(source, owner):
            found.update(re.findall(rb"\w+", line))
    for owner in set(_EVALUATED.findall(source.data)):
        lines = _imports_of(source, owner)
        found.update(word for line in lines for word in re.findall(rb"\w+", line))
        if not lines:
            found.add(b"*")
    return sorted(word.decode("latin-1") for word in found)


def _imports_of(source: Source, name: bytes) -> list[bytes]:
    """The lines of a file that import a name."""
    return re.findall(rb"(?m)^[ \t]*(?:from|import)\b[^\n#]*\b%s\b" % name, source.data)
