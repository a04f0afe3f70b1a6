"""What makes the host wait for a value of the device: shared by the rules on host-device synchronization."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from ..system.regex import regex
from ..text.normal_form import KINDS_OF_NODES, PairedAssign
from ..torch_api.operators import operator
from . import arguments, common_names, given_numbers, hot_calls, names, runs, syntax
from .backward_passes import gone_through
from .bindings import Assigned, Binding, Changed, Iterated, Joined, Part, Sent, leaves
from .copies import JOINS
from .flow import contains
from .frequency import in_forward, severity
from .met_on_host import is_met_on_host
from .module import Function, Module
from .nodes import FLAGS, given_to, is_constant, keyword_of, receiver_of, root_of, steps
from .place import Place
from .results import Origins
from .sending import sent_later
from .sent_by_callers import is_sent_by_callers
from .single_values import run_backward
from .syntax import block
from .values import LIKELY, PROVEN, Certainty, Value, is_host_tensor

Read = TypeVar("Read", bound=ast.expr)

_LOSS = regex(r"(?:^|_)loss$")
_NORM = regex(r"(?:^|_)(?:grad|gradient|total)_norm$")
_LOSSES = regex(r"(?:^|_)loss(?:es|_dict)?$")
_KEY_OF_LOSS = regex(r"(?:^|[_/.\- ])loss(?:$|[_/\-])", re.IGNORECASE)
_CASTS = frozenset(("float", "int", "bool", "complex"))
MATH = tuple("sqrt exp log log2 log10 log1p floor ceil trunc fabs isnan isinf isfinite sin cos tanh pow".split())
"""Functions of Python's `math` that make a number of a tensor first."""
READERS = ("fairseq.utils.item",)
"""Functions of libraries that read what they are given, where it is a tensor: `x.item() if hasattr(x, "item") else x`."""


# Where a value lives


def device_tensor(place: Place, node: ast.expr, certainty: Certainty = PROVEN) -> ast.expr | None:
    """The part of an expression that is a tensor in device memory, seen through `.detach().cpu()` around it; or None.

    A field of a batch that was not moved yet is in host memory.
    """
    found = _on_device(place, node, certainty)
    if found is None or not _near_accelerator(place) or _gets_numbers(place, found):
        return None
    if not place.value(found).device and is_sent_by_callers(place, found):
        return None
    return found if not hot_calls.is_host_by_them(place, found) and not is_met_on_host(place, found) else None


_COPYING = frozenset(("cpu", "numpy", "tolist"))


def is_on_device(place: Place, node: ast.expr, certainty: Certainty = PROVEN) -> bool:
    """Whether an expression itself is a tensor in device memory."""
    return not place.value(node).on_cpu and device_tensor(place, node, certainty) is not None


def _on_device(place: Place, node: ast.expr, certainty: Certainty) -> ast.expr | None:
    """The same, whatever the program runs on."""
    while True:
        value = place.value(node)
        if value.kind != "tensor" or value.from_loader:
            return None
        if _counts_packed(place, node) or (not value.device and _of_batch(place, node)):
            return None
        if not value.on_cpu:
            if not value.device and _is_made_of_host(place, node):
                return None
            if value.certainty < certainty or (not value.device and sent_later(place.flow, node)):
                return None
            return node if not is_sent_below(place, node) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            return None


def _is_made_of_host(place: Place, node: ast.expr) -> bool:
    """Whether something is what a library's function gave, which nobody knows, of a tensor of the host: `resize(torch.from_numpy(x), (3, 3))`."""
    name = root_of(node, ast.Attribute, ast.Call, ast.Subscript)
    bound = place.function.bindings.reach.get(name) if name is not None else None
    call = bound.node if isinstance(bound, Assigned) else None
    if not isinstance(call, ast.Call) or not call.args or place.value(call) or place.resolve(call.func) is None:
        return False
    given, *others = map(place.value, [*call.args, *(keyword.value for keyword in call.keywords)])
    return given.proven and given.on_cpu and not any(one.kind in ("tensor", "device", "module") for one in others)


def is_sent_below(place: Place, node: ast.expr) -> bool:
    """Whether a name is on the device only as the iteration before left it, and fresh from a loader on another way.

    `try: y = next(batches) ... except StopIteration: ...`, which may leave y as it is, in front of `y = y.to(device)`.
    """
    binding = place.function.bindings.reach.get(node)
    if not isinstance(node, ast.Name) or not isinstance(binding, Joined):
        return False
    found = [_bound_to(one) for one in leaves([binding])]
    values = [(one, place.value(one)) for one in found if one is not None]
    sent = [one for one, value in values if value.device == "accelerator"]
    fresh = any(value.from_loader or value.on_cpu for _, value in values if value.kind in ("tensor", "batch"))
    return fresh and bool(sent) and all(one.lineno > node.lineno for one in sent)


