"""A review as comments: which remarks share one, their words in the Markdown of GitHub and GitLab, and the payloads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..report import backticks, one_line, plural
from ..system.printable import printable
from .run import Lines, Remark, Review, Suggestion

_MARK = re.compile(r"<!-- torchlint(-gone)?:([0-9a-f]{16}(?:-\d+)?) -->")
"""The hidden comment by which a finding that was posted before is known again, or that it was gone."""
MOST_COMMENTS = 30
"""What hosts take in one request without suspecting abuse; what is beyond goes into the summary."""
MOST_TOGETHER = 10
"""Findings of one comment, so that people still see which line each is about."""
_LONGEST = 60_000
"""Characters of a summary; GitHub takes 65,536."""


@dataclass(frozen=True, slots=True)
class Thread:
    """Findings of one rule on neighbouring lines, which share a comment."""

    remarks: tuple[Remark, ...]

    @property
    def first(self) -> Remark:
        return self.remarks[0]

    @property
    def lines(self) -> Lines:
        return min(one.lines[0] for one in self.remarks), max(one.lines[1] for one in self.remarks)

    @property
    def marks(self) -> frozenset[str]:
        return frozenset(one.mark for one in self.remarks)

    @property
    def suggestion(self) -> Suggestion | None:
        """The suggestions one below the other; None where a remark has none."""
        parts = [one.suggestion for one in self.remarks if one.suggestion is not None]
        if len(parts) < len(self.remarks):
            return None
        notes = dict.fromkeys(one.note for one in parts if one.note)
        return Suggestion(self.lines, tuple(line for one in parts for line in one.text), " ".join(notes))


def threads(review: Review) -> tuple[Thread, ...]:
    """The comments on lines, the worst first, as many as hosts take."""
    made: list[list[Remark]] = []
    rank = {one.mark: at for at, one in enumerate(review.remarks)}
    for one in sorted((one for one in review.remarks if one.hunk is not None), key=lambda one: (one.path, one.lines)):
        if made and len(made[-1]) < MOST_TOGETHER and _neighbours(made[-1][-1], one):
            made[-1].append(one)
        else:
            made.append([one])
    made.sort(key=lambda remarks: min(rank[one.mark] for one in remarks))
    return tuple(Thread(tuple(remarks)) for remarks in made[:MOST_COMMENTS])


def _neighbours(one: Remark, other: Remark) -> bool:
    """Whether the second remark says of the line below the first one's what that one says."""
    same = (one.path, one.hunk, one.caused, one.finding.code) == (
        other.path,
        other.hunk,
        other.caused,
        other.finding.code,
    )
    alike = (one.suggestion is None) == (other.suggestion is None) and one.finding.related == other.finding.related
    return same and alike and other.lines[0] == one.lines[1] + 1


def folded(review: Review) -> list[Remark]:
    """The remarks that go into the summary."""
    told = {mark for thread in threads(review) for mark in thread.marks}
    return [one for one in review.remarks if one.mark not in told]


# Words


def comment(thread: Thread, *, fence: str = "suggestion") -> str:
    """The text of a comment on the thread's lines; `fence` opens its suggestion."""
    finding = thread.first.finding
    messages = [one_line(one.finding.message) for one in thread.remarks]
    if len(messages) == 1:
        paragraphs = [f"{_title(thread.first)}: {messages[0]}"]
    else:
        paragraphs = [_title(thread.first), "\n".join(f"- {message}" for message in messages)]
    if thread.first.caused:
        paragraphs.append("This line is as it was: it is found because of what this change does elsewhere.")
    if finding.related:
        paragraphs.append(
            "\n".join(f"- {_place(one.path, one.line)}: {one_line(one.message)}" for one in finding.related)
        )
    if (suggestion := thread.suggestion) is not None:
        ticks = backticks("\n".join(suggestion.text), 3)
        paragraphs.append("\n".join((f"{ticks}{fence}", *suggestion.text, ticks)))
        if suggestion.note:
            paragraphs.append(f"Mind before you apply it: {suggestion.note}")
    return "\n\n".join((*paragraphs, "".join(f"<!-- torchlint:{one.mark} -->" for one in thread.remarks)))


