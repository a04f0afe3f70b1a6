"""What is shipped: the wheel holds torchlint/ with every rule and fixer, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = {
    "torchlint/py.typed",
    *(
        f"torchlint/report/templates/{name}"
        for name in (
            "base.html",
            "findings.css",
            "findings.html",
            "findings.js",
            "optimize.html",
            "page.css",
            "parts.html",
            "trace.html",
        )
    ),
    "torchlint/facts/api_table.json",
    "torchlint/facts/break_table.json",
    "torchlint/torch_api/operators.json",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a checkout, without what was built in it."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("torchlint", "rules", "fixers"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> set[str]:
    """The names in the wheel, built without network by the setuptools that is here."""
    pytest.importorskip("setuptools")
    program = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
    subprocess.run([sys.executable, "-c", program], cwd=checkout, check=True, capture_output=True)
    (built,) = (checkout / "dist").glob("*.whl")
    return set(zipfile.ZipFile(built).namelist())


def test_the_wheel_holds_all_of_the_source_and_nothing_else(checkout: Path, wheel: set[str]) -> None:
    source = {
        path.relative_to(checkout)
        for name in ("torchlint", "rules", "fixers")
        for path in (checkout / name).rglob("*.py")
    }
    expected = {path.as_posix() if path.parts[0] == "torchlint" else f"torchlint/{path.as_posix()}" for path in source}
    assert expected | DATA == {name for name in wheel if ".dist-info/" not in name}


def test_data_files_are_shipped(checkout: Path) -> None:
    files = {path.relative_to(checkout).as_posix() for path in (checkout / "torchlint").rglob("*") if path.is_file()}
    # A README is for who reads the source.
    assert DATA == {name for name in files if not name.endswith((".py", "/README.md"))}


def test_the_wheel_carries_its_licence_and_its_command(wheel: set[str]) -> None:
    names = {name.partition(".dist-info/")[2] for name in wheel if ".dist-info/" in name}
    assert {"licenses/LICENSE", "entry_points.txt", "METADATA"} <= names
