"""Certificates: what was judged, how, with what decision, and the hashes of the files that it holds for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from ..system.failure import Failure
from ..system.printable import printable
from ..system.regex import regex
from ..system.stamp import contents

Status = Literal[
    "APPROVED", "CONDITIONALLY_APPROVED", "REJECTED", "REQUIRES_REMEDIATION", "GO", "NO_GO", "RECOMMEND",
    "DO_NOT_RECOMMEND", "ADVISORY_ONLY", "NEEDS_FURTHER_REVIEW", "EMERGENCY_STOP",
]  # fmt: skip
_FILE = regex(r"^- ([0-9a-f]{64})  (.+)$", re.MULTILINE)
_ID = regex(r"^- Identifier: TLC-([0-9a-f]{16})$", re.MULTILINE)


@dataclass(frozen=True)
class Certificate:
    """One judgement of one component by one command."""

    component: str
    tool: str
    scope: str
    decision: Status
    rationale: str
    findings: Sequence[str] = ()
    conditions: Sequence[str] = ()
    evidence: Sequence[str] = ()
    tests: Sequence[str] = ()
    files: Sequence[tuple[str, bytes]] = ()
    """What it was judged by: paths as seen from where the command was run, and contents."""
    date: float = field(default_factory=time.time)

    def name(self, descriptor: str) -> str:
        """`optimize_train_20261120_183000.md`."""
        component = re.sub(r"\W+", "-", Path(self.component).stem).strip("-") or "project"
        return f"{descriptor}_{component}_{time.strftime('%Y%m%d_%H%M%S', time.gmtime(self.date))}.md"

    def write(self, folder: Path, descriptor: str) -> Path:
        """Write it there under its name, which is given back. Raises Failure."""
        path = folder / self.name(descriptor)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(self.markdown(), "utf-8", errors="surrogateescape")
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}") from error
        return path

    def markdown(self) -> str:
        """The text, whose identifier is the hash of all the rest of it."""
        from importlib.metadata import version

        head = (
            "# Certificate\n\n"
            f"- Component: {printable(self.component)}\n"
            f"- Tool: {self.tool}, torchlint {version('torchlint')}\n"
            f"- Date: {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(self.date))}\n"
        )
        body = (
            f"\n## Review scope\n\n{printable(self.scope)}\n\n{_list(self.tests, 'no test was run')}"
            f"\n## Findings\n\n{_list(self.findings, 'none')}"
            f"\n## Decision\n\n**{self.decision}**\n\nRationale: {printable(self.rationale)}\n"
            f"\n## Conditions\n\n{_list(self.conditions, 'none')}"
            f"\n## Evidence\n\n{_list(self.evidence, 'none')}"
            "\n## Files\n\nBy their SHA-256, seen from where the command was run:\n\n"
            + _list((f"{sha256(contents).hexdigest()}  {_written(path)}" for path, contents in self.files), "none")
        )
        return f"{head}- Identifier: TLC-{_identifier(head + body)}\n{body}"


def _list(items: Iterable[str], nothing: str) -> str:
    lines = [f"- {printable(' '.join(item.split()) if '  ' not in item else item)}\n" for item in items]
    return "".join(lines) or f"- {nothing}\n"


def _written(path: str) -> str:
    """A path as a certificate has it: one that a line can't show as it is, or that begins with a quote, as a string of JSON."""
    return path if path == printable(path) and not path.startswith('"') else json.dumps(path)


def _read(name: str) -> str:
    """The path that a certificate has written."""
    try:
        return str(json.loads(name)) if name.startswith('"') else name
    except ValueError:
        return name


def _identifier(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _text(data: bytes) -> str:
    """What a certificate says, whatever newlines git gave it."""
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")


def verify(path: Path, root: Path) -> list[str]:
    """What does not hold any more of a certificate; paths in it are seen from `root`. Raises Failure for what is none."""
    try:
        text = _text(contents(str(path)))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    found = _ID.search(text)
    if found is None or not text.startswith("# Certificate\n"):
        raise Failure(f"{path} is no certificate of torchlint")
    wrong = []
    if _identifier(text[: found.start()] + text[found.end() + 1 :]) != found[1]:
        wrong.append("its text was changed after it was written")
    for digest, name in _FILE.findall(text):
        try:
            now = contents(str(root / _read(name)))
        except OSError as error:
            wrong.append(f"{name}: {error.strerror}")
            continue
        if sha256(now).hexdigest() != digest:
            wrong.append(f"{name} has changed")
    return wrong
