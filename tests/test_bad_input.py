"""What is no ordinary file: a clear message, nothing lost, and the same with and without the sieve."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.system.fault import FileError
from torchlint.text.finding import Finding

TRAIN = """\
import torch
from torch.utils.data import DataLoader

def train(model, optimizer, dataset):
    loader = DataLoader(dataset, pin_memory=True)
    for x, y in loader:
        x = x.to("cuda")
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
"""Line 7 is TL402."""
CODES = frozenset(("TL001", "TL402"))

Told = Callable[..., list[tuple[str, int, str]]]


@pytest.fixture
def told() -> Told:
    """Where which code is found; without the sieve too, and by all rules together without a failure."""

    def told(*sources: str | bytes) -> list[tuple[str, int, str]]:
        files = {f"{chr(97 + at)}.py": s.encode() if isinstance(s, str) else s for at, s in enumerate(sources)}

        def run(codes: frozenset[str], sieve: bool) -> list[Finding]:
            result = lint(files, Settings(codes=codes, fixable=codes, sieve=sieve))
            assert () == result.errors
            return list(result.findings)

        assert run(frozenset(load()), True) == run(frozenset(load()), False)
        return [(finding.path, finding.line, finding.code) for finding in run(CODES, True)]

    return told


@pytest.mark.parametrize(
    "code",
    [
        "",
        "\n" * 100,
        "x = 1",
        "\ufeffx = 1\n",
        "import torch",
        "import torch\r\n\r\nx = torch.ones(1)\r\n",
        "import torch\rx = torch.ones(1)\r",
        "\x0cimport torch\n\x0c\nx = 1\n",
        "import torch\nif x:\n\ty = 1\n",
        "import torch\nx = '\\ud800'\n",
        "import torch\n\u00fc = torch.ones(1)\n",
        "from a import *\nimport torch\nclass A(A): pass\ndef f(): return f()\nx = f().item()\n",
    ],
)
def test_odd_but_right_files_are_clean(told: Told, code: str) -> None:
    assert [] == told(code)


@pytest.mark.parametrize(
    "raw",
    [
        TRAIN.replace("\n", "\r\n").encode(),
        TRAIN.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + TRAIN.encode(),
        TRAIN.replace("    ", "\t").encode(),
        f"# coding: latin-1 \u00e9\n{TRAIN}".replace("\n\n", "\n").encode("latin-1"),
        TRAIN.replace("dataset", "\u00fcber").encode(),
        TRAIN.encode()[:-1],
        TRAIN.replace("    for", "\x0c    for").encode(),
    ],
    ids=["CRLF", "CR", "BOM", "tabs", "latin-1", "unicode name", "no newline at the end", "form feed"],
)
def test_what_is_found_does_not_depend_on_how_it_is_written(told: Told, raw: bytes) -> None:
    assert [("a.py", 7, "TL402")] == told(raw)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"def f(:\n", 1),
        (b"import torch\nprint 'x'\n", 2),
        (b"import torch\nx = 1\0\n", 2),
        (b"import torch\n'\xe9'\n", 2),
        (TRAIN.encode("utf-16"), 1),
        (b"# coding: nonsense\nimport torch\n", 1),
        (b"# coding: rot13\nimport torch\n", 1),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1),
        (b"import torch\nif x:\n\ty = 1\n        z = 2\n", 4),
        (b"import torch\nx = (\n", 2),
        (b"import torch\nx = " + b"(" * 500 + b"1" + b")" * 500, 2),
        (b"import torch\n" + b"".join(b" " * depth + b"if x:\n" for depth in range(500)), 102),
        (b"<html>", 1),
        (b"\x89PNG\r\n\x1a\n", 1),
    ],
)
def test_a_file_that_is_no_python_is_told_once_and_the_others_are_linted(told: Told, raw: bytes, line: int) -> None:
    assert [("a.py", line, "TL001"), ("b.py", 7, "TL402")] == told(raw, TRAIN)


def test_a_module_that_does_not_parse_does_not_harm_its_importers(told: Told) -> None:
    importing = TRAIN.replace("import torch\n", "import torch\nfrom b import thing\n", 1) + "    thing.item()\n"
    assert [("a.py", 8, "TL402"), ("b.py", 1, "TL001")] == told(importing, "def thing(:\n")


