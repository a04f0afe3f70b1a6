"""Where a file calls something by a name, or gives it to a process or thread to run."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from ..facts import names, syntax
from ..facts.module import Function, Module
from ..facts.nearby import calls_on
from ..facts.nodes import string
from .texts import STARTS

PASSES_MESSAGES = frozenset(("message", "aggregate", "message_and_aggregate", "update", "edge_update"))
"""Methods that `propagate` of PyTorch Geometric calls."""
OF_ENDS = ("_i", "_j")
"""What PyTorch Geometric puts behind the name of what it hands on of each edge's ends."""
_STARTERS = frozenset(
    ("Process", "Thread", "spawn", "start_processes", "elastic_launch", "submit", "notebook_launcher")
)


class CallSite(NamedTuple):
    """A call of a function, and the function it stands in.

    `given` holds the arguments where the call passes them on: `Process(target=train, args=(a, b))`.
    """

    function: Function
    call: ast.Call
    given: ast.Call | None = None


def is_either(one: CallSite, other: CallSite) -> bool:
    """Whether a function runs one of two calls: they stand in two branches, or one call chooses what it runs, `{"a": a, "b": b}[name]()`."""
    flow = one.function.flow
    if one.function is not other.function or flow.loops(one.call):
        return False
    return one.call is other.call or syntax.exclusive(flow, one.call, other.call)


def called_name(function: Function) -> str:
    """What a call of the function names: a constructor is called by the name of its class."""
    return function.cls.name if function.name == "__init__" and function.cls is not None else function.name


def calls_named(module: Module, name: str) -> Iterable[tuple[Function, ast.Call]]:
    """The calls of anything of that last name, without walking functions that do not mention it."""
    return calls_on(module, module.lines_calling(name), name)


def aliases(module: Module, name: str) -> list[str]:
    """A name, and what else the imports of a module call something of that name."""
    return [name, *(alias for alias in module.aliases.get(name, ()) if alias != name)]


def calls_imported(module: Module, name: str) -> Iterable[tuple[Function, ast.Call]]:
    """The calls of anything of that last name, or of what the imports of a module call something of it."""
    return (one for alias in aliases(module, name) for one in calls_named(module, alias))


def started(module: Module, name: str) -> Iterable[tuple[Function, ast.Call, ast.Call]]:
    """Where a function is given to a process or thread to run: the call, and one that stands for what will be called."""
    for function in module.functions_at(module.lines_holding(name)) if module.source.holds(STARTS) else ():
        for call in function.flow.calls:
            last = names.last(call.func)
            if last not in _STARTERS:
                continue
            keywords = {k.arg: k.value for k in call.keywords}
            target = keywords.get("target") or keywords.get("fn") or (call.args[0] if call.args else None)
            if not isinstance(target, ast.Name) or target.id != name:
                continue
            given = keywords.get("args") or (call.args[1] if len(call.args) > 1 else None)
            arguments = list(given.elts) if isinstance(given, ast.Tuple | ast.List) else []
            if last in ("spawn", "start_processes"):
                arguments.insert(0, ast.Constant(0))  # the process index
            yield (
                function,
                call,
                ast.copy_location(ast.Call(target, arguments, _keywords(keywords.get("kwargs"))), call),
            )


def passes_messages(method: Function) -> bool:
    """Whether PyTorch Geometric calls a method for each layer of a graph: `message` of a `MessagePassing`."""
    bases = method.cls.bases if method.cls is not None and method.name in PASSES_MESSAGES else ()
    return any(names.last(base) == "MessagePassing" for base in bases)


def propagating(method: Function) -> Iterable[tuple[Function, ast.Call, ast.Call]]:
    """Where a class of PyTorch Geometric lets messages pass: `self.propagate(edges, x=x)` calls `message(self, x_i, x_j)`."""
    klass = method.cls
    if klass is None or not passes_messages(method):
        return
    for caller in klass.methods.values():
        for call in caller.flow.calls_named("propagate"):
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            parts = [
                (part.arg, part.arg[:-2] if part.arg.endswith(OF_ENDS) else part.arg) for part in method.parameters
            ]
            given = [ast.keyword(name, keywords[whole]) for name, whole in parts if whole in keywords]
            yield caller, call, ast.copy_location(ast.Call(call.func, [], given), call)


def _keywords(node: ast.expr | None) -> list[ast.keyword]:
    """The keywords that `{"a": 1}` or `dict(a=1)` stands for behind `**`."""
    if isinstance(node, ast.Dict):
        named = ((string(key), value) for key, value in zip(node.keys, node.values, strict=True))
        return [ast.keyword(name, value) for name, value in named if name is not None]
    return node.keywords if isinstance(node, ast.Call) else []
