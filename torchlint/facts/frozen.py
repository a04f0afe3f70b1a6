"""Models whose parameters a program freezes, as far as the text near `requires_grad` names them."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from ..system.regex import regex
from .flow import Loop
from .module import Function
from .names import chain
from .nodes import is_constant
from .place import Place
from .values import Value

_SETS = r"requires_grad(?:_\w*)?(?:\((?!\s*(?:True\s*)?\))|\s*=(?!=|\s*True\b))"
"""`requires_grad = False`, `requires_grad_(False)`; `if p.requires_grad` freezes nothing, nor does `requires_grad = True`."""
_NAMES_GRAD = regex(rb"requires_grad")
_ALL = r"freeze(?:_all|_?params|_?parameters|_?weights|_?model|_?module)?\("
"""What is called so freezes all of a model."""
_FREEZES = regex(rb"\b" + _ALL.encode())


def is_frozen(place: Place, name: str) -> bool:
    """Whether the file, or a class that the method's class inherits from, freezes the parameters of a model of that name."""
    source, klass = place.function.module.source, place.function.cls
    speaks = source.holds(b"requires_grad") or source.holds(_FREEZES)
    if speaks and source.fact(f"frozen {name}", lambda read: _freezes(read.text, name)):
        return True
    bases = itertools.islice(place.project.ancestry(klass), 1, None) if klass is not None else ()
    return any(_freezes(base.module.lines_of(base.node), name) for base in bases)


def is_frozen_by(place: Place, holder: Value, name: str) -> bool:
    """Whether the constructor of what holds a model freezes that: `model.encoder` of a `model` that freezes `self.encoder`."""
    init = place.project.method(holder.class_, "__init__") if holder.class_ is not None else None
    return init is not None and init.says(_NAMES_GRAD) and _freezes(init.module.lines_of(init.node), name)


def freezes_itself(model: Value) -> bool:
    """Whether the constructor of a model takes the gradients from all of its parameters: `self.requires_grad_(False)`,
    `for p in self.parameters(): p.requires_grad = trainable`, of a parameter that is False by default and that nobody gives.
    """
    made = model.class_.methods.get("__init__") if model.class_ is not None else None
    if made is None or not made.says(_NAMES_GRAD):
        return False
    by = model.made_by if isinstance(model.made_by, ast.Call) else None
    own = [made.own_name]
    given = [
        call.args[0]
        for call in made.flow.calls_named("requires_grad_")
        if (chain(call.func) or [])[:-1] == own and call.args
    ]
    given += filter(None, (_given_all(loop, own) for loop in made.own_loops))
    return any(_is_off(made, one, by) for one in given)


def _given_all(loop: Loop, own: list[str]) -> ast.expr | None:
    """What a loop over all parameters of an object sets `requires_grad` of each to."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not isinstance(loop.target, ast.Name):
        return None
    if chain(loop.iter.func) != [*own, "parameters"]:
        return None
    for one in loop.body:
        if isinstance(one, ast.Assign) and chain(one.targets[0]) == [loop.target.id, "requires_grad"]:
            return one.value
        call = one.value if isinstance(one, ast.Expr) else None
        if isinstance(call, ast.Call) and chain(call.func) == [loop.target.id, "requires_grad_"] and call.args:
            return call.args[0]
    return None


def _is_off(made: Function, given: ast.expr, by: ast.Call | None) -> bool:
    """Whether what a constructor gives is False, or its parameter that is False in the call by which it is made."""
    if isinstance(given, ast.Name):
        said = made.argument(by, given.id) if by is not None else None
        given = said or made.defaults.get(given.id, given)
    return is_constant(given, False)


def _freezes(text: str, name: str) -> bool:
    """`for p in net.parameters(): p.requires_grad = False`, `freeze(net)`, `net.freeze()`, `set_requires_grad(net, False)` that no call takes back."""
    name = re.escape(name)
    frozen = re.compile(
        rf"\b{name}\b[^\n]*{_SETS}|for [^\n]*\b{name}\b[^\n]*:\s*[^\n]*{_SETS}"
        rf"|\b(?:de|dis|un|no|turn_off|freeze)\w*requires_grad\w*\([^\n]*\b{name}\b"
    )
    given = re.compile(rf"requires_grad\w*\((?=[^\n]*\b{name}\b)[^\n]*\b(True|False)\b")
    if re.search(rf"\b{_ALL}[^\n]*\b{name}\b|\b{name}\.{_ALL}", text) and not re.search(rf"\b{name}\.un_?freeze", text):
        return True
    lines = list(_around_grad(text))
    told = {match[1] for line in lines for match in given.finditer(line)}
    return told == {"False"} or any(map(frozen.search, lines))


def _around_grad(text: str) -> Iterator[str]:
    """The lines that hold `requires_grad`, each with what stands above it: the head of a loop may."""
    at = text.find("requires_grad")
    while at >= 0:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        above = text.rfind("\n", 0, at) + 1
        while above > 0:
            below, above = above, text.rfind("\n", 0, above - 1) + 1
            if text[above:below].strip():
                break
        yield text[above:end]
        at = text.find("requires_grad", end)
