"""How long a line of the project may be: what ruff, black or flake8 is told nearest to the file, or else 120 characters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..settings.config import ConfigError, read_toml
from ..system.stamp import contents

USUAL = 120
_UNTOLD = 88
"""What ruff and black take where they are configured, but for this."""


def line_length(path: str) -> int:
    """The longest line of the file."""
    for folder in Path(path).absolute().parents:
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            told = _told(folder / name, set())
            if told is not None:
                return told
        for name in (".flake8", "setup.cfg", "tox.ini"):
            told = _told_flake8(folder / name)
            if told is not None:
                return told
    return USUAL


def _told(path: Path, seen: set[Path]) -> int | None:
    """What a file of settings says; None where it is none of ruff's or black's."""
    if path in seen or not path.is_file():
        return None
    seen.add(path)
    try:
        data = read_toml(path)
    except ConfigError:
        return None
    if path.name != "pyproject.toml":
        return _of_ruff(data, path, seen)
    tools = _table(data, "tool")
    if "ruff" in tools:
        return _of_ruff(_table(tools, "ruff"), path, seen)
    return _number(_table(tools, "black")) or _UNTOLD if "black" in tools else None


def _of_ruff(table: Mapping[str, Any], path: Path, seen: set[Path]) -> int:
    extended = table.get("extend")
    inherited = _told(path.parent / extended, seen) if isinstance(extended, str) else None
    return _number(table) or inherited or _UNTOLD


def _told_flake8(path: Path) -> int | None:
    """What a file of settings says to flake8 or pycodestyle, unless these are not to look at lengths."""
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(contents(str(path)).decode())
    except (OSError, UnicodeDecodeError, configparser.Error):
        return None
    for name in ("flake8", "pycodestyle"):
        options = (
            {key.replace("_", "-"): value for key, value in parser.items(name)} if parser.has_section(name) else {}
        )
        given = options.get("max-line-length", "").strip()
        if given.isdecimal() and "E501" not in options.get("ignore", "") + options.get("extend-ignore", ""):
            return _number({"line-length": int(given[:9])})
    return None


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}


def _number(table: Mapping[str, Any]) -> int | None:
    given = table.get("line-length", table.get("line_length"))
    return given if isinstance(given, int) and 0 < given < 1000 else None
