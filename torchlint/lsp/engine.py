"""The thread that lints: edits at once, the whole project again when nobody types."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from torchlint.cache.run import Recall, cache_of
from torchlint.fix.apply import applicable, fix_all
from torchlint.fix.neat import neat
from torchlint.lint import baseline
from torchlint.lint.run import Checked, Result
from torchlint.lsp.session import Session
from torchlint.lsp.warm import Interrupted
from torchlint.rule import Rule, load
from torchlint.settings import config
from torchlint.settings.config import Settings
from torchlint.settings.home import project_root
from torchlint.system import stamp
from torchlint.system.failure import Failure
from torchlint.system.stack import with_frames
from torchlint.text.finding import Finding
from torchlint.text.source import Source

from .looked import Cells, Client, Looked, looked

IDLE = 0.4
"""Seconds without an edit after which facts of other files are worked out anew."""
KEEP = 3.0
"""Seconds after a look until what it found is written to the cache on disk."""
REPORT = 0.2
"""Seconds between two reports of the first look's progress."""
COLLECT = 20
"""Edits between two collections of garbage: trees are cyclic, and the collector is off while people type."""
STACK = 64 << 20
"""Bytes of stack for deeply nested programs; threads get little of it on some systems."""

T = TypeVar("T")
Plug = Callable[[Sequence[str]], Iterable[Rule]]


class Listener(Protocol):
    """Whom the engine tells; called in its thread."""

    def found(self, looked: Looked, *, settled: bool) -> None:
        """A document's findings; `settled` where other files' facts were worked out anew."""

    def progress(self, root: Path, message: str | None) -> None:
        """How far the first look at a project is; None when it is done."""

    def show(self, message: str) -> None:
        """Something that people should put right."""

    def log(self, message: str) -> None:
        """Something for the editor's log."""


@dataclass(frozen=True)
class _Text:
    version: int
    data: bytes
    cells: Cells


@dataclass(frozen=True)
class _Home:
    """Where documents belong that are looked at together."""

    root: Path
    configured: Path
    """The directory of the configuration file; the root where there is none."""
    loose: bool
    """Whether the root is no project."""


