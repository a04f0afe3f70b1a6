"""Hooks: functions that modules call whenever they run, and tensors whenever they get a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from ..facts import names
from ..facts.flow import Loop, contains
from ..facts.module import Class, Function, Module
from ..facts.nodes import argument_of, bound_names, names_in, receiver_of, root_of
from ..facts.values import LIKELY_TENSOR, TENSOR, UNKNOWN, Tuple, Value
from ..query.question import Asking, question
from ..system.regex import regex
from .calling import CallSite, calls_named

_GIVEN: Mapping[str, Mapping[int, Value]] = {
    "register_forward_hook": {1: Tuple(element=LIKELY_TENSOR), 2: LIKELY_TENSOR},
    "register_forward_pre_hook": {1: Tuple(element=LIKELY_TENSOR)},
    "register_full_backward_hook": {1: Tuple(element=TENSOR), 2: Tuple(element=TENSOR)},
    "register_full_backward_pre_hook": {1: Tuple(element=TENSOR)},
    "register_backward_hook": {1: Tuple(element=TENSOR), 2: Tuple(element=TENSOR)},
    "register_hook": {0: TENSOR},
}
"""What registers hooks, with what these are given, by position."""
_REGISTERS = rb"\.register_(?:forward_|forward_pre_|full_backward_|full_backward_pre_|backward_)?hook\("
_PATTERN = regex(_REGISTERS)
_MOST_CALLERS = 8


class Code(Asking, Protocol):
    """What is asked of the project."""

    def any_holds(self, pattern: bytes, under: str = "", *, word: bytes = b"") -> bool: ...
    def definers(self, name: str) -> list[str]: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def own_sites(self, function: Function) -> list[CallSite]: ...
    def run_by(self, value: Value) -> list[Function]: ...
    def targets(self, function: Function, call: ast.Call) -> list[Function]: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...


class Registered(NamedTuple):
    """A hook, the call that registers it, in its function, and how many of the hook's parameters `partial` gives."""

    hook: Function
    call: ast.Call
    given: int
    function: Function


def run_with(code: Code, function: Function, loop: Loop | None) -> list[Function]:
    """The hooks that run on each step which a loop of a function, or the function itself, takes.

    What the object registers as it is made, what the function registers on what the loop uses, or what it calls for that in
    front of the loop, and, for what it is itself given, its callers.
    """
    if not code.any_holds(_REGISTERS, word=b".register_"):
        return []
    found: dict[Function, None] = {}
    klass = function.cls
    init = code.method(klass, "__init__") if klass is not None and function.name != "__init__" else None
    if init is not None:
        found.update(_by_calls(code, init, init.flow.calls, frozenset((init.own_name,))))
    if loop is not None:
        calls = [call for call in function.flow.calls if loop not in function.flow.loops(call)]
        found.update(_by_calls(code, function, calls, _read_in(code, function, loop), loop))
        sites = code.own_sites(function)
        for site in sites if len(sites) <= _MOST_CALLERS and klass is None else ():
            passed = frozenset[str]().union(*map(names_in, (site.given or site.call).args))
            others = [call for call in site.function.flow.calls if call is not site.call]
            found.update(_by_calls(code, site.function, others, passed))
    return [one for one in found if one is not function]


def loops_running(code: Code, hook: Function) -> Iterator[tuple[Function, Loop]]:
    """The loops that run a hook of modules: those behind the call that registers it, in its function, on what they use."""
    one = _hooks_of(code, hook.module).get(hook) if hook.module.source.holds(_PATTERN) else None
    if (
        one is None
        or not names.last(one.call.func).startswith("register_forward")
        or not _stays(one.function, one.call)
    ):
        return
    function, since = one.function, one.call.end_lineno or one.call.lineno
    used = _roots(function, [receiver_of(one.call)])
    for loop in function.own_loops:
        behind = loop.lineno > since >= _last_removed(code, function, loop)
        if behind and not used.isdisjoint(_read_in(code, function, loop)):
            yield function, loop


def registered(code: Code, function: Function) -> list[Registered]:
    """The hooks that a function registers, and does not take back itself."""
    if not function.module.source.holds(_PATTERN) or _last_removed(code, function, None):
        return []
    return [
        one
        for name in _GIVEN
        for call in function.flow.calls_named(name)
        if _stays(function, call)
        for one in _registered(code, function, call)
    ]


def by_call(code: Code, function: Function, call: ast.Call) -> list[Function]:
    """The hooks that a call registers."""
    return [one.hook for one in _registered(code, function, call)] if names.last(call.func) in _GIVEN else []


