"""Reads of a module's names that no expression shows: by `eval`, in a doctest, through a module that a text names."""

from __future__ import annotations

import ast
import re

from . import names
from .nodes import string

_AT_RUN_TIME = frozenset(("eval", "exec", "globals", "locals"))


def reads_any(node: ast.AST) -> bool:
    """Whether a node may read names that no expression does: `eval`, `globals`; `vars()` and `dir()`, of nothing; `sys.modules`; `import __main__`."""
    match node:
        case ast.Call(func=ast.Name(id="vars" | "dir"), args=[], keywords=[]):
            return True
        case ast.Name(id=name, ctx=ast.Load()):
            return name in _AT_RUN_TIME
        case ast.Attribute(attr="modules"):
            return names.chain(node) == ["sys", "modules"]
        case ast.Import(names=imported):
            return any(alias.name == "__main__" for alias in imported)
    return False


def is_doctest(text: str) -> bool:
    """Whether a text may hold examples, which run in its module."""
    return ">>>" in text


def may_be_called_unseen(tree: ast.AST, name: str) -> bool:
    """Whether code that is written as a text may call something of a module."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(
        is_doctest(text) and word.search(text) is not None if (text := string(node)) is not None else reads_any(node)
        for node in ast.walk(tree)
    )
