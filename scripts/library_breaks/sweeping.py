"""All models in turn, each in a process of its own."""

from __future__ import annotations

import collections
import importlib
import json
import logging
import multiprocessing
import os
import re
import time
from pathlib import Path
from typing import Any

import torch  # noqa: TID251 - this is a program that runs models, not a part of the linter
from candidates import Candidate, all_runs
from running import Result, run


def warm() -> None:
    """Imports what every run needs, and compiles a function, so that a forked run begins at once."""
    torch.set_num_threads(1)
    importlib.import_module("transformers.modeling_utils")
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    torch._dynamo.reset()


def child(key: str, mode: str, out: Path, timeout: int) -> None:
    """A forked run; what it prints is dropped."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    logging.disable(logging.CRITICAL)
    run(key, mode, out, timeout)


def forked(one: Candidate, mode: str, out: Path, timeout: int) -> dict[str, Any]:
    """One run in a process of its own, which is killed if it outlives its alarm; what it wrote."""
    process = multiprocessing.get_context("fork").Process(target=child, args=(one.key, mode, out, timeout))
    process.start()
    process.join(timeout + 20)
    if process.is_alive():
        process.kill()
        process.join()
    if not out.exists():
        why = f"died: exit code {process.exitcode}"
        out.write_text(Result(one.folder, one.key, mode, why=why).written(), encoding="utf-8")
    written: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return written


def is_done(out: Path, again: bool) -> bool:
    """Whether a run is there already; a failed one is not, where those are to be run again."""
    return out.exists() and not (again and not json.loads(out.read_text(encoding="utf-8"))["ok"])


def sweep(folder: Path, only: str, timeout: int, minutes: float, modes: list[str], again: bool) -> None:
    """Every class and mode in turn, each in a process of its own; then the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = [(one, mode) for one, mode in all_runs() if re.search(only, one.key) and mode in modes]
    warm()
    end = time.monotonic() + minutes * 60
    for number, (one, mode) in enumerate(runs):
        out = folder / f"{one.key}.{mode}.json"
        if is_done(out, again):
            continue
        if time.monotonic() > end:
            break
        out.unlink(missing_ok=True)
        found = forked(one, mode, out, timeout)
        said = f"{len(found['breaks'])} breaks" if found["ok"] else found["why"][:150]
        print(f"{number}/{len(runs)} {one.key} {mode} {found['seconds']} s: {said}", flush=True)
    summarize(folder)


def summarize(folder: Path) -> None:
    """Writes summary.json: how many ran, and the breaks by their place."""
    results = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.*.*.json"))]
    ran = [one for one in results if one["ok"]]
    places = collections.Counter(
        f"{found['file']}:{found['line']} {found['gb']}" for one in ran for found in one["breaks"]
    )
    summary = {
        "runs": len(results),
        "ok": len(ran),
        "folders": len({one["model"] for one in ran}),
        "classes": len({one["class"] for one in ran}),
        "modes": collections.Counter(one["mode"] for one in ran),
        "breaks": dict(places.most_common()),
        "failures": dict(collections.Counter(one["why"][:80] for one in results if not one["ok"]).most_common()),
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
