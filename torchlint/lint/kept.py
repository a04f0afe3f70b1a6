"""What a fix must leave: the comments inside of what it replaces, and what strings say."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter

from ..rule import Site
from ..text.finding import Fix
from ..text.source import Source
from ..text.suppress import comments


def keeps_comments(source: Source, fix: Fix) -> bool:
    """Whether every comment is still there afterwards; people who choose a suggestion see what goes."""
    if fix.applicability == "suggestion":
        return True
    for edit in fix.edits:
        if b"#" in source.data[edit.start : edit.end]:
            known = source.fact("comments", lambda source: list(comments(source.data)))
            inside = known[bisect_left(known, (edit.start, 0)) : bisect_left(known, (edit.end, 0))]
            before = Counter(source.data[start:end].rstrip() for start, end in inside)
            if before - Counter(edit.text[start:end].rstrip() for start, end in comments(edit.text)):
                return False
    return True


def stands_in_string(site: Site) -> bool:
    """Whether a place is inside of an f-string: `{x=}` shows what is written there, and not every Python nests quotes."""
    return any(isinstance(around, ast.JoinedStr) for around in site.flow.expressions(site.target))
