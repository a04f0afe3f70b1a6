"""What each kind of binding binds its name to."""

from __future__ import annotations

import ast

from ..system.regex import regex
from . import batches, module_calls, moves, names, narrowing, operations
from .bindings import (
    Announced,
    Around,
    Assigned,
    Augmented,
    Before,
    Binding,
    Captured,
    Changed,
    Declared,
    Defined,
    Handed,
    Iterated,
    Joined,
    Narrowed,
    Parameter,
    Part,
    Rest,
    Starred,
    Stored,
)
from .call_values import called_on
from .elements import element, goes_over, iterated_by, known_key, subscript
from .evaluator import Evaluator, Reader
from .fetched import fetched
from .left_out import left_out
from .literals import holds
from .members import attribute_of, by_operator, member
from .module import key_of
from .nodes import elements
from .promises import promised
from .values import (
    LIKELY,
    PROVEN,
    TENSOR,
    UNKNOWN,
    Batch,
    ClassValue,
    Dict,
    FunctionValue,
    Unknown,
    Value,
    join,
    join_all,
    replace,
    sequence,
)

_COUNTED = regex(r"(?:^|_)(?:iter|iteration|epoch|global_step)s?$")
"""What is called as what a run counts, and may be handed over beside a batch: `batch, train_iter = data`."""
KEYS = 200
"""How many keys of a dictionary that grows are known; each statement that adds one has a dictionary of its own."""


def _declared(values: Evaluator, binding: Declared) -> Value:
    value = values.expr(binding.node)
    if not value or value.kind == "none":
        return promised(values, binding.annotation) or value
    if value.kind == "tensor" and not value.proven and promised(values, binding.annotation).kind == "tensor":
        return replace(value, certainty=PROVEN, other_kinds=frozenset())
    return value


def _augmented(values: Evaluator, binding: Augmented) -> Value:
    node = binding.node
    target = node.target
    if binding.before is not None:
        before = values.bound(binding.before)
    elif isinstance(target, ast.Name):
        before = values.lookup(target.id, None)
    elif isinstance(target, ast.Attribute):
        before = member(values, values.expr(target.value), target.attr)
    else:
        before = subscript(values, target)
    if given := by_operator(values, before, node.op, in_place=True):
        return given
    value = operations.binary(before, values.expr(node.value), node.op)
    if before.is_tensor and before.device and value.kind == "tensor":
        return replace(value, device=before.device)  # in place: it stays where it is
    return value


def _part(values: Evaluator, binding: Part) -> Value:
    whole = binding.whole
    if isinstance(whole, Assigned) and binding.count is not None:
        reach, values.reach = values.reach, whole.reach
        alone = _part_of(values, whole.node, binding.at, binding.count)
        values.reach = reach
        if alone is not None:
            return alone
    value = values.bound(whole)
    if value.items is not None and len(value.items) == binding.count:
        return value.items[binding.at]
    if value.kind == "tuple" and binding.count is not None:
        fitting = [items for items in value.by_length if len(items) == binding.count]
        if fitting:
            return fitting[0][binding.at]
        if len({item.kind for item in value.items or ()}) > 1:
            return UNKNOWN  # it is another one, of another length
    if "tuple" in value.other_kinds and (fitting := _given_as(values, whole, binding.count)):
        return join_all([items[binding.at] for items in fitting])
    if (
        value.kind == "batch"
        and len(value.parts or ()) == binding.count
        and (part := batches.part_at(value, binding.at))
    ):
        return part
    each = element(values, value, None)
    if value.kind == "batch" and each.kind == "tensor" and binding.name in values.bindings.mappings:
        return batches.batch_held(each)
    if value.kind in ("batch", "tuple") and each.kind == "tensor" and _COUNTED.search(binding.name or ""):
        return replace(each, other_kinds=each.other_kinds | {"number"})
    moved = _move(whole.node) if value.kind == "tensor" and isinstance(whole, Assigned) else None
    if moved is not None and not _is_cast(values, moved):
        # `index, _, size = adjacency.to(device)`: nobody takes a tensor apart so; it is several things.
        return replace(each, other_kinds=each.other_kinds | {"tuple"})
    return each


def _given_as(values: Evaluator, whole: Binding, count: int | None) -> list[tuple[Value, ...]]:
    """The tuples of so many that the paths of a function of the project give, which gives other things on others: `boxes, scores, labels = net(x)`."""
    if isinstance(whole, Assigned) and isinstance(whole.node, ast.Name):
        whole = whole.reach.get(whole.node, whole)  # `boxes, scores, labels = outputs`
    call = whole.node if isinstance(whole, Assigned) else None
    if not isinstance(call, ast.Call) or not count:
        return []
    targets = values.world.targets(values.function, call)
    return [items for function in targets for items in values.world.returned_as(function, count)]


