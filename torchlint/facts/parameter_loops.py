"""Loops over the parameters of a model, and what a name in them stands for."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import names
from .module import Class
from .place import Place

_ITERATORS = frozenset(("parameters", "named_parameters", "buffers"))
_OF_PARAMETERS = frozenset(("parameters", "named_parameters"))
_NAMED = frozenset(("named_buffers",))
_PARAMETERS = regex(r"(?:^|_)param(?:eter)?s$")


def is_told_as_optimizer(loop: ast.For) -> bool:
    """Whether an update by the gradient in the loop is one that TL706 reports: it goes through `model.parameters()` itself."""
    func = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in _OF_PARAMETERS


def has_one(place: Place, node: ast.expr) -> bool:
    """`center_loss.parameters()` of a class of the project that makes one parameter, and no module with others."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in _OF_PARAMETERS
    ):
        return False
    value = place.value(node.func.value)
    klass = value.class_ if value.kind == "module" else None
    if klass is None or any(place.project.base_name(klass, base) != "torch.nn.Module" for base in klass.bases):
        return False
    held = {name: place.project.attribute(klass, name) for name in klass.stores}
    parameters = [one for one in held.values() if one.is_tensor and one.parameter]
    others = [name for name, one in held.items() if one.kind not in ("tensor", "number", "str", "bool")]
    return len(parameters) == 1 and all(_is_option(klass, name) for name in others)


def over_parameters(place: Place, node: ast.expr) -> bool:
    """`model.parameters()`, `zip(a.parameters(), b.parameters())`, `enumerate(...)` of it, `dict(model.named_parameters())`,

    the entries of `model.state_dict()`, and what callers give as one of these.
    """
    if isinstance(node, ast.Name):
        made = [place.flow.parents[store] for store in place.flow.stores.get(node.id, ())]
        dictionaries = all(isinstance(m, ast.Assign) and _is_dictionary(place, m.value) for m in made)
        return (bool(made) and dictionaries) or _holds_parameters(place, node) or _is_picked(place, node.id, made)
    if isinstance(node, ast.Attribute):
        return _holds_parameters(place, node) or _is_own_dictionary(place, node)
    if isinstance(node, ast.Subscript):
        return _of_group(place, node)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in ("items", "values", "keys"):
            holder = node.func.value
            return is_state(holder) if isinstance(holder, ast.Call) else over_parameters(place, holder)
        return node.func.attr in _ITERATORS
    called = place.resolve(node.func)
    if called == "zip" and len(node.args) > 1 and all(_is_named(place, argument) for argument in node.args):
        return True
    if called in ("zip", "enumerate", "list", "filter"):
        return any(over_parameters(place, argument) for argument in node.args)
    return False


def is_state(call: ast.Call) -> bool:
    """`model.state_dict()`"""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "state_dict"


def root(node: ast.expr) -> str:
    """The name at the start of `p.grad.data`; of `averages[key]` that of the key."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.slice if isinstance(node, ast.Subscript) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_option(klass: Class, name: str) -> bool:
    """`self.classes = classes`, of a parameter with a number, a word or a flag as its default."""
    for method, target in klass.stores[name]:
        statement = method.flow.parents.get(target)
        given = statement.value if isinstance(statement, ast.Assign) else None
        default = method.defaults.get(given.id) if isinstance(given, ast.Name) else None
        if not isinstance(default, ast.Constant) or default.value is None:
            return False
    return True


def _is_picked(place: Place, name: str, made: list[ast.AST]) -> bool:
    """A name for parameters, and for those of them that were picked: `parameters = list(filter(has_grad, parameters))`."""
    values = [statement.value for statement in made if isinstance(statement, ast.Assign)]
    whole = [value for value in values if isinstance(value, ast.Call) and _calls_for(value)]
    picked = [value for value in values if root(_source(place, value)) == name]
    if not picked or len(whole) + len(picked) != len(made):
        return False
    if name not in place.flow.parameters:
        return bool(whole)
    given = place.project.parameter(place.function, name).element
    return given is not None and given.parameter


def _calls_for(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "parameters" and not call.args


def _source(place: Place, node: ast.expr) -> ast.expr:
    """What a list is picked from: x of `[x]`, `list(filter(test, x))`, `[p for p in x if test(p)]`."""
    while True:
        if isinstance(node, ast.List) and len(node.elts) == 1:
            node = node.elts[0]
        elif isinstance(node, ast.ListComp) and _is_same(node.elt, node.generators[0].target):
            node = node.generators[0].iter
        elif isinstance(node, ast.Call) and node.args and place.resolve(node.func) in ("list", "tuple", "filter"):
            node = node.args[-1]
        else:
            return node


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id


def _is_named(place: Place, node: ast.expr) -> bool:
    """`zip(target_params, source_params)`: lists that are called so."""
    named = names.last(node)
    return _PARAMETERS.search(named) is not None and place.value(node).kind in ("list", "unknown")


def _holds_parameters(place: Place, node: ast.expr) -> bool:
    """Whether a name or an attribute holds parameters alone: `self.params = list(model.parameters())`."""
    held = place.value(node).element
    named = held.items[-1:] if held is not None and held.kind == "tuple" and held.items else ()
    return held is not None and (held.parameter or any(one.parameter for one in named))


def _is_own_dictionary(place: Place, node: ast.Attribute) -> bool:
    """Whether everything that the class keeps as an attribute of its objects is a dictionary of parameters."""
    klass = place.function.cls
    own = isinstance(node.value, ast.Name) and node.value.id == place.function.own_name
    stores = klass.stores.get(node.attr, ()) if klass is not None and own else ()
    made = [method.flow.parents.get(target) for method, target in stores]
    return bool(made) and all(isinstance(one, ast.Assign) and _is_dictionary(place, one.value) for one in made)


def _of_group(place: Place, node: ast.Subscript) -> bool:
    """`group["params"]` in a loop over `optimizer.param_groups`."""
    if not (isinstance(node.slice, ast.Constant) and node.slice.value == "params" and isinstance(node.value, ast.Name)):
        return False
    return any(
        isinstance(loop, ast.For)
        and isinstance(loop.target, ast.Name)
        and loop.target.id == node.value.id
        and isinstance(loop.iter, ast.Attribute)
        and loop.iter.attr == "param_groups"
        for loop in place.flow.loops(node)
    )


def _is_dictionary(place: Place, node: ast.expr) -> bool:
    """`dict(model.named_parameters())`, `model.state_dict()`, `{k: v.clone() for k, v in model.state_dict().items()}`"""
    if isinstance(node, ast.DictComp):
        first = node.generators[0]
        keys = first.target.elts[:1] if isinstance(first.target, ast.Tuple) else []
        return not first.ifs and any(_is_same(key, node.key) for key in keys) and _are_entries(first.iter)
    if isinstance(node, ast.Call) and is_state(node):
        return True
    if not isinstance(node, ast.Call) or place.resolve(node.func) != "dict" or len(node.args) != 1:
        return False
    given = node.args[0]
    return (
        isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _ITERATORS | _NAMED
    )


def _are_entries(node: ast.expr) -> bool:
    """`model.state_dict().items()`, `model.named_parameters()`"""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    holder = node.func.value
    return node.func.attr == "named_parameters" or (
        node.func.attr == "items" and isinstance(holder, ast.Call) and is_state(holder)
    )
