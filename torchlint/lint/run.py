"""The one path from files to findings; the command line, the editor and the review bot all call it."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..facts.module import Function, Module
from ..facts.syntax import never_runs
from ..program.context import ACCELERATOR
from ..program.files import How, normal, read
from ..program.project import Project
from ..program.unused import why_unused
from ..query.closures import Depends
from ..rule import Rule, Scope, fixer, load
from ..rule.analysis import Analysis
from ..rule.site import FileSite, Site
from ..settings.config import Settings
from ..settings.home import Home
from ..system.fault import FileError, contained, fault
from ..system.regex import regex
from ..system.stack import is_large, with_room
from ..text.finding import SEVERITIES, Finding
from ..text.source import Source, SourceError, Words
from ..text.suppress import JUDGE, Suppressions
from ..text.tree import NoNode
from . import unnamed
from .dispatch import Dispatch, Shown
from .formed import assure, assure_fix
from .kept import keeps_comments, stands_in_string
from .meant import is_meant, told_of_patches
from .sieve import Sieve, places

Make = Callable[[Mapping[str, Callable[[], bytes]], Home], Project]


class Checked(NamedTuple):
    """What a run says of one file.

    `alone`: nothing of it depends on any other file; if something does, `hangs_on` says what, where that was noted.
    """

    findings: tuple[Finding, ...] = ()
    suppressed: int = 0
    errors: tuple[FileError, ...] = ()
    alone: bool = False
    hangs_on: Depends | None = None


@dataclass(frozen=True)
class Result:
    """The findings of a run in order, and what else is to be said of it."""

    findings: tuple[Finding, ...] = ()
    suppressed: int = 0
    files: int = 0
    errors: tuple[FileError, ...] = ()
    sources: Mapping[str, Source] | None = None
    checked: Mapping[str, Checked] | None = None
    """The same by file, in the order in which they were given."""

    @classmethod
    def of(
        cls, checked: Mapping[str, Checked], sources: Mapping[str, Source], errors: Iterable[FileError] = ()
    ) -> Result:
        """What is said of the files, together, with errors of others that they hang on."""
        findings = sorted((f for one in checked.values() for f in one.findings), key=lambda finding: finding.sort_key)
        return cls(
            tuple(findings),
            sum(one.suppressed for one in checked.values()),
            len(checked),
            tuple(dict.fromkeys([*(error for one in checked.values() for error in one.errors), *errors])),
            sources,
            checked,
        )

    def of_file(self, path: str) -> Checked | None:
        """What is said of one file."""
        return (self.checked or {}).get(path)

    def source(self, path: str) -> Source | None:
        """The file that a finding is about."""
        return (self.sources or {}).get(path)

    def line(self, path: str, line: int) -> str:
        """The text of a line, "" where there is none."""
        source = self.source(path)
        return source.line_text(line) if source is not None and 1 <= line <= len(source.lines) else ""


def lint(
    files: Sequence[Path] | Mapping[str, bytes],
    settings: Settings,
    *,
    context: Sequence[Path] = (),
    buffers: Mapping[str, bytes] | None = None,
    progress: Callable[[int, int], None] | None = None,
    make: Make = Project,
) -> Result:
    """Lint files together, so that a call in one can be hot, compiled or under no_grad because of another.

    A mapping gives the bytes of files that are not read from disk (stdin).
    `context` are further files of the project: read where they matter, never reported on.
    `buffers` are what some of all these files hold in place of what is on disk (fixed or edited, not saved).
    `progress` is told how many of how many files have been looked into.
    `make` gets the project's files, by path, and its home, and makes the project.
    """
    return lint_project(*gathered(files, settings.project, context, buffers, make), settings, progress)


def gathered(
    files: Sequence[Path] | Mapping[str, bytes],
    root: Path | None = None,
    context: Sequence[Path] = (),
    buffers: Mapping[str, bytes] | None = None,
    make: Make = Project,
) -> tuple[Project, list[str]]:
    """The project that `lint` looks at, with its directory (None: the working one), and the files in it that are linted."""
    readers: dict[str, Callable[[], bytes]] = {}
    if isinstance(files, Mapping):
        readers.update({normal(name): _given(data) for name, data in files.items()})
        targets = [normal(name) for name in files]
    else:
        targets = [normal(str(file)) for file in files]
        readers.update({path: read(path) for path in targets})
    readers.update({normal(path): _given(data) for path, data in (buffers or {}).items()})
    project = make(readers, Home(None if root is None else str(root)))
    if mention_torch(project, targets):
        for path in context:
            readers.setdefault(normal(str(path)), read(normal(str(path))))
        project.refresh()
    return project, targets


def lint_project(
    project: Project,
    targets: Sequence[str],
    settings: Settings,
    progress: Callable[[int, int], None] | None = None,
    analysis: Analysis | None = None,
) -> Result:
    """Lint some files of a project that may know much already; the paths are the project's own.

    `analysis` is what is known of the project with these settings.
    """
    with prepared():
        return _Run(targets, settings, project, progress, analysis or Analysis(project, settings)).result()


def mention_torch(project: Project, paths: Iterable[str]) -> bool:
    """Whether any of the files can have to do with torch; where none does, the rest of the project is not read."""
    return any(_is_torch(source) for source in map(project.source, paths))


def may_be_torch(data: bytes) -> bool:
    """Whether a file with these bytes may depend on other files: those that have nothing to do with torch never do."""
    near = ACCELERATOR.search(data) is not None or _TENSORS.search(data) is not None
    return _TORCH.search(data) is not None or (near and _OTHERS.search(data) is None)


def _is_torch(source: Source | None) -> bool:
    """Whether a file may run something of torch: a stub, `torch/__init__.pyi`, runs nothing."""
    if source is None or source.path.endswith(".pyi"):
        return False
    near = source.holds(_TORCH) or source.holds(ACCELERATOR) or source.holds(_TENSORS)
    return near and (not source.holds(_OTHERS) or source.holds(_NAMES_TORCH))


def _given(data: bytes) -> Callable[[], bytes]:
    return lambda: data


_TORCH = Words(b"torch", b"triton", b"tensorrt", b"accelerate")
_NAMES_TORCH = regex(
    rb"(?m)^[ \t]*(?:import|from)[ \t][^\n]{0,200}(?:torch|triton|tensorrt|accelerate)|(?<![\w./])torch\."
)
"""How code names torch: a page may speak of it, `Pytorch implementation: https://pytorch.org/x`."""
_TENSORS = Words(b".item()", b".cpu()", b".detach()", b".backward(", b".zero_grad(", b".parameters()")
"""What a file calls that is given tensors and models, and names neither torch nor a device: `scores.py` of a training script."""
_OTHERS = Words(
    b"import jittor", b"import mindspore", b"import paddle", b"import tensorflow", b"import mxnet", b"import jax"
)
"""Other frameworks: a file that imports one, and does not name torch in its code, has models of that one."""
_SCOPES: tuple[Scope, ...] = ("any", "hot", "compiled")


class _Run:
    def __init__(
        self,
        targets: Sequence[str],
        settings: Settings,
        project: Project,
        progress: Callable[[int, int], None] | None,
        analysis: Analysis,
    ) -> None:
        self.targets = list(dict.fromkeys(targets))
        self.progress = progress
        self.settings = settings
        self.project = project
        self.analysis = analysis
        self.codes = settings.all_codes(targets)
        self.rules = [rule for code, rule in load().items() if code in self.codes]
        self.known = {code: rule.name for code, rule in load().items()}
        self.errors: dict[str, dict[FileError, None]] = {}
        self.suppressed = 0
        # What is silenced must be known before unused suppressions are looked for.
        self.file_rules = sorted((r for r in self.rules if r.scope == "file"), key=lambda rule: rule.code == JUDGE)

    def result(self) -> Result:
        found = self._found()
        checked = {path: self._checked(path, found.get(path, [])) for path in self.targets}
        linked = [path for path, one in checked.items() if not one.alone]
        for path, hangs_on in zip(linked, self.project.all_hang_on([("file", path) for path in linked]), strict=True):
            checked[path] = checked[path]._replace(hangs_on=hangs_on)
        sources = {
            path: source
            for path, one in checked.items()
            if one.findings and (source := self.project.source(path)) is not None
        }
        return Result.of(checked, sources, self.project.faults)

    def _checked(self, path: str, found: list[Finding]) -> Checked:
        self.suppressed = 0
        kept: list[Finding] = []
        try:
            kept.extend(self._kept(path, found))
        except Exception as error:  # noqa: BLE001 - it costs what is said of this file
            self._fail(fault("Sorting the findings", error, path))
        findings = tuple(kept)
        source = self.project.source(path)
        if source is not None and source.cell(1) is not None:
            findings = tuple(replace(finding, cell=source.cell(finding.line)) for finding in findings)
        alone = not _is_torch(source)
        return Checked(findings, self.suppressed, tuple(self.errors.get(path, ())), alone)

    def _fail(self, error: FileError) -> None:
        self.errors.setdefault(error.path, {})[error] = None

    # Which functions are shown to which rules

    def _found(self) -> dict[str, list[Finding]]:
        found: dict[str, list[Finding]] = {}
        for dispatch, function, lines in self._tasks():
            path = function.module.path
            labels = frozenset(map(function.module.label, lines)) if lines is not None else None
            how = How(dispatch.name, labels, self._about(function.module))
            look = partial(self._noted, path, partial(self._shown, dispatch, function, lines))
            findings, errors = self.project.shown(function, how, look)
            for error in errors:
                self._fail(error)
            if findings:
                found.setdefault(path, []).extend(findings)
        return found

    def _about(self, module: Module) -> tuple[object, ...]:
        """What is known of a file as a whole that all rules may ask."""
        analysis = self.analysis
        codes, torch = self._codes_at(module), analysis.stated_for(module)
        return codes, torch, analysis.context.role(module), analysis.tests_versions(module)

    def _noted(self, path: str, look: Callable[[], list[Finding]]) -> tuple[list[Finding], list[FileError]]:
        """Findings, and what torchlint failed at on the way."""
        before = set(self.errors.get(path, ()))
        findings = look()
        return findings, [error for error in self.errors.get(path, ()) if error not in before]

    def _shown(self, dispatch: Dispatch, function: Function, lines: Collection[int] | None) -> list[Finding]:
        try:
            return with_room(lambda: self._show(dispatch, function, lines))
        except Exception as error:  # noqa: BLE001 - it costs what these rules find in one function
            path, line = function.module.path, function.first_line
            self._fail(fault(f"Looking into `{function.qualname}`", error, path, line))
            return []

    def _tasks(self) -> Iterator[tuple[Dispatch, Function, Collection[int] | None]]:
        # In an order that does not tell how they were named.
        ordered = sorted(self.targets, key=self.project.home)
        paths = [path for path in ordered if _is_torch(self.project.source(path))]
        if not paths:
            return  # what the rules' shapes look for is worked out for nothing
        anywhere, hot, compiled = (self._dispatch(scope) for scope in _SCOPES)
        wanted = set(paths)
        repeated: dict[Function, None] = {}
        if hot:
            steps, warm_loops = self.analysis.steps, self.analysis.warm_loops
            repeated.update(dict.fromkeys(steps.functions_in(wanted)))
            for find, part in ((steps.losses_in, "losses"), (warm_loops.warm_in, "loops that evaluate")):
                repeated.update(dict.fromkeys(function for path in paths for function in self._held(find, part, path)))
        elsewhere = self._dispatch("any", with_calls=True)
        for function, lines in self._sifted(paths, elsewhere):
            yield anywhere if function in repeated else elsewhere, function, lines
        for function in repeated:
            yield hot, function, None
        yield from self._unnamed(paths, repeated)
        if compiled:
            for function in self.analysis.regions.functions_in(wanted):
                yield compiled, function, None

    def _held(self, find: Callable[[str], Collection[Function]], part: str, path: str) -> Collection[Function]:
        """The functions of a file that hold something; none, of which the run is told, where torchlint fails at it."""
        try:
            return with_room(lambda: find(path))
        except Exception as error:  # noqa: BLE001 - it costs what is found in these functions
            self._fail(fault(f"Looking for {part}", error, path))
            return ()

    def _unnamed(
        self, paths: Sequence[str], repeated: Container[Function]
    ) -> Iterator[tuple[Dispatch, Function, Collection[int] | None]]:
        """The functions not shown whole that hold something without a name, with the lines of that; all, whole, with --no-sieve."""
        dispatch = self._dispatch("unnamed")
        if not dispatch:
            return
        for path in paths:
            source = self.project.source(path)
            found = unnamed.lines(source) if source is not None else ()
            module = self.project.module(path) if found or not self.settings.sieve else None
            if module is None:
                continue
            shown: Mapping[Function, Collection[int] | None] = module.functions_at(sorted(found))
            if not self.settings.sieve:
                shown = dict.fromkeys(module.functions)
            for function, lines in shown.items():
                if function not in repeated and function is not module.body:
                    yield dispatch, function, lines

    def _dispatch(self, scope: Shown, *, with_calls: bool = False) -> Dispatch:
        known, key = self.analysis.dispatches, (scope, with_calls, self.codes)
        if key not in known:
            known[key] = Dispatch(self.rules, self.project, scope, with_calls=with_calls)
        found: Dispatch = known[key]
        return found

    def _sifted(self, paths: Sequence[str], dispatch: Dispatch) -> Iterator[tuple[Function, Collection[int] | None]]:
        """The functions that hold a word of the rules, and its lines; all functions, whole, with --no-sieve."""
        if not dispatch:
            return
        sieve = dispatch.sieve if self.settings.sieve else None
        for done, path in enumerate(paths):
            if self.progress is not None:
                self.progress(done, len(paths))
            try:
                yield from self._sifted_in(path, sieve)
            except Exception as error:  # noqa: BLE001 - it costs this file
                self._fail(fault("Looking for words", error, path))

    def _sifted_in(self, path: str, sieve: Sieve | None) -> Iterable[tuple[Function, Collection[int] | None]]:
        source = self.project.source(path)
        if source is None:
            return ()
        offsets = sieve.found(source) if sieve is not None else None
        if offsets is not None and not offsets:
            return ()
        module = self.project.module(path)
        return places(module, offsets) if module is not None else ()

    # One function

    def _show(self, dispatch: Dispatch, function: Function, lines: Collection[int] | None) -> list[Finding]:
        found: list[Finding] = []
        fail = partial(self._fault, "Looking up a name", module=function.module)
        codes = self._codes_at(function.module)
        for node, parent, (name, rule, patterns) in dispatch.nodes(function, lines, fail):
            if rule.code not in codes:
                continue
            site = Site(self.analysis, function, node, rule, name)
            try:
                fits = site.look(patterns, parent)
            except Exception as error:  # noqa: BLE001 - it costs what the rule would say of this node
                fail(error, node)
                continue
            if fits:
                found += self._check(site)
        return found

    def _codes_at(self, module: Module) -> frozenset[str]:
        """The rules that a file's settings select, and that have something to say of its torch."""
        codes, torch = self.settings.at(module.path).codes, self.analysis.torch(module)

        def narrowed() -> frozenset[str]:
            return frozenset(r.code for r in self.rules if r.code in codes and r.torch.intersects(torch))

        return self.analysis.once(("codes", codes, torch, self.codes), narrowed)

    def _check(self, site: Site) -> Iterator[Finding]:
        rule: Rule = site.rule  # type: ignore[assignment]
        try:
            for finding in _said(rule, site):
                assure(finding, rule, site.module.text)
                # Which versions a place is reached under takes longer to tell than what most rules ask first.
                fits = site.torch is not None and rule.torch.intersects(site.torch)
                if fits and not _never_runs(site, finding) and site.confirmed:
                    yield self._where_used(site, self._with_fix(site, finding))
        except Exception as error:  # noqa: BLE001 - a rule's fault costs what it finds at one place, never the run
            self._fault(rule.code, error, site.target, site.module)

    def _fault(self, part: str, error: Exception, node: ast.AST, module: Module) -> None:
        """Note what failed at a place; not yet, where it may only have wanted more room."""
        if isinstance(error, RecursionError) and not is_large():
            raise error
        self._fail(fault(part, error, module.path, getattr(node, "lineno", 0)))

    def _with_fix(self, site: Site, finding: Finding) -> Finding:
        fix = finding.fix
        if fix is None and not stands_in_string(site):
            try:
                repair = contained(lambda: fixer(finding.name))
                fix = contained(lambda: repair(site, finding)) if repair is not None else None
                if fix is not None:
                    assure_fix(fix, site.module.text)
                    sound = keeps_comments(site.module.text, fix) and is_meant(site)
                    fix = told_of_patches(site, fix) if sound else None
            except NoNode:
                pass
            except Exception as error:  # noqa: BLE001 - it costs the fix, not the finding
                fix = None
                self._fault(f"The fix of {finding.code}", error, site.target, site.module)
        is_plain = fix is finding.fix and finding.told is None and finding.shown is None
        return finding if is_plain else replace(finding, fix=fix, told=None, shown=None)

    def _where_used(self, site: Site, finding: Finding) -> Finding:
        """The finding, told as mild and with the reason where no run of the program gets to its place."""
        try:
            reason = why_unused(self.project, site.function, site.target)
        except Exception as error:  # noqa: BLE001 - it costs the reason, not the finding
            self._fault("Looking for who uses it", error, site.target, site.module)
            return finding
        return replace(finding, message=f"{finding.message} ({reason})", severity="info") if reason else finding

    # One file

    def _kept(self, path: str, findings: list[Finding]) -> Iterator[Finding]:
        """The findings of a file that are enabled there and not suppressed, and what its comments deserve themselves."""
        source = self.project.source(path)
        error = self.project.errors.get(path)
        if isinstance(error, OSError):
            self._fail(FileError(path, error.strerror or str(error)))
            return
        if source is not None and path not in self.project.parsed:
            error = _syntax_error(source)  # nobody asked for the file's facts: it must parse all the same
        enabled = self.settings.enabled(path)
        suppressions = Suppressions.of(source) if source is not None and not self.settings.ignore_noqa else None
        told = {finding for finding in findings if finding.code in enabled}
        left = sorted(told - _told_better(told), key=_order)
        yield from _told_once(one for finding in left for one in self._unless_silenced(finding, suppressions))
        for rule in self.file_rules:
            if rule.code in enabled:
                site = FileSite(
                    path, rule, source=source, error=error, suppressions=suppressions, known=self.known, enabled=enabled
                )
                for finding in self._of_file(site):
                    yield from self._unless_silenced(finding, suppressions)

    def _of_file(self, site: FileSite) -> list[Finding]:
        rule: Rule = site.rule  # type: ignore[assignment]
        try:
            return list(rule.check(site))
        except Exception as error:  # noqa: BLE001 - a rule's fault costs what it finds, never the run
            self._fail(fault(rule.code, error, site.path))
            return []

    def _unless_silenced(self, finding: Finding, suppressions: Suppressions | None) -> Iterator[Finding]:
        severities = dict(self.settings.at(finding.path).severities)
        if suppressions is not None and suppressions.silences(finding):
            self.suppressed += 1
        elif (severity := severities.get(finding.code, finding.severity)) != finding.severity:
            yield replace(finding, severity=severity)
        else:
            yield finding