def _bound_to(binding: Binding | None) -> ast.expr | None:
    """What a name is assigned, or `x` of `x.clamp_(0)` that it was before that."""
    if isinstance(binding, Assigned):
        return binding.node
    if isinstance(binding, Changed) and isinstance(binding.node.func, ast.Attribute):
        return binding.node.func.value
    if isinstance(binding, Sent):
        return binding.name
    return None


def _gets_numbers(place: Place, node: ast.expr) -> bool:
    """Whether something is a parameter that gets numbers of all calls in the project, or calculated of such alone, whatever its annotation says."""
    if not place.flow.parameters or not isinstance(node, ast.Name | ast.BinOp | ast.Compare):
        return False
    return given_numbers.is_number(place.project, place.function, node)


def _near_accelerator(place: Place) -> bool:
    """Whether the program deals with an accelerator at the place, or at the evaluation loop that calls its function."""
    if place.accelerator:
        return True
    caller = place.warm_caller if place.role != "test" else None
    return caller is not None and place.at(*caller).accelerator


def _counts_packed(place: Place, node: ast.expr) -> bool:
    """Whether these are the `batch_sizes` of a packed sequence, or one of them: they are on the host, wherever the sequence is.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.PackedSequence.html
    """
    if not place.function.module.source.holds(common_names.PACKS):
        return False
    bound = place.function.bindings.reach.get(node) if isinstance(node, ast.Name) else None
    if isinstance(bound, Assigned) and isinstance(bound.node, ast.Subscript):
        node = bound.node  # `largest = batch_sizes[0]`
    while True:
        match node:
            case (
                ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(attr="detach" | "long" | "clone", value=inner))
            ):
                node = inner
            case _:
                break
    return names.last(node) == "batch_sizes"


def _of_batch(place: Place, node: ast.expr) -> bool:
    """Whether a tensor is calculated from fields of a batch alone, none of which was moved yet."""
    if isinstance(node, ast.Name):
        return place.value(node).from_loader or place.once(("of batch", node), lambda: _is_bound_to_batch(place, node))
    if isinstance(node, ast.UnaryOp):
        return _of_batch(place, node.operand)
    if isinstance(node, ast.Subscript | ast.Attribute) and place.value(node.value).kind != "batch":
        # `mask.max(1)[0]`, `mask.sort().values`; what is under a key may have been put there.
        return place.value(node).from_loader or _of_batch(place, node.value)
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call):
        parts = given_to(node)
        if place.resolve(node.func) is None:
            if not isinstance(node.func, ast.Attribute) or node.func.attr in _MOVES or _runs_model(place, node):
                return False
            parts.append(node.func.value)
        elif not (place.resolve(node.func) or "").startswith("torch.") and not _reduces(place, node):
            return False
        elif names.last(node.func) in JOINS and isinstance(
            joined := node.args[0] if node.args else None, ast.Tuple | ast.List
        ):
            return any(_of_batch(place, one) for one in joined.elts)  # what is joined lies in one place
    else:
        return place.value(node).from_loader
    tensors = [part for part in parts if place.value(part).kind == "tensor"]
    return bool(tensors) and all(_of_batch(place, part) for part in tensors)


def _reduces(place: Place, call: ast.Call) -> bool:
    """Whether a builtin gives one of the elements of what it is given, or their sum: `max(lengths)`."""
    return place.resolve(call.func) in _REDUCES and len(call.args) == 1


def _runs_model(place: Place, call: ast.Call) -> bool:
    """Whether a call is of a model, or of one of its methods that runs modules: those are on the device, and so is what they give."""
    assert isinstance(call.func, ast.Attribute)
    if place.value(call.func).kind == "module":
        return True
    return place.value(call.func.value).kind == "module" and any(map(place.runs_module, place.may_run(call)))


def _is_bound_to_batch(place: Place, name: ast.Name) -> bool:
    """Whether a name is what was calculated so, or a part of that: `_, found = batch.max(1)`, `for start, end in zip(places[:-1], places[1:])`."""
    bound = place.function.bindings.reach.get(name)
    binding = bound.whole if isinstance(bound, Part) else bound
    if isinstance(binding, Iterated):
        rows = binding.node
        if isinstance(bound, Part):
            several = rows.args if isinstance(rows, ast.Call) and names.last(rows.func) == "zip" else []
            if not 0 <= bound.at < len(several):
                return False
            rows = several[bound.at]
        return place.value(rows).kind == "tensor" and _of_batch(place, rows)
    if not isinstance(binding, Assigned) or isinstance(binding.node, ast.Tuple | ast.List):
        return False
    return _of_batch(place, binding.node)


_REDUCES = ("max", "min", "sum")
_MOVES = frozenset(("to", "cuda", "xpu", "npu", "type", "type_as", "to_device"))


# Scalar reads


