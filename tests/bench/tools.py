"""Torchlint and its peers: where they come from, and how they are called."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .processes import Tool

PEERS = ("torchfix", "fixit", "torch-preflight", "flake8", "ruff")
REPOSITORIES = {
    "timm": ("https://github.com/huggingface/pytorch-image-models", "v1.0.20"),
    "diffusers": ("https://github.com/huggingface/diffusers", "v0.35.1"),
    "transformers": ("https://github.com/huggingface/transformers", "v4.56.1"),
}
"""What `--checkout` clones: address and tag or commit."""
PARSE = """
import gc, sys, pathlib, libcst
gc.disable()
for given in map(pathlib.Path, sys.argv[1:]):
    for path in [given] if given.is_file() else given.rglob("*.py"):
        try:
            libcst.parse_module(path.read_bytes())
        except (libcst.ParserSyntaxError, UnicodeDecodeError):
            pass
"""
ALL = ("--select", "ALL", "--preview")
COLD = ("--no-cache",)


def install(folder: Path) -> None:
    """Each peer into a virtual environment of its own: flake8 would load TorchFix as a plugin."""
    for peer in PEERS:
        subprocess.run([sys.executable, "-m", "venv", folder / peer], check=True)
        subprocess.run([folder / peer / "bin/pip", "install", "--quiet", peer], check=True)


def checkout(folder: Path) -> dict[str, Path]:
    """Clone what is not there yet; the folders by name."""
    for name, (address, revision) in REPOSITORIES.items():
        if not (folder / name).exists():
            command = ["git", "clone", "--quiet", "--depth", "1", "--branch", revision, address, str(folder / name)]
            subprocess.run(command, check=True)
    return {name: folder / name for name in REPOSITORIES}


def commit(folder: Path) -> str:
    """The commit of a checkout; "" for a folder that is none."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    return _git(folder, "rev-parse", "--short=9", "HEAD") if top and Path(top) == folder.resolve() else ""


def _git(folder: Path, *command: str) -> str:
    told = subprocess.run(["git", "-C", folder, *command], capture_output=True, text=True, check=False)
    return told.stdout.strip() if told.returncode == 0 else ""


def torchlint(*options: str) -> tuple[str, ...]:
    """The command of a run of torchlint that says what it finds on a line each, and ends well."""
    program = str(Path(sys.executable).parent / "torchlint")
    return (program, "check", "--isolated", "--exit-zero", "--output-format", "concise", *options)


def own(jobs: int, cache: Path) -> Iterator[Tool]:
    """Torchlint, in the ways it is compared with itself."""
    yield Tool("torchlint, all rules", torchlint(*ALL, *COLD, f"-j{jobs}"))
    yield Tool("torchlint, all rules, one process", torchlint(*ALL, *COLD, "-j1"))
    yield Tool("torchlint, default rules", torchlint(*COLD, f"-j{jobs}"))
    yield Tool("torchlint, all rules, --no-sieve", torchlint(*ALL, *COLD, "-j1", "--no-sieve"))
    yield Tool("torchlint, all rules, cached", torchlint(*ALL, f"-j{jobs}", "--cache-dir", str(cache)), warm=True)


def peers(folder: Path | None, jobs: int) -> Iterator[Tool]:
    """What torchlint is compared with; those of `folder` only where there is one."""
    yield Tool("libcst.parse_module alone", (sys.executable, "-c", PARSE), slow=True)
    if folder is None:
        return
    ruff = (str(folder / "ruff/bin/ruff"), "check", "--isolated", "--exit-zero", "--output-format", "concise")
    yield Tool("Ruff, default rules", (*ruff, "--no-cache"))
    yield Tool("Ruff, E4,E7,E9,F", (*ruff, "--no-cache", "--select", "E4,E7,E9,F"))
    yield Tool("Ruff, default rules, cached", ruff, warm=True)
    flake8 = str(folder / "flake8/bin/flake8")
    yield Tool("flake8, pyflakes only", (flake8, "--isolated", "--select", "F", "--exit-zero", f"-j{jobs}"))
    yield Tool("TorchFix", (str(folder / "torchfix/bin/torchfix"), "--select", "ALL", f"-j{jobs}"), slow=True)
    yield Tool("Fixit", (str(folder / "fixit/bin/fixit"), "lint"), slow=True)
    preflight = str(folder / "torch-preflight/bin/torch-preflight")
    yield Tool("torch-preflight", (preflight, "check", "--no-color", f"-j{jobs}"), slow=True)


@functools.cache
def versions(folder: Path | None) -> str:
    """The versions of everything that is measured, and the machine, in a sentence."""
    found = [
        f"Python {platform.python_version()}",
        f"{os.cpu_count()} cores",
        *_installed(Path(sys.executable), "libcst"),
    ]
    for peer in PEERS if folder is not None else ():
        assert folder is not None
        found += _installed(folder / peer / "bin/python", peer)
    source = commit(Path(__file__).parents[2])
    return ", ".join([f"torchlint {source}" if source else "torchlint", *found])


def _installed(python: Path, package: str) -> list[str]:
    code = f"import importlib.metadata as m, json; print(json.dumps(m.version({package!r})))"
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return [f"{package} {json.loads(told)}"]
