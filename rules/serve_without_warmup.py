from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import serving, syntax
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_WARM = regex(rb"warm|load_cache_artifacts|set_stance|aoti_load_package|AOTI", re.IGNORECASE)


@rule(
    "TLD05",
    shape=["torch.compile(...)", "torch.cuda.make_graphed_callables(...)"],
    set="preview",
    severity="info",
    torch=">=2.0",
    category="deployment",
)
def serve_without_warmup(site: Site) -> Iterator[Finding]:
    """A server compiles its model while the first request waits.

    ## What it does

    Finds `torch.compile` at the start of a program that answers requests (FastAPI, Flask, Gradio, Ray Serve, Triton
    Inference Server), where what it gives is called in no other place than a request handler, and nothing in the file
    speaks of warming up or of a compile cache.

    ## Why is this slow?

    `torch.compile` compiles at the first call, and again for a second shape: seconds to minutes, `max-autotune` longest.
    Load balancers take such a replica for dead.

    ## When it does not matter

    Where the first request may wait, where another file sends one before traffic comes, and where compiled artifacts are
    loaded (`torch.compiler.load_cache_artifacts`, AOTInductor).

    ## Bad

    ```python whole
    import torch
    from fastapi import FastAPI

    app = FastAPI()
    model = torch.compile(torch.nn.Linear(4, 4))  # TLD05

    @app.post("/predict")
    def predict(x: list[float]):
        return model(torch.tensor(x)).tolist()
    ```

    ## Good

    ```python whole
    import torch
    from fastapi import FastAPI

    app = FastAPI()
    model = torch.compile(torch.nn.Linear(4, 4))  # ok
    model(torch.zeros(4))

    @app.post("/predict")
    def predict(x: list[float]):
        return model(torch.tensor(x)).tolist()
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/torch.compiler_faq.html>
    - <https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html>
    """
    module = site.module
    if (
        site.role == "test"
        or not serving.serves(module)
        or site.source.holds(_WARM)
        or serving.is_handler(site.function)
    ):
        return
    target = syntax.target(site.flow, site.call) if isinstance(site.target, ast.expr) else None
    name = target.id if isinstance(target, ast.Name) else syntax.own_attribute(site.function, target)
    if name is None:
        return
    called = {function for function in module.functions for call in function.flow.calls if _named(call.func, name)}
    if called and all(
        serving.is_handler(function) or function.name in ("__call__", "predict", "generate", "infer")
        for function in called
    ):
        yield site.finding(f"`{name}` is compiled by the first request: call it once before the server starts")


def _named(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
