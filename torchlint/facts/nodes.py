"""Small questions about one node of `ast`, wherever it stands: what a call is given, which names an expression holds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from ..text.normal_form import TURNED, PairedAssign

FLAGS = 8
"""So many flags of one condition are followed."""
_N = TypeVar("_N", bound="ast.AST | None")
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.MatMult: "matmul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or", ast.BitXor: "xor",
    ast.BitAnd: "and",
}  # fmt: skip
"""What the method of a class that says what an operator does is called."""


def given_to(call: ast.Call) -> list[ast.expr]:
    """What a call is given, by position and by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def keyword_of(call: ast.Call, *wanted: str) -> ast.expr | None:
    """What a call gives by a name, or by the first of several that it writes; None where it writes none."""
    return next((keyword.value for keyword in call.keywords if keyword.arg in wanted), None)


def argument_of(call: ast.Call, name: str, position: int = -1) -> ast.expr | None:
    """What a call gives by a name, or else at a position (from 0); None where it gives neither, or a `*` hides it."""
    given = keyword_of(call, name)
    if given is not None or not 0 <= position < len(call.args):
        return given
    hidden = any(isinstance(one, ast.Starred) for one in call.args[: position + 1])
    return None if hidden else call.args[position]


def defaults_of(parameters: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that have a default, each with it, in source order."""
    positional = [*parameters.posonlyargs, *parameters.args]
    with_default = positional[len(positional) - len(parameters.defaults) :]
    pairs = (
        *zip(with_default, parameters.defaults, strict=True),
        *zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True),
    )
    return ((parameter.arg, default) for parameter, default in pairs if default is not None)


def spreads(call: ast.Call) -> bool:
    """Whether `*` or `**` may bring a call more arguments than it writes."""
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)


def is_constant(node: ast.AST | None, value: object) -> bool:
    """Whether an expression is the constant None, True or False that is asked for."""
    return isinstance(node, ast.Constant) and node.value is value


def ends_of_text(text: ast.expr, known: Callable[[ast.expr], object]) -> tuple[str, str] | None:
    """What a text with gaps begins and ends with: `f"{phase}_loader"`, `"loader_" + phase`; None of others.

    `known` gives the text that an expression is, where that is known.
    """
    parts: list[object]
    if isinstance(text, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "" for part in text.values]
    elif isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add) and known(text) is None:
        parts = [known(side) for side in (text.left, text.right)]
    else:
        return None
    first, last = (part if isinstance(part, str) else "" for part in (parts[0], parts[-1])) if parts else ("", "")
    return (first, last) if first or last else None


def string(node: ast.AST | None) -> str | None:
    """The text that an expression writes out; None for other expressions."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def number(node: ast.AST | None) -> int | float | None:
    """The number that an expression writes out, `0.5` or `-1`; None for other expressions, booleans among them."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = number(node.operand)
        return -found if found is not None else None
    plain = isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return node.value if plain else None  # type: ignore[union-attr]


def without_not(test: ast.expr, true: bool) -> tuple[ast.expr, bool]:
    """A condition without each `not` in front, and whether the rest is true where the whole is `true`."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, true = test.operand, not true
    return test, true


class Choice(NamedTuple):
    """What an `if` asks, without `not`, and whether that holds where its block runs; the other block runs where it does not."""

    test: ast.expr
    true: bool
    block: list[ast.stmt]
    other: list[ast.stmt]


def choice(statement: ast.If) -> Choice:
    """The choice that an `if` makes; a `pass` is no block: that of `if not a: pass`, `else: b` is `b`, where `a` holds."""
    test, true = without_not(statement.test, True)
    if statement.orelse and all(isinstance(one, ast.Pass) for one in statement.body):
        return Choice(test, not true, statement.orelse, [])
    return Choice(test, true, statement.body, statement.orelse)


def leaves(test: ast.expr) -> Iterator[ast.expr]:
    """The expressions whose truth a test asks for: `a` and `b < c` of `a and not b < c`."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from leaves(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from leaves(test.operand)
    elif isinstance(test, ast.NamedExpr):
        yield from leaves(test.value)
    else:
        yield test


def required(test: ast.expr, true: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a condition that have to be true, or false, where the condition is to be so."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from required(test.operand, not true)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == true:
        for one in test.values:
            yield from required(one, true)
    else:
        yield test, true


def truth(test: ast.expr, says: Callable[[ast.expr], bool | None]) -> bool | None:
    """Whether a condition holds, by what is said of the parts that `not`, `and` and `or` join; None where that is open."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(test.operand, says)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)  # one that holds is enough for `or`, one that does not for `and`
        found = [truth(part, says) for part in test.values]
        return decisive if decisive in found else None if None in found else not decisive
    return says(test)


def turned(test: ast.Compare) -> ast.Compare | None:
    """`b > a` for `a < b`, which says the same; None where the sides can't change places, or a literal stands last, as it does in all trees."""
    other = TURNED.get(type(test.ops[0])) if len(test.ops) == 1 else None
    if other is None or isinstance(test.comparators[0], ast.Constant):
        return None
    return ast.copy_location(ast.Compare(test.comparators[0], [other()], [test.left]), test)


def none_test(test: ast.AST | None) -> tuple[ast.expr, bool] | None:
    """`x` of `x is None`, `x is not None` and `not x is None`, and whether it is None where the test is true; None for other tests."""
    test, true = without_not(test, True) if isinstance(test, ast.UnaryOp) else (test, True)
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(test.ops[0], ast.Is | ast.IsNot):
        return None
    return (test.left, isinstance(test.ops[0], ast.Is) is true) if is_constant(test.comparators[0], None) else None


def spelled(node: ast.AST) -> object:
    """The name that a node is, has, defines or spells as a text."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case _:
            return None


def measured(node: ast.AST | None) -> ast.expr | None:
    """`x` of `len(x)`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[x], keywords=[]):
            return x
    return None


