"""Which reads of a name may see what one assignment gave it: def-use chains over the bindings of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import bindings
from .nodes import root_of

if TYPE_CHECKING:
    from .module import Function


def readers(function: Function, name: str, value: ast.expr) -> Iterator[ast.Name]:
    """The reads of a name in a function that may find the value of `name = value`; what is not known counts."""
    for read in function.flow.loads.get(name, ()):
        if _may_find(function, read, value):
            yield read


def _may_find(function: Function, read: ast.Name, value: ast.expr) -> bool:
    """Whether a read may find a value, through joined paths and what changes an object in place."""
    seen: set[bindings.Binding] = set()
    todo: list[bindings.Binding | None] = [function.bindings.reach.get(read)]
    while todo:
        binding = todo.pop()
        if binding is None:
            return True
        if binding in seen:
            continue
        seen.add(binding)
        match binding:
            case bindings.Assigned():
                if binding.node is value:
                    return True
            case bindings.Joined():
                todo += [binding.one, binding.other]
            case bindings.Part():
                todo.append(binding.whole)
            case bindings.Augmented() | bindings.Narrowed():
                todo.append(binding.before)
            case bindings.Changed() | bindings.Stored():
                root = root_of(binding.node)
                todo.append(binding.reach.get(root) if root is not None else None)
            case bindings.Starred():
                todo.append(binding.each)
            case bindings.Iterated() | bindings.Defined() | bindings.Parameter() | bindings.Around() | bindings.Rest():
                pass
            case _:
                return True
    return False
