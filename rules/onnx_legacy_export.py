from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.nodes import is_constant
from torchlint.rule import Finding, Site, rule

_IGNORED = tuple(
    "training operator_export_type do_constant_folding custom_opsets export_modules_as_functions autograd_inlining".split()
)


@rule("TL912", shape="torch.onnx.export(...)", severity="info", torch=">=2.9", category="migration")
def onnx_legacy_export(site: Site) -> Iterator[Finding]:
    """`torch.onnx.export` with the arguments of the old exporter.

    ## What it does

    Finds in calls of `torch.onnx.export` the arguments that only the TorchScript-based exporter knows: `dynamic_axes`
    without `dynamo=False`, and `training`, `operator_export_type`, `do_constant_folding` and others, which the new one
    ignores; and `dynamo=False` itself.

    ## Why is this slow?

    Since torch 2.9 the exporter goes through `torch.export`, gives smaller and better optimised graphs, and is the only one
    that is worked on.
    `dynamic_axes` is deprecated in favour of `dynamic_shapes`; what is ignored misleads its reader.

    ## When it does not matter

    In a project that still exports by torch before 2.9, or whose operators only the old exporter has.

    ## Bad

    ```python torch>=2.9
    torch.onnx.export(model, (x,), "model.onnx", dynamic_axes={"x": {0: "batch"}})  # TL912
    ```

    ## Good

    ```python torch>=2.9
    batch = torch.export.Dim("batch")
    torch.onnx.export(model, (x,), "model.onnx", dynamic_shapes=({0: batch},))  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/onnx.html
    """
    if site.torch is None or site.torch.low < (2, 9):
        return
    given = {keyword.arg: keyword for keyword in site.call.keywords}
    dynamo = given.get("dynamo")
    if dynamo is not None and not is_constant(dynamo.value, True):
        if isinstance(dynamo.value, ast.Constant):
            yield site.finding("`dynamo=False` takes the TorchScript-based exporter, which is deprecated", at=dynamo)
        return
    axes = given.get("dynamic_axes")
    if axes is not None and not is_constant(axes.value, None):
        yield site.finding("`dynamic_axes` belongs to the old exporter; give `dynamic_shapes` to this one", at=axes)
    for name in _IGNORED:
        if name in given:
            yield site.finding(
                f"`{name}` has no effect since torch 2.9, whose exporter does not know it", at=given[name]
            )
