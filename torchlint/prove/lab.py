"""Runs versions of programs in copies and reads back what they did."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from torchlint.messages.order import Done, Order, Tick, World
from torchlint.system.failure import Failure

from . import record
from .reach import Part
from .record import Record
from .runs import Runner
from .versions import Version
from .workspace import Tree, Workspace

_USAGE = 2
"""The exit code of argparse and others for arguments that a program can't use."""


@dataclass(frozen=True)
class Conditions:
    """Under which a program is run: the same for every version."""

    args: tuple[str, ...] = ()
    steps: int = 30
    seconds: float = 120.0
    threads: int = 1
    writable: tuple[str, ...] = ()
    at_once: int = 2


@dataclass
class Lab:
    """A workspace, a warm process, and the copies of the versions that are looked at."""

    space: Workspace
    runner: Runner
    conditions: Conditions
    tick: Tick = "step"
    _trees: dict[str, list[Tree]] = field(default_factory=dict)

    def order(self, version: Version, tree: Tree, **more: object) -> Order:
        conditions = self.conditions
        return replace(
            Order(
                version.entry,
                conditions.args,
                str(tree.root),
                str(tree.area),
                str(version.project.home),
                str(tree.root / version.cwd),
                str(self.space.output()),
                conditions.steps,
                conditions.seconds,
                self.tick,
                writable=conditions.writable,
                threads=conditions.threads,
                mode=version.mode,
            ),
            **more,  # type: ignore[arg-type]
        )

    def trees(self, version: Version, count: int) -> list[Tree]:
        """That many fresh copies of a version, each for one run at a time."""
        found = self._trees.setdefault(key(version), [])
        for tree in found[:count]:
            tree.reset()
        while len(found) < count:
            found.append(self.space.tree(version.project, version.overlay))
        return found[:count]

    def scout(self, version: Version) -> Done:
        """Run a version alone, timed step by step; a program that takes no steps is counted by calls of its modules.

        Raises Failure for one that can't be run.
        """
        done, order = self._alone(version)
        if done.ran and not done.ticks and done.forwards and self.tick == "step":
            self.tick = "forward"
            done, order = self._alone(version)
        if not done.ran:
            raise does_not_run(version, done, record.tail(Path(order.out)))
        return done

    def _alone(self, version: Version) -> tuple[Done, Order]:
        (tree,) = self.trees(version, 1)
        order = self.order(version, tree)
        (done,) = self.runner.lockstep([order], 1)
        outside(done, version)
        return done, order

    def forget(self, orders: Sequence[Order]) -> None:
        """Delete what these runs have left."""
        for order in orders:
            shutil.rmtree(order.out, ignore_errors=True)

    def record(self, runs: Sequence[Asked]) -> list[Record]:
        """Run these and record their numbers."""
        taken: dict[str, int] = {}
        trees = []
        for run in runs:
            at = taken[key(run.version)] = taken.get(key(run.version), 0) + 1
            trees.append((run, at))
        copies = {name: self.trees(run.version, taken[name]) for run in runs for name in [key(run.version)]}
        placed = [(run, copies[key(run.version)][at - 1]) for run, at in trees]
        orders = [
            self.order(
                run.version,
                tree,
                world=run.world,
                keep_start=run.keep_start,
                start=run.start,
                watch=_watch(run.watch, tree),
            )
            for run, tree in placed
        ]
        done = self.runner.record(orders, self.conditions.at_once)
        records = []
        for (run, tree), order, one in zip(placed, orders, done, strict=True):
            outside(one, run.version)
            records.append(record.read(one, Path(order.out), tree.root, tree.written()))
        return records


@dataclass(frozen=True)
class Asked:
    """A run to be recorded."""

    version: Version
    world: World = "plain"
    keep_start: bool = False
    start: str = ""
    watch: tuple[Part, ...] = ()


def does_not_run(version: Version, done: Done, errors: str) -> Failure:
    """What is to be said of a program that fails by itself; `errors` is the end of what it wrote to standard error."""
    said = f"{version.name} does not run: {done.detail or done.end}"
    if done.end == "exit" and done.code == _USAGE and "usage:" in errors:
        said += "; its own arguments come after --"
    return Failure(f"{said}\n{errors}" if errors else said)


def key(version: Version) -> str:
    """The digest of a version: the same for the same contents, compiled in the same way."""
    digest = sha256(f"{version.project.home}\0{version.mode}".encode())
    for path, contents in sorted(version.overlay.items()):
        digest.update(f"\0{path}\0{'gone' if contents is None else len(contents)}\0".encode())
        digest.update(contents or b"")
    return digest.hexdigest()


def outside(done: Done, version: Version) -> None:
    """Raise Failure if the run wanted to write outside of its copy."""
    if done.outside:
        more = f" and {len(done.outside) - 1} other places" if len(done.outside) > 1 else ""
        raise Failure(
            f"{version.name} writes to {done.outside[0]}{more}, outside of its copy; nothing was written there. "
            "Allow it with --allow-writes DIR, or let the program write below its own folder"
        )


def _watch(watched: Sequence[Part], tree: Tree) -> dict[str, tuple[int, ...]]:
    lines: dict[str, set[int]] = {}
    for part in watched:
        lines.setdefault(os.path.realpath(tree.root / part.file), set()).update(part.lines)
    return {path: tuple(sorted(found)) for path, found in lines.items()}
