"""Small operations on each parameter of a model, a few kernels each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import updates
from .module import Function
from .names import chain
from .nodes import Choice, addends, conjuncts, elements, given_to, keyword_of, names_in, steps, string, without_not
from .parameter_loops import root
from .place import Place
from .syntax import same

FEW = 3
"""How many statements a loop has that does little else than a small operation."""
_KEEPING = frozenset(("clone", "detach", "double", "float", "half", "pow", "square", "to", "type_as"))
"""Methods that give a tensor of the size of the parameter, where it is."""
_REDUCING = frozenset(("norm", "sum", "vector_norm"))
_REDUCES = frozenset(("torch.linalg.norm", "torch.linalg.vector_norm", "torch.norm", "torch.sum"))
"""What gives a single value of a tensor."""
_OF_KIND = frozenset(("torch", "isinstance"))
"""What a condition asks with, which kind a parameter is of: `torch.is_floating_point(p)`."""


def of_all(place: Place, body: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements of a loop that run for all parameters, without `assert` and `if p.grad is None: continue`; none where a condition leaves some out."""
    found = []
    for at, statement in enumerate(body):
        asked = place.flow.choice(statement) if isinstance(statement, ast.If) else None
        if asked is not None and not asked.other and isinstance(asked.block[0], ast.Continue):
            left = Choice(asked.test, not asked.true, body[at + 1 :], [])
            if not _asks_all(place, left, names):
                return []
        elif not isinstance(statement, ast.Assert):
            found.append(statement)
    return found


def calls_little(place: Place, body: list[ast.stmt], names: set[str]) -> bool:
    """Whether statements give a parameter to a function that does little else than a small operation on it.

    `average(name, p.data)`, `q.data = self.mixed(q.data, p.data)`.
    """
    names = names | {name for statement in body for name in _other_names(statement, names)}
    for statement in body:
        if isinstance(statement, ast.If):
            asked = place.flow.choice(statement)
            if _is_for_all(place, asked, names) and calls_little(place, asked.block, names):
                return True
            continue
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if not isinstance(call, ast.Call) or not any(_is_of_parameter(place, one, names) for one in given_to(call)):
            continue
        targets = place.project.targets(place.function, call)
        stored = isinstance(statement, ast.Assign) and _is_data(statement.targets[0], names)
        if len(targets) == 1 and _is_little(place, call, targets[0], names, stored=stored):
            return True
    return False


def remakes(place: Place, body: list[ast.stmt], names: set[str]) -> bool:
    """Whether statements make the entry of each parameter anew of what it was and of the parameter."""
    blocks = [body]
    while blocks:
        block = blocks.pop()
        if any(_is_of_parameter(place, part, names) for parts in updates.remade(block, names) for part in parts):
            return True
        for inner in block:
            asked = place.flow.choice(inner) if isinstance(inner, ast.If) else None
            if asked is not None and _is_for_all(place, asked, names):
                blocks.append(asked.block)
            elif isinstance(inner, ast.With):
                blocks.append(inner.body)
    return False


def is_small(place: Place, statement: ast.stmt, names: set[str], *, told: bool = True) -> bool:
    """An operation in place on the parameter, its data or gradient, or its norm; behind `if p.grad is not None` too.

    `told` says whether TL706 reports an optimizer written by hand.
    """
    if told and updates.from_gradient(statement) is not None:
        return False
    if isinstance(statement, ast.With):
        return any(is_small(place, inner, names, told=told) for inner in statement.body)
    if isinstance(statement, ast.If):
        return any(_is_small_in(place, one, names, told=told) for one in _ways(place.flow.choice(statement)))
    if any(_is_reduced(place, part, names) for part in _added(statement)):
        return True
    if isinstance(statement, ast.AugAssign):
        return root(statement.target) in names and not _counts(place, statement)
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if isinstance(statement, ast.Assign) and isinstance(value, ast.BinOp):
        return _is_data(statement.targets[0], names)  # `average.data = decay * average.data + ...`
    if isinstance(value, ast.Call) and isinstance(statement, ast.Expr):
        out = keyword_of(value, "out")
        if out is not None:
            return root(out) in names
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    method = value.func.attr
    in_place = isinstance(statement, ast.Expr) and method.endswith("_") and not method.endswith("__")
    norm = isinstance(statement, ast.Assign) and method == "norm"
    holder = value.func.value
    while in_place and isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute):
        if not holder.func.attr.endswith("_") and holder.func.attr != "detach":
            break
        holder = holder.func.value  # `average.detach().mul_(decay).add_(...)`
    return ((in_place and method != "requires_grad_") or norm) and root(holder) in names


def reduces(place: Place, made: ast.ListComp | ast.GeneratorExp, names: set[str]) -> bool:
    """Whether a comprehension makes a single value of each parameter, `[p.grad.norm() for p in parameters if p.grad is not None]`."""
    first, *others = made.generators
    asked = (Choice(*without_not(test, True), [], []) for test in first.ifs)
    is_for_all = all(_is_for_all(place, one, names) for one in asked)
    return not others and is_for_all and _is_reduced(place, made.elt, names)


def _ways(asked: Choice) -> Iterator[Choice]:
    """A choice, and of `if name not in self.shadow: ... else: ...` the other one: both are for all parameters, the first time and later."""
    yield asked
    if asked.other and isinstance(asked.test, ast.Compare) and isinstance(asked.test.ops[0], ast.In | ast.NotIn):
        yield Choice(asked.test, not asked.true, asked.other, asked.block)


