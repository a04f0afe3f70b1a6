"""Text of a repository, for terminals and logs: it is shown, and commands nobody.

Escape sequences, newlines and characters that turn the direction of writing round are written as Python would escape
them. So is what runners of continuous integration take for a command wherever it stands in a line.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ud800-\\udfff\\ufeff\\ufff9-\\ufffb"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e007f]|##(?=\\w*\\[)"
)
"""Control characters, format characters that can't be seen, halves of surrogate pairs; and `##[`, `##vso[`."""
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "##": "#\\x23"}


def printable(text: str) -> str:
    """One line that shows the text."""
    return text if text.isascii() and text.isprintable() and "##" not in text else _HIDDEN.sub(_shown, text)


def shown_path(path: str) -> str:
    """A path that may begin a line, where `::` would begin a command."""
    path = printable(path)
    return f"./{path}" if path.lstrip().startswith("::") else path


def in_json(text: str) -> str:
    """A JSON document in which strings hold such characters by their numbers; what is no character is shown."""
    return _HIDDEN.sub(_numbered, text)


def several_lines(text: str) -> str:
    """Lines of which only the first begins with what the text says."""
    return "\n  | ".join(map(printable, text.split("\n")))


def _shown(found: re.Match[str]) -> str:
    sign = found[0]
    if sign in _SHORT:
        return _SHORT[sign]
    number = ord(sign)
    if 0xDC80 <= number <= 0xDCFF:  # a byte in the name of a file that is no text
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _numbered(found: re.Match[str]) -> str:
    sign = found[0]
    if sign == "\n":
        return sign  # between strings
    if sign == "##":
        return "#\\u0023"
    number = ord(sign)
    if 0xD800 <= number <= 0xDFFF:
        return f"\\{_shown(found)}"
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
