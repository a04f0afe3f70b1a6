"""What to say of a change: the findings on its lines, and those it causes elsewhere, with suggestions where a fix fits.

Base and head are read from git's objects, so neither has to be checked out.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import baseline, discover
from .cells import in_files
from .config import Settings
from .finding import Finding, Fix
from .git import Change, Hunk, Repository
from .lint import Result, lint
from .report import fixed_lines, merged, one_line, page_url, plural, worst_first
from .source import Source

MARK = re.compile(r"<!-- torchlint:([0-9a-f]{16}(?:-\d+)?) -->")
"""The hidden comment by which a finding that was posted before is known again."""
MOST_COMMENTS = 30
"""What hosts take in one request without suspecting abuse; what is beyond goes into the summary."""
_LONGEST = 60_000
"""Characters of a summary; GitHub takes 65,536."""
_APART = 20
"""A suggestion is one run of lines: a fix farther from its finding makes none."""

Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The lines that a fix makes of `lines`."""

    lines: Lines
    text: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """One finding of a review. `lines` are where it hangs on `hunk`; without one it belongs into the summary."""

    finding: Finding
    path: str
    mark: str
    caused: bool
    """Not on a changed line: it is there because of what changed elsewhere."""
    change: Change | None = None
    hunk: Hunk | None = None
    lines: Lines = (0, 0)
    suggestion: Suggestion | None = None


@dataclass(frozen=True)
class Review:
    """The remarks on what `head` changes since `base`, both hashes of commits, the worst first."""

    base: str
    head: str
    remarks: tuple[Remark, ...]
    result: Result
    """Only the findings of the remarks."""

    def without(self, marks: Iterable[str]) -> Review:
        """The review less what was posted before."""
        known = frozenset(marks)
        return replace(self, remarks=tuple(one for one in self.remarks if one.mark not in known))

    def summed_up(self) -> Review:
        """The review with nothing on lines, all in the summary."""
        return replace(self, remarks=tuple(replace(one, hunk=None, suggestion=None) for one in self.remarks))

    @property
    def inline(self) -> list[Remark]:
        """The remarks that go on their lines."""
        return [one for one in self.remarks if one.hunk is not None][:MOST_COMMENTS]

    @property
    def folded(self) -> list[Remark]:
        """The remarks that go into the summary."""
        inline = {one.mark for one in self.inline}
        return [one for one in self.remarks if one.mark not in inline]


def review(
    settings: Settings,
    base: str,
    head: str = "HEAD",
    directory: Path | None = None,
    lint: Callable[..., Result] = lint,
) -> Review:
    """Lint both ends of a change with these settings and compare. What lies outside of the working directory is left out.

    `lint` does as `lint.lint` does.
    Raises Failure for what git can't tell: no repository, an unknown revision, a clone too shallow to hold the base.
    """
    repository = Repository.around(directory or Path.cwd())
    start, end = repository.merge_base(base, head), repository.commit(head)
    changes = repository.changes(start, end, discover.SUFFIXES)
    if not changes:
        return Review(start, end, (), Result())
    after = lint(_files(repository, end, settings), settings)
    before = lint(_files(repository, start, settings), settings)
    renamed = {change.old_path: change.path for change in changes.values()}
    known = [
        replace(one, path=renamed.get(one.path, one.path)) for one in baseline.fingerprints(before, repository.top)
    ]
    prints = baseline.fingerprints(after, repository.top)
    new = frozenset(baseline.compare(prints, known).new)
    seen: Counter[str] = Counter()
    remarks, chosen = [], []
    located = in_files(after)
    for place, (finding, one) in enumerate(zip(located.findings, prints, strict=True)):
        change = changes.get(one.path)
        on_change = change is not None and change.touches(finding.line, finding.end_line)
        seen[one.digest] += 1
        mark = one.digest if seen[one.digest] == 1 else f"{one.digest}-{seen[one.digest]}"
        if on_change or place in new:
            remark = Remark(finding, one.path, mark, caused=not on_change, change=change)
            remarks.append(_placed(remark, located.source(finding.path), settings))
            chosen.append(after.findings[place])
    order = {id(finding): at for at, finding in enumerate(worst_first(one.finding for one in remarks))}
    remarks.sort(key=lambda one: order[id(one.finding)])
    errors = tuple(dict.fromkeys((*after.errors, *before.errors)))
    return Review(start, end, tuple(remarks), replace(after, findings=tuple(chosen), errors=errors))


def _files(repository: Repository, commit: str, settings: Settings) -> Mapping[str, bytes]:
    """The Python files of a commit below the working directory, by their paths relative to it."""
    names = {}
    here = os.path.realpath(Path.cwd())
    for path, name in repository.files(commit).items():
        if path.endswith(discover.SUFFIXES):
            relative = os.path.relpath(repository.top / path, here)
            if not relative.startswith(os.pardir) and not discover.excluded(relative, settings):
                names[relative] = name
    return dict(zip(names, repository.read(names.values()), strict=True))


