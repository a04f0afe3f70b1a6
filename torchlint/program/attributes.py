"""What the attributes of a class are: what its methods, its body and its bases say of `self.name`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ..facts import layers, left_on_host, names
from ..facts.calls import calculated
from ..facts.evaluator import Evaluator
from ..facts.keyword_attributes import keeps_keywords
from ..facts.module import Class, Function
from ..facts.moves import MOVES
from ..facts.nodes import given_to, receiver_of
from ..facts.promises import promised
from ..facts.values import BOOL, LIKELY, UNKNOWN, Device, ModuleValue, Tensor, Value, join, join_all, replace
from ..system.stamp import as_bytes
from . import mixins
from .texts import MAX_SITES

_PREPARING = ("Accelerator", "Fabric")
_TAKE_TO_DEVICE = (*sorted(MOVES), "prepare", "prepare_model", "setup", "setup_module")


class Code(Protocol):
    """What is asked of the project."""

    def bases(self, klass: Class) -> list[Class]: ...
    def base_name(self, klass: Class, base: ast.expr) -> str | None: ...
    def value(self, function: Function, node: ast.expr) -> Value: ...
    def inside(self, function: Function, ask: Callable[[Evaluator], Value]) -> Value: ...
    def inherited(self, klass: Class, name: str) -> Value: ...
    def declared(self, klass: Class, name: str) -> Value: ...
    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def keywords(self, function: Function) -> Value: ...
    def registering(self, klass: Class, name: str) -> Sequence[tuple[Function, ast.Call]]: ...
    def evaluator_given(self, function: Function, given: Mapping[str, Value]) -> Evaluator: ...


class Kin(Code, mixins.Code, Protocol):
    """What is asked of the project where classes have heirs."""

    def lineage(self, name: str) -> frozenset[str]: ...
    def subclasses(self, klass: Class) -> list[Class]: ...
    def writes(self, path: str, text: str) -> bool: ...


_SIZED = frozenset(("empty", "zeros", "ones", "Tensor", "FloatTensor", "LongTensor"))
"""What is given the size of a tensor, or as `tensor` a list of its elements."""


def stored(code: Code, klass: Class, name: str) -> Value:
    """What the methods of a class, or of its bases, assign to `self.name`."""
    values = [code.value(method, target) for method, target in _left(code.attribute_stores(klass, name))]
    registering = code.registering(klass, name)
    if values and registering:
        values.append(_registered(code, klass, registering))
    if values:
        known = [v for v in values if v.kind not in ("unknown", "none")]
        known = [v for v in known if not _is_placeholder(v)] or known
        # A number beside an entry of a checkpoint, which may be anything, is a number.
        known = [v for v in known if not v.may_be_anything] or known
        if not known:
            return code.declared(klass, name) or _trained(klass, name) or values[0]
        value = join_all(known)
        value = _with_added(code, klass, name, value)
        if value.element is None and (value.kind == "list" or _is_only_appended_to(klass, name, value)):
            value = replace(value, element=_appended(code, klass, name))
        elif all(map(_is_empty_dict, values)):
            value = replace(value, element=_filled(code, klass, name))
        return value if len(known) == len(values) else replace(value, other_kinds=frozenset(("none",)))
    if registering:
        return _registered(code, klass, registering)
    statement = klass.assigned.get(name)
    if statement is not None:
        return _left_behind(klass, name, _given_by_name(code, klass, name, _class_level(code, klass, statement)))
    for base in code.bases(klass):
        value = code.inherited(base, name)
        if value:
            return _with_added(code, klass, name, value)
    if name == "bias" and any(code.base_name(klass, base) in layers.FLAGGED_BIAS for base in klass.bases):
        return BOOL
    return UNKNOWN


def _left(stores: Sequence[tuple[Function, ast.expr]]) -> Sequence[tuple[Function, ast.expr]]:
    """The assignments to an attribute that no later one of the same method takes the place of, behind no condition: the last of `self.sigmas = cat(...)`, `self.sigmas = self.sigmas.to("cpu")`."""
    if len(stores) < 2:
        return stores
    last = {
        method: target.lineno
        for method, target in sorted(stores, key=lambda one: one[1].lineno)
        if method.flow.parents.get(method.flow.statement(target)) is method.node
    }
    return [one for one in stores if one[1].lineno >= last.get(one[0], 0) or _may_end(*one, last[one[0]])]


def _may_end(method: Function, target: ast.expr, before: int) -> bool:
    """Whether a method may return behind an assignment, before a line."""
    return any(isinstance(one, ast.Return) and target.lineno < one.lineno < before for one in method.flow.nodes)


def stored_by_heirs(code: Kin, klass: Class, name: str, value: Value) -> Value:
    """What objects of subclasses hold as `self.name`, of which the class says nothing, or only None: a base that trains the `self.net` of its heirs.

    `value` is what it says itself.
    """
    is_none = value.kind == "none"
    if (
        code.method(klass, name) is not None
        or not 0 < len(code.heirs(klass.name)) <= mixins.MOST
        or (not is_none and any(name in one.stores for one in code.ancestry(klass)))
    ):
        return value
    # What heirs store is in their files, or in those of their other bases.
    may_hold = any(code.writes(path, f"self.{name}") for path in code.lineage(klass.name))
    heirs = code.subclasses(klass) if may_hold or mixins.joining(code, klass) else []
    known = [held for heir in heirs if (held := code.inherited(heir, name)) and held.kind != "none"]
    return join_all([*([value] if is_none else []), *known]) if known else value


def _is_placeholder(value: Value) -> bool:
    """Whether a tensor was made without elements, to be filled later, wherever that is: `torch.empty(0)`, `torch.tensor([])`."""
    call = value.made_by if value.kind == "tensor" else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or names.last(call.func) not in (*_SIZED, "tensor"):
        return False
    given = call.args[0]
    if isinstance(given, ast.Constant):
        return given.value == 0 and names.last(call.func) in _SIZED
    return isinstance(given, ast.List) and not given.elts


def _registered(code: Code, klass: Class, calls: Sequence[tuple[Function, ast.Call]]) -> Value:
    """A buffer, of which only the values of its elements are as they were: `register_buffer("ready", torch.tensor(False))`.

    Or what a method of the class sets by its name: `def keep(self, name, x): setattr(self, name, x.to(device))`.
    """
    method, call = calls[-1]
    called = names.last(call.func)
    if called in klass.methods and called in klass.setters:
        return join_all([_set(code, klass, *one) for one in calls])
    value = code.value(method, call.args[1]) if len(call.args) > 1 else UNKNOWN
    left_out = frozenset(("none",)) & (value.other_kinds | {value.kind})
    if value.kind != "tensor" or not value.proven:
        return Tensor(parameter=True, other_kinds=left_out)
    device: Device = "cpu" if value.device == "cpu" and _prepares_parts(code, method) else ""
    return Tensor(parameter=True, device=device, boolean=value.boolean, scalar=value.scalar, other_kinds=left_out)


def _set(code: Code, klass: Class, function: Function, call: ast.Call) -> Value:
    """What a call of a method sets an attribute to."""
    setter = names.last(call.func)
    method, stored = klass.methods[setter], klass.setters[setter].args[2]
    given = ((one.arg, method.argument(call, one.arg)) for one in method.parameters[1:])
    known = {name: code.value(function, node) for name, node in given if node is not None}
    return code.evaluator_given(method, known).value(stored)


def _prepares_parts(code: Code, init: Function) -> bool:
    """Whether a method makes an Accelerator, or a Fabric, that moves what the object holds, and the class moves no whole object.

    A trainer of that kind is a module for its `state_dict` alone: its own buffers stay where they are made.
    """
    made = [call for name in _PREPARING for call in init.flow.calls_named(name)]
    if init.cls is None or not any(code.value(init, call).kind == "accelerator" for call in made):
        return False
    methods = init.cls.methods.values()
    calls = [(method, call) for method in methods for name in _TAKE_TO_DEVICE for call in method.flow.calls_named(name)]
    return not any(
        isinstance(one, ast.Name) and one.id == method.own_name
        for method, call in calls
        for one in (receiver_of(call), *given_to(call))
    )


def declared(code: Code, klass: Class, name: str) -> Value:
    """What the body of a class, or of one of its bases, says `self.name` is."""
    statement = klass.assigned.get(name)
    if isinstance(statement, ast.AnnAssign):
        return _class_level(code, klass, statement)
    for base in code.bases(klass):
        declared = code.declared(base, name)
        if declared:
            return declared
    return UNKNOWN


def _trained(klass: Class, name: str) -> Value:
    """A module, where the file of a class says `self.name.parameters()` or `self.name.eval()`, or that one takes the state of the other."""
    uses = (
        f"self.{name}.eval()",
        f"self.{name}.parameters()",
        f"self.{name}.named_parameters()",
        f"self.{name}.load_state_dict(self.",
        f"load_state_dict(self.{name}.state_dict(",
    )
    return ModuleValue(LIKELY) if any(klass.module.source.holds(as_bytes(use)) for use in uses) else UNKNOWN


def _appended(code: Code, klass: Class, name: str) -> Value | None:
    """What the methods of a class append to the list `self.name`; None where that is not known."""
    if not klass.module.source.holds(as_bytes(f".{name}.append(")):
        return None
    values = [
        code.value(method, call.args[0])
        for method in klass.methods.values()
        for call in method.flow.calls_named("append")
        if len(call.args) == 1 and names.chain(call.func) == [method.own_name, name, "append"]
    ]
    return join_all(values) or None if values and len(values) <= MAX_SITES else None


def _with_added(code: Code, klass: Class, name: str, begun: Value) -> Value:
    """A number that `self.name` begins as, in a base perhaps, with what the methods of the class make of it."""
    return join(begun, _added(code, klass, name) or begun) if begun.kind == "number" and not begun.boolean else begun


def _added(code: Code, klass: Class, name: str) -> Value | None:
    """What the number `self.name` becomes that methods of a class add tensors to, and never a number; else None."""
    if not klass.module.source.holds(as_bytes(f".{name} +=")):
        return None
    added = [
        code.value(method, node.value)
        for method in klass.methods.values()
        for node in method.flow.counted.get(f"{method.own_name}.{name}", ())
    ]
    sure = all(value.is_tensor and "number" not in value.other_kinds for value in added)
    return calculated(join_all(added)) if added and sure else None


def _filled(code: Code, klass: Class, name: str) -> Value | None:
    """The numbers or tensors that methods of a class store in the dictionary `self.name` under keys that they don't write out; else None."""
    if not klass.module.source.holds(as_bytes(f".{name}[")):
        return None
    if any(klass.module.source.holds(as_bytes(f".{name}.{method}(")) for method in ("update", "setdefault")):
        return None
    stores = [
        (method, method.flow.parents[target])
        for method in klass.methods.values()
        for target in method.flow.stored_in.get(f"{method.own_name}.{name}", ())
        if not isinstance(target.slice, ast.Constant)
    ]
    # What is counted up, `self.seen[key] += 1`, stays what it is.
    given = [(method, store) for method, store in stores if not isinstance(store, ast.AugAssign)]
    if not 0 < len(given) <= MAX_SITES:
        return None
    values = [code.value(method, store.value) for method, store in given if isinstance(store, ast.Assign)]
    each = join_all(values) if len(values) == len(given) and all(values) else UNKNOWN
    return each if each.kind in ("number", "tensor") else None


