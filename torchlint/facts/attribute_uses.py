"""Where a project names an attribute, of whatever object."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..system.stamp import as_bytes
from .module import Function, Module
from .nearby import nodes_on
from .place import Place

_FEW_FILES = 30
"""So many files may name an attribute that is looked for in all of them."""
_ATTRIBUTES: frozenset[type[ast.AST]] = frozenset((ast.Attribute,))


def naming(place: Place, attribute: str) -> list[Module]:
    """The files that name an attribute, of whatever object; nothing where these are many."""
    paths = place.project.holders(rb"\.%s\b" % as_bytes(attribute), word=as_bytes(f".{attribute}"))
    return list(filter(None, map(place.project.module, sorted(paths)))) if len(paths) <= _FEW_FILES else []


def uses_of(module: Module, attribute: str) -> Iterator[tuple[Function, ast.Attribute]]:
    """Where a file names an attribute, of whatever object."""
    for function, lines in module.functions_at(module.lines_holding(attribute)).items():
        for node, _ in nodes_on(function, lines, _ATTRIBUTES):
            if isinstance(node, ast.Attribute) and node.attr == attribute:
                yield function, node
