from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import syntax
from torchlint.rule import Finding, Site, rule

_NAMES = [
    "script",
    "trace",
    "trace_module",
    "freeze",
    "optimize_for_inference",
    "save",
    "load",
    "fork",
    "wait",
    "interface",
]


@rule(
    "TL904",
    on={f"torch.jit.{name}" for name in _NAMES},
    severity="info",
    torch=">=2.5",
    category="migration",
    confirmed_by=("warning:DeprecationWarning",),
)
def torchscript_deprecated(site: Site) -> Iterator[Finding]:
    """TorchScript, which torch has given up.

    ## What it does

    Finds calls and decorators of `torch.jit`: `script`, `trace`, `freeze`, `optimize_for_inference`, `save`, `load`, `fork`,
    `wait` and `interface`.

    ## Why is this slow?

    TorchScript gets no new optimisations, each of these names raises a `DeprecationWarning` on recent torch, and it does
    not work on Python 3.14.
    For `torch.compile` a scripted module is opaque: the graph breaks at each call of it.

    ## When it does not matter

    Where a model goes to C++ or to a phone through TorchScript, until `torch.export` can take over there.
    Annotations that only matter if somebody scripts the code (`torch.jit.ignore`, `export`, `unused`, `is_scripting`)
    are not reported, nor are tests.

    ## Bad

    ```python
    model = torch.jit.script(model)  # TL904
    model = torch.jit.optimize_for_inference(model)  # TL904
    ```

    ## Good

    ```python
    program = torch.export.export(model, (x,))  # ok
    model = torch.compile(model)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/jit.html
    - https://github.com/pytorch/pytorch/issues/167910
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb4695.html
    """
    target = site.target
    assert isinstance(target, ast.expr)
    parent = site.flow.parents.get(target)
    call = syntax.called(site.flow, target)
    decorates = isinstance(parent, ast.FunctionDef | ast.ClassDef) and target in parent.decorator_list
    if site.role == "test" or site.shim or (call is None and not decorates):
        return
    instead = "`torch.export`" if site.name.endswith((".save", ".load")) else "`torch.compile` or `torch.export`"
    yield site.finding(f"`{site.text()}` is deprecated and gets no new optimisations; use {instead}", at=call or target)
