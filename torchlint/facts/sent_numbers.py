"""Numbers that are known before a step, as far as what is written says: lists written out, sizes, options."""

from __future__ import annotations

import ast

from ..system.stamp import as_bytes
from . import names, syntax
from .bindings import Assigned, Narrowed
from .common_names import OPTIONS_NAME
from .place import Place
from .uses import assigned
from .values import Value

_ENCODES = frozenset(("encode", "convert_tokens_to_ids"))
"""Methods of tokenizers that give the numbers of a text."""
_OF_DATA = frozenset(("torch.tensor()", ".new_tensor()"))
_GROWS = rb"\.%s\.(?:append|appendleft|extend|insert)\("
"""What makes a list of an object longer, by its name."""


def is_written_out(place: Place, node: ast.expr) -> bool:
    """A list that stands there, or one that an object or the module holds; what was gathered before has to be sent."""
    if isinstance(node, ast.BinOp):
        return is_written_out(place, node.left) or is_written_out(place, node.right)
    if isinstance(node, ast.Name):  # `X = [encode(one) for one in given]` of a function is no constant
        return node.id.isupper() and (place.function is place.function.module.body or not place.function.binds(node.id))
    if isinstance(node, ast.Attribute):
        return not _is_gathered(place, node)
    return isinstance(node, ast.List | ast.Tuple) and not _is_of_tokens(place, node)


def _is_of_tokens(place: Place, node: ast.List | ast.Tuple) -> bool:
    """`[ids]`, a batch of one text: `ids = tokenizer.encode(text)`."""
    return len(node.elts) == 1 and isinstance(node.elts[0], ast.Name) and _encoding(place, node.elts[0]) is not None


def _encoding(place: Place, ids: ast.expr) -> ast.Call | None:
    """The call of a tokenizer that gives the numbers of a text, by itself or behind a name."""
    made = assigned(place.function, ids) if isinstance(ids, ast.Name) else ids
    return made if isinstance(made, ast.Call) and names.last(made.func) in _ENCODES else None


def _is_gathered(place: Place, held: ast.Attribute) -> bool:
    """Whether a list of an object is filled as the program runs: by the function itself, or by `.append(...)`, wherever that stands."""
    name = names.chain(held)
    if name is None or ".".join(name) in place.flow.targets:
        return name is not None
    return bool(place.analysis.context.switched_on(_GROWS % as_bytes(held.attr), word=as_bytes(held.attr)))


def is_size(place: Place, data: ast.expr) -> bool:
    """`list(x.shape[-2:])`, `[x.shape[-2:] for x in levels]`, `[2 / size for size in x.shape]`: sizes of a tensor, or of several, and numbers made of each."""
    if isinstance(data, ast.ListComp) and len(data.generators) == 1:
        made, sizes = place.value(data.elt), place.value(data.generators[0].iter)
        if made.kind == "number" and not made.other_kinds and _is_of_extents(sizes):
            return True
    if isinstance(data, ast.Call) and place.resolve(data.func) in ("list", "tuple") and len(data.args) == 1:
        data = data.args[0]
    value = place.value(data)
    return value.kind == "size" or (
        value.kind == "list" and value.element is not None and _is_of_extents(value.element)
    )


def _is_of_extents(value: Value) -> bool:
    """Whether something is the size of a dimension, or several of them."""
    if value.kind == "number":
        return value.extent and not value.other_kinds
    parts = [*(value.items or ()), *((value.element,) if value.element is not None else ())]
    return value.kind == "size" or (value.kind in ("list", "tuple") and bool(parts) and all(map(_is_of_extents, parts)))


def is_option(place: Place, data: ast.expr) -> bool:
    """`self.anchors` of a module, for `torch.tensor`, in its forward, or `x.new_tensor`: what it was made with, and no tensor."""
    klass = place.function.cls
    if klass is None or place.name not in _OF_DATA or not (place.in_forward or place.name != "torch.tensor()"):
        return False
    attribute = syntax.own_attribute(place.function, data)
    return attribute is not None and place.project.is_module(klass) and place.project.is_option(klass, attribute)


def is_setting(place: Place, data: ast.expr) -> bool:
    """`cfg.MODEL.PIXEL_MEAN`, `self.model_cfg.weights["box"]` of something unknown: what a program is configured with, and no tensor."""
    if place.name not in _OF_DATA or place.value(data):
        return False
    return _is_in_capitals(place, data) or _is_configured(data)


def _is_in_capitals(place: Place, data: ast.expr) -> bool:
    """`post.CENTER_RANGE`, of another object than the method's own."""
    if not isinstance(data, ast.Attribute) or not (data.attr.isupper() and len(data.attr) > 1):
        return False
    owner = names.chain(data.value)
    if owner is None or owner == [place.function.own_name] or place.resolve(data) is not None:
        return False
    return not _is_gathered(place, data)


def _is_configured(data: ast.expr) -> bool:
    """`cfg.MODEL.PIXEL_MEAN`, `self.model_cfg.WEIGHTS["box"]`: what stands in a configuration, by what that is called."""
    is_part = False
    while isinstance(data, ast.Attribute | ast.Subscript):
        if isinstance(data, ast.Subscript):
            if not (isinstance(data.slice, ast.Constant) and isinstance(data.slice.value, str)):
                return False
        elif is_part and _is_called_options(data.attr):
            return True
        is_part, data = is_part or isinstance(data, ast.Attribute), data.value
    return is_part and isinstance(data, ast.Name) and _is_called_options(data.id)


def _is_called_options(name: str) -> bool:
    """`model_cfg`, `args`; what `kwargs` holds is given by who calls."""
    return OPTIONS_NAME.search(name.lower()) is not None and not name.endswith("kwargs")


def are_ids_of_text(place: Place, data: ast.expr) -> bool:
    """`tokenizer.encode("<think>")` of a text that is written out, or a list of that alone: the same numbers each time."""
    if isinstance(data, ast.List) and len(data.elts) == 1:
        data = data.elts[0]
    made = _encoding(place, data)
    if made is None or not isinstance(made.func, ast.Attribute):
        return False
    if not names.last(made.func.value).lower().endswith("tokenizer") or len(made.args) != 1:
        return False
    text = assigned(place.function, made.args[0]) if isinstance(made.args[0], ast.Name) else made.args[0]
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def is_share(place: Place, data: ast.expr) -> bool:
    """`i / self.steps` of a number, where the function says `range(self.steps)`: how far a loop has come."""
    if not isinstance(data, ast.BinOp) or place.value(data.left).kind != "number":
        return False
    given = (one for call in place.flow.calls_named("range") for one in call.args)
    return any(syntax.same(one, data.right) for one in given)


def is_given(place: Place, data: ast.expr) -> bool:
    """`[observation]` of a parameter that nothing is known of: what a caller gives, in a list of its own, has to be sent."""
    if not isinstance(data, ast.List | ast.Tuple) or len(data.elts) != 1:
        return False
    given = data.elts[0]
    known = isinstance(given, ast.Name) and given.id in place.flow.parameters
    return known and place.value(given).kind == "unknown"


def may_be_given(place: Place, data: ast.expr) -> bool:
    """`[timesteps]` of a parameter, or of `timesteps = timestep`, for which no caller that is known gives a number."""
    given = data.elts[0] if isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1 else None
    bound = place.function.bindings.reach.get(given) if given is not None else None
    while isinstance(bound, Narrowed):
        bound = bound.before
    if isinstance(bound, Assigned):
        given = bound.node
    if not isinstance(given, ast.Name) or given.id not in place.flow.parameters:
        return False
    return bool(place.project.parameter(place.function, given.id).kind != "number")
