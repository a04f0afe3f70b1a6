"""A repository with a change in it, and code hosts that check what they are sent as the real ones do."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

OPS = "import torch\n\n\ndef metric(loss):\n    return loss.item()\n"
TRAIN = """\
import torch
from torch.utils.data import DataLoader

from ops import metric


def train(model, optimizer, dataset):
    loader = DataLoader(dataset, pin_memory=True)
    total = 0
    for x, y in loader:
        x = x.to("cuda")
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
    return total
"""
CHANGED = TRAIN.replace("        loss =", '        y = y.to("cuda")\n        loss =').replace(
    "    return", "        total += metric(loss)\n    return"
)
"""Adds TL402 in line 12, with a safe fix, and makes ops.metric hot: TL101 in line 5 there."""


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def commit(**files: str | None) -> str:
    for name, text in files.items():
        path = Path(f"{name}.py")
        path.unlink() if text is None else path.write_text(text)
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "x")
    return git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Commits files given as `name=text`; main has OPS and TRAIN, and the branch `feature` starts there."""
    for name in (
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_WORK_TREE",
        "GITHUB_EVENT_PATH",
        "GITHUB_TOKEN",
        "GITLAB_TOKEN",
        "NO_COLOR",
    ):
        monkeypatch.delenv(name, raising=False)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "x")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "x@x")
    top = tmp_path / "top"
    top.mkdir()
    monkeypatch.chdir(top)
    git("init", "-q", "-b", "main")
    commit(ops=OPS, train=TRAIN)
    git("switch", "-q", "-c", "feature")
    return commit


@dataclass
class Site:
    """What a host has, and how it answers."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    """The new lines that its own diff shows: added ones and three around them."""
    unchanged: dict[str, dict[int, int]] = field(default_factory=dict)
    """Of these, the old numbers of the ones that are not added."""
    head: str = ""
    token: str = "secret-token"
    notes: list[dict[str, Any]] = field(default_factory=list)
    drafts: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    limited: list[tuple[int, dict[str, str], dict[str, str]]] = field(default_factory=list)
    """Answers to give first, instead of what was asked for."""
    asked: list[str] = field(default_factory=list)
    url: str = ""
    read_only: bool = False
    refused: set[str] = field(default_factory=set)
    """Paths whose lines are refused though the diff shows them."""
    resolved: list[str] = field(default_factory=list)


class Refused(Exception):
    def __init__(self, status: int, body: object) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def serve(site: Site, answer: Callable[[Site, str, str, Any, Any], object]) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._do(None)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self._do(json.loads(self.rfile.read(length) or b"null"))

        def do_PUT(self) -> None:
            self.do_POST()

        def _do(self, body: Any) -> None:
            parts = urlsplit(self.path)
            site.asked.append(f"{self.command} {parts.path}")
            headers: dict[str, str] = {}
            if site.limited:
                status, headers, message = site.limited.pop(0)
                self._reply(status, message, headers)
                return
            try:
                reply: Any = answer(site, self.command, parts.path, self.headers, body)
                if isinstance(reply, list):
                    reply, headers = self._page(reply, parts.path, parse_qs(parts.query))
                self._reply(200 if self.command == "GET" else 201, reply, headers)
            except Refused as refused:
                self._reply(refused.status, refused.body, {})

        def _page(self, items: list[Any], path: str, query: dict[str, list[str]]) -> tuple[list[Any], dict[str, str]]:
            size, page = int(query.get("per_page", ["30"])[0]), int(query.get("page", ["1"])[0])
            headers = {"X-Page": str(page), "X-Per-Page": str(size)}
            if page * size < len(items):
                headers["Link"] = f'<{site.url}{path}?per_page={size}&page={page + 1}>; rel="next"'
                headers["X-Next-Page"] = str(page + 1)
            return items[(page - 1) * size : page * size], headers

        def _reply(self, status: int, body: object, headers: dict[str, str]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()


def shown(base: str, head: str, site: Site) -> None:
    """Give a host the diff, read by other means than torchlint's own."""
    site.head = head
    for path in git("diff", "--name-only", "--diff-filter=AMR", base, head).splitlines():
        patch = git("diff", "--no-prefix", "-U3", base, head, "--", path).splitlines()
        lines, unchanged = site.lines.setdefault(path, set()), site.unchanged.setdefault(path, {})
        old = new = 0
        start = next((at for at, line in enumerate(patch) if line.startswith("@@")), len(patch))
        for line in patch[start:]:
            if line.startswith("@@"):
                old, new = (abs(int(part.split(",")[0])) for part in line.split(" ")[1:3])
                continue
            if line[:1] in " +":
                lines.add(new)
                if line[:1] == " ":
                    unchanged[new] = old
            old += line[:1] in " -"
            new += line[:1] in " +"


