"""Tensors of the host that stay the same while a loop or a module runs: each move of one to the device copies the same again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from . import names, syntax
from .bindings import Assigned
from .first_time import keeps_results
from .flow import Loop
from .module import Class, Function
from .nodes import argument_of, indices
from .operator_calls import is_sent
from .place import Place

_VIEWS = frozenset(
    "float long half double view reshape unsqueeze squeeze expand repeat t transpose permute contiguous clone".split()
)
_CHANGING = frozenset("append extend insert pop remove clear sort reverse".split())
_TURNED = frozenset(("T", "mT", "data"))
_MOVED_ALONG = frozenset(("torch.nn.Parameter", "torch.nn.Buffer"))


def kept_on_host(place: Place, node: ast.expr) -> ast.expr | None:
    """What lies in host memory and stays the same, of what is moved: `self.mask` of `self.mask[None].float()`.

    An attribute that its constructor alone sets, and nobody writes into, of an object that is not made anew for each step;
    a name from outside of the loop, or of the function. None where it may be another tensor each time, or lives elsewhere.
    """
    part = viewed(node)
    if not isinstance(part, ast.Name | ast.Attribute) or place.function.name == "__init__":
        return None
    if isinstance(part, ast.Name) and not _is_outer(place, part):
        return None
    # What a thing is takes longer to tell than who sets it.
    klass = _holder(place, part) if isinstance(part, ast.Attribute) else None
    if isinstance(part, ast.Attribute) and klass is None:
        return None
    value = place.value(part)
    if value.kind != "tensor" or not value.is_tensor or value.other_kinds:
        return None
    if value.device != "cpu" and not (isinstance(part, ast.Attribute) and _may_stay(place, klass, part.attr)):
        return None
    if value.from_loader or value.loader_calls:
        return None
    return part if klass is None or _lasts(place, klass) else None


def taken_from_host(place: Place, node: ast.expr) -> ast.expr | None:
    """What a module keeps on the host, and takes a part of before it moves that: `self.table` of `self.table[ids, :].float()`.

    What is pinned lies on the host on purpose, since it is large; so may be what other objects keep, but not where they
    take of it by an index of the device, which has to be copied to the host first.
    """
    part = viewed(node)
    whole = viewed(part.value) if isinstance(part, ast.Subscript) else None
    klass = place.function.cls
    if not isinstance(part, ast.Subscript) or whole is None or klass is None:
        return None
    if syntax.own_attribute(place.function, whole) is None or kept_on_host(place, whole) is None:
        return None
    if not (place.project.is_module(klass) or is_sent(place.value(part.slice))):
        return None
    value = place.value(whole)
    return whole if value.on_cpu and value.is_tensor and not value.pinned else None


def kept_array(place: Place, node: ast.expr, *, array: bool = False) -> bool:
    """Whether data is an array of NumPy that an object keeps as its constructor made it: `self.betas`, or a parameter that is given that.

    What is known to be an `array` by what takes it, or by a cast that arrays alone have, need not be known by itself.
    """
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        node, array = node.func.value, True
    part = viewed(node)
    if isinstance(part, ast.Attribute):
        klass = _holder(place, part) if place.function.name != "__init__" else None
        value = place.value(part)
        if klass is None or value.other_kinds:
            return False
        # What other objects share with a module, they hardly write into.
        if value.kind != "ndarray" and not (array and not value and place.project.is_module(klass)):
            return False
        # `storage.rewards[step] = reward` may stand in any file.
        written = rb"\.%s\[[^\n]*\] *[-+*/|&]?=[^=]" % part.attr.encode()
        return not place.project.any_holds(written, word=part.attr.encode()) and _lasts(place, klass)
    given = _given_for(place, part)
    return any(isinstance(one, ast.Attribute) and kept_array(caller, one, array=array) for caller, one in given)


def kept_numbers(place: Place, node: ast.expr, objects: int = 3) -> bool:
    """Whether data is a list of numbers that an object keeps as its constructor made it, by itself or for one that it makes: `self.steps`.

    So many `objects` may give it to one another.
    """
    if not isinstance(node, ast.Attribute) or place.function.name == "__init__" or not objects:
        return False
    value, klass = place.value(node), _holder(place, node)
    each = value.element if value.kind == "list" and value.proven else None
    if klass is None or each is None or each.kind != "number" or _is_added_to(klass, node.attr):
        return False
    if _lasts(place, klass):
        return True
    return any(kept_numbers(*given, objects - 1) for given in _given_to_keep(place, klass, node.attr))


def _is_added_to(klass: Class, attribute: str) -> bool:
    """Whether a method, other than the constructor, adds to a list or takes of it: `self.seen.append(x)`."""
    uses = ((method, method.flow.parents[use]) for method, use in klass.uses.get(attribute, ()))
    return any(
        method.name != "__init__" and isinstance(use, ast.Attribute) and use.attr in _CHANGING for method, use in uses
    )


def _given_to_keep(place: Place, klass: Class, attribute: str) -> Iterator[tuple[Place, ast.expr]]:
    """What the makers of an object give it that it keeps as it is, and where: `self.steps = steps`."""
    for init, store in place.project.attribute_stores(klass, attribute):
        made = init.flow.parents.get(store)
        given = made.value if isinstance(made, ast.Assign) else None
        if isinstance(given, ast.Name):
            yield from ((caller, one) for caller, one in _given_for(place.at(init, given), given) if one is not None)


def kept_by(place: Place, node: ast.expr) -> Function | None:
    """The function that gives data as it has kept it for the same numbers: `window` behind `window = get_window(n)`, of a function with `@lru_cache`."""
    binding = place.function.bindings.reach.get(node) if isinstance(node, ast.Name) else None
    made = binding.node if isinstance(binding, Assigned) else node
    found = place.project.targets(place.function, made) if isinstance(made, ast.Call) else []
    return found[0] if found and all(map(keeps_results, found)) else None


def always_kept_array(place: Place, node: ast.expr) -> bool:
    """Whether a name or an attribute is such an array, whoever calls."""
    if isinstance(node, ast.Attribute):
        return kept_array(place, node)
    given = list(_given_for(place, node))
    return bool(given) and all(isinstance(one, ast.Attribute) and kept_array(caller, one) for caller, one in given)


def _given_for(place: Place, name: ast.expr) -> Iterator[tuple[Place, ast.expr | None]]:
    """What the callers of a function give for a parameter that it does not bind anew, and where."""
    function = place.function
    if not isinstance(name, ast.Name) or name.id not in function.positions or name in function.bindings.reach:
        return
    at = function.positions[name.id] - function.is_method
    for site in place.callers(function):
        yield place.at(site.function, site.call), argument_of(site.given or site.call, name.id, at)


def viewed(node: ast.expr) -> ast.expr:
    """`x` of `x.float()[None].T`: what stands before views, and casts that mostly change nothing."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            node = node.func.value
        elif (isinstance(node, ast.Subscript) and _is_plain(node.slice)) or (
            isinstance(node, ast.Attribute) and node.attr in _TURNED
        ):
            node = node.value
        else:
            return node


