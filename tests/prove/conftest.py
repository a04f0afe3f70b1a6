"""One warm process for all tests: importing torch takes longer than most runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchlint.prove import runs
from torchlint.prove.compare import Compared, Numbers
from torchlint.prove.lab import Conditions, Lab
from torchlint.prove.runs import Runner
from torchlint.prove.versions import Version
from torchlint.prove.workspace import Project, Workspace

Compare = Callable[[str, str], Compared]


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    pytest.importorskip("torch")
    with Workspace() as space, Runner(space.folder) as runner:
        yield Lab(space, runner, Conditions(steps=1000, seconds=60.0))


@pytest.fixture(scope="session")
def project(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An empty one, which versions put their files into."""
    project = Project(tmp_path_factory.mktemp("project").resolve(), (), ())
    lab.space.freeze(project)
    return project


@pytest.fixture(scope="session")
def compared(lab: Lab, project: Project) -> Compare:
    """Compare two programs, given as their sources; the first one is run once, however often it is compared with."""
    known: dict[str, Numbers] = {}

    def compare(before: str, after: str) -> Compared:
        if before not in known:
            known[before] = Numbers.of(lab, version(project, before))
        return known[before].with_(version(project, after))

    return compare


@pytest.fixture
def warm(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands ask the warm process of the tests and start none of their own."""

    class Shared:
        def __init__(self, folder: Path) -> None:
            pass

        def __enter__(self) -> Runner:
            return lab.runner

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(runs, "Runner", Shared)


def version(project: Project, source: str) -> Version:
    """A version of a project that has a script `train.py` with that text."""
    return Version("train.py", project, {"train.py": source.encode()}, "train.py")
