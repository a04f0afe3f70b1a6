"""What is to be done about a file after its fixes: imports without a use go, lines that are too long are broken."""

from __future__ import annotations

from ..facts.taken import Others
from ..text.source import Source
from .apply import edited
from .folding import folded, too_long
from .line_length import line_length
from .unused_imports import unused_imports


def neat(before: Source, after: Source, others: Others) -> Source | None:
    """The file after its fixes, made neat; None where they make a line too long that can't be broken."""
    after = edited(after, unused_imports(before, after, others)) or after
    limit = line_length(after.path)
    lines = too_long(before, after, limit)
    if lines:
        broken = edited(after, folded(after, lines, limit))
        return broken if broken is not None and not too_long(before, broken, limit) else None
    return after