def scalar_read(place: Place, call: ast.Call) -> ast.expr | None:
    """The device tensor that `t.item()`, `float(t)`, `int(t)`, `bool(t)` or `math.sqrt(t)` reads."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in ("get_scale", "state_dict"):
        is_scale = _gives_scale(place, call, func) if func.attr == "state_dict" else _is_scaler(place, func.value)
        return func.value if is_scale and place.accelerator else None
    if isinstance(func, ast.Attribute) and func.attr == "item" and not (call.args or call.keywords):
        value = place.value(func.value)
        if value.only_tested:
            return None
        if not value and value.device == "accelerator":
            return func.value if _near_accelerator(place) else None  # what was moved there, and has an `item()`
        return device_tensor(place, func.value, LIKELY) or _loss(place, func.value) or _result(place, func.value)
    if not call.args or call.keywords:
        return None
    name = place.resolve(func)
    if name in READERS and not place.project.targets(place.function, call):  # a project's own is told of where it reads
        return device_tensor(place, call.args[0], LIKELY)
    if (name in _CASTS and len(call.args) == 1) or (name is not None and name.startswith("math.")):
        read = next((arg for arg in call.args if device_tensor(place, arg) is not None), None)
        if read is None and name == "float" and place.hot is not None and _is_of_graph(place, call.args[0]):
            return device_tensor(place, call.args[0], LIKELY)
        if read is None and name == "float" and isinstance(term := call.args[0], ast.Name):
            return _loss(place, term) if place.hot is not None and term.id in run_backward(place.function) else None
        if read is None or name in _CASTS:
            return read
        # What is a number on some paths is one where `math` calculates with it; but a sum begins as one.
        named = isinstance(read, ast.Name | ast.Attribute)
        as_number = (not named and "number" in place.value(read).other_kinds) or _is_given_as_number(place, read)
        return None if as_number else read
    return None


def _is_given_as_number(place: Place, node: ast.expr) -> bool:
    """Whether something is what a call gives that may give a number, or is calculated of such."""
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.BinOp):
            todo += (part.left, part.right)
            continue
        bound = place.function.bindings.reach.get(part) if isinstance(part, ast.Name) else None
        made = bound.node if isinstance(bound, Assigned) else part
        if isinstance(made, ast.Call) and "number" in place.value(made).other_kinds:
            return True
    return False


def _is_of_graph(place: Place, node: ast.expr) -> bool:
    """Whether something is what a model or a loss likely gave, or is taken out of a graph: `stats["loss"].detach()`."""
    taken = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"
    return taken or _is_of_model(place, node)


def _is_of_model(place: Place, node: ast.expr) -> bool:
    """Whether something is what a model or a loss likely gave, and not one of several results, of which some may be numbers."""
    value = place.value(node)
    return value.grad and not value.other_kinds and not isinstance(place.function.bindings.reach.get(node), Part)


def _is_scaler(place: Place, node: ast.expr) -> bool:
    """A GradScaler, or what is called one and may be: it is not known to be anything else that has a scale."""
    value = place.value(node)
    if value.kind == "scaler" or names.last(node) not in _SCALERS or value.proven:
        return value.kind == "scaler" and not _is_off(value)
    return not value or (value.class_ is not None and place.project.method(value.class_, "get_scale") is None)


def _is_off(scaler: Value) -> bool:
    """`GradScaler(enabled=False)`, whose scale is a number of Python."""
    return isinstance(scaler.made_by, ast.Call) and is_constant(keyword_of(scaler.made_by, "enabled"), False)


def _gives_scale(place: Place, call: ast.Call, func: ast.Attribute) -> bool:
    """`scaler.state_dict()["scale"]`, of a GradScaler or of what gives on the state of one."""
    part = place.flow.parents.get(call)
    if not (isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and part.slice.value == "scale"):
        return False
    scaler = place.value(func.value)
    if scaler.kind == "scaler":
        return not _is_off(scaler)
    targets = place.project.targets(place.function, call)
    return bool(targets) and all(_hands_state_on(place, target) for target in targets)


def _hands_state_on(place: Place, method: Function) -> bool:
    """`return self._scaler.state_dict()`, and nothing else."""
    given = [node.value for node in method.flow.returns]
    if len(given) != 1 or not isinstance(given[0], ast.Call) or not isinstance(given[0].func, ast.Attribute):
        return False
    func = given[0].func
    return func.attr == "state_dict" and place.project.value(method, func.value).kind == "scaler"


_SCALERS = frozenset(("scaler", "grad_scaler", "amp_scaler", "_scaler"))


# Copies

_OF_MODULES = frozenset(("parameters", "named_parameters", "buffers", "modules", "state_dict", "train", "eval"))
"""What modules have and tensors have not: `model.cpu().parameters()`."""


def host_copy(place: Place, call: ast.Call, certainty: Certainty = PROVEN) -> ast.expr | None:
    """The device tensor that `.cpu()`, `.to("cpu")`, `.numpy()`, `.tolist()`, `.type(torch.FloatTensor)` copies."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not _copies(place, func.attr, call):
        return None
    asked = place.flow.parents.get(call)
    if isinstance(asked, ast.Attribute) and asked.attr in _OF_MODULES:
        return None
    value = place.value(func.value)
    if value.on_cpu or _counts_packed(place, func.value):
        return None
    if not value and func.attr == "cpu":
        if _becomes_array(place, call):
            return func.value if _near_accelerator(place) else None
        return _result(place, func.value)
    # Arrays have neither `cpu()` nor `to()`.
    return device_tensor(place, func.value, LIKELY if func.attr in ("cpu", "to") else certainty)


