from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.facts import arguments, syntax
from torchlint.facts.nodes import given_to
from torchlint.rule import Edit, Finding, Fix, Site, chain
from torchlint.rule.rewrite import Place, cut, older_torch, operand, spelled

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.rule.lazy import lazy

    cst = lazy("libcst")

_EXACT = frozenset(("zeros", "ones", "empty", "full", "eye", "zeros_like", "ones_like", "empty_like", "full_like"))
_RANDOM = frozenset(("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"))
_INTEGERS = frozenset(f"torch.{name}" for name in ("long", "int", "short", "int64", "int32", "int16", "int8", "uint8"))
_EYES = frozenset(
    f"torch.{name}"
    for name in (
        *("float32", "float", "float64", "double", "float16", "half", "bool", "uint8", "int8", "int16", "short"),
        *("int32", "int", "int64", "long", "complex64", "cfloat", "complex128", "cdouble"),
    )
)
"""The dtypes that every `torch.eye` makes a matrix of."""
_WIDE = frozenset(f"torch.{name}" for name in ("float32", "float", "float64", "double", "bfloat16"))
"""The dtypes that hold what is written as a number in a program, or infinity."""
_HALVES = frozenset(("torch.float16", "torch.half"))
_MOST_HALF = 65504
"""The largest number of half precision."""
_MOST_BYTE = 127
"""The largest number that every dtype holds, but for bool."""
_DEVICES = (0, 4)
"""The torch whose factories take `device=`."""
_BFLOAT_EYES = (2, 3)
"""The first version of torch whose `eye` makes one of `bfloat16` on the host, too."""
_VIEWS = frozenset(("unsqueeze", "view", "reshape", "t", "transpose", "permute"))
_TO_INTEGERS = frozenset(("long", "int", "short", "bool"))
_CASTS = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Bool": "bool",
}


def fix(site: Site, finding: Finding) -> Fix | None:
    if finding.told is not None or site.name == ".type()":
        return None  # calculated, or an index; `x.type()` names a device and a dtype in one word
    move = site.call
    assert isinstance(move.func, ast.Attribute)
    made = move.func.value
    if not isinstance(made, ast.Call):
        return None  # made in another statement
    factory = _factory(site, made)
    if factory is None:
        return _uncast(site, made)
    if _is_like_another(made):
        return None
    given, name = _keywords(site, factory), (site.resolve(factory.func) or "").removeprefix("torch.")
    kind = _kind(site) if given is not None and "dtype" in given else "torch.float32"
    if given is None or (name == "eye" and kind is not None and kind not in (*_EYES, "torch.bfloat16")):
        return None
    if "dtype" in given and not _holds(site, name, factory, kind):
        return None
    node = site.cst(factory)
    assert isinstance(node, cst.Call)
    added = site.tree.add_argument(node, *(f"{name}={code}" for name, code in given.items()))
    moved = cut(site, move)
    if added is None or moved is None:
        return None
    note = (
        older_torch(site, _DEVICES)
        or _risk(site, name, factory, "dtype" in given)
        or _risk_between(site, name, factory)
    )
    if not note and name == "eye" and kind not in _EYES and (older := older_torch(site, _BFLOAT_EYES)):
        note = f"where it is one of bfloat16 on the host, {older}"
    if not note and _goes_to_tensor(site):
        note = "a move to a subclass of Tensor makes one, a factory does not"
    if not note and not _goes_to_device(site):
        note = "what is called a device may be a dtype or a tensor"
    return Fix("Create the tensor on the device", (added, moved), "unsafe" if note else "safe", note)


def _is_like_another(made: ast.expr) -> bool:
    """`torch.arange(n).expand_as(x).type(torch.long)`: what another tensor says of it, and casts by old names."""
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        if made.func.attr in ("expand_as", "type"):
            return True
        made = made.func.value
    return False


