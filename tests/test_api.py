"""torchlint from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import torchlint
from torchlint import Failure, Finding, Result, check

TRAIN = """\
import torch

def train(net, optimizer, loader):
    for x in loader:
        loss = net(x.cuda())
        loss.backward(), optimizer.step()
        print(metric(loss))
"""
METRIC = "def metric(loss):\n    return loss.item()\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a.py uses ops.py, which is hot because of it."""
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("from ops import metric\n" + TRAIN)
    Path("ops.py").write_text("import torch\n" + METRIC)
    Path("torchlint.toml").write_text("select = ['TL101', 'TL402']\n")


def places(result: Result) -> list[tuple[str, int, str]]:
    return [(finding.path, finding.line, finding.code) for finding in result.findings]


def test_importing_the_package_loads_nothing(tmp_path: Path) -> None:
    script = "import sys; before = set(sys.modules); import torchlint; print(sorted(m for m in sys.modules if m not in before))"
    out = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "['torchlint']\n" == out


def test_the_working_directory() -> None:
    assert [("ops.py", 3, "TL101")] == places(check())


@pytest.mark.parametrize("paths", ["ops.py", Path("ops.py"), ["ops.py"], (Path("ops.py"),)])
def test_a_file_among_its_project(paths: object) -> None:
    assert [("ops.py", 3, "TL101")] == places(check(paths))  # type: ignore[arg-type]


def test_texts() -> None:
    assert [("b.py", 3, "TL101")] == places(
        check({"b.py": "import torch\n" + METRIC, "c.py": b"from b import metric\n" + TRAIN.encode()})
    )


def test_a_finding_and_its_line() -> None:
    result = check()
    (finding,) = result.findings
    assert isinstance(finding, Finding)
    assert "    return loss.item()" == result.line(finding.path, finding.line)


def test_nothing() -> None:
    assert () == check([]).findings


def test_options_go_before_the_configuration() -> None:
    assert () == check(select=["TL402"]).findings
    assert () == check(ignore=["TL101"]).findings


def test_another_configuration() -> None:
    Path("other.toml").write_text("select = ['TL402']\n")
    assert () == check(configuration="other.toml").findings


def test_no_configuration() -> None:
    Path("torchlint.toml").write_text("select = 1\n")
    assert [("ops.py", 3, "TL101")] == places(check(isolated=True, select=["TL101"]))


def test_what_can_not_be_read_is_a_finding() -> None:
    assert [("b.py", 1, "TL001")] == places(check({"b.py": "import torch ("}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paths": "none.py"}, "none.py: No such file or directory"),
        ({"select": ["TL1xx"]}, "Unknown rule selector `TL1xx` in `select` from the CLI"),
        ({"target_torch": "new"}, "`target-torch` can't be used: "),
    ],
)
def test_failures(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(Failure) as caught:
        check(**arguments)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="module 'torchlint' has no attribute 'chek'"):
        torchlint.chek  # noqa: B018


def test_names() -> None:
    assert {"check", "Finding", "Failure"} <= set(dir(torchlint))