_KEPT_AS = frozenset(
    "bool clone contiguous data detach double flatten float int long mT squeeze T unsqueeze view".split()
)
"""What a tensor of the host is asked for on its way to an array, and a model mostly is not."""


def _becomes_array(place: Place, call: ast.Call) -> bool:
    """`x.cpu().numpy()`, `x.cpu()[0].float().numpy()`, `x.cpu().tolist()`: nothing but a tensor has both methods."""
    assert isinstance(call.func, ast.Attribute)
    parents = place.flow.parents
    part: ast.AST | None = call
    node = parents.get(call) if call.func.attr == "cpu" else None
    while True:
        if isinstance(node, ast.Attribute) and node.attr in _KEPT_AS:
            called = parents.get(node)
            part = called if isinstance(called, ast.Call) and called.func is node else node
        elif isinstance(node, ast.Subscript) and node.value is part:
            part = node
        else:
            method = node.attr if isinstance(node, ast.Attribute) else ""
            return method == "numpy" or (method == "tolist" and place.hot is not None)  # others mostly need the list
        node = parents.get(part)


def _copies(place: Place, method: str, call: ast.Call) -> bool:
    if method == "numpy":  # raises for what is not in host memory, unless it is forced
        return any(keyword.arg == "force" for keyword in call.keywords)
    if method in ("cpu", "tolist"):
        return not call.args
    if method == "type":
        name = place.resolve(call.args[0]) if call.args else None
        return name is not None and name.endswith("Tensor") and name.count(".") == 1
    if method == "type_as":
        return bool(call.args) and is_host_tensor(place.value(call.args[0]))
    if method != "to" or any(keyword.arg == "non_blocking" for keyword in call.keywords):
        return False
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "device")]
    if len(call.args) == 1 and is_host_tensor(place.value(call.args[0])):
        return True  # `x.to(total)`
    if (
        not given
        or not arguments.is_device(place.value(given[0]))
        or arguments.device_of(place.value(given[0])) != "cpu"
    ):
        return False
    where = given[0]
    if isinstance(where, ast.Attribute) and place.value(where.value).kind == "tensor":
        return True
    # A program whose `self.device` is the host has nothing on another device.
    return not isinstance(where, ast.Name | ast.Attribute) or names.says_host(where)


def host_copies(place: Place, statement: ast.stmt, certainty: Certainty = PROVEN) -> list[ast.Call]:
    """The copies to the host in a statement, outermost first."""
    calls = (node for node in own_nodes(statement) if isinstance(node, ast.Call))
    return place.once(
        ("host_copies", statement, certainty),
        lambda: [call for call in calls if host_copy(place, call, certainty) is not None],
    )


def _loss(place: Place, node: ast.expr) -> ast.expr | None:
    """`loss.item()`, `grad_norm.item()` and `losses["box"].item()` in a step loop, where nothing else is known of it, or that it is None on another way."""
    if isinstance(node, ast.Name) and _NORM.search(node.id) is not None:
        value = place.value(node)
        unknown = not value or (value.kind == "none" and "unknown" in value.other_kinds)
        return node if unknown and place.hot is not None and place.accelerator else None
    named = isinstance(node, ast.Name) and _LOSS.search(node.id) is not None
    named = named or (isinstance(node, ast.Subscript) and _is_loss_of(node))
    evaluated = place.warm is not None and isinstance(node, ast.Name)
    if not named or not place.accelerator or (place.hot is None and not evaluated):
        return None
    value = place.value(node)
    # `{"loss": 0}`, `{"loss": None}` is what it began as: nothing that stands in a program has an `item()`.
    started = value.kind == "none" or (value.kind == "number" and value.const is not None)
    begun = isinstance(node, ast.Subscript) and started
    return node if begun or not value else None


