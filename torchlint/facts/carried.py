"""What a loop keeps from one iteration for the next."""

from __future__ import annotations

import ast

from .flow import Guard, Loop, contains
from .names import chain
from .nodes import bound_names, is_constant, none_test, number
from .place import Place

_FEW = 4
"""How many iterations of a loop are too few to matter."""
_EMPTIES = frozenset(("clear", "pop", "popitem", "update", "setdefault"))
"""Methods of a dictionary after which an entry may be another."""


def goes_on(test: ast.expr, grown: ast.expr, loop: Loop | None) -> bool:
    """Whether a condition holds but for the first time: `x is not None` of what grows, `i > 0` of the loop's counter, `i`."""
    asked = none_test(test)
    if asked is not None:
        return not asked[1] and ast.unparse(asked[0]) == ast.unparse(grown)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Gt | ast.GtE | ast.NotEq):
        test = test.left if number(test.comparators[0]) in (0, 1) else test
    return isinstance(test, ast.Name) and isinstance(loop, ast.For) and test.id in bound_names(loop.target)


def counted(place: Place, entry: ast.Subscript) -> Loop | None:
    """The loop whose iterations add to an entry: of `kept[key]`, and of `kept[row][key]`, the one around the loops over keys."""
    keys = [part.slice for part in _subscripts(entry)]
    named = {key.id for key in keys if isinstance(key, ast.Name)}
    if any(not isinstance(key, ast.Name | ast.Constant) for key in keys):
        return None
    for loop in place.flow.loops(place.target):
        over = bound_names(loop.target) & named if isinstance(loop, ast.For) else set()
        if not over:
            return loop if not named else None
        named -= over
    return None


def holder_of(entry: ast.Subscript) -> list[str] | None:
    """What holds an entry: `kept` of `kept[key]` and of `kept[row][key]`."""
    return chain(_subscripts(entry)[-1].value)


def _subscripts(entry: ast.Subscript) -> list[ast.Subscript]:
    """An entry, and those that it is one of, from the inside out: `kept[row][key]`, `kept[row]`."""
    found = [entry]
    while isinstance(found[-1].value, ast.Subscript):
        found.append(found[-1].value)
    return found


def stays(place: Place, loop: Loop, holder: list[str], whole: str) -> bool:
    """Whether an entry comes from the iteration before: the loop makes neither it nor what holds it anew, but for the first time."""
    prefixes = [holder[:length] for length in range(1, len(holder) + 1)]
    for node in place.flow.nodes:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
            continue
        if not contains(loop, node) or contains(place.statement, node):
            continue
        if chain(node) in prefixes and not (chain(node) == holder and _first(place, node, holder)):
            return False
        if isinstance(node, ast.Subscript) and holder_of(node) == holder:
            other = isinstance(node.slice, ast.Constant) and not f"{whole}[".startswith(f"{ast.unparse(node)}[")
            if not (other or _joins(place, node) or _is_first_entry(place, node, holder)):
                return False
    return not any(
        isinstance(call.func, ast.Attribute) and call.func.attr in _EMPTIES and chain(call.func.value) == holder
        for call in place.flow.calls_within(loop)
    )


def gathers(place: Place, loop: Loop, name: str) -> bool:
    """Whether a loop adds to a list on its iterations, and does nothing else with it but read it: `kept.append(h)`."""
    flow = place.flow
    stores = flow.stores.get(name, ())
    if not stores or name in flow.globals or any(contains(loop, store) for store in stores):
        return False
    uses = [flow.parents[load] for load in flow.loads.get(name, ()) if contains(loop, load)]
    if any(not isinstance(getattr(use, "ctx", ast.Load()), ast.Load) for use in uses):
        return False  # `kept[0] = h`, `del kept[:-3]`
    methods = {use: use.value for use in uses if isinstance(use, ast.Attribute)}
    added = [
        methods[call.func]
        for call in flow.calls_named("append")
        if call.func in methods and [*flow.loops(call)][:1] == [loop] and flow.comprehension(call) is None
    ]
    alone = bool(added) and all(use.attr == "append" for use in methods)
    return alone and place.value(added[0]).kind == "list"


