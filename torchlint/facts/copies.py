"""Copies of tensors that one call could make: a clone beside a cast or a move."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from .arguments import is_device
from .bindings import Assigned
from .flow import Flow
from .names import chain, last
from .nodes import indices, number
from .place import Place
from .syntax import called, same, target
from .uses import is_shared, readers
from .values import Value

Resolve = Callable[[ast.expr], str | None]

DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}
"""The dtype that each casting method gives."""

_PLAIN = frozenset(("dtype", "device", "other", "non_blocking"))


_FRESH = frozenset(
    """cat stack matmul bmm where log cumsum repeat flip fliplr flipud roll rot90 index_select gather masked_select masked_fill
    masked_scatter scatter scatter_add index_add clamp abs sin cos zeros ones full rand randn zeros_like ones_like full_like
    rand_like randn_like one_hot normalize pad interpolate grid_sample""".split()
)
"""Operations that write a tensor of their own in every case, as functions of torch and as methods."""
_PRODUCTS = frozenset("matmul bmm mm".split())
_REDUCES = frozenset("sum mean prod amax amin max min argmax argmin std var norm logsumexp any all".split())
"""Operations that give another shape, whatever the strides of what they read."""
_FACTORS = {"torch.nn.functional.linear": (1,), "torch.addmm": (1, 2), "torch.baddbmm": (1, 2)}
"""Functions that add something to a product, and where its factors stand; what is in front of a weight may have more dimensions, and is copied then."""
_SAVED = frozenset("exp sqrt sigmoid tanh softmax log_softmax".split())
"""Such operations whose backward pass needs their result: nobody may write to it."""
_PLACES = frozenset("randperm arange multinomial nonzero argsort LongTensor".split())
"""Functions of torch that give places in at least one dimension."""
_PLACES_OF = frozenset(("nonzero", "argsort"))
"""Methods of a tensor that do."""
_NOISE = ("torch.rand", "torch.randn")
"""What is sorted to get a random order."""
_SAME_PLACES = frozenset("to cuda cpu long detach".split())
_SAME_DTYPE = ("non_blocking", "copy", "memory_format")
"""The arguments of `.to()` that give neither a device nor a dtype."""
_ROWS = ("list", "tuple", "ndarray", "size")
"""Of what `torch.LongTensor` makes at least one dimension."""
_STEPS = 4
"""Through how many names and methods an index is followed."""
WRITERS = {"zero_": "torch.zeros_like", "fill_": "torch.full_like"}
"""Methods that write over all of a tensor, and what makes such a one without its values."""
_WRITING = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
"""What runs other code, which may write to a tensor in place."""
_HOMES = ("torch", "torch.nn.functional")


JOINS = frozenset("cat concat concatenate stack hstack vstack dstack".split())
"""Operations that write several tensors into one."""
_TURNS = frozenset("flip fliplr flipud roll rot90".split())
"""Operations that write what they are given anew, in another order, and of which autograd keeps no operand."""
RELAID = JOINS | {"roll"}
"""Operations whose result may lie otherwise in memory where what they are given does."""
_EXPANDS = (
    rb"\.expand(?:_as)?\b|\b(?:broadcast_to|broadcast_tensors|as_strided|empty_strided|meshgrid|unfold|vmap|einops)\b"
    rb"|\bautograd(?:\.grad|\.Function|\.functional| import)\b|\bregister_\w*hook\b"
)
"""How a project comes to tensors of which several elements are one place in memory."""
_MADE = frozenset(f"torch.{name}" for name in "zeros ones empty full rand randn arange linspace tensor".split())
_MOST_JOINED = 16
"""Of more parts than these it is not asked whether they run code."""
_PASSED = ("clone", "detach")


class Doubled(NamedTuple):
    """`x.clone().float()` or `x.cpu().clone()`: two calls for what one does."""

    whole: ast.Call
    """Both calls."""
    tensor: ast.expr
    """What they are called on."""
    cast: ast.Call
    """The cast or the move."""


class Needless(NamedTuple):
    """`(x * y).clone()`: nothing else refers to what is copied; `x + table.clone()`, `torch.flip(x.clone(), [2])`: nothing keeps the copy."""

    made: ast.expr
    """What is copied."""
    beside: ast.expr | None = None
    """What the copy is added to, where it is only an operand."""
    again: str = ""
    """The operation that copies it again."""


def is_multiplied(flow: Flow, copy: ast.expr, resolve: Resolve) -> bool:
    """Whether a tensor is a factor of a product of matrices, and nothing else: `torch.bmm(x, copy)`, `copy @ x`, `x.matmul(copy)`."""
    match flow.parents.get(copy):
        case ast.BinOp(op=ast.MatMult()):
            return True
        case ast.Call(func=func, args=[*given]) if copy in given and given.index(copy) in _FACTORS.get(
            resolve(func) or "", ()
        ):
            return True
        case ast.Call(func=ast.Attribute(attr=name) as func, args=[*given], keywords=[]) if copy in given:
            of_torch = resolve(func)
            is_method = of_torch is None and len(given) == 1
            return name in _PRODUCTS and (is_method or of_torch == f"torch.{name}")
        case ast.Call(func=ast.Name() as func, args=[*given], keywords=[]) if copy in given:
            return resolve(func) in [f"torch.{name}" for name in _PRODUCTS]
        case ast.Attribute(attr=name) as func:
            return name in _PRODUCTS and isinstance(call := flow.parents.get(func), ast.Call) and call.func is func
    return False


def taken_turned(place: Place, copy: ast.expr) -> str:
    """What all that reads a copy of a turned tensor does with it, where that takes the view as it lies: "summed up" of `torch.sum(x.permute(1, 0).contiguous(), 0)`.

    What joins writes it anew, what reduces gives another shape, and a mask picks into one dimension; "" for anything else.
    """
    named, function = target(place.flow, copy), place.function
    reads: list[ast.expr] = [copy]
    if named is not None:
        if not isinstance(named, ast.Name) or function is function.module.body or is_shared(function, named.id):
            return ""
        reads = list(readers(function, named.id, copy))
    ways = {_taken(place, read) for read in reads}
    return " and ".join(sorted(ways)) if "" not in ways else ""


def _taken(place: Place, read: ast.expr) -> str:
    """What takes a tensor of any strides; "" for what may need it to lie in order, or keep it."""
    match place.flow.parents.get(read):
        case ast.Attribute(attr=method) as func if method in _REDUCES:
            reducing = called(place.flow, func)
            return "reduced" if reducing is not None and _is_along(method, reducing.args[:1]) else ""
        case ast.Call(func=func, args=[first, *others], keywords=given) if first is read:
            home, _, name = (place.resolve(func) or "").rpartition(".")
            reduces = home == "torch" and name in _REDUCES and _is_along(name, others[:1])
            return "reduced" if reduces and not any(one.arg in ("out", "other") for one in given) else ""
        case ast.List() | ast.Tuple() as parts:
            call = place.flow.parents.get(parts)
            if not isinstance(call, ast.Call) or call.args[:1] != [parts]:
                return ""
            home, _, name = (place.resolve(call.func) or "").rpartition(".")
            return "joined" if home == "torch" and name in JOINS else ""
        case ast.Subscript(value=whole, slice=mask, ctx=ast.Load()) if whole is read:
            found = place.value(mask)
            return "masked" if found.is_tensor and found.boolean and not found.other_kinds else ""
    return ""


def _is_along(name: str, dims: list[ast.expr]) -> bool:
    """Whether `max` and `min` reduce by what they are given, if anything, as all others do: of two tensors they take the larger elements."""
    return name not in ("max", "min") or not dims or number(dims[0]) is not None


def doubled(flow: Flow, clone: ast.Call) -> Doubled | None:
    """The cast or move that directly follows a `.clone()`, or else that it directly follows."""
    func = clone.func
    if not isinstance(func, ast.Attribute) or clone.args or clone.keywords:
        return None
    parent = flow.parents.get(clone)
    after = flow.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    if isinstance(after, ast.Call) and after.func is parent and casts(after):
        return Doubled(after, func.value, after)
    before = func.value
    if isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute) and casts(before):
        return Doubled(clone, before.func.value, before)
    return None


def may_stay(place: Place, found: Doubled) -> bool:
    """Whether a move beside a `.clone()` may move nothing, as the tensor may be there already: the clone is the one copy then.

    `.cpu()` is written of what is on the device, unless that is known to be wrong.
    """
    func, known = found.cast.func, place.value(found.tensor)
    assert isinstance(func, ast.Attribute)
    if func.attr == "cpu":
        return known.on_cpu
    if func.attr not in ("to", "cuda") or any(one.kind == "dtype" for one in _casts_to(place, found.cast)):
        return False
    there = place.value(found.cast).device
    return not (there and known.device) or there == known.device


def overwritten(flow: Flow, clone: ast.Call) -> str:
    """The method that writes over all that a `.clone()` has copied: "zero_" of `x.clone().zero_()`."""
    method = flow.parents.get(_with_detach(flow, clone))
    plain = not clone.args and not clone.keywords
    if not plain or not isinstance(method, ast.Attribute) or method.attr not in WRITERS:
        return ""
    call = flow.parents.get(method)
    return method.attr if isinstance(call, ast.Call) and call.func is method else ""


def added_to(flow: Flow, clone: ast.Call) -> ast.expr | None:
    """What a `.clone()`, or `.clone().detach()`, is added to or taken from, where nothing can write to its source before that.

    The result has memory of its own, and autograd keeps neither operand of a sum.
    """
    copy = _with_detach(flow, clone)
    total = flow.parents.get(copy)
    if not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Add | ast.Sub):
        return None
    if total.right is copy:
        return total.left
    calls = any(isinstance(part, _WRITING) for part in ast.walk(total.right))
    return total.right if not calls else None


def copied_again(flow: Flow, clone: ast.Call, resolve: Resolve) -> str:
    """The operation of torch that a `.clone()`, or `.clone().detach()`, is only made for and that copies it by itself: "flip" of `torch.flip(x.clone(), [2])`, "cat" of `torch.cat((x.clone(), y))`.

    "" where something that is given behind it may write to its source.
    """
    copy = _with_detach(flow, clone)
    parent = flow.parents.get(copy)
    call = flow.parents.get(parent) if isinstance(parent, ast.Attribute | ast.List | ast.Tuple) else parent
    if not isinstance(call, ast.Call) or not all(keyword.arg not in ("out", None) for keyword in call.keywords):
        return ""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if call.func is parent and isinstance(parent, ast.Attribute):
        return parent.attr if parent.attr in _TURNS and _is_calm(given) else ""
    joined = parent if isinstance(parent, ast.List | ast.Tuple) else None
    if given[0] is not (joined or copy):
        return ""
    home, _, name = (resolve(call.func) or "").rpartition(".")
    if joined is not None and len(joined.elts) > _MOST_JOINED:
        return ""
    behind = joined.elts[joined.elts.index(copy) + 1 :] if joined is not None else []
    known = home == "torch" and name in (JOINS if joined is not None else _TURNS)
    return name if known and _is_calm([*behind, *given[1:]]) else ""


def written_into(place: Place, clone: ast.Call) -> str:
    """What writes a `.clone()` into another tensor, and so copies it by itself: "the assignment" of `x[i] = y.clone()`, "`copy_`" of `x.copy_(y.clone())`.

    "" where both may be parts of one tensor, one of which would be overwritten while it is read.
    """
    copy = _with_detach(place.flow, clone)
    match place.flow.parents.get(copy):
        case ast.Assign(targets=[ast.Subscript(value=holder)]):
            writer = "the assignment"
        case ast.Call(func=ast.Attribute(attr="copy_", value=holder), args=[given, *_]) if given is copy:
            writer = "`copy_`"
        case _:
            return ""
    there = place.value(holder)
    if not (there.is_tensor and there.proven) or there.other_kinds or not isinstance(clone.func, ast.Attribute):
        return ""
    one, other = _whole(holder), _whole(clone.func.value)
    apart = chain(one) is not None and chain(other) is not None and not same(one, other)
    return writer if apart and not (_is_part(place, one, other) or _is_part(place, other, one)) else ""


def _whole(node: ast.expr) -> ast.expr:
    """What a part is a view of, by how it is written: `x` of `x[1:].data.detach()`."""
    while True:
        match node:
            case ast.Subscript(value=inner) | ast.Attribute(value=inner, attr="data"):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr="detach" | "clone")):
                node = inner
            case _:
                return node


def _is_part(place: Place, one: ast.expr, other: ast.expr) -> bool:
    """Whether a name or attribute may be a view of another one, as what is assigned to it says: `rows = x[:-1]`."""
    bound = place.function.bindings.reach.get(one) if isinstance(one, ast.Name) else None
    if isinstance(bound, Assigned):
        made: list[ast.AST | None] = [bound.node]
    elif isinstance(one, ast.Name):
        made = [place.flow.statement(store) for store in place.flow.stores.get(one.id, ())]
    else:
        klass = place.function.cls
        stores = klass.stores.get(last(one), ()) if klass is not None else ()
        made = [method.flow.parents.get(target) for method, target in stores]
    parts = (part for statement in made if statement is not None for part in ast.walk(statement))
    return any(same(part, other) for part in parts if isinstance(part, ast.Name | ast.Attribute))


def _is_calm(given: list[ast.expr]) -> bool:
    """Whether what is given runs no other code."""
    return not any(isinstance(part, _WRITING) and not _is_passed(part) for one in given for part in ast.walk(one))


def _is_passed(node: ast.AST) -> bool:
    """`x.detach()` or `x.clone()`, which write to nothing."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PASSED


