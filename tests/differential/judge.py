"""Fixes programs, has the originals and the fixed ones run by a child process, and tells which show something else."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any, TextIO

from torchlint.fix.run import fix_files
from torchlint.settings.config import Settings
from torchlint.torch_api.version import LATEST, Range

from .programs import Program
from .situations import Situation

CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Difference:
    """A program that shows something else after its fix."""

    program: Program
    fixed: str
    situation: Situation
    what: str

    def __str__(self) -> str:
        return f"{self.program.name}\n  {json.dumps(self.situation)}\n{self.what}"


@dataclass
class Verdict:
    """What became of the programs of one rule."""

    applied: dict[str, int] = field(default_factory=dict)
    """Programs that were fixed, by shape."""
    refused: dict[str, int] = field(default_factory=dict)
    """Programs that were left alone, by shape."""
    situations: int = 0
    """How often a fixed program was run beside its original."""
    differences: list[Difference] = field(default_factory=list)
    unsteady: list[Difference] = field(default_factory=list)
    """Programs that show something else each time, and so can't be judged."""


def fixed(programs: Sequence[Program], rule: str) -> dict[str, str]:
    """The texts of the programs that the rule's safe fixes change, by name, after it."""
    settings = Settings(
        codes=frozenset((rule, "TL004")), fixable=frozenset((rule,)), target_torch=Range(LATEST), preview=True
    )
    changed: dict[str, str] = {}
    for program in programs:  # each is a project of its own: what one does tells nothing of another
        result = fix_files({"program.py": program.text.encode()}, settings, unsafe=False, write=False)
        broken = [finding for finding in result.result.findings if finding.code == "TL004"]
        assert not broken and not result.failed and not result.result.errors, (broken, result.result.errors)
        for data in result.contents.values():
            changed[program.name] = data.decode()
    return changed


@dataclass(frozen=True)
class Child:
    """The process that runs the programs; torch is imported once."""

    process: subprocess.Popen[str]
    said: TextIO
    """What it says beside its answers."""

    def ask(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(requests), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, f"the child died: {self._last_words()}"
        answers: list[dict[str, Any]] = json.loads(line)
        return answers

    def _last_words(self) -> str:
        self.process.wait()
        self.said.seek(0)
        return self.said.read()[-3000:]


@contextmanager
def started() -> Iterator[Child]:
    """A child process, for as long as it is needed."""
    command = [sys.executable, "-W", "ignore", str(CHILD)]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=said, text=True) as process,
    ):
        yield Child(process, said)


def judged(programs: Sequence[Program], rule: str, situations: Iterator[Situation], child: Child) -> Verdict:
    """Fix the programs, and run each that was fixed in the next situation."""
    verdict = Verdict()
    after = fixed(programs, rule)
    chosen = []
    for program in programs:
        counted = verdict.applied if program.name in after else verdict.refused
        counted[program.shape] = counted.get(program.shape, 0) + 1
        if program.name in after:
            chosen.append((program, after[program.name], _for(program, next(situations))))
    requests = [{"before": one.text, "after": other, "situation": situation} for one, other, situation in chosen]
    for (program, text, situation), answer in zip(chosen, child.ask(requests), strict=True):
        what = "\n".join([*differences(answer["before"], answer["after"]), *dropped(program.text, text)])
        if changing := "\n".join(differences(answer["before"], answer["again"])):
            verdict.unsteady.append(Difference(program, program.text, situation, changing))
        elif what and not _cured(program, situation, answer):
            verdict.differences.append(Difference(program, text, situation, what))
    verdict.situations = len(chosen)
    return verdict


def _cured(program: Program, situation: Situation, answer: dict[str, Any]) -> bool:
    """Whether the original could not be run at all there, in a way that its fix may cure, or that is the compiler's own."""
    raised = answer["before"]["call raises"]
    if any(map(raised.startswith, program.cures)):
        return True
    return bool(raised) and str(situation["ambient"]).startswith("compiled")


def _for(program: Program, situation: Situation) -> Situation:
    """The situation as a program can bear it.

    The compiler may crash on coroutines, and what stands for late copies writes into their results, which the tensors of
    inference mode refuse outside of it.
    """
    crashes = "async def" in program.text and str(situation["ambient"]).startswith("compiled")
    ambient = program.ambient or ("plain" if crashes else situation["ambient"])
    refused = "inference" in program.text and ambient == "late copies"
    return {**situation, "ambient": "plain" if refused else ambient}


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """What was seen of one and not of the other; warnings may go, none may come."""
    for key, value in before.items():
        if key != "warnings":
            yield from _unlike(value, after[key], key)
        elif more := sorted(set(after[key]) - set(value)):
            yield f"  warns: {more}"


def dropped(before: str, after: str) -> Iterator[str]:
    """The comments of a text that another one lacks."""
    for comment in comments(before) - comments(after):
        yield f"  dropped: {comment}"


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def _unlike(before: Any, after: Any, where: str) -> Iterator[str]:
    """The innermost places at which two pieces of plain data differ."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from _unlike(before[key], after[key], f"{where}, {key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _unlike(one, other, f"{where}, {number}")
    elif before != after and not (where.endswith("raises") and _kind(before) == _kind(after)):
        yield f"  {where}: {before} -> {after}"


def _kind(raised: object) -> str:
    """The class of an exception; its words name operators and sizes, which may be others."""
    return str(raised).partition(":")[0]
