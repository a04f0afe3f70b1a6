"""The programs of tests/trace/test_virtual.py on a GPU, or on the virtual one: the events of each of their lines.

    python scripts/gpu/programs.py OUT.json [--virtual] [--jobs 8]

Each runs in a process of its own under torchlint's recorder, as `torchlint trace` would run it, one statement after the
other: what one refuses says nothing of the next.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2] / "tests" / "trace" / "test_virtual.py"
SECONDS = 100


def programs() -> dict[str, str]:
    """The source of each program, by the test that it stands in."""
    found: dict[str, str] = {}
    for test in ast.parse(TESTS.read_text("utf-8")).body:
        if not isinstance(test, ast.FunctionDef):
            continue
        for node in ast.walk(test):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "traced"
                and node.args
            ):
                source = node.args[0]
                if isinstance(source, ast.Constant) and isinstance(source.value, str):
                    number = sum(name.startswith(test.name) for name in found)
                    found[f"{test.name} {number}" if number else test.name] = textwrap.dedent(source.value)
    return found


def events(script: Path, virtual: bool) -> dict[str, Any]:
    """What each line of a script caused, by its number; in this process."""
    from torchlint.messages.event import Event
    from torchlint.trace.eager.virtual import real_gpu, virtual_gpu
    from torchlint.trace.program.recorder import Recorder

    file = script.with_suffix(".jsonl")
    recorder = Recorder(file)
    errors: dict[str, str] = {}
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(script)}
    with virtual_gpu(recorder) if virtual else real_gpu(recorder):
        for statement in ast.parse(script.read_text("utf-8")).body:
            try:
                exec(compile(ast.Module([statement], []), str(script), "exec"), names)  # noqa: S102 - a test's own program
            except BaseException as raised:  # noqa: BLE001 - what it raised is part of the result
                errors[str(statement.lineno)] = f"{type(raised).__name__}: {raised}"[:200]
    recorder.close()
    lines: dict[int, Counter[str]] = {}
    for text in file.read_text("utf-8").splitlines():
        event = Event.from_json(text)
        if event.kind in ("sync", "h2d", "d2h", "synchronize", "empty_cache", "unsupported"):
            name = (
                f"{event.kind} {event.detail or event.name}"
                if event.kind in ("h2d", "d2h")
                else f"{event.kind} {event.name}"
            )
            lines.setdefault(event.line, Counter())[name] += event.count
    return {"errors": errors, "lines": {str(line): dict(counts) for line, counts in sorted(lines.items())}}


def one(name: str, source: str, virtual: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(source, "utf-8")
        command = [sys.executable, __file__, "--one", str(script), *(["--virtual"] if virtual else [])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return {"errors": {"0": f"took {SECONDS} s"}, "lines": {}, "source": source}
        last = done.stdout.strip().splitlines()[-1:] or [""]
        try:
            return {**json.loads(last[0]), "source": source}
        except ValueError:
            return {"errors": {"0": done.stderr[-600:]}, "lines": {}, "source": source}


def main(arguments: list[str]) -> None:
    virtual = "--virtual" in arguments
    if arguments[0] == "--one":
        found = events(Path(arguments[1]), virtual)
        print("\n" + json.dumps(found))
        return
    jobs = int(arguments[arguments.index("--jobs") + 1]) if "--jobs" in arguments else 2
    named = programs()
    with ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(named, pool.map(lambda name: one(name, named[name], virtual), named), strict=True))
    Path(arguments[0]).write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
