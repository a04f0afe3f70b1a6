"""Which functions of a program answer requests, and whether it serves at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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
_ADDS = frozenset(
    ("add_url_rule", "add_api_route", "add_route", "add_get", "add_post", "add_put", "add_websocket_route")
)
"""What an application is told a handler by that has no decorator: `app.add_url_rule("/tags", view_func=tags)`."""
_ROUTES = frozenset(("starlette.routing.Route", "fastapi.routing.APIRoute", "aiohttp.web.get", "aiohttp.web.post"))
_BASES = frozenset(("TritonPythonModel",))


def is_handler(function: Function) -> bool:
    """Whether a web framework, Triton Inference Server or Gradio calls the function for each request."""
    module = function.module
    if function.cls is not None:
        return function.cls.name in _BASES and function.name == "execute"
    if _imports(module, _FRAMEWORKS) and (
        any(map(_route, function.decorators)) or any(_adds(other, call) for other, call in _taken(function))
    ):
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


def _adds(other: Function, call: ast.Call) -> bool:
    """`app.add_url_rule("/tags", "tags", tags)`, `Route("/tags", tags)`"""
    added = isinstance(call.func, ast.Attribute) and call.func.attr in _ADDS
    return added or names.resolve(other, call.func) in _ROUTES


def _given_to_gradio(function: Function) -> bool:
    return any((names.resolve(other, call.func) or "").startswith("gradio.") for other, call in _taken(function))


def _taken(function: Function) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of a function's file that are given it, each with the function that it stands in."""
    for other in function.module.functions:
        for load in other.flow.loads.get(function.name, ()):
            call = other.flow.argument_of(load)
            if isinstance(call, ast.Call):
                yield other, call
