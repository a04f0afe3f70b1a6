"""`--certificate` of check, trace and review: what was looked at, and where the certificate goes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.evidence.certified import certificate, of_findings
from torchlint.evidence.certified import of_trace as decided_by_trace
from torchlint.report import plural

if TYPE_CHECKING:
    from torchlint.lint.run import Result
    from torchlint.report.trace import Report
    from torchlint.review.run import Review


def of_check(
    args: argparse.Namespace, result: Result, files: Sequence[Path] | Mapping[str, bytes], failing: bool
) -> None:
    """`files` are those that were linted; `failing` says whether a finding fails the run."""
    traced = "evidence" in args
    contents = dict(files) if isinstance(files, Mapping) else _contents(files)
    certificate(
        "check",
        args.paths[0] if len(args.paths) == 1 else Path.cwd().name,
        f"{plural(len(contents), 'file')} linted: {' '.join(args.paths)}",
        of_findings(result.findings, failing, len(result.errors), traced),
        result.findings,
        contents,
        tests=[f"judged by the traced run in {args.evidence}"] if traced else [],
        conditions=["it holds for the data, the steps and the machine of that run"] if traced else ["nothing was run"],
        evidence=[str(one) for one in result.errors],
    ).write(Path(args.certificate), "check")


def of_review(folder: Path, found: Review, failing: bool) -> None:
    """The paths are those of the repository; verify it from there with the head checked out."""
    from torchlint.system.git import Repository

    repository = Repository.around(Path.cwd())
    files = repository.files(found.head)
    paths = [path for path in dict.fromkeys(one.path for one in found.remarks) if path in files]
    contents = dict(zip(paths, repository.read(files[path] for path in paths), strict=True))
    findings = [one.finding for one in found.remarks]
    certificate(
        "review",
        repository.top.name,
        f"the change from {found.base[:12]} to {found.head[:12]}",
        of_findings(findings, failing, len(found.result.errors), traced=False),
        findings,
        contents,
        conditions=["nothing was run"],
        evidence=[str(one) for one in found.result.errors],
    ).write(folder, "review")


def of_trace(folder: Path, report: Report, failed: str) -> None:
    """`failed` is what went wrong in the program, "" for nothing."""
    traced = report.trace
    limits = [*report.budget, *report.compared]
    confirmed = [one for one in report.judged if one.evidence and one.evidence.verdict == "confirmed"]
    here = os.path.realpath(os.curdir)
    seen = {event.file for event in traced.events if os.path.realpath(event.file).startswith(here + os.sep)}
    script = [traced.job.entry] if os.path.isfile(traced.job.entry) else []
    certificate(
        "trace",
        traced.job.entry,
        f"{' '.join([traced.job.entry, *traced.job.args])}, run for at most {plural(traced.job.steps, 'step')}",
        decided_by_trace(
            failed, [one.measure.name for one in limits if one.over], len(limits), len(confirmed), report.predicted
        ),
        [*report.judged, *report.discovered],
        _contents(Path(path) for path in sorted({os.path.relpath(path, here) for path in [*seen, *script]})),
        tests=[f"the {child.run} pass: {plural(child.steps, 'step')}, {child.end.name}" for child in traced.children],
        conditions=["repeat on the GPU that the program is for: none was used"] if report.predicted else [],
        evidence=[f"{one.measure.name}: {one.measure.value:g}, limit {one.limit:g}" for one in limits],
    ).write(folder, "trace")


def _contents(files: Iterable[Path]) -> dict[str, bytes]:
    """Of those that can be read, by their paths from here."""
    found = {}
    for file in files:
        with suppress(OSError):
            found[os.path.relpath(file)] = file.read_bytes()
    return found
