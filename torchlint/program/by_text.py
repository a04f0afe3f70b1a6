"""What a call runs whose function is found by a text that the program makes as it runs.

`getattr(self, f"loss_{name}")(x)`, `getattr(tasks, f"loss_{name}")(x)`, `eval(name)(x, y)`, `globals()[name](x, y)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Protocol

from ..facts.module import Class, Function, Module
from ..facts.nodes import ends_of_text, names_in, string
from ..facts.uses import assigned
from ..facts.values import Value
from ..query.question import Asking, question
from .calling import CallSite
from .texts import MAX_SITES

WITH_GAP = rb"getattr\([^\n]{1,80}(?:\bf[\"']|[\"'][ \t]*\+|\+[ \t]*[\"'])"
"""How a method is looked up by a part of its name: `getattr(callback, f"on_{event}")`."""
_FINDS = ("getattr", "eval", "globals")
_LEAST = 2
"""How many arguments, one of them by its name, tell which functions of a file may be meant."""


class Code(Asking, Protocol):
    """What is asked of the project."""

    def ancestry(self, klass: Class) -> Iterator[Class]: ...
    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]: ...
    def call_sites(self, function: Function, most: int = ...) -> list[CallSite] | None: ...
    def module_for_name(self, path: str, name: str) -> Module | None: ...
    def named_by(self, module: Module, name: str) -> list[str]: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...


def run_by(code: Code, function: Function, call: ast.Call) -> list[Function]:
    """The methods of an object, or the functions of the same file, that the text may name and that take what the call gives."""
    looked = assigned(function, call.func) if isinstance(call.func, ast.Name) else call.func
    match looked:
        case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name() | ast.Attribute() as owner, text, *_]):
            ends = ends_of_text(text, string)
            is_own = isinstance(owner, ast.Name) and owner.id == function.own_name
            known = ends is not None and (is_own or not _is_told(code, function, text))
            klass = _class_of(code, function, owner) if known else None
            if klass is None or ends is None:
                return []
            methods = (method for one in code.ancestry(klass) for method in one.methods.values())
            nearest = {method.name: method for method in reversed([*methods]) if fits(method.name, ends)}
            return [*_taking(nearest.values(), call)]
        case (
            ast.Call(func=ast.Name(id="eval"), args=[ast.Name() | ast.Attribute() | ast.Subscript()], keywords=[])
            | ast.Subscript(value=ast.Call(func=ast.Name(id="globals"), args=[], keywords=[]))
        ) if len(call.args) >= _LEAST:
            return [one for one in _taking(function.module.top_functions.values(), call) if _calls_alike(one, call)]
    return []


def _is_told(code: Code, function: Function, text: ast.expr) -> bool:
    """Whether a call gives a word for what the text is made of: `bus.fire("step_done", loss)` of `f"when_{event}"`, which `dispatch` follows."""
    asked = names_in(text) & {*function.positions}
    sites = code.call_sites(function, MAX_SITES) or () if asked else ()
    given = (function.argument(site.given or site.call, name) for site in sites for name in asked)
    return any(string(one) is not None for one in given)


def _class_of(code: Code, function: Function, owner: ast.expr) -> Class | None:
    """The class of the object that is asked: that of the method, or what is known of another one."""
    if isinstance(owner, ast.Name) and owner.id == function.own_name:
        return function.cls
    value = code.value(function, owner)
    return value.class_ if value.kind in ("instance", "module") and value.proven else None


def calls(code: Code, function: Function) -> list[CallSite]:
    """The calls that find a method by a text in its class, or of an object of it, or a function in its file."""
    found = [*_found(code, function.module).get(function, ())]
    if function.cls is not None:
        found = [one for one in found if one.function.cls is function.cls or one.function.cls is None]
        looking = code.holders(WITH_GAP, word=b"getattr")
        for path in code.named_by(function.module, function.cls.name) if looking else ():
            if path not in looking:
                continue
            module = code.module_for_name(path, "getattr")
            found += _found(code, module).get(function, ()) if module is not None else ()
    return [site for site in found if site.function is not function]


@question("calls by text", {})
def _found(code: Code, module: Module) -> dict[Function, list[CallSite]]:
    """The calls of a file that find a function by a text, by what they run."""
    sites: dict[Function, list[CallSite]] = {}
    for caller in module.functions if _finds(module) else ():
        # `eval(...)`, not `model.eval()`
        if any(isinstance(found.func, ast.Name) for name in _FINDS for found in caller.flow.calls_named(name)):
            for call in caller.flow.calls:
                for one in run_by(code, caller, call):
                    sites.setdefault(one, []).append(CallSite(caller, call))
    return sites


def _finds(module: Module) -> bool:
    """Whether a file finds anything by a text."""
    return any(module.source.holds(f"{name}(".encode()) for name in _FINDS)


def fits(name: str, ends: tuple[str, str]) -> bool:
    """Whether a name begins and ends as a text with a gap does."""
    first, last = ends
    return len(name) > len(first + last) and name.startswith(first) and name.endswith(last)


def _taking(functions: Iterable[Function], call: ast.Call) -> Iterator[Function]:
    """Those that take the arguments of a call by position, and need no others."""
    return (one for one in functions if one.takes(call) and len(one.positions) - one.is_method >= len(call.args))


def _calls_alike(function: Function, call: ast.Call) -> bool:
    """Whether a parameter is called like what the call gives for it: `eval(name)(output, target)`, `def accuracy(output, labels)`."""
    return any(
        isinstance(given, ast.Name) and function.positions.get(given.id) == at for at, given in enumerate(call.args)
    )
