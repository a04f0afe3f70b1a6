"""Functions that Ray runs on the host: in a task or an actor that asks for no GPU, where none can be seen."""

from __future__ import annotations

import ast
import re

from ..facts.module import Function
from ..facts.names import chain
from ..query.question import question
from ..system.regex import regex
from .project import Project

_REMOTE = "ray.remote"
_DEALS_IN_GPUS = regex(rb"(?i)cuda|num_gpus")


def uses_ray(project: Project) -> bool:
    """Whether any file says `ray.remote`."""
    return project.any_holds(rb"\bray\.remote\b", word=b"ray.remote")


@question("on Ray's host", False)
def is_on_ray_host(project: Project, function: Function) -> bool:
    """Whether a function, or its class, is `@ray.remote` without a GPU, or only such functions call it, and it names no GPU itself.

    Such a driver of workers gets their tensors in its own memory.
    """
    if function.says(_DEALS_IN_GPUS):
        return False
    asked = _gpus_asked(project, function)
    if asked is not None:
        return not asked
    sites = project.own_sites(function)
    return bool(sites) and all(is_on_ray_host(project, site.function) for site in sites)


def _gpus_asked(project: Project, function: Function) -> bool | None:
    """Whether a function that Ray runs by itself, or its actor, may be given a GPU; None for what Ray does not run."""
    owner = function.cls
    decorators = [*function.decorators, *(owner.decorators if owner is not None else ())]
    for decorator in decorators:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ".".join(chain(called) or ()) == _REMOTE or project.resolve(function.module.body, called) == _REMOTE:
            given = decorator.keywords if isinstance(decorator, ast.Call) else []
            asks = any(one.arg is None or (one.arg == "num_gpus" and not _is_none(one.value)) for one in given)
            return asks or _is_given_some(project, owner.name if owner is not None else function.name)
    return None


def _is_none(asked: ast.expr) -> bool:
    """`num_gpus=0`"""
    return isinstance(asked, ast.Constant) and asked.value == 0


def _is_given_some(project: Project, name: str) -> bool:
    """`Actor.options(num_gpus=1).remote()`"""
    word = name.encode()
    return project.any_holds(rb"\b%s\.options\([^()]*(?:\([^()]*\)[^()]*)*num_gpus" % re.escape(word), word=word)
