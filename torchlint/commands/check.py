"""`torchlint check` and `torchlint fix`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint.settings import config, discover, keys
from torchlint.settings.config import Settings
from torchlint.settings.home import around, project_root
from torchlint.system.failure import Failure
from torchlint.system.printable import printable, shown_path

from . import options, terminal
from .options import places, settings_of
from .progress import Bar

if TYPE_CHECKING:
    from torchlint.fix.run import FixResult, Narrow
    from torchlint.fix.silence import Kind
    from torchlint.lint.baseline import Baseline
    from torchlint.lint.run import Result
    from torchlint.report import Look
    from torchlint.system.fault import FileError
    from torchlint.system.witness import Witness
    from torchlint.text.finding import Finding

_DESCRIPTION = """\
Find what makes PyTorch code slow in the given files and directories.

Settings come from the closest torchlint.toml, .torchlint.toml or pyproject.toml ([tool.torchlint]) at or above the
given paths; the command line comes first. Files that git ignores are left out.
"""
_EXAMPLES = """\
examples:
  torchlint check                           lint the working directory
  torchlint check train.py --fix            repair what can be repaired safely
  torchlint check --diff --unsafe-fixes     show what every fix would change
  torchlint check --select TL1,TL201        only the rules TL1... and TL201
  torchlint check --output-format sarif -o torchlint.sarif
  torchlint check --diff-base origin/main   only what is on lines that this branch changes
  torchlint check --add-ignore='known'      silence what is found by comments with this reason
  git show :train.py | torchlint check - --stdin-filename train.py

