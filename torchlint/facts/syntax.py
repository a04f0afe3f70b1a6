"""Small questions about the shape of a function's code that several rules ask."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..system.cached import kept
from . import names, versions
from .flow import Flow
from .nodes import is_written, local_name, required, string
from .unbound import is_behind_unbound

if TYPE_CHECKING:
    from .module import Function


_INFINITE = frozenset(("inf", "math.inf", "np.inf", "numpy.inf", "torch.inf"))


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """An import statement that binds a name, and the function it stands in."""

    function: Function
    statement: ast.Import | ast.ImportFrom
    alias: ast.alias


def infinity(node: ast.expr) -> float | None:
    """The infinite number that an expression writes out: `float("-inf")`, `-math.inf`; None for other expressions."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = infinity(node.operand)
        return -value if value is not None else None
    if not isinstance(node, ast.Call):
        return math.inf if ".".join(names.chain(node) or ()) in _INFINITE else None
    given = [*map(string, node.args)] if names.chain(node.func) == ["float"] else []
    return {"inf": math.inf, "-inf": -math.inf}.get(given[0] or "") if len(given) == 1 else None


def is_counted(resolve: Callable[[ast.expr], str | None], node: ast.expr, through: Collection[str]) -> bool:
    """`range(n)`, backwards as well, and what is made of it by some functions, or written as a list: `list(reversed(range(n)))`, `[i for i in range(n) for j in range(i)]`."""
    while True:
        if isinstance(node, ast.Call) and node.args and resolve(node.func) in (*through, "reversed"):
            node = node.args[0]
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            node = node.value  # `range(n)[::-1]`
        else:
            break
    if isinstance(node, ast.ListComp):
        counters = {one.target.id for one in node.generators if isinstance(one.target, ast.Name)}
        return is_made_of_counted(resolve, node) and isinstance(node.elt, ast.Name) and node.elt.id in counters
    return isinstance(node, ast.Call) and resolve(node.func) == "range"


def is_made_of_counted(resolve: Callable[[ast.expr], str | None], node: ast.expr) -> bool:
    """Whether a list is made of what is counted alone, one element a number: `[exp(-i * i) for i in range(n)]`."""
    if not isinstance(node, ast.ListComp):
        return False
    return all(not one.ifs and is_counted(resolve, one.iter, ()) for one in node.generators)


def exclusive(flow: Flow, one: ast.AST, other: ast.AST) -> bool:
    """Whether two places lie in different branches of one `if` or `try`, or conditional expression, so that a run reaches one of them."""
    arms = {id(parent): arm for parent, arm in flow.arms(one)}
    return any(arms.get(id(parent), arm) != arm for parent, arm in flow.arms(other))


def has_twin(flow: Flow, call: ast.Call, keyword: str) -> bool:
    """Whether another branch gives the argument to the same function: this one is for a torch that does not know it."""
    assert isinstance(call.func, ast.Attribute | ast.Name)
    return any(
        any(given.arg == keyword for given in other.keywords) and exclusive(flow, call, other)
        for other in flow.calls_named(names.last(call.func))
    )


def block(flow: Flow, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that a statement stands in."""
    found = flow.block(statement)
    return found.statements if found is not None else [statement]


def following(flow: Flow, statement: ast.stmt) -> ast.stmt | None:
    """The next statement of the same block."""
    behind = rest(flow, statement)
    return behind[0] if behind else None


def rest(flow: Flow, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the same block behind one; what that assigns besides, of `a, b = x, y`, is none."""
    found = flow.block(statement)
    if found is None:
        return []
    behind = found.statements[found.index[statement] + 1 :]
    begins = (statement.lineno, statement.col_offset)
    return behind if is_written(statement) else [one for one in behind if (one.lineno, one.col_offset) != begins]


def nearby(flow: Flow, statement: ast.stmt, *, before: int = 0, behind: int = 0) -> list[ast.stmt]:
    """The statements of a block from so many before one of them to so many behind it, itself included."""
    found = flow.block(statement)
    if found is None:
        return [statement]
    at = found.index[statement]
    return found.statements[max(0, at - before) : at + behind + 1]


def target(flow: Flow, value: ast.expr) -> ast.expr | None:
    """What the value alone is assigned to: `x` of `x = value`, `self.x` of `self.x: T = value`."""
    parent = flow.parents.get(value)
    if isinstance(parent, ast.Assign) and parent.value is value and len(parent.targets) == 1:
        return parent.targets[0]
    return parent.target if isinstance(parent, ast.AnnAssign) and parent.value is value else None


def given_to_target(flow: Flow, target: ast.expr) -> ast.expr | None:
    """What an assignment gives a target, `y` for `b` of `a, b = x, y`; None of other statements, and of what is unpacked."""
    parent = flow.parents.get(target)
    if not isinstance(parent, ast.Tuple):
        return parent.value if isinstance(parent, ast.Assign) else None
    around = flow.parents.get(parent)
    whole = around.value if isinstance(around, ast.Assign) else None
    several = whole.elts if isinstance(whole, ast.Tuple) and len(whole.elts) == len(parent.elts) else None
    return several[parent.elts.index(target)] if several is not None else None


def own_attribute(function: Function, node: ast.expr | None) -> str | None:
    """The `x` of `self.x` in a method."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    return node.attr if node.value.id == function.own_name else None


def stores_of(function: Function, node: ast.expr) -> list[tuple[Function, ast.expr]]:
    """Where a name of a function, or of one around it, or an attribute of its object is bound by assignment, with the function that does."""
    kept = own_attribute(function, node)
    if kept is not None and function.cls is not None:
        return [*function.cls.stores.get(kept, ())]
    if not isinstance(node, ast.Name):
        return []
    scope = scope_of(function, node.id)
    return [(scope, store) for store in scope.flow.stores.get(node.id, ())]


def method_around(function: Function, node: ast.expr) -> Function | None:
    """The method whose object an expression is: `self` in it, or in a function inside of it."""
    if not isinstance(node, ast.Name):
        return None
    scope = function if node.id == function.own_name else scope_of(function, node.id)
    return scope if node.id == scope.own_name and node.id not in scope.flow.stores else None


def scope_of(function: Function, name: str) -> Function:
    """The function that a name belongs to, its own or one around it; the body of the module for others."""
    return next((one for one in function.scopes if one.binds(name)), function.module.body)


def is_super(node: ast.expr | None) -> bool:
    """`super()`"""
    return isinstance(node, ast.Call) and names.last(node.func) == "super"


def called(flow: Flow, func: ast.expr) -> ast.Call | None:
    """The call of an expression, where it is called."""
    parent = flow.parents.get(func)
    return parent if isinstance(parent, ast.Call) and parent.func is func else None


def method_calls(flow: Flow, name: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of a method of that name in a function, each with its receiver."""
    for call in flow.calls_named(name):
        if isinstance(call.func, ast.Attribute):
            yield call, call.func.value


def gives_places(flow: Flow, call: ast.Call) -> bool:
    """Whether what a `nonzero()` gives is used as a tensor, `x.nonzero().view(-1)`, `x.nonzero()[:, 0]`: that of an array is a tuple."""
    if any(given.arg == "as_tuple" for given in call.keywords):
        return True
    parent = flow.parents.get(call)
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.slice, ast.Tuple)
    return isinstance(parent, ast.Attribute) and parent.attr not in ("count", "index")


