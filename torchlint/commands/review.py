"""`torchlint review`: what a change makes slow, on its lines and elsewhere, as a review of a pull request."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.system.failure import Failure

from . import terminal
from .check import fails, linter
from .options import selection, settings_of, speed

if TYPE_CHECKING:
    from torchlint.review.run import Review
    from torchlint.settings.config import Settings

_DESCRIPTION = """\
Lint a change between two commits: the findings on its lines, and those that it causes on other lines.

Both commits are read from git, whatever is checked out; what is not committed is not reviewed. Without --post the
findings are printed. With it they become one review of the pull or merge request: comments on lines, suggestions where
a fix fits, and one summary. What was posted before is not posted again.
"""
_EXAMPLES = """\
examples:
  torchlint review --base origin/main
  torchlint review --base origin/main --post github --dry-run
  torchlint review --post gitlab            in GitLab CI, which says what to compare with

environment:
  GITHUB_TOKEN, GITLAB_TOKEN                the token to post with; nothing else is read from anywhere
  GITHUB_REPOSITORY, GITHUB_EVENT_PATH, GITHUB_API_URL
  CI_SERVER_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID, CI_MERGE_REQUEST_DIFF_BASE_SHA, CI_COMMIT_SHA

exit codes:
  0  nothing was found, or --exit-zero
  1  something was found, whether it was posted now or before
  2  the work could not be done: the reason is on stderr
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "review",
        help="review a change, on GitHub or GitLab if asked to",
        usage="torchlint review [OPTIONS]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--base", metavar="REV", default=None, help="what the change is compared with, such as origin/main "
                        "(default in CI: what the request is to be merged into)")  # fmt: skip
    parser.add_argument(
        "--head", metavar="REV", default=None, help="the end of the change (default: HEAD; in CI the request's own)"
    )
    parser.add_argument("--post", choices=("github", "gitlab"), default=None, help="post the review there")
    parser.add_argument(
        "--dry-run", action="store_true", default=False, help="print what --post would send as JSON; ask nobody"
    )
    parser.add_argument("--unsafe-fixes", action=argparse.BooleanOptionalAction, help="suggest unsafe fixes too")
    parser.add_argument("--output-format", metavar="FORMAT", help="without --post: how to report, as for check")
    parser.add_argument(
        "--certificate", metavar="DIR", default=None, help="write a certificate of what was judged, and how, there"
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)")
    parser.add_argument("-e", "--exit-zero", action="store_true", default=False, help="exit with 0 despite findings")
    selection(parser)
    speed(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint.report import plural
    from torchlint.review import hosts
    from torchlint.review.run import review

    if args.dry_run and args.post is None:
        raise Failure("`--dry-run` shows what `--post` would send; say where to")
    settings = settings_of(args)
    for warning in settings.warnings:
        terminal.warn(warning)
    host = hosts.host(args.post) if args.post else None
    base = args.base or (host and host.base)
    if not base:
        raise Failure("what is the change compared with? Give `--base`, such as `--base origin/main`")
    found = review(settings, base, args.head or (host and host.head) or "HEAD", lint=linter(args))
    terminal.errors(found.result.errors)
    if args.certificate:
        from .certified import of_review

        of_review(Path(args.certificate), found, fails(found.result, settings))
    if host is None:
        _show(args, settings, found)
    elif args.dry_run:
        terminal.out(json.dumps(host.payload(found), indent=2, ensure_ascii=False) + "\n")
    else:
        try:
            posted = host.post(found)
        except hosts.MayNotWrite as reason:
            _annotate(found) if args.post == "github" else _show(args, settings, found)
            terminal.warn(f"nothing was posted, the findings are printed instead. {reason}")
        else:
            gone = f" {plural(posted.gone, 'comment')} answered: gone." if posted.gone else ""
            print(f"{plural(len(found.remarks), 'finding')}, {posted.new} of them posted now.{gone}", file=sys.stderr)
    if found.result.errors:
        return 2
    return int(fails(found.result, settings) and not args.exit_zero)


def _annotate(found: Review) -> None:
    """Print the findings as workflow commands, which GitHub's runner shows on their lines without any token."""
    from torchlint import report
    from torchlint.system.git import Repository

    terminal.out(report.render("github", found.result, report.Look(root=Repository.around(Path.cwd()).top)))


def _show(args: argparse.Namespace, settings: Settings, found: Review) -> None:
    from torchlint import report
    from torchlint.report import summary

    color = terminal.colored(args.color, sys.stdout)
    look = report.Look(
        unsafe=settings.unsafe_fixes,
        may_fix=settings.may_fix,
        color=color,
        links=color and terminal.linked(sys.stdout),
        rule_url=settings.rule_url,
    )
    text = report.render(settings.output_format, found.result, look)
    if settings.output_format in report.TEXT:
        caused = sum(one.caused for one in found.remarks)
        if caused:
            text += f"{report.plural(caused, 'finding')} on lines that the change affects but does not touch.\n"
        text += summary.render(found.result, look)
    terminal.out(text)
