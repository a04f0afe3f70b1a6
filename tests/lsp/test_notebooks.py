"""Notebooks: cells are documents of their own, and one program."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pygls")

SETUP = "import torch\n%matplotlib inline\ndevice = torch.device('cuda')"
LOOP = "for x, y in loader:\n    loss = model(x).sum()\n    loss.backward()\n    optimizer.step()\n    print('é', loss.item())"


def cell(client: Any, number: int) -> str:
    return f"vscode-notebook-cell:{client.uri('a.ipynb')[5:]}#c{number}"


@pytest.fixture
def notebook(client: Any) -> Any:
    """The client with a notebook of two code cells and a text between them."""
    client.start()
    kinds = [(2, 0, SETUP), (1, 1, "# text"), (2, 2, LOOP)]
    client.notify(
        "notebookDocument/didOpen",
        notebookDocument={
            "uri": client.uri("a.ipynb"),
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": kind, "document": cell(client, number)} for kind, number, _ in kinds],
        },
        cellTextDocuments=[
            {"uri": cell(client, number), "languageId": "python", "version": 1, "text": text}
            for kind, number, text in kinds
            if kind == 2
        ],
    )
    return client


def published(client: Any, number: int) -> list[tuple[int, int, str]]:
    while True:
        params = client.note("textDocument/publishDiagnostics")
        if params["uri"] == cell(client, number):
            starts = [(one["range"]["start"], one["code"]) for one in params["diagnostics"]]
            return [(start["line"], start["character"], code) for start, code in starts]


def changed(client: Any, version: int, cells: dict[str, Any]) -> None:
    document = {"uri": client.uri("a.ipynb"), "version": version}
    client.notify("notebookDocument/didChange", notebookDocument=document, change={"cells": cells})


def test_a_finding_is_shown_in_its_cell_and_knows_of_the_others(notebook: Any) -> None:
    assert [] == published(notebook, 0)
    assert [(4, 4, "TL104")] == published(notebook, 2)


def test_an_edit_of_a_cell_is_followed(notebook: Any) -> None:
    published(notebook, 2)
    end = {"start": {"line": 4, "character": 4}, "end": {"line": 4, "character": 99}}
    text = {"document": {"uri": cell(notebook, 2), "version": 2}, "changes": [{"range": end, "text": "pass"}]}
    changed(notebook, 2, {"textContent": [text]})
    assert [] == published(notebook, 2)


def test_a_cell_that_is_taken_out_has_no_diagnostics(notebook: Any) -> None:
    published(notebook, 2)
    structure = {"array": {"start": 2, "deleteCount": 1}, "didClose": [{"uri": cell(notebook, 2)}]}
    changed(notebook, 2, {"structure": structure})
    assert [] == published(notebook, 2)


def test_a_finding_is_suppressed_and_explained_in_its_cell(notebook: Any) -> None:
    published(notebook, 2)
    document = {"uri": cell(notebook, 2)}
    place = {"line": 4, "character": 10}
    (action,) = notebook.ask(
        "textDocument/codeAction",
        textDocument=document,
        range={"start": place, "end": place},
        context={"diagnostics": []},
    )
    (change,) = action["edit"]["documentChanges"]
    assert {"uri": cell(notebook, 2), "version": 1} == change["textDocument"]
    end = {"line": 4, "character": len(LOOP.splitlines()[4])}
    assert [{"range": {"start": end, "end": end}, "newText": "  # torchlint: ignore[TL104]"}] == change["edits"]
    hover = notebook.ask("textDocument/hover", textDocument=document, position=place)
    assert hover["contents"]["value"].startswith("# tensor-logged-every-step (TL104)")


def test_a_closed_notebook_has_no_diagnostics(notebook: Any) -> None:
    published(notebook, 2)
    notebook.notify(
        "notebookDocument/didClose",
        notebookDocument={"uri": notebook.uri("a.ipynb")},
        cellTextDocuments=[{"uri": cell(notebook, 2)}],
    )
    assert [] == published(notebook, 2)
