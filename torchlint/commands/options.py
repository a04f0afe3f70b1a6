"""The options of `torchlint check` and its relatives, and the settings that these give."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torchlint.settings import config, keys
from torchlint.settings.config import Settings
from torchlint.settings.home import around
from torchlint.system.failure import Failure

if TYPE_CHECKING:
    from torchlint.rule import Rule

_SWITCH = argparse.BooleanOptionalAction


def paths(parser: argparse.ArgumentParser) -> None:
    """The files and directories that a run is about."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        default=["."],
        help="files and directories, or - for standard input (default: the working directory)",
    )


def fixes(parser: argparse.ArgumentParser) -> None:
    """The options that say what is repaired."""
    switch = _SWITCH
    fixes = parser.add_argument_group("fixes")
    fixes.add_argument("--fix", action=switch, help="apply the safe fixes")
    fixes.add_argument("--unsafe-fixes", action=switch, help="with --fix or --diff: the unsafe fixes too")
    fixes.add_argument("--diff", action="store_true", help="write no file, show what --fix-only would change")
    fixes.add_argument("--fix-only", action=switch, help="apply fixes and say nothing of what is left")
    fixes.add_argument("--show-fixes", action=switch, help="list what was fixed")


def new_only(parser: argparse.ArgumentParser) -> None:
    """The options that leave findings out which are not new."""
    new = parser.add_argument_group("new findings only")
    new.add_argument(
        "--baseline",
        nargs="?",
        const=None,
        metavar="FILE",
        help="hide what `torchlint baseline` wrote there, and tell what is gone (default: the closest .torchlint-baseline.json)",
    )
    new.add_argument(
        "--diff-base", metavar="REV", help="only findings on lines changed since HEAD left this git revision"
    )
    for name, comment in (("noqa", "# noqa: CODE"), ("ignore", "# torchlint: ignore[CODE]")):
        new.add_argument(
            f"--add-{name}", nargs="?", metavar="=REASON", help=f"silence what is found by `{comment}` comments"
        )


def selection(parser: argparse.ArgumentParser) -> None:
    """The options that say which rules look at which files."""
    switch = _SWITCH
    rules = parser.add_argument_group(
        "rules", "SELECTOR is a code, the start of one, a rule's name, a category (sync, memory, ...), or ALL."
    )
    selectors: dict[str, Any] = {"action": "extend", "type": _words, "metavar": "SELECTOR,..."}
    rules.add_argument(
        "--select", **{**selectors, "type": _selected}, help="the rules to use, instead of the default ones"
    )
    rules.add_argument("--ignore", **selectors, help="rules to leave out")
    rules.add_argument("--extend-select", **selectors, help="rules to use beside the selected ones")
    ignores: dict[str, Any] = {"action": "extend", "type": _words, "metavar": "PATTERN:SELECTOR,..."}
    rules.add_argument("--per-file-ignores", **ignores, help="rules to leave out in some files")
    rules.add_argument("--extend-per-file-ignores", **ignores, help="the same, beside what the settings say")
    rules.add_argument("--fixable", **selectors, help="the rules whose fixes may be applied (default: all)")
    rules.add_argument("--unfixable", **selectors, help="rules whose fixes may not be applied")
    rules.add_argument("--extend-fixable", **selectors, help="rules whose fixes may be applied beside those")
    rules.add_argument("--preview", action=switch, help="use rules that are still being tried out")
    rules.add_argument(
        "--target-torch",
        metavar="VERSION",
        help="the torch that the code runs with, such as 2.6 or '>=2.4,<2.9' (default: what the project requires)",
    )
    rules.add_argument("--ignore-noqa", action="store_true", help="report suppressed findings too")

    files = parser.add_argument_group("files")
    patterns: dict[str, Any] = {"action": "extend", "type": _words, "metavar": "PATTERN,..."}
    files.add_argument("--exclude", **patterns, help="what not to look at, instead of .git, .venv, build and the like")
    files.add_argument("--extend-exclude", **patterns, help="what not to look at beside these")
    files.add_argument("--force-exclude", action=switch, help="exclude files even if they are named as a PATH")
    files.add_argument("--respect-gitignore", action=switch, help="leave out what git ignores (default: yes)")

    settings = parser.add_argument_group("settings")
    settings.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="PATH|KEY=VALUE",
        help="a configuration file to read instead, or one of its lines, such as 'preview = true'",
    )
    settings.add_argument("--isolated", action="store_true", default=False, help="read no configuration file")
    settings.add_argument(
        "--allow-plugins", action="store_true", help="load the rules that the settings name as `plugins`: they are code"
    )


