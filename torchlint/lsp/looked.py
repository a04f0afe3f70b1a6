"""What was found in a document, as the protocol says it: diagnostics, quick fixes, pages to hover over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from torchlint import report
from torchlint.rule import load
from torchlint.system.cached import cached_property
from torchlint.text.finding import Edit, Finding, Fix, Related
from torchlint.text.source import Source
from torchlint.text.suppress import JUDGE, Code, Suppressions

from .text import Place, index, place

SOURCE = "torchlint"
FIX_ALL = f"source.fixAll.{SOURCE}"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
_SUFFIX = {"safe": "", "unsafe": " (unsafe)", "suggestion": " (suggestion)"}
_DEPRECATED = frozenset(("removed-api", "deprecated-api", "torchscript-deprecated", "legacy-tensor-api"))


@dataclass(frozen=True)
class Client:
    """What the editor can do."""

    encoding: str
    related: bool = False
    """Shows places beside a diagnostic's own."""
    versions: bool = False
    """Takes edits for one version of a document only."""
    resolves: bool = False
    """Asks for the edits of a code action when it is chosen."""


Version = tuple[str, int]
"""A document and its version."""
Cells = Mapping[int, Version]
"""The cells of a notebook by their number, from 1; nothing for a file."""


@dataclass(frozen=True)
class Looked:
    """One version of a document, and what was found in it."""

    uri: str
    version: int
    source: Source | None
    findings: tuple[Finding, ...]
    diagnostics: tuple[types.Diagnostic, ...]
    client: Client
    cells: Cells

    def home(self, line: int) -> Version:
        """The document that a line is in: of a notebook, the cell's."""
        number = self.source.cell(line) if self.source is not None else None
        return self.cells.get(number or 0, (self.uri, self.version))

    def of(self, uri: str) -> tuple[types.Diagnostic, ...]:
        """The diagnostics of one document: the file, or a cell."""
        return tuple(diagnostic for _, diagnostic in self._of(uri))

    def _of(self, uri: str) -> Iterator[tuple[Finding, types.Diagnostic]]:
        yield from self._by_document.get(uri, ())

    @cached_property
    def _by_document(self) -> Mapping[str, Sequence[tuple[Finding, types.Diagnostic]]]:
        """What was found, by the documents: a notebook is asked for each of its cells."""
        found: dict[str, list[tuple[Finding, types.Diagnostic]]] = {}
        for finding, diagnostic in zip(self.findings, self.diagnostics, strict=True):
            found.setdefault(self.home(finding.line)[0], []).append((finding, diagnostic))
        return found

    @property
    def place(self) -> Place:
        return _place(self.source, self.client.encoding)

    # Code actions

    def actions(self, uri: str, wanted: types.Range, only: Iterable[str] | None) -> Iterator[types.CodeAction]:
        """The quick fixes of the findings that the range touches."""
        if not _asked_for(types.CodeActionKind.QuickFix, only) or self.source is None:
            return
        for finding, diagnostic in self._of(uri):
            if _touch(diagnostic.range, wanted):
                if finding.fix is not None:
                    yield self._fix(finding, finding.fix, diagnostic)
                edit = suppression(self.source, finding)
                if edit is not None:
                    title = f"torchlint: suppress {finding.code} ({finding.name}) on this line"
                    yield types.CodeAction(title, types.CodeActionKind.QuickFix, [diagnostic], edit=self.edit((edit,)))

    def _fix(self, finding: Finding, fix: Fix, diagnostic: types.Diagnostic) -> types.CodeAction:
        note = f": {fix.note}" if fix.note else ""
        return types.CodeAction(
            f"torchlint ({finding.code}): {fix.title}{_SUFFIX[fix.applicability]}{note}",
            types.CodeActionKind.QuickFix,
            [diagnostic],
            is_preferred=fix.applicability == "safe",
            edit=self.edit(fix.edits),
        )

    def edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Edits of this version of the document."""
        assert self.source is not None
        changes: dict[Version, list[types.TextEdit]] = {}
        for edit in sorted(edits):
            start, end = (self.source.position(offset) for offset in (edit.start, edit.end))
            change = types.TextEdit(types.Range(self.place(*start), self.place(*end)), edit.text.decode())
            changes.setdefault(self.home(start[0]), []).append(change)
        if not self.client.versions:
            return types.WorkspaceEdit(changes={uri: listed for (uri, _), listed in changes.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), list(listed))
                for (uri, version), listed in changes.items()
            ]
        )

    def whole(self, data: bytes) -> types.WorkspaceEdit:
        """The document with other text, as the shortest edit of whole lines that makes it."""
        assert self.source is not None
        before, after = (text.splitlines(keepends=True) for text in (self.source.data, data))
        head = next(
            (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
            min(len(before), len(after)),
        )
        room = min(len(before), len(after)) - head
        tail = next((at for at in range(room) if before[-1 - at] != after[-1 - at]), room)
        start, end = sum(map(len, before[:head])), len(self.source.data) - sum(map(len, before[len(before) - tail :]))
        return self.edit((Edit(start, end, b"".join(after[head : len(after) - tail])),))

    # Hover

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        """The page of the rule that found something here, or that a suppression names."""
        pages: dict[str, types.Range] = {}
        for code, span in self._codes(uri, position):
            rule = next((rule for rule in load().values() if code.covers(rule.code, rule.name)), None)
            if rule is not None:
                pages[rule.code] = span
        for finding, diagnostic in self._of(uri):
            if _touch(diagnostic.range, types.Range(position, position)):
                pages.setdefault(finding.code, diagnostic.range)
        if not pages:
            return None
        from torchlint.docs import page

        text = "\n\n---\n\n".join(page(load()[code]) for code in pages)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), next(iter(pages.values())))

    def _codes(self, uri: str, position: types.Position) -> Iterator[tuple[Code, types.Range]]:
        """The code in a suppression that stands at the position."""
        if self.source is None:
            return
        source, row = self.source, position.line + 1
        number = next(
            (n for n in range(row, len(source.lines) + 1) if source.row(n) == row and self.home(n)[0] == uri), None
        )
        if number is None:
            return
        line = source.line_text(number)
        before = line[: index(line, position.character, self.client.encoding)]
        offset = source.lines[number - 1] + len(before.encode())
        for directive in Suppressions.of(self.source).directives:
            for code in directive.codes or ():
                if code.start <= offset <= code.end:
                    start, end = (self.place(*source.position(at)) for at in (code.start, code.end))
                    yield code, types.Range(start, end)


def looked(
    uri: str,
    version: int,
    source: Source | None,
    findings: Iterable[Finding],
    client: Client,
    other: Callable[[str], Source | None],
    cells: Cells,
    rule_url: str = "",
) -> Looked:
    """The findings of one version of a document; `other` gives the files that related places are in.

    `rule_url` is where the settings say that the page of a rule is.
    """
    kept = tuple(findings)
    position = _place(source, client.encoding)
    diagnostics = tuple(
        _diagnostic(finding, report.page_url(finding.name, finding.code, rule_url), position, client, other)
        for finding in kept
    )
    found = Looked(uri, version, source, kept, diagnostics, client, cells)
    for finding, diagnostic in zip(kept, diagnostics, strict=True):
        for related, shown in zip(finding.related, diagnostic.related_information or (), strict=False):
            if cells and related.path == finding.path:
                shown.location.uri = found.home(related.line)[0]
    return found


def _diagnostic(
    finding: Finding, page: str | None, position: Place, client: Client, other: Callable[[str], Source | None]
) -> types.Diagnostic:
    tags = []
    if finding.code == JUDGE:
        tags.append(types.DiagnosticTag.Unnecessary)
    if finding.name in _DEPRECATED:
        tags.append(types.DiagnosticTag.Deprecated)
    return types.Diagnostic(
        types.Range(position(finding.line, finding.column), position(finding.end_line, finding.end_column)),
        finding.message,
        _SEVERITIES[finding.severity],
        finding.code,
        types.CodeDescription(page) if page else None,
        SOURCE,
        tags or None,
        [_related(one, client, other) for one in finding.related] if client.related and finding.related else None,
    )


def _related(
    related: Related, client: Client, other: Callable[[str], Source | None]
) -> types.DiagnosticRelatedInformation:
    source = other(related.path)
    start = _place(source, client.encoding)(related.line, related.column)
    text = source.line_text(related.line).rstrip() if source is not None and related.line <= len(source.lines) else ""
    end = _place(source, client.encoding)(related.line, max(len(text) + 1, related.column))
    uri = Path(related.path).absolute().as_uri()
    return types.DiagnosticRelatedInformation(types.Location(uri, types.Range(start, end)), related.message)


def _place(source: Source | None, encoding: str) -> Place:
    if source is None:
        return place(lambda line: "", int, encoding)
    return place(lambda line: source.line_text(line) if 1 <= line <= len(source.lines) else "", source.row, encoding)


def _touch(one: types.Range, other: types.Range) -> bool:
    return (one.start.line, one.start.character) <= (other.end.line, other.end.character) and (
        other.start.line,
        other.start.character,
    ) <= (one.end.line, one.end.character)


def _asked_for(kind: str, only: Iterable[str] | None) -> bool:
    """Whether a client wants actions of the kind: kinds are paths, and `source` stands for all below it."""
    return only is None or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def wants_fix_all(only: Iterable[str] | None) -> bool:
    return _asked_for(FIX_ALL, only)


def suppression(source: Source, finding: Finding) -> Edit | None:
    """What to insert so that a comment silences the finding; None where no comment can."""
    for line in dict.fromkeys((finding.line, finding.end_line, *reversed(finding.statement))):
        if not 1 <= line <= len(source.lines):
            continue
        edit = _comment(source, line, finding.code)
        data = source.data[: edit.start] + edit.text + source.data[edit.end :]
        if Suppressions.of(Source.of(source.path, source.encode(data))).silences(finding):
            return edit
    return None


def _comment(source: Source, line: int, code: str) -> Edit:
    for directive in Suppressions.of(source).directives:
        if directive.line == line and directive.kind == "ignore" and directive.codes:
            end = directive.codes[-1].end
            return Edit(end, end, f", {code}".encode())
    text = source.line_text(line).rstrip()
    end = source.lines[line - 1] + len(text.encode())
    if text.endswith("\\"):
        return Edit(end, end, b"")  # a comment would end the statement
    return Edit(end, end, f"  # torchlint: ignore[{code}]".encode())