def _class_level(code: Code, klass: Class, statement: ast.AnnAssign | ast.Assign) -> Value:
    # A field of a dataclass: the default of an option, good enough to fold `step % args.every`.
    value = code.value(klass.parent, statement.value) if statement.value is not None else UNKNOWN
    if isinstance(statement, ast.AnnAssign) and (not value or value.kind == "none"):
        annotation = statement.annotation
        promise = code.inside(klass.parent, lambda values: promised(values, annotation))
        return replace(promise, other_kinds=promise.other_kinds | {"none"}) if promise and value else promise
    if value.kind == "str" and value.const == "cpu" and isinstance(statement, ast.AnnAssign):
        # `device: str = "cpu"`: where it runs who has an accelerator says, as on a command line.
        return replace(value, const=None)
    return value


def _given_by_name(code: Code, klass: Class, name: str, value: Value) -> Value:
    """What the body of a class says of an attribute, or what stands in its place where its objects keep what they are given by name."""
    init = code.method(klass, "__init__") if value.const is not None else None
    if init is None or not keeps_keywords(init):
        return value
    given = code.keywords(init)
    if given.entries is None:  # of which one knows no more than that it may be anything
        return replace(value, const=None) if given.element is not None else value
    other = given.entries.get(name)
    return value if other is None else join(value, other) if "none" in other.other_kinds else other


def _left_behind(klass: Class, name: str, value: Value) -> Value:
    """A field that is annotated as a tensor, and is where it was made: its object moves others to the device, and not this one."""
    if value.kind != "tensor" or value.device or not left_on_host.is_left(klass, name):
        return value
    return replace(value, certainty=LIKELY, device="cpu")


def _is_only_appended_to(klass: Class, name: str, value: Value) -> bool:
    """Whether `self.name` is a `ModuleList` that nothing but `append` fills, as far as the file of the class says."""
    if not isinstance(value, ModuleValue) or value.class_name != "torch.nn.ModuleList":
        return False
    return not any(klass.module.source.holds(as_bytes(f".{name}{other}")) for other in (".extend(", ".insert(", " +="))


def _is_empty_dict(value: Value) -> bool:
    return value.kind == "dict" and value.element is None and not value.entries