def _factory(site: Site, made: ast.Call) -> ast.Call | None:
    """The call of torch at the root of a chain of methods."""
    while isinstance(made.func, ast.Attribute) and isinstance(made.func.value, ast.Call):
        made = made.func.value
    return made if (site.resolve(made.func) or "").startswith("torch.") else None


def _keywords(site: Site, factory: ast.Call) -> dict[str, str] | None:
    """What the move asked for, as arguments of the factory."""
    move = site.call
    assert isinstance(move.func, ast.Attribute)
    if any(k.arg not in ("device", "dtype", "other", "non_blocking") for k in move.keywords) or len(move.args) > 2:
        return None
    target, dtype, blocking = _target(site), _dtype(site), _blocking(site)
    if blocking is not None and not isinstance(blocking, ast.Constant) and chain(blocking) is None:
        return None  # nobody would evaluate it
    given = (one for call in _between(site, factory) for one in given_to(call))
    if target is not None and syntax.calls_anything(target) and any(map(syntax.calls_anything, given)):
        return None  # which is evaluated first may matter
    found: dict[str, str] = {}
    if target is None:
        found["device"] = f'"{move.func.attr}"'
    elif site.value(target).kind == "tensor":
        if not isinstance(target, ast.Name | ast.Attribute) or not site.value(target).is_tensor:
            return None  # what only looks like a tensor may be a device
        other = operand(site, target, Place.RECEIVER)
        found["device"], found["dtype"] = f"{other}.device", f"{other}.dtype"
    elif not arguments.is_device(site.value(target)):
        return None
    else:
        if move.func.attr != "to" and site.value(target).kind != "device":
            return None  # `.cuda(None)` is the current device, `device=None` the host
        found["device"] = operand(site, target, Place.VALUE)
    if dtype is not None:
        found["dtype"] = operand(site, dtype, Place.VALUE)
    if "dtype" in found and (factory is not move.func.value or any(k.arg == "dtype" for k in factory.keywords)):
        return None
    return found


def _target(site: Site) -> ast.expr | None:
    """What a move goes to: a device, or another tensor."""
    return site.argument("device", 0) or site.argument("other")


def _dtype(site: Site) -> ast.expr | None:
    """The dtype of `.to(device, dtype)`."""
    return site.argument("dtype", -1 if _goes_to_tensor(site) or _method(site.call) != "to" else 1)


def _blocking(site: Site) -> ast.expr | None:
    """The `True` of `.cuda(device, True)`, `.to(device, non_blocking=True)`."""
    return site.argument("non_blocking", 1 if _goes_to_tensor(site) or _method(site.call) != "to" else -1)


def _goes_to_tensor(site: Site) -> bool:
    """`torch.zeros(2).to(x)`, `torch.zeros(2).type_as(x)`"""
    target = _target(site)
    return target is not None and site.value(target).kind == "tensor"


def _kind(site: Site) -> str | None:
    """The dtype that a move asks for by a name of torch."""
    dtype = _dtype(site)
    name = site.resolve(dtype) if dtype is not None else None
    return name if name is not None and name.startswith("torch.") else None


def _holds(site: Site, name: str, factory: ast.Call, kind: str | None) -> bool:
    """Whether a factory makes in a dtype what is cast to it today: a number that it can't hold raises, a step of 0.5 is none of integers."""
    if name == "full":
        fills = (
            [factory.args[1]] if len(factory.args) > 1 else [k.value for k in factory.keywords if k.arg == "fill_value"]
        )
        if kind in _WIDE:
            return True
        filled = site.value(fills[0]) if fills else None
        number = filled.const if filled is not None and filled.kind == "number" else None
        return isinstance(number, int | float) and abs(number) <= (_MOST_HALF if kind in _HALVES else _MOST_BYTE)
    if name == "arange":
        whole = all(site.value(argument).integer for argument in factory.args)
        return kind != "torch.bool" and (whole or kind in (*_WIDE, *_HALVES))
    if name in ("rand", "randn", "linspace", "logspace"):
        return kind not in (*_INTEGERS, "torch.bool")  # the former raise, the latter round on their way
    return True


