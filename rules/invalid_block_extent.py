from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from torchlint.facts import triton
from torchlint.facts.nodes import names_in
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_SIZES = regex(rb"(?:\.shape\[-?\d+\]|\.size\(-?\d+\)|_dim)\s+in\s+[\[({]([\d, ]+)[\])}]")


@rule("TLK01", shape=triton.KERNEL, severity="error", fix="unsafe", numbers="changed", category="triton")
def invalid_block_extent(site: Site) -> Iterator[Finding]:
    """The size of a Triton block is not a constant power of two.

    ## What it does

    Finds in kernels that are launched or tuned: `tl.arange`, `tl.zeros`, `tl.full` and `tl.static_range` whose extent is
    a parameter without `tl.constexpr`; literal extents that are no power of two; and launches in the same file that give
    such a literal, or a bare size (`BLOCK=x.shape[-1]`), for a parameter that sizes a masked block.
    It reads the source; the kernel is not compiled.

    ## Why is this slow?

    It does not run at all: Triton lays blocks out at compile time, and says "arange's arguments must be of type
    tl.constexpr" or "arange's range must be a power of 2" at the first launch. A bare size works only as long as it
    happens to be a power of two, and compiles a new kernel for each.

    ## When it does not matter

    In a helper that other kernels call: constants stay constants there, annotated or not. Nothing is reported in helpers.
    `tl.static_range` may have any length.
    Bare sizes are not reported where the file, or one that imports it, admits powers of two only
    (`assert q.shape[-1] in (32, 64)`).

    ## Bad

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def scale(x, n, BLOCK):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # TLK01
        tl.store(x + offsets, 2.0 * tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

    def run(x):
        scale[(triton.cdiv(x.numel(), 128),)](x, x.numel(), BLOCK=128)
    ```

    ## Good

    ```python whole
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def scale(x, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # ok
        tl.store(x + offsets, 2.0 * tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

    def run(x):
        block = triton.next_power_of_2(x.shape[-1])
        scale[(1,)](x, x.numel(), BLOCK=block)  # ok
    ```

    ## Fix safety

    The annotation `: tl.constexpr` is added to the parameter. That is unsafe, since every launch raised before: a program
    that caught the exception now runs the kernel.
    At a launch, `triton.next_power_of_2(...)` around the size is only a suggestion: the kernel must mask what is too much.

    ## References

    - <https://triton-lang.org/main/python-api/generated/triton.language.arange.html>
    - <https://triton-lang.org/main/python-api/generated/triton.language.zeros.html>
    """
    kernel = triton.decorated(site.function, site.target)
    if kernel is None or not kernel.is_launched:
        return
    for name, call in kernel.calls("arange", "zeros", "full", "static_range"):
        for extent in triton.extents(name, call):
            what = _fault(kernel, name, call, extent)
            if what:
                yield site.at(kernel.function, extent).finding(what)
    for launch in kernel.launches:
        for parameter in kernel.extents.keys() & kernel.constants:
            given = launch.bound(parameter)
            place = site.at(launch.function, launch.call)
            if (
                isinstance(given, ast.Constant)
                and isinstance(given.value, int)
                and _must_be_power(kernel, parameter, given.value)
            ):
                yield place.finding(
                    f"`{parameter}={given.value}` sizes a block, which must be a power of two: the launch raises",
                    at=given,
                )
            elif (
                given is not None
                and triton.size_of(launch.function, given) is not None
                and _rounded_elsewhere(launch, parameter, given)
                and not _checked(site, launch)
            ):
                yield place.finding(
                    f"`{site.at(launch.function, given).short()}` sizes a block of `{kernel.function.name}` as it is: the launch raises unless it is a power of two",
                    at=given,
                    severity="warning",
                )


def _fault(kernel: triton.Kernel, name: str, call: ast.Call, extent: ast.expr) -> str:
    for node in triton.operands(extent):
        if isinstance(node, ast.Name) and _is_run_time(kernel, node.id):
            return f"`{node.id}` sizes a block but is no `tl.constexpr`: `tl.{name}` raises when the kernel is compiled"
    if name == "static_range" or not isinstance(extent, ast.Constant) or not isinstance(extent.value, int):
        return ""
    if name == "arange":
        bounds = [
            bound.value
            for bound in triton.extents(name, call)
            if isinstance(bound, ast.Constant) and isinstance(bound.value, int)
        ]
        if len(bounds) == 2 and extent.value == bounds[1] and not triton.power_of_two(bounds[1] - bounds[0]):
            return (
                f"a range of {bounds[1] - bounds[0]} is no power of two: `tl.arange` raises when the kernel is compiled"
            )
        return ""
    if not triton.power_of_two(extent.value):
        return f"a block of {extent.value} is no power of two: `tl.{name}` raises when the kernel is compiled"
    return ""


def _is_run_time(kernel: triton.Kernel, name: str) -> bool:
    """Whether a name is a parameter without annotation, and stays what it is."""
    plain = any(p.arg == name and p.annotation is None for p in kernel.function.parameters)
    return plain and name not in kernel.function.flow.stores


def _must_be_power(kernel: triton.Kernel, parameter: str, value: int) -> bool:
    """Whether a block is as long as the parameter says, and the value is no length for one."""
    return not triton.power_of_two(value) and any(
        triton.extents(name, call)[-1:] == [extent] or name != "arange"
        for name, call in kernel.calls("arange", "zeros", "full")
        for extent in triton.extents(name, call)
        if isinstance(extent, ast.Name) and extent.id == parameter
    )


def _rounded_elsewhere(launch: triton.Launch, parameter: str, given: ast.expr) -> bool:
    """Whether the kernel masks the block against the very size it is given as its extent: it expects to be given too many."""
    kernel = launch.kernel
    for _, call in kernel.calls("arange"):
        extent = triton.extents("arange", call)[-1:]
        if not (extent and isinstance(extent[0], ast.Name) and extent[0].id == parameter):
            continue
        statement = kernel.function.flow.parents.get(call)
        indices = {t.id for t in getattr(statement, "targets", ()) if isinstance(t, ast.Name)}
        for node in kernel.function.flow.nodes:
            if isinstance(node, ast.Compare) and any(
                indices & names_in(index)
                and isinstance(bound, ast.Name)
                and bound.id != parameter
                and _same(launch, bound.id, given)
                for index, bound in itertools.permutations((node.left, node.comparators[0]))
            ):
                return True
    return False


def _checked(site: Site, launch: triton.Launch) -> bool:
    """Whether the file, or one that imports it, admits only sizes that are powers of two: `x.shape[-1] in [32, 64]`."""
    module = launch.function.module
    sources = map(site.project.source, (module.path, *site.project.importers(module.path)))
    return any(
        all(triton.power_of_two(int(size)) for size in re.findall(rb"\d+", sizes[1]))
        for source in sources
        if source is not None
        for sizes in _SIZES.finditer(source.data)
    )


def _same(launch: triton.Launch, parameter: str, given: ast.expr) -> bool:
    other = launch.bound(parameter)
    if other is None:
        return False
    one, two = triton.size_of(launch.function, given), triton.size_of(launch.function, other)
    if one is None or two is None or one[1] != two[1]:
        return False
    return ast.dump(one[0]) == ast.dump(two[0])
