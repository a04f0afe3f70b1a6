"""The fixture that runs programs on the virtual GPU."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trace.apart import run_apart
from tests.trace.programs import Traced, run_on_the_virtual_gpu


@pytest.fixture(autouse=True)
def _compiler_of_the_real_torch(request: pytest.FixtureRequest) -> None:
    """Dynamo notes torch's functions when it is imported: never while the virtual GPU's stand in for them."""
    if request.node.get_closest_marker("torch"):
        pytest.importorskip("torch._dynamo")


@pytest.fixture
def traced(tmp_path: Path) -> Callable[..., Traced]:
    """Run a program, given as its source, in this process; the options are those of the virtual GPU."""

    def run(source: str, **options: Any) -> Traced:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(source))
        return Traced.of(script, run_on_the_virtual_gpu(script, **options))

    return run


@pytest.fixture
def apart(tmp_path: Path) -> Callable[..., Traced]:
    """Run a program, given as its source, in a process of its own, where it may begin process groups."""

    def run(source: str, *, virtual: bool = True) -> Traced:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(source))
        return run_apart(script, virtual=virtual)

    return run
