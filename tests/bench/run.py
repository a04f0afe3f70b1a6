"""Time torchlint and its peers in turn on the same files, and write the table to docs/speed.md.

    python tests/bench/run.py --peers VENV [--repeat 3] [--only torchlint,ruff] [--write docs/speed.md] NAME=FOLDER...

`--peers` is a virtual environment that holds torchfix, fixit, flake8 and ruff (`pip install torchfix fixit flake8 ruff`); they are never
installed beside torchlint, since flake8 would load TorchFix as a plugin. Each round runs every tool once, in turn, so that
what else the machine does falls on all of them alike; the table gives medians of CPU seconds (user and system, children
included), of wall seconds, the peak memory of the largest process, and the ratio of CPU to torchlint's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PARSE = """
import gc, sys, pathlib, libcst
gc.disable()
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    try:
        libcst.parse_module(path.read_bytes())
    except (libcst.ParserSyntaxError, UnicodeDecodeError):
        pass
"""


@dataclass(frozen=True)
class Run:
    wall: float
    cpu: float
    peak: float
    """MiB of the largest process."""


@dataclass(frozen=True)
class Tool:
    name: str
    command: tuple[str, ...]


def tools(peers: Path | None) -> Iterator[Tool]:
    own = Path(sys.executable).parent
    torchlint = str(own / "torchlint")
    yield Tool(
        "torchlint, all rules",
        (torchlint, "check", "--isolated", "--select", "ALL", "--preview", "--exit-zero", "--output-format", "concise"),
    )
    yield Tool(
        "torchlint, default rules", (torchlint, "check", "--isolated", "--exit-zero", "--output-format", "concise")
    )
    yield Tool(
        "torchlint, all rules, --no-sieve",
        (
            torchlint,
            "check",
            "--isolated",
            "--no-sieve",
            "--select",
            "ALL",
            "--preview",
            "--exit-zero",
            "--output-format",
            "concise",
        ),
    )
    yield Tool("libcst.parse_module alone", (sys.executable, "-c", PARSE))
    if peers is not None:
        bin_ = peers / "bin"
        yield Tool(
            "ruff, default rules",
            (str(bin_ / "ruff"), "check", "--no-cache", "--isolated", "--exit-zero", "--output-format", "concise"),
        )
        yield Tool(
            "ruff, E4,E7,E9,F",
            (
                str(bin_ / "ruff"),
                "check",
                "--no-cache",
                "--isolated",
                "--exit-zero",
                "--select",
                "E4,E7,E9,F",
                "--output-format",
                "concise",
            ),
        )
        yield Tool(
            "flake8 (pyflakes only)", (str(bin_ / "flake8"), "--isolated", "--select", "F", "--exit-zero", "-j", "1")
        )
        yield Tool("TorchFix", (str(bin_ / "torchfix"), "--select", "ALL", "-j", "1"))
        yield Tool("Fixit", (str(bin_ / "fixit"), "lint"))


def run(tool: Tool, folder: Path) -> Run:
    """Run a tool once, with its output thrown away. What it found does not matter here."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        process = subprocess.Popen(
            [*tool.command, str(folder)],
            cwd=home,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, _, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, cpu, usage.ru_maxrss / 1024)


def measure(chosen: Sequence[Tool], folder: Path, repeat: int, slow: int) -> dict[str, list[Run]]:
    """`repeat` rounds of all tools in turn; tools over `slow` seconds of CPU run in the first round only."""
    found: dict[str, list[Run]] = {tool.name: [] for tool in chosen}
    for _ in range(repeat):
        for tool in chosen:
            past = found[tool.name]
            if past and past[0].cpu > slow:
                continue
            past.append(run(tool, folder))
            print(
                f"  {tool.name}: {past[-1].cpu:.2f} s CPU, {past[-1].wall:.2f} s wall, {past[-1].peak:.0f} MiB",
                file=sys.stderr,
            )
    return found


def lines(folder: Path) -> tuple[int, int]:
    files = list(folder.rglob("*.py"))
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def table(name: str, folder: Path, found: dict[str, list[Run]]) -> str:
    files, count = lines(folder)
    own = statistics.median(r.cpu for r in next(iter(found.values())))
    rows = [
        f"### {name}: {files:,} files, {count:,} lines",
        "",
        "| tool | CPU s | wall s | peak MiB | CPU to torchlint's | runs |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for tool, runs in found.items():
        cpu, wall, peak = (statistics.median(getattr(r, field) for r in runs) for field in ("cpu", "wall", "peak"))
        rows.append(f"| {tool} | {cpu:.2f} | {wall:.2f} | {peak:.0f} | {cpu / own:.2f} | {len(runs)} |")
    return "\n".join([*rows, ""])


def versions(peers: Path | None) -> str:
    known = {name: metadata.version(name) for name in ("torchlint", "libcst")}
    if peers is not None:
        listed = subprocess.run(
            [peers / "bin/pip", "list", "--format", "json"], capture_output=True, check=True, text=True
        ).stdout
        known |= {
            f"{p['name']} (peers)": p["version"]
            for p in json.loads(listed)
            if p["name"].lower() in ("torchfix", "fixit", "flake8", "ruff", "libcst", "pyflakes")
        }
    return ", ".join(f"{name} {version}" for name, version in known.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--slow", type=int, default=30, help="seconds of CPU over which a tool runs only once (default: %(default)s)"
    )
    parser.add_argument("--only", default="", help="comma-separated beginnings of tool names")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    wanted = tuple(options.only.split(",")) if options.only else ("",)
    chosen = [tool for tool in tools(options.peers) if tool.name.startswith(wanted)]
    parts = [
        f"Python {platform.python_version()}, {os.cpu_count()} cores; {versions(options.peers)}.",
        "",
    ]
    for pair in options.folders:
        name, _, folder = pair.partition("=")
        print(name, file=sys.stderr)
        parts.append(
            table(name, Path(folder).resolve(), measure(chosen, Path(folder).resolve(), options.repeat, options.slow))
        )
    text = "\n".join(parts)
    if options.write is None:
        print(text)
        return
    page = options.write.read_text() if options.write.exists() else "# Speed\n\n<!-- measured -->\n"
    head, _, tail = page.partition("<!-- measured -->")
    rest = tail.partition("<!-- end -->")[2]
    options.write.write_text(f"{head}<!-- measured -->\n\n{text}\n<!-- end -->{rest}")


if __name__ == "__main__":
    main()
