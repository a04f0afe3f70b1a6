"""What a message says to install: never by a name that somebody else may own on an index."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from torchlint.system import install

ADDRESS = "https://example.org/torchlint.git"
REQUIRES = [
    "libcst>=1.8.2",
    "tomli>=2; python_version < '3.11'",
    'torch>=2.6; extra == "trace"',
    "numpy; extra == 'trace'",
    'pygls>=2; extra == "lsp"',
    'triton; platform_system == "Linux" and extra == "trace"',
]


class Written:
    """An installation that has this beside it."""

    def __init__(self, direct_url: object) -> None:
        self.direct_url = direct_url if isinstance(direct_url, str) or direct_url is None else json.dumps(direct_url)
        self.requires = REQUIRES

    def read_text(self, name: str) -> str | None:
        return self.direct_url if name == "direct_url.json" else None


def said(monkeypatch: pytest.MonkeyPatch, direct_url: object, extra: str = "trace") -> str:
    monkeypatch.setattr(install, "distribution", lambda name: Written(direct_url))
    return install.command(extra, "fallback")


@pytest.mark.parametrize(("dir_info", "flag"), [({"editable": True}, "-e "), ({}, "")])
def test_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dir_info: dict[str, bool], flag: str
) -> None:
    folder = tmp_path / "a clone"
    folder.mkdir()
    written = {"url": folder.as_uri(), "dir_info": dir_info}
    assert f"pip install {flag}'{folder}[trace]'" == said(monkeypatch, written)


def test_a_file_is_named_by_its_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "torchlint-0.1.0-py3-none-any.whl"
    wheel.touch()
    expected = f"pip install 'torchlint[trace] @ {wheel.as_uri()}'"
    assert expected == said(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}})


@pytest.mark.parametrize(("vcs", "ending"), [({"requested_revision": "v0.1.0"}, "@v0.1.0"), ({}, "")])
def test_a_repository_is_named_with_its_revision(
    monkeypatch: pytest.MonkeyPatch, vcs: dict[str, str], ending: str
) -> None:
    written = {"url": ADDRESS, "vcs_info": {"vcs": "git", "commit_id": "0" * 40, **vcs}}
    assert f"pip install 'torchlint[trace] @ git+{ADDRESS}{ending}'" == said(monkeypatch, written)


@pytest.mark.parametrize(
    "direct_url",
    [
        None,
        "",
        "{",
        "[]",
        {},
        {"url": "file:///nowhere/torchlint"},
        {"url": "https://user:secret@example.org/torchlint.git", "vcs_info": {"vcs": "git"}},
        {"url": "https://example.org/it's.whl"},
    ],
)
def test_where_it_came_from_is_unknown_gone_or_secret_the_libraries_are_named(
    monkeypatch: pytest.MonkeyPatch, direct_url: object
) -> None:
    assert "pip install 'torch>=2.6' numpy triton" == said(monkeypatch, direct_url)
    assert "pip install 'pygls>=2'" == said(monkeypatch, direct_url, "lsp")
    assert "pip install fallback" == said(monkeypatch, direct_url, "no-such-extra")


def test_it_is_not_installed_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(install, "distribution", missing)
    assert "pip install torch" == install.command("trace", "torch")


def test_no_message_names_it_alone() -> None:
    sources = [path for path in Path(install.__file__).parents[1].rglob("*.py") if path.name != "install.py"]
    assert [] == [str(path) for path in sources if "pip install 'torchlint" in path.read_text("utf-8")]
