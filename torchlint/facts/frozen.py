"""Models whose parameters a program freezes, as far as the text near `requires_grad` names them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from .place import Place

_SETS = r"requires_grad(?:_\w*)?(?:\(|\s*=(?!=))"
"""`requires_grad = False`, `requires_grad_(False)`; `if p.requires_grad` freezes nothing."""


def is_frozen(place: Place, name: str) -> bool:
    """Whether the file, or a class that the method's class inherits from, freezes the parameters of a model of that name."""
    source, klass = place.function.module.source, place.function.cls
    if source.holds(b"requires_grad") and source.fact(f"frozen {name}", lambda read: _freezes(read.text, name)):
        return True
    bases = itertools.islice(place.project.ancestry(klass), 1, None) if klass is not None else ()
    return any(_freezes(base.module.lines_of(base.node), name) for base in bases)


def _freezes(text: str, name: str) -> bool:
    """`for p in net.parameters(): p.requires_grad = False`, `set_requires_grad(net, False)` that no call takes back."""
    name = re.escape(name)
    frozen = re.compile(
        rf"\b{name}\b[^\n]*{_SETS}|for [^\n]*\b{name}\b[^\n]*:\s*[^\n]*{_SETS}"
        rf"|\b(?:de|dis|un|no|turn_off|freeze)\w*requires_grad\w*\([^\n]*\b{name}\b"
    )
    given = re.compile(rf"requires_grad\w*\((?=[^\n]*\b{name}\b)[^\n]*\b(True|False)\b")
    lines = list(_around_grad(text))
    told = {match[1] for line in lines for match in given.finditer(line)}
    return told == {"False"} or any(map(frozen.search, lines))


def _around_grad(text: str) -> Iterator[str]:
    """The lines that hold `requires_grad`, each with what stands above it: the head of a loop may."""
    at = text.find("requires_grad")
    while at >= 0:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        above = text.rfind("\n", 0, at) + 1
        while above > 0:
            below, above = above, text.rfind("\n", 0, above - 1) + 1
            if text[above:below].strip():
                break
        yield text[above:end]
        at = text.find("requires_grad", end)
