"""What the configurations of a program spell: a class that it makes by a text has its name there, and a file that they start; and which methods its pages show calls of."""

from __future__ import annotations

import os

from ..query.question import question
from ..system.regex import regex
from ..system.stamp import contents
from .installed import is_for_others
from .project import Project

_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".conf", ".gin", ".sh", ".bash", ".slurm")
_NAMES = regex(rb"\b[A-Z]\w*|\b[a-z_]\w*(?=\.\w)|(?<=\w\.)[a-z_]\w*")
"""Classes, and the files, folders and functions of dotted names and paths."""
_PAGES = ("readme.md", "readme.rst", "readme.txt", "readme")
_CALLED = regex(rb"(?<=\.)[a-z_]\w*(?=\()")
"""Methods in a page: `model.generate(x)`."""
_ASIDE = frozenset("__pycache__ node_modules site-packages venv build dist outputs runs wandb mlruns".split())
"""Folders of what others have written, or runs."""
_MOST_FOLDERS, _MOST_FILES, _MOST_BYTES = 1000, 1000, 1 << 18
"""Where there are more, or larger ones, nobody looks for a name in them."""


@question("configured", None)
def configured(project: Project) -> frozenset[str] | None:
    """The names that the configurations of a project spell, None where nobody can tell; the cache is told by its frame."""
    return names_in(configurations(project.home.root))


def names_in(paths: list[str] | None) -> frozenset[str] | None:
    """The words with a capital letter in configurations, the parts of dotted names, and the methods that pages call; None where nobody can tell."""
    if paths is None:
        return None
    names: set[bytes] = set()
    try:
        for path in paths:
            wanted = _CALLED if _is_page(path) else _NAMES
            names.update(wanted.findall(contents(path, _MOST_BYTES)))
    except OSError:
        return None
    return frozenset(name.decode("latin-1") for name in names)


def configurations(root: str) -> list[str] | None:
    """The paths of the configurations and pages below the directory of a program; None where there are too many, or it is that of a library."""
    if is_for_others(root):
        return None
    found: list[str] = []
    for number, (folder, folders, files) in enumerate(os.walk(root)):
        folders[:] = sorted(name for name in folders if name not in _ASIDE and not name.startswith("."))
        paths = (os.path.join(folder, name) for name in sorted(files) if name.endswith(_ENDINGS) or _is_page(name))
        found += filter(os.path.isfile, paths)  # no links that lead nowhere, nor pipes
        if number >= _MOST_FOLDERS or len(found) > _MOST_FILES:
            return None
    return found


def _is_page(path: str) -> bool:
    return os.path.basename(path).lower() in _PAGES