def _is_loss_of(node: ast.Subscript) -> bool:
    """`info["actor/loss"]`, `losses[name]`: by the key, or by what holds it."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str) and _KEY_OF_LOSS.search(key):
        return True
    holder = node.value.slice if isinstance(node.value, ast.Subscript) else node.value
    held = holder.value if isinstance(holder, ast.Constant) else names.last(holder)
    return isinstance(held, str) and _LOSSES.search(held) is not None and not isinstance(node.slice, ast.Slice)


def _result(place: Place, node: ast.expr) -> ast.expr | None:
    """`psnr.item()` of what a call gave that nobody knows, and that was handed tensors, or of a term of the loss, where that runs on each iteration."""
    if place.value(node) or severity(place) is None or not _near_accelerator(place):
        return None
    known = _is_made_of_tensors(place, node) or _is_given_such(place, node) or _is_of_part(place, node)
    return node if known else None


def _is_of_part(place: Place, node: ast.expr) -> bool:
    """Whether something is what a method of a module, or of a part of one, gives: `self.model.module.density.get_beta()`, also by a name, where neither says that it is a module itself."""
    bound = place.function.bindings.reach.get(node) if isinstance(node, ast.Name) else None
    made = bound.node if isinstance(bound, Assigned) else node
    owner = made.func if isinstance(made, ast.Call) else None
    if made is not node and owner is not None and any(map(_is_named_as_model, (node, owner))):
        return False
    while isinstance(owner, ast.Attribute):
        owner = owner.value
        if place.value(owner).kind == "module":
            return True
    return False


def _is_named_as_model(node: ast.expr) -> bool:
    """`encoder`, `model.get_encoder`"""
    return common_names.MODEL_NAME.search(names.last(node)) is not None


def _is_made_of_tensors(place: Place, node: ast.expr) -> bool:
    """Whether something unknown is what a call made of tensors, or a term of a loss that the function runs backward."""
    if isinstance(node, ast.Name) and (node.id in run_backward(place.function) or _is_of_losses(place, node)):
        return True
    return Origins(place.function.bindings.reach, place.value, place.resolve).made(node)


def _is_of_losses(place: Place, name: ast.Name) -> bool:
    """Whether a loop binds a name to what a dictionary holds that the function sums up to a loss: `value` of `for key, value in terms.items()`."""
    held = gone_through(place, name)
    if not isinstance(held, ast.Name):
        return False
    return held.id in place.once(("summed to losses", place.function), lambda: frozenset(_summed_to_losses(place)))


def _summed_to_losses(place: Place) -> Iterator[str]:
    """The dictionaries whose values, or those of some keys, are summed up to a loss: `loss = sum(v for k, v in terms.items() if "loss" in k)`."""
    for call in place.flow.calls_named("sum"):
        target = syntax.target(place.flow, call)
        if not isinstance(target, ast.Name) or not (
            _LOSS.search(target.id) or target.id in run_backward(place.function)
        ):
            continue
        match call:
            case ast.Call(func=ast.Name(), args=[ast.Call(func=ast.Attribute(attr="values", value=ast.Name(id=held)))]):
                yield held
            case ast.Call(
                func=ast.Name(), args=[ast.GeneratorExp(elt=ast.Name() as term) | ast.ListComp(elt=ast.Name() as term)]
            ):
                terms = gone_through(place, term)
                if isinstance(terms, ast.Name):
                    yield terms.id


def _is_given_such(place: Place, node: ast.expr) -> bool:
    """Whether all calls give a parameter of the place's function such a thing, or a tensor of the device: `report(writer, l1, loss)`."""
    function = place.function
    if not isinstance(node, ast.Name) or node.id not in function.positions or function.bindings.reach.get(node):
        return False
    return place.once(("given such", function, node.id), lambda: _all_give_such(place, node.id))


def _all_give_such(place: Place, name: str) -> bool:
    sites = place.project.own_sites(place.function)
    return bool(sites) and all(site.given is None and _gives_such(place, site, name) for site in sites)


def _gives_such(place: Place, site: Any, name: str) -> bool:
    given = place.function.argument(site.call, name)
    if given is None:
        return False
    there = place.at(site.function, site.call)
    value = there.value(given)
    if value:
        return device_tensor(there, given, LIKELY) is not None
    return value.device == "accelerator" or _is_made_of_tensors(there, given)


def own_nodes(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement in source order; of a compound statement those of its header, of `a, b = x, y` all."""
    todo: list[ast.AST] = [*reversed(statement.together)] if isinstance(statement, PairedAssign) else [statement]
    pop, push = todo.pop, todo.append
    while todo:
        node = pop()
        if isinstance(node, ast.expr):
            yield node
        for field in _OWN_FIELDS[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                for child in reversed(value):
                    if type(child) in _OWN_FIELDS:  # a name that is declared global is no node
                        push(child)
            elif value.__class__ in _OWN_FIELDS:
                push(value)


def _own_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that hold expressions of the same statement, the last first."""
    if kind is ast.Lambda:
        return ()
    inner = _BLOCKS if issubclass(kind, ast.stmt) else ()
    return tuple(field for field in reversed(kind._fields) if field not in inner)


_BLOCKS = frozenset(("body", "orelse", "finalbody", "handlers", "cases"))
_OWN_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: _own_fields(kind) for kind in KINDS_OF_NODES if not issubclass(kind, ast.expr_context | ast.operator)
}


def scalar_reads(place: Place, statement: ast.stmt) -> list[ast.Call]:
    """The scalar reads of a statement, outermost first."""
    return place.once(
        ("scalar_reads", statement, place.hot is not None),
        lambda: [n for n in own_nodes(statement) if isinstance(n, ast.Call) and scalar_read(place, n) is not None],
    )