def appended_to(flow: Flow, call: ast.Call) -> ast.Name | None:
    """The list, by its name, that a call puts its argument into: `outs.append(out)`, alone in its statement."""
    grown = _grown(flow, call)
    return grown if isinstance(grown, ast.Name) else None


def appended_to_attribute(flow: Flow, call: ast.Call) -> str | None:
    """The attribute whose list a call puts its argument into: `kept` of `self.buffer.kept.append(out)`, alone in its statement."""
    grown = _grown(flow, call)
    return grown.attr if isinstance(grown, ast.Attribute) else None


def _grown(flow: Flow, call: ast.Call) -> ast.expr | None:
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "append":
        return None
    return func.value if isinstance(flow.parents.get(call), ast.Expr) else None


def calls_anything(node: ast.AST) -> bool:
    """Whether to evaluate an expression once or twice may make a difference: it calls, awaits, yields or binds something."""
    return any(
        isinstance(part, ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for part in ast.walk(node)
    )


def never_runs(flow: Flow, node: ast.AST) -> bool:
    """Whether a place is behind what ends its block, or a constant that says otherwise: `return`, `if False:`, the `else` of `if True:`."""
    constant = (
        isinstance(part, ast.Constant) and bool(part.value) is not holds
        for guard in flow.guards(node)
        for part, holds in required(guard.test, guard.true)
    )
    return flow.is_behind_end(node) or any(constant) or is_behind_unbound(flow, node)


def same(one: ast.AST | None, other: ast.AST | None) -> bool:
    """Whether two expressions are written alike."""
    return one is not None and other is not None and ast.dump(one) == ast.dump(other)


def imports_of(function: Function, name: str) -> list[Binding]:
    """The import statements that bind a name where `function` stands, those of its own scope before the module's."""
    scope = next((one for one in function.scopes if name in one.imports), None)
    return _imports(scope).get(name, []) if scope is not None else []


def _imports(scope: Function) -> dict[str, list[Binding]]:
    return kept(scope, "import_bindings", lambda: _find_imports(scope))


def _find_imports(scope: Function) -> dict[str, list[Binding]]:
    found: dict[str, list[Binding]] = {}
    for node in scope.flow.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                found.setdefault(local_name(node, alias), []).append(Binding(scope, node, alias))
    return found


def from_shim(function: Function, node: ast.expr) -> bool:
    """Whether the import that a dotted name starts at is one of several, or part of a compatibility shim."""
    parts = names.chain(node)
    scope = next((one for one in function.scopes if parts[0] in one.imports), None) if parts is not None else None
    if parts is None or scope is None:
        return False
    known: dict[str, bool] = kept(scope, "shims", dict)
    if parts[0] not in known:
        known[parts[0]] = _is_shim(_imports(scope).get(parts[0], []))
    return known[parts[0]]


def _is_shim(bindings: list[Binding]) -> bool:
    if any(versions.behind_probe(binding.function.flow, binding.statement) for binding in bindings):
        return True
    return len({_origin(binding) for binding in bindings}) > 1


def _origin(binding: Binding) -> str:
    statement, alias = binding.statement, binding.alias
    if isinstance(statement, ast.ImportFrom):
        return f"{statement.module}.{alias.name}"
    return alias.name if alias.asname else alias.name.partition(".")[0]
