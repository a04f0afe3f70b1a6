"""What can be tried on a program: the fixes of its findings, a rule and a file at a time, and patches."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from torchlint.fix.run import fix_files
from torchlint.lint.baseline import fingerprints
from torchlint.lint.run import Result, lint
from torchlint.rule import Rule, load
from torchlint.settings import config, discover
from torchlint.settings.config import Settings
from torchlint.system.failure import Failure
from torchlint.text.finding import Finding

from .numbers import Allowed
from .versions import Version, patched
from .workspace import Overlay, Project, Workspace

CATEGORIES = frozenset({"sync", "data", "memory", "kernel", "precision"})
"""Of rules whose fixes are meant to make eager code faster; the others mend, migrate or compile."""
_IMPACT = ("high", "medium", "low")
_RISKS = ("safe", "unsafe", "suggestion")
_OF_DEVICE = frozenset({"h2d", "d2h", "sync", "synchronize", "empty_cache"})


@dataclass(frozen=True)
class Candidate:
    """One change that can be tried: what it is, where, and what it may do to the numbers."""

    name: str
    place: str
    why: str
    note: str
    risk: str
    allowed: Allowed
    after: Overlay
    diff: str
    device_only: bool = False
    """Whether it only helps a device: without one it is judged by counts."""

    @property
    def fingerprint(self) -> str:
        """The same for the same change, wherever in the file it has moved to."""
        changed = "\n".join(
            line for line in self.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
        )
        return sha256(f"{self.name}\n{self.place.partition(':')[0]}\n{changed}".encode()).hexdigest()[:16]


class _Group(NamedTuple):
    """A rule's findings in one function are tried together: each function runs, or doesn't, for itself."""

    code: str
    path: str
    scope: str


class Finder:
    """Looks for candidates in the files that the program imports."""

    def __init__(
        self,
        space: Workspace,
        version: Version,
        files: Sequence[str],
        allowed: Allowed,
        select: str,
        suggestions: bool = False,
    ) -> None:
        self._space = space
        self._suggestions = suggestions
        self._project = version.project
        self._files = [path for path in dict.fromkeys([*filter(None, [version.script]), *files]) if not _foreign(path)]
        self._allowed = allowed
        # Rules in preview count where they are named: what they say is proved before it is kept.
        given: dict[str, object] = {"select": select.split(","), "preview": True} if select else {}
        where = version.project.home / os.path.dirname(version.script)
        self._settings = config.load(load().values(), given, cwd=where)
        around = discover.ProjectFiles(version.project.home, map(Path, self._paths({})), self._settings)
        self._context = around if len(self._files) < 500 else ()

    def _paths(self, overlay: Overlay) -> dict[str, bytes]:
        found = {}
        for path in self._files:
            contents = overlay[path] if path in overlay else self._space.frozen(self._project, path)
            if contents is not None:
                found[str(self._project.home / path)] = contents
        return found

    def fixes(self, state: Overlay) -> Iterator[Candidate]:
        """The fixes that there are now, in the order in which they are to be tried."""
        rules = load()
        texts = self._paths(state)
        looked = _Remembering()
        result = looked(texts, self._settings, context=self._context)
        groups: dict[_Group, list[Finding]] = {}
        for finding, group in self._grouped(result):
            rule = rules.get(finding.code)
            if rule and self._tries(finding) and _wanted(rule):
                groups.setdefault(group, []).append(finding)
        for group, findings in sorted(groups.items(), key=lambda one: _order(rules[one[0].code], one[1])):
            if candidate := self._candidate(rules[group.code], group, findings, state, texts, looked):
                yield candidate

    def _tries(self, finding: Finding) -> bool:
        return finding.fix is not None and (self._suggestions or finding.fix.applicability != "suggestion")

    def _grouped(self, result: Result) -> Iterator[tuple[Finding, _Group]]:
        """Findings with what they are tried with: those of a rule in one function."""
        for finding, one in zip(result.findings, fingerprints(result, self._project.home), strict=True):
            yield finding, _Group(finding.code, one.path, one.scope)

    def _candidate(
        self,
        rule: Rule,
        group: _Group,
        findings: Sequence[Finding],
        state: Overlay,
        texts: Mapping[str, bytes],
        looked: _Remembering,
    ) -> Candidate | None:
        def narrow(result: Result) -> Result:
            its = (one for one, other in self._grouped(result) if other == group and self._tries(one))
            return replace(result, findings=tuple(map(_to_be_applied, its)))

        fixed = fix_files(
            texts, self._settings, unsafe=True, write=False, context=self._context, narrow=narrow, lint=looked
        )
        after = {os.path.relpath(name, self._project.home): contents for name, contents in fixed.contents.items()}
        if not after:
            return None
        first = findings[0]
        assert first.fix is not None
        events = {event.partition(":")[0] for event in rule.confirmed_by}
        more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
        return Candidate(
            f"{rule.code} {rule.name}",
            f"{os.path.relpath(first.path, self._project.home)}:{first.line}{more}",
            first.message,
            first.fix.note,
            _RISKS[_risk(findings)],
            _least(rule.numbers or "rounding", self._allowed),
            {**state, **after},
            difference(self._space, self._project, state, {**state, **after}),
            rule.category == "data" and bool(events) and events <= _OF_DEVICE,
        )

    def patch(self, path: Path, state: Overlay) -> Candidate:
        """A patch of the user's. Raises Failure where it does not apply to what there is now."""
        try:
            contents = path.read_bytes()
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}") from error
        after = patched(contents, self._project, self._space, state)
        diff = difference(self._space, self._project, state, after)
        place = next((line[6:] for line in diff.splitlines() if line.startswith("+++ b/")), "")
        return Candidate(f"patch {path.name}", place, f"the patch {path}", "", "patch", self._allowed, after, diff)