def given(code: Code, function: Function, name: str) -> Value:
    """What a parameter of a hook is, where its own file registers it."""
    if not function.module.source.holds(_PATTERN):
        return UNKNOWN
    one = _hooks_of(code, function.module).get(function)
    if one is None or name not in function.positions:
        return UNKNOWN
    at = function.positions[name] - function.is_method - one.given
    return _GIVEN[names.last(one.call.func)].get(at, UNKNOWN)


@question("hooks of", {})
def _hooks_of(code: Code, module: Module) -> dict[Function, Registered]:
    """The hooks that a file registers."""
    return {
        one.hook: one
        for name in _GIVEN
        for function, call in calls_named(module, name)
        for one in _registered(code, function, call)
    }


def _registered(code: Code, function: Function, call: ast.Call) -> Iterator[Registered]:
    name = names.last(call.func)
    if len(call.args) > 1 or any(one.arg == "with_kwargs" for one in call.keywords) or code.definers(name):
        return
    hook = argument_of(call, "hook", 0)
    partly = isinstance(hook, ast.Call) and names.last(hook.func) == "partial"
    before = len(hook.args) - 1 if isinstance(hook, ast.Call) and partly else 0
    for one in code.run_by(code.value(function, hook)) if hook is not None else ():
        yield Registered(one, call, before, function)


def _stays(function: Function, call: ast.Call) -> bool:
    """Whether what a call registers is there behind it: `with net.register_forward_hook(f):` takes it back."""
    return not isinstance(function.flow.parents.get(call), ast.withitem)


@question("last removed", 0)
def _last_removed(code: Code, function: Function, loop: Loop | None) -> int:
    """The last line on which a function takes hooks back, `handle.remove()`, and not behind a loop; 0 where it takes back none."""
    end = (loop.end_lineno or loop.lineno) if loop is not None else None
    lines = (call.lineno for call in function.flow.calls_named("remove") if not call.args)
    return max((line for line in lines if end is None or line <= end), default=0)


def _by_calls(
    code: Code, function: Function, calls: Iterable[ast.Call], used: frozenset[str], loop: Loop | None = None
) -> dict[Function, None]:
    """The hooks that calls in a function register on what has some names, until a loop is over: themselves, or in what they run."""
    found: dict[Function, None] = {}
    if _last_removed(code, function, loop):
        return found
    for call in calls:
        if names.last(call.func) in _GIVEN:
            if _stays(function, call) and not _roots(function, [receiver_of(call)]).isdisjoint(used):
                found.update(dict.fromkeys(by_call(code, function, call)))
            continue
        given = [receiver_of(call), *call.args, *(one.value for one in call.keywords)]
        if used.isdisjoint(_roots(function, given)):
            continue
        for target in code.targets(function, call):
            if target.module.source.holds(_PATTERN) and not _takes_back(function, target):
                found.update((one.hook, None) for one in registered(code, target))
    return found


def _takes_back(function: Function, init: Function) -> bool:
    """Whether a function calls what removes the hooks that an object registers as it is made."""
    methods = init.cls.methods.values() if init.cls is not None else ()
    return any(function.flow.calls_named(one.name) for one in methods if one.flow.calls_named("remove"))


def _roots(function: Function, nodes: Iterable[ast.expr]) -> set[str]:
    """The names that expressions start at, and those that these are made of: `layer = net.layer`, `for name, layer in net.named_modules()`."""
    found: set[str] = set()
    for node in nodes:
        root = _root(node)
        while root is not None and root.id not in found:
            found.add(root.id)
            made = _made(function, root)
            root = _root(made) if made is not None else None
    return found


def _root(node: ast.expr) -> ast.Name | None:
    return root_of(node, ast.Attribute, ast.Subscript, ast.Call)


def _made(function: Function, name: ast.Name) -> ast.expr | None:
    """What a name is assigned, or what the loop or comprehension goes through that binds it; None where none alone does."""
    stores = function.flow.stores.get(name.id, ())
    around = function.flow.comprehension(name)
    for one in around.generators if around is not None else ():
        if name.id in bound_names(one.target):
            return one.iter
    for loop in function.flow.loops(name):
        if isinstance(loop, ast.For) and any(contains(loop.target, store) for store in stores):
            return loop.iter
    made = function.flow.assignment(name.id)
    return made.value if made is not None else None


@question("read in loop", frozenset())
def _read_in(code: Code, function: Function, loop: Loop) -> frozenset[str]:
    """The names that a loop reads."""
    flow = function.flow
    return frozenset(name for name, loads in flow.loads.items() if any(loop in flow.loops(load) for load in loads))
