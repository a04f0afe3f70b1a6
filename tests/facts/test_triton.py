"""What is read of Triton kernels: constants, launches, grids, sizes, and masks."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from torchlint.facts import triton
from torchlint.facts.module import Module
from torchlint.facts.triton_masks import unfilled
from torchlint.text.source import Source

IMPORTS = "import triton\nimport triton.language as tl\n"


def module(code: str) -> Module:
    return Module(Source.of("kernels.py", (IMPORTS + dedent(code)).encode()), "kernels", False)


def kernel(code: str) -> triton.Kernel:
    found = list(triton.all_kernels(module(code)))
    assert len(found) == 1
    return found[0]


def test_a_function_under_another_jit_is_no_kernel() -> None:
    code = "import torch\n@torch.jit.script\ndef f(x): pass\n\ndef g(x): pass\n"

    assert [] == list(triton.all_kernels(module(code)))


@pytest.mark.parametrize(
    "decorator",
    [
        "@triton.jit",
        "@triton.jit()",
        "@triton.jit(do_not_specialize=['n'])",
        "@triton.autotune([], key=[])\n@triton.jit",
    ],
)
def test_kernels_by_their_decorators(decorator: str) -> None:
    assert kernel(f"{decorator}\ndef f(x): pass\n").function.name == "f"


def test_constants_are_annotated() -> None:
    found = kernel("@triton.jit\ndef f(x, n, a: tl.constexpr, b: 'tl.constexpr', c: int = 3): pass\n")

    assert {"a", "b"} == found.constants


def test_extents_are_parameters_that_size_blocks() -> None:
    found = kernel(
        """
        @triton.jit
        def f(x, n, a: tl.constexpr, b: tl.constexpr, c: tl.constexpr, d: tl.constexpr):
            d = 4
            tl.zeros((a, 2 * b), dtype=tl.float32)
            tl.arange(0, d)
            tl.store(x + c, tl.arange(0, 16))
        """
    )

    assert {"a", "b"} == found.extents.keys()


def test_names_are_followed_to_what_they_were_made_of() -> None:
    found = kernel(
        """
        @triton.jit
        def f(x, n, B: tl.constexpr):
            pid = tl.program_id(0)
            start = pid * B
            offsets = start + tl.arange(0, B)
            tl.store(x + offsets, tl.load(x))
        """
    )
    store = next(call for _, call in found.calls("store"))

    assert {"program_id", "arange"} == found.uses(store.args[0])
    assert {"load"} == found.uses(store.args[1])


GRIDS = """
@triton.jit
def f(x, n, B: tl.constexpr): pass

def run(x, n):
    {grid}
    f[{launch}](x, n, B=64)
"""


@pytest.mark.parametrize(
    ("grid", "launch", "expected", "meta"),
    [
        ("pass", "(n, 2)", ["n", "2"], set()),
        ("grid = (n,)", "grid", ["n"], set()),
        ("grid = lambda meta: (n // meta['B'],)", "grid", ["n // meta['B']"], {"meta"}),
        ("def grid(m): return n, 1", "grid", ["n", "1"], {"m"}),
        ("grid = size(n)", "grid", ["size(n)"], set()),
        ("grid = (1,); grid = (2,)", "grid", [], set()),
    ],
)
def test_grids(grid: str, launch: str, expected: list[str], meta: set[str]) -> None:
    found = kernel(GRIDS.format(grid=grid, launch=launch)).launches

    assert len(found) == 1
    _, sizes, names_ = found[0].grid()
    assert (expected, meta) == ([ast.unparse(size) for size in sizes], set(names_))


def test_arguments_of_a_launch_by_keyword_and_position() -> None:
    launch = kernel(GRIDS.format(grid="pass", launch="(1,)")).launches[0]

    assert ["x", "n", "64"] == [
        ast.unparse(given) for name in ("x", "n", "B") if (given := launch.bound(name)) is not None
    ]
    assert launch.bound("other") is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("s = x.shape[-1]", ("x", -1)),
        ("s = x.size(0)", ("x", 0)),
        ("s = x.numel()", ("x", None)),
        ("s = len(x)", ("x", 0)),
        ("a, s = x.shape", ("x", 1)),
        ("a, s, b = *x.shape, y.shape[-1]", ("x", 1)),
        ("a, b, s = *x.shape, y.shape[-1]", ("y", -1)),
        ("s = 3", None),
        ("s = x.shape[0]; s = 3", None),
        ("*a, s = x.shape", None),
        ("s = triton.next_power_of_2(x.shape[0])", None),
    ],
)
def test_sizes(code: str, expected: tuple[str, int | None] | None) -> None:
    function = module(f"def run(x, y):\n    {code}\n    use(s)\n").top_functions["run"]
    use = function.flow.calls[-1].args[0]

    size = triton.size_of(function, use)

    assert expected == (None if size is None else (ast.unparse(size[0]), size[1]))


@pytest.mark.parametrize(
    ("value", "expected"), [(1, True), (64, True), (0, False), (-2, False), (48, False), (True, False), ("a", False)]
)
def test_powers_of_two(value: object, expected: bool) -> None:
    assert expected is triton.power_of_two(value)


MASKS = """
@triton.jit
def f(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    m = at < n
    {code}
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("tl.store(y, tl.sum(tl.load(x + at, mask=m, other=0.0)))", []),
        ("tl.store(y, tl.sum(tl.where(m, tl.load(x + at, mask=m), 0.0)))", []),
        ("tl.store(y, tl.sum(tl.load(x + at)))", []),
        ("tl.store(y, tl.sum(tl.load(x + at[:, None], mask=m[:, None]), axis=1))", []),
        ("tl.store(y, tl.sum(tl.load(x + at[:, None], mask=m[:, None]), axis=0))", ["sum"]),
        ("tl.store(y, tl.max(tl.exp(tl.load(x + at, mask=m)), 0))", ["max"]),
        (
            "v = tl.load(x + at, mask=m)\n    if n:\n        v = tl.where(m, v, 0.0)\n    tl.store(y, tl.sum(v))",
            ["sum"],
        ),
    ],
)
def test_masked_loads_that_are_reduced(code: str, expected: list[str]) -> None:
    assert expected == [reduction for _, reduction in unfilled(kernel(MASKS.format(code=code)))]
