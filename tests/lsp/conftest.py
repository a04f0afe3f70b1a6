"""A client that speaks the protocol by hand, so that it can also speak it wrongly."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FULL = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1, 2]}},
        "codeAction": {"dataSupport": True, "resolveSupport": {"properties": ["edit"]}},
    },
    "workspace": {"workspaceEdit": {"documentChanges": True}},
    "window": {"workDoneProgress": True},
}


class Client:
    """An editor. Requests from the server are answered with null and kept in `asked`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notes: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self._number = 0
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        command = [sys.executable, "-m", "torchlint", "server"]
        self.process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        out = self.process.stdout
        assert out is not None
        while line := out.readline():
            length = int(line.split(b":")[1])
            while out.readline().strip():
                pass
            self._inbox.put(json.loads(out.read(length)))
        self._inbox.put(None)

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, **params: Any) -> int:
        """Send a request; its number."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        """The response to a request, with its `result` or `error`."""
        while True:
            message = self._next()
            if message.get("id") == number and "method" not in message:
                return message
            self._take(message)

    def ask(self, method: str, **params: Any) -> Any:
        return self.answer(self.begin(method, **params))["result"]

    def _next(self) -> dict[str, Any]:
        message = self._inbox.get(timeout=60)
        assert message is not None, "the server is gone"
        return message

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message and "method" in message:
            self.asked.append(message)
            self.send({"id": message["id"], "result": None})
        else:
            self.notes.append(message)

    # What editors do

    def start(self, capabilities: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
        folders = [{"uri": self.root.as_uri(), "name": self.root.name}]
        can = FULL if capabilities is None else capabilities
        result: dict[str, Any] = self.ask(
            "initialize",
            **{
                "processId": None,
                "rootUri": self.root.as_uri(),
                "workspaceFolders": folders,
                "capabilities": can,
                **params,
            },
        )
        self.notify("initialized")
        return result

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str | None = None, version: int = 1) -> None:
        text = (self.root / name).read_text() if text is None else text
        item = {"uri": self.uri(name), "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)

    def change(self, name: str, version: int, *changes: dict[str, Any]) -> None:
        self.notify(
            "textDocument/didChange",
            textDocument={"uri": self.uri(name), "version": version},
            contentChanges=list(changes),
        )

    def close(self, name: str) -> None:
        self.notify("textDocument/didClose", textDocument={"uri": self.uri(name)})

    def published(self, name: str, version: int | None = None) -> list[dict[str, Any]]:
        """The next diagnostics that are pushed for a file, for that version of it."""
        while True:
            for note in self.notes:
                params = note.get("params", {})
                if note["method"] != "textDocument/publishDiagnostics" or params["uri"] != self.uri(name):
                    continue
                if version is None or params.get("version") == version:
                    self.notes.remove(note)
                    return list(params["diagnostics"])
            self._take(self._next())

    def note(self, method: str) -> dict[str, Any]:
        """The next notification of that kind."""
        while True:
            for note in self.notes:
                if note["method"] == method:
                    self.notes.remove(note)
                    return dict(note["params"])
            self._take(self._next())

    def stop(self) -> int:
        """Shut the server down as the protocol says; its exit code."""
        self.ask("shutdown")
        self.notify("exit")
        return self.process.wait(timeout=30)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """An editor whose workspace is tmp_path; the server is started and not yet initialized."""
    one = Client(tmp_path)
    yield one
    if one.process.poll() is None:
        one.process.kill()
        one.process.wait()
    assert one.process.stdin is not None and one.process.stdout is not None
    one.process.stdin.close()