def short(place: Place, loop: Loop) -> bool:
    """Whether the loop has a few iterations only."""
    iterable = getattr(loop, "iter", None)
    if isinstance(iterable, ast.List | ast.Tuple):
        return len(iterable.elts) <= _FEW
    if isinstance(iterable, ast.Call) and place.resolve(iterable.func) == "range" and iterable.args:
        count = place.value(iterable.args[-1 if len(iterable.args) == 1 else 1]).const
        return isinstance(count, int) and count <= _FEW
    return False


def carried(place: Place, loop: Loop, name: list[str]) -> bool:
    """Whether the name comes from the iteration before: nothing else in the loop sets it, except for the first time."""
    inside = [n for n in place.flow.nodes if isinstance(n, ast.Name | ast.Attribute) and contains(loop, n)]
    set_here = (n for n in inside if not isinstance(n.ctx, ast.Load) and not contains(place.statement, n))
    others = [n for n in set_here if chain(n) == name and not _joins(place, n)]
    if isinstance(loop, ast.For) and any(chain(t) == name for t in ast.walk(loop.target) if isinstance(t, ast.Name)):
        return False
    # `x[0] = ...` changes no shape; `a.b = ...` sets the `x` of `a.b.x` anew.
    prefixes = [name[:length] for length in range(1, len(name))]
    reset = any(not isinstance(n.ctx, ast.Load) and chain(n) in prefixes for n in inside)
    return not reset and all(_first(place, n, name) for n in others)


def _is_first_entry(place: Place, target: ast.Subscript, holder: list[str]) -> bool:
    """`if key not in kept: kept[key] = new`, `if i == 0: kept[key] = new`"""
    return any(
        _asks_for_entry(guard, holder) or (guard.true and _is_start(guard.test) and _is_other_branch(place, guard))
        for guard in place.flow.guards(target)
    )


def _asks_for_entry(guard: Guard, holder: list[str]) -> bool:
    """Whether a condition says that there is no such entry yet: `key not in kept`."""
    test = guard.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    said = ast.NotIn if guard.true else ast.In
    return isinstance(test.ops[0], said) and chain(test.comparators[0]) == holder


def _joins(place: Place, target: ast.expr) -> bool:
    """Whether an assignment is a growth, too: `kept[i] = torch.cat([kept[i], new])`."""
    parent = place.flow.parents.get(target)
    call = parent.value if isinstance(parent, ast.Assign) else None
    if not isinstance(call, ast.Call) or not call.args or not (place.resolve(call.func) or "").startswith("torch."):
        return False
    tensors, whole = call.args[0], ast.unparse(target)
    return isinstance(tensors, ast.List | ast.Tuple) and any(ast.unparse(part) == whole for part in tensors.elts)


def _first(place: Place, target: ast.expr, name: list[str]) -> bool:
    """Whether the assignment is for the first iteration: behind `if x is None`, `if i == 0`."""
    if any(
        guard.true and (_is_start(guard.test) or _is_taken_down(place, guard)) and _is_other_branch(place, guard)
        for guard in place.flow.guards(target)
    ):
        return True
    return any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Is)
        and (chain(part.left) == name or _is_other_branch(place, guard))
        for guard in place.flow.guards(target)
        if guard.true
        for part in ast.walk(guard.test)
    )


def _is_start(test: ast.expr) -> bool:
    """`i == 0`"""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    zero = test.comparators[0]
    return isinstance(test.left, ast.Name) and isinstance(zero, ast.Constant) and zero.value == 0


def _is_taken_down(place: Place, guard: Guard) -> bool:
    """`if first:` with `first = False` in that branch, of a flag that is True before the loop."""
    if not isinstance(guard.test, ast.Name) or not isinstance(guard.node, ast.If):
        return False
    stores = place.flow.stores.get(guard.test.id, ())
    down = [store for store in stores if any(contains(one, store) for one in guard.block or ())]
    return bool(down) and all(_is_set_to(place, store, store not in down) for store in stores)


def _is_set_to(place: Place, store: ast.Name, value: bool) -> bool:
    made = place.flow.parents.get(store)
    return isinstance(made, ast.Assign) and is_constant(made.value, value)


def _is_other_branch(place: Place, guard: Guard) -> bool:
    """Whether the growth stands in the `else` of a condition: `if a is None: a, b = x, y`, which is for the first time too."""
    return any(contains(one, place.target) for one in guard.otherwise)
