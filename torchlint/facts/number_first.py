"""Calls of torch that give numbers before tensors: signatures from before torch 1.5, which warn since then.

Source: `tools/autograd/deprecated.yaml` of torch; each was called with torch 2.13, where it warned.
"""

from __future__ import annotations

from collections.abc import Mapping

Given = tuple[str, ...]
"""For each positional argument the keyword that takes its place, or "" for a tensor."""

_SUM, _PRODUCT = ("alpha", ""), ("value", "", "")
_MATRICES = ("addbmm", "addmm", "addmv", "addr", "baddbmm")
METHODS: Mapping[str, Mapping[int, Given]] = {
    **{name: {2: _SUM} for name in ("add", "sub")},
    **{name: {3: _PRODUCT} for name in ("addcdiv", "addcmul")},
    **{name: {3: ("beta", "", ""), 4: ("beta", "alpha", "", "")} for name in _MATRICES},
}
"""By the name of a method (without the `_` of those in place) and how many arguments it gets."""
FUNCTIONS: Mapping[str, Mapping[int, Given]] = {
    **{name: {3: ("", *_SUM)} for name in ("add", "sub")},
    **{name: {4: ("", *_PRODUCT)} for name in ("addcdiv", "addcmul")},
    **{name: {4: ("beta", "", "", ""), 5: ("beta", "", "alpha", "", "")} for name in _MATRICES},
}
"""The same of functions of `torch`."""
TAKES_DTYPE = frozenset(("torch.addmm()", "torch.baddbmm()"))
"""Functions that newer versions of torch give a dtype behind three tensors, too."""
SHAPES = [
    f"{owner}{name}{end}({', '.join(f'$a{number}' for number in range(count))})"
    for owner, ends, table in (("$x.", ("", "_"), METHODS), ("torch.", ("",), FUNCTIONS))
    for name, counts in table.items()
    for end in ends
    for count in counts
]
"""The calls as patterns of a rule."""


def roles_of(name: str, count: int) -> Given | None:
    """What the arguments of a call are, by its name as a rule sees it (`.add_()`, `torch.add()`); None for today's signature."""
    table = METHODS if name.startswith(".") else FUNCTIONS
    bare = name.removesuffix("()").rpartition(".")[2].removesuffix("_")
    return table.get(bare, {}).get(count)