class Engine:
    """Sessions by root folder, open documents, and one thread that alone touches them.

    `submit` runs a job there; a look at a whole project gives way to it and starts again later.
    """

    def __init__(self, client: Client, listener: Listener, plug: Plug | None = None) -> None:
        """`plug` loads the plugins that settings name, where the user allows it."""
        self._plug = plug
        self.client = client
        self.folders: tuple[Path, ...] = ()
        self._listener = listener
        self._options: Mapping[str, Any] = {}
        self._sessions: dict[_Home, Session] = {}
        self._open: dict[str, _Text] = {}
        self._results: dict[str, Looked] = {}
        self._edited: dict[str, None] = {}
        """Documents to glance at, in the order of their edits."""
        self._jobs: deque[Callable[[], None]] = deque()
        self._wake = threading.Condition()
        self._due: float | None = None
        self._keep_due: float | None = None
        self._checked: dict[Session, dict[str, Checked]] = {}
        """What the last whole look said of the open documents."""
        self._ended = False
        self._edits = 0
        self._new: set[Path] = set()
        """Sessions that have not been looked at whole."""
        self._logged: set[str] = set()
        self._baselines: dict[tuple[Path, str], tuple[str, baseline.Baseline]] = {}
        """What is hidden in a document, by the file that says so, with its stamp when it was read."""
        self._thread = threading.Thread(target=with_frames, args=(self._run,), name="torchlint", daemon=True)

    def start(self) -> None:
        gc.disable()
        before = threading.stack_size(STACK)
        self._thread.start()
        threading.stack_size(before)

    def end(self) -> None:
        with self._wake:
            self._ended = True
            self._wake.notify()

    # From other threads

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Run a job in the engine's thread, after the edits before it have been looked at."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    self._glance()
                    future.set_result(job())
                except BaseException as error:  # noqa: BLE001 - it belongs to who asked
                    future.set_exception(error)

        self._queue(run)
        return future

    def edit(self, uri: str, version: int, data: bytes, cells: Cells = MappingProxyType({})) -> None:
        """A document was opened or changed; `cells` are those of a notebook."""
        self._queue(lambda: self._edit(uri, _Text(version, data, cells)))

    def close(self, uri: str) -> None:
        self._queue(lambda: self._close(uri))

    def configure(self, folders: tuple[Path, ...] | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Folders or the editor's settings, or a configuration file, have changed."""
        self._queue(lambda: self._configure(folders, options))

    def touch(self) -> None:
        """Files have changed on disk."""
        self._queue(self._look_soon)

    def _queue(self, job: Callable[[], None]) -> None:
        with self._wake:
            self._jobs.append(job)
            self._wake.notify()

    def _log(self, message: str) -> None:
        """Say something once, not at every keystroke."""
        if message not in self._logged:
            self._logged.add(message)
            self._listener.log(message)

    # The thread

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._jobs and not self._ended and not self._edited:
                    now = time.monotonic()
                    due = min((at for at in (self._due, self._keep_due) if at is not None), default=None)
                    if due is not None and due <= now:
                        break
                    self._wake.wait(None if due is None else due - now)
                if self._ended:
                    return
                job = self._jobs.popleft() if self._jobs else None
            try:
                if job is not None:
                    job()
                elif self._edited:
                    self._glance()
                elif self._due is not None:
                    self._look()
                else:
                    self._keep()
            except Exception:  # noqa: BLE001 - a fault costs an answer, never the server
                self._due = self._keep_due = None
                self._log(f"this is a bug in torchlint, please report it:\n{traceback.format_exc()}")

    def _look_soon(self) -> None:
        self._due = time.monotonic() + IDLE
        self._keep_due = None

    def _edit(self, uri: str, text: _Text) -> None:
        try:
            self._session(uri)
        except (OSError, ValueError) as error:  # no file can have that name, and the others are to be looked at
            self._log(f"{uri}: {error}")
            return
        self._open[uri] = text
        self._edited[uri] = None
        self._look_soon()

    def _close(self, uri: str) -> None:
        if self._open.pop(uri, None) is None:
            return
        self._edited.pop(uri, None)
        self._results.pop(uri, None)
        session, path = self._session(uri)
        session.close(path)
        self._look_soon()

    def _configure(self, folders: tuple[Path, ...] | None, options: Mapping[str, Any] | None) -> None:
        if options is not None:
            self._options = options
        if folders is not None:
            self.folders = folders
            self._sessions.clear()
            self._edited.update(dict.fromkeys(self._open))
        homes = {self._home(_file(uri).parent): None for uri in self._open}
        for home, session in list(self._sessions.items()):
            if home in homes:
                session.configure(self._settings(home, session.settings))
            else:  # a file has come, or gone, that makes a project of a folder or configures it
                del self._sessions[home]
        self._edited.update((uri, None) for uri in self._open if self._home(_file(uri).parent) not in self._sessions)
        self._look_soon()

    # Findings

    def _glance(self) -> None:
        """Look at what was edited, one document at a time."""
        while self._edited:
            uri = next(iter(self._edited))
            del self._edited[uri]
            session, path = self._session(uri)
            text = self._open[uri]
            session.edit(path, text.data)
            if session.excluded(path):
                self._found(uri, text, session, path, None, settled=True)
            elif session.warm:
                self._found(uri, text, session, path, session.glance(path), settled=False)
            else:
                self._due = time.monotonic()
            self._edits += 1
            if self._edits % COLLECT == 0:
                gc.collect()

    def _look(self) -> None:
        """Look at every project with open documents, exactly, unless something comes in between."""
        self._due = None
        by_session: dict[Session, list[str]] = {}
        for uri in self._open:
            session, _ = self._session(uri)
            by_session.setdefault(session, []).append(uri)
        try:
            for session, uris in by_session.items():
                self._look_at(session, uris)
        except Interrupted:
            self._look_soon()
        gc.collect()

    def _look_at(self, session: Session, uris: list[str]) -> None:
        paths = {uri: path for uri in uris if not session.excluded(path := self._session(uri)[1])}
        if not paths:
            return
        stop = self._stop(session)
        if not session.warm:
            self._remember(session, paths)
        results = session.look(list(paths.values()), stop)
        for uri, path in paths.items():
            self._found(uri, self._open[uri], session, path, results[path], settled=True)
        self._checked[session] = {path: one for path in paths.values() if (one := results[path].of_file(path))}
        self._keep_due = time.monotonic() + KEEP
        if session.root in self._new:
            self._new.discard(session.root)
            self._listener.progress(session.root, None)
            gc.collect()
            gc.freeze()

    # The cache on disk

    def _remember(self, session: Session, paths: Mapping[str, str]) -> None:
        """Show what was found before, as long as a first look takes."""
        recall = recalled(session, {path: self._open[uri].data for uri, path in paths.items()})
        known = recall.known() if recall is not None else {}
        for uri, path in paths.items():
            if path in known:
                found = Result.of({path: known[path]}, {})
                self._found(uri, self._open[uri], session, path, found, settled=False)

    def _keep(self) -> None:
        """Keep what was found for the next start, where the last look was at what is on disk."""
        self._keep_due = None
        open_in: dict[Session, dict[str, bytes]] = {}
        for uri, text in self._open.items():
            session, path = self._session(uri)
            open_in.setdefault(session, {})[path] = text.data
        for session, texts in open_in.items():
            os.chdir(session.root)
            checked = self._checked.get(session, {})
            recall = recalled(session, texts) if texts.keys() <= checked.keys() else None
            if recall is not None and session.is_current():
                with contextlib.suppress(OSError):  # the next start takes longer, and that is all
                    recall.learn({path: checked[path] for path in texts})

    def _stop(self, session: Session) -> Callable[[], bool]:
        """Whether to give way. The first look of a project tells how far it is."""
        told = 0.0

        def stop() -> bool:
            nonlocal told
            if session.root in self._new and time.monotonic() - told > REPORT:
                told = time.monotonic()
                self._listener.progress(session.root, f"{session.known} files read")
            return bool(self._jobs) or self._ended

        return stop

    def _found(
        self, uri: str, text: _Text, session: Session, path: str, result: Result | None, *, settled: bool
    ) -> None:
        findings = self._not_hidden(session, path, result) if result is not None else ()
        self._results[uri] = looked(
            uri,
            text.version,
            session.source(path),
            findings,
            self.client,
            session.source,
            text.cells,
            session.settings.rule_url,
        )
        for error in result.errors if result is not None else ():
            self._log(f"this is a bug in torchlint, please report it: {error}" if error.is_bug else str(error))
        self._listener.found(self._results[uri], settled=settled)

    def _not_hidden(self, session: Session, path: str, result: Result) -> Sequence[Finding]:
        """The findings of a document that the baseline does not know, where the editor asks for one."""
        named = self._options.get("baseline")
        if not named or not result.findings:
            return result.findings
        file = baseline.locate(named if isinstance(named, str) else None, session.root)
        try:
            mark = stamp.stamp(str(file))
            if (file, path) not in self._baselines or self._baselines[file, path][0] != mark:
                settings = session.settings
                known = baseline.Baseline(file, [path], settings.enabled)
                self._baselines[file, path] = (mark, known)
            sources = {path: source} if (source := session.source(path)) is not None else {}
            return self._baselines[file, path][1](replace(result, sources=sources)).findings
        except (Failure, OSError) as failure:
            message = f"{file}: {failure.strerror}" if isinstance(failure, OSError) else str(failure)
            if message not in self._logged:
                self._logged.add(message)
                self._listener.show(message)
            return result.findings

    # Jobs for `submit`

    def result(self, uri: str) -> Looked | None:
        """What is known of an open document; looked for if need be. None for a document that is not open."""
        if uri in self._open and uri not in self._results:
            session, path = self._session(uri)
            if session.excluded(path):
                found: Result | None = None
            else:
                found = session.look([path], lambda: self._ended)[path]
            self._found(uri, self._open[uri], session, path, found, settled=False)
        return self._results.get(uri)

    def fixed(self, uri: str) -> tuple[Looked, bytes] | None:
        """A document with all safe fixes applied until none is left, and what it was."""
        before = self.result(uri)
        if before is None or before.source is None:
            return None
        session, path = self._session(uri)
        others = session.others(path)

        def look(changed: Mapping[str, Source]) -> Result:
            for source in changed.values():
                session.edit(path, source.raw)
            return session.glance(path)

        def wanted(finding: Finding) -> bool:
            return session.settings.may_fix(finding) and finding.fix is not None and applicable(finding.fix, "safe")

        def tidied(before: Source, after: Source) -> Source | None:
            return neat(before, after, others)

        try:
            done = fix_all(look, wanted, tidied)
        finally:
            session.edit(path, self._open[uri].data)
        after = done.after.get(path)
        return (before, after.data) if after is not None else None

    # Sessions

    def _session(self, uri: str) -> tuple[Session, str]:
        """The session that a document belongs to, and its path there. The working directory becomes its root."""
        file = _file(uri)
        home = self._home(file.parent)
        os.chdir(home.root)
        if home not in self._sessions:
            self._sessions[home] = Session(home.root, self._settings(home, None), loose=home.loose)
            self._new.add(home.root)
        return self._sessions[home], file.relative_to(home.root).as_posix()

    def _home(self, folder: Path) -> _Home:
        """Where the files of a folder belong: to the project that `torchlint check` finds, else to a folder of the editor's."""
        folders = [one for one in self.folders if folder.is_relative_to(one) and one.is_dir()]
        project = project_root(folder) or max(folders, key=lambda one: len(one.parts), default=None)
        root = project or next(one for one in (folder, *folder.parents) if one.is_dir())
        return _Home(root, _configured(folder) or root, project is None)

    def _settings(self, home: _Home, before: Settings | None) -> Settings:
        """The editor's settings over the configuration file's; those of before where they are wrong."""
        rules = load().values()
        options = {name: value for name, value in self._options.items() if name != "baseline"}
        named = options.pop("configuration", None)
        root, near = home.root, home.configured
        try:
            files = [str(named)] if named else []
            settings = config.load(rules, options, cwd=root, near=near, config=files, plug=self._plug)
        except Failure as failure:
            self._listener.show(f"{failure}".replace("from the CLI", "from the editor's settings"))
            return before or config.load(rules, cwd=root, near=near, isolated=True)
        for warning in settings.warnings:
            self._log(warning)
        return settings


def recalled(session: Session, texts: Mapping[str, bytes]) -> Recall | None:
    """What the cache on disk knows of documents; None where they are not as on disk, or where there is no cache."""
    if session.loose:
        return None
    try:
        cache = cache_of(session.settings)
        if any(stamp.contents(path) != text for path, text in texts.items()):
            return None
        if cache.refused() is not None or cache.unsigned() is not None:
            return None
        context = [Path(path) for path in session.paths(texts)]
        return Recall([Path(path) for path in texts], session.settings, cache, context)
    except (Failure, OSError):
        return None


def _configured(folder: Path) -> Path | None:
    """The directory of the configuration file that counts in a folder; the folder itself where one can't be read."""
    try:
        source = config.find(folder)
    except Failure:
        return folder
    return source.parent if source is not None else None


def _file(uri: str) -> Path:
    """The file of a document, by a path without links to it."""
    from pygls.uris import to_fs_path

    path = to_fs_path(uri) or uri
    return Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