def _is_plain(index: ast.expr) -> bool:
    """`None`, `:`, `...`, and several of them: what selects nothing."""
    parts = indices(index)
    return all(
        (isinstance(part, ast.Constant) and part.value in (None, ...))
        or (isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None)
        for part in parts
    )


# Names


def _is_outer(place: Place, name: ast.Name) -> bool:
    """Whether a name is bound before the loop that runs the place, or by what is around the function, and nobody writes into it."""
    function = place.function
    owner = next((scope for scope in function.scopes if scope.binds(name.id)), None)
    if owner is None:
        return False
    if owner is not function:
        around = owner.flow.stores.get(name.id, ())
        rebound = function.module.source.holds(f"global {name.id}".encode())
        written = is_written(owner, name.id) or is_written(function, name.id)
        return not (rebound or written or any(owner.flow.loops(one) for one in around))
    loop = _loop(place)
    if loop is None:
        return False
    bound = place.flow.stores_within(name.id, loop)
    return not bound and not is_written(function, name.id)


def _loop(place: Place) -> Loop | None:
    """The loop of the function that runs the place again and again."""
    loop = place.hot.loop if place.hot is not None else place.warm
    return loop if loop is not None and loop in place.flow.loops(place.target) else None


def is_written(function: Function, name: str) -> bool:
    """Whether a function writes into what a dotted name is: `x[i] = v`, `x += v`, `x.copy_(v)`."""
    flow = function.flow
    stored = name in flow.stored_in or f"{name}[]" in flow.stored_in or name in flow.counted
    return stored or name in flow.written_by_methods


