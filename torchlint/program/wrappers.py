"""What decorators of the project put in the place of a function: the `wrapper` of `@traced`, which runs whenever that is called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from ..facts import decorated
from ..facts.evaluator import Evaluator
from ..facts.module import Class, Function, Module
from ..facts.units import outermost
from ..facts.values import UNKNOWN, Value, join_all
from ..query.question import Asking, question
from . import results

T = TypeVar("T")
MOST = 20
"""What goes around more functions gives nothing that is known."""


class Code(Asking, Protocol):
    """What is asked of the project."""

    def definition(self, name: str, near: Module) -> Function | Class | Module | None: ...
    def inside(self, function: Function, ask: Callable[[Evaluator], T]) -> T: ...
    def module_for_name(self, path: str, name: str) -> Module | None: ...
    def named_by(self, module: Module, name: str) -> list[str]: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...


class Wrapper(NamedTuple):
    """A function that runs in the place of another one."""

    function: Function
    decorator: ast.expr
    """What is written in front of the other one."""
    calls: list[ast.Call]
    """Where it calls the other one."""


@question("wrappers", [])
def wrappers(code: Code, function: Function) -> list[Wrapper]:
    """What runs in the place of a function, the outermost first."""
    found = (_wrapper(code, function, decorator) for decorator in function.decorators)
    return [one for one in found if one is not None]


def _wrapper(code: Code, function: Function, decorator: ast.expr) -> Wrapper | None:
    inner = _taking(code, function, decorator)
    wrapper = _given_back(inner) if inner is not None else None
    if inner is None or wrapper is None or not inner.parameters:
        return None
    calls = _calls_of(wrapper, inner.parameters[0].arg)
    return Wrapper(wrapper, decorator, calls) if calls else None


def _taking(code: Code, function: Function, decorator: ast.expr) -> Function | None:
    """The function that is given the one that is decorated: `traced` of `@traced`, what `every` gives of `@every(100)`."""
    found = decorated.named(code, function.module, decorator)
    if found is None or found.cls is not None:
        return None
    return _given_back(found) if isinstance(decorator, ast.Call) else found


def _given_back(function: Function) -> Function | None:
    """The nested function that a function gives, whatever way it takes: `return wrapper`, `return wraps(fn)(wrapper)`."""
    ends = [node.value for node in function.flow.returns] if function.nested else []
    given = {_named(function, end) for end in ends}
    return given.pop() if len(given) == 1 else None


def _named(function: Function, end: ast.expr | None) -> Function | None:
    """The nested function of `wrapper`, of `update_wrapper(wrapper, fn)`, and of `decorate(fn)`, which gives what that does."""
    parts = [end.func, *end.args[:1]] if isinstance(end, ast.Call) else [end]
    found = (function.nested.get(part.id) for part in parts if isinstance(part, ast.Name))
    return next((one for one in found if one is not None), None)


def _calls_of(wrapper: Function, name: str) -> list[ast.Call]:
    if wrapper.binds(name):
        return []
    return [call for call in wrapper.flow.calls_named(name) if isinstance(call.func, ast.Name)]


def result(code: Code, wrapper: Function, name: str) -> Value:
    """What a call of a name gives that a decorator has for what it goes around: `out = fn(*args)`."""
    inner = wrapper.parent
    if inner is None or not inner.parameters or inner.parameters[0].arg != name or _given_back(inner) is not wrapper:
        return UNKNOWN
    return _gives(code, wrapper)


@question("wrapped", UNKNOWN)
def _gives(code: Code, wrapper: Function) -> Value:
    """What all functions give that a decorator goes around; unknown where something else goes around one, too."""
    around = list(_around(code, wrapper))
    if not 0 < len(around) <= MOST or any(len(one.decorators) > 1 for one in around):
        return UNKNOWN
    return join_all([code.inside(one, lambda values: results.of_itself(values, ())) for one in around])


def _around(code: Code, wrapper: Function) -> Iterator[Function]:
    """The functions that a wrapper runs in the place of."""
    module, name = wrapper.module, outermost(wrapper).name
    for path in (module.path, *code.named_by(module, name)):
        user = code.module_for_name(path, name)
        for function in user.functions if user is not None else ():
            if function.decorators and any(one.function is wrapper for one in wrappers(code, function)):
                yield function
