from __future__ import annotations

import ast
from typing import Literal

from torchlint.facts.bindings import Assigned, Joined
from torchlint.facts.dtypes import dtype
from torchlint.facts.flow import Loop, contains
from torchlint.facts.handlers import swallows
from torchlint.facts.nodes import keyword_of, names_in
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import line_after, means_builtin

Number = Literal["float", "int"]

_COMPLEX = regex(rb"complex|fft|polar|\dj\b")
_NARROW = regex(rb"half\b|bfloat16|float16|\b(?:fp|bf)16|autocast|\bamp\b")
_LOOKS = frozenset(("locals", "vars", "eval", "exec"))
_SELECTS = ("to", "cuda", "device", "set_device")
"""What is given a device."""


def fix(site: Site, finding: Finding) -> Fix | None:
    """`total += loss.item()` -> `total += loss.detach()` and `total = float(total)` behind the loop, where `total` is a number."""
    statement = site.statement
    loops = site.flow.loops(site.target)
    if not (
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.op, ast.Add | ast.Sub)
        and isinstance(statement.target, ast.Name)
        and loops
        and site.name == ".item()"
        and not site.value(_read(site)).on_cpu
    ):
        return None
    if _may_fail(site, statement):
        return None
    total, loop = statement.target, loops[0]
    number = _number(site, statement)
    if number is None or not _is_local(site, total.id) or not _starts_as_number(site, total, loop):
        return None
    inside = [load for load in site.flow.loads.get(total.id, ()) if contains(loop, load)]
    behind = len(inside) < len(site.flow.loads.get(total.id, ()))
    if any(_is_often(site, load, loop) or _is_quoted(site, load) for load in inside) or not _comes_behind(
        site, total.id, loop
    ):
        return None
    turns = site.once(("item-in-hot-loop", "turns", site.function, loop), lambda: _takes_turns(site, loop))
    if turns or not means_builtin(site, number):
        return None
    after = line_after(site, f"{total.id} = {number}({total.id})", loop) if behind else None
    if behind and after is None:
        return None
    wide = number == "float" and site.source.holds(_NARROW)
    edits = [
        _kept_on_device(site, wide),
        *(site.tree.replace(site.cst(load), f"{number}({total.id})") for load in inside),
        *([after] if after is not None else []),
    ]
    return Fix(
        f"Sum on the device and read `{total.id}` behind the loop",
        tuple(edits),
        "unsafe",
        _note(site, total, number, wide),
    )


def _may_fail(site: Site, statement: ast.AugAssign) -> bool:
    """Whether a `try` catches a division by zero of what is added, where a tensor would become inf."""
    divides = any(isinstance(node, ast.Div | ast.FloorDiv | ast.Mod) for node in ast.walk(statement.value))
    return divides and any(isinstance(one, ast.Try) and one.handlers for one in site.flow.ancestors(statement))


def _note(site: Site, total: ast.Name, number: Number, wide: bool) -> str:
    if number == "int":
        return "The sum is a tensor of 64-bit integers inside the loop."
    counted = dtype(site, _read(site)) in ("int64", "bool")
    kept = "in single precision" if wide or counted else "in the dtype of the tensor"
    never = " It is 0.0, not 0, as long as nothing was added." if _starts(site, total, int) else ""
    return f"The sum is kept {kept}, not in a Python double.{never}"


def _read(site: Site) -> ast.expr:
    """The tensor that is read."""
    assert isinstance(site.call.func, ast.Attribute)
    return site.call.func.value


def _kept_on_device(site: Site, wide: bool) -> Edit:
    """The edit that turns `.item()` into `.detach()`, and takes no comment with it."""
    node, tensor, source = site.call.func, _read(site), site.source
    assert isinstance(node, ast.Attribute)
    end = source.end_of(node)
    detached = isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute) and tensor.func.attr == "detach"
    methods = [*([] if wide and detached else ["detach"]), *(["float"] if wide else [])]
    if _of_several_shapes(site):
        methods.append("squeeze")  # what has no dimensions takes nothing that has one
    return Edit(end - len(node.attr), end, "().".join(methods).encode())


# What the sum is


def _number(site: Site, statement: ast.AugAssign) -> Number | None:
    """What the sum is read as to be the number that it was; None where that isn't known."""
    if not isinstance(site.call.func, ast.Attribute) or site.call.func.attr != "item":
        return None
    factors = _factors(site, statement.value)
    if factors is None:
        return None
    kind = dtype(site, _read(site))
    whole = kind in ("int64", "bool")
    if isinstance(statement.op, ast.Sub) and kind != "floating":
        return None  # bools can't be subtracted
    assert isinstance(statement.target, ast.Name)
    if not _starts(site, statement.target, int):
        return "float" if kind is not None or not site.source.holds(_COMPLEX) else None
    if whole and all(factors):
        return "int"
    return "float" if kind == "floating" else None  # small integers would overflow


def _factors(site: Site, node: ast.expr) -> list[bool] | None:
    """Whether each number that the read is multiplied with or divided by keeps an integer one; None for other expressions."""
    if node is site.target:
        return []
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return None
    for inner, other in ((node.left, node.right), (node.right, node.left)):
        rest = _factors(site, inner)
        value = site.value(other)
        if rest is not None and value.kind == "number" and value.proven and not value.other_kinds:
            return [*rest, isinstance(node.op, ast.Mult) and value.integer]
        if isinstance(node.op, ast.Div):
            return None
    return None


