"""What the attributes of one object are, where the objects of its class hold different things: a meter of losses, one of times."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Protocol

from ..facts import dataclass_fields, names
from ..facts.evaluator import Evaluator
from ..facts.module import Class, Function
from ..facts.values import UNKNOWN, Value
from ..query.question import Asking, question
from . import attributes
from .calling import CallSite


class Code(attributes.Code, Asking, Protocol):
    """What is asked of the project."""

    def calls_near(self, function: Function, path: str) -> Iterable[CallSite]: ...
    def attribute(self, klass: Class, name: str) -> Value: ...
    def passed(self, sites: Iterable[CallSite], function: Function, name: str) -> Value | None: ...


class _OfObject:
    """The project as the methods of one object see it: who calls them on another object gives them nothing."""

    def __init__(self, code: Code, owner: Value, maker: Function) -> None:
        self._code = code
        self._owner = owner
        self._maker = maker
        self._evaluators: dict[Function, Evaluator] = {}
        self.bases = code.bases
        self.base_name = code.base_name
        self.inside = code.inside
        self.declared = code.declared
        self.attribute_stores = code.attribute_stores
        self.registering = code.registering
        self.evaluator_given = code.evaluator_given
        self.method = code.method
        self.keywords = code.keywords

    def value(self, function: Function, node: ast.expr) -> Value:
        """What an expression of a method evaluates to."""
        if not function.own_name or "classmethod" in function.decorator_names:
            return self._code.value(function, node)
        values = self._evaluators.get(function)
        if values is None:
            given = self._given(function)
            values = self._evaluators[function] = self._code.evaluator_given(function, given)
        return values.value(node)

    def inherited(self, klass: Class, name: str) -> Value:
        """What the methods of a base assign to `self.name`."""
        return attributes.stored(self, klass, name)

    def _given(self, method: Function) -> dict[str, Value]:
        """What calls on the object give for the parameters of a method, as far as they give something."""
        sites = [site for site in self._sites(method) if self._is_own(site)]
        found = {method.own_name: self._owner}
        for parameter in method.parameters[1:]:
            value = self._code.passed(sites, method, parameter.arg) if _is_open(parameter.annotation) else None
            if value is not None:
                found[parameter.arg] = value
        return found

    def _sites(self, method: Function) -> Iterable[CallSite]:
        made_by = self._owner.made_by
        if method.name == "__init__":
            return [CallSite(self._maker, made_by)] if isinstance(made_by, ast.Call) else []
        return self._code.calls_near(method, self._maker.module.path)

    def _is_own(self, site: CallSite) -> bool:
        """Whether a call may be one on the object: of another one it is known where it was made."""
        callee = site.call.func
        if not isinstance(callee, ast.Attribute) or site.call is self._owner.made_by:
            return True
        made_by = self._code.value(site.function, callee.value).made_by
        return made_by is None or made_by is self._owner.made_by


def _is_open(annotation: ast.expr | None) -> bool:
    """Whether an annotation leaves open what a parameter is: there is none, or it says that something can be called."""
    asked = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return asked is None or names.last(asked) == "Callable"


def attribute(code: Code, owner: Value, name: str) -> Value:
    """What `owner.name` is by what is called on the object that a call made; what objects of its class hold where that call is not known."""
    klass, call, module = owner.class_, owner.made_by, owner.made_in
    if klass is None:
        return UNKNOWN
    if call is None or module is None:
        return code.attribute(klass, name)
    given = dataclass_fields.given(owner, name)
    if given is not None:
        return _given_to_field(code, module.function_at(call.lineno), given) or code.attribute(klass, name)
    return _attribute(code, module.function_at(call.lineno), call, klass, name)


@question("attribute of object", UNKNOWN)
def _attribute(code: Code, maker: Function, call: ast.expr, klass: Class, name: str) -> Value:
    owner = code.inside(maker, lambda values: values.instance(klass, call if isinstance(call, ast.Call) else None))
    return _OfObject(code, owner, maker).inherited(klass, name)


@question("given to field", UNKNOWN)
def _given_to_field(code: Code, maker: Function, given: ast.expr) -> Value:
    """What a call gives for a field, which may be what a field of another object of the class holds."""
    return code.value(maker, given)
