from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import serving, syntax
from torchlint.facts.nodes import given_to
from torchlint.rule import Finding, Site, rule

_LOADS = (
    "torch.load",
    "torch.jit.load",
    "torch.export.load",
    "torch._inductor.aoti_load_package",
    "torch.utils.cpp_extension.load",
    "torch.utils.cpp_extension.load_inline",
    "onnxruntime.InferenceSession",
)


@rule(
    "TLD03",
    shape=[*(f"{name}(...)" for name in _LOADS), "$x.from_pretrained(...)", "$x.deserialize_cuda_engine(...)"],
    fix="suggestion",
    impact="high",
    category="deployment",
)
def artifact_rebuilt_per_call(site: Site) -> Iterator[Finding]:
    """A model, session, engine or extension is loaded for each request or step.

    ## What it does

    Finds `torch.load`, `from_pretrained`, `onnxruntime.InferenceSession`, `deserialize_cuda_engine`,
    `cpp_extension.load`, `torch.export.load` and `aoti_load_package` in the training or evaluation loop and what it
    calls, in the `forward` of a module, and in request handlers: functions under a route of FastAPI,
    Flask and their like, or given to one (`app.add_url_rule("/", view_func=f)`),
    `execute` of a `TritonPythonModel`, and functions given to `gradio.Interface`.

    ## Why is this slow?

    It reads gigabytes, builds modules, moves them to the device and loses all that was compiled or captured for the last
    one: seconds, on each call.

    ## When it does not matter

    Where something else is loaded each time (a checkpoint or sample of the loop, an adapter that the request names), and
    behind a cache: `functools.cache`, `if model is None`, `if name not in models`. None of these is reported.

    ## Bad

    ```python whole
    import torch
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/predict")
    def predict(request: dict):
        model = torch.load("model.pt")  # TLD03
        return model(torch.tensor(request["x"])).tolist()
    ```

    ## Good

    ```python whole
    import torch
    from fastapi import FastAPI

    app = FastAPI()
    model = torch.load("model.pt")  # ok

    @app.post("/predict")
    def predict(request: dict):
        return model(torch.tensor(request["x"])).tolist()
    ```

    ## References

    - <https://fastapi.tiangolo.com/advanced/events/>
    - <https://docs.pytorch.org/docs/stable/generated/torch.load.html>
    """
    at_start = site.function is site.module.body and site.loop() is None
    if at_start or site.role == "test" or _cached(site) or _differs(site):
        return
    where = "" if site.rare else _where(site)
    if where:
        yield site.finding(f"`{site.short()}` loads the same thing {where}", related=site.why_hot())


def _where(site: Site) -> str:
    if serving.is_handler(site.function):
        return "for each request"
    if site.in_forward:
        return "on each call of the module"
    if site.hot is not None and (site.hot.loop is None or site.hot.function is not site.function or _in_body(site)):
        return "on every step"
    return "in each iteration" if site.warm is not None and _in_body(site) else ""


def _in_body(site: Site) -> bool:
    """Whether the place is repeated, and not what a loop runs over."""
    return site.loop() is not None


def _cached(site: Site) -> bool:
    scope = site.function
    if any("cache" in name for name in scope.decorator_names):
        return True
    # Any condition may be that of a cache, a fallback or a flag; those that are none are rare here.
    return any(site.flow.guards(site.target)) or site.flow.in_handler(site.target)


def _differs(site: Site) -> bool:
    """Whether what is loaded depends on the loop, the request, or what the function is given."""
    given = given_to(site.call)
    if isinstance(site.call.func, ast.Attribute) and site.name.startswith("."):
        given.append(site.call.func.value)
    if site.spread:
        return True
    changing = site.function.positions.keys() | set(site.flow.stores)
    names = {node.id for value in given for node in ast.walk(value) if isinstance(node, ast.Name)}
    own = any(
        syntax.own_attribute(site.function, node)
        for value in given
        for node in ast.walk(value)
        if isinstance(node, ast.expr)
    )
    return bool(names & changing - ({"self"} if own else set()))