@pytest.mark.parametrize(
    "value",
    [
        "+".join(["x"] * 500),
        "x" + ".a" * 500,
        "x" + ".a()" * 200,
        "f(" * 90 + "x" + ")" * 90,
        "lambda: " * 90 + "x",
        "[" * 90 + "x" + "]" * 90,
        "[" + "x, " * 20_000 + "]",
        " ".join(["'a'"] * 5_000),
        "not " * 500 + "x",
        " or ".join(["x"] * 500),
    ],
    ids=["sum", "attributes", "calls", "arguments", "lambdas", "lists", "long list", "strings", "not", "or"],
)
def test_deep_and_long_expressions(told: Told, value: str) -> None:
    code = f"{TRAIN}        y = {value}\n"

    found = told(code)

    # Python 3.10's parser itself gives up on some of them.
    assert found in ([("a.py", 7, "TL402")], [("a.py", 12, "TL001")])


def test_many_branches(told: Told) -> None:
    branches = "".join(f"        elif x == {number}: pass\n" for number in range(300))
    assert [("a.py", 7, "TL402")] == told(f"{TRAIN}        if x == 0: pass\n{branches}")


@pytest.mark.parametrize("before", ["x = 1\n", "# a comment\n", "def f{}(x):\n    x = x.view(1)\n    return x\n\n"])
def test_twenty_thousand_lines(told: Told, before: str) -> None:
    lines = "".join(before.format(number) for number in range(20_000 // before.count("\n")))
    assert [("a.py", lines.count("\n") + 7, "TL402")] == told(lines + TRAIN)


# On disk


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text(TRAIN)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    options = ["--isolated", "-q", "--select", "TL402", "--output-format", "concise"]
    code = cli.main(["check", *options, *arguments])
    captured = capsys.readouterr()
    return code, [line.partition(" ")[0] for line in captured.out.splitlines()], captured.err


def test_a_directory_with_the_name_of_a_file_is_a_directory(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "sub.py").mkdir()
    (project / "sub.py" / "inner.py").write_text(f"{TRAIN}\nprint(train)\n")
    assert (1, ["good.py:7:13:", "sub.py/inner.py:7:13:"], "") == check(capsys)


def test_links_in_circles_and_to_nowhere_are_left_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "loop").symlink_to(".")
    (project / "self.py").symlink_to("self.py")
    (project / "gone.py").symlink_to("nowhere.py")
    assert (1, ["good.py:7:13:"], "") == check(capsys)


def test_a_missing_path_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = "error: gone.py: No such file or directory\n"
    assert (2, ["good.py:7:13:"], message) == check(capsys, "good.py", "gone.py")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_told_and_the_others_are_linted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "secret.py").write_text(TRAIN)
    (project / "secret.py").chmod(0)
    assert (2, ["good.py:7:13:"], "error: secret.py: Permission denied\n") == check(capsys)


def test_a_file_that_goes_away_meanwhile_is_told_and_the_others_are_linted(project: Path) -> None:
    settings = Settings(codes=CODES, fixable=CODES)
    result = lint([Path("good.py"), Path("gone.py")], settings)
    assert (FileError("gone.py", "No such file or directory"),) == result.errors
    assert [("good.py", 7)] == [(finding.path, finding.line) for finding in result.findings]


def test_a_broken_configuration_is_an_error_with_its_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text("[tool.torchlint]\nselect = [\n")
    assert 2 == cli.main(["check"])
    assert capsys.readouterr().err.startswith(f"torchlint failed\n  Cause: {project}/pyproject.toml:")


def test_an_unknown_code_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["check", "--isolated", "--select", "TL9999"])
    assert "Unknown rule selector `TL9999`" in capsys.readouterr().err


def test_fixing_leaves_broken_files_as_they_are(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = b"import torch\r\nx = '\xe9'\r\n"
    (project / "broken.py").write_bytes(broken)
    assert (1, ["broken.py:2:6:"], "") == check(capsys, "--fix")
    assert broken == (project / "broken.py").read_bytes()
    assert 'x.to("cuda", non_blocking=True)' in (project / "good.py").read_text()


@pytest.mark.parametrize("given", ["", " ", ","])
def test_a_selection_that_names_no_rule_is_said(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--select "$RULES"` where nobody has set it would find nothing in anything."""
    (tmp_path / "a.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["check", "--select", given, "a.py"])
    assert stopped.value.code == 2
    assert f"{given!r} selects no rule" in capsys.readouterr().err
