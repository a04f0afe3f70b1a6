"""Comments that silence findings, written where they count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..lint.run import Result
from ..system.failure import Failure
from ..text.finding import Edit, Finding, Fix
from ..text.source import Source, SourceError
from ..text.strings import ends_inside
from ..text.suppress import JUDGE, Directive, Suppressions
from . import apply as fix

Kind = Literal["noqa", "ignore"]
BEYOND = frozenset((JUDGE, "TL001"))
"""Rules whose findings no comment at a line silences."""


@dataclass(frozen=True)
class Silenced:
    """The comments to write into one file, and the findings that none of its lines has room for."""

    edits: tuple[Edit, ...]
    left: tuple[Finding, ...]


def silence(source: Source, findings: Iterable[Finding], kind: Kind, reason: str = "") -> Silenced:
    """Comments for all of these findings of a file: one a line, codes added to a comment of that kind that is there.

    Raises Failure for a reason that no comment can hold.
    """
    check_reason(reason)
    barred = _inside(source)
    wanted: dict[int, set[str]] = {}
    left = []
    for finding in findings:
        line = None if finding.code in BEYOND else _line(finding, barred, len(source.lines))
        if line is None:
            left.append(finding)
        else:
            wanted.setdefault(line, set()).add(finding.code)
    known = {one.line: one for one in Suppressions.of(source).directives if one.kind == kind and one.codes}
    edits = [_edit(source, line, sorted(codes), kind, reason, known) for line, codes in sorted(wanted.items())]
    return Silenced(tuple(edits), tuple(left))


def write(result: Result, kind: Kind, reason: str) -> int:
    """Silence all findings of a result in their files; how many comments were written or added to.

    Raises Failure for a file that can't be written; those before it stay written.
    """
    check_reason(reason)
    written = 0
    for path in sorted({finding.path for finding in result.findings}):
        source = result.source(path)
        if source is None:
            continue
        edits = silence(source, [one for one in result.findings if one.path == path], kind, reason).edits
        data, _ = fix.apply(source, [Fix("", (edit,), "safe") for edit in edits])
        if not edits:
            continue
        try:
            fix.write(path, source.raw, source.encode(data))
        except fix.ChangedOnDisk as error:
            raise Failure(f"{error}{_before(written)}") from None
        except (OSError, SourceError) as error:
            raise Failure(f"{path}: {getattr(error, 'strerror', None) or error}{_before(written)}") from None
        written += len(edits)
    return written


def _before(written: int) -> str:
    """What is to be said of the files before one that can't be written."""
    return f" ({written} comment{'s' * (written != 1)} in files before it)" if written else ""


def check_reason(reason: str) -> None:
    """Raise Failure for what is no reason, or would be taken for more than one where it stands behind a code."""
    if len(reason.splitlines()) > 1 or "#" in reason or "\0" in reason:
        raise Failure("a reason is one line without `#`")
    try:
        comment = f"# noqa: {JUDGE} {reason}".encode()
    except UnicodeEncodeError:
        raise Failure(f"the reason {reason!r} is not UTF-8") from None
    (directive,) = Suppressions.of(Source.of("", comment)).directives
    if len(directive.codes or ()) != 1:
        raise Failure(f"the reason {reason!r} would be read as a code")


def _line(finding: Finding, barred: set[int], count: int) -> int | None:
    """Where a comment counts: the finding's last line, its first, those of its statement."""
    candidates = (finding.end_line, *range(finding.line, finding.end_line), *reversed(finding.statement))
    return next((line for line in candidates if 0 < line <= count and line not in barred), None)


def _inside(source: Source) -> set[int]:
    """Lines whose end takes no comment: it is inside of a string, or joined to the next by a backslash."""
    barred = {line for line in range(1, len(source.lines) + 1) if source.line_text(line).endswith("\\")}
    return barred | ends_inside(source.text)


def _edit(source: Source, line: int, codes: list[str], kind: Kind, reason: str, known: Mapping[int, Directive]) -> Edit:
    if (there := known.get(line)) is not None and there.codes:
        end = there.codes[-1].end
        return Edit(end, end, f", {', '.join(codes)}".encode())
    listed = ", ".join(codes)
    comment = f"# noqa: {listed}" if kind == "noqa" else f"# torchlint: ignore[{listed}]"
    text = source.data[source.lines[line - 1] : source.lines[line] if line < len(source.lines) else len(source.data)]
    end = source.lines[line - 1] + len(text.rstrip())
    return Edit(
        end, source.lines[line - 1] + len(text.rstrip(b"\r\n")), f"  {comment}{f' {reason}' if reason else ''}".encode()
    )