def returned_as(values: Evaluator, count: int) -> tuple[tuple[Value, ...], ...]:
    """The tuples of so many that a function gives on some of its paths, by itself or as what it calls gives them."""
    found: list[tuple[Value, ...]] = []
    for node in values.function.flow.returned:
        given = values.value(node)
        if given.items is not None and len(given.items) == count:
            found.append(given.items)
        elif isinstance(node, ast.Call) and "tuple" in given.other_kinds:
            for function in values.world.targets(values.function, node):
                found += values.world.returned_as(function, count)
    return tuple(found)


def _part_of(values: Evaluator, node: ast.expr, at: int, count: int) -> Value | None:
    """One of the things that are written out one by one, or that `accelerator.prepare` is given; the others are not looked at."""
    match node:
        case ast.Tuple(elts=given) | ast.List(elts=given):
            method = None
        case ast.Call(func=ast.Attribute(attr="prepare") as method, args=given, keywords=[]) if count > 1:
            pass
        case ast.GeneratorExp(elt=made, generators=[each]) | ast.ListComp(elt=made, generators=[each]) if (
            isinstance(each.iter, ast.Tuple | ast.List) and isinstance(each.target, ast.Name) and not each.ifs
        ):
            one = _part_of(values, each.iter, at, count)
            return None if one is None else called_on(values, made, each.target.id, one)
        case _:
            return None
    starred = any(isinstance(one, ast.Starred) for one in given)
    if method is None and starred and not any(isinstance(one, ast.Starred) for one in given[: at + 1]):
        return values.expr(given[at])  # `a` of `a, b = x, *rest`
    if len(given) != count or starred:
        return None
    if method is None:
        return values.expr(given[at])
    return operations.prepared(values.expr(given[at])) if _is_of_library(values, method) else None


def _is_of_library(values: Evaluator, method: ast.Attribute) -> bool:
    """Whether a method is that of Accelerate's or Fabric's own object, which nobody has replaced."""
    owner = values.expr(method.value) if method not in values.reach else UNKNOWN
    return owner.kind == "accelerator" and not owner.class_ and not owner.classes


def _narrowed(values: Evaluator, binding: Narrowed) -> Value:
    return tested(values, binding.node, binding.true)


def tested(values: Evaluator, test: ast.Call, true: bool) -> Value:
    """`if isinstance(x, (int, float))` and `torch.is_tensor(x)` tell what x is inside, and what it is not elsewhere."""
    current = values.expr(test.args[0])
    if names.asked_for_method(test) is not None:
        return current if true else narrowing.left(current, TENSOR)
    if values.dotted(test.func) == "torch.is_tensor":
        return narrowing.kept(current, TENSOR) if true else narrowing.left(current, TENSOR)
    if values.dotted(test.func) != "isinstance" or len(test.args) != 2:
        return current
    kinds = elements(test.args[1])
    found = [promised(values, kind) for kind in kinds]
    if not true:
        for kind in found:
            current = narrowing.left(current, kind)
        return current
    if not any(found) and narrowing.may_be_tensor(current) and not any(_may_name_tensors(values, one) for one in kinds):
        return Unknown(PROVEN)  # whatever the rest of the function does with it
    if len(found) == 1 or (found[0] and all(kind.kind == found[0].kind for kind in found)):
        return narrowing.kept(current, join_all(found))
    return narrowing.kept_of(current, frozenset(kind.kind for kind in found)) if all(found) else current


def _may_name_tensors(values: Evaluator, kind: ast.expr) -> bool:
    """Whether a type of a library, or what is no plain name of one, may be a tensor's: `DTensor`, not `Picture`."""
    name = (values.dotted(kind) or "").rpartition(".")[2]
    return not name[:1].isupper() or name.endswith(_OF_TENSORS)


_OF_TENSORS = ("Tensor", "Parameter", "Variable", "Buffer")


def _joined(values: Evaluator, binding: Joined) -> Value:
    held = holds(values, binding.test) if binding.test is not None else None
    if held is not None:
        return values.bound(binding.one if held else binding.other)
    if binding.test is not None and _is_fetched(values, binding.one, binding.test):
        return values.bound(binding.one)
    return join(values.bound(binding.one), values.bound(binding.other))


