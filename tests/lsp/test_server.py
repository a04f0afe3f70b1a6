"""The server as an editor sees it, over its standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

TRAIN = """\
import torch
device = torch.device("cuda")


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x.to(device)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
FIXABLE = """\
import torch
x = torch.ones(3, device="cuda")
with torch.cuda.amp.autocast(), torch.cuda.amp.autocast():
    pass
"""
QUIET = {"range": {"start": {"line": 10, "character": 8}, "end": {"line": 10, "character": 26}}, "text": "pass"}
"""The edit that takes the finding out of TRAIN."""
PULL = {"textDocument": {"diagnostic": {"dynamicRegistration": False}}}


def at(line: int, character: int, end: int | None = None) -> dict[str, Any]:
    return {
        "start": {"line": line, "character": character},
        "end": {"line": line, "character": character if end is None else end},
    }


def codes(diagnostics: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(one["range"]["start"]["line"] + 1, one["code"]) for one in diagnostics]


def replaced(text: str, edits: list[dict[str, Any]]) -> str:
    """A text with the edits of an answer applied, all characters being ASCII."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(
        edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True
    ):
        start, end = (
            sum(map(len, lines[: p["line"]])) + p["character"] for p in (edit["range"]["start"], edit["range"]["end"])
        )
        text = text[:start] + edit["newText"] + text[end:]
    return text


@pytest.fixture
def train(client: Any, tmp_path: Path) -> Any:
    """The client with train.py open; its diagnostics are taken."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(TRAIN)
    client.start()
    client.open("train.py")
    client.found = client.published("train.py")
    return client


# Diagnostics


def test_a_diagnostic_has_a_code_a_severity_and_the_loop_that_makes_it_hot(train: Any) -> None:
    (found,) = train.found
    (related,) = found.pop("relatedInformation")
    assert {
        "range": at(10, 8, 26),
        "message": "`loss.item()` is read from the device on every training step to be logged",
        "severity": 2,
        "code": "TL104",
        "source": "torchlint",
    } == found
    assert {"uri": train.uri("train.py"), "range": at(5, 4, 23)} == related["location"]
    assert "this loop steps the optimizer" == related["message"]


