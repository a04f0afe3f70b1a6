"""Moves that go to the host, whatever a program is given."""

from __future__ import annotations

import ast

from ..facts.arguments import device_of
from ..facts.module import Function
from ..facts.nodes import argument_of, string
from ..system.regex import regex
from ..text.finders import fact_of_files
from ..text.source import Source
from .project import Project

_GLOBAL = regex(rb"(?m)\bglobal[ \t]+(\w[^\n;#]*)")
_NAME = regex(rb"\w+")


def goes_to_host(project: Project, function: Function, call: ast.Call) -> bool:
    """`x.to("cpu")`, `x.to(DEVICE)` behind `DEVICE = torch.device("cpu")`, which nothing binds to another device."""
    given = argument_of(call, "device", 0)
    return string(given) == "cpu" or names_host(project, function, given)


def names_host(project: Project, function: Function, node: ast.expr | None) -> bool:
    """`device` of `device = torch.device("cpu")`; `cpu_device` and a parameter, which a test may give, are none."""
    if not isinstance(node, ast.Name) or node.id in function.flow.parameters or not may_name_host(node.id):
        return False
    value = project.value(function, node)
    if value.kind not in ("device", "str") or value.other_kinds or device_of(value) != "cpu":
        return False
    return not _is_set_later(function, node.id)


def may_name_host(name: str) -> bool:
    """Whether a device of that name may be the CPU by chance: no `cpu_device`, and no `dtype`."""
    return "cpu" not in name.lower() and "dtype" not in name.lower()


def _is_set_later(function: Function, name: str) -> bool:
    """Whether a function of the file binds a name of the module: `global device`."""
    source = function.module.source
    return source.holds(b"global ") and name in source.fact("global names", _global_names)


@fact_of_files("global names")
def _global_names(source: Source) -> list[str]:
    return sorted({name.decode() for found in _GLOBAL.finditer(source.data) for name in _NAME.findall(found[1])})
