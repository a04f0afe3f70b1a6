"""One JSON object a line, each as in the JSON array."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from torchlint.system.printable import in_json

from . import Look
from .json import item

if TYPE_CHECKING:
    from torchlint.lint.run import Result


def render(result: Result, look: Look) -> str:
    items = (item(result, finding, look) for finding in result.findings)
    return "".join(in_json(dumps(i, sort_keys=True, ensure_ascii=False, separators=(",", ":"))) + "\n" for i in items)