def _is_fetched(values: Evaluator, one: Binding, test: ast.expr) -> bool:
    """`if cfg.NUM_GPUS: x = x.cpu()`, and nothing else where there is none."""
    name = fetched(test, one.node) if isinstance(one, Assigned) else None
    if name is None:
        return False
    assert isinstance(one, Assigned)
    parents = values.function.flow.parents
    statement = parents.get(one.node)
    if not isinstance(statement, ast.Assign) or key_of(statement.targets[0]) != name:
        return False
    around = parents.get(statement)
    return isinstance(around, ast.If) and not around.orelse


def _changed(values: Evaluator, binding: Changed) -> Value:
    node = binding.node
    function = node.func
    assert isinstance(function, ast.Attribute)
    base = values.expr(function.value)
    attr = function.attr
    move = "to" if attr == "to_device" else attr
    if base.kind == "batch" and move in moves.MOVES and isinstance(values.function.flow.parents.get(node), ast.Expr):
        # Nobody asks for what it gives: it moves itself.
        return batches.with_left(moves.move(base, move, values.arguments(node)), base.left)
    if base.kind not in ("module", "list", "dict"):
        return base
    args = values.arguments(node)
    if base.kind == "module" and attr in ("to", "cuda", "cpu", "train", "eval"):
        if base.class_ is not None and values.world.method(base.class_, attr):
            return base
        return module_calls.module_method(base, attr, node, args) or base
    if base.kind == "list" and attr in ("append", "add", "insert", "extend", "appendleft"):
        added = args.positional[-1] if args.positional else UNKNOWN
        if attr == "extend":
            # What an array holds may be rows, or numbers.
            added = element(values, added, None) if added.kind != "ndarray" else UNKNOWN
        elem = join(base.element, added) if base.element is not None else added
        return replace(base, element=elem, items=None)
    if base.kind == "dict" and attr == "setdefault":
        key = known_key(values, node.args[0]) if len(args.positional) > 1 else None
        begun = {key: args.positional[1]} if isinstance(key, str) else {}
        merged = {**begun, **(base.entries or {})}
        return replace(base, entries=merged if len(merged) <= KEYS else None) if begun else base
    if base.kind == "dict" and attr == "update":
        given = args.first.entries if args.positional else None
        merged = {**(base.entries or {}), **(given or {}), **({} if args.positional else args.keywords)}
        return replace(base, entries=merged if len(merged) <= KEYS else None)
    return base


def _handed(values: Evaluator, binding: Handed) -> Value:
    """`to_device(batch, device)` of a function that puts what it sent in the place of each thing that a batch holds."""
    whole = values.expr(binding.given)
    if not isinstance(whole, Batch) or whole.device == "accelerator":
        return whole
    targets = values.world.targets(values.function, binding.node)
    name = targets[0].parameter_given(binding.node, binding.given) if len(targets) == 1 else None
    if name is None:
        return whole
    moved = values.world.inside(targets[0], lambda inner: _left_in(inner, name))
    return whole if moved is None else replace(moved, certainty=min(whole.certainty, moved.certainty))


def _left_in(values: Evaluator, name: str) -> Batch | None:
    """The batch of a parameter with what the one statement that writes into it sent in the place of what it held; None where that sends nothing."""
    written = [one for one in values.bindings.all if isinstance(one, Stored) and key_of(one.node.value) == name]
    nodes = {one.node for one in written}
    moved = values.bound(written[-1]) if len(nodes) == 1 else None
    return moved if isinstance(moved, Batch) and moved.device == "accelerator" and not moved.from_loader else None


def _stored(values: Evaluator, binding: Stored) -> Value:
    """`d["k"] = v` adds a key to a dictionary that is known; into a list or an unknown dict it joins the elements."""
    target = binding.node
    holder = values.expr(target.value)
    if holder.kind == "batch":
        return _put_into(values, holder, binding)
    if holder.kind in ("unknown", "module") and not holder.proven:
        return _put_into_unknown(values, holder, target, binding)
    if holder.kind not in ("dict", "list"):
        return holder
    value = values.bound(binding.value)
    key = known_key(values, target.slice)
    if holder.kind == "dict" and isinstance(key, str):
        keys = holder.entries or {}
        if len(keys) < KEYS:
            holder = replace(holder, entries={**keys, key: value})
        elif key in keys:
            holder = replace(holder, entries=None)
        if isinstance(target.slice, ast.Constant):
            return holder
    return replace(holder, element=join(holder.element, value) if holder.element is not None else value)


