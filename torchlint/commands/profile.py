"""`torchlint trace --profile`: what a profile of a real run says of lines and findings. Nothing is run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torchlint.messages.job import Job
from torchlint.system.failure import Failure

from . import shared

_OF_A_RUN = (
    "budget", "save", "compare", "certificate", "gpu", "assume_batch", "host_us", "calibration", "timeline", "step_at",
    "keep", "shapes", "explain", "whatif",
)  # fmt: skip


def run(entry: str, options: argparse.Namespace, program: Sequence[str]) -> int:
    """Read the profile, judge the findings of the project, print the report and return 0; Failure for a bad file."""
    for name in _OF_A_RUN:
        if getattr(options, name):
            option = {"whatif": "compile"}.get(name, name).replace("_", "-")
            raise Failure(f"--{option} is about a run, and --profile runs nothing")
    if program:
        raise Failure(f"--profile runs nothing, so that {' '.join(program)} is for nobody")
    where = Path(entry or ".")
    if not where.exists():
        raise Failure(f"{where}: no such file or folder, whose lines the profile would be joined to")
    from torchlint.evidence import confirm, profile, profile_file, tracing
    from torchlint.report import trace as report

    for file in (options.events, options.html):
        shared.write(file, None)
    recording = profile_file.read(str(options.profile))
    project = where if where.is_dir() else shared.project_of(str(where))
    findings, files = shared.linted([project], str(where))
    found = profile.profile(recording, files)
    shared.write(options.events, "".join(event.to_json() + "\n" for event in found.events))
    here = [finding for finding in findings if str(Path(finding.path).resolve()) in found.files]
    judged = confirm.judge(here, found.events)
    job = Job(str(options.profile), (), "eager", "", device="cuda")
    end = replace(found.events[0], kind="end", name="finished", data=None)
    child = tracing.Child("eager", (*found.events, end), 0, "", "", found.seconds)
    told = report.Report(
        tracing.Trace(job, (child,), "eager"),
        tuple(judged),
        tuple(confirm.discover(found.events, judged)),
        elsewhere=len(findings) - len(here),
        measured=found,
    )
    shared.show(told, options)
    return 0
