"""What a traced run and a profile of a real one have in common: the project around a program, its findings, the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.settings import discover
from torchlint.system import atomic
from torchlint.system.failure import Failure

from . import terminal

if TYPE_CHECKING:
    from torchlint.report.trace import Report
    from torchlint.text.finding import Finding


def show(report: Report, options: argparse.Namespace) -> None:
    from torchlint.report import Look, trace, trace_html

    look = Look(color=terminal.colored(options.color, sys.stdout))
    formats = {"text": trace.text, "json": trace.as_json, "html": trace_html.page}
    write(options.html, trace_html.page(report, look) if options.html else "")
    terminal.out(formats[options.output_format](report, look))
    if options.explain and options.output_format == "text":
        from torchlint.evidence import explain

        terminal.out("\n" + explain.text(explain.explain(report.trace.events)))


def write(path: Path | None, text: str | None) -> None:
    """Write the text; None only tries whether the file can be written."""
    if path is None:
        return
    discover.spare_code(str(path))
    try:
        if text is None:
            path.open("a").close()
        else:
            atomic.write(str(path), text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error


def folder_of(entry: str) -> Path:
    return Path(entry).parent if Path(entry).is_file() else Path.cwd()


def project_of(entry: str) -> Path:
    """The folder of all that the entry may import of its own project."""
    from torchlint.settings import home

    folder = folder_of(entry)
    return home.project_root(folder) or folder


def lint_of(paths: Sequence[Path], entry: str) -> list[Finding]:
    """The findings in the paths, with those of preview rules: the run decides whether they are shown."""
    return linted(paths, entry)[0]


def linted(paths: Sequence[Path], entry: str) -> tuple[list[Finding], list[Path]]:
    """The findings in the paths, with those of preview rules, and the files that were looked through."""
    from torchlint import rule
    from torchlint.lint import run as lint
    from torchlint.settings import config, discover, home

    settings = config.load(list(rule.load().values()), {"preview": True}, cwd=folder_of(entry))
    files = discover.discover(paths, settings).files
    context = discover.ProjectFiles(home.project_root(settings.project), files, settings)
    return list(lint.lint(files, settings, context=context).findings), [Path(file) for file in files]