def _placed(remark: Remark, source: Source | None, settings: Settings) -> Remark:
    """The remark on the lines it can hang on: those of its suggestion, else as many of its own as one hunk holds."""
    finding, change = remark.finding, remark.change
    if change is None or source is None:
        return remark
    suggestion = _suggestion(finding, source, settings)
    if suggestion is not None and (hunk := change.hunk(*suggestion.lines)):
        return replace(remark, hunk=hunk, lines=suggestion.lines, suggestion=suggestion)
    for hunk in change.hunks:
        first, last = max(finding.line, hunk.first), min(finding.end_line, hunk.last)
        if first <= last:
            return replace(remark, hunk=hunk, lines=(first, last))
    return remark


def _suggestion(finding: Finding, source: Source, settings: Settings) -> Suggestion | None:
    fix = finding.fix
    if fix is None or not fix.edits or finding.code not in settings.fixable or not _offered(fix, settings):
        return None
    first, last = fixed_lines(source, fix)
    if first < finding.line - _APART or last > finding.end_line + _APART:
        return None
    first, last = min(first, finding.line), max(last, finding.end_line)
    if last > len(source.lines):
        return None
    note = fix.note or "It may change what the program does." if fix.applicability == "unsafe" else ""
    return Suggestion((first, last), tuple(merged(source, fix, first, last)), note)


def _offered(fix: Fix, settings: Settings) -> bool:
    return fix.applicability == "safe" or (fix.applicability == "unsafe" and settings.unsafe_fixes)


# The words of a review, in the Markdown that GitHub and GitLab share


def comment(remark: Remark, *, fence: str = "suggestion") -> str:
    """The text of a comment on the remark's lines; `fence` opens its suggestion."""
    finding = remark.finding
    paragraphs = [f"{_title(finding)}: {finding.message}"]
    if remark.caused:
        paragraphs.append("This line is as it was: it is found because of what this change does elsewhere.")
    if finding.related:
        paragraphs.append("\n".join(f"- `{one.path}:{one.line}`: {one.message}" for one in finding.related))
    if (suggestion := remark.suggestion) is not None:
        longest = max((len(run) for line in suggestion.text for run in re.findall("`+", line)), default=0)
        ticks = "`" * max(3, longest + 1)
        paragraphs.append("\n".join((f"{ticks}{fence}", *suggestion.text, ticks)))
        if suggestion.note:
            paragraphs.append(f"Mind before you apply it: {suggestion.note}")
    return "\n\n".join((*paragraphs, f"<!-- torchlint:{remark.mark} -->"))


def summary(review: Review) -> str:
    """The text of the review itself: how much there is, and what no line of the diff can carry."""
    inline, folded = review.inline, review.folded
    caused = sum(one.caused for one in review.remarks)
    head = f"torchlint: {plural(len(review.remarks), 'finding')}"
    head += f", {caused} of them on lines that the change affects but does not touch." if caused else "."
    if not folded:
        return head
    text = f"{head}\n\n{'Besides those on the lines below' if inline else 'On lines that the diff does not show'}:\n"
    for at, one in enumerate(folded):
        item = f"\n- `{one.path}:{one.finding.line}` {_title(one.finding)}: {one_line(one.finding.message)} <!-- torchlint:{one.mark} -->"
        if len(text) + len(item) > _LONGEST:
            return f"{text}\n\nand {len(folded) - at} more: `torchlint check` lists them."
        text += item
    return text


def _title(finding: Finding) -> str:
    url = page_url(finding.name)
    return f"**{finding.code}** [{finding.name}]({url})" if url else f"**{finding.code}** {finding.name}"


# The payloads


def for_github(review: Review) -> dict[str, object]:
    """The body of `POST /repos/{owner}/{repo}/pulls/{number}/reviews`."""
    comments = []
    for one in review.inline:
        first, last = one.lines
        item: dict[str, object] = {"path": one.path, "body": comment(one), "side": "RIGHT", "line": last}
        comments.append(item | ({"start_line": first, "start_side": "RIGHT"} if first < last else {}))
    return {"commit_id": review.head, "event": "COMMENT", "body": summary(review), "comments": comments}


def for_gitlab(review: Review, start: str | None = None) -> list[dict[str, object]]:
    """The bodies of `POST /projects/:id/merge_requests/:iid/draft_notes`, to be published together.

    `start` is the merge request's own `start_sha` where it differs from the base.
    """
    shas = {"base_sha": review.base, "start_sha": start or review.base, "head_sha": review.head}
    notes: list[dict[str, object]] = []
    for one in review.inline:
        first, last = one.lines
        assert one.change is not None and one.hunk is not None, "what is inline has a hunk"
        position: dict[str, object] = {
            "position_type": "text",
            **shas,
            "old_path": one.change.old_path,
            "new_path": one.path,
        }
        position["new_line"] = last
        if (old := one.hunk.old_line.get(last)) is not None:
            position["old_line"] = old  # an unchanged line is named by both numbers
        note = comment(one, fence=f"suggestion:-{last - first}+0")
        notes.append({"note": note, "position": position})
    if review.folded:
        notes.append({"note": summary(review)})
    return notes


def marks(texts: Sequence[str]) -> frozenset[str]:
    """The findings that these comments are about."""
    return frozenset(mark for text in texts for mark in MARK.findall(text))
