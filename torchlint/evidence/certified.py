"""The certificates of the commands that judge without changing anything: which status each result has, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..text.finding import Finding
from .certificate import Certificate, Status


class Decided(NamedTuple):
    """A status and its rationale."""

    status: Status
    rationale: str


def of_findings(findings: Sequence[Finding], failing: bool, errors: int, traced: bool) -> Decided:
    """What linting alone says: nothing was run, so it advises at best, unless a traced run has judged the findings.

    `failing` says whether a finding is severe enough to fail the run, `errors` how many files could not be looked at.
    """
    if errors:
        return Decided("NEEDS_FURTHER_REVIEW", f"{errors} files could not be looked at")
    if not traced:
        if failing:
            return Decided("REQUIRES_REMEDIATION", f"{len(findings)} findings; nothing was run")
        return Decided("ADVISORY_ONLY", "nothing was found that fails the check; nothing was run")
    verdicts = [one.evidence.verdict if one.evidence else "" for one in findings]
    if confirmed := verdicts.count("confirmed"):
        return Decided("REQUIRES_REMEDIATION", f"a traced run confirms {confirmed} of {len(findings)} findings")
    if open_ := len(verdicts) - verdicts.count("refuted"):
        return Decided(
            "NEEDS_FURTHER_REVIEW", f"a traced run neither confirms nor refutes {open_} of {len(findings)} findings"
        )
    return Decided("CONDITIONALLY_APPROVED", "no finding is left that a traced run does not refute")


def of_trace(failed: str, over: Sequence[str], limits: int, confirmed: int, virtual: bool) -> Decided:
    """What a traced run says: a gate where limits were set, advice where none was.

    `failed` is what went wrong in the program, `over` are the limits that it exceeds, `confirmed` how many findings it proves.
    """
    if failed:
        return Decided("NEEDS_FURTHER_REVIEW", f"{failed}: what was counted is not the whole")
    if over:
        return Decided("NO_GO", f"over the limit: {', '.join(over)}")
    if limits:
        within = f"within all {limits} limits"
        if virtual:
            return Decided("CONDITIONALLY_APPROVED", f"{within}, counted on a virtual GPU")
        return Decided("GO", within)
    if confirmed:
        return Decided("REQUIRES_REMEDIATION", f"{confirmed} findings are confirmed by what happened")
    return Decided("ADVISORY_ONLY", "no limit was set, and no finding was confirmed")


def certificate(
    tool: str,
    component: str,
    scope: str,
    decided: Decided,
    findings: Iterable[Finding],
    files: Mapping[str, bytes],
    *,
    tests: Sequence[str] = (),
    conditions: Sequence[str] = (),
    evidence: Sequence[str] = (),
) -> Certificate:
    """The certificate of a result; `files` are those that were judged, by their paths from where the command was run."""
    listed = list(findings)
    return Certificate(
        component,
        f"torchlint {tool}",
        scope,
        decided.status,
        decided.rationale,
        [_said(one) for one in listed],
        conditions,
        [*dict.fromkeys(f"{one.path}:{one.line}" for one in listed), *evidence],
        tests,
        sorted(files.items()),
    )


def _said(finding: Finding) -> str:
    judged = f" ({finding.evidence.verdict}: {finding.evidence.detail})" if finding.evidence else ""
    return f"{finding.path}:{finding.line} {finding.code} {finding.severity}: {finding.message}{judged}"