def _put_into(values: Evaluator, batch: Batch, binding: Stored) -> Batch:
    """A batch that something is put into: under a name, or what was sent to the device in place of each that it holds."""
    target, value = binding.node, values.bound(binding.value)
    key = known_key(values, target.slice)
    keys = [key] if isinstance(key, str) else _keys_of(values, target)
    if keys:
        entries = {**(batch.entries or {}), **dict.fromkeys(keys, value)}
        return replace(batch, entries=entries if len(entries) <= KEYS else None)
    if value.kind != "tensor" or value.from_loader or not (value.device == "accelerator" or _sends(binding.value)):
        return batch
    if not goes_over(values, target):
        return batch
    kept = left_out(values.function.flow.guards(target), key_of(target.slice))
    if kept is None:
        return batch
    left = {key: batches.batch_entry(batch, key) for key in kept}
    flat = _moves_tensors_alone(values, binding)
    return replace(batch, device=value.device, from_loader=False, entries=left or None, flat=flat)


def _moves_tensors_alone(values: Evaluator, binding: Stored) -> bool:
    """`batch[key] = x.cuda()`, which no dictionary has, or behind `isinstance(x, torch.Tensor)`."""
    moved = binding.value.node if isinstance(binding.value, Assigned) else None
    if isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute) and moved.func.attr == "cuda":
        return True
    asked = (guard.test for guard in values.function.flow.guards(binding.node) if guard.true)
    return any(_asks_for_tensor(values, test) for test in asked)


def _asks_for_tensor(values: Evaluator, test: ast.expr) -> bool:
    """`torch.is_tensor(x)`, `isinstance(x, torch.Tensor)`"""
    if not isinstance(test, ast.Call) or not test.args:
        return False
    asked = values.dotted(test.func)
    return asked == "torch.is_tensor" or (asked == "isinstance" and values.dotted(test.args[-1]) == "torch.Tensor")


def _put_into_unknown(values: Evaluator, holder: Value, target: ast.Subscript, binding: Stored) -> Value:
    """What nobody knows and gets a key: a dictionary of which that one key is known, or a batch that was moved."""
    key = known_key(values, target.slice)
    if not isinstance(key, str) or holder.on_cpu:
        return holder
    entries = {key: values.bound(binding.value)}
    if holder.device:
        return Batch(LIKELY, device=holder.device, entries=entries)
    return Dict(LIKELY, entries=entries)


def _keys_of(values: Evaluator, target: ast.Subscript) -> list[str]:
    """The names that a loop puts something under: `for key in ("x", "y"): batch[key] = ...`."""
    over = iterated_by(values, target.slice)
    found = [values.expr(one).const for one in over.elts] if isinstance(over, ast.Tuple | ast.List) else []
    return [one for one in found if isinstance(one, str)]


def _defined(values: Evaluator, binding: Defined) -> Value:
    node, module = binding.node, values.function.module
    if isinstance(node, ast.ClassDef):
        return ClassValue(class_=module.class_of.get(node))
    functions = module.top_functions if values.function is module.body else values.function.nested
    return FunctionValue(function=functions.get(node.name))


def _before(values: Evaluator, binding: Before) -> Value:
    node = binding.node
    if isinstance(node, ast.Name):
        return values.answers.of(node.id, values.outer)
    return attribute_of(values, values.expr(node.value), node)


def _sends(binding: Binding) -> bool:
    """Whether a statement moves what it binds, wherever to: `batch[key] = batch[key].to(args.device)`."""
    return isinstance(binding, Assigned) and _move(binding.node) is not None


def _move(node: ast.expr) -> ast.Call | None:
    """The call that an expression is where it sends something to a device: `x.to(device)`."""
    return node if isinstance(node, ast.Call) and names.last(node.func) in moves.SENDING else None


def _is_cast(values: Evaluator, call: ast.Call) -> bool:
    return bool(call.args) and values.expr(call.args[0]).kind == "dtype"


BINDINGS: dict[type[Binding], Reader] = {
    Assigned: lambda values, binding: values.expr(binding.node),
    Declared: _declared,
    Announced: lambda values, binding: promised(values, binding.annotation),
    Augmented: _augmented,
    Part: _part,
    Starred: lambda values, binding: sequence(values.bound(binding.each)),
    Iterated: lambda values, binding: element(values, values.expr(binding.node), binding.node),
    Narrowed: _narrowed,
    Changed: _changed,
    Handed: _handed,
    Stored: _stored,
    Joined: _joined,
    Defined: _defined,
    Captured: lambda values, binding: UNKNOWN,
    Before: _before,
    Parameter: lambda values, binding: operations.by_name(binding.name),  # of a lambda
    Around: lambda values, binding: values.around(binding.name),
    Rest: lambda values, binding: values.world.keywords(values.function),
}