def github(site: Site, method: str, path: str, headers: Any, body: Any) -> object:
    if headers["Authorization"] != f"token {site.token}" and headers["Authorization"] != f"Bearer {site.token}":
        raise Refused(401, {"message": "Bad credentials"})
    if site.read_only and method != "GET":
        raise Refused(403, {"message": "Resource not accessible by integration"})
    pull = "/repos/me/it/pulls/7"
    if (method, path) == ("GET", pull):
        return {"number": 7, "url": f"{site.url}{pull}", "head": {"sha": site.head}}
    if (method, path) == ("GET", f"{pull}/comments"):
        return site.notes
    if (method, path) == ("GET", f"{pull}/reviews"):
        return [{"id": at, "body": one["body"]} for at, one in enumerate(site.reviews)]
    if (method, path) == ("POST", f"{pull}/reviews"):
        unknown = {*body} - {"commit_id", "event", "body", "comments"}
        wrong = [text for one in body["comments"] for text in wrong_comment(site, one)]
        if unknown or wrong or body["event"] != "COMMENT" or body["commit_id"] != site.head or not body["body"]:
            raise Refused(422, {"message": "Unprocessable Entity", "errors": [*unknown, *wrong]})
        site.reviews.append(body)
        site.notes += [{"id": len(site.notes), "body": one["body"]} for one in body["comments"]]
        return {"id": len(site.reviews)}
    if method == "POST" and path.startswith(f"{pull}/comments/") and path.endswith("/replies"):
        number = int(path.split("/")[-2])
        if {*body} != {"body"} or not any(one["id"] == number for one in site.notes):
            raise Refused(404, {"message": "Not Found"})
        site.notes.append({"id": len(site.notes), "body": body["body"], "in_reply_to_id": number})
        return site.notes[-1]
    raise Refused(404, {"message": "Not Found"})


def wrong_comment(site: Site, one: dict[str, Any]) -> Iterator[str]:
    if (
        {*one} - {"path", "body", "side", "line", "start_line", "start_side"}
        or not one["body"]
        or one["side"] != "RIGHT"
    ):
        yield "invalid comment"
    lines = site.lines.get(one["path"], set())
    first = one.get("start_line", one["line"])
    if "start_line" in one and not (first < one["line"] and one["start_side"] == "RIGHT"):
        yield "start_line must precede the end line"
    if not set(range(first, one["line"] + 1)) <= lines or one["path"] in site.refused:
        yield "Pull request review thread line must be part of the diff"


def gitlab(site: Site, method: str, path: str, headers: Any, body: Any) -> object:
    if headers["PRIVATE-TOKEN"] != site.token:
        raise Refused(401, {"message": "401 Unauthorized"})
    request = "/api/v4/projects/3/merge_requests/7"
    if (method, path) == ("GET", request):
        return {"iid": 7, "diff_refs": {"base_sha": "b", "start_sha": "the-start", "head_sha": site.head}}
    if site.read_only and method != "GET":
        raise Refused(403, {"message": "403 Forbidden"})
    if (method, path) == ("GET", f"{request}/discussions"):
        return [
            {
                "id": f"d{one['id']}",
                "notes": [one, *(two for two in site.notes if two.get("reply_to") == f"d{one['id']}")],
            }
            for one in site.notes
            if "reply_to" not in one
        ]
    if method in ("POST", "PUT") and path.startswith(f"{request}/discussions/"):
        talk = path.removeprefix(f"{request}/discussions/").partition("/")[0]
        if method == "PUT" and body == {"resolved": True}:
            site.resolved.append(talk)
            return {}
        if method == "POST" and path.endswith("/notes") and {*body} == {"body"}:
            site.notes.append({"id": len(site.notes), "body": body["body"], "resolvable": True, "reply_to": talk})
            return {}
    if (method, path) == ("GET", f"{request}/draft_notes"):
        return site.drafts
    if (method, path) == ("POST", f"{request}/draft_notes"):
        if wrong := [*wrong_note(site, body)]:
            raise Refused(400, {"message": wrong})
        site.drafts.append(body)
        return {"id": len(site.drafts)}
    if (method, path) == ("POST", f"{request}/draft_notes/bulk_publish"):
        site.reviews.append({"body": "", "notes": [*site.drafts]})
        for one in site.drafts:
            site.notes.append({"id": len(site.notes), "body": one["note"], "resolvable": "position" in one})
        site.drafts.clear()
        return {}
    raise Refused(404, {"message": "404 Not found"})


def wrong_note(site: Site, note: dict[str, Any]) -> Iterator[str]:
    position = note.get("position")
    if position is None:
        return
    needed = {"position_type", "base_sha", "start_sha", "head_sha", "old_path", "new_path", "new_line"}
    line, path = position["new_line"], position["new_path"]
    if {*position} - {"old_line"} != needed or position["head_sha"] != site.head:
        yield "position is invalid"
    if (
        path in site.refused
        or line not in site.lines.get(path, set())
        or position.get("old_line") != site.unchanged[path].get(line)
    ):
        yield "line_code can't be blank, must be a valid line code"


@pytest.fixture
def github_site() -> Iterator[Site]:
    yield from serve(Site(), github)


@pytest.fixture
def gitlab_site() -> Iterator[Site]:
    yield from serve(Site(), gitlab)


@pytest.fixture
def show() -> Callable[[Site], None]:
    """Tells a host what the change from main to HEAD is."""
    return lambda site: shown("main", git("rev-parse", "HEAD"), site)


@pytest.fixture
def changed(committed: Callable[..., str]) -> str:
    """CHANGED is committed on `feature`; its hash."""
    return committed(train=CHANGED)
