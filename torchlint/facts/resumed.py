"""Places that go on where an earlier run ended."""

from __future__ import annotations

import ast

from .module import Function


def is_resumed(function: Function, node: ast.expr) -> bool:
    """Whether a place brings something to where a checkpoint says: once, behind `load_state_dict()` of something else."""
    if function.flow.loops(node):
        return False
    return any(call.lineno <= node.lineno for call in function.flow.calls_named("load_state_dict"))