def _goes_to_device(site: Site) -> bool:
    """Whether more than a name says that a tensor is moved to a device: a keyword, a method, or where the device comes from."""
    target = site.argument("device", 0)
    return target is None or target not in site.call.args or site.surely_device(target)


def _risk(site: Site, name: str, factory: ast.Call, cast: bool) -> str:
    if name in _RANDOM:
        return "the device draws other random numbers from the same seed than the host"
    if cast and not name.startswith(("zeros", "ones", "empty", "eye")):
        return "the values are rounded once, to the dtype asked for, instead of twice"
    if name in _EXACT or (name == "arange" and _counts(site, factory)):
        return ""
    return "the last bit of a value computed on the device may differ"


def _risk_between(site: Site, name: str, factory: ast.Call) -> str:
    """What the methods between the factory and the move do otherwise on the device; "" where that is nothing."""
    methods = [_method(call) for call in _between(site, factory)]
    casts = [method for method in methods if method in _CASTS.values()]
    whole = name == "arange" or _kinds(site, factory) <= {*_INTEGERS, "torch.bool"}
    integer = casts[-1] in _TO_INTEGERS if casts else whole
    if "expand" in methods:
        return "the move stores what `expand` repeats; without it nothing may be written there, and `view` may fail"
    if not _VIEWS.isdisjoint(methods) and not integer:
        return "what is a copy now becomes a view, which is not to be changed in place with autograd if it was made without"
    if name.startswith("full") and not _TO_INTEGERS.isdisjoint(casts):
        return "a number that an integer can't hold becomes another one on the device"
    return ""


def _between(site: Site, factory: ast.Call) -> list[ast.Call]:
    """The methods that are called between the factory and the move, the first one first."""
    found: list[ast.Call] = []
    assert isinstance(site.call.func, ast.Attribute)
    made = site.call.func.value
    while made is not factory:
        assert isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute)
        found.insert(0, made)
        made = made.func.value
    return found


def _kinds(site: Site, factory: ast.Call) -> frozenset[str | None]:
    """The dtype that a factory is given by name."""
    given = [keyword.value for keyword in factory.keywords if keyword.arg == "dtype"]
    return frozenset(map(site.resolve, given)) if given else frozenset((None,))


def _counts(site: Site, factory: ast.Call) -> bool:
    """Whether an `arange` is one of integers."""
    named = all(keyword.arg == "dtype" for keyword in factory.keywords)
    integers = all(site.value(argument).integer for argument in factory.args)
    return named and integers and _kinds(site, factory) <= {*_INTEGERS, None}


def _uncast(site: Site, made: ast.Call) -> Fix | None:
    """`mask.type(torch.FloatTensor).to(device)` as `mask.to(device, torch.float32)`."""
    assert isinstance(made.func, ast.Attribute)
    kind = (site.resolve(made.args[0]) or "").removeprefix("torch.").removesuffix("Tensor")
    target = site.argument("device", 0)
    given = given_to(site.call)
    if (
        kind not in _CASTS
        or given != [target] * len(given)
        or not (target is None or arguments.is_device(site.value(target)))
    ):
        return None
    spelling = spelled(site, f"torch.{_CASTS[kind]}")
    if spelling is None:
        return None
    device = operand(site, target, Place.ARGUMENT) if target is not None else f'"{_method(site.call)}"'
    source = site.source
    end = source.end_of(made.func)
    last = source.end_of(site.call)
    edit = Edit(end - len("type"), last, f"to({device}, {spelling[0]})".encode())
    note = "what is on that device in that type already is not copied any more"
    return Fix("Cast and move in one call", (edit, *spelling[1]), "unsafe", note)


def _method(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr
