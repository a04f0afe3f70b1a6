"""Reviewdog's diagnostic format, one diagnostic a line."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from torchlint.system.printable import in_json

from . import Look
from .rdjson import diagnostic

if TYPE_CHECKING:
    from torchlint.lint.run import Result


def render(result: Result, look: Look) -> str:
    items = (diagnostic(result, finding, look) for finding in result.findings)
    return "".join(in_json(dumps(item, ensure_ascii=False, separators=(",", ":"))) + "\n" for item in items)
