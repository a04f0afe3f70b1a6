"""What a GPU did beside what the virtual one did: prints the figures of docs/gpu.md, of the folder that all.sh filled.

    python scripts/gpu/compare.py FOLDER [--keep tests/trace/h100.json.gz]

With --keep the waits of the GPU are kept for the tests: of each call of an operator whether the host waited in it.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cuStreamSynchronize")
WAITS_HERE = ("sync", "h2d blocking", "d2h blocking", "synchronize")
Counts = dict[str, int]


def operators(folder: Path, pattern: str) -> dict[str, list[tuple[str, Counts | None]]]:
    found: dict[str, list[tuple[str, Counts | None]]] = {}
    for file in sorted(folder.glob(pattern)):
        found.update(json.loads(file.read_text("utf-8"))["operators"])
    return found


def waits(folder: Path) -> dict[str, list[tuple[str, bool]]]:
    """Of each operator's calls on the GPU whether the host waited; prints where the virtual one differs."""
    real, virtual = operators(folder, "waits-*.json"), operators(folder, "virtual-waits-*.json")
    counted: Counter[str] = Counter()
    kept: dict[str, list[tuple[str, bool]]] = {}
    for name, calls in real.items():
        for number, (given, counts) in enumerate(calls):
            here = virtual.get(name, [])[number : number + 1]
            if counts is None or not here or here[0][0] != given or here[0][1] is None:
                counted["left out"] += 1
                continue
            waited = any(counts.get(one) for one in WAITS)
            told = any(here[0][1].get(one) for one in WAITS_HERE)
            kept.setdefault(name, []).append((given, waited))
            counted["calls"] += 1
            counted[f"waited {waited}, told {told}"] += 1
            counted["waited, no warning"] += waited and not counts["warned"]
            if waited != told:
                print(f"  {name}: {given}: waited {waited}, told {told}")
    print(len(kept), "operators", dict(counted))
    return kept


def programs(folder: Path) -> None:
    """Lines of programs where one of the two sees the host wait or copy and the other does not."""
    real = json.loads((folder / "programs.json").read_text("utf-8"))
    virtual = json.loads((folder / "virtual-programs.json").read_text("utf-8"))
    counted: Counter[str] = Counter()
    for name, one in real.items():
        other = virtual[name]
        for line in sorted({*one["lines"], *other["lines"]}, key=int):
            if one["errors"].get(line) or other["errors"].get(line):
                counted["refused by one of them"] += 1
                continue
            there, here = (
                any("non_block" not in event for event in run["lines"].get(line, {})) for run in (one, other)
            )
            counted["lines"] += 1
            counted[f"there {there}, here {here}"] += 1
            if there != here:
                print(f"  {name}:{line}: there {one['lines'].get(line)}, here {other['lines'].get(line)}")
    print(len(real), "programs", dict(counted))


def compiled(folder: Path) -> None:
    """Kernels of Triton that a step launched, and that a traced run counts on the GPU and on the virtual one."""
    for file in sorted(folder.glob("compiled-*.json")):
        name = file.stem.removeprefix("compiled-")
        row: list[Any] = [name, json.loads(file.read_text("utf-8"))[name].get("triton")]
        for device in ("cuda", "virtual"):
            report = json.loads((folder / f"trace-{name}-{device}.json").read_text("utf-8"))
            graphs = [one["data"] for one in report["graphs"] if not one["step"]]
            row.append([(one.get("triton"), one.get("extern")) for one in graphs])
        print(*row)


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0])
    kept = waits(folder)
    programs(folder)
    compiled(folder)
    if "--keep" in arguments:
        text = json.dumps(kept, separators=(",", ":"))
        Path(arguments[arguments.index("--keep") + 1]).write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
