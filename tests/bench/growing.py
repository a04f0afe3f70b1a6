"""Seconds of processor for files that grow: what `tests/test_linear.py` can't count, the work of C code inside one line.

    python -m tests.bench.growing [--sizes 500,1000,2000,4000] [SHAPE...]

The last column is how much longer the largest took than the one before; 2 is linear, 4 quadratic. By hand: seconds vary.
"""

from __future__ import annotations

import argparse
import gc
import time

from tests.test_linear import ROOT, SHAPES, linted
from torchlint.rule import load
from torchlint.settings.config import Settings

REPEAT = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="default: all")
    parser.add_argument("--sizes", default="500,1000,2000,4000", metavar="N,N,...", help="default: %(default)s")
    options = parser.parse_args()
    unknown = [name for name in options.shapes if name not in SHAPES]
    if unknown:
        parser.error(f"no shape {', '.join(unknown)}; there are {', '.join(SHAPES)}")
    codes = frozenset(load())
    settings = Settings(codes=codes, fixable=codes, root=ROOT)
    sizes = [int(size) for size in options.sizes.split(",")]
    print(f"{'':36}" + "".join(f"{size:>9,}" for size in sizes))
    for name in options.shapes or SHAPES:
        spent = [best(name, size, settings) for size in sizes]
        last = f"{spent[-1] / spent[-2]:9.1f}" if len(spent) > 1 else ""
        print(f"{name:36}" + "".join(f"{one:9.2f}" for one in spent) + last, flush=True)


def best(name: str, size: int, settings: Settings) -> float:
    """The quickest of a few runs, in seconds; one where it takes long."""
    files = SHAPES[name](size)
    found: list[float] = []
    while len(found) < REPEAT and sum(found) < 2:
        gc.collect()
        start = time.process_time()
        linted(files, settings)
        found.append(time.process_time() - start)
    return min(found)


if __name__ == "__main__":
    main()