def _starts(site: Site, total: ast.Name, kind: type[int | float]) -> bool:
    """Whether the sum starts as such a number anywhere: `total = 0`."""
    flow, name = site.flow, total.id
    key = ("item-in-hot-loop", "starts", site.function, name, kind)
    return site.once(key, lambda: any(_literal(flow.parents[store], kind) for store in flow.stores[name]))


def _literal(parent: ast.AST, *kinds: type[int | float]) -> bool:
    return (
        isinstance(parent, ast.Assign)
        and not isinstance(parent, ast.AnnAssign)  # it would no longer be what it says it is
        and len(parent.targets) == 1
        and isinstance(parent.value, ast.Constant)
        and type(parent.value.value) in kinds
    )


# Where it is bound and read


def _is_local(site: Site, name: str) -> bool:
    """Whether the name is the function's own, and seen by no other code."""
    return site.once(("item-in-hot-loop", "local", site.function, name), lambda: _is_own(site, name))


def _is_own(site: Site, name: str) -> bool:
    function, flow = site.function, site.flow
    if name in flow.globals or name in function.positions or function is site.module.body:
        return False
    if any(isinstance(call.func, ast.Name) for look in _LOOKS for call in flow.calls_named(look)):
        return False
    if any(_is_later(site, load) for load in flow.loads.get(name, ())):
        return False
    inner = (one for one in site.module.functions if one is not function and function in one.scopes)
    return not any(name in one.flow.loads or name in one.flow.stores for one in inner)


def _is_later(site: Site, load: ast.Name) -> bool:
    """Whether a name is read when somebody calls a lambda, or goes on with a generator, and that may be inside the loop."""
    return any(isinstance(around, ast.Lambda | ast.GeneratorExp) for around in site.flow.expressions(load))


def _starts_as_number(site: Site, total: ast.Name, loop: Loop) -> bool:
    """Whether the sum is a number wherever the loop begins."""
    key = ("item-in-hot-loop", "other stores", site.function, total.id, loop)
    starts, others = site.once(key, lambda: _other_stores(site, total.id, loop))
    return starts and others == (total,)


def _other_stores(site: Site, name: str, loop: Loop) -> tuple[bool, tuple[ast.Name, ...]]:
    """Whether a sum starts as a number anywhere, and the stores to it that are neither a start nor `/=` behind the loop."""
    flow = site.flow
    parents = [(store, flow.parents[store]) for store in flow.stores[name]]
    others = [store for store, parent in parents if not _literal(parent, int, float)]
    kept = (one for one in others if not (_divides(flow.parents[one]) and loop not in flow.loops(flow.parents[one])))
    return len(others) < len(parents), tuple(kept)


def _divides(parent: ast.AST) -> bool:
    """`total /= len(loader)`"""
    return isinstance(parent, ast.AugAssign) and isinstance(parent.op, ast.Div)


def _is_often(site: Site, load: ast.Name, loop: Loop) -> bool:
    """Whether the sum is read on each step."""
    place = site.at(site.function, load)
    return loop in site.flow.loops(load) and (place.hot is not None or place.warm is not None)


def _is_quoted(site: Site, load: ast.Name) -> bool:
    """`f"{total=}"` shows the expression itself."""
    end = site.source.end_of(load)
    rest = site.source.data[end : end + 10].lstrip()
    inside = any(isinstance(around, ast.FormattedValue) for around in site.flow.expressions(load))
    return inside and rest.startswith(b"=") and not rest.startswith(b"==")


def _comes_behind(site: Site, name: str, loop: Loop) -> bool:
    """Whether the sum is read nowhere that is reached from inside the loop past the line behind it, by an exception."""
    loads = [load for load in site.flow.loads.get(name, ()) if not contains(loop, load)]
    for parent in site.flow.ancestors(loop):
        if isinstance(parent, ast.With | ast.AsyncWith):
            behind = not all(contains(parent, load) for load in loads)
            if behind and any(swallows(site, item.context_expr) for item in parent.items):
                return False
        elif isinstance(parent, ast.Try):
            ways = [*parent.handlers, *parent.finalbody]
            goes_on = any(not isinstance(handler.body[-1], ast.Raise | ast.Return) for handler in parent.handlers)
            if any(contains(way, load) for way in ways for load in loads):
                return False
            if goes_on and not all(contains(parent, load) for load in loads):
                return False
    return True


# What is added


def _of_several_shapes(site: Site) -> bool:
    """Whether the tensor may have a dimension on one of several ways: `loss = out.mean() if some else torch.zeros(1)`."""
    node, reach = _read(site), site.function.bindings.reach
    value = site.value(node)
    if value.kind == "tensor" and value.scalar:
        return False
    binding = reach.get(node)
    while isinstance(binding, Assigned):
        node, reach = binding.node, binding.reach
        binding = reach.get(node)
    return isinstance(node, ast.IfExp) or isinstance(binding, Joined)


def _takes_turns(site: Site, loop: Loop) -> bool:
    """Whether each pass of a loop may have a device of its own: `for i, net in enumerate(nets): net(x.to(f"cuda:{i}"))`."""
    turned = names_in(loop.target) if isinstance(loop, ast.For | ast.AsyncFor) else set()
    calls = (call for name in _SELECTS for call in site.flow.calls_named(name) if contains(loop, call))
    given = (one for call in calls for one in (*call.args[:1], keyword_of(call, "device")) if one is not None)
    return any(
        not isinstance(one, ast.Attribute)
        and not turned.isdisjoint(names_in(one))
        and not site.value(one).may_be_tensor
        for one in given
    )