# Attributes


def _holder(place: Place, part: ast.Attribute) -> Class | None:
    """The class of the object that an attribute is of, where its constructor alone sets that, and no method writes into it."""
    klass = _class_of(place, part.value)
    project = place.project
    above = project.ancestry(klass) if klass is not None else ()
    stored = next((one for one in above if project.attribute_stores(one, part.attr)), None)
    if klass is None or stored is None or not project.is_option(stored, part.attr):
        return None
    if _goes_along(place, stored, part.attr) or _is_changed(stored, part.attr) or _is_changed(klass, part.attr):
        return None
    return klass


def _may_stay(place: Place, klass: Class | None, attribute: str) -> bool:
    """Whether a constructor keeps a parameter or, as an option, a tensor of the host: `self.table = nn.Parameter(x) if learn else x`."""
    above = place.project.ancestry(klass) if klass is not None else ()
    kept = [place.project.value(*store) for one in above for store in place.project.attribute_stores(one, attribute)]
    tensors = all(one.kind == "tensor" and (one.parameter or one.device == "cpu") for one in kept)
    return tensors and any(one.kind == "tensor" and one.device == "cpu" and not one.parameter for one in kept)


def _goes_along(place: Place, klass: Class, attribute: str) -> bool:
    """Whether what a constructor keeps goes where the module does: `self.mask = nn.Buffer(mask)`."""
    stores = place.project.attribute_stores(klass, attribute)
    kept = (method.flow.parents.get(target) for method, target in stores)
    made = [one.value if isinstance(one, ast.Assign) else None for one in kept]
    init = klass.methods["__init__"]
    return all(isinstance(one, ast.Call) and place.project.resolve(init, one.func) in _MOVED_ALONG for one in made)


def _class_of(place: Place, owner: ast.expr) -> Class | None:
    """The class of the object that a place reads an attribute of, where that is the same object each time."""
    function = place.function
    if isinstance(owner, ast.Name):
        if owner.id == function.own_name:
            return function.cls
        return None if function.binds(owner.id) else place.value(owner).class_
    own = names.chain(owner)
    klass = function.cls
    if own is None or klass is None or len(own) != 2 or own[0] != function.own_name:
        return None
    return place.value(owner).class_ if place.project.is_option(klass, own[1]) else None


def _is_changed(klass: Class, attribute: str) -> bool:
    return any(
        method.name != "__init__" and is_written(method, f"{method.own_name}.{attribute}")
        for method in klass.methods.values()
    )


def _lasts(place: Place, klass: Class) -> bool:
    """Whether objects of a class are there for longer than a step: modules, and what is made outside of loops and steps."""
    if place.project.is_module(klass):
        return True
    init = place.project.method(klass, "__init__")
    made: list[Any] = list(place.callers(init)) if init is not None else []
    return bool(made) and not any(
        site.function.flow.loops(site.call) or place.at(site.function, site.call).hot is not None for site in made
    )
