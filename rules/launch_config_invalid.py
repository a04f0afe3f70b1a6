from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.facts.nodes import keyword_of, number
from torchlint.facts.told import Launch
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_MOST_WARPS = 32
_GATE = regex(
    rb"get_device_capability|capability|is_(?:hopper|blackwell|sm)|\bsm_?(?:90|100|120)|is_tma|arch\b", re.IGNORECASE
)


@rule("TLK07", shape=[*triton.KERNEL, "triton.Config(...)"], severity="error", fix="suggestion", category="tileir")
def launch_config_invalid(site: Site) -> Iterator[Finding]:
    """A Triton launch asks for something that no device has.

    ## What it does

    Finds in `triton.Config(...)`, and in launches of kernels of the same file: a literal `num_warps` that is no power of
    two or larger than 32, a negative `num_stages`, and (as a `warning`) `num_ctas` above 1 or an `occupancy` in a file that
    never asks for the device's capability. It reads the source; nothing is launched.

    ## Why is this slow?

    It does not run: Triton says "num_warps must be a power of 2" when it compiles, and a block has at most 1024 threads.
    Clusters of thread blocks (`num_ctas`) need compute capability 9.0, and `occupancy` is read by the TileIR backend only.

    ## When it does not matter

    Values that are computed are not looked at, nor the options of AMD's backend (`waves_per_eu`), where `num_stages=0` has
    a meaning. Whether a configuration fits into shared memory is known to the compiler only.

    ## Bad

    ```python whole
    import torch
    import triton

    config = triton.Config({"BLOCK": 128}, num_warps=6)  # TLK07
    ```

    ## Good

    ```python whole
    import torch
    import triton

    config = triton.Config({"BLOCK": 128}, num_warps=8)  # ok
    ```

    ## References

    - <https://triton-lang.org/main/python-api/generated/triton.Config.html>
    - <https://docs.nvidia.com/cuda/cuda-c-programming-guide/#thread-block-clusters>
    """
    if site.name == "triton.Config()":
        if not site.spread:
            yield from _faults(site, site, site.call, 1)
        return
    kernel = triton.decorated(site.function, site.target)
    for launch in kernel.launches if kernel is not None else ():
        yield from _faults(site, site.at(launch.function, launch.call), launch.call, None)


def _faults(site: Site, place: Site, call: ast.Call, first: int | None) -> Iterator[Finding]:
    """What is wrong with the launch options of a call; those of a Config may also stand by position, from `first`."""
    for at, name in enumerate(("num_warps", "num_stages", "num_ctas", "occupancy")):
        given = keyword_of(call, name)
        if given is None and first is not None and name != "occupancy" and first + at < len(call.args):
            given = call.args[first + at]
        value = number(given)
        if given is None or value is None:
            continue
        if name == "num_warps" and not triton.power_of_two(value):
            yield place.finding(
                f"`num_warps={value}` is no power of two: the kernel does not compile", at=given, told=Launch(name)
            )
        elif name == "num_warps" and value > _MOST_WARPS:
            yield place.finding(
                f"`num_warps={value}` is {32 * value} threads, and a block has at most 1024",
                at=given,
                told=Launch(name),
            )
        elif name == "num_stages" and value < 0:
            yield place.finding(f"`num_stages={value}` is no number of stages", at=given, told=Launch(name))
        elif ((name == "num_ctas" and value > 1) or name == "occupancy") and not site.source.holds(_GATE):
            needs = "compute capability 9.0" if name == "num_ctas" else "the TileIR backend"
            yield place.finding(
                f"`{name}={value}` needs {needs}, and nothing here asks for it",
                at=given,
                severity="warning",
                told=Launch(name),
            )
