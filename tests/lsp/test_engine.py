"""What an editor shows besides the findings of the moment: what a baseline hides, and what is known from before."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pygls")

from torchlint import cli
from torchlint.lsp.engine import Engine, _Text
from torchlint.lsp.looked import Client, Looked
from torchlint.lsp.session import Session
from torchlint.lsp.warm import Interrupted

TRAIN = """\
import torch
from log import log

def train(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        log(loss)
"""
LOG = "import torch\n\n\ndef log(value):\n    print(value.item())\n"
AT = ["TL104"]


class Listener:
    def __init__(self) -> None:
        self.shown: list[str] = []
        self.told: list[tuple[list[str], bool]] = []
        """The codes of each answer, and whether it was settled."""

    def found(self, looked: Looked, *, settled: bool) -> None:
        self.told.append(([finding.code for finding in looked.findings], settled))

    def progress(self, root: Path, message: str | None) -> None: ...

    def show(self, message: str) -> None:
        self.shown.append(message)

    log = show


class Editor:
    """An editor whose server works when it is told to."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.root = root
        self.listener = Listener()
        self.engine = Engine(Client("utf-8"), self.listener)
        self.engine._configure((root,), options)

    def open(self, name: str) -> list[str]:
        """Open a file, or take in what was typed into it; the codes that are shown in the end."""
        self.engine._edit((self.root / name).as_uri(), _Text(1, (self.root / name).read_bytes(), {}))
        return self.look()

    def type(self, name: str, text: str) -> list[str]:
        self.engine._edit((self.root / name).as_uri(), _Text(2, text.encode(), {}))
        self.engine._glance()
        return self.listener.told[-1][0]

    def look(self) -> list[str]:
        self.engine._glance()
        self.engine._look()
        self.engine._keep()
        return self.listener.told[-1][0]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "log.py").write_text(LOG)
    for file in tmp_path.iterdir():
        os.utime(file, (1e9, 1e9))
    return tmp_path


class TestBaseline:
    def test_what_it_knows_is_hidden_and_what_is_new_is_shown(self, project: Path) -> None:
        assert 0 == cli.main(["baseline"])
        editor = Editor(project, baseline=True)
        assert [] == editor.open("log.py")
        assert AT == editor.type("log.py", LOG + "    print(value.max().item())\n")
        assert [] == editor.type("log.py", "import os\n\n\n" + LOG)
        assert AT == Editor(project).open("log.py")

    def test_it_is_read_again_when_it_changes(self, project: Path) -> None:
        cli.main(["baseline", "-o", "known.json"])
        editor = Editor(project, baseline="known.json")
        assert [] == editor.open("log.py")
        (project / "log.py").write_text("import torch\n")
        cli.main(["baseline", "-o", "known.json"])
        assert AT == editor.look()

    def test_one_that_is_not_there_is_told_once(self, project: Path) -> None:
        editor = Editor(project, baseline=True)
        assert AT == editor.open("log.py") == editor.look()
        assert [f"{project / '.torchlint-baseline.json'}: No such file or directory"] == editor.listener.shown


class TestCache:
    def never(self, *_: object) -> Any:
        raise Interrupted

    def test_a_server_that_starts_again_shows_at_once_what_it_knew(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert AT == Editor(project).open("log.py")
        monkeypatch.setattr(Session, "look", self.never)
        again = Editor(project)
        assert AT == again.open("log.py")
        assert [(AT, False)] == again.listener.told

    def test_it_knows_what_the_command_line_found(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cli.main(["check", "-q"])
        monkeypatch.setattr(Session, "look", self.never)
        editor = Editor(project)
        editor.open("log.py")
        assert [(AT, False)] == editor.listener.told

    @pytest.mark.parametrize("change", ["text", "other file", "settings", "new file", "typed"])
    def test_it_says_nothing_from_before_where_something_has_changed(
        self, project: Path, change: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert AT == Editor(project).open("log.py")
        monkeypatch.setattr(Session, "look", self.never)
        again = Editor(project)
        if change == "text":
            (project / "log.py").write_text(f"# {LOG}")
        elif change == "other file":
            (project / "train.py").write_text("import torch\n")
        elif change == "settings":
            (project / "pyproject.toml").write_text('[tool.torchlint]\nselect = ["TL5"]\n')
        elif change == "new file":
            (project / "more.py").write_text("import torch\n")
        text = LOG + "# typed\n" if change == "typed" else (project / "log.py").read_text()
        again.engine._edit((project / "log.py").as_uri(), _Text(1, text.encode(), {}))
        again.engine._glance()
        again.engine._look()
        assert [] == again.listener.told

    def test_the_command_line_keeps_its_own(self, project: Path) -> None:
        cli.main(["check", "-q"])
        entries = {file.name: file.read_bytes() for file in (project / ".torchlint_cache").glob("*/*")}
        entries |= {file.name: file.read_bytes() for file in (project / ".torchlint_cache").glob("*.entry")}
        Editor(project).open("train.py")
        kept = {file.name: file.read_bytes() for file in (project / ".torchlint_cache").rglob("*") if file.is_file()}
        assert entries == {name: kept[name] for name in entries}
        assert len(kept) > len(entries)


def test_settings_of_another_folder_that_can_not_be_used_cost_nothing_here(project: Path) -> None:
    (project / "other").mkdir()
    (project / "other/torchlint.toml").write_text("selekt = 1\n")
    (project / "other/a.py").write_text("import torch\n")
    editor = Editor(project)
    assert AT == editor.open("log.py")
    assert [] == editor.listener.shown


def test_a_file_that_is_renamed_or_deleted_is_forgotten(project: Path) -> None:
    editor = Editor(project)
    assert AT == editor.open("log.py")
    (project / "train.py").rename(project / "other.py")
    assert AT == editor.look()
    (project / "other.py").unlink()
    assert [] == editor.look()


def test_a_notebook_is_gone_through_once_for_all_of_its_cells() -> None:
    asked: list[int] = []

    def cell(line: int) -> int:
        asked.append(line)
        return line

    source: Any = SimpleNamespace(cell=cell)
    findings: Any = tuple(SimpleNamespace(line=line) for line in range(1, 51))
    told: Any = tuple(f"diagnostic {line}" for line in range(1, 51))
    cells = {number: (f"cell {number}", 1) for number in range(1, 61)}
    looked = Looked("book", 1, source, findings, told, Client("utf-16"), cells)

    shown = [looked.of(uri) for uri, _ in cells.values()]

    assert [*((one,) for one in told), *[()] * 10] == shown
    assert len(asked) == len(findings)