def told_reads(place: Place, statement: ast.stmt) -> frozenset[ast.Call]:
    """The scalar reads of a statement that have a finding of their own: what stands on another line, as in a dictionary, is told there."""
    return place.once(
        ("told_reads", statement, place.hot is not None),
        lambda: first_of_lines(place, statement, scalar_reads(place, statement)),
    )


def told_old_reads(place: Place, statement: ast.stmt) -> frozenset[ast.expr]:
    """The same for `loss.data[0]` of a single value, a number of Python in torch before 0.4 and an error since; those on lines of their own."""

    def found() -> frozenset[ast.expr]:
        calls: list[ast.expr] = [*scalar_reads(place, statement)]
        old = [node for node in own_nodes(statement) if reads_as_before(place, node)]
        return first_of_lines(place, statement, [*calls, *old]) - {*calls}

    return place.once(("told_old_reads", statement, place.hot is not None), found)


def reads_as_before(place: Place, node: ast.expr) -> bool:
    """Whether an expression is `loss.data[0]` of a single value of the device."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="data") as data, slice=ast.Constant(value=0), ctx=ast.Load()):
            value = place.value(data)
            if value.is_tensor and value.scalar:
                return device_tensor(place, data) is not None
            is_open = value.kind == "tensor" or (value.kind == "unknown" and not value.proven)
            return is_open and not value.on_cpu and _is_run_backward(place, data.value) and _near_accelerator(place)
    return False


def _is_run_backward(place: Place, node: ast.expr) -> bool:
    """Whether the function says `loss.backward()` of a name, which only a single value has without an argument, or of a sum of it.

    What has the name of such a loss in a function of the same file that evaluates, is the same there; so is what the function
    gives there that gives the loss, `dice_loss(output, target).data[0]`.
    """
    if isinstance(node, ast.Name) and node.id in run_backward(place.function):
        return True
    called = isinstance(node, ast.Call)
    parts = names.chain(node.func if isinstance(node, ast.Call) else node)
    if parts is None or place.warm is None or (place.value(node) if called else len(parts) > 1):
        return False
    module = place.function.module
    read, made = place.once(("read as before", module), lambda: _run_backward_in(module))
    return ".".join(parts) in (made if called else read)


def _run_backward_in(module: Module) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a function of the file runs backward, and reads as `loss.data[0]`; and what it calls that gives these."""
    found, made = set[str](), set[str]()
    for function in module.functions_at(module.lines_calling("backward")):
        read = (node.value for node in function.flow.nodes if isinstance(node, ast.Subscript))
        owners = (one.value for one in read if isinstance(one, ast.Attribute) and one.attr == "data")
        own = run_backward(function) & {owner.id for owner in owners if isinstance(owner, ast.Name)}
        given = (
            syntax.given_to_target(function.flow, store) for name in own for store in function.flow.stores.get(name, ())
        )
        made |= {".".join(names.chain(one.func) or ()) for one in given if isinstance(one, ast.Call)}
        found |= own
    return frozenset(found), frozenset(made)


def told_copies(place: Place, statement: ast.stmt, certainty: Certainty = PROVEN) -> frozenset[ast.Call]:
    """The same for copies to the host."""
    return place.once(
        ("told_copies", statement, certainty),
        lambda: first_of_lines(place, statement, host_copies(place, statement, certainty)),
    )


def copies_given(function: Function) -> ast.Call | None:
    """The copy to the host that a function of one parameter gives back of it: `return t.detach().cpu().numpy()`, of a tensor alone, too."""
    given = [one.arg for one in function.parameters if one.arg != function.own_name]
    if function.is_replaced:
        return None
    returned = function.flow.returned
    return next(filter(None, (copy_in(value, given) for value in returned)), None)


def copy_in(node: ast.expr, given: list[str]) -> ast.Call | None:
    """The copy to the host in a chain of methods of the first parameter: `t.detach().cpu().numpy()`."""
    parts = list(steps(node))
    copies = (one for one in reversed(parts) if isinstance(one, ast.Call) and names.last(one.func) in _COPYING)
    copy = next(copies, None)
    root = parts[-1]
    return copy if isinstance(root, ast.Name) and given[:1] == [root.id] else None


def is_read_beside(place: Place, call: ast.Call) -> bool:
    """Whether a scalar is read on the line of a call of the statement, or of what holds it, where a finding tells of both."""
    statement = place.statement
    if not scalar_reads(place, statement):
        return False
    lines, held = place.once(
        ("beside reads", statement, place.hot is not None), lambda: _beside_reads(place, statement)
    )
    return call in held or _line(place, statement, call) in lines


def _beside_reads(place: Place, statement: ast.stmt) -> tuple[set[int], set[ast.AST]]:
    """The lines on which a statement reads scalars, and what is inside of such reads."""
    lines = {_line(place, statement, read) for read in scalar_reads(place, statement)}
    return lines, {inner for read in told_reads(place, statement) for inner in ast.walk(read)}


