"""The torch that a file pins for all who install what it is of: that of uv, Poetry, PDM or Pipenv."""

from __future__ import annotations

from collections.abc import Iterator

from ..system.regex import regex

_PINNED = regex(r"(?m)^name = \"torch\"\r?\nversion = \"(\d{1,9}(?:\.\d{1,9}){1,3})")
"""A part of a list of packages in TOML; of a local version, `2.9.1+cu128`, the public part."""
_PIPENV = regex(r"\"torch\": \{[^{}]{0,9999}\"version\": \"==(\d{1,9}(?:\.\d{1,9}){1,3})")


def of_lock(text: str) -> Iterator[str]:
    """The versions in a lock file in TOML: of `uv.lock`, `poetry.lock` or `pdm.lock`; each is for other machines."""
    yield from (f"=={version}" for version in _PINNED.findall(text))


def of_pipenv(text: str) -> Iterator[str]:
    """The version in a `Pipfile.lock`."""
    yield from (f"=={version}" for version in _PIPENV.findall(text))
