"""What git ignores: the lines of a `.gitignore`, or what is written like one, as git reads them.

A name is held against words first; regular expressions are made for the lines that may speak of it, and take time in
proportion to the name (`globs`), so that a repository can't make a run wait.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from ..system.cached import cached_property
from ..system.regex import regex
from .globs import STAR, Star, char_class, compiled, split

_ANY_FOLDERS = "**"
_SPECIAL = frozenset("*?[\\")
_HIDDEN_SLASH = regex(r"(?<!\\)((?:\\\\)*)\\/")


class _Part:
    """What one name in a path must look like."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_plain = _SPECIAL.isdisjoint(text)
        self.ending = text[1:] if text[:1] == "*" and _SPECIAL.isdisjoint(text[1:]) else None

    def matches(self, name: str) -> bool:
        if self.is_plain:
            return name == self.text
        if self.ending is not None:
            return name.endswith(self.ending)
        return self.pattern is not None and self.pattern.fullmatch(name) is not None

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """None where git takes it for a mistake: then nothing matches."""
        tokens: list[str | tuple[Star]] = []
        at = 0
        while at < len(self.text):
            sign = self.text[at]
            at += 1
            if sign == "*":
                tokens.append((STAR,))
            elif sign == "?":
                tokens.append(".")
            elif sign == "[":
                found = char_class(self.text, at - 1)
                if found is None:
                    return None
                tokens.append(found[0])
                at = found[1]
            elif sign == "\\":
                if at == len(self.text):
                    return None
                tokens.append(re.escape(self.text[at]))
                at += 1
            else:
                tokens.append(re.escape(sign))
        return compiled(split(tokens))


class _Line:
    """One line: what it ignores or, with `!`, does not."""

    def __init__(self, text: str) -> None:
        self.ignores = not text.startswith("!")
        text = text.removeprefix("!")
        self.only_directories = text.endswith("/")
        text = text.removesuffix("/")
        self.is_name = "/" not in text
        self.parts = [_Part(part) for part in _HIDDEN_SLASH.sub(r"\1/", text).removeprefix("/").split("/")]

    def matches(self, path: Sequence[str], is_directory: bool) -> bool:
        """Whether it speaks of a path, given by its names."""
        if self.only_directories and not is_directory:
            return False
        return self.parts[0].matches(path[-1]) if self.is_name else self._matches_all(path)

    def _matches_all(self, path: Sequence[str]) -> bool:
        """As with stars in `globs`, only the last `**` has to be looked at again."""
        part = name = 0
        again: tuple[int, int] | None = None
        while name < len(path):
            if part < len(self.parts) and self.parts[part].text == _ANY_FOLDERS:
                if part == len(self.parts) - 1:
                    return True
                again = part, name
                part += 1
            elif part < len(self.parts) and self.parts[part].matches(path[name]):
                part, name = part + 1, name + 1
            elif again is not None:
                again = again[0], again[1] + 1
                part, name = again[0] + 1, again[1]
            else:
                return False
        return part == len(self.parts)


class Ignores:
    """The lines of one file, and the directory they are relative to."""

    def __init__(self, base: str, lines: Iterable[str]) -> None:
        self._base = os.path.join(base, "")
        self._lines = [_Line(os.fsencode(line).decode("latin-1")) for line in lines]

    def verdict(self, path: str, name: str, is_directory: bool) -> bool | None:
        """Whether an absolute path, which ends with that name, is ignored; None where no line speaks of it.

        Directories that are ignored are not walked, so the path of an entry is never held against a directory's line.
        """
        if not self._lines:
            return None
        if not name.isascii():
            name = os.fsencode(name).decode("latin-1")  # git compares bytes
        if not self._may_match(name):
            return None
        names: list[str] | None = None
        for line in reversed(self._lines):
            if not line.is_name and names is None:
                names = self._names(path)
            if line.matches(names or [name], is_directory):
                return line.ignores
        return None

    def covers(self, path: str, is_directory: bool) -> bool:
        """Whether an absolute path, or a directory that it lies in, is ignored."""
        *folders, _ = self._names(path)
        directory = self._base
        for folder in folders:
            name = os.fsdecode(folder.encode("latin-1"))
            directory = os.path.join(directory, name)
            if self.verdict(directory, name, True):
                return True
        return bool(self.verdict(path, os.path.basename(path), is_directory))

    def _names(self, path: str) -> list[str]:
        """The names in a path from the base on."""
        inside = path[len(self._base) :] if path.startswith(self._base) else path.lstrip(os.sep)
        return os.fsencode(inside).decode("latin-1").split(os.sep)

    def _may_match(self, name: str) -> bool:
        """Whether a line's last part may match the name; asked for thousands of names, of which few do."""
        words, endings, simple, others = self._last_parts
        if name in words or name.endswith(endings) or (simple is not None and simple.fullmatch(name)):
            return True
        return any(part.matches(name) for part in others) if others else False

    @cached_property
    def _last_parts(self) -> tuple[frozenset[str], tuple[str, ...], re.Pattern[str] | None, tuple[_Part, ...]]:
        """The names, the ends of names, one pattern for most of the others, and the rest."""
        parts = {line.parts[-1].text: line.parts[-1] for line in self._lines}
        words = frozenset(text for text, part in parts.items() if part.is_plain)
        endings = tuple(part.ending for part in parts.values() if part.ending is not None)
        if _ANY_FOLDERS in parts:
            return words, ("",), None, ()
        others = [
            part for part in parts.values() if not part.is_plain and part.ending is None and part.pattern is not None
        ]
        simple = [part.pattern.pattern for part in others if part.pattern is not None and not part.pattern.groups]
        together = re.compile("|".join(simple), re.DOTALL) if simple else None
        return (
            words,
            endings,
            together,
            tuple(part for part in others if part.pattern is not None and part.pattern.groups),
        )


def lines_of(data: bytes) -> list[str]:
    """The lines of a file as git reads them: without comments, and without blanks at their ends that are not meant."""
    lines = []
    for raw in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = _stripped(os.fsdecode(raw.removesuffix(b"\r")))
        if line and not line.startswith("#"):
            lines.append(line)
    return lines


def _stripped(line: str) -> str:
    """Without the blanks at the end, less the one that a backslash keeps."""
    bare = line.rstrip(" ")
    hidden = (len(bare) - len(bare.rstrip("\\"))) % 2
    return line[: len(bare) + 1] if hidden and len(bare) < len(line) else bare