def summary(review: Review) -> str:
    """The text of the review itself: how much there is, and what no line of the diff can carry."""
    rest = folded(review)
    caused = sum(one.caused for one in review.remarks)
    head = f"torchlint: {plural(len(review.remarks), 'finding')}"
    head += f", {caused} of them on lines that the change affects but does not touch." if caused else "."
    if not rest:
        return head
    inline = len(rest) < len(review.remarks)
    text = f"{head}\n\n{'Besides those on the lines below' if inline else 'On lines that the diff does not show'}:\n"
    for at, one in enumerate(rest):
        item = f"\n- {_place(one.path, one.finding.line)} {_title(one)}: {one_line(one.finding.message)} <!-- torchlint:{one.mark} -->"
        if len(text) + len(item) > _LONGEST:
            return f"{text}\n\nand {len(rest) - at} more: `torchlint check` lists them."
        text += item
    return text


def farewell(marks: Iterable[str], head: str) -> str:
    """The answer to a comment whose findings are gone at this commit."""
    return f"Gone as of {head[:12]}." + "".join(f"<!-- torchlint-gone:{mark} -->" for mark in sorted(marks))


def _place(path: str, line: int) -> str:
    """A file and a line as code, whatever characters the name of the file has."""
    text = f"{printable(path)}:{line}"
    ticks = backticks(text)
    gap = " " * text.startswith("`")
    return f"{ticks}{gap}{text}{gap}{ticks}"


def _title(remark: Remark) -> str:
    finding = remark.finding
    return (
        f"**{finding.code}** [{finding.name}]({remark.page})" if remark.page else f"**{finding.code}** {finding.name}"
    )


# Payloads


def for_github(review: Review) -> dict[str, object]:
    """The body of `POST /repos/{owner}/{repo}/pulls/{number}/reviews`."""
    comments = [github_comment(thread) for thread in threads(review)]
    return {"commit_id": review.head, "event": "COMMENT", "body": summary(review), "comments": comments}


def github_comment(thread: Thread) -> dict[str, object]:
    """One of the `comments` of a review."""
    first, last = thread.lines
    item: dict[str, object] = {"path": thread.first.path, "body": comment(thread), "side": "RIGHT", "line": last}
    return item | ({"start_line": first, "start_side": "RIGHT"} if first < last else {})


def for_gitlab(review: Review, start: str | None = None) -> list[dict[str, object]]:
    """The bodies of `POST /projects/:id/merge_requests/:iid/draft_notes`, to be published together."""
    notes = [gitlab_note(review, thread, start) for thread in threads(review)]
    return [*notes, {"note": summary(review)}] if folded(review) else notes


def gitlab_note(review: Review, thread: Thread, start: str | None = None) -> dict[str, object]:
    """A note on the thread's lines. `start` is the merge request's own `start_sha` where it differs from the base."""
    (first, last), one = thread.lines, thread.first
    assert one.change is not None and one.hunk is not None, "what is inline has a hunk"
    position: dict[str, object] = {
        "position_type": "text",
        "base_sha": review.base,
        "start_sha": start or review.base,
        "head_sha": review.head,
        "old_path": one.change.old_path,
        "new_path": one.path,
        "new_line": last,
    }
    if (old := one.hunk.old_line.get(last)) is not None:
        position["old_line"] = old  # an unchanged line is named by both numbers
    return {"note": comment(thread, fence=f"suggestion:-{last - first}+0"), "position": position}


# What was posted before


def marks(text: str) -> frozenset[str]:
    """The findings that a comment is about."""
    return frozenset(mark for gone, mark in _MARK.findall(text) if not gone)


def standing(texts: Iterable[str]) -> frozenset[str]:
    """The findings that were posted and have not been gone since, from all comments in the order of time."""
    known: set[str] = set()
    for text in texts:
        for gone, mark in _MARK.findall(text):
            known.discard(mark) if gone else known.add(mark)
    return frozenset(known)
