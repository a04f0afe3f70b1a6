"""Room for calls: one piece of memory for the frames of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.system.stack import with_frames

CALLS = """
import resource
import sys
from torchlint.system.stack import with_frames

def leaf(a, b=1, c=2, d=3, *e, **f):
    return [a, b, c, d, e, f, a, b, c, d, e, f]

def at(depth):
    if depth:
        return at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for one in range(500):
        leaf(one)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def worst():
    return max(at(depth) for depth in range(800))

print(with_frames(worst) if sys.argv[1] == "room" else worst())
"""


def faults(how: str, folder: Path) -> int:
    """How many pages 500 calls at the worst depth touch anew."""
    ran = subprocess.run([sys.executable, "-c", CALLS, how], cwd=folder, capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames lie on the heap")
@pytest.mark.skipif(sys.platform != "linux", reason="counts what Linux counts")
def test_calls_at_the_end_of_a_chunk_map_no_memory(tmp_path: Path) -> None:
    assert faults("none", tmp_path) >= 500
    assert faults("room", tmp_path) < 50


def test_what_is_given_and_raised_comes_through() -> None:
    assert with_frames(lambda: [1]) == [1]
    with pytest.raises(KeyError, match="a"):
        with_frames(lambda: dict[str, int]()["a"])