def first_of_lines(place: Place, statement: ast.stmt, reads: list[Read]) -> frozenset[Read]:
    """Of reads of a statement, in source order, the first of each line, but for those inside of another one."""
    told: list[Read] = []
    lines = set()
    for read in reads:
        line = _line(place, statement, read)
        if line not in lines and not (told and contains(told[-1], read)):
            told.append(read)
        lines.add(line)
    return frozenset(told)


def _line(place: Place, statement: ast.stmt, node: ast.expr) -> int:
    """The line that a finding at an expression is shown on: positions inside an f-string are wrong before Python 3.12."""
    return place.once(("lines in strings", statement), lambda: _lines_in_strings(statement)).get(node, node.lineno)


def _lines_in_strings(statement: ast.stmt) -> dict[ast.AST, int]:
    """For what is inside of the f-strings of a statement, where the string begins."""
    lines: dict[ast.AST, int] = {}
    for string in own_nodes(statement):
        if isinstance(string, ast.JoinedStr) and string not in lines:
            lines.update(dict.fromkeys(ast.walk(string), string.lineno))
    return lines


def reads_together(place: Place) -> int:
    """How many scalar reads the block of the place has."""
    near = block(place.flow, place.statement)
    return place.once(
        ("reads_together", near[0], place.hot is not None),
        lambda: sum(at_once(place, statement) for statement in near if _begins(statement)),
    )


def _begins(statement: ast.stmt) -> bool:
    """Whether a statement is the first, or the only one, that is written there."""
    return not isinstance(statement, PairedAssign) or statement.together[0] is statement


def at_once(place: Place, statement: ast.stmt) -> int:
    """How many scalar reads one run of a statement does: of the two sides of a conditional expression it reads one."""
    reads = set(scalar_reads(place, statement))
    either = [node for node in own_nodes(statement) if isinstance(node, ast.IfExp)] if len(reads) > 1 else []
    for one in either:
        if not reads.isdisjoint(ast.walk(one.body)):
            reads.difference_update(ast.walk(one.orelse))
    return len(reads)


def may_be_more(place: Place) -> bool:
    """Whether the block of the place has an `item()` of something that nothing is known of: a read, where that is on the device."""
    near = block(place.flow, place.statement)
    return place.once(
        ("may be more", near[0], place.hot is not None), lambda: any(_reads_unknown(place, one) for one in near)
    )


def _reads_unknown(place: Place, statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "item"
        and not place.value(node.func.value)
        and node not in scalar_reads(place, statement)
        for node in own_nodes(statement)
    )


def per_element(place: Place, call: ast.Call) -> ast.AST | None:
    """The comprehension, or the inner loop over tensors, that repeats a read once an element."""
    comprehension = place.flow.comprehension(call)
    if comprehension is not None:
        caller = place.warm_caller if place.hot is None else None
        return comprehension if caller is None or caller[1] is not comprehension else None
    loops = place.flow.loops(call)
    if not loops or not isinstance(loops[0], ast.For):
        return None
    if loops[0] is place.warm or (place.hot is not None and loops[0] is place.hot.loop):
        return None
    if _streamed(place, loops[0].iter) or runs.of_one_kept(place.function, loops[0]):
        return None
    value = place.value(loops[0].iter)
    over_tensors = value.kind == "tensor" or (
        value.kind == "list" and value.element is not None and _holds_tensor(value.element)
    )
    return loops[0] if over_tensors and not value.from_loader else None


def _streamed(place: Place, iterated: ast.expr) -> bool:
    """Whether a generator of the project computes each element only when the one before was used."""
    targets = place.project.targets(place.function, iterated) if isinstance(iterated, ast.Call) else []
    return any(
        isinstance(node, ast.Yield) and any(isinstance(loop, ast.While) for loop in target.flow.loops(node))
        for target in targets
        for node in target.flow.nodes
    )


def _holds_tensor(value: Value) -> bool:
    return value.kind == "tensor" or any(_holds_tensor(item) for item in value.items or ())


# Tests


def tested(place: Place, test: ast.expr, flags: int = FLAGS) -> Iterator[ast.expr]:
    """The operands of a condition whose truth is the value of a device tensor; so many flags are followed, one behind the other."""
    if isinstance(test, ast.BoolOp):
        for operand in test.values:
            yield from tested(place, operand, flags)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from tested(place, test.operand, flags)
    elif (each := _tested_one_by_one(place, test)) is not None:
        yield from tested(place, each, flags)
    elif flags and (asked := _tested_by_flag(place, test, flags - 1)) is not None:
        yield from tested(place, asked, flags - 1)
    elif (isinstance(test, ast.Call) and compares(place, test)) or _looks_in(place, test):
        yield test
    else:
        value = place.value(test)
        # What a function gives, and an attribute, may be a bool on some paths: on the others it is read.
        if _is_loss_itself(place, test):
            yield test
            return
        if not value.is_tensor or not (value.boolean or value.scalar or _is_own_buffer(place, test)):
            return
        other = {"none", "number"} if isinstance(test, ast.Call | ast.Attribute) and value.boolean else {"none"}
        if not value.other_kinds - other and device_tensor(place, test) and not _raw(place, test):
            yield test


