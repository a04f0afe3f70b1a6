from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, plain, rule
from torchlint.rule.lazy import regex

_REMOVED = {
    ".max_workspace_size": "`config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, size)`",
    ".build_engine()": "`builder.build_serialized_network(network, config)`",
    ".build_cuda_engine()": "`builder.build_serialized_network(network, config)`",
    ".max_batch_size": "an explicit batch dimension",
}
_ASKS = regex(rb"__version__|hasattr\(|tensorrt_rtx|is_trt\d|TRT_VERSION|torch_tensorrt")
_LOW = regex(rb"FP16|BF16|FP8|INT8|FP4|STRONGLY_TYPED|fp16|float16")
_INT8 = regex(
    rb"int8_calibrator|set_dynamic_range|QuantizeLinear|add_quantize|modelopt|pytorch_quantization|\bQ/?DQ\b|qdq"
)


@rule(
    "TLD04",
    shape=[*plain(*_REMOVED), "$x.create_builder_config(...)", "$x.set_flag(...)", "$x.add_input(...)"],
    set="preview",
    fix="suggestion",
    category="deployment",
)
def tensorrt_builder_config(site: Site) -> Iterator[Finding]:
    """TensorRT is built with settings that are gone, or without those that make it fast.

    ## What it does

    In files that import `tensorrt`, finds what TensorRT 10 removed (`max_workspace_size`, `build_engine`,
    `build_cuda_engine`, `max_batch_size`), an INT8 flag without calibrator or quantised layers, inputs of unknown size
    without an optimization profile, and (as `info`) builder configurations without any low precision or without a timing
    cache. The table is of the documentation; TensorRT is not run.

    ## Why is this slow?

    Without a precision flag every layer runs in float32. Without a calibrator an INT8 engine has no scales, and without
    profile a network with unknown sizes is not built at all. A timing cache spares a second build most of its minutes.

    ## When it does not matter

    In files that ask for TensorRT's version, with TensorRT-RTX (which has no use for a timing cache), in networks that need
    float32, and where `torch_tensorrt` builds.

    ## Bad

    ```python whole
    import tensorrt as trt
    import torch

    def build(builder, network):
        config = builder.create_builder_config()
        config.max_workspace_size = 1 << 30  # TLD04
        config.set_flag(trt.BuilderFlag.FP16)
        config.set_timing_cache(config.create_timing_cache(b""), False)
        return builder.build_engine(network, config)  # TLD04
    ```

    ## Good

    ```python whole
    import tensorrt as trt
    import torch

    def build(builder, network):
        config = builder.create_builder_config()  # ok
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)
        config.set_flag(trt.BuilderFlag.FP16)
        config.set_timing_cache(config.create_timing_cache(b""), False)
        return builder.build_serialized_network(network, config)  # ok
    ```

    ## References

    - <https://docs.nvidia.com/deeplearning/tensorrt/latest/api/migration-guide.html>
    - <https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/work-dynamic-shapes.html>
    """
    data = site.source.data
    if "tensorrt" not in _imported(site) or _ASKS.search(data):
        return
    if site.name in _REMOVED:
        if site.name.endswith("size") and not isinstance(getattr(site.target, "ctx", None), ast.Store):
            return
        what = site.name.strip(".()")
        yield site.finding(f"`{what}` is gone from TensorRT 10: it is {_REMOVED[site.name]}")
    elif site.name == ".create_builder_config()":
        if not _LOW.search(data):
            yield site.finding("no precision flag is set: every layer runs in float32", severity="info")
        elif b"timing_cache" not in data:
            yield site.finding("each build measures all kernels anew: no timing cache is set", severity="info")
    elif site.name == ".set_flag()":
        if site.call.args and site.text(site.call.args[0]).endswith(".INT8") and not _INT8.search(data):
            yield site.finding("INT8 without calibrator or quantised layers: the engine has no scales")
    elif _unknown_sizes(site.argument("shape", 2)) and b"optimization_profile" not in data:
        yield site.finding("an input of unknown size needs an optimization profile")


def _imported(site: Site) -> set[str]:
    return {origin.partition(".")[0] for f in (site.module.body, site.function) for origin in f.imports.values()}


def _unknown_sizes(shape: ast.expr | None) -> bool:
    return isinstance(shape, ast.Tuple | ast.List) and any(
        isinstance(size, ast.UnaryOp) and isinstance(size.op, ast.USub) and isinstance(size.operand, ast.Constant)
        for size in shape.elts
    )
