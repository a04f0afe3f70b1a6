"""Comments that silence findings: `# noqa: TL101`, `# torchlint: ignore[TL101] reason`, `# torchlint: ignore-file`.

`skip-file` is another word for `ignore-file`. `# torchlint: disable[TL101]` on a line of its own silences what begins
below it, up to `# torchlint: enable[TL101]` with the same codes or to the end of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..system.regex import regex
from .finding import Edit, Finding, Fix
from .source import Source

# Comments, and strings because a `#` in them starts none. Faster than tokenize, and works in files that don't parse.
_COMMENT_OR_STRING = regex(
    rb"""(?P<comment>\#[^\r\n]*)
    | \"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\"
    | '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
    | "[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*"
    | '[^'\\\r\n]*(?:\\(?:\r\n|.)[^'\\\r\n]*)*'""",
    re.VERBOSE | re.DOTALL,
)
JUDGE = "TL002"
"""The rule that reports unused suppressions. A comment that names it is there on purpose."""
_CODE = rb"(?:[A-Za-z]+[0-9]+|[Tt][Ll][A-Za-z]*|[a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?![\w-])"
_NOQA = regex(rb"#\s*(?i:noqa)\b(?:\s*:\s*(?P<codes>%b(?:[\s,]+%b)*))?" % (_CODE, _CODE))
_TORCHLINT = regex(rb"#\s*torchlint\s*:\s*(?P<verb>[\w-]*)\s*(?P<bracket>\[(?P<codes>[^\]]*)(?P<closed>\])?)?")
_NEXT = regex(rb"#\s*(?:(?i:noqa)\b|[\w.-]+\s*:)|(?<=\s)#\s")
"""Where another comment begins inside of one: `# noqa: TL101  # why`, but not `# noqa: TL101 for #12`."""
_ITEM = regex(rb"[^\s,]+")
_WORD = regex(rb"[^\W_]|[\x80-\xff]")


def comments(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each comment of a program begins and ends."""
    return (match.span("comment") for match in _COMMENT_OR_STRING.finditer(data) if match["comment"] is not None)


def without_comments(data: bytes) -> bytes:
    """The text of a program without its comments."""
    return _COMMENT_OR_STRING.sub(lambda match: b"" if match["comment"] is not None else match[0], data)


def without_prose(data: bytes) -> bytes:
    """The text of a program without its comments, and without strings of several lines that begin a line, as docstrings do."""
    return _COMMENT_OR_STRING.sub(lambda match: b"" if _is_prose(data, match) else match[0], data)


def _is_prose(data: bytes, match: re.Match[bytes]) -> bool:
    if match["comment"] is not None:
        return True
    line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
    return match[0][:3] in (b'"""', b"'''") and not line.strip(b" \trRuU")


def lets(line: str, code: str) -> bool:
    """Whether a `# noqa` of a line silences a code of another tool."""
    found = map(_codes, _NOQA.finditer(line.encode(errors="replace")))
    return any(codes is None or any(one.text.upper() == code for one in codes) for codes in found)


class Code(NamedTuple):
    """A code, a prefix of codes or a rule's name as written in a comment, and its bytes in `Source.data`."""

    text: str
    start: int
    end: int

    def covers(self, code: str, name: str) -> bool:
        return code.startswith(self.text.upper()) or name == self.text

    @property
    def ours(self) -> bool:
        """Can it be meant for torchlint? In `# noqa` other tools' codes stand too."""
        return self.text.upper().startswith("TL") or "-" in self.text


class Directive(NamedTuple):
    """One suppression; `codes` is None when it silences everything. `start` and `end` are its bytes, from its `#`."""

    kind: Literal["noqa", "ignore", "ignore-file", "disable", "enable"]
    line: int
    start: int
    end: int
    codes: tuple[Code, ...] | None
    marked: int = 0
    """Where the part that tools read ends. Behind it people may have written why."""
    closing: Directive | None = None
    """The `enable` that ends what a `disable` began."""

    @property
    def words(self) -> frozenset[str]:
        """The codes as they are compared."""
        return frozenset(code.text.upper() for code in self.codes or ())

    def covers(self, code: str, name: str) -> bool:
        return self.codes is None or any(one.covers(code, name) for one in self.codes)


class Unused(NamedTuple):
    """A suppression that silenced nothing. Line and columns count from 1, in characters, the end exclusive."""

    line: int
    column: int
    end_column: int
    text: str
    whole: bool
    """Is nothing in the comment needed, so that the fix removes all of it?"""
    fix: Fix


class Unknown(NamedTuple):
    """Something in a suppression that torchlint does not know: a code, or what follows `torchlint:`."""

    line: int
    column: int
    end_column: int
    text: str


@dataclass(slots=True)
class Suppressions:
    """The suppressions of one file, and which of them were of use."""

    source: Source
    directives: tuple[Directive, ...] = ()
    malformed: tuple[tuple[int, int], ...] = ()
    _by_line: dict[int, list[Directive]] = field(default_factory=dict)
    _blocks: list[tuple[int, tuple[Directive, ...]]] = field(default_factory=list)
    """The lines at which another set of `disable` comments begins to count, and that set."""
    _used: set[Directive | Code] = field(default_factory=set)
    _whole_file: dict[tuple[str, str], list[Directive]] = field(default_factory=dict)
    """What silences a rule in all of the file, by its code and name."""
    _tables: dict[int, dict[str, list[Code]]] = field(default_factory=dict)
    """The codes of suppressions by their text."""

    @classmethod
    def of(cls, source: Source) -> Suppressions:
        lower = source.data.lower()
        if b"noqa" not in lower and b"torchlint" not in lower:
            return cls(source)
        found: list[Directive] = []
        malformed: list[tuple[int, int]] = []
        for start, end in comments(source.data):
            while start < end:
                following = _NEXT.search(source.data, start + 1, end)
                stop = following.start() if following else end
                _read(source, start, start + len(source.data[start:stop].rstrip()), found, malformed)
                start = stop
        directives, stray = _paired(found)
        result = cls(source, directives, (*malformed, *((one.start, one.end) for one in stray)))
        for directive in directives:
            if directive.kind in ("noqa", "ignore"):
                result._by_line.setdefault(directive.line, []).append(directive)
        result._blocks = _blocks(directives)
        return result

    def silences(self, finding: Finding) -> bool:
        """Is there a comment for it on one of its lines, on the first or last line of its statement, or for the file?

        Every suppression that says so counts as used.
        """
        if finding.code == JUDGE:
            return False  # what it must not report, `unused` leaves out
        lines = {*range(finding.line, finding.end_line + 1), *finding.statement}
        near = [directive for line in self._by_line.keys() & lines for directive in self._by_line[line]]
        near += self._around(finding.line)
        return bool(self._use(near, finding)) | bool(self._for_all(finding))

    def _around(self, line: int) -> tuple[Directive, ...]:
        """The `disable` comments that count on a line."""
        at = bisect_right(self._blocks, line, key=lambda block: block[0])
        return self._blocks[at - 1][1] if at else ()

    def _for_all(self, finding: Finding) -> list[Directive]:
        """What silences the finding's rule in all of the file; used from its first finding on."""
        key = finding.code, finding.name
        if key not in self._whole_file:
            whole = [directive for directive in self.directives if directive.kind == "ignore-file"]
            self._whole_file[key] = self._use(whole, finding)
        return self._whole_file[key]

    def _use(self, directives: list[Directive], finding: Finding) -> list[Directive]:
        """Those of some suppressions that cover the finding; they and their codes are used from now on."""
        found: list[Directive] = []
        for directive in directives:
            if directive.codes is None:
                found.append(directive)
            elif codes := self._covering(directive, finding):
                found.append(directive)
                self._used.update(codes)
        self._used.update(found)
        return found

    def _covering(self, directive: Directive, finding: Finding) -> list[Code]:
        """The codes of a suppression that cover the finding: looked up, since there may be many."""
        table = self._tables.get(directive.start)
        if table is None:
            table = self._tables[directive.start] = {}
            for code in directive.codes or ():
                for text in {code.text, code.text.upper()}:
                    table.setdefault(text, []).append(code)
        beginnings = (finding.code[:length] for length in range(1, len(finding.code) + 1))
        return [
            code
            for text in (*beginnings, finding.name)
            for code in table.get(text, ())
            if code.covers(finding.code, finding.name)
        ]

    def unused(self, known: Mapping[str, str], enabled: Container[str]) -> Iterator[Unused]:
        """What silenced nothing, once all findings have been asked about.

        `known` are the names of the rules by their codes, `enabled` the codes that were looked for. A prefix or a blanket
        `torchlint: ignore` is only judged when all it covers was looked for; a blanket `# noqa` never, nor other tools' codes,
        nor a comment that names the rule for unused suppressions; in a file that is ignored whole, only the comment that says so.
        """
        whole_file = [one for one in self.directives if one.kind == "ignore-file"]
        if any(code.covers(JUDGE, known.get(JUDGE, "")) for one in whole_file for code in one.codes or ()):
            return
        for directive in [one for one in whole_file if one.codes is None] or self.directives:
            if any(code.text.upper() == JUDGE or code.text == known.get(JUDGE) for code in directive.codes or ()):
                continue
            if directive.codes is None:
                if directive.kind != "noqa" and directive not in self._used and all(code in enabled for code in known):
                    yield self._whole(directive, f"torchlint: {directive.kind}")
                continue
            dead = {code for code in directive.codes if self._dead(code, known, enabled)}
            if len(dead) == len(directive.codes):
                yield self._whole(directive, ", ".join(code.text for code in directive.codes))
            elif directive.closing is None:
                yield from self._parts(directive.codes, dead)

    def _dead(self, code: Code, known: Mapping[str, str], enabled: Container[str]) -> bool:
        covered = [one for one, name in known.items() if code.covers(one, name)]
        return code.ours and code not in self._used and bool(covered) and all(one in enabled for one in covered)

    def unknown(self, known: Mapping[str, str]) -> Iterator[Unknown]:
        """Codes that no rule has, and comments that look like a suppression and are none. `known`: names by codes."""
        for start, end in self.malformed:
            yield Unknown(*self._place(start, end), self.source.data[start:end].decode())
        for directive in self.directives:
            for code in directive.codes or ():
                ours = directive.kind != "noqa" or code.text.upper().startswith("TL")
                if ours and not any(code.covers(one, name) for one, name in known.items()):
                    yield Unknown(*self._place(code.start, code.end), code.text)

    def _place(self, start: int, end: int) -> tuple[int, int, int]:
        (line, column), (_, end_column) = self.source.position(start), self.source.position(end)
        return line, column, end_column

    def _whole(self, directive: Directive, text: str) -> Unused:
        ends = (directive, directive.closing) if directive.closing is not None else (directive,)
        edits = tuple(_without(self.source, one) for one in ends)
        said = any(_WORD.search(self.source.data, one.marked, one.end) for one in ends)
        note = "what somebody has written behind it goes as well" if said else ""
        fix = Fix("Remove the unused suppression", edits, "unsafe" if note else "safe", note)
        return Unused(*self._place(directive.start, directive.end), text, True, fix)

    def _parts(self, codes: tuple[Code, ...], dead: set[Code]) -> Iterator[Unused]:
        """The unused codes among used ones; their edits touch but never overlap."""
        kept = False
        for at, code in enumerate(codes):
            if code not in dead:
                kept = True
                continue
            edit = Edit(codes[at - 1].end, code.end, b"") if kept else Edit(code.start, codes[at + 1].start, b"")
            fix = Fix(f"Remove the unused suppression of {code.text}", (edit,), "safe")
            yield Unused(*self._place(code.start, code.end), code.text, False, fix)


def _read(source: Source, start: int, end: int, found: list[Directive], malformed: list[tuple[int, int]]) -> None:
    """Read the part of a comment from one `#` on."""
    data = source.data
    if match := _NOQA.match(data, start, end):
        found.append(Directive("noqa", source.position(start)[0], start, end, _codes(match), match.end()))
        return
    match = _TORCHLINT.match(data, start, end)
    if match is None:
        return
    verb = match["verb"]
    line = source.position(start)[0]
    own_line = not data[source.lines[line - 1] : start].strip()
    if match["bracket"] and not match["closed"]:
        malformed.append((start, end))
    elif verb == b"ignore":
        found.append(Directive("ignore", line, start, end, _codes(match), match.end()))
    elif verb in (b"ignore-file", b"skip-file") and own_line:
        found.append(Directive("ignore-file", line, start, end, _codes(match), match.end()))
    elif verb in (b"disable", b"enable") and own_line:
        found.append(
            Directive("disable" if verb == b"disable" else "enable", line, start, end, _codes(match), match.end())
        )
    else:
        malformed.append((start, end))


def _paired(found: list[Directive]) -> tuple[tuple[Directive, ...], list[Directive]]:
    """The suppressions, each `disable` with the `enable` that ends it, and the `enable` comments that end nothing."""
    opened: dict[frozenset[str], list[int]] = {}
    paired, stray = list(found), []
    for at, one in enumerate(found):
        if one.kind == "disable":
            opened.setdefault(one.words, []).append(at)
        elif one.kind == "enable":
            if waiting := opened.get(one.words):
                begin = waiting.pop()
                paired[begin] = found[begin]._replace(closing=one)
            else:
                stray.append(one)
    return tuple(one for one in paired if one.kind != "enable"), stray


def _blocks(directives: Iterable[Directive]) -> list[tuple[int, tuple[Directive, ...]]]:
    """The sets of `disable` comments that count from each line on, in order."""
    turns: dict[int, list[tuple[Directive, bool]]] = {}
    for one in directives:
        if one.kind == "disable":
            turns.setdefault(one.line, []).append((one, True))
            if one.closing is not None:
                turns.setdefault(one.closing.line, []).append((one, False))
    active: dict[Directive, None] = {}
    blocks = []
    for line, changes in sorted(turns.items()):
        for one, begins in changes:
            if begins:
                active[one] = None
            else:
                active.pop(one, None)
        blocks.append((line, tuple(active)))
    return blocks


def _codes(match: re.Match[bytes]) -> tuple[Code, ...] | None:
    if match["codes"] is None:
        return None
    items = _ITEM.finditer(match.string, *match.span("codes"))
    return tuple(Code(item[0].decode(errors="replace"), *item.span()) for item in items)


def _without(source: Source, directive: Directive) -> Edit:
    """Remove a suppression with the space and the `#` before it; its line too if nothing else is on it."""
    data, lines = source.data, source.lines
    line_start = lines[directive.line - 1]
    next_line = lines[directive.line] if directive.line < len(lines) else len(data)
    before = data[line_start : directive.start].rstrip().rstrip(b"#").rstrip()
    after = data[directive.end : next_line].strip()
    if after:  # another tool's comment follows
        return Edit(directive.start, next_line - len(data[directive.end : next_line].lstrip()), b"")
    if before:
        return Edit(line_start + len(before), directive.end, b"")
    return Edit(line_start, next_line, b"")