class _Remembering:
    """`lint`, asked for the unchanged files once: each candidate starts from the same findings."""

    def __init__(self) -> None:
        self._first: Result | None = None

    def __call__(
        self,
        files: Mapping[str, bytes],
        settings: Settings,
        *,
        context: Sequence[Path],
        buffers: Mapping[str, bytes] | None = None,
    ) -> Result:
        if buffers:
            return lint(files, settings, context=context, buffers=buffers)
        if self._first is None:
            self._first = lint(files, settings, context=context)
        return self._first


def _foreign(path: str) -> bool:
    return "site-packages" in path or path.startswith("..")


def _wanted(rule: Rule) -> bool:
    return rule.category in CATEGORIES and rule.numbers != "changed"


def _order(rule: Rule, findings: Sequence[Finding]) -> tuple[int, int, int, int, str, int]:
    """Great impact first, of equal ones the safe first, and what another rule is waited for after it; suggestions last."""
    risk = _risk(findings)
    suggested = int(_RISKS[risk] == "suggestion")
    return suggested, _IMPACT.index(rule.impact), risk, len(rule.depends_on), findings[0].path, findings[0].line


def _risk(findings: Sequence[Finding]) -> int:
    """The greatest risk of the fixes of these."""
    return max(_RISKS.index(one.fix.applicability) for one in findings if one.fix)


def _to_be_applied(finding: Finding) -> Finding:
    """A suggestion is applied as an unsafe fix is: its numbers and its time are looked at before it is kept."""
    if finding.fix is None or finding.fix.applicability != "suggestion":
        return finding
    return replace(finding, fix=replace(finding.fix, applicability="unsafe"))


def _least(of_rule: str, of_user: Allowed) -> Allowed:
    """What a fix may do: no more than its rule says, and than the user allows."""
    if of_user == "exact" or of_rule == "exact":
        return "exact"
    return "init" if of_rule == "init" else "rounding"


def difference(space: Workspace, project: Project, before: Overlay, after: Overlay) -> str:
    """The change as a unified diff that `git apply` takes."""
    pieces: list[str] = []
    for path in sorted({*before, *after}):
        old = before[path] if path in before else space.frozen(project, path)
        new = after[path] if path in after else space.frozen(project, path)
        if old != new:
            pieces += _unified(path, old, new)
    return "".join(pieces)


def _unified(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null")
    for line in difflib.unified_diff(_lines(old), _lines(new), *names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(contents: bytes | None) -> list[str]:
    """The lines as diff sees them: a lone carriage return or a form feed ends none."""
    text = (contents or b"").decode("utf-8", "surrogateescape")
    return [line for line in re.split(r"(?<=\n)", text) if line]