def _with_detach(flow: Flow, clone: ast.Call) -> ast.Call:
    """`x.clone()`, or the whole of `x.clone().detach()`."""
    method = flow.parents.get(clone)
    after = flow.parents.get(method) if isinstance(method, ast.Attribute) and method.attr == "detach" else None
    return after if isinstance(after, ast.Call) and after.func is method else clone


def fresh(node: ast.expr, resolve: Resolve, value: Callable[[ast.expr], Value], *, grad_off: bool) -> bool:
    """Whether an expression makes a tensor that nothing else refers to, autograd neither: arithmetic, `torch.cat(...)`, `x.log()`."""
    if isinstance(node, ast.BinOp):
        # The result of a power is needed to derive it by its exponent.
        power = isinstance(node.op, ast.Pow) and not isinstance(node.right, ast.Constant)
        return not isinstance(node.op, ast.Mod) and (not power or grad_off)
    if not isinstance(node, ast.Call) or any(keyword.arg in ("out", None) for keyword in node.keywords):
        return False
    name = _operation(node.func, resolve, value)
    return name in _FRESH or (name in _SAVED and grad_off)


def may_be_view(node: ast.expr, resolve: Resolve, value: Callable[[ast.expr], Value]) -> bool:
    """Whether autograd may take a new tensor for a view of another one: `matmul` folds dimensions, and unfolds them again."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return isinstance(node, ast.Call) and _operation(node.func, resolve, value) == "matmul"


def is_gathered(place: Place, node: ast.expr, *, surely: bool = False) -> bool:
    """Whether elements are picked by a tensor of places or a mask, `x[torch.randperm(n)]`: that is a copy, where a slice is a view.

    A single place, also in a tensor of no dimensions, gives a view: `surely` leaves out what gives such a tensor for another one.
    """
    if not isinstance(node, ast.Subscript) or not place.value(node.value).is_tensor:
        return False
    return any(_is_places(place, one, _STEPS, surely) for one in indices(node.slice))


def may_be_expanded(place: Place, node: ast.expr, steps: int = _STEPS) -> bool:
    """Whether several elements of a tensor may be one place in memory, as `x.expand(8, -1)` has them: a copy of that has another layout.

    What operators give, and tensors of their own, never are, nor is anything of a project that says no word of such tensors.
    """
    match node:
        case ast.BinOp() | ast.UnaryOp():
            return False
        case ast.Subscript():
            return may_be_expanded(place, node.value, steps)
        case ast.Call() if place.resolve(node.func) in _MADE:
            return False
        case ast.Name() if steps and isinstance(binding := place.function.bindings.reach.get(node), Assigned):
            return may_be_expanded(place, binding.node, steps - 1)
    return bool(place.project.any_holds(_EXPANDS))


def _is_places(place: Place, node: ast.expr, steps: int, surely: bool, numbers: bool = False) -> bool:
    """Whether an index is one of places, or a mask that is not cast to `numbers`: such a one of no dimensions is a single place."""
    value = place.value(node)
    if not value.is_tensor or value.other_kinds or not steps:
        return False
    mask = value.boolean and not numbers
    if mask and not surely:
        return True
    if isinstance(binding := place.function.bindings.reach.get(node), Assigned):
        return _is_places(place, binding.node, steps - 1, surely, numbers)
    if not isinstance(node, ast.Call):
        return mask
    func = node.func
    if isinstance(func, ast.Attribute) and place.value(func.value).is_tensor:
        if func.attr in _SAME_PLACES:
            given = _casts_to(place, node) if func.attr == "to" else []
            if mask and any(one.class_name == "torch.bool" for one in given):
                return True
            numbers = not mask or not all(is_device(one) for one in given)
            return _is_places(place, func.value, steps - 1, surely, numbers)
        name, known = func.attr, _PLACES_OF
    else:
        home, _, name = place.value(func).class_name.rpartition(".")
        known = _PLACES if home == "torch" else frozenset()
    if name not in known:
        return mask
    if surely and name == "LongTensor":
        return all(_is_row(place, one, steps - 1) for one in node.args)
    return not surely or name != "argsort" or _sorts_rows(place, node)


def _casts_to(place: Place, call: ast.Call) -> list[Value]:
    """What a call of `.to()` gives as a device or a dtype."""
    named = (keyword.value for keyword in call.keywords if keyword.arg not in _SAME_DTYPE)
    return [place.value(one) for one in (*call.args, *named)]


def _is_row(place: Place, node: ast.expr, steps: int) -> bool:
    """Whether `torch.LongTensor` surely gives a dimension to this: only a tensor of none has none there."""
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp):
        return True
    value = place.value(node)
    if value.is_tensor:
        return _is_places(place, node, steps, surely=True, numbers=True)
    if steps and isinstance(binding := place.function.bindings.reach.get(node), Assigned):
        return _is_row(place, binding.node, steps - 1)
    known = value.kind == "number" or (isinstance(node, ast.Call) and value.kind in _ROWS)
    return known and not value.other_kinds


def _sorts_rows(place: Place, call: ast.Call) -> bool:
    """Whether what is sorted surely has dimensions: the call names one that only such tensors have, or it is made of a number of elements."""
    func = call.func
    if isinstance(func, ast.Attribute) and place.value(func.value).is_tensor:
        made: ast.expr | None = func.value
        given = call.args[:1]
    else:
        made, given = next(iter(call.args), None), call.args[1:2]
    dim = [*given, *(keyword.value for keyword in call.keywords if keyword.arg == "dim")]
    if dim and number(dim[0]) not in (None, 0, -1):
        return True
    if not isinstance(made, ast.Call) or not made.args or place.resolve(made.func) not in _NOISE:
        return False
    return place.value(made.args[0]).kind == "number"


def _operation(func: ast.expr, resolve: Resolve, value: Callable[[ast.expr], Value]) -> str:
    """The operation of torch that a function or a method of a tensor is; "" for others."""
    full = resolve(func)
    if full is None:
        return func.attr if isinstance(func, ast.Attribute) and value(func.value).is_tensor else ""
    home, _, name = full.rpartition(".")
    return name if home in _HOMES else ""


def casts(call: ast.Call) -> bool:
    """Whether a method call casts or moves a tensor in a way that `.to(..., copy=True)` can do."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr in DTYPES or func.attr in ("cpu", "cuda"):
        return not call.args and not call.keywords
    plain = all(keyword.arg in _PLAIN for keyword in call.keywords)
    spread = any(isinstance(argument, ast.Starred) for argument in call.args)
    return func.attr == "to" and bool(call.args or call.keywords) and len(call.args) < 3 and plain and not spread
