"""Fixtures that several tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.text.finding import Finding


@pytest.fixture(autouse=True, scope="session")
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing is kept in the home directory of who runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker gets tests that stand together: what a module or a session sets up is set up once, not in each worker."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


# No test depends on time: an example may take as long as a busy machine makes it take.
settings.register_profile("torchlint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("torchlint")

Linter = Callable[..., list[Finding]]

# A shell that starts the tests in the background switches interrupts off, also for the programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def linted(tmp_path: Path) -> Linter:
    """Lint files given as `name=text`, or one text; the findings of the codes asked for."""

    def run(text: str = "", codes: str = "TL", sieve: bool = True, **files: str) -> list[Finding]:
        from torchlint.rule import load

        sources = (
            {"example.py": text} if text else {name.replace("__", "/") + ".py": body for name, body in files.items()}
        )
        wanted = frozenset(code for code in load() if code.startswith(codes))
        settings = Settings(codes=wanted, fixable=wanted, root=tmp_path, sieve=sieve)
        result = lint({name: body.encode() for name, body in sources.items()}, settings)
        assert result.errors == ()
        return list(result.findings)

    return run
