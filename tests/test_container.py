"""The Dockerfile and the action: what they copy is there, and nothing from outside becomes a command.

No container is built here: that needs a registry of images (docs/usage.md says how one was built by hand).
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
WORDS = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD"}


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each on one line."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def test_every_line_is_an_instruction() -> None:
    assert {word for word, _ in instructions()} == WORDS
    for word, rest in instructions():
        if word == "RUN":
            subprocess.run(["bash", "-n", "-c", rest], check=True)
        elif word in ("ENTRYPOINT", "CMD"):
            assert re.fullmatch(r'\["[^"]+"(, "[^"]+")*\]', rest)  # a shell between would not pass signals on


def test_what_it_copies_is_there_and_reaches_the_builder() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        source
        for word, rest in instructions()
        if word == "COPY" and not rest.startswith("--from")
        for source in shlex.split(rest)[:-1]
    ]
    assert let_in == set(copied)
    assert all((ROOT / source).exists() for source in copied)


def test_what_it_copies_is_all_that_an_installation_needs() -> None:
    metadata = (ROOT / "pyproject.toml").read_text("utf-8")
    (folders,) = re.findall(r"^\[tool.setuptools.package-dir\]\n((?:.+\n)+)", metadata, re.MULTILINE)
    copied = {source for word, rest in instructions() if word == "COPY" for source in rest.split()[:-1]}
    assert {*re.findall(r'= "(\w+)"', folders), "pyproject.toml", "README.md", "LICENSE"} <= copied


def test_it_runs_as_nobody_special_and_what_it_starts_exists() -> None:
    order = [word for word, _ in instructions()]
    assert order.index("USER") < order.index("ENTRYPOINT")
    (user,) = (rest for word, rest in instructions() if word == "USER")
    assert user != "root"
    assert (0, 2) == tuple(
        subprocess.run(
            [sys.executable, "-m", "torchlint", *words], cwd=ROOT, capture_output=True, check=False
        ).returncode
        for words in (["check", "docs/editors"], ["chekc"])
    )


@pytest.mark.parametrize("file", ["action.yml", "docs/gitlab-ci.yml"])
def test_nothing_from_outside_stands_in_a_script(file: str) -> None:
    yaml = pytest.importorskip("yaml")
    scripts = list(_scripts(yaml.safe_load((ROOT / file).read_text("utf-8"))))
    assert scripts
    for script in scripts:
        assert "${{" not in script  # names of branches and inputs come as variables, which a shell does not run
        assert "eval" not in script and "curl" not in script


def _scripts(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [text for key in ("run", "script", "before_script") for text in _lines(node.get(key))]
        return own + [text for value in node.values() for text in _scripts(value)]
    return [text for item in node for text in _scripts(item)] if isinstance(node, list) else []


def _lines(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(line) for line in value] if isinstance(value, list) else []


PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").glob("*.yml"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def test_no_page_installs_torchlint_by_a_name_that_anybody_may_own() -> None:
    pages = [page for page in PAGES if "node_modules" not in page.parts]
    by_name = re.compile(r"""pip install [^\n`]*?(?<![/\w-])torchlint(?:\[\w+\])?(?! @)(?=['"`\s]|$)""", re.MULTILINE)
    assert [] == [(page.name, found[0]) for page in pages for found in by_name.finditer(page.read_text("utf-8"))]