def test_related_places_are_left_out_for_clients_without_them(client: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    client.start({})
    client.open("train.py")
    (found,) = client.published("train.py")
    assert "relatedInformation" not in found


def test_an_edit_is_followed(train: Any) -> None:
    train.change("train.py", 2, QUIET)
    assert [] == train.published("train.py", 2)
    train.change("train.py", 3, {"text": "import torch\n"}, {"text": TRAIN})
    assert [(11, "TL104")] == codes(train.published("train.py", 3))


def test_an_unsaved_text_comes_before_the_file_on_disk_and_in_other_files(client: Any, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "log.py").write_text("import torch\n\n\ndef log(value):\n    print(value.item())\n")
    client.start()
    client.open("log.py")
    assert [] == client.published("log.py")
    client.open("train.py", "from log import log\n" + TRAIN.replace("print(loss.item())", "log(loss)"))
    (found,) = client.published("log.py")
    assert (5, "TL104") == (found["range"]["start"]["line"] + 1, found["code"])
    assert client.uri("train.py") == found["relatedInformation"][0]["location"]["uri"]


def test_a_half_typed_file_says_so_and_comes_back(train: Any) -> None:
    train.change("train.py", 2, {"range": at(10, 25, 26), "text": ""})
    assert [(11, "TL001")] == codes(train.published("train.py", 2))
    train.change("train.py", 3, {"range": at(10, 25), "text": ")"})
    assert [(11, "TL104")] == codes(train.published("train.py", 3))


def test_a_closed_file_has_no_diagnostics(train: Any) -> None:
    train.close("train.py")
    assert [] == train.published("train.py")


def test_an_unused_suppression_is_marked_unnecessary_and_an_old_api_deprecated(client: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = 1  # noqa: TL101\n")
    client.start()
    client.open("a.py")
    (found,) = client.published("a.py")
    assert ("TL002", [1]) == (found["code"], found["tags"])


def test_excluded_files_are_left_alone(client: Any, tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text('extend-exclude = ["train.py"]\n')
    (tmp_path / "train.py").write_text(TRAIN)
    client.start()
    client.open("train.py")
    assert [] == client.published("train.py")


@pytest.mark.parametrize(("encoding", "start"), [("utf-8", 16), ("utf-16", 14), ("utf-32", 13)])
def test_positions_are_in_the_units_that_the_client_asked_for(
    client: Any, encoding: str, start: int, tmp_path: Path
) -> None:
    text = TRAIN.replace("        print(", '        "😀"; print(')
    (tmp_path / "train.py").write_text(text)
    answer = client.start({"general": {"positionEncodings": [encoding]}})
    assert encoding == answer["capabilities"]["positionEncoding"]
    client.open("train.py", text)
    (found,) = client.published("train.py")
    assert at(10, start, start + 18) == found["range"]
    client.change("train.py", 2, {"range": at(10, start, start + 18), "text": "pass"})
    assert [] == client.published("train.py", 2)


def test_an_editor_that_pulls_is_not_pushed_to(client: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    client.start(PULL)
    client.open("train.py")
    first = client.ask("textDocument/diagnostic", textDocument={"uri": client.uri("train.py")})
    assert ("full", [(11, "TL104")]) == (first["kind"], codes(first["items"]))
    again = client.ask(
        "textDocument/diagnostic", textDocument={"uri": client.uri("train.py")}, previousResultId=first["resultId"]
    )
    assert {"kind": "unchanged", "resultId": first["resultId"]} == again
    client.change("train.py", 2, QUIET)
    assert [] == client.ask("textDocument/diagnostic", textDocument={"uri": client.uri("train.py")})["items"]
    assert [] == [note for note in client.notes if note["method"] == "textDocument/publishDiagnostics"]


def test_an_editor_that_pulls_is_asked_to_pull_again_when_other_files_change_things(
    client: Any, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "log.py").write_text("import torch\n\n\ndef log(value):\n    print(value.item())\n")
    client.start({**PULL, "workspace": {"diagnostics": {"refreshSupport": True}}})
    client.open("log.py")
    assert [] == client.ask("textDocument/diagnostic", textDocument={"uri": client.uri("log.py")})["items"]
    client.open("train.py", "from log import log\n" + TRAIN.replace("print(loss.item())", "log(loss)"))
    while True:
        client._take(client._next())
        if [one for one in client.asked if one["method"] == "workspace/diagnostic/refresh"]:
            items = client.ask("textDocument/diagnostic", textDocument={"uri": client.uri("log.py")})["items"]
            if items:
                break
    assert [(5, "TL104")] == codes(items)


# Code actions


def actions(client: Any, name: str, place: dict[str, Any], **context: Any) -> list[dict[str, Any]]:
    document = {"uri": client.uri(name)}
    return list(
        client.ask(
            "textDocument/codeAction", textDocument=document, range=place, context={"diagnostics": [], **context}
        )
    )


def edits(client: Any, name: str, action: dict[str, Any]) -> list[dict[str, Any]]:
    (change,) = action["edit"]["documentChanges"]
    assert client.uri(name) == change["textDocument"]["uri"]
    return list(change["edits"])


def test_a_finding_can_be_suppressed_on_its_line(train: Any) -> None:
    (action,) = actions(train, "train.py", at(10, 10), only=["quickfix"])
    assert "torchlint: suppress TL104 (tensor-logged-every-step) on this line" == action["title"]
    assert 1 == action["edit"]["documentChanges"][0]["textDocument"]["version"]
    text = replaced(TRAIN, edits(train, "train.py", action))
    assert "        print(loss.item())  # torchlint: ignore[TL104]" == text.splitlines()[10]
    train.change("train.py", 2, {"text": text})
    assert [] == train.published("train.py", 2)


def test_nothing_is_offered_where_nothing_was_found(train: Any) -> None:
    assert [] == actions(train, "train.py", at(2, 0), only=["quickfix"])


def test_a_fix_is_applied_and_the_safe_one_is_preferred(client: Any, tmp_path: Path) -> None:
    (tmp_path / "amp.py").write_text(FIXABLE)
    client.start()
    client.open("amp.py")
    found = client.published("amp.py")
    assert [(3, "TL901"), (3, "TL901")] == codes(found)
    fix, *_ = actions(client, "amp.py", found[0]["range"], only=["quickfix"])
    assert ("quickfix", True) == (fix["kind"], fix["isPreferred"])
    assert fix["title"].startswith("torchlint (TL901): ")
    client.change("amp.py", 2, {"text": replaced(FIXABLE, edits(client, "amp.py", fix))})
    assert [(3, "TL901")] == codes(client.published("amp.py", 2))


def test_everything_safe_is_fixed_when_the_action_is_chosen(client: Any, tmp_path: Path) -> None:
    (tmp_path / "amp.py").write_text(FIXABLE)
    client.start()
    client.open("amp.py")
    client.published("amp.py")
    (action,) = actions(client, "amp.py", at(0, 0), only=["source.fixAll"])
    assert ("source.fixAll.torchlint", False) == (action["kind"], "edit" in action)
    resolved = client.ask("codeAction/resolve", **action)
    text = replaced(FIXABLE, edits(client, "amp.py", resolved))
    client.change("amp.py", 2, {"text": text})
    assert [] == client.published("amp.py", 2)
    assert text.splitlines()[:2] == FIXABLE.splitlines()[:2]


def test_a_client_that_resolves_nothing_gets_the_edits_at_once(client: Any, tmp_path: Path) -> None:
    (tmp_path / "amp.py").write_text(FIXABLE)
    client.start({})
    client.open("amp.py")
    client.published("amp.py")
    (action,) = actions(client, "amp.py", at(0, 0), only=["source.fixAll.torchlint"])
    assert [client.uri("amp.py")] == list(action["edit"]["changes"])
    assert [] == actions(client, "amp.py", at(0, 0), only=["source.organizeImports"])


# Hover


def page(client: Any, name: str, line: int, character: int) -> str:
    answer = client.ask(
        "textDocument/hover", textDocument={"uri": client.uri(name)}, position={"line": line, "character": character}
    )
    return answer["contents"]["value"].splitlines()[0] if answer else ""


def test_hovering_over_a_finding_or_a_suppression_shows_the_page_of_the_rule(client: Any, tmp_path: Path) -> None:
    text = TRAIN + '    y = "é"  # noqa: TL102, TL101\n    z = 1  # torchlint: ignore[item-in-hot-loop]\n'
    (tmp_path / "train.py").write_text(text)
    client.start()
    client.open("train.py", text)
    client.published("train.py")
    assert "# tensor-logged-every-step (TL104)" == page(client, "train.py", 10, 20)
    assert "" == page(client, "train.py", 9, 10)
    assert "# item-in-hot-loop (TL101)" == page(client, "train.py", 11, 29)
    assert "# item-in-hot-loop (TL101)" == page(client, "train.py", 12, 40)


# Configuration


def test_a_configuration_file_is_read_again_when_it_changes(train: Any, tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text('ignore = ["TL104"]\n')
    train.notify("workspace/didChangeWatchedFiles", changes=[{"uri": train.uri("torchlint.toml"), "type": 1}])
    assert [] == train.published("train.py")


def test_settings_of_the_editor_come_before_those_of_the_file(train: Any, tmp_path: Path) -> None:
    train.notify("workspace/didChangeConfiguration", settings={"torchlint": {"ignore": ["TL104"]}})
    assert [] == train.published("train.py")
    train.notify("workspace/didChangeConfiguration", settings={"torchlint": {}})
    assert [(11, "TL104")] == codes(train.published("train.py"))


def test_initialization_options_are_settings(client: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    client.start(initializationOptions={"settings": {"select": ["TL9"]}})
    client.open("train.py")
    assert [] == client.published("train.py")


def test_a_wrong_configuration_is_shown_and_the_last_good_one_kept(train: Any, tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text("ignore = 3\n")
    train.notify("workspace/didChangeWatchedFiles", changes=[{"uri": train.uri("torchlint.toml"), "type": 1}])
    message = train.note("window/showMessage")
    assert {
        "type": 1,
        "message": f"torchlint: {tmp_path}/torchlint.toml:1: `ignore` must be a list of strings, not an integer",
    } == message
    train.change("train.py", 2, QUIET)
    assert [] == train.published("train.py", 2)


def test_the_first_look_at_a_project_tells_how_far_it_is(train: Any) -> None:
    kinds: list[str] = []
    while kinds[-1:] != ["end"]:  # the notifications come when they come
        kinds.append(train.note("$/progress")["value"]["kind"])
    assert ("begin", "end") == (kinds[0], kinds[-1])


def test_progress_that_an_editor_agrees_to_after_the_look_ends_all_the_same(client: Any, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(TRAIN)
    client.start()
    client.open("train.py")
    while (asked := client._next()).get("method") != "window/workDoneProgress/create":
        client._take(asked)
    client.published("train.py")
    assert "" == page(client, "train.py", 0, 0)  # answered after the look, by the thread that looked
    assert [] == [note for note in client.notes if note["method"] == "$/progress"]
    client.send({"id": asked["id"], "result": None})
    assert ["begin", "end"] == [client.note("$/progress")["value"]["kind"] for _ in range(2)]


# Bad clients


def alive(client: Any) -> bool:
    client.change("train.py", 99, {"text": TRAIN})
    return [(11, "TL104")] == codes(client.published("train.py", 99))


def test_positions_outside_the_text_are_taken_to_its_end(train: Any) -> None:
    train.change(
        "train.py",
        2,
        {"range": {"start": {"line": 10, "character": 999}, "end": {"line": 999, "character": 0}}, "text": "  # end\n"},
    )
    assert [(11, "TL104")] == codes(train.published("train.py", 2))
    assert [] == actions(train, "train.py", at(500, 7), only=["quickfix"])
    assert "" == page(train, "train.py", 500, 7)


def test_a_position_behind_the_last_line_s_end_is_its_end(train: Any) -> None:
    train.change("train.py", 2, {"text": TRAIN.rstrip()})
    train.change(
        "train.py",
        3,
        {"range": {"start": {"line": 10, "character": 8}, "end": {"line": 10, "character": 99}}, "text": "pass"},
    )
    assert [] == train.published("train.py", 3)


def test_a_range_that_ends_before_it_starts_is_turned_round(train: Any) -> None:
    train.change(
        "train.py",
        2,
        {"range": {"start": {"line": 10, "character": 26}, "end": {"line": 10, "character": 8}}, "text": "pass"},
    )
    assert [] == train.published("train.py", 2)


def test_closing_twice_and_changing_what_is_not_open_do_no_harm(train: Any) -> None:
    train.close("train.py")
    train.close("train.py")
    train.change("train.py", 5, {"text": "x"})
    train.close("never.py")
    train.open("train.py")
    assert alive(train)


def test_questions_about_files_that_are_not_open_have_empty_answers(train: Any) -> None:
    assert [] == actions(train, "never.py", at(0, 0))
    assert "" == page(train, "never.py", 0, 0)
    assert [] == train.ask("textDocument/diagnostic", textDocument={"uri": train.uri("never.py")})["items"]
    assert [] == train.ask("textDocument/diagnostic", textDocument={"uri": "untitled:Untitled-1"})["items"]


def test_unknown_methods_and_wrong_parameters_are_errors_and_no_end(train: Any) -> None:
    assert -32601 == train.answer(train.begin("textDocument/rename2"))["error"]["code"]
    assert "error" in train.answer(train.begin("textDocument/hover", textDocument=3))
    train.notify("textDocument/didOpen", textDocument={"uri": 5})
    assert alive(train)


def test_what_is_no_json_is_passed_over(train: Any) -> None:
    train.raw(b"Content-Length: 7\r\n\r\nnotjson")
    assert alive(train)


def test_a_cancelled_request_ends(train: Any) -> None:
    number = train.begin(
        "textDocument/codeAction",
        textDocument={"uri": train.uri("train.py")},
        range=at(10, 10),
        context={"diagnostics": []},
    )
    train.notify("$/cancelRequest", id=number)
    train.notify("$/cancelRequest", id=12345)
    answer = train.answer(number)
    assert "result" in answer or -32800 == answer["error"]["code"]
    assert alive(train)


def test_a_file_in_an_encoding_of_its_own_is_read_as_it_would_be_saved(train: Any) -> None:
    train.open("latin.py", "# coding: latin-1\nname = 'é'\n")
    assert [] == train.published("latin.py")
    train.open("strange.py", "# coding: klingon\n")
    assert [(1, "TL001")] == codes(train.published("strange.py"))


def test_the_server_ends_as_asked(train: Any) -> None:
    assert 0 == train.stop()


def test_an_end_without_a_shutdown_is_a_failure(train: Any) -> None:
    train.notify("exit")
    assert 1 == train.process.wait(timeout=30)


def test_nothing_is_answered_before_it_is_initialized(client: Any) -> None:
    for method in ("textDocument/hover", "shutdown"):
        where = {"textDocument": {"uri": client.uri("train.py")}, "position": {"line": 0, "character": 0}}
        params = where if method != "shutdown" else {}
        assert -32002 == client.answer(client.begin(method, **params))["error"]["code"]
    client.open("train.py", TRAIN)  # a notification, of which nothing is said
    client.start()
    client.open("train.py", TRAIN, version=2)
    assert [(11, "TL104")] == codes(client.published("train.py", 2))
    assert (
        -32600
        == client.answer(client.begin("initialize", processId=None, rootUri=None, capabilities={}))["error"]["code"]
    )
    assert 0 == client.stop()


def test_nothing_is_answered_behind_a_shutdown(train: Any) -> None:
    train.ask("shutdown")
    for method in ("textDocument/codeLens2", "shutdown"):
        assert -32600 == train.answer(train.begin(method))["error"]["code"]
    train.notify("exit")
    assert 0 == train.process.wait(timeout=30)


@pytest.mark.parametrize("uri", ["file:///%00", "file:///%00/a.py", f"file:///{'a' * 300}/a.py", "file:"])
def test_a_document_that_no_file_can_be_harms_no_other(train: Any, uri: str) -> None:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": TRAIN}
    train.notify("textDocument/didOpen", textDocument=item)
    train.change("train.py", 2, QUIET)
    assert [] == train.published("train.py", 2)
    train.notify("workspace/didChangeConfiguration", settings={"select": ["TL104"]})
    train.change("train.py", 3, {"text": TRAIN})
    assert [(11, "TL104")] == codes(train.published("train.py", 3))
    train.notify("textDocument/didClose", textDocument={"uri": uri})
    assert 0 == train.stop()


def test_the_server_ends_with_its_client(train: Any) -> None:
    train.process.stdin.close()
    assert 0 == train.process.wait(timeout=30)
