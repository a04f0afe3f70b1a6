from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import names
from torchlint.facts.nodes import is_constant
from torchlint.facts.told import Export
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_SHAPES = ("dynamic_shapes", "dynamic_axes")
_POSITIONAL = 8
"""With so many arguments by position, the axes may be one of them."""


_PROGRAM = regex(r"exported|program", re.IGNORECASE)
"""A name for what `torch.export` gave, which fixed the shapes or not."""


@rule("TLD02", shape="torch.onnx.export(...)", set="preview", severity="info", fix="suggestion", category="deployment")
def onnx_export_config(site: Site) -> Iterator[Finding]:
    """An ONNX export fixes the batch size, or exports a model in training mode.

    ## What it does

    Finds `torch.onnx.export` without `dynamic_shapes` and `dynamic_axes`, and with a model for which no `eval()` is called
    in the file.

    ## Why is this slow?

    A graph of fixed shapes serves one batch size: servers pad or split each request, or keep one engine for each size. And
    what is exported in training mode holds dropout, and batch norm that is not folded into convolutions; the exporter
    keeps the mode that it finds.

    ## When it does not matter

    For a device that is always given one shape, where fixed shapes even make the better engine. Where the shapes are an
    option of the program, or hidden behind `**`, nothing is reported, nor where what is written is an exported program. Whether the results of the exported graph were
    compared can't be seen; `verify=True` of the exporter does it.

    ## Bad

    ```python
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1))
    torch.onnx.export(model, (torch.randn(1, 4),), "model.onnx")  # TLD02
    ```

    ## Good

    ```python
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1)).eval()
    batch = torch.export.Dim("batch")
    torch.onnx.export(model, (torch.randn(2, 4),), "model.onnx", dynamic_shapes=({0: batch},))  # ok
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/onnx.html>
    - <https://docs.pytorch.org/docs/stable/export.html#torch.export.Dim>
    """
    model = site.argument("model", 0)
    if site.spread or site.role == "test" or (model is not None and _PROGRAM.search(names.last(model))):
        return
    name = site.short(model) if model is not None else "the model"
    fixed = all(_unset(site.argument(shapes)) for shapes in _SHAPES) and len(site.call.args) < _POSITIONAL
    export = Export(fixed, _training(site))
    if export.fixed and export.training:
        message = f"this export fixes all shapes, the batch size too, and `{name}` may be in training mode"
        yield site.finding(message, told=export)
    elif export.fixed:
        yield site.finding(f"this export of `{name}` fixes all shapes, the batch size too", told=export)
    elif export.training:
        yield site.finding(f"`{name}` may be in training mode when it is exported", told=export)


def _unset(argument: ast.expr | None) -> bool:
    return argument is None or is_constant(argument, None)


def _training(site: Site) -> bool:
    """Whether nothing in the file puts a model into evaluation mode, nor hides where it comes from."""
    model = site.argument("model", 0)
    if model is None or site.value(model).kind != "module" or site.argument("training") is not None:
        return False
    value = site.value(model)
    made_here = value.made_by is not None and value.made_in is site.module
    return made_here and not re.search(
        rb"\.eval\(|\.train\(|from_pretrained|load_model|export\.export", site.source.data
    )