def _tested_by_flag(place: Place, flag: ast.expr, flags: int) -> ast.expr | None:
    """`end in tokens` of `ended = end in tokens`, `t > 0` of `far = x or t > 0` and `not t > 0`: what the first test of such a flag asks.

    The other parts of `x or t > 0` were asked where the flag was assigned, and `torch.equal(a, b)` gives a bool.
    """
    said = place.flow.said_by(flag) if isinstance(flag, ast.Name) else None
    if said is None or not isinstance(flag, ast.Name):
        return None
    reads = (one for one in place.flow.loads[flag.id] if place.flow.said_by(one) is said)
    if next(reads) is not flag:
        return None
    match said:
        case ast.BoolOp(values=[*asked, last]):
            return last if not any(next(tested(place, one, flags), None) is not None for one in asked) else None
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return said if not (isinstance(inner, ast.Call) and compares(place, inner)) else None
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return said
    return None


def _is_own_buffer(place: Place, test: ast.expr) -> bool:
    """Whether a condition is a parameter or buffer of the module itself, whatever it was made of: it has one element, since others raise."""
    value = place.value(test)
    return value.parameter and not value.other_kinds and syntax.own_attribute(place.function, test) is not None


def _is_loss_itself(place: Place, test: ast.expr) -> bool:
    """`if extra_loss:` on a step, of what a model or a loss gives where it gives any: asked for its truth, not whether it is None."""
    if place.hot is None or not isinstance(test, ast.Name) or not _LOSS.search(test.id):
        return False
    value = place.value(test)
    maybe = value.kind == "tensor" and value.grad and value.other_kinds <= {"none", "number", "tuple", "unknown"}
    return maybe and is_on_device(place, test, LIKELY)


def _tested_one_by_one(place: Place, test: ast.expr) -> ast.expr | None:
    """`torch.isnan(p).any()` of `any(torch.isnan(p).any() for p in parameters)`: what such a call tests, one by one."""
    given = test.args[0] if isinstance(test, ast.Call) and len(test.args) == 1 and not test.keywords else None
    if not isinstance(test, ast.Call) or not isinstance(given, ast.GeneratorExp | ast.ListComp):
        return None
    return given.elt if place.resolve(test.func) in ("any", "all") else None


def _looks_in(place: Place, test: ast.expr) -> bool:
    """`end in tokens`: a Python bool from whether any element of a device tensor is that one."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In | ast.NotIn) or len(test.ops) > 1:
        return False
    sought, within = place.value(test.left), test.comparators[0]
    if sought.kind == "str":
        return False  # no tensor holds words: it is a dictionary, whatever else is said of it
    # What was sent to the device and holds numbers is a tensor: an object that is sent has names for what it holds.
    counted = sought.kind == "number" and sought.proven and not sought.other_kinds
    sent = counted and place.value(within).device == "accelerator"
    held = device_tensor(place, within, LIKELY if sent else PROVEN)
    return held is not None and not place.value(held).other_kinds and not place.value(held).from_loader


def _raw(place: Place, test: ast.expr) -> bool:
    """Whether a comparison is with a bare field of a batch, which may be a Python number as well as a tensor."""
    if not isinstance(test, ast.Compare):
        return False
    tensors = [v for v in map(place.value, (test.left, *test.comparators)) if v.kind == "tensor"]
    return all(v.managed or v.from_loader for v in tensors)


def compares(place: Place, call: ast.Call) -> bool:
    """`torch.equal(a, b)`, `a.equal(b)`, `torch.allclose(a, b)`: a Python bool from a value of the device."""
    func = call.func
    name = place.resolve(func)
    if name is None and not isinstance(func, ast.Attribute):
        return False
    row = operator(name or f"torch.Tensor.{names.last(func)}")
    if row is None or not row.waits or row.returns.kind != "bool":
        return False
    operands = call.args if name is not None else [receiver_of(call), *call.args]
    if any(device_tensor(place, operand) is not None for operand in operands):
        return True
    return are_compared_there(place, call)


def are_compared_there(place: Place, call: ast.Call) -> bool:
    """Whether what a function of torch compares, `torch.equal(a, b)`, are tensors of a step or a forward: it takes nothing else, and those are on the device."""
    operands = given_to(call)[:2] if place.resolve(call.func) is not None else []
    values = [place.value(operand) for operand in operands]
    if any(value.kind not in ("tensor", "unknown") or value.on_cpu or value.from_loader for value in values):
        return False
    if any(_of_batch(place, operand) or hot_calls.is_host_by_them(place, operand) for operand in operands):
        return False
    if any(is_met_on_host(place, operand) for operand in operands):
        return False
    return bool(operands) and (place.hot is not None or in_forward(place)) and _near_accelerator(place)