def _is_small_in(place: Place, asked: Choice, names: set[str], *, told: bool) -> bool:
    # `name = names[key]`: what is looked up by the name is a parameter too.
    found = names | {root(s.targets[0]) for s in asked.block if isinstance(s, ast.Assign)}
    return _is_for_all(place, asked, names) and any(is_small(place, inner, found, told=told) for inner in asked.block)


def _other_names(statement: ast.stmt, names: set[str]) -> Iterator[str]:
    """`old` and `new` of `old, new = q.data, p.data`."""
    if isinstance(statement, ast.Assign):
        for target, value in zip(elements(statement.targets[0]), elements(statement.value), strict=False):
            if isinstance(target, ast.Name) and isinstance(_start(value, names), ast.Name):
                yield target.id


def _is_little(place: Place, call: ast.Call, called: Function, names: set[str], *, stored: bool) -> bool:
    """Whether a function of a few statements writes to a parameter, or its entry, or gives the sum that is stored in it."""
    body = called.telling
    if len(body) > FEW + 1:
        return False
    handed = {name: given for name in called.positions if (given := called.argument(call, name)) is not None}
    keys = {name for name, given in handed.items() if isinstance(given, ast.Name) and given.id in names}
    own = {name for name, given in handed.items() if _is_of_parameter(place, given, names)}
    sums = [one.value for one in body if isinstance(one, ast.Return) and isinstance(one.value, ast.BinOp)]
    return (
        (stored and any(not own.isdisjoint(names_in(one)) for one in sums))
        or any(_start(part, own) is not None for parts in updates.remade(body, keys) for part in parts)
        or any(is_small(place.at(called, one), one, own) for one in body)
    )


def _is_data(node: ast.expr, names: set[str]) -> bool:
    """`average.data`, `p.grad`"""
    return isinstance(node, ast.Attribute) and node.attr in ("data", "grad") and root(node) in names


def _is_of_parameter(place: Place, node: ast.expr, names: set[str]) -> bool:
    """`p`, `p.data`, `p.detach().float()`, `state[key]`: neither a number nor a copy on the host."""
    start = _start(node, names)
    return start is not None and place.value(start if isinstance(start, ast.Subscript) else node).is_tensor


def _start(node: ast.expr, names: set[str]) -> ast.expr | None:
    """The name, or the entry of one of the names, whose tensor an expression gives as large as it is; None where it gives another."""
    for part in steps(node):
        if isinstance(part, ast.Call):
            if not isinstance(part.func, ast.Attribute) or part.func.attr not in _KEEPING:
                return None
        elif isinstance(part, ast.Name | ast.Subscript):
            return part if root(part) in names else None
    return None


def _is_for_all(place: Place, made: Choice, names: set[str]) -> bool:
    """Whether a condition is about the parameter alone, such as `p.grad is not None`, or the same for all of them."""
    few = any(isinstance(part, ast.Attribute) and part.attr == "is_sparse" for part in ast.walk(made.test))
    return not few and _asks_all(place, made, names)


def _asks_all(place: Place, made: Choice, names: set[str]) -> bool:
    test = made.test
    required = conjuncts(test) if made.true else [test]
    if any(_is_of_one(part, made.true) for part in required):
        return False
    asked = [part for part in required if not _has_entry(part, made, names)]
    read = (node for part in asked for node in ast.walk(part) if isinstance(node, ast.Name))
    asks = {node.id for node in read if place.resolve(node) not in _OF_KIND}
    # `if scale < 1:` asks the same for all of them.
    once = asks.isdisjoint(names) and isinstance(test, ast.Compare) and _is_order(test)
    return asks <= names or once


def _is_of_one(test: ast.expr, true: bool) -> bool:
    """`name == "head.weight"`"""
    equal = ast.Eq if true else ast.NotEq
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], equal) and string(test.comparators[0]) is not None


def _has_entry(test: ast.expr, made: Choice, names: set[str]) -> bool:
    """`name in self.shadow`, where the body changes `self.shadow[name]`: whoever keeps a copy of a parameter has an entry."""
    said = ast.In if made.true else ast.NotIn
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], said) or root(test.left) not in names:
        return False
    return any(
        isinstance(part, ast.Subscript) and same(part.slice, test.left) and same(part.value, test.comparators[0])
        for statement in made.block
        for part in updates.written(statement)
    )


def _added(statement: ast.stmt) -> Iterator[ast.expr]:
    """The terms that a statement adds to a sum: `total += term`, `total = total + term`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        yield from addends(statement.value)
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        terms, target = list(addends(statement.value)), chain(statement.targets[0])
        rest = [term for term in terms if chain(term) != target]
        if target is not None and len(rest) < len(terms):
            yield from rest


def _is_reduced(place: Place, term: ast.expr, names: set[str]) -> bool:
    """Whether a term is made of a single value of the parameter, or of what is calculated of it: `0.5 * (p - q).pow(2).sum()`."""
    return any(
        isinstance(part, ast.Call)
        and (given := _given_to_reduce(place, part)) is not None
        and not names.isdisjoint(names_in(given))
        and place.value(given).is_tensor
        for part in ast.walk(term)
    )


def _given_to_reduce(place: Place, call: ast.Call) -> ast.expr | None:
    """`p` of `p.norm(2)` and `torch.sum(p)`."""
    func = call.func
    if not (isinstance(func, ast.Attribute) and func.attr in _REDUCING):
        return None
    if place.resolve(func) in _REDUCES:
        return call.args[0] if call.args else None
    return func.value


def _counts(place: Place, statement: ast.AugAssign) -> bool:
    """`sizes[name] += p.numel()`"""
    adds = isinstance(statement.target, ast.Subscript) and isinstance(statement.op, ast.Add | ast.Sub)
    return adds and place.value(statement.value).kind == "number"


def _is_order(test: ast.Compare) -> bool:
    return isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
