"""GitLab's code quality report. A fingerprint is made of rule, path and line text: it survives moved lines."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from json import dumps
from typing import TYPE_CHECKING

from torchlint.system.printable import in_json

from . import Look

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_SEVERITY = {"error": "major", "warning": "minor", "info": "info"}


def render(result: Result, look: Look) -> str:
    seen: Counter[str] = Counter()
    items = []
    for finding in result.findings:
        path = look.uri(finding.path)
        key = "\0".join((finding.name, path, result.line(finding.path, finding.line).strip()))
        seen[key] += 1
        items.append(
            {
                "check_name": finding.code,
                "description": f"{finding.code}: {finding.message}",
                "severity": _SEVERITY[finding.severity],
                "fingerprint": sha256(f"{key}\0{seen[key]}".encode(errors="surrogateescape")).hexdigest()[:32],
                "location": {
                    "path": path,
                    "positions": {
                        "begin": {"line": finding.line, "column": finding.column},
                        "end": {"line": finding.end_line, "column": finding.end_column},
                    },
                },
            }
        )
    return in_json(dumps(items, indent=2, ensure_ascii=False)) + "\n"