exit codes:
  0  nothing was found, or all of it was fixed
  1  findings are left; with --diff: something would change
  2  the work could not be done, or not all of it: the reason is on stderr; 128 and more: a signal ended it
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, summary in (("check", "find what makes PyTorch code slow"), ("fix", "the same as check --fix")):
        parser = commands.add_parser(
            name,
            help=summary,
            usage=f"torchlint {name} [OPTIONS] [PATH ...]",
            description=_DESCRIPTION,
            epilog=_EXAMPLES if name == "check" else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
        options.paths(parser)
        options.fixes(parser)
        options.new_only(parser)
        options.selection(parser)
        options.output(parser)
        options.speed(parser)
        options.other(parser)
        parser.set_defaults(run=run, **({"fix": True} if name == "fix" else {}))


@dataclass(frozen=True)
class Work:
    """What to lint: files on disk, or what came on standard input by its name."""

    files: Sequence[Path] | Mapping[str, bytes]
    context: Sequence[Path]
    narrow: Narrow = lambda result: result
    baseline: Baseline | None = None
    witness: Witness | None = None
    errors: tuple[FileError, ...] = ()
    """Of paths that are no files."""


def run(args: argparse.Namespace) -> int:
    if not args.watch:
        gc.disable()  # the process ends before collecting would pay
        return _recorded(args) if _is_repeatable(args) else _once(args)
    from torchlint.commands.watch import watch

    if "-" in args.paths:
        raise Failure("standard input can't be watched")
    return watch(args.paths, lambda: _once(argparse.Namespace(**vars(args))), clear=sys.stdout.isatty())


def _is_repeatable(args: argparse.Namespace) -> bool:
    """Whether a run like this only prints, and what it prints depends on nothing but the files it looks at."""
    more = ("diff_base", "baseline", "add_noqa", "add_ignore", "evidence", "show_files", "show_settings", "diff", "fix",
            "allow_plugins", "certificate")  # fmt: skip
    return "arguments" in args and not (
        args.no_cache
        or args.verbose
        or args.config
        or "-" in args.paths
        or _output_file(args)
        or any(option in args for option in more)
    )


def _recorded(args: argparse.Namespace) -> int:
    """A run that prints its own answer if it is asked again."""
    from torchlint.cache.replay import Recorder
    from torchlint.system.witness import Witness

    witness = Witness()
    recorder = Recorder(witness)
    with recorder:
        code = _once(args, witness)
    if code != 2:  # what went wrong may go right the next time
        with suppress(OSError):  # which was told when the findings were to be kept
            recorder.save(args.arguments, code)
    return code


def _once(args: argparse.Namespace, witness: Witness | None = None) -> int:
    started = time.perf_counter()
    _sort_out(args)
    if (path := _output_file(args)) is not None:
        discover.spare_code(path)
    settings = settings_of(args)
    if witness is not None:
        witness.above([os.curdir, *args.paths])
        witness.exact &= not _fixing(args, settings)
    if "show_settings" in args:
        terminal.out(_shown(settings))
        return 0
    if args.exit_zero and args.exit_non_zero_on_fix:
        raise Failure("`--exit-zero` and `--exit-non-zero-on-fix` say opposite things; give one")
    args.quiet |= args.silent
    if "statistics" in args:
        _check_statistics(settings.output_format)
    if "certificate" in args and (args.watch or _fixing(args, settings)):
        raise Failure("`--certificate` is of what was judged; it can't be combined with `--watch` or fixes")
    work = work_of(args, settings, witness)
    for warning in settings.all_warnings:
        terminal.warn(warning)
    if witness is not None:
        witness.exact &= not any(map(config.extends, settings.sources))
    if "show_files" in args:
        terminal.out("".join(f"{printable(os.path.abspath(path))}\n" for path in work.files))
        return 0
    if not work.files:
        terminal.warn("No Python files found under the given path(s)")
    work = _narrowed(args, settings, work)
    if "add_noqa" in args or "add_ignore" in args:
        code = _silence(args, settings, work)
    else:
        code = _fix(args, settings, work) if _fixing(args, settings) else _check(args, settings, work)
    if args.verbose:
        took = time.perf_counter() - started
        origin = settings.source or "no configuration file"
        terminal.tell(f"{len(work.files)} files, {len(settings.codes)} rules, {origin}, {took:.2f} s")
    return code


def _check_statistics(form: str) -> None:
    from torchlint import report
    from torchlint.report import statistics

    if form not in (*report.TEXT, *statistics.MACHINE_FORMATS):
        able = ", ".join(statistics.MACHINE_FORMATS)
        raise Failure(f"`--statistics` can't be written as {form}, only as text or as {able}")


def _shown(settings: Settings) -> str:
    def text(value: object) -> str:
        if isinstance(value, frozenset):
            return ", ".join(sorted(value))
        if type(value) is tuple:
            return ", ".join(
                text(item) if not isinstance(item, tuple) else ": ".join(map(text, item)) for item in value
            )
        return printable(str(value))

    shown = (field.name for field in fields(settings) if field.name != "closest")
    return "".join(f"{name} = {text(getattr(settings, name))}\n" for name in shown)


def _sort_out(args: argparse.Namespace) -> None:
    """Take `--baseline src` for a path: no baseline is called so."""
    if (given := getattr(args, "baseline", None)) is not None and _is_code(given):
        args.paths = [given, *(path for path in args.paths if args.paths != ["."])]
        args.baseline = None


def work_of(args: argparse.Namespace, settings: Settings, witness: Witness | None = None) -> Work:
    """What the paths of the command line stand for."""
    if "-" not in args.paths:
        found = discover.discover(args.paths, settings, witness)
        for warning in found.warnings:
            terminal.warn(warning)
        if found.errors and not found.files:
            raise Failure("\n".join(map(str, found.errors)))
        context = _context(found.files, settings, witness)
        return Work(found.files, context, witness=witness, errors=found.errors)
    if args.paths != ["-"]:
        raise Failure("`-` (standard input) can't be linted together with files")
    name = getattr(args, "stdin_filename", "-")
    if sys.stdin is None:
        raise Failure("standard input is closed")
    data = sys.stdin.buffer.read()
    if settings.force_exclude and discover.excluded(name, settings):
        return Work({}, ())
    return Work({name: data}, _context([Path(name)], settings))


def _is_code(path: str) -> bool:
    return path == "-" or os.path.isdir(path) or path.endswith(discover.SUFFIXES)


def _context(files: Iterable[Path], settings: Settings, witness: Witness | None = None) -> Sequence[Path]:
    """The other files of the project."""
    return discover.ProjectFiles(project_root(settings.project), files, settings, witness)


def _narrowed(args: argparse.Namespace, settings: Settings, work: Work) -> Work:
    """The work, with what `--baseline` and `--diff-base` leave of its findings."""
    if "diff_base" in args:
        from torchlint.report.changed import ChangedLines

        work = replace(work, narrow=ChangedLines(args.diff_base, settings.project))
    if "baseline" in args:
        from torchlint.lint import baseline

        if "diff_base" in args:
            raise Failure("`--baseline` and `--diff-base` are two ways to say what is new; give one")
        path = baseline.locate(args.baseline, around(places(args)))
        known = baseline.Baseline(path, work.files, settings.enabled)
        asked = work.narrow
        work = replace(work, narrow=lambda result: known(asked(result)), baseline=known)
    return work


def _silence(args: argparse.Namespace, settings: Settings, work: Work) -> int:
    """Write comments for what is found, and report what they do not silence."""
    from torchlint.fix import silence

    kind: Kind = "noqa" if "add_noqa" in args else "ignore"
    if isinstance(work.files, Mapping):
        raise Failure(f"`--add-{kind}` writes into files; standard input is none")
    if _fixing(args, settings) or ("add_noqa" in args and "add_ignore" in args) or settings.ignore_noqa:
        raise Failure(
            f"`--add-{kind}` can't be combined with fixes, with the other kind of comment or with `--ignore-noqa`"
        )
    result = work.narrow(linter(args)(work.files, settings, context=work.context))
    count = silence.write(result, kind, getattr(args, f"add_{kind}") or "")
    if not args.quiet:
        from torchlint.report import plural

        terminal.tell(f"Added {plural(count, 'suppression comment')}.")
    return _check(args, settings, work)


def _fixing(args: argparse.Namespace, settings: Settings) -> bool:
    return settings.fix or settings.fix_only or "diff" in args


def _check(args: argparse.Namespace, settings: Settings, work: Work) -> int:
    if args.quiet or not sys.stderr.isatty():
        linted = _linted(args, settings, work)
    else:
        with closing(Bar(sys.stderr)) as bar:
            linted = _linted(args, settings, work, progress=bar)
    result = work.narrow(linted)
    if "evidence" in args:
        result = replace(result, findings=tuple(_judged(result, args.evidence)))
    if "certificate" in args:
        from .certified import of_check

        of_check(args, result, work.files, fails(result, settings))
    _report(args, settings, result, _look(args, settings))
    _tell_baseline(args, work)
    return _exit(result, work, found=fails(result, settings) and not args.exit_zero)


def _linted(args: argparse.Namespace, settings: Settings, work: Work, **options: Any) -> Result:
    """What is found, with the help of what was found before."""
    lint = linter(args)
    if args.no_cache or isinstance(work.files, Mapping):
        return lint(work.files, settings, context=work.context, **options)
    from torchlint.cache import run as cached

    cache = cached.cache_of(settings)
    if (reason := cache.refused()) is not None:
        terminal.warn(f"{cache.directory}: {reason}; nothing is kept for the next run")
        return lint(work.files, settings, context=work.context, **options)
    if (reason := cache.unsigned()) is not None:
        if args.verbose:
            terminal.tell(f"Nothing is kept for the next run: {reason}.")
        return lint(work.files, settings, context=work.context, **options)
    return cached.lint(
        work.files, settings, cache, lint, context=work.context, witness=work.witness, warn=terminal.warn, **options
    )


def _lint_to_fix(args: argparse.Namespace, work: Work) -> Callable[..., Result]:
    """`linter`, with the help of what was found before as long as no file is changed."""
    plain = linter(args)

    def lint(files: Any, settings: Settings, *, context: Sequence[Path], buffers: Mapping[str, bytes]) -> Result:
        if not buffers:
            result = _linted(args, settings, work)
            if all(result.source(finding.path) is not None for finding in result.findings):
                return result
        return plain(files, settings, context=context, buffers=buffers)

    return lint


def linter(args: argparse.Namespace) -> Callable[..., Result]:
    """`lint.lint`, in the processes that the options ask for."""
    from torchlint.lint.parallel import Linter

    if (args.executor == "dask") is not (args.scheduler is not None):
        raise Failure("`--executor dask` and `--scheduler ADDRESS` go together")
    return Linter(args.jobs, args.scheduler).lint


def _judged(result: Result, path: str) -> list[Finding]:
    """The findings with the verdicts of a traced run."""
    from torchlint import rule
    from torchlint.evidence import confirm
    from torchlint.messages import event

    try:
        events = event.read_events(path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise Failure(str(error)) from None
    judged = confirm.confirm(result.findings, events, {code: found.confirmed_by for code, found in rule.load().items()})
    if not any(event.kind == "work" for event in events):
        return judged
    from torchlint.evidence.cost import Pricing

    pricing = Pricing.of_events(events)
    prediction = pricing.predict(events) if pricing else None
    return prediction.priced(judged) if prediction else judged


def _fix(args: argparse.Namespace, settings: Settings, work: Work) -> int:
    from torchlint.fix import run as fixing
    from torchlint.report import summary

    diff, stdin = "diff" in args, isinstance(work.files, Mapping)
    fixed = fixing.fix_files(
        work.files, settings, unsafe=settings.unsafe_fixes, write=not diff and not stdin, context=work.context,
        narrow=work.narrow, lint=_lint_to_fix(args, work),
    )  # fmt: skip
    count = sum(sum(codes.values()) for codes in fixed.fixed.values())
    look = replace(_look(args, settings), fixed=count)
    terminal.errors(fixed.failed)
    if diff:
        for path in sorted(fixed.diffs):
            terminal.patch(fixed.diffs[path])
        if not args.quiet:
            sys.stderr.write(summary.fixes_only(fixed.result, look, written=False))
        return _exit(fixed.result, work, fixed, found=bool(fixed.diffs) and not args.exit_zero)
    if isinstance(work.files, Mapping):
        for path, data in work.files.items():
            terminal.out(fixed.contents.get(path, data))
    if settings.fix_only:
        if not args.quiet:
            _write(summary.fixes_only(fixed.result, look, written=True), stderr=stdin)
    else:
        _report(args, settings, fixed.result, look, fixed, stderr=stdin)
    _tell_baseline(args, work)
    left = fails(fixed.result, settings) and not settings.fix_only and not args.exit_zero
    return _exit(fixed.result, work, fixed, found=left or (bool(count) and args.exit_non_zero_on_fix))


def _tell_baseline(args: argparse.Namespace, work: Work) -> None:
    """What the baseline hid, and what of it is gone."""
    from torchlint.report import plural

    known = work.baseline
    if known is None or args.quiet:
        return
    name = os.path.relpath(known.path)
    if known.hidden:
        terminal.tell(f"{plural(known.hidden, 'finding')} of {name} hidden.")
    if gone := known.gone:
        terminal.tell(f"{plural(len(gone), 'finding')} of {name} gone; `torchlint baseline` takes them out:")
        for one in gone:
            scope = f" in {one.scope}" if one.scope else ""
            terminal.tell(f"  {shown_path(one.path)}: {one.code}{scope}: {one.shown}")


def _exit(result: Result, work: Work, fixed: FixResult | None = None, *, found: bool) -> int:
    errors = (*work.errors, *result.errors)
    terminal.errors(errors)
    return 2 if errors or (fixed and fixed.failed) else int(found)


def fails(result: Result, settings: Settings) -> bool:
    """Whether a finding is as severe as what makes a run fail."""
    order = keys.LEVELS.index
    return any(order(one.severity) >= order(settings.at(one.path).fail_level) for one in result.findings)


def _look(args: argparse.Namespace, settings: Settings) -> Look:
    from torchlint.report import Look

    to_file = _output_file(args) is not None
    color = terminal.colored("never" if to_file and args.color == "auto" else args.color, sys.stdout)
    return Look(
        root=_repository(settings),
        unsafe=settings.unsafe_fixes,
        may_fix=settings.may_fix,
        only_new="baseline" in args,
        color=color,
        links=color and terminal.linked(sys.stdout),
        rule_url=settings.rule_url,
    )


def _repository(settings: Settings) -> Path:
    """The directory that code hosts name files from: what their runners say, else that of .git, else the settings'."""
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"):
        if (said := os.environ.get(variable)) and Path.cwd().is_relative_to(said):
            return Path(said)
    return settings.project if (settings.project / ".git").exists() else settings.root


def _output_file(args: argparse.Namespace) -> str | None:
    return getattr(args, "output_file", None) or os.environ.get("TORCHLINT_OUTPUT_FILE")


def _report(
    args: argparse.Namespace,
    settings: Settings,
    result: Result,
    look: Look,
    fixed: FixResult | None = None,
    *,
    stderr: bool = False,
) -> None:
    from torchlint import report
    from torchlint.report import statistics, summary

    form = settings.output_format
    for_people = form in report.TEXT
    if "statistics" in args:
        text = statistics.render(result, look, as_json=form in statistics.MACHINE_FORMATS)
        for_people = for_people and bool(result.findings)
    else:
        text = report.render(form, result, look)
    if for_people and not args.quiet:
        if fixed and settings.show_fixes:
            text += summary.fixes(fixed.fixed, look)
        text += summary.render(result, look)
    if (path := _output_file(args)) is not None:
        _save(path, text)
    elif not args.silent:
        _write(text, stderr=stderr)


def _write(text: str, *, stderr: bool) -> None:
    if stderr:
        sys.stderr.write(text)
    else:
        terminal.out(text)


def _save(path: str, text: str) -> None:
    from torchlint.system import atomic

    try:
        atomic.write(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror or error}") from None
