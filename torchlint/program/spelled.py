"""What the texts beside the files of a program spell: its configurations the names of classes that it makes and of files that they start, its pages the methods that they call, all of them the words for its options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..system.regex import regex
from ..system.stamp import contents
from .installed import is_for_others

_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".conf", ".gin", ".sh", ".bash", ".slurm")
_TOLD = (".md", ".rst", ".ipynb", ".bat", ".ps1")
"""Texts that tell how a program is started, beside its pages."""
_STARTING = (*_ENDINGS, *_TOLD, ".txt", ".args", ".env", ".sbatch", ".pbs", ".zsh", ".fish", ".cmd", ".mk", ".jsonnet")
_STARTERS = ("makefile", "gnumakefile", "justfile", "procfile", "dockerfile")
"""Texts that may spell an option, by their endings and by what their names begin with."""
_NAMES = regex(rb"\b[A-Z]\w*|\b[a-z_]\w*(?=\.\w)|(?<=\w\.)[a-z_]\w*")
"""Classes, and the files, folders and functions of dotted names and paths."""
_PAGES = ("readme.md", "readme.rst", "readme.txt", "readme")
_CALLED = regex(rb"(?<=\.)[a-z_]\w*(?=\()")
"""Methods in a page: `model.generate(x)`."""
_WORDS = regex(rb"\b[A-Za-z][\w-]*")
_OF_OTHERS = frozenset("__pycache__ node_modules site-packages venv".split())
ASIDE = _OF_OTHERS | frozenset("build dist outputs runs wandb mlruns".split())
"""Folders of what others have written, or runs."""
_SERVICES = frozenset(".github .gitlab .circleci .vscode".split())
"""Hidden folders that tell how a program is started."""
_MOST_FOLDERS, MOST_FILES, MOST_BYTES = 1000, 1000, 1 << 18
"""Where there are more, or larger ones, nobody looks for a name in them."""


class Found(NamedTuple):
    """The files of some kind below the directory of a project; none where there are too many."""

    paths: Sequence[str] = ()
    folders: Sequence[str] = ()
    """Where they were looked for."""
    passed: Sequence[str] = ()
    """What is called like one and is no file: a link that leads nowhere, a pipe."""
    links: Sequence[str] = ()
    """All that lead to folders, or nowhere yet."""
    is_whole: bool = False
    """Whether there are no others, but behind links."""


def words_in(texts: Found) -> frozenset[str] | None:
    """All words of some texts, and the parts that hyphens join in them; None where nobody can tell."""
    words = _matches(texts, lambda path: _WORDS)
    return words.union(*(word.split("-") for word in words if "-" in word)) if words is not None else None


def names_in(found: Found) -> frozenset[str] | None:
    """The words with a capital letter in configurations, the parts of dotted names, and the methods that pages call; None where nobody can tell."""
    asked = found._replace(paths=[path for path in found.paths if _is_configuration(path)])
    return _matches(asked, lambda path: _CALLED if _is_page(path) else _NAMES)


def _matches(texts: Found, wanted: Callable[[str], re.Pattern[bytes]]) -> frozenset[str] | None:
    """What texts hold of a pattern, which may be another one for each."""
    if not texts.is_whole:
        return None
    found: set[bytes] = set()
    try:
        for path in texts.paths:
            # Without these, UTF-16 has the letters as ASCII does.
            found.update(wanted(path).findall(contents(path, MOST_BYTES).replace(b"\0", b"")))
    except OSError:
        return None
    return frozenset(one.decode("latin-1") for one in found)


def configurations(root: str) -> Found:
    """The configurations, pages and texts below the directory of a program; of those of a library nobody can tell."""
    if is_for_others(root):
        return Found()
    return below(root, ASIDE, lambda name: name.endswith(_ENDINGS + _TOLD) or name in _PAGES)


def texts(root: str) -> Found:
    """All texts there that may spell an option, also those that runs and services have; what a linked folder holds nobody can tell."""
    if is_for_others(root):
        return Found()
    found = below(root, _OF_OTHERS, lambda name: name.endswith(_STARTING) or name.startswith(_STARTERS), _SERVICES)
    return found._replace(is_whole=found.is_whole and not any(map(os.path.isdir, found.links)))


def below(
    root: str, aside: frozenset[str], is_wanted: Callable[[str], bool], hidden: frozenset[str] = frozenset()
) -> Found:
    """The files below a directory whose names, in small letters, are wanted; folders are left `aside`, and hidden ones but for some."""
    paths, folders, passed, links = list[str](), list[str](), list[str](), list[str]()
    is_readable, are_few, todo = True, True, [root]
    while todo and are_few:
        folders.append(todo.pop())
        try:
            with os.scandir(folders[-1]) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            is_readable = False
            continue
        for entry in found:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                todo += [entry.path] if name not in aside and (name[0] != "." or name in hidden) else []
            elif is_wanted(name.lower()):
                (paths if os.path.isfile(entry.path) else passed).append(entry.path)
            if entry.is_symlink() and not os.path.isfile(entry.path):
                links.append(entry.path)
        are_few = len(folders) <= _MOST_FOLDERS and len(paths) <= MOST_FILES
    return Found(paths if are_few else (), folders, passed, links, is_readable and are_few)


def _is_configuration(path: str) -> bool:
    """Whether names of a file may lead to classes, and files that are started; a page tells of some."""
    return path.lower().endswith(_ENDINGS) or _is_page(path)


def _is_page(path: str) -> bool:
    return os.path.basename(path).lower() in _PAGES
