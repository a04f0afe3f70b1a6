"""What values are made of: what a loop over one gives, and what stands under an index."""

from __future__ import annotations

import ast

from . import batches, common_names, names, operations
from .bindings import Binding, Iterated, Joined, Part, Stored
from .evaluator import Evaluator
from .flow import contains
from .loader_calls import handed_on, sample_of
from .members import member
from .module import Class, Function, has_slice, key_of
from .nodes import ends_of_text, given_to, indices, is_constant, none_test, string
from .single_values import run_backward
from .syntax import own_attribute
from .values import (
    ARRAY_OR_NUMBER,
    DEVICE,
    EXTENT,
    LIKELY,
    NDARRAY,
    NUMBER,
    PROVEN,
    SIZE,
    STR,
    UNKNOWN,
    Batch,
    ModuleValue,
    Tensor,
    Unknown,
    Value,
    join_all,
    replace,
    tensor,
)


def element(values: Evaluator, value: Value, node: ast.expr | None) -> Value:
    """What iterating over the value gives."""
    kind = value.kind
    if value.class_name == "torch.nn.ParameterList":
        return Tensor(parameter=True, device=value.device)
    if kind in ("list", "size", "module", "loader") and value.element is not None:
        return value.element
    if value.kind == "loader":
        return Batch(
            value.certainty,
            device=value.device or ("accelerator" if value.managed else "cpu"),
            from_loader=not value.managed,
            pinned=value.pinned,
            managed=value.managed,
        )
    if value.kind == "batch":
        return batches.batch_tensor(value)
    if kind == "tensor":
        return replace(value, scalar=False, parameter=False, made_by=None)
    if value.kind == "tuple" and value.element is not None:
        return value.element
    if kind == "tuple" and value.items:
        return join_all(value.items)
    if kind == "ndarray":
        return ARRAY_OR_NUMBER
    if kind == "dict":
        return STR if value.entries is not None else UNKNOWN
    if kind == "module":
        return ModuleValue(LIKELY)
    if kind == "str":
        return STR
    if kind == "instance" and value.class_ is not None:
        given = wrapped(values, value, value.class_)
        if given:
            return given
    if node is not None and kind in ("unknown", "instance") and operations.looks_like_loader(node):
        return Batch(LIKELY, from_loader=True)
    return moved_part(values, value, None)


def wrapped(values: Evaluator, value: Value, klass: Class) -> Value:
    """What iterating over an object of the project's gives: the elements of the loader it was made of, or what it says."""
    following = values.world.method(klass, "__next__") or values.world.method(klass, "__iter__")
    if following is None:
        return UNKNOWN
    if isinstance(value.made_by, ast.Call) and value.made_by.args:
        own = value.made_by in values.function.flow.parents
        inner = values.expr(value.made_by.args[0]) if own else UNKNOWN
        if inner.kind == "loader":
            return element(values, inner, None)
    returned = values.world.returns(following)
    if following.name == "__next__":
        return _as_given(values, value, following) or returned
    return element(values, returned, None) if returned.kind in ("list", "loader") else UNKNOWN


def _as_given(values: Evaluator, value: Value, following: Function) -> Value:
    """What an object's `__next__` gives of the loader that it was made of in another function, where it hands that on as it is."""
    made, module = value.made_by, value.made_in
    if not isinstance(made, ast.Call) or module is None or made in values.function.flow.parents:
        return UNKNOWN
    does = (call for call in following.flow.calls if names.last(call.func) not in ("next", "iter"))
    if not all(_is_off(following, call, made) for call in does):
        return UNKNOWN
    maker = module.function_at(made.lineno)
    given = values.world.inside(maker, lambda inner: [inner.expr(node) for node in given_to(made)])
    loaders = [one for one in given if one.kind == "loader"]
    return element(values, loaders[0], None) if len(loaders) == 1 else UNKNOWN


def _is_off(method: Function, call: ast.Call, made: ast.Call) -> bool:
    """Whether a call stands behind `if self.device is not None`, and the object was made without that."""
    tests = (none_test(guard.test) for guard in method.flow.guards(call) if guard.true)
    return any(test is not None and not test[1] and _is_left_none(method, test[0], made) for test in tests)


def _is_left_none(method: Function, node: ast.expr, made: ast.Call) -> bool:
    """Whether an attribute is what its constructor was not given, and is None then."""
    name = own_attribute(method, node)
    stores = method.cls.stores.get(name, []) if method.cls is not None and name is not None else []
    if len(stores) != 1 or stores[0][0].name != "__init__":
        return False
    init, target = stores[0]
    stored = init.flow.parents.get(target)
    handed = handed_on(init, stored.value, made) if isinstance(stored, ast.Assign) else None
    return handed is not None and is_constant(handed.node, None)


