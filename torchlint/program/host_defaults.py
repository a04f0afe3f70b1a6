"""Scripts that run on the host, since nobody gives their functions another device than the one they have by default."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts import names
from ..facts.module import Function, Module
from ..facts.nodes import given_to, keyword_of, spreads, string
from ..system.regex import regex
from ..text.finders import fact_of_files
from ..text.source import Source
from .handed import ASKS_OF_CLASSES

_BY_DEFAULT = regex(rb"\bdevice\b[^\n=,()]{0,199}=[ \t]*[\"']cpu[\"']")
"""`device="cpu"`, `device: str = "cpu"`"""
_ASKED = regex(rb"(?<!torch)\.device\b|[\"'](?:--)?device[\"']")
"""A device that something has, or that somebody chooses."""


@fact_of_files("may be of host")
def may_be_of_host(source: Source) -> bool:
    """Whether a script has a parameter for a device that is the host by default, and asks for none elsewhere."""
    data = source.data
    return b"cpu" in data and b"__main__" in data and bool(_BY_DEFAULT.search(data)) and not _ASKED.search(data)


def is_of_host(module: Module) -> bool:
    """Whether all that a script says of a device is a parameter, `def load(path, device="cpu")`, for which its calls give nothing."""
    if not module.source.fact("may be of host", may_be_of_host):
        return False
    takers = [one for one in module.functions if string(one.defaults.get("device")) == "cpu"]
    others = [one for one in module.functions if one not in takers]
    calls = list(_calls_of(module, takers))
    return (
        bool(calls)
        and not any(_says_more(one) for one in others)
        and not any("device" in one.flow.stores for one in takers)
        and all(not spreads(call) and taker.argument(call, "device") is None for taker, call in calls)
        and not any(one.is_replaced or _is_handed_on(module, one) for one in takers)
    )


def _calls_of(module: Module, takers: list[Function]) -> Iterator[tuple[Function, ast.Call]]:
    """The calls in a file of some of its functions, by their names."""
    for function in module.functions:
        for taker in takers:
            yield from ((taker, call) for call in function.flow.calls_named(_called(taker)))


def _called(function: Function) -> str:
    """What a function is called by: a constructor by its class."""
    return function.cls.name if function.cls is not None and function.name == "__init__" else function.name


def _is_handed_on(module: Module, taker: Function) -> bool:
    """Whether a function is read anywhere but as what is called: `fire.Fire(train)`, `f = train`; nobody knows what calls it there give."""
    name = _called(taker)
    return any(
        not _is_known(function.flow.parents.get(node), node)
        for function in module.functions
        for node in _reads(function, name, is_method=taker.cls is not None)
    )


def _reads(function: Function, name: str, *, is_method: bool) -> Iterator[ast.expr]:
    yield from function.flow.loads.get(name, ())
    if is_method:
        yield from (one for one in function.flow.nodes if isinstance(one, ast.Attribute) and one.attr == name)


def _is_known(parent: ast.AST | None, node: ast.expr) -> bool:
    """Whether a function or class is only called there, asked for something that it has, or what things are compared with."""
    if isinstance(parent, ast.Call):
        return parent.func is node or names.last(parent.func) in ASKS_OF_CLASSES
    return isinstance(parent, ast.Attribute | ast.arg) or (
        isinstance(parent, ast.AnnAssign) and parent.annotation is node
    )


def _says_more(function: Function) -> bool:
    """Whether a function that is given no device by default reads or gives one, or moves something."""
    flow = function.flow
    moves = any(given_to(call) for call in flow.calls_named("to"))
    named = "device" in flow.loads or "device" in flow.stores or "device" in flow.parameters
    return named or moves or any(keyword_of(call, "device") is not None for call in flow.calls)
