"""Room for the calls of deeply nested programs: a thread with a large stack, and memory for frames that is not given back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

FRAMES = 100_000
"""How deep calls may lie in each other there: an expression of 3,000 operators, which is all that Python compiles, takes 40,000."""
BYTES = 512 << 20
"""The thread's stack: 5 KB a call, three times what the most costly ones take. Memory is taken as it is used."""

_large: set[int] = set()
"""The threads with a large stack."""


def with_room(work: Callable[[], T]) -> T:
    """What `work` gives, which is begun anew with a large stack where this thread's is too small. Raises what it raises."""
    try:
        return work()
    except RecursionError as error:
        if is_large():
            raise
        return _in_large_stack(work, error)


def with_frames(work: Callable[[], T]) -> T:
    """What `work` gives, with the frames of all its calls in one piece of memory. Raises what it raises.

    CPython since 3.11 keeps frames in chunks of 16 KiB (`push_chunk` in Python/pystate.c). Where a loop's calls cross the end
    of a chunk, each of them maps memory and unmaps it again: a tenth of a run on transformers. This function's own frame
    asks for so much that its chunk holds 6,000 frames more; pages that no frame reaches take no memory.
    """
    return work()


if sys.version_info >= (3, 11) and sys.implementation.name == "cpython":
    with_frames.__code__ = with_frames.__code__.replace(co_stacksize=1 << 18)  # 2 MiB, so that its chunk has 4


def is_large() -> bool:
    """Whether this thread has a large stack: a RecursionError in it will not go away with more room."""
    if not _large:
        return False
    import threading

    return threading.get_ident() in _large


def _in_large_stack(work: Callable[[], T], error: RecursionError) -> T:
    import threading
    from concurrent.futures import ThreadPoolExecutor

    def run() -> T:
        _large.add(threading.get_ident())
        try:
            return with_frames(work)
        finally:
            _large.remove(threading.get_ident())

    frames, size = sys.getrecursionlimit(), threading.stack_size(BYTES)
    sys.setrecursionlimit(FRAMES)
    try:
        with ThreadPoolExecutor(1) as pool:
            try:
                answer = pool.submit(run)
            except RuntimeError:  # no memory for a thread
                raise error from None
            return answer.result()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(frames)
