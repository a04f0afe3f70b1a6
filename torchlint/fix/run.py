"""The fixes of a whole run, written to disk or kept: what `torchlint check --fix` and `--diff` do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..lint.run import Result, lint
from ..program.files import normal
from ..program.scripts import importing, scripts
from ..rule import load
from ..rule.site import FileSite
from ..settings.config import Settings
from ..system.fault import FileError
from ..text.finding import Finding
from ..text.source import Source, SourceError
from .apply import ChangedOnDisk, Fixed, Level, applicable, diff, fix_all
from .apply import write as write_file
from .neat import neat

Narrow = Callable[[Result], Result]
"""Leaves out the findings that are not asked for."""


@dataclass(frozen=True)
class FixResult:
    """What fixing did, by the paths as they were given. `result` is what is left, with the sources after fixing."""

    result: Result
    fixed: Mapping[str, Counter[str]]
    """How many findings of each code were fixed."""
    diffs: Mapping[str, bytes]
    contents: Mapping[str, bytes]
    """The new bytes of the files that change."""
    failed: tuple[FileError, ...]
    """Files that could not be written; they are as they were, and `result` says what is wrong with them."""


def fix_files(
    files: Sequence[Path] | Mapping[str, bytes],
    settings: Settings,
    *,
    unsafe: bool,
    write: bool,
    context: Sequence[Path] = (),
    narrow: Narrow = lambda result: result,
    lint: Callable[..., Result] = lint,
) -> FixResult:
    """Lint files together and apply what may be fixed, until nothing is left to fix.

    Takes the arguments of `lint`, and what does as that does. Suggestions are never applied, unsafe fixes only if `unsafe`, and only those of the rules
    that the settings of their file allow, and of the findings that `narrow` leaves. A rule whose fixes break a file is reported as TL004 and leaves no trace in it.
    """
    level: Level = "unsafe" if unsafe else "safe"

    def look(changed: Mapping[str, Source]) -> Result:
        return narrow(
            lint(files, settings, context=context, buffers={path: source.raw for path, source in changed.items()})
        )

    def wanted(finding: Finding) -> bool:
        return settings.may_fix(finding) and finding.fix is not None and applicable(finding.fix, level)

    beside = lru_cache(maxsize=1)(lambda: tuple(importing(scripts(str(settings.project)))))

    def tidied(before: Source, after: Source) -> Source | None:
        return neat(before, after, lambda word: _others(after.path, word, files, context, beside))

    fixed = fix_all(look, wanted, tidied)
    changed = {path: source for path, source in fixed.after.items() if source.raw != fixed.before[path].raw}
    names = {normal(str(path)): str(path) for path in files}
    failed = _write(fixed, changed, names) if write else {}
    for path in failed:
        del changed[path]
    result = look(changed) if failed else fixed.view
    counts: dict[str, Counter[str]] = {}
    for finding in fixed.applied:
        if finding.path in changed:
            counts.setdefault(names[finding.path], Counter())[finding.code] += 1
    left = [_withheld(one, fixed) if wanted(one) and one.path not in failed else one for one in result.findings]
    return FixResult(
        replace(result, findings=tuple(sorted([*left, *_undone(fixed, settings)], key=lambda f: f.sort_key))),
        counts,
        {names[path]: diff(fixed.before[path], source.data) for path, source in changed.items()},
        {names[path]: source.raw for path, source in changed.items()},
        tuple(failed.values()),
    )


def _others(
    path: str,
    word: bytes,
    files: Sequence[Path] | Mapping[str, bytes],
    context: Sequence[Path],
    beside: Callable[[], Sequence[Source]],
) -> Iterator[Source]:
    """The other files of the project that hold a word, as they are on disk; last scripts that are no modules."""
    for file in (*files, *context):
        if normal(str(file)) != path:
            with suppress(OSError, SourceError):
                data = files[file] if isinstance(files, Mapping) and isinstance(file, str) else Path(file).read_bytes()
                if word in data:
                    yield Source.of(normal(str(file)), data)
    yield from (source for source in beside() if word in source.data)


def _write(fixed: Fixed[Result], changed: Mapping[str, Source], names: Mapping[str, str]) -> dict[str, FileError]:
    """Write the changed files; those that could not be, and why."""
    failed: dict[str, FileError] = {}
    for path, source in changed.items():
        try:
            write_file(names[path], fixed.before[path].raw, source.raw)
        except ChangedOnDisk:
            failed[path] = FileError(path, "the file has changed since it was read; nothing was written")
        except OSError as error:
            failed[path] = FileError(path, f"{error.strerror or error}; nothing was written")
    return failed


def _withheld(finding: Finding, fixed: Fixed[Result]) -> Finding:
    """A finding that is left though its fix was asked for: another run would not apply it either."""
    assert finding.fix is not None
    broken = any((finding.path, finding.code) == (one.path, one.code) for one in fixed.failed)
    note = finding.fix.note if broken else "it would make a line too long that has no place to break"
    return replace(finding, fix=replace(finding.fix, applicability="suggestion", note=note))


def _undone(fixed: Fixed[Result], settings: Settings) -> list[Finding]:
    """What is to be said of fixes that were taken back."""
    rules = [rule for rule in load().values() if rule.scope == "file"]
    return [
        finding
        for failure in fixed.failed
        for rule in rules
        if rule.code in settings.enabled(failure.path)
        for finding in rule.check(FileSite(failure.path, rule, failed=(failure,)))
    ]
