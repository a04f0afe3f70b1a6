"""Which functions of a program answer requests, and whether it serves at all."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import names
from .module import Function, Module

_VERBS = frozenset(("get", "post", "put", "patch", "delete", "route", "api_route", "websocket", "on_event_request"))
_FRAMEWORKS = frozenset(
    ("fastapi", "flask", "starlette", "sanic", "quart", "aiohttp", "litserve", "bottle", "falcon", "robyn", "litestar")
)
_SERVER = regex(
    rb"uvicorn\.run|\.run\(|FastAPI\(|Flask\(|\.launch\(|serve_forever|TritonPythonModel|litserve|@serve\.deployment|app\.router"
)
_BASES = frozenset(("TritonPythonModel",))


def is_handler(function: Function) -> bool:
    """Whether a web framework, Triton Inference Server or Gradio calls the function for each request."""
    module = function.module
    if function.cls is not None:
        return function.cls.name in _BASES and function.name == "execute"
    if _imports(module, _FRAMEWORKS) and any(_route(decorator) for decorator in function.decorators):
        return True
    return _imports(module, frozenset(("gradio",))) and _given_to_gradio(function)


def serves(module: Module) -> bool:
    """Whether the file starts a server or answers requests."""
    if not _imports(module, _FRAMEWORKS | {"gradio", "uvicorn", "triton_python_backend_utils", "ray"}):
        return False
    return module.source.holds(_SERVER)


def _imports(module: Module, wanted: frozenset[str]) -> bool:
    origins = [*module.imports.values(), *(origin for f in module.functions for origin in f.imports.values())]
    return any(origin.partition(".")[0] in wanted for origin in origins)


def _route(decorator: ast.expr) -> bool:
    """`@app.post("/predict")`."""
    return (
        isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute) and decorator.func.attr in _VERBS
    )


def _given_to_gradio(function: Function) -> bool:
    for other in function.module.functions:
        for load in other.flow.loads.get(function.name, ()):
            call = other.flow.argument_of(load)
            if isinstance(call, ast.Call) and (names.resolve(other, call.func) or "").startswith("gradio."):
                return True
    return False
