"""What Python's own functions give, and what only wraps an iteration."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from . import calls, moves
from .arguments import Arguments
from .elements import element
from .evaluator import Evaluator
from .values import (
    BOOL,
    EXTENT,
    INTEGER,
    LIST,
    NONE,
    NUMBER,
    STR,
    UNKNOWN,
    Dict,
    Instance,
    Tuple,
    Value,
    join_all,
    replace,
    sequence,
)

_GIVES: dict[str, Value] = {
    **dict.fromkeys(("len", "id", "hash", "ord", "int"), INTEGER),
    **dict.fromkeys(("float", "complex", "round", "abs", "pow", "divmod"), NUMBER),
    **dict.fromkeys(("bool", "isinstance", "hasattr", "callable", "issubclass", "any", "all"), BOOL),
    **dict.fromkeys(("str", "repr", "format", "chr", "hex", "input"), STR),
    "range": sequence(INTEGER),
    "slice": Instance(class_name="slice"),
    "print": NONE,
}
"""What builtins give, whatever they are given."""
_ITERATORS = frozenset(("iter", "cycle", "islice", "peekable"))
"""What gives an iterator, which goes on where it is; a loader in a wrapper begins anew."""
_NO_NUMBERS = frozenset(("Random", "SystemRandom", "getstate", "randbytes", "gmtime", "localtime", "strptime"))
"""What of `random` and `time` gives neither numbers nor what it is given."""


def iteration(values: Evaluator, last: str, args: Arguments) -> Value:
    given = args.first
    if last == "list" and not len(args) and not args.open:
        return LIST
    if last in ("trange", "prange"):
        return sequence(INTEGER)
    if given.kind == "loader":
        return replace(given, begun=given.begun or last in _ITERATORS)
    if given.kind in ("list", "tuple", "batch"):
        return given
    if given.kind in ("tensor", "size", "ndarray", "dict", "module"):
        return sequence(element(values, given, None))
    return given


def builtin(values: Evaluator, name: str, node: ast.Call, args: Arguments) -> Value:
    first = args.first
    if name in ("abs", "pow") and first.kind in ("tensor", "ndarray"):
        return first
    if name == "staticmethod":
        return first
    if name == "len" and first.is_tensor:
        return EXTENT
    if name in _GIVES:
        return _GIVES[name]
    if name == "enumerate":
        return sequence(Tuple(items=(INTEGER, element(values, first, node.args[0] if node.args else None))))
    if name == "zip":
        if node.args and isinstance(node.args[0], ast.Starred):
            return _transposed(values, values.expr(node.args[0].value)) if len(node.args) == 1 else UNKNOWN
        items = tuple(element(values, v, n) for v, n in zip(args.positional, node.args, strict=False))
        return sequence(Tuple(items=items))
    if name in ("set", "frozenset"):
        return sequence(element(values, first, None))
    if name == "filter" and len(args.positional) == 2:
        return sequence(element(values, args.positional[1], None))
    if name == "map" and len(node.args) == len(args.positional) == 2 and isinstance(node.args[0], ast.Lambda):
        return _mapped(values, node.args[0], element(values, args.positional[1], node.args[1]))
    if name == "next":
        return element(values, first, node.args[0] if node.args else None)
    if name in ("sum", "max", "min"):
        return _reduced(values, name, args)
    if name == "dict":
        return dictionary(node, args)
    if name == "getattr" and len(args.positional) >= 2 and isinstance(args.positional[1].const, str):
        return _or_default(values, first, args.positional[1].const, args.positional[2:])
    return UNKNOWN


def _or_default(values: Evaluator, owner: Value, name: str, defaults: Sequence[Value]) -> Value:
    """`getattr(owner, name, default)`: the default of what nobody knows, and what an object of the project holds or the default."""
    if not defaults or not owner:
        return defaults[0] if defaults else UNKNOWN
    if owner.class_ is None or defaults[0].kind == "none":
        return UNKNOWN
    return join_all([values.world.attribute(owner.class_, name), defaults[0]])


def dictionary(node: ast.Call, args: Arguments) -> Value:
    """`dict(a=1)`, `dict(other, a=1)`, and `dict(pairs)` of `zip(names, sizes)` or `net.named_parameters()`."""
    first, named = args.first, dict(args.keywords)
    if first.kind == "batch" and not named:
        return first
    if first.kind == "dict":
        entries = {**(first.entries or {}), **named} if first.entries is not None or named else None
        return replace(first, entries=entries, element=_beside(first.element, named), made_by=node)
    pair = first.element if first.kind == "list" else None
    paired = pair.items if pair is not None and pair.kind == "tuple" else None
    under = paired[1] if paired is not None and len(paired) == 2 else None
    return Dict(entries=named, element=_beside(under, named), made_by=node)


def _beside(each: Value | None, named: dict[str, Value]) -> Value | None:
    """What a dictionary holds under any key where it is given more by name."""
    return join_all([each, *named.values()]) if each is not None else None


def drawn(values: Evaluator, last: str, args: Arguments) -> Value:
    """What functions of `random` give: several elements, one of them, or a number."""
    if last in ("sample", "choices"):
        return sequence(element(values, args.first, None))
    if last == "choice":
        return element(values, args.first, None).without_const()
    if last in ("shuffle", "seed", "setstate"):
        return NONE
    return UNKNOWN if last in _NO_NUMBERS else NUMBER


def of_time(last: str) -> Value:
    """What functions of `time` give."""
    if last in ("strftime", "ctime", "asctime"):
        return STR
    return UNKNOWN if last in _NO_NUMBERS else NUMBER


def _mapped(values: Evaluator, function: ast.Lambda, each: Value) -> Value:
    """`map(lambda x: x.long().to(device), batch)` moves each part of a batch."""
    made = _called_on(values, function.body, function.args.args, each) if each.kind == "tensor" else UNKNOWN
    return sequence(made) if made.kind == "tensor" else UNKNOWN


def _called_on(values: Evaluator, node: ast.expr, parameters: list[ast.arg], each: Value) -> Value:
    """What a chain of methods makes of the one parameter of a lambda."""
    if isinstance(node, ast.Name):
        return each if [parameter.arg for parameter in parameters] == [node.id] else UNKNOWN
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return UNKNOWN
    owner, attr = _called_on(values, node.func.value, parameters, each), node.func.attr
    if owner.kind != "tensor":
        return UNKNOWN
    args = values.arguments(node)
    return moves.move(owner, attr, args) if attr in moves.MOVES else calls.tensor_method(owner, attr, node, args)


def _transposed(values: Evaluator, value: Value) -> Value:
    """`zip(*x.topk(5))` gives pairs of elements, `zip(*pairs)` all the first ones and all the second ones."""
    if value.kind == "tuple" and value.items is not None:
        return sequence(Tuple(items=tuple(element(values, item, None) for item in value.items)))
    if value.kind == "list" and value.element is not None and value.element.items is not None:
        return Tuple(items=tuple(sequence(item) for item in value.element.items))
    return UNKNOWN


def _reduced(values: Evaluator, name: str, args: Arguments) -> Value:
    if len(args.positional) == 1 or name == "sum":
        elem = element(values, args.first, None)
        return calls.calculated(elem) if elem else UNKNOWN
    value = join_all(args.positional or [args.first])
    return value.without_const() if value else UNKNOWN
