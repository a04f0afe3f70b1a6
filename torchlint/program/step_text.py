"""Where a text may take a training step: backward passes, optimizers, and methods that a framework calls on each step."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from ..facts.common_names import OPTIMIZER_NAME
from ..system.regex import regex
from ..text.finders import fact_of_files
from ..text.source import Source, Words
from ..text.spoken import in_code
from .frameworks import STEP_NAMES

# No optimizer takes a second argument, as `scheduler.step(noise, t, x)` and `env.step(action, render=True)` do.
_NESTED = rb"\([^()'\"#]{0,200}\)|\[[^\[\]'\"#]{0,200}\]"
_STEP = rb"\.step\((?!(?!\s{0,200}\*\*|[^,)]{0,200}lambda)(?:[^()\[\]{}'\"#=,]|%s){1,200},\s{0,200}[^\s)#])" % _NESTED
_TAKEN = rb"backward\(|%s|create_graph=True|\.ITERATION_|\.train_batch\(" % _STEP
TRIGGER = regex(rb"%s|def (?:%s)\b" % (_TAKEN, "|".join(sorted(STEP_NAMES)).encode()))
STEPPING = Words(
    b".step(", pattern=re.compile(_STEP), sure=(b"backward(", b"create_graph=True", b".ITERATION_", b".train_batch(")
)
_HANDED = tuple(
    regex(rb"%s[\w.\[\]]{0,40}\s{0,200},\s{0,200}[\w.\[\]]{0,80}%s\w{0,40}\s{0,200}[,)]" % pair)
    for pair in ((b"oss", b"ptim"), (b"ptim", b"oss"))
)
"""`loss, optimizer)`, in either order: what a library takes a whole step with; each begins with what is quick to look for."""
_CALLED = regex(_TAKEN)
_OTHERS = ("prof", "profiler", "p", "pbar", "self")
"""What has a `step` that is no optimizer's."""
_OWNER = regex(rb"[\w\x80-\xff]+")
_FAR = 100
"""So many bytes in front of a call are looked at for what it is of."""
_BETWEEN = b" \t\r\n\f\\"


@fact_of_files("may step")
def may_step(source: Source) -> bool:
    """Whether a text may run a backward pass or an optimizer."""
    return hands_step_on(source) or (source.holds(STEPPING) and next(_taken(source.data, _CALLED), None) is not None)


def hands_step_on(source: Source) -> bool:
    """Whether a text may give a loss and an optimizer to something."""
    return source.fact("hands step on", _hands_step_on)


@fact_of_files("hands step on")
def _hands_step_on(source: Source) -> bool:
    return next(_given_on(source.data), None) is not None


def lines_of_steps(source: Source) -> list[int]:
    """The lines of a text that may be part of a step, or define a method that runs on each."""
    found = source.in_parts("steps", lambda data: sorted((*_taken(data, TRIGGER), *_given_on(data))))
    return [bisect_right(source.lines, start + at) for start, offsets in found for at in offsets]


def _given_on(data: bytes) -> Iterator[int]:
    """Where a loss and an optimizer are given to something, in either order."""
    for pattern in _HANDED if b"ptim" in data else ():
        yield from (found.start() for found in in_code(data, pattern))


def _taken(data: bytes, pattern: re.Pattern[bytes]) -> Iterator[int]:
    """Where a pattern stands in code, and the words around do not tell that it is no part of a step."""
    for found in in_code(data, pattern):
        start, word = found.start(), found[0]
        if word == b"backward(":
            before = data[max(start - _FAR, 0) : start].removesuffix(b"manual_").rstrip(_BETWEEN)
            is_taken = before.endswith(b".")  # no `def backward(`, no `ctx.save_for_backward(`
        else:
            is_taken = word != b".step(" or not (data.startswith(b")", found.end()) and _is_of_another(data, start))
        if is_taken:
            yield start


def _is_of_another(data: bytes, end: int) -> bool:
    """Whether the name in front of `.step()` is that of a scheduler, a profiler or a bar of progress."""
    before = data[max(end - _FAR, 0) : end]
    owner = _OWNER.match(before[::-1])
    name = owner[0][::-1].decode(errors="replace") if owner is not None else ""
    return _is_other(name)


def _is_other(name: str) -> bool:
    return not OPTIMIZER_NAME.search(name) and ("sched" in name.lower() or "env" in name.lower() or name in _OTHERS)
