"""What a hook is given out of a dictionary that an object holds and a call spreads: `getattr(hook, f"on_{name}")(**self.state)`.

The entries stand where the object fills it: `self.state["loss"] = loss`, `self.state.update(loss=loss)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.by_dictionary import written
from ..facts.module import Class, Function, Module
from ..facts.nodes import ends_of_text, string
from ..facts.syntax import given_to_target, own_attribute
from ..facts.values import UNKNOWN, Value, join_all
from ..query.question import question
from .by_text import fits
from .dispatch import Code, fetched

_SPREADS = rb"\*\*self\.\w"
_LOOKS_UP = rb"getattr\("
_MOST = 4
"""How many files that spread dictionaries and hold a parameter's name are looked at."""


@question("spread by name", UNKNOWN)
def given(code: Code, function: Function, name: str) -> Value:
    """What entries of that name hold that such a call spreads, of a method that takes what else there is by `**`.

    Of a tensor only where it is on the host: which of several entries a hook is given depends on the event.
    """
    node = function.node
    if isinstance(node, ast.Module) or not function.is_method or node.args.kwarg is None:
        return UNKNOWN
    spreading = code.holders(_SPREADS, word=b"self") & code.holders(_LOOKS_UP, word=b"getattr")
    spelled = (f'"{name}"', f"'{name}'", f"{name}=")
    paths = sorted(path for path in spreading if any(code.writes(path, text) for text in spelled))
    modules = [code.module_for_name(path, name) for path in paths] if len(paths) <= _MOST else []
    values = [value for module in modules if module is not None for value in _entries(code, function, module, name)]
    whole = join_all(values) if values else UNKNOWN
    return whole if whole.on_cpu or whole.kind == "number" else UNKNOWN


def _entries(code: Code, hook: Function, module: Module, name: str) -> Iterator[Value]:
    for function in module.functions_at(module.lines_holding(name)):
        for attribute, entry in _filled(code, function, name):
            if function.cls is not None and _is_spread(function.cls, attribute, hook.name):
                yield code.value(function, entry)


def _filled(code: Code, function: Function, name: str) -> Iterator[tuple[str, ast.expr]]:
    """The attributes of its object whose entry of a name a method writes, with what it writes there."""
    flow = function.flow
    for load in flow.loads.get(function.own_name or "", ()):
        held = flow.parents.get(load)
        attribute = own_attribute(function, held) if isinstance(held, ast.Attribute) else None
        place = flow.parents.get(held) if held is not None and attribute is not None else None
        if attribute is None:
            continue
        if isinstance(place, ast.Subscript) and place.value is held and string(place.slice) == name:
            entry = given_to_target(flow, place) if isinstance(place.ctx, ast.Store) else None
        elif isinstance(place, ast.Attribute) and place.attr == "update":
            call = flow.parents.get(place)
            entry = _updated(code, function, call).get(name) if isinstance(call, ast.Call) else None
        else:
            continue
        if entry is not None:
            yield attribute, entry


def _updated(code: Code, function: Function, call: ast.Call) -> dict[str, ast.expr]:
    """The entries that `update` writes: `update(loss=loss)`, `update({"loss": loss})`."""
    named = {one.arg: one.value for one in call.keywords if one.arg is not None}
    whole = written(call.args[0], lambda node: code.resolve(function, node)) if len(call.args) == 1 else {}
    return {**whole, **named}


def _is_spread(klass: Class, attribute: str, hook: str) -> bool:
    """Whether a method calls what it fetches by a name that may be a hook's with what an attribute holds."""
    for method in klass.methods.values():
        for name, call in fetched(method):
            spread = any(one.arg is None and own_attribute(method, one.value) == attribute for one in call.keywords)
            if spread and _may_be(hook, name):
                return True
    return False


def _may_be(hook: str, name: ast.expr) -> bool:
    """Whether a text may be the name of a hook: `f"on_{event}"`, or one of which nothing is known, that of `on_step_end`."""
    ends = ends_of_text(name, string)
    return fits(hook, ends) if ends is not None else string(name) in (None, hook)
