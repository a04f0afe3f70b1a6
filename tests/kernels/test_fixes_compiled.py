"""Fixes of Triton kernels, held against Triton's own front end; it needs no device."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from torchlint.fix import apply as fix
from torchlint.lint.run import lint
from torchlint.settings.config import Settings
from torchlint.text.source import Source

triton = pytest.importorskip("triton")

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
RUN_TIME = """@triton.jit
def kernel(x, n, BLOCK):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, 1.0, mask=at < n)

def run(x):
    kernel[(1,)](x, 3, BLOCK=64)
"""
PRECISION = """@triton.jit
def kernel(x):
    at = tl.arange(0, 16)
    tile = tl.load(x + at[:, None] * 16 + at[None, :])
    tl.store(x + at[:, None] * 16 + at[None, :], tl.dot(tile, tile, allow_tf32=%s))
"""


def repaired(code: str, rule: str) -> str:
    wanted = frozenset((rule,))
    source = (HEAD + code).encode()
    found = lint({"kernels.py": source}, Settings(codes=wanted, fixable=wanted)).findings
    data, applied = fix.apply(Source.of("kernels.py", source), [f.fix for f in found if f.fix is not None])
    assert len(applied) == len(found) == 1
    assert applied[0].applicability == "safe"
    return data.decode().removeprefix(HEAD)


def load(folder: Path, code: str) -> ModuleType:
    path = folder / f"kernels_{abs(hash(code))}.py"
    path.write_text(HEAD + code)
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lowered(kernel: Any, signature: dict[str, str], constants: dict[str, int]) -> str:
    """The first intermediate code that Triton makes of a kernel, without places."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    made = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    return re.sub(r"loc\(.*\)|#loc.*", "", str(made))


def test_an_extent_compiles_once_it_is_a_constant(tmp_path: Path) -> None:
    before = load(tmp_path, RUN_TIME).kernel
    after = load(tmp_path, repaired(RUN_TIME, "TLK01")).kernel

    with pytest.raises(triton.compiler.errors.CompilationError, match="must be of type tl"):
        lowered(before, {"x": "*fp32", "n": "i32", "BLOCK": "i32"}, {})
    assert "tt.make_range" in lowered(after, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64})


@pytest.mark.parametrize("flag", ["True", "False"])
def test_the_precision_of_a_product_stays_what_it_is(tmp_path: Path, flag: str) -> None:
    code = PRECISION % flag
    before = load(tmp_path, code).kernel
    after = load(tmp_path, repaired(code, "TLK08")).kernel

    assert lowered(before, {"x": "*fp32"}, {}) == lowered(after, {"x": "*fp32"}, {})
    assert lowered(before, {"x": "*fp32"}, {}) != lowered(
        load(tmp_path, PRECISION % (flag == "False")).kernel, {"x": "*fp32"}, {}
    )
