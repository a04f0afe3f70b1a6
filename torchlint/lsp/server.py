"""The protocol: what editors send to the engine, and what it sends back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcServerNotInitialized
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from torchlint.lint.baseline import FILE as BASELINE
from torchlint.text.source import NOTEBOOK

from .engine import Engine, Plug
from .looked import FIX_ALL, SOURCE, Client, Looked, wants_fix_all
from .notebook import OpenNotebook
from .text import Document

T = TypeVar("T")
_EDITS = (types.DidChangeTextDocumentNotification, types.DidChangeNotebookDocumentNotification)
_WATCHED = ("**/*.py", "**/*.pyi", f"**/*{NOTEBOOK}", "**/*.toml", "**/.gitignore", f"**/{BASELINE}")


class Server:
    """One editor's connection."""

    def __init__(self, version: str, plug: Plug | None = None) -> None:
        cells = [types.NotebookCellLanguage("python")]
        notebooks = types.NotebookDocumentFilterWithNotebook(
            types.NotebookDocumentFilterNotebookType("jupyter-notebook"), cells
        )
        self.lsp = LanguageServer(
            SOURCE, version, notebook_document_sync=types.NotebookDocumentSyncOptions([notebooks])
        )
        self.engine = Engine(Client("utf-16"), self, plug)
        self._documents: dict[str, Document] = {}
        self._notebooks: dict[str, OpenNotebook] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pulls = False
        self._reports: set[Path] = set()
        """Projects whose first look goes on."""
        self._sent: dict[str, tuple[int, tuple[types.Diagnostic, ...]]] = {}
        self._edit: Any = None
        """The change of a document or notebook that is being taken in."""
        self._register()
        self._begun = self._shut = False
        """Whether the editor has sent `initialize`, and `shutdown`."""
        self._code = 0
        self._structure, self._handle = self.lsp.protocol.structure_message, self.lsp.protocol.handle_message
        vars(self.lsp.protocol).update(structure_message=self._structured, handle_message=self._handled)

    def run(self) -> int:
        """Serve standard input and output until the editor says so, or is gone; the exit code."""
        stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
        sys.stdout = sys.stderr  # what anything prints must not get between the messages
        try:
            self.lsp.start_io(stdin, stdout)
        finally:
            self.engine.end()
        return self._code

    def _register(self) -> None:
        pull = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE)
        actions = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True)
        handlers: dict[str, Callable[[Any], Any]] = {
            types.INITIALIZE: self._initialize,
            types.INITIALIZED: self._initialized,
            types.TEXT_DOCUMENT_DID_OPEN: self._opened,
            types.TEXT_DOCUMENT_DID_CHANGE: self._changed,
            types.TEXT_DOCUMENT_DID_CLOSE: self._closed,
            types.TEXT_DOCUMENT_DID_SAVE: self._saved,
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES: self._watched,
            types.WORKSPACE_DID_CHANGE_CONFIGURATION: self._configured,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._folders_changed,
            types.NOTEBOOK_DOCUMENT_DID_OPEN: self._notebook_opened,
            types.NOTEBOOK_DOCUMENT_DID_CHANGE: self._notebook_changed,
            types.NOTEBOOK_DOCUMENT_DID_CLOSE: self._notebook_closed,
            types.TEXT_DOCUMENT_HOVER: self._hover,
            types.TEXT_DOCUMENT_DIAGNOSTIC: self._pull,
            types.TEXT_DOCUMENT_CODE_ACTION: self._actions,
            types.CODE_ACTION_RESOLVE: self._resolve,
        }
        options = {types.TEXT_DOCUMENT_DIAGNOSTIC: pull, types.TEXT_DOCUMENT_CODE_ACTION: actions}
        for method, handler in handlers.items():
            # pygls leaves marks on what it is given, which methods do not take.
            self.lsp.feature(method, options.get(method))(partial(handler))

    def _structured(self, data: dict[str, Any]) -> object:
        """What pygls makes of a message; a request that it can't read is answered, not left waiting."""
        try:
            message = self._structure(data)
            if isinstance(message, _EDITS):
                self._edit = deepcopy(message.params)  # pygls moves positions that lie outside the text
            return message
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), int | str):
                self.lsp.protocol._send_response(data["id"], error=error.to_response_error())
            raise

    def _handled(self, message: Any) -> None:
        """Take a message in, unless it comes before `initialize`, which also comes only once, or behind `shutdown`."""
        method = getattr(message, "method", None)
        refusal: JsonRpcException | None = None
        if method == types.EXIT:
            self._code = 0 if self._shut else 1
        elif method is not None and self._shut:
            refusal = JsonRpcInvalidRequest("the server was told to shut down")
        elif method is not None and self._begun is (method == types.INITIALIZE):
            refusal = JsonRpcInvalidRequest("initialized twice") if self._begun else JsonRpcServerNotInitialized()
        if refusal is None:
            self._begun |= method == types.INITIALIZE
            self._shut |= method == types.SHUTDOWN
            self._handle(message)
        elif hasattr(message, "id"):
            self.lsp.protocol._send_response(message.id, error=refusal.to_response_error())

    # The connection

    def _initialize(self, params: types.InitializeParams) -> None:
        self._loop = asyncio.get_running_loop()
        can = params.capabilities
        text, workspace = can.text_document, can.workspace
        edits = workspace.workspace_edit if workspace else None
        published = text.publish_diagnostics if text else None
        action = text.code_action if text else None
        resolve = action.resolve_support.properties if action and action.resolve_support and action.data_support else ()
        self._pulls = bool(text and text.diagnostic)
        self.engine.client = Client(
            str(getattr(self.lsp.workspace.position_encoding, "value", self.lsp.workspace.position_encoding)),
            related=bool(published and published.related_information) or self._pulls,
            versions=bool(edits and edits.document_changes),
            resolves="edit" in resolve,
        )
        self.engine.start()
        options = params.initialization_options
        self.engine.configure(self._folders(), _options(options) if options is not None else None)

    def _folders(self) -> tuple[Path, ...]:
        workspace = self.lsp.workspace
        uris = list(workspace.folders) or ([workspace.root_uri] if workspace.root_uri else [])
        return tuple(Path(path) for path in map(to_fs_path, uris) if path)

    async def _initialized(self, params: types.InitializedParams) -> None:
        workspace = self.lsp.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            files = types.Registration("torchlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await self.lsp.client_register_capability_async(types.RegistrationParams([files]))

    # Documents

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        opened = params.text_document
        if opened.uri.startswith("file:") and not opened.uri.endswith(NOTEBOOK):
            document = Document(opened.uri, opened.version, opened.text, self.engine.client.encoding)
            self._documents[opened.uri] = document
            self.engine.edit(document.uri, document.version, document.data)

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self._documents.get(params.text_document.uri)
        if document is not None:
            for change in self._edit.content_changes:
                document.apply(change)
            document.version = params.text_document.version
            self.engine.edit(document.uri, document.version, document.data)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if self._documents.pop(uri, None) is not None:
            self.engine.close(uri)
            self._sent.pop(uri, None)
            if not self._pulls:
                self.lsp.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _notebook_opened(self, params: types.DidOpenNotebookDocumentParams) -> None:
        opened = params.notebook_document
        if opened.uri.startswith("file:") and opened.uri.endswith(NOTEBOOK):
            notebook = OpenNotebook(opened.uri, opened.version, self.engine.client.encoding, list(opened.cells))
            notebook.open(list(params.cell_text_documents))
            self._notebooks[opened.uri] = notebook
            self.engine.edit(notebook.uri, notebook.version, notebook.data, notebook.versions)

    def _notebook_changed(self, params: types.DidChangeNotebookDocumentParams) -> None:
        notebook = self._notebooks.get(params.notebook_document.uri)
        if notebook is not None:
            gone = set(notebook.texts)
            notebook.apply(self._edit.change)
            notebook.version = params.notebook_document.version
            self._clear(gone - set(notebook.texts))
            self.engine.edit(notebook.uri, notebook.version, notebook.data, notebook.versions)

    def _notebook_closed(self, params: types.DidCloseNotebookDocumentParams) -> None:
        notebook = self._notebooks.pop(params.notebook_document.uri, None)
        if notebook is not None:
            self.engine.close(notebook.uri)
            self._clear(notebook.texts)

    def _clear(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._sent.pop(uri, None)
            self.lsp.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        self.engine.touch()

    def _watched(self, params: types.DidChangeWatchedFilesParams) -> None:
        if any(change.uri.endswith(".toml") for change in params.changes):
            self.engine.configure()
        else:
            self.engine.touch()

    def _configured(self, params: types.DidChangeConfigurationParams) -> None:
        self.engine.configure(options=_options(params.settings) if params.settings else None)

    def _folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        self.engine.configure(folders=self._folders())

    # Answers

    async def _ask(self, job: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self.engine.submit(job))

    async def _looked(self, uri: str) -> Looked | None:
        whole = next((notebook.uri for notebook in self._notebooks.values() if uri in notebook.texts), uri)
        return await self._ask(lambda: self.engine.result(whole))

    async def _pull(self, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        looked = await self._looked(uri) if uri in self._documents else None  # the cells of notebooks are pushed
        items = looked.diagnostics if looked is not None else ()
        mark = format(hash(repr(items)) & (1 << 64) - 1, "x")
        if mark == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(mark)
        return types.RelatedFullDocumentDiagnosticReport(list(items), result_id=mark)

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        looked = await self._looked(uri)
        return looked.hover(uri, params.position) if looked is not None else None

    async def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, only = params.text_document.uri, params.context.only
        looked = await self._looked(uri)
        if looked is None:
            return []
        actions = list(looked.actions(uri, params.range, only))
        if wants_fix_all(only) and uri in self._documents and (only is not None or self.engine.client.resolves):
            everything = types.CodeAction("torchlint: fix all that is safe", FIX_ALL, data=uri)
            if self.engine.client.resolves:
                actions.append(everything)
            elif (resolved := await self._resolve(everything)).edit is not None:
                actions.append(resolved)
        return actions

    async def _resolve(self, action: types.CodeAction) -> types.CodeAction:
        if action.kind == FIX_ALL and isinstance(action.data, str):
            uri = action.data
            fixed = await self._ask(lambda: self.engine.fixed(uri))
            if fixed is not None:
                action.edit = fixed[0].whole(fixed[1])
        return action

    # What the engine says, in its thread

    def found(self, looked: Looked, *, settled: bool) -> None:
        self._call(lambda: self._publish(looked, settled=settled))

    def progress(self, root: Path, message: str | None) -> None:
        self._call(lambda: self._progress(root, message))

    def show(self, message: str) -> None:
        shown = types.ShowMessageParams(types.MessageType.Error, f"torchlint: {message}")
        self._call(lambda: self.lsp.window_show_message(shown))

    def log(self, message: str) -> None:
        logged = types.LogMessageParams(types.MessageType.Warning, f"torchlint: {message}")
        self._call(lambda: self.lsp.window_log_message(logged))

    def _call(self, say: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(say)

    def _publish(self, looked: Looked, *, settled: bool) -> None:
        if looked.uri in self._notebooks:
            for uri, version in looked.cells.values():
                self._push(uri, version, looked.of(uri))
        if looked.uri not in self._documents:
            return
        if not self._pulls:
            self._push(looked.uri, looked.version, looked.diagnostics)
            return
        before = self._sent.get(looked.uri)
        self._sent[looked.uri] = (looked.version, looked.diagnostics)
        if settled and (before is None or before[1] != looked.diagnostics):
            self._refresh()

    def _push(self, uri: str, version: int, diagnostics: tuple[types.Diagnostic, ...]) -> None:
        """Send the diagnostics of a document unless the editor has them."""
        if self._sent.get(uri) != (version, diagnostics):
            self._sent[uri] = (version, diagnostics)
            self.lsp.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, list(diagnostics), version))

    def _refresh(self) -> None:
        """Ask an editor that pulls to pull again."""
        workspace = self.lsp.client_capabilities.workspace
        if workspace and workspace.diagnostics and workspace.diagnostics.refresh_support:
            self.lsp.workspace_diagnostic_refresh(None)

    def _progress(self, root: Path, message: str | None) -> None:
        window = self.lsp.client_capabilities.window
        if not (window and window.work_done_progress):
            return
        progress, token = self.lsp.work_done_progress, f"torchlint-{root}"

        def begin(_: object) -> None:
            progress.begin(token, types.WorkDoneProgressBegin("torchlint", message="reading the project"))
            if root not in self._reports:  # the look was over before the editor had agreed
                end()

        def end() -> None:
            progress.end(token, types.WorkDoneProgressEnd(message="ready"))
            del progress.tokens[token]

        agreed = token in progress.tokens
        if message is None and root in self._reports:
            self._reports.discard(root)
            if agreed:
                end()
        elif message is not None and root not in self._reports:
            self._reports.add(root)
            progress.create(token, begin)
        elif message is not None and agreed:
            progress.report(token, types.WorkDoneProgressReport(message=message))


def _options(sent: object) -> Mapping[str, Any]:
    """The settings in what an editor sends: the options themselves, or under `torchlint` or `settings`."""
    while isinstance(sent, Mapping):
        inner = next((sent[key] for key in (SOURCE, "settings") if isinstance(sent.get(key), Mapping)), None)
        if inner is None:
            return dict(sent)
        sent = inner
    return {}
