"""Functions of an application that nothing of it calls: what its scripts took over with a file, and left."""

from __future__ import annotations

import ast

from ..facts.module import Function
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from .project import Project

_AT_RUN_TIME = regex(rb"\bglobals\(\)|\beval\(|\bexec\(|\b__dict__\b|\bvars\(")
"""How a file may call its own functions by names that are made as it runs."""


def is_unused(project: Project, function: Function) -> bool:
    """Whether a place stands in a function that no file of an application names, its own included.

    Others have to import the file, or nobody can tell what it is for; what a library has is for those who install it.
    """
    top = function
    while top.parent is not None and top.parent is not top.module.body:
        top = top.parent
    if top is top.module.body or top.cls is not None or top.decorators or top.name in ("main", "setup"):
        return False
    return _is_unused(project, top)


@question("unused", False)
def _is_unused(project: Project, function: Function) -> bool:
    module, word = function.module, as_bytes(function.name)
    if module.source.holds(_AT_RUN_TIME) or not project.importers(module.path):
        return False
    if project.named_by(module, function.name):  # before all texts are searched for the name
        return False
    if project.holders(rb"\b%s\b" % word, word=word) != {module.path} or not _is_application(project):
        return False
    looked_up = rb"getattr\(\s*(?:\w+\.)*%s\b" % as_bytes(module.name.rpartition(".")[2])
    return not project.any_holds(looked_up, word=b"getattr(") and not _is_named(module.whole_tree(), function)


def _is_named(tree: ast.Module, function: Function) -> bool:
    """Whether the file of a function has its name anywhere but where it is defined and where it is handed to `import *`."""
    name = function.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and name in (getattr(node, "id", ""), getattr(node, "attr", "")):
            return True
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name and node is not function.node:
            return True
    return False


@question("application", False)
def _is_application(project: Project) -> bool:
    """Whether a project is a program and no library: scripts stand at its top, and it is not installed."""
    places = {project.home(path) for path in project.paths}
    scripts = (place for place in places if "/" not in place and place.endswith(".py"))
    return "setup.py" not in places and any(project.any_holds(rb"\btorch\b", script) for script in scripts)