def output(parser: argparse.ArgumentParser) -> None:
    """The options that say what is told, where and how."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output-format",
        metavar="FORMAT",
        help=f"one of {', '.join(keys.FORMATS)} (default: full) [env: TORCHLINT_OUTPUT_FORMAT]",
    )
    output.add_argument(
        "-o", "--output-file", metavar="PATH", help="write the report there [env: TORCHLINT_OUTPUT_FILE]"
    )
    output.add_argument(
        "--evidence", metavar="FILE", help="judge the findings by what `torchlint trace --events FILE` saw"
    )
    output.add_argument("--certificate", metavar="DIR", help="write a certificate of what was judged, and how, there")
    output.add_argument("--statistics", action="store_true", help="count the findings of each rule instead")
    output.add_argument("--show-files", action="store_true", help="list the files that would be looked at")
    output.add_argument("--show-settings", action="store_true", help="show the settings as they are resolved")
    output.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)")
    output.add_argument("-q", "--quiet", action="store_true", default=False, help="print findings and nothing else")
    output.add_argument("-s", "--silent", action="store_true", default=False, help="print nothing; the exit code tells")
    output.add_argument("-v", "--verbose", action="store_true", default=False, help="tell what is done, on stderr")


def speed(parser: argparse.ArgumentParser) -> None:
    """The options that say with what means the work is done; the result is the same with all of them."""
    group = parser.add_argument_group("speed")
    group.add_argument(
        "-j",
        "--jobs",
        type=_count,
        metavar="N",
        default=None,
        help="processes to lint with (default: one for each CPU)",
    )
    group.add_argument(
        "--executor",
        choices=("local", "dask"),
        default="local",
        help="where they are: here, or the workers of a cluster",
    )
    group.add_argument("--scheduler", metavar="ADDRESS", default=None, help="of the cluster, such as tcp://HOST:8786")


def other(parser: argparse.ArgumentParser) -> None:
    """The rest of the options of `check`."""
    other = parser.add_argument_group("other")
    other.add_argument("--stdin-filename", metavar="PATH", help="the name of what is read from standard input")
    other.add_argument(
        "-w", "--watch", action="store_true", default=False, help="go on: lint again whenever a file changes"
    )
    other.add_argument("-n", "--no-cache", action="store_true", default=False, help="neither read nor write the cache")
    other.add_argument(
        "--cache-dir",
        type=os.path.abspath,
        metavar="DIR",
        help="where the cache is (default: .torchlint_cache in the project's directory) [env: TORCHLINT_CACHE_DIR]",
    )
    other.add_argument("--fail-level", choices=keys.LEVELS, help="the mildest severity that makes the exit code 1 "
                       "(default: info)")  # fmt: skip
    other.add_argument("-e", "--exit-zero", action="store_true", default=False, help="exit with 0 despite findings")
    other.add_argument(
        "--exit-non-zero-on-fix", action="store_true", default=False, help="exit with 1 if anything was fixed"
    )
    other.add_argument(
        "--no-sieve",
        action="store_true",
        default=False,
        help="analyse every file whole: slower, a few more findings of what no word tells",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def _words(text: str) -> list[str]:
    return [word for word in (part.strip() for part in text.split(",")) if word]


def _selected(text: str) -> list[str]:
    """The same, where nothing is given by mistake: `--select "$RULES"` without such a variable finds nothing in anything."""
    words = _words(text)
    if not words:
        raise argparse.ArgumentTypeError(f"{text!r} selects no rule")
    return words


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """What the command line sets, by the keys of a configuration file."""
    given = {name.replace("_", "-"): value for name, value in vars(args).items()}
    options = {key: value for key, value in given.items() if key in keys.KEYS}
    for key in ("per-file-ignores", "extend-per-file-ignores"):
        if key in options:
            options[key] = _pairs(key, options[key])
    if form := os.environ.get("TORCHLINT_OUTPUT_FORMAT"):
        options.setdefault("output-format", form)
    if cache := os.environ.get("TORCHLINT_CACHE_DIR"):
        options.setdefault("cache-dir", os.path.abspath(cache))
    return options


def _pairs(key: str, words: Iterable[str]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for word in words:
        pattern, colon, selector = word.rpartition(":")
        if not colon or not pattern or not selector:
            raise Failure(f"`--{key} {word}` isn't PATTERN:SELECTOR")
        table.setdefault(pattern, []).append(selector)
    return table


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings that the options of `selection` and the configuration file give."""
    from torchlint.rule import load

    near = around(places(args))
    settings = config.load(
        load().values(), _options(args), near=near, config=args.config, isolated=args.isolated, plug=plug_of(args)
    )
    return replace(settings, ignore_noqa="ignore_noqa" in args, sieve=not getattr(args, "no_sieve", False))


def plug_of(args: argparse.Namespace) -> Callable[[Sequence[str]], Iterable[Rule]] | None:
    """What loads the plugins that settings name; None where the user does not allow it."""
    if not getattr(args, "allow_plugins", False):
        return None
    from torchlint.rule.plugins import plug

    return plug


def places(args: argparse.Namespace) -> list[str]:
    """The paths that a run is about: those of the command line, the name of what comes on standard input."""
    paths = getattr(args, "paths", [os.curdir])
    return [getattr(args, "stdin_filename", os.curdir)] if paths == ["-"] else paths
