"""The folders that a file puts on `sys.path`, as far as they are written."""

from __future__ import annotations

import ast
import warnings

from ..system.regex import regex
from .finders import fact_of_files
from .source import Source

NAMES = regex(rb"sys\.path")
FOLDERS = "folders on path"
"""What the fact is called which folders a file puts there."""
_PUTS = regex(rb"(?m)^(?:sys\.path\.(?:append|insert)|add_(?:py|sys_)?path)\(")
_LONGEST = 500
"""How many bytes such a call may have."""


def folders(source: Source) -> list[str]:
    """The folders below others that the statements of a file put on `sys.path`, as dotted names: models for `join(ROOT, "models")`."""
    return source.fact(FOLDERS, find_folders)


@fact_of_files(FOLDERS)
def find_folders(source: Source) -> list[str]:
    """The same, looked for in the text."""
    data = source.data
    if not source.holds(NAMES):
        return []
    calls = (_parsed(data[match.start() : match.end() + _LONGEST]) for match in _PUTS.finditer(data))
    found = (_below(call.args[-1]) for call in calls if call is not None and call.args)
    return list(dict.fromkeys(filter(None, found)))


def _parsed(text: bytes) -> ast.Call | None:
    """The call that a text begins with; None where it does not end in it."""
    depth = 0
    for at, byte in enumerate(text):
        depth += (byte in b"([{") - (byte in b")]}")
        if depth == 0 and byte in b")":
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # `"C:\data"` has an invalid escape
                    node = ast.parse(text[: at + 1].decode(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
            return node if isinstance(node, ast.Call) else None
    return None


def _below(path: ast.expr) -> str:
    """The folder that a path ends in as far as it is written, dotted; "" where a part of it can't be a name, or it begins at the root."""
    texts = [node.value for node in ast.walk(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    parts = [part for text in texts for part in text.split("/") if part not in ("", ".", "..")]
    below = not any(text.startswith("/") for text in texts[:1])
    return ".".join(parts) if below and all(map(str.isidentifier, parts)) else ""