def moved_part(values: Evaluator, base: Value, index: ast.expr | None) -> Value:
    """A part of something of unknown kind, which is where that was moved: what has names holds tensors under them."""
    if base.kind != "unknown" or not base.device:
        return UNKNOWN
    named = index is not None and isinstance(values.expr(index).const, str)
    return tensor(base.device, certainty=LIKELY) if named else Unknown(device=base.device)


def _is_read(values: Evaluator, node: ast.Subscript, base: Tensor) -> bool:
    """`loss.data[0]` of a single value: a number of Python in torch before 0.4, and an error since 0.5."""
    if not (isinstance(node.value, ast.Attribute) and node.value.attr == "data" and is_constant(node.slice, 0)):
        return False
    owner = node.value.value
    return base.scalar or (isinstance(owner, ast.Name) and owner.id in run_backward(values.function))


def _stayed(values: Evaluator, node: ast.Subscript) -> bool:
    """`batch["info"]["size"]`, where only the tensors of a batch were moved: what is found by two names is in a dictionary."""
    outer = node.value
    if not (isinstance(outer, ast.Subscript) and all(map(_is_word, (node.slice, outer.slice)))):
        return False
    holder = values.expr(outer.value)
    return holder.kind == "batch" and holder.flat


def _is_word(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def subscript(values: Evaluator, node: ast.Subscript) -> Value:
    base = values.expr(node.value)
    if base.kind == "dict" or (base.kind == "batch" and not base.from_loader):
        base = before_loop(values, node) or base
    kind = base.kind
    if kind == "batch" and isinstance(node.slice, ast.Slice):
        return base  # `batch[1:]`: some of what the batch is made of, or of its rows
    if base.kind == "batch" and base.entries and isinstance(key := known_key(values, node.slice), str):
        return batches.batch_entry(base, key)
    if base.kind == "batch" and base.parts:
        at = values.expr(node.slice).const
        part = batches.part_at(base, at) if type(at) is int else None
        if part is not None:
            return part
    if base.kind in ("tensor", "batch"):
        if kind == "tensor" and _stayed(values, node):
            return UNKNOWN
        if base.kind == "tensor" and _is_read(values, node, base):
            return NUMBER
        part = batches.batch_tensor(base) if base.kind == "batch" else base
        # What is not as the loader gave it, and has rows and columns, is a tensor.
        apart = not base.from_loader and "ndarray" not in base.other_kinds
        if apart and (has_slice(node.slice) or _is_row(values, node, base)):
            part = replace(part, certainty=PROVEN, other_kinds=frozenset())
        if kind == "tensor" and part.pinned and _gathers(values, node.slice):
            part = replace(part, pinned=None)
        return replace(part, scalar=False, made_by=None)
    index = _known_index(values, node, base)
    if kind in ("tuple", "list") and base.items is not None and isinstance(index, int):
        return base.items[index] if -len(base.items) <= index < len(base.items) else UNKNOWN
    if kind == "list" and base.element is not None:
        return base if isinstance(node.slice, ast.Slice) else base.element
    if kind == "tuple":
        return base if isinstance(node.slice, ast.Slice) else element(values, base, None)
    if base.kind == "dict":
        gaps = base.entries and index not in base.entries
        ends = ends_of_text(node.slice, lambda part: values.expr(part).const) if gaps else None
        if ends is not None and ((fitting := _fitting(base, ends)) or base.element is None):
            return fitting
        return batches.entry(base, None if _may_be_another(values, node, base) else index)
    if kind == "size":
        return SIZE if isinstance(node.slice, ast.Slice) else EXTENT
    if kind == "module":
        if base.entries is not None and isinstance(index, str):
            return base.entries.get(index, ModuleValue(LIKELY))
        if base.items is not None and isinstance(index, int) and -len(base.items) <= index < len(base.items):
            return base.items[index]
        if isinstance(node.slice, ast.Slice):
            # What a sequence gives is what the last one gives, which may be left out.
            return replace(base, items=None) if base.class_name == "torch.nn.Sequential" else base
        return base.element or ModuleValue(LIKELY)
    if kind == "ndarray":
        return NDARRAY if isinstance(node.slice, ast.Slice) or has_slice(node.slice) else ARRAY_OR_NUMBER
    if kind == "str":
        return STR
    if kind == "instance" and not isinstance(node.slice, ast.Slice):
        return sample_of(values, base) or _field(values, base, known_key(values, node.slice))
    found = moved_part(values, base, node.slice)
    named = string(node.slice) if kind == "unknown" and not found else None
    return DEVICE if named is not None and common_names.DEVICE_NAME.search(named) else found


def _may_be_another(values: Evaluator, node: ast.Subscript, base: Value) -> bool:
    """Whether functions are chosen by a word that is one on some paths alone: `losses[kind]` behind `if kind is None: kind = "ce"`."""
    chosen = bool(base.entries) and all(one.kind == "function" for one in (base.entries or {}).values())
    return chosen and bool(values.expr(node.slice).other_kinds)


def _field(values: Evaluator, base: Value, key: object) -> Value:
    """A field that an object of the project gives by its name, as one of transformers' `ModelOutput` does: `out["loss"]`."""
    if not isinstance(key, str) or base.class_ is None or values.world.method(base.class_, "__getitem__") is not None:
        return UNKNOWN
    return member(values, base, key)


def _fitting(base: Value, ends: tuple[str, str]) -> Value:
    """What a dictionary holds under the keys that a text with gaps may be; unknown where its own keys have gaps."""
    first, last = ends
    entries = base.entries or {}
    fit = [key for key in entries if len(key) >= len(first + last) and key.startswith(first) and key.endswith(last)]
    if not fit or any("{}" in key for key in entries):
        return UNKNOWN
    return replace(join_all([entries[key] for key in fit]), certainty=LIKELY)


def before_loop(values: Evaluator, node: ast.Subscript) -> Value | None:
    """A batch or dictionary as it was before the loop that goes over it, where that reads what it is going to put something in the place of."""
    binding, element = values.reach.get(node.value), values.reach.get(node.slice)
    if not isinstance(binding, Joined) or element is None or binding.number > element.number:
        return None
    over = iterated_by(values, node.slice)
    if over is None or not isinstance(binding.other, Stored | Joined) or not goes_over(values, node):
        return None
    loop = values.function.flow.statement(over)
    return values.bound(binding.one) if _is_stored_in(loop, binding.other, node) else None


def goes_over(values: Evaluator, target: ast.Subscript) -> bool:
    """Whether a loop goes over what a batch holds and puts something in its place: `for key in batch: batch[key] = ...`."""
    over = iterated_by(values, target.slice)
    while isinstance(over, ast.Call):
        is_view = isinstance(over.func, ast.Attribute) and over.func.attr in batches.VIEWS
        over = over.func.value if isinstance(over.func, ast.Attribute) and is_view else next(iter(over.args), None)
    return over is not None and key_of(over) is not None and key_of(over) == key_of(target.value)


def iterated_by(values: Evaluator, index: ast.expr) -> ast.expr | None:
    """What a loop goes over whose variable is an index, or the first one of several: `for i, x in enumerate(batch)`."""
    binding = values.reach.get(index)
    if isinstance(binding, Part) and binding.at == 0:
        binding = binding.whole
    return binding.node if isinstance(binding, Iterated) else None


def _is_stored_in(loop: ast.stmt, binding: Binding, node: ast.Subscript) -> bool:
    """Whether one of the paths through a loop puts something under the index that the loop reads."""
    if isinstance(binding, Joined):
        return _is_stored_in(loop, binding.one, node) or _is_stored_in(loop, binding.other, node)
    if not isinstance(binding, Stored) or key_of(binding.node.slice) != key_of(node.slice):
        return False
    return contains(loop, binding.node)


def _is_row(values: Evaluator, node: ast.Subscript, base: Value) -> bool:
    """`lengths[i]` of what was sent to the device: neither a mapping nor what a model gives."""
    sent = base.kind == "tensor" and base.device == "accelerator" and not (base.grad or base.other_kinds)
    return sent and values.expr(node.slice).kind == "number"


def _gathers(values: Evaluator, index: ast.expr) -> bool:
    """Whether an index copies what it picks, into memory of its own: `x[mask]`, `x[:, [0, 2]]`."""
    picked = (part for part in indices(index) if not isinstance(part, ast.Slice))
    return any(values.expr(part).kind in ("tensor", "list", "ndarray") for part in picked)


def _known_index(values: Evaluator, node: ast.Subscript, base: Value) -> object:
    """The constant that indexes a container whose parts are known one by one."""
    return known_key(values, node.slice) if base.items is not None or base.entries is not None else None


def known_key(values: Evaluator, index: ast.expr) -> object:
    """The constant that is an index; for a text with gaps, `f"loss_{name}"`, that with the gaps."""
    if isinstance(index, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in index.values]
        return "".join(map(str, parts)) if parts != ["{}"] else None
    return values.expr(index).const
