"""Starts the warm process (torchlint.runner) and asks it for runs. Nothing here imports torch."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint.messages.order import CACHES, Done, Order
from torchlint.system.failure import Failure

if TYPE_CHECKING:
    from typing_extensions import Self

_INSTALL = "torch can't be imported ({}). Running a program needs it: {}"
_QUIET = {"WANDB_MODE": "disabled", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0", "GIT_OPTIONAL_LOCKS": "0"}
"""What a run needs so as to be the same each time and to tell nobody else of it; what the user has set stays."""
_LOCKSTEP = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""Threads that wait must not spin, and no pool of compilers go on working: another version has the processor meanwhile."""


class Runner:
    """The warm process; to be used as a context. `folder` takes its caches and its own output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._imported: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            _stop(self._process)
            self._process = None

    def record(self, orders: Sequence[Order], at_once: int = 2) -> list[Done]:
        """Run these and record their numbers, `at_once` of them side by side."""
        found = self._ask({"do": "record", "orders": [order.plain() for order in orders], "at_once": at_once})
        done = [Done.of(one) for one in found]
        self._learn(module for one in done for module in one.modules)
        return done

    def lockstep(self, orders: Sequence[Order], seed: int, block: int = 1) -> list[Done]:
        """Run these at once, one block of steps of one of them at a time, in random order."""
        request = {"do": "lockstep", "orders": [order.plain() for order in orders], "seed": seed, "block": block}
        done = [Done.of(one) for one in self._ask(request)]
        self._learn(module for one in done for module in one.modules)
        return done

    def _learn(self, modules: Iterable[str]) -> None:
        """Let the warm process import what the runs had to import of torch, so that the next ones need not."""
        new = [module for module in dict.fromkeys(modules) if module not in self._imported]
        if new:
            self._imported.update(new)
            self._ask({"do": "import", "modules": new})

    def _ask(self, request: Mapping[str, object]) -> Any:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise Failure(self._why(process))
        return json.loads(answer)

    def _start(self) -> subprocess.Popen[bytes]:
        if not hasattr(os, "fork"):
            raise Failure("programs are run in forked processes, which this system does not have")
        with open(self._folder / "runner.log", "wb") as log:
            self._process = subprocess.Popen(
                python_module("torchlint.runner"),
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        return self._process

    def _environment(self) -> dict[str, str]:
        caches = {name: str(self._folder / "caches" / name.lower()) for name in CACHES}
        for folder in caches.values():
            os.makedirs(folder, exist_ok=True)
        return {**_QUIET, **os.environ, **_LOCKSTEP, **caches, "PYTHONDONTWRITEBYTECODE": "1"}

    def _why(self, process: subprocess.Popen[bytes]) -> str:
        process.wait()
        text = (self._folder / "runner.log").read_text("utf-8", "replace").strip()
        last = text.splitlines()[-1] if text else f"exit code {process.returncode}"
        from torchlint.system import install

        return (
            _INSTALL.format(last, install.command("trace", "torch"))
            if "No module named 'torch'" in last
            else f"the process that runs programs ended: {last}"
        )


def python_module(name: str) -> list[str]:
    """The command that runs a module of ours; nothing in the present directory shadows it (-P, from Python 3.11 on)."""
    return [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), "-m", name]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """The end of its input ends it and what it has forked; what does not listen is killed."""
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    try:
        process.wait(3.0)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with contextlib.suppress(OSError):
        assert process.stdout is not None
        process.stdout.close()
