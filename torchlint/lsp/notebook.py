"""A notebook as an editor has it: cells that are documents of their own, linted together as the file that they are saved to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from lsprotocol import types

from .text import Document


@dataclass(slots=True)
class OpenNotebook:
    """An open notebook. `cells` are its cells in order, `texts` the documents of the code cells."""

    uri: str
    version: int
    encoding: str
    cells: list[types.NotebookCell]
    texts: dict[str, Document] = field(default_factory=dict)

    def open(self, items: list[types.TextDocumentItem]) -> None:
        for item in items:
            self.texts[item.uri] = Document(item.uri, item.version, item.text, self.encoding)

    def apply(self, change: types.NotebookDocumentChangeEvent) -> None:
        """Take one change in: of the order of the cells, and of their texts."""
        cells = change.cells
        if cells is None:
            return
        if cells.structure is not None:
            array = cells.structure.array
            self.cells[array.start : array.start + array.delete_count] = array.cells or []
            for closed in cells.structure.did_close or ():
                self.texts.pop(closed.uri, None)
            self.open(list(cells.structure.did_open or ()))
        for content in cells.text_content or ():
            text = self.texts.get(content.document.uri)
            if text is not None:
                for edit in content.changes:
                    text.apply(edit)
                text.version = content.document.version

    @property
    def versions(self) -> dict[int, tuple[str, int]]:
        """The documents of the code cells by their number in the notebook, from 1."""
        texts = ((number, self.texts.get(cell.document)) for number, cell in enumerate(self.cells, 1))
        return {number: (text.uri, text.version) for number, text in texts if text is not None}

    @property
    def data(self) -> bytes:
        """The notebook as a file of Jupyter."""
        cells: list[dict[str, object]] = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": text.text}
            if (text := self.texts.get(cell.document)) is not None and cell.kind == types.NotebookCellKind.Code
            else {"cell_type": "markdown", "metadata": {}, "source": ""}
            for cell in self.cells
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