def _never_runs(site: Site, finding: Finding) -> bool:
    """Whether what a finding tells of never runs: the rule's place, or the node that it is shown at."""
    shown = finding.shown
    places = {site.target, shown} if isinstance(shown, ast.AST) and shown in site.flow.parents else {site.target}
    return any(never_runs(site.flow, place) for place in places)


def _said(rule: Rule, site: Site) -> Iterator[Finding]:
    """What a rule finds at a place, one by one."""
    end = object()
    findings = contained(lambda: iter(rule.check(site)))
    while (finding := contained(lambda: next(findings, end))) is not end:
        yield finding  # type: ignore[misc]


def _syntax_error(source: Source) -> SourceError | None:
    try:
        source.check()
    except SourceError as error:
        return error
    return None


def _order(finding: Finding) -> tuple[object, ...]:
    """The order of findings of a file: of those that say the same of one place the most severe comes first, then one with a fix."""
    fix = finding.fix
    by_fix = (fix is None, fix.title if fix is not None else "", fix.edits if fix is not None else ())
    return (finding.sort_key, SEVERITIES.index(finding.severity), finding.statement, finding.related, by_fix)


def _told_once(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in order, of which those that say the same of one place are one, with the lines of all."""
    found: list[Finding] = []
    for finding in findings:
        if found and found[-1].sort_key == finding.sort_key:
            found[-1] = replace(found[-1], related=tuple(dict.fromkeys((*found[-1].related, *finding.related))))
        else:
            found.append(finding)
    return found


def _told_better(findings: Collection[Finding]) -> set[Finding]:
    """The findings whose statement another rule reports that silences theirs: a graph break is more than the read it makes."""
    by_statement: dict[tuple[int, int], set[str]] = {}
    for finding in findings:
        by_statement.setdefault(finding.statement, set()).add(finding.code)
    rules = load()
    return {f for f in findings if not by_statement[f.statement].isdisjoint(rules[f.code].silenced_by)}


@contextmanager
def prepared() -> Iterator[None]:
    """The interpreter as linting wants it."""
    with _paused_collector(), _deep_stack():
        yield


@contextmanager
def _paused_collector() -> Iterator[None]:
    """No garbage collection while trees are built: they live to the end of the run, and collecting doubles its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _deep_stack(limit: int = 4000) -> Iterator[None]:
    """Room for deeply nested expressions."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
