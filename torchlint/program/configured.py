"""What the configurations of a program spell: a class that it makes by a text has its name there, and a file that they start; and which methods its pages show calls of."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from ..query.question import question
from ..system.regex import regex
from ..system.stamp import contents
from .installed import is_for_others
from .project import Project

_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".conf", ".gin", ".sh", ".bash", ".slurm")
_TOLD = (".md", ".rst", ".ipynb", ".bat", ".ps1")
"""Texts that tell how a program is started, beside its pages."""
_NAMES = regex(rb"\b[A-Z]\w*|\b[a-z_]\w*(?=\.\w)|(?<=\w\.)[a-z_]\w*")
"""Classes, and the files, folders and functions of dotted names and paths."""
_PAGES = ("readme.md", "readme.rst", "readme.txt", "readme")
_CALLED = regex(rb"(?<=\.)[a-z_]\w*(?=\()")
"""Methods in a page: `model.generate(x)`."""
_WORDS = regex(rb"\b[A-Za-z][\w-]*")
_VALUES = regex(rb"\b[A-Za-z][\w-]*(?![\w-])(?![\"']?[ \t]*:)")
"""Words of a configuration that are no keys: `mean` of `norm: mean`."""
_ASIDE = frozenset("__pycache__ node_modules site-packages venv build dist outputs runs wandb mlruns".split())
"""Folders of what others have written, or runs."""
_MOST_FOLDERS, _MOST_FILES, _MOST_BYTES = 1000, 1000, 1 << 18
"""Where there are more, or larger ones, nobody looks for a name in them."""


@question("configured", None)
def configured(project: Project) -> frozenset[str] | None:
    """The names that the configurations of a project spell, None where nobody can tell; the cache is told by its frame."""
    return names_in(_paths(project))


@question("configured words", None)
def words(project: Project) -> frozenset[str] | None:
    """All words that the configurations and texts of a project have, keys apart, None where nobody can tell; the cache is told by its frame."""
    return words_in(_paths(project))


@question("configurations", None)
def _paths(project: Project) -> list[str] | None:
    return configurations(project.home.root)


def words_in(paths: list[str] | None) -> frozenset[str] | None:
    """All words of some configurations and texts, keys apart, None where nobody can tell."""
    return _found(paths, lambda path: _VALUES if path.endswith(_ENDINGS) else _WORDS)


def names_in(paths: list[str] | None) -> frozenset[str] | None:
    """The words with a capital letter in configurations, the parts of dotted names, and the methods that pages call; None where nobody can tell."""
    asked = [path for path in paths if _is_configuration(path)] if paths is not None else None
    return _found(asked, lambda path: _CALLED if _is_page(path) else _NAMES)


def _found(paths: list[str] | None, wanted: Callable[[str], re.Pattern[bytes]]) -> frozenset[str] | None:
    """What texts hold of a pattern, which may be another one for each."""
    if paths is None:
        return None
    found: set[bytes] = set()
    try:
        for path in paths:
            found.update(wanted(path).findall(contents(path, _MOST_BYTES)))
    except OSError:
        return None
    return frozenset(one.decode("latin-1") for one in found)


def configurations(root: str) -> list[str] | None:
    """The paths of the configurations, pages and texts below the directory of a program; None where there are too many, or it is that of a library."""
    if is_for_others(root):
        return None
    found: list[str] = []
    for number, (folder, folders, files) in enumerate(os.walk(root)):
        folders[:] = sorted(name for name in folders if name not in _ASIDE and not name.startswith("."))
        paths = (
            os.path.join(folder, name) for name in sorted(files) if _is_configuration(name) or name.endswith(_TOLD)
        )
        found += filter(os.path.isfile, paths)  # no links that lead nowhere, nor pipes
        if number >= _MOST_FOLDERS or len(found) > _MOST_FILES:
            return None
    return found


def _is_configuration(path: str) -> bool:
    """Whether names of a file may lead to classes, and files that are started; a page tells of some."""
    return path.endswith(_ENDINGS) or _is_page(path)


def _is_page(path: str) -> bool:
    return os.path.basename(path).lower() in _PAGES
