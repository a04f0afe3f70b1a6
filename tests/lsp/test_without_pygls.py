from __future__ import annotations

import sys

import pytest

from torchlint.cli import main
from torchlint.system import install


def test_without_pygls_the_server_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("torchlint.lsp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert 2 == main(["server"])
    assert (
        f"torchlint failed\n  Cause: the language server needs pygls: {install.command('lsp', 'pygls')}\n"
        == capsys.readouterr().err
    )