def sized(node: ast.AST | None) -> ast.expr | None:
    """`x` of `x.shape[0]` and `x.size(0)`: what has so many rows."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=x, attr="shape"), slice=ast.Constant(value=0)):
            return x
        case ast.Call(func=ast.Attribute(value=x, attr="size"), args=[ast.Constant(value=0)], keywords=[]):
            return x
    return None


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The conditions that `and` joins; a condition without one is its own."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def elements(node: ast.expr) -> list[ast.expr]:
    """The parts of a tuple or list that is written out; what is none is its own part."""
    return node.elts if isinstance(node, ast.Tuple | ast.List) else [node]


def telling(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body but for texts and `...`."""
    return (one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)))


def is_written(statement: ast.AST) -> bool:
    """Whether a statement is one of the text, and may be written anew: not the `a = x` of `a, b = x, y`."""
    return not isinstance(statement, PairedAssign)


def indices(index: ast.expr) -> list[ast.expr]:
    """What stands between the commas of an index: in `x[[0, 1]]` the list is one."""
    return index.elts if isinstance(index, ast.Tuple) else [index]


def in_any_order(iterable: ast.expr) -> ast.expr:
    """What `reversed(...)`, `list(...)` and `tqdm(...)` give the elements of."""
    while isinstance(iterable, ast.Call) and iterable.args:
        func = iterable.func
        if not isinstance(func, ast.Name) or func.id not in ("reversed", "list", "tqdm"):
            break
        iterable = iterable.args[0]
    return iterable


def names_in(node: ast.AST) -> set[str]:
    """The names that stand in a node, read or bound."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def bound_names(node: ast.AST) -> set[str]:
    """The names that a target, or a statement, binds: `i` and `x` of `i, (x, y[0])`, none of `self.epoch`."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def assigned_in(node: ast.AST) -> set[str]:
    """The names of what an assignment changes, in whole or in part: `losses` of `losses[k] = loss`; none of other nodes."""
    todo: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        todo += node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        todo.append(node.target)
    found: set[str] = set()
    while todo:
        target = todo.pop()
        if isinstance(target, ast.Name):
            found.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            todo += target.elts
        elif isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
            todo.append(target.value)
    return found


def local_name(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """The name that one part of an import binds."""
    return alias.asname or (alias.name.partition(".")[0] if isinstance(statement, ast.Import) else alias.name)


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node binds, or deletes, by itself; parameters are no such names."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Import() | ast.ImportFrom():
            yield from (local_name(node, alias) for alias in node.names)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name


def root_of(node: ast.expr, *through: type[ast.expr]) -> ast.Name | None:
    """The name that an expression starts at, `x` of `x.y[0]`; None for one that starts elsewhere.

    It is looked for through attributes and indices, or through other kinds of expressions.
    """
    while isinstance(node, through or (ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value  # type: ignore[attr-defined]
    return node if isinstance(node, ast.Name) else None


def steps(node: ast.expr | None) -> Iterator[ast.expr]:
    """What a chain of attributes, indices and calls is made of, outermost first: `f(x).a[0]`, `f(x).a`, `f(x)`, `f`."""
    while node is not None:
        yield node
        inner = node.func if isinstance(node, ast.Call) else None
        node = inner or (node.value if isinstance(node, ast.Attribute | ast.Subscript) else None)


def made_first(node: ast.expr) -> ast.expr:
    """The call at the root of methods of its result: `torch.zeros(n)` of `torch.zeros(n).float().cuda()`; other expressions as they are."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    return node


def addends(node: ast.expr) -> Iterator[ast.expr]:
    """`a`, `b` and `c` of `a + b + c`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from addends(node.left)
        yield from addends(node.right)
    else:
        yield node


def receiver_of(call: ast.Call) -> ast.expr:
    """`x` of `x.f(...)`; of other calls, what is called."""
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def callee(node: _N) -> _N | ast.expr:
    """What a call calls; anything else as it is, such as a decorator without arguments."""
    return node.func if isinstance(node, ast.Call) else node


NEXT = frozenset(("next", "__next__"))
"""What takes one from an iterator: `next(pairs)`, `pairs.__next__()`; `pairs.next()` is Python 2's."""


def advanced(call: ast.expr) -> ast.expr | None:
    """The iterator of which a call takes the next: `batches` of `next(batches)`, `batches.next()`, `batches.__next__()`."""
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    if isinstance(call.func, ast.Name):
        return call.args[0] if call.func.id == "next" and call.args else None
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr in NEXT
    return receiver_of(call) if is_method and not call.args else None
