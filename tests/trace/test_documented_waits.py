"""What torch's own documentation says of waiting, read from the torch that is there and held against the virtual GPU.

A new release brings its own sheet: nothing here is a list of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.trace.eager.virtual import virtual_gpu

pytestmark = pytest.mark.torch

_WAITS = re.compile(r"synchronizes (?:that|its) device with the CPU|causes\s+host-device synchronization")
_IF_ASKED = re.compile(r"synchronizes only when :attr:`(\w+)`\\ `= True`")
_WAITS_ALL_THE_SAME = {"torch.linalg.ldl_factor_ex": "cuSOLVER's sytrf waits for itself: seen on an H100 (docs/gpu.md)"}
_FEWEST = 20
"""How many functions torch 2.6 to 2.13 document."""


def documented() -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Functions with keywords, and whether the host waits in such a call."""
    for module in (torch, torch.linalg):
        for name in dir(module):
            function = getattr(module, name)
            text = function.__doc__ if callable(function) and isinstance(function.__doc__, str) else ""
            text = " ".join(text.split())
            spelled = f"{module.__name__}.{name}"
            if found := _IF_ASKED.search(text):
                yield spelled, {}, spelled in _WAITS_ALL_THE_SAME
                yield spelled, {found[1]: True}, True
            elif _WAITS.search(text):
                yield spelled, {}, True


SHEET = sorted(documented(), key=str)


class Seen:
    """A recorder of waits."""

    def __init__(self) -> None:
        self.waits: list[str] = []

    def record(self, kind: str, *, name: str = "", **_: object) -> None:
        if kind in ("sync", "d2h"):
            self.waits.append(name)

    def count_operator(self, size: int, at: object) -> None: ...

    def emit(self, event: object) -> None: ...


def called(name: str, keywords: dict[str, Any]) -> list[str]:
    """The waits of a call with two square matrices, or one if it takes no more."""
    function: Any = torch
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    seen = Seen()
    with virtual_gpu(seen):
        matrix = torch.eye(4, device="cuda") + 9
        seen.waits.clear()
        try:
            function(matrix, matrix, **keywords)
        except TypeError:
            function(matrix, **keywords)
    return seen.waits


@pytest.mark.parametrize(
    ("name", "keywords", "waits"), SHEET, ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_host_waits_where_torch_says_so(name: str, keywords: dict[str, Any], waits: bool) -> None:
    assert waits == bool(called(name, keywords))


def test_the_sheet_is_found() -> None:
    assert len({name for name, *_ in SHEET}) >= _FEWEST
