"""Whether what lies in a directory is built or installed for others, or only to be worked on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from ..system.regex import regex
from ..system.stamp import contents

_BUILD = regex(rb"(?m)^\[build-system\]")
_COMPILERS = regex(rb"maturin|scikit[-_]build|meson|cmake|bazel|rust")
_MOST_BYTES = 1 << 20
PAGES = ("README.md", "README.rst", "README.txt", "README", "readme.md", "Readme.md", "INSTALL.md")
"""Files that tell how to install a project."""
_SETTINGS = ("pyproject.toml", "setup.py", "setup.cfg")
_INSTALLS = regex(rb"(?i)\b(?:pip3?|conda|mamba|poetry|uv|pdm)\b[^\n`]{0,99}?\b(?:install|add)\b([^\n`]*)")
_OFFERED = regex(rb"(?i)pypi\.org/project/|badge\.fury\.io/py/|shields\.io/pypi|anaconda\.org/")
"""What a page has of a package that others install."""
_EDITABLE = regex(rb"\binstall[ \t][^\n`]{0,99}(?:-e|--editable)\b|setup\.py[ \t]+develop\b")
_IN_PLACE = regex(rb"\bsetup\.py[ \t]+build_ext[ \t][^\n`]{0,199}(?:--inplace\b|-i\b)")
"""How extensions are compiled where they lie, for the scripts beside them."""
_PUBLISHED = regex(rb"\bclassifiers[\"']?[ \t]*=|\blong_description\b")
"""What is said of a package to an index."""
_NAME = regex(rb"(?m)(?:^|[(,])[ \t]*name[ \t]*=[ \t]*[\"']([\w.-]+)[\"']")
_WORD = regex(rb"[\w.-]+")
_STARTS = regex(rb"\b(?:python3?|torchrun|launch)\b([^\n`]*)")
_PLACE = regex(rb"(?<![\w./-])[\w./-]{1,200}\.py\b")


def is_for_others(root: str) -> bool:
    """Whether what lies in a directory is loaded from a hub, or is built and others are told how to install it: what is only installed to be worked on is a program."""
    if os.path.exists(os.path.join(root, "hubconf.py")):
        return True
    return is_installed(root) and is_offered(root)


def is_installed(root: str) -> bool:
    """Whether something in a directory can be installed."""
    return os.path.exists(os.path.join(root, "setup.py")) or is_built(root)


def is_offered(root: str) -> bool:
    """Whether a page of a project tells how to install it by its name, or from another place, its settings are made to be published, or there is no page."""
    pages, settings = _contents(root, PAGES), _contents(root, _SETTINGS)
    if not pages or any(map(_OFFERED.search, pages)):
        return True
    if any(map(_PUBLISHED.search, settings)) and not any(map(_EDITABLE.search, pages)):
        return True
    names = {_plain(name) for text in settings for name in _NAME.findall(text)}
    words = (word for page in pages for line in _INSTALLS.findall(page) for word in _WORD.findall(line))
    if not names:
        return not any(map(_IN_PLACE.search, pages))
    return not names.isdisjoint(_plain(word.removesuffix(b".git")) for word in words)


def started(root: str) -> set[str]:
    """The files that a page of a project tells to start, by their places in it: `python tools/train.py`."""
    lines = (line for page in _contents(root, PAGES) for line in _STARTS.findall(page))
    places = (place.decode("latin-1") for line in lines for place in _PLACE.findall(line))
    return {os.path.normpath(place) for place in places}


def _plain(name: bytes) -> bytes:
    """The name of a package as an index knows it."""
    return re.sub(rb"[-_.]+", b"-", name).lower().strip(b"-")


def _contents(root: str, names: Iterable[str]) -> list[bytes]:
    found = []
    for name in names:
        with suppress(OSError):
            found.append(contents(os.path.join(root, name), _MOST_BYTES))
    return found


def is_built(root: str) -> bool:
    """Whether the `pyproject.toml` of a directory says how to build a package; the cache is told by its key."""
    return _says(root, _BUILD)


def is_compiled(root: str) -> bool:
    """Whether the `pyproject.toml` of a directory names what builds more than Python, and is told elsewhere what of."""
    return _says(root, _COMPILERS)


def _says(root: str, pattern: re.Pattern[bytes]) -> bool:
    with suppress(OSError):
        return pattern.search(contents(os.path.join(root, "pyproject.toml"), _MOST_BYTES)) is not None
    return False
