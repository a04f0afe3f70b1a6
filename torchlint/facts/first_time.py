"""Conditions that hold the first time, or the first few times, only: what is behind them takes them back."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, TypeGuard

from ..system import cached
from ..system.regex import regex
from . import names
from .flow import Flow, Guard, Loop, contains
from .module import Class, Function
from .nodes import (
    Choice,
    addends,
    callee,
    conjuncts,
    given_to,
    measured,
    names_in,
    none_test,
    required,
    root_of,
    string,
    without_not,
)
from .syntax import given_to_target, same
from .uses import meant

FEW = 100
"""How often something may happen that is not taken for happening on each iteration."""
_SAVING = regex(r"^_*save(?:_|$)|checkpoint|ckpt|snapshot")
"""What functions are called that write a checkpoint."""
_WRITERS = frozenset(("save_checkpoint", "save_pretrained"))
"""What libraries call the methods by which trainers and models write their whole state."""
_EXTENTS = regex(r"(?:^|_)(?:len|length|size|shape|width|height|resolution|device|dtype)$")
_FOLLOWED = 20
"""How many names, each looked up in the next, a container is followed through."""
_LOOKS_UP = frozenset(("get", "getattr"))
_OWN = frozenset(("self", "cls"))
"""What methods call their object, or its class."""
_PUTS = ("setdefault", "add", "update")
_JOINS = frozenset("append cat concat concatenate hstack vstack".split())
_REGISTERS = ("register_buffer", "register_parameter", "add_module", "register_module", "setattr")
_EXISTS = frozenset(("exists", "isfile", "is_file"))
_WRITES = regex(r"_?(?:save|dump|write|imwrite)|open$")
_DROPS = frozenset(("clear", "pop", "popitem", "remove", "discard"))


def soon_over(guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    """Whether a condition holds the first time only, or the first few times."""
    return (
        once(guard, flow, loop)
        or fills(guard, flow, loop)
        or first_few(guard, flow, loop)
        or grows(guard, flow)
        or made_anew(guard, flow, loop)
        or sets(guard, flow)
        or evens(guard, flow)
    )


def once(guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    """`if first: ...; first = False`, `if self.ready: return` and then `self.ready = True`: what takes its own condition back.

    That may come behind it: `if not self.ready: ...`, and then `self.ready = True`. A flag that is a buffer is written in place.
    What is asked behind a flag may set it: `if full or queue.all(): full = True`.
    """
    parts = list(required(guard.test, guard.true)) if isinstance(guard.node, ast.If) else []
    if len(parts) > 1:  # `if self.training and not self.ready:`
        return any(once(guard._replace(test=part, true=holds), flow, loop) for part, holds in parts)
    test, true = asked_flag(guard.test, guard.true)
    name = names.chain(test)
    if name is None:
        return False
    statements: Iterable[ast.AST] = guard.block or ()
    if guard.block is None and isinstance(guard.node, ast.If):
        stores = [*flow.targets.get(".".join(name), ()), *_fills(name, flow)]
        statements = [flow.parents[store] for store in stores if store.lineno > guard.node.lineno]
    asked = [flow.choice(one) for one in flow.tests(guard.node)] if isinstance(guard.node, ast.BoolOp) else []
    asking = next((one for one in asked if one.test is guard.node and one.true), None)
    if asking is not None:
        return any(store in asking.block for store in _takers(name, true, flow, loop))
    return any(_takes_back(statement, name, true, flow) for statement in statements) or _is_taken_back_later(
        guard, name, true, flow, loop
    )


def once_inside(guard: Guard, inner: Iterable[Guard], flow: Flow, loop: Loop | None) -> bool:
    """`if waiting: if step < start: continue; else: waiting = False; ...`: a condition between it and the place takes it back.

    What the loop stores in the flag is that alone.
    """
    name = names.chain(guard.test)
    if name is None or guard.block is None:
        return False
    blocks = [statement for other in inner for statement in other.block or ()]
    return any(store in blocks for store in _takers(name, guard.true, flow, loop))


def _is_taken_back_later(guard: Guard, name: list[str], true: bool, flow: Flow, loop: Loop | None) -> bool:
    """Whether a statement behind the condition, in the same block, takes it back, and nothing in the loop sets the flag anew."""
    test = guard.node
    if guard.block is None or not isinstance(test, ast.If) or (block := flow.block(test)) is None:
        return False
    stores = _takers(name, true, flow, loop)
    return bool(stores) and all(block.index.get(store, -1) > block.index[test] for store in stores)


def _takers(name: list[str], true: bool, flow: Flow, loop: Loop | None) -> list[ast.stmt]:
    """The statements that store in a flag, in the loop if there is one, where each of them takes it back."""
    if loop is None and len(name) == 1:
        return []  # a name of one call
    targets = (*flow.targets.get(".".join(name), ()), *_fills(name, flow))
    stores = [flow.statement(target) for target in targets if loop is None or contains(loop, target)]
    return stores if all(_takes_back(store, name, true, flow) for store in stores) else []


def taken_back(test: ast.expr, true: bool, flow: Flow) -> bool:
    """Whether a function only ever gives a flag the other value: `not self.fresh`, where `self.fresh = False` follows."""
    test, true = asked_flag(test, true)
    name = names.chain(test)
    if name is None or len(name) < 2:
        return False
    stores = [*flow.targets.get(".".join(name), ()), *_fills(name, flow)]
    return bool(stores) and all(_takes_back(flow.parents[store], name, true, flow) for store in stores)


def _fills(name: list[str], flow: Flow) -> Iterator[ast.Call]:
    """The calls that write in a flag that is a buffer: `self.ready.fill_(True)`, `self.ready.data.copy_(torch.tensor([True]))`."""
    for call in (*flow.calls_named("copy_"), *flow.calls_named("fill_")):
        if _filled(call) == name:
            yield call


def _filled(call: ast.Call) -> list[str]:
    """`self.ready` of `self.ready.fill_(True)` and `self.ready.data.fill_(True)`."""
    return [part for part in (names.chain(call.func) or [])[:-1] if part != "data"]


def asked_flag(test: ast.expr, true: bool) -> tuple[ast.expr, bool]:
    """The flag that a condition asks for, and what it is where the whole is `true`: `self.ready` of `not self.ready`, `self.ready.item() == 0`, `getattr(self, "ready", False) is False`."""
    test, true = without_not(test, true)
    match test:
        case ast.Compare(
            left=flag,
            ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() as op],
            comparators=[ast.Constant(value=0 | 1 as number)],
        ):
            test, true = flag, bool(number) is (true is isinstance(op, ast.Eq | ast.Is))
    match test:
        case (
            ast.Call(func=ast.Attribute(value=flag, attr="item"), args=[])
            | ast.Call(func=ast.Name(id="bool" | "int"), args=[flag])
        ):
            return flag, true
        case ast.Call(
            func=ast.Name(id="getattr"),
            args=[owner, ast.Constant(value=str(attribute)), ast.Constant(value=default)],
            keywords=[],
        ) if not default:
            return ast.copy_location(ast.Attribute(owner, attribute, ast.Load()), test), true
    return test, true


def _takes_back(statement: ast.AST, name: list[str], true: bool, flow: Flow) -> bool:
    """Whether a statement gives a flag the other value: `self.ready = True`, `self.ready.data.copy_(torch.tensor([True]))`."""
    if isinstance(statement, ast.Assign):
        written, target = statement.value, names.chain(statement.targets[0])
    else:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or names.last(call.func) not in ("copy_", "fill_") or not call.args:
            return False
        target = _filled(call)
        given = meant(flow.function, call.args[0])
        constants = [part for part in ast.walk(given) if isinstance(part, ast.Constant)]
        written = constants[0] if len(constants) == 1 else given
    return (
        target == name
        and isinstance(written, ast.Constant)
        and written.value is not None
        and bool(written.value) is not true
    )


def grows(guard: Guard, flow: Flow) -> bool:
    """`if length != self.length: self.length = length; ...`: where a size, a device or a dtype is another one than the last time.

    So is the highest number so far: `if n > self.max_length: self.max_length = n.item()`; and a tensor that lies elsewhere, or has
    another shape: `if self.table.device != device: self.table = self.table.to(device)`. What a property gives is kept under
    another name: `self._length` of `self.length`.
    """
    for name, new in _other_than_kept(guard, flow):
        of_tensor = len(name) > 2 and name[-1] in ("device", "dtype", "shape")
        *owner, last = name[:-1] if of_tensor else name
        kept = ".".join([*owner, last])
        stores: list[ast.expr] = [*flow.targets.get(kept, ()), *flow.targets.get(".".join([*owner, f"_{last}"]), ())]
        stores += flow.stored_in.get(kept, ()) if of_tensor else ()
        behind = [store for store in stores if _is_behind([store], guard)]
        if behind and (_is_extent(new, flow) or (_is_more(guard, new) and _is_highest(name, new, behind, flow))):
            return True
    return False


def made_anew(guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    """Where one of several things that an object keeps does not fit any more, and is made anew: `if n == self.n and self.window.type() == x.type(): ...`, `else: self.window, self.n = make(n), n`."""
    if not isinstance(guard.test, ast.BoolOp) or not isinstance(guard.test.op, ast.Or if guard.true else ast.And):
        return False
    parts = [
        guard._replace(test=test, true=true)
        for test, true in (without_not(one, guard.true) for one in guard.test.values)
    ]
    other = [one for one in parts if not (grows(one, flow) or _is_other_type(one, flow))]
    return len(other) < len(parts) and all(
        once(one, flow, loop) or fills(one, flow, loop) or _is_none_yet(one, flow) for one in other
    )


def _is_none_yet(guard: Guard, flow: Flow) -> bool:
    """`self.mask is None`, of what is kept behind that."""
    asked = none_test(guard.test)
    name = names.chain(asked[0]) if asked is not None and asked[1] is guard.true else None
    if name is None or len(name) != 2 or name[0] not in _OWN:
        return False
    return _is_behind([*flow.targets.get(".".join(name), ())], guard)


def _is_other_type(guard: Guard, flow: Flow) -> bool:
    """`self.window.data.type() != x.data.type()`, of what is kept behind that."""
    test = guard.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotEq if guard.true else ast.Eq):
        return False
    for side in (test.left, *test.comparators):
        name = names.chain(side.func if isinstance(side, ast.Call) and not side.args else side) or []
        kept = [part for part in name[:-1] if part != "data"]
        if name[-1:] == ["type" if isinstance(side, ast.Call) else "dtype"] and len(kept) == 2 and kept[0] in _OWN:
            return _is_behind([*flow.targets.get(".".join(kept), ())], guard)
    return False


def evens(guard: Guard, flow: Flow) -> bool:
    """`if self.scale != self.first: self.scale = float(self.first)`: it makes the two equal, and nothing else sets the other one."""
    klass = flow.function.cls
    if klass is None or not guard.true or guard.block is None:
        return False
    for part in conjuncts(guard.test):
        for name, other in _other_than_kept(guard._replace(test=part), flow):
            kept = names.chain(other)
            if kept is None or len(name) != 2 or len(kept) != 2 or kept[0] != name[0]:
                continue
            stores = [one for one in flow.targets.get(".".join(name), ()) if _is_behind([one], guard)]
            made = [value for store in stores if (value := _stored(flow, store)) is not None]
            if made and all(_is_made_of(value, kept) for value in made) and _is_fixed_by_constructor(klass, kept[1]):
                return True
    return False


def _is_made_of(value: ast.expr, kept: list[str]) -> bool:
    """`self.first`, `torch.tensor(self.first, device=...)`, `self.first.clone()`"""
    while isinstance(value, ast.Call):
        inner = value.args[0] if value.args else value.func.value if isinstance(value.func, ast.Attribute) else None
        if inner is None:
            return False
        value = inner
    return names.chain(value) == kept


def _is_fixed_by_constructor(klass: Class, attribute: str) -> bool:
    setting = [
        name for name, method in klass.methods.items() if method.flow.targets.get(f"{method.own_name}.{attribute}")
    ]
    return setting == ["__init__"]


def outgrown(guard: Guard, flow: Flow) -> Iterator[tuple[str, ast.expr, ast.Call]]:
    """`if length > self.max_length: self.fill(length)`: what an object keeps of a size, the other size, and the calls behind that."""
    for name, new in _other_than_kept(guard, flow):
        if len(name) == 2 and (_is_extent(new, flow) or (_is_more(guard, new) and "max" in name[1].lower())):
            for statement in guard.block or ():
                call = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(call, ast.Call) and (names.chain(call.func) or [""])[:-1] == name[:1]:
                    yield name[1], new, call


def _other_than_kept(guard: Guard, flow: Flow) -> Iterator[tuple[list[str], ast.expr]]:
    """`length != self.length`, `length > self.length`: an attribute in front of a block, and what it is not, or not any more.

    So does what stands behind `if length <= 0 or length == self.length: return`.
    """
    if guard.true and guard.block is None:
        return
    tests, differs = [guard.test], ast.NotEq | ast.Gt | ast.Lt if guard.true else ast.Eq
    if not guard.true and isinstance(guard.test, ast.BoolOp) and isinstance(guard.test.op, ast.Or):
        tests = guard.test.values
    for test in tests:
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], differs):
            continue
        sides = [test.left, test.comparators[0]]
        for kept, new in (sides, sides[::-1]):
            name = _of_object(names.chain(_whole(kept)), guard, flow)
            if name is not None and name[0] == "self" and len(name) > 1:
                yield name, new


def _of_object(name: list[str] | None, guard: Guard, flow: Flow) -> list[str] | None:
    """`self.grids.shape` of `grid.shape` behind `grid = self.grids[k]`; other names are as they are."""
    if name is None or len(name) < 2 or name[0] == "self":
        return name
    line = getattr(guard.node, "lineno", 0)
    stores = [store for store in flow.stores.get(name[0], ()) if store.lineno < line]
    made = _stored(flow, stores[0]) if len(stores) == 1 else None
    kept = names.chain(made.value) if isinstance(made, ast.Subscript) else None
    return [*kept, *name[1:]] if kept is not None else name


def _whole(kept: ast.expr) -> ast.expr:
    """`self.tables.device` of `self.tables[0].device`, `self.grid.shape` of `self.grid[0].shape[2:]` and `self.grid.size(0)`: what one of several is asked, all are."""
    if isinstance(kept, ast.Call) and isinstance(kept.func, ast.Attribute) and kept.func.attr == "size":
        kept = ast.Attribute(kept.func.value, "shape", ast.Load())
    if isinstance(kept, ast.Subscript) and isinstance(kept.value, ast.Attribute) and kept.value.attr == "shape":
        kept = kept.value
    if isinstance(kept, ast.Attribute) and isinstance(kept.value, ast.Subscript):
        return ast.Attribute(kept.value.value, kept.attr, ast.Load())
    return kept


def sets(guard: Guard, flow: Flow) -> bool:
    """`z = self.params[2].item(); if z < 0: self.params[2] = x.mean()`: a number that stands for none so far, and is worked out once."""
    test = guard.test
    if not guard.true or guard.block is None or not isinstance(test, ast.Compare) or not _is_none_so_far(test):
        return False
    read = [test.left]
    if isinstance(test.left, ast.Name) and test.left.id not in flow.globals:
        read = [value for store in flow.stores.get(test.left.id, ()) if (value := _stored(flow, store)) is not None]
    held = {ast.unparse(node) for value in read for node in ast.walk(value) if _is_kept(node, flow)}
    written = [one for one in guard.block if isinstance(one, ast.Assign) and not isinstance(one.value, ast.Constant)]
    targets = [target for one in written for target in one.targets if ast.unparse(target) in held]
    if not (isinstance(test.ops[0], ast.Eq) and isinstance(test.comparators[0], ast.Constant)):
        return bool(targets)
    # What is set elsewhere, too, may begin with 0 again.
    stores = (flow.targets.get(ast.unparse(target), ()) for target in targets)
    return any(found and all(_is_behind([store], guard) for store in found) for found in stores)


def _is_kept(node: ast.AST, flow: Flow) -> bool:
    """`self.scale`, `self.params[2]`, `first` of `global first`, `params[2]` of what the function is given"""
    base = node.value if isinstance(node, ast.Subscript) else node
    if isinstance(base, ast.Name):
        given = base.id in flow.parameters and base.id not in flow.stores
        return base.id in flow.globals if base is node else given
    return isinstance(base, ast.Attribute) and (names.chain(base) or [""])[0] == "self"


def _is_none_so_far(test: ast.Compare) -> bool:
    """`z < 0`, `z == -1`, `z == 0`"""
    below = test.comparators[0]
    zero = isinstance(below, ast.Constant) and type(below.value) in (int, float) and below.value == 0
    if isinstance(test.ops[0], ast.Eq):
        return zero or (isinstance(below, ast.UnaryOp) and isinstance(below.op, ast.USub))
    return isinstance(test.ops[0], ast.Lt | ast.LtE) and zero


def _is_more(guard: Guard, new: ast.expr) -> bool:
    test = guard.test
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt if new is test.left else ast.Lt)


def _is_highest(name: list[str], new: ast.expr, behind: Iterable[ast.expr], flow: Flow) -> bool:
    """`if n > self.max_length: self.max_length = n.item()`: the highest so far, which is seldom passed."""
    stored = [_stored(flow, store) for store in behind]
    return "max" in name[-1].lower() and any(
        value is not None and any(same(part, new) for part in ast.walk(value) if isinstance(part, ast.expr))
        for value in stored
    )


def _is_extent(node: ast.expr, flow: Flow) -> bool:
    """`x.shape[1]`, `len(x)`, `x.device`, or a name that was assigned one of these, or is called so: `new_length`; or several of them."""
    if isinstance(node, ast.Tuple) and node.elts:
        return all(_is_extent(one, flow) for one in node.elts)
    if isinstance(node, ast.Name) and _EXTENTS.search(node.id):
        return True
    node = _assigned(node, flow) or _unpacked(node, flow) or node
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return names.last(node.func) in ("len", "size")
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "device", "dtype")


def fills(guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    """Whether a condition finds something that is filled behind it: once in a loop, or in the life of what holds it.

    `if mask is None: mask = ...`, `if self.n != n or self.mask is None: self.mask = ...`, what follows
    `if self.n == n and self.mask is not None: return self.mask`; `if key not in cache: cache[key] = ...`,
    `if len(state) == 0: state["average"] = ...`, `if not hasattr(self, "table"): self.table = ...`.
    """
    return any(_is_state(found, flow) or _is_filled(found, guard, flow, loop) for found in _all_missing(guard))


def _is_state(missing: _Missing, flow: Flow) -> bool:
    """Whether it is what an optimizer keeps of a parameter, `state = self.state[p]`, which its first step fills, in another method perhaps."""
    stores = flow.stores.get(missing.thing.id, ()) if missing.inside and isinstance(missing.thing, ast.Name) else ()
    made = [statement.value for store in stores if isinstance(statement := flow.parents.get(store), ast.Assign)]
    held = [names.chain(one.value) for one in made if isinstance(one, ast.Subscript)]
    return 0 < len(stores) == len(held) and all(one == ["self", "state"] for one in held)


def given(guard: Guard, flow: Flow) -> Iterator[str]:
    """The parameters that are filled behind a condition that finds something missing in them: `if len(state) == 0: state["x"] = ...`."""
    for missing in _all_missing(guard):
        thing = missing.thing
        if not missing.inside or not isinstance(thing, ast.Name):
            continue
        if thing.id not in flow.parameters or thing.id in flow.stores:
            continue
        if _is_filled_behind([thing.id], guard, flow) and not _drops(thing, flow):
            yield thing.id


def advanced(loop: ast.While, flow: Flow) -> Iterator[str]:
    """`self.at` of `while self.at < len(self.plan) and ...: ...; self.at += 1`: what has to stay below a bound for the loop to go on."""
    for part in conjuncts(loop.test):
        if not (isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Lt | ast.LtE)):
            continue
        left = part.left
        if isinstance(left, ast.Call) and isinstance(left.func, ast.Attribute) and left.func.attr == "item":
            left = left.func.value
        name = names.chain(left)
        if name is None or len(name) != 2 or name[0] != "self":
            continue
        stores = flow.targets.get(".".join(name), ())
        if any(isinstance(flow.parents.get(store), ast.AugAssign) and contains(loop, store) for store in stores):
            yield ".".join(name)


def fillers(guard: Guard, flow: Flow) -> Iterator[tuple[ast.Call, str]]:
    """`if x.index is None: x.find_index(step)`: calls behind a condition to methods of what misses an attribute, with its name."""
    for missing, *_ in _all_missing(guard) if guard.block is not None else ():
        name = names.chain(missing)
        if name is None or not isinstance(missing, ast.Attribute) or ".".join(name) in flow.targets:
            continue
        for statement in guard.block or ():
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and (names.chain(call.func) or [])[:-1] == name[:-1]:
                yield call, missing.attr


def there(guard: Guard) -> Iterator[str]:
    """The names that a condition asks to be set: `if x is not None`, `if x`, what follows `if x is None: continue`."""
    for part in conjuncts(guard.test) if guard.true else [guard.test]:
        test, holds = without_not(part, guard.true)
        name, is_none = none_test(test) or (test, False)
        if isinstance(name, ast.Name) and holds is not is_none:
            yield name.id


def writes_missing_file(guard: Guard, flow: Flow) -> bool:
    """`if path.exists(): x = load(path)`, `else: x = encode(y); save(x, path)`: what is behind a missing file writes it.

    A loop over files may find each of them missing: that is seldom only where something asks for the same one again.
    """
    paths = list(_missing_files(guard))
    behind = (call for call in flow.calls if paths and _WRITES.match(names.last(call.func)) and _follows(call, guard))
    return any(same(part, path) for call in behind for part in _given(call) for path in paths)


def _missing_files(guard: Guard) -> Iterator[ast.expr]:
    """The files that are missing where a condition comes out so: `path` of `not os.path.exists(path)`, `not path.is_file()`."""
    for part in conjuncts(guard.test) if guard.true else [guard.test]:
        test, there = without_not(part, guard.true)
        if there or not isinstance(test, ast.Call) or names.last(test.func) not in _EXISTS:
            continue
        if test.args:
            yield test.args[0]
        elif isinstance(test.func, ast.Attribute):
            yield test.func.value


def _follows(call: ast.Call, guard: Guard) -> bool:
    """Whether a call stands in the block that a condition opens, or behind the condition where it opens none."""
    if guard.block is None:
        return call.lineno > guard.test.lineno
    return any(contains(statement, call) for statement in guard.block)


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given, and the object whose method it is: `path` of `path.write_bytes(x)`."""
    yield from given_to(call)
    if isinstance(call.func, ast.Attribute):
        yield call.func.value


def first_few(guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    """`if shown < 5: shown += 1; print(x)`, `if len(kept) < 5: kept.append(x)`: what its own condition counts to a small number.

    So is `if not kept: kept.append(x)`, which is done for the first one alone.
    """
    if guard.block is None:
        return False
    parts = conjuncts(guard.test) if guard.true else [guard.test]
    for missing in (found for part in parts for found in _missing(part, guard.true)):
        name = names.chain(missing.thing) if missing.inside and missing.key is None else None
        if name is not None and _is_filled_up(name, guard.block, flow, loop):
            return True
    return guard.true and any(_counts(part, guard.block, flow, loop) for part in parts)


def _counts(test: ast.expr, block: tuple[ast.stmt, ...], flow: Flow, loop: Loop | None) -> bool:
    """`n < 5`, where the block alone counts `n` up, or `len(kept) < 5`, where it puts something there, and nothing in the loop sets it back."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Lt | ast.LtE):
        return False
    counted = measured(test.left)
    name, most = names.chain(counted or test.left), flow.function.number(test.comparators[-1])
    if name is None or not isinstance(most, int) or most > FEW:
        return False
    if counted is not None:
        return _is_filled_up(name, block, flow, loop)
    stores = [node for node in flow.targets.get(".".join(name), ()) if loop is None or contains(loop, node)]
    return bool(stores) and all(
        isinstance(added := flow.parents.get(node), ast.AugAssign)
        and isinstance(added.op, ast.Add)
        and any(contains(statement, node) for statement in block)
        for node in stores
    )


def _is_filled_up(name: list[str], block: tuple[ast.stmt, ...], flow: Flow, loop: Loop | None) -> bool:
    """Whether a block puts something into a list that nothing in the loop begins anew, and the function never takes from."""
    if any(loop is None or contains(loop, store) for store in flow.targets.get(".".join(name), ())):
        return False
    if any(
        names.chain(call.func) == [*name, taken]
        for taken in ("clear", "pop", "popleft")
        for call in flow.calls_named(taken)
    ):
        return False
    return any(
        names.chain(call.func) == [*name, "append"] and any(contains(statement, call) for statement in block)
        for call in flow.calls_named("append")
    )


class _Missing(NamedTuple):
    """What a test finds missing: a thing itself, or something in a container, and under which key."""

    thing: ast.expr
    inside: bool
    key: ast.expr | None = None


def _all_missing(guard: Guard) -> Iterator[_Missing]:
    """What is missing where a condition, or one part of it, holds."""
    test = guard.test
    for part in test.values if isinstance(test, ast.BoolOp) else [test]:
        yield from _missing(part, guard.true)


def _missing(test: ast.expr, true: bool) -> Iterator[_Missing]:
    """What is missing where a test is true (or false)."""
    test, true = without_not(test, true)
    if isinstance(test, ast.Name | ast.Attribute):
        if not true:
            yield _Missing(test, inside=True)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        op, left, right = test.ops[0], test.left, test.comparators[0]
        if isinstance(op, ast.NotIn if true else ast.In):
            yield _Missing(right, inside=True, key=left)
        elif none_test(test) == (left, true):
            yield _Missing(left.target if isinstance(left, ast.NamedExpr) else left, inside=False)
        elif true and isinstance(op, ast.Eq) and isinstance(right, ast.Constant) and right.value == 0:
            counted = measured(left)
            if counted is not None:
                yield _Missing(counted, inside=True)
    elif not true and isinstance(test, ast.Call) and names.last(test.func) == "hasattr" and len(test.args) == 2:
        attribute = string(test.args[1])
        if attribute is not None:
            yield _Missing(ast.Attribute(test.args[0], attribute, ast.Load()), inside=False)


def _is_filled(missing: _Missing, guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    if missing.inside:
        return _keeps(missing.thing, guard, flow, loop, missing.key)
    name = names.chain(missing.thing)
    if name is None:
        return False
    if _registered(name, guard, flow):
        return True
    if len(name) == 1:
        held = _looked_up(missing.thing, flow)
        if held is not None and (_keeps(held, guard, flow, loop) or _is_set_behind(missing.thing, guard, flow, loop)):
            return True
    if loop is None and (len(name) < 2 or name[0] != "self") and not name[0] in flow.globals:
        return False
    stores = [
        node
        for node in flow.targets.get(".".join(name), ())
        if (loop is None or contains(loop, node)) and not _of_itself(flow.parents.get(node), name)
    ]
    if guard.block is None:
        return bool(stores) and name[0] == "self"
    behind = [node for node in stores if any(contains(statement, node) for statement in guard.block)]
    filling = [_stored(flow, node) for node in behind]
    return bool(behind) and all(node in behind or _is_like(flow, _stored(flow, node), filling) for node in stores)


def _registered(name: list[str], guard: Guard, flow: Flow) -> bool:
    """Whether `self.register_buffer("table", ...)` behind a condition gives the object the attribute that it misses."""
    if guard.block is None or len(name) != 2 or name[0] != "self":
        return False
    return any(
        isinstance(given, ast.Constant) and given.value == name[1] and any(contains(one, call) for one in guard.block)
        for called in _REGISTERS
        for call in flow.calls_named(called)
        for given in call.args[:2]
    )


def _is_set_behind(name: ast.expr, guard: Guard, flow: Flow, loop: Loop | None) -> bool:
    """`kept = getattr(self, key)`, and behind a condition that finds none `setattr(self, key, made)`."""
    looked = _assigned(name, flow)
    if not isinstance(looked, ast.Call) or names.chain(looked.func) != ["getattr"] or len(looked.args) < 2:
        return False
    owner, key = looked.args[:2]
    calls = [one for one in flow.calls_named("setattr") if len(one.args) == 3]
    put = [one for one in calls if same(one.args[0], owner) and same(one.args[1], key)]
    return _is_behind([*put], guard) and outlives(owner, flow, loop)


def _stored(flow: Flow, node: ast.expr) -> ast.expr | None:
    """What an assignment of one target stores."""
    statement = flow.parents.get(node)
    return statement.value if isinstance(statement, ast.Assign) and node in statement.targets else None


_SOMETHING = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr)
"""What none of these gives is None."""


def _is_like(flow: Flow, value: ast.expr | None, filling: list[ast.expr | None]) -> bool:
    """Whether what is stored elsewhere leaves the thing filled: a constant, what is calculated, or what the filling stores."""
    if value is None:
        return False
    if isinstance(value, ast.Constant):
        return value.value is not None
    made = _assigned(value, flow) if isinstance(value, ast.Name) else value
    return isinstance(made, _SOMETHING) or any(other is not None and same(value, other) for other in filling)


def _of_itself(statement: ast.AST | None, name: list[str]) -> bool:
    """`x += 1`, `x = x.view(-1)`, `x = [one.cuda() for one in x]`, `x = np.append(x, y)`: where there was something, there is something afterwards."""
    if isinstance(statement, ast.Assign):
        return any(
            (isinstance(n, ast.Attribute) and names.chain(n.value) == name)
            or (isinstance(n, ast.comprehension) and names.chain(n.iter) == name)
            for n in ast.walk(statement.value)
        ) or _adds_to(statement.value, name)
    return isinstance(statement, ast.AugAssign)


def _adds_to(value: ast.expr, name: list[str]) -> bool:
    """`np.append(x, y)`, `torch.cat([x, y])`"""
    if not isinstance(value, ast.Call) or names.last(value.func) not in _JOINS or not value.args:
        return False
    first = value.args[0]
    parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
    return any(names.chain(part) == name for part in parts)


# Containers: what was put into one is found there the next time


def _keeps(container: ast.expr, guard: Guard, flow: Flow, loop: Loop | None, key: ast.expr | None = None) -> bool:
    """Whether something is put into a container behind the condition, and stays there longer than the loop or the call."""
    name = names.chain(container)
    if isinstance(container, ast.Subscript):
        written = _stored_in_element(container, flow) if _is_fixed(container.slice, flow) else []
    else:
        written = _stored_in(name, flow) if name is not None else []
    if not outlives(container, flow, loop) and not (loop is None and _is_cache(container, key, flow)):
        return False
    behind = _is_behind(written, guard) or any(_is_put_later(node, key, guard, flow) for node in written)
    return behind and not _drops(container, flow) and not _asks_for_other(name, key, guard, flow)


def missed_for(guard: Guard, flow: Flow) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The containers that a condition asks for a key which what is put there behind it never has, and those keys."""
    for missing in _all_missing(guard):
        name = names.chain(missing.thing)
        if missing.key is not None and _asks_for_other(name, missing.key, guard, flow):
            yield missing.thing, missing.key


def _asks_for_other(name: list[str] | None, key: ast.expr | None, guard: Guard, flow: Flow) -> bool:
    """`if n not in tables: tables[str(n) + device] = ...`: every key that is put into the container is longer than the one asked for."""
    if name is None or key is None or guard.block is None or (name[0] not in _OWN and name[0] in flow.parameters):
        return False
    put = _stored_in(name, flow)
    if not _is_behind(put, guard) or not all(_is_longer(one, key, flow) for one in put):
        return False
    if any(isinstance(part, ast.Name) and _is_behind([*flow.stores.get(part.id, ())], guard) for part in ast.walk(key)):
        return False
    others = (one.flow for one in flow.function.module.functions if one is not flow.function)
    return all(_is_longer(one, key, other) for other in others for one in _stored_in(name, other))


def _is_longer(put: ast.expr, key: ast.expr, flow: Flow) -> bool:
    """`tables[str(n) + "_" + device]` for `n`, `tables[n, device]`, `tables[f"{n}_{device}"]`: a key of which the other one is but a part."""
    if not isinstance(put, ast.Subscript):
        return False
    whole, name = put.slice, put.slice.id if isinstance(put.slice, ast.Name) else ""
    if len(flow.stores.get(name, ())) == 1 and name not in flow.parameters:
        whole = _assigned(whole, flow) or whole
    if isinstance(whole, ast.Tuple):
        return any(same(part, key) for part in whole.elts)
    if isinstance(whole, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in whole.values]
    else:
        parts = list(addends(whole))
    own = key.args[0] if _is_str(key) else key
    words = (string(part) for part in parts)
    return len(parts) > 1 and any(words) and any(same(part.args[0] if _is_str(part) else part, own) for part in parts)


def _is_str(node: ast.expr) -> TypeGuard[ast.Call]:
    """`str(n)`"""
    return isinstance(node, ast.Call) and names.chain(node.func) == ["str"] and len(node.args) == 1


def _is_cache(container: ast.expr, key: ast.expr | None, flow: Flow) -> bool:
    """Whether a function looks in what it is given for what an earlier call put there: `if n in tables: return tables[n]`.

    A container that is made for one call may lack a constant (`"mask" not in batch`), but nobody looks there for what was computed.
    """
    if not isinstance(container, ast.Name) or container.id not in flow.parameters or container.id in flow.stores:
        return False
    loads = flow.loads.get(container.id, ()) if key is not None and not isinstance(key, ast.Constant) else ()
    around = (flow.parents.get(load) for load in loads)
    return any(isinstance(a, ast.Subscript) and isinstance(a.ctx, ast.Load) and same(a.slice, key) for a in around)


def _is_put_later(written: ast.expr, key: ast.expr | None, guard: Guard, flow: Flow) -> bool:
    """`if "mask" not in kept: ...`, and then, whatever was found, `kept["mask"] = mask` or `kept.update({"mask": mask})`."""
    test = guard.node
    if key is None or guard.block is None or not isinstance(test, ast.If) or (block := flow.block(test)) is None:
        return False
    if block.index.get(flow.statement(written), -1) <= block.index[test]:
        return False
    if isinstance(written, ast.Subscript):
        return same(written.slice, key)
    given = written.args[0] if isinstance(written, ast.Call) and written.args else None
    return any(same(one, key) for one in (given.keys if isinstance(given, ast.Dict) else [given]))


def _is_filled_behind(name: list[str], guard: Guard, flow: Flow) -> bool:
    """Whether something is put into a container of that name behind a condition."""
    return _is_behind(_stored_in(name, flow), guard)


def _stored_in(name: list[str], flow: Flow) -> list[ast.expr]:
    return [*flow.stored_in.get(".".join(name), ()), *_put(name, flow)]


def _is_behind(written: list[ast.expr], guard: Guard) -> bool:
    """Whether one of several places stands behind a condition."""
    if guard.block is None:
        return bool(written)
    return any(contains(statement, node) for statement in guard.block for node in written)


def _is_fixed(key: ast.expr, flow: Flow) -> bool:
    """Whether a key is one of few: a constant, or a name for one: `kind = "train" if self.training else "eval"`."""
    value = _assigned(key, flow) if isinstance(key, ast.Name) and len(flow.stores.get(key.id, ())) == 1 else key
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return all(isinstance(part, ast.Constant) for part in parts)


def _stored_in_element(container: ast.Subscript, flow: Flow) -> list[ast.expr]:
    """What is stored in an element of a container: `self.losses["train"][name] = ...`."""
    name = names.chain(container.value)
    stored = flow.stored_in.get(".".join(name) + "[]", ()) if name is not None else ()
    return [node for node in stored if same(node.value, container)]


def _put(name: list[str], flow: Flow) -> Iterator[ast.expr]:
    """The calls that put something into a container of that name."""
    for word in _PUTS:
        for call in flow.calls_named(word):
            if isinstance(call.func, ast.Attribute) and names.chain(call.func.value) == name:
                yield call


def outlives(container: ast.expr, flow: Flow, loop: Loop | None, of: frozenset[str] = frozenset()) -> bool:
    """Whether a container is not made anew for each iteration, or each call; `of` are the names that it was looked up for."""
    root = root_of(container)
    if root is None or root.id in of or len(of) > _FOLLOWED:
        return False
    stores = [store for store in flow.stores.get(root.id, ()) if loop is None or contains(loop, store)]
    if not stores:
        # What a caller gives may be made for this call; the object itself and the module's names are not.
        return loop is not None or root.id in _OWN or root.id not in flow.parameters
    if root is not container:
        return False
    sources = [_source(store, flow) for store in stores]
    return all(source is not None and outlives(source, flow, loop, of | {root.id}) for source in sources)


def _source(store: ast.expr, flow: Flow) -> ast.expr | None:
    """What a name is looked up in, or taken out of, where it is stored; each group of an optimizer is kept by it."""
    statement = flow.parents.get(store)
    if isinstance(statement, ast.For):
        return statement.iter if names.last(statement.iter) == "param_groups" else None
    value = statement.value if isinstance(statement, ast.Assign | ast.NamedExpr) else None
    return _looks_into(value) or _owner(value)


def _owner(value: ast.expr | None) -> ast.expr | None:
    """What something is a part of: `self.state[p]`, and `self.get_state()`, in which nobody would look up what is made anew."""
    if isinstance(value, ast.Call):
        if value.args or value.keywords or (names.chain(value.func) or [""])[0] != "self":
            return None
        return value.func.value if isinstance(value.func, ast.Attribute) else None
    return value.value if isinstance(value, ast.Subscript | ast.Attribute) else None


def _looked_up(name: ast.expr, flow: Flow) -> ast.expr | None:
    """The container that a name is first looked up in."""
    return _looks_into(_assigned(name, flow))


def _looks_into(value: ast.expr | None) -> ast.expr | None:
    """The container that `cache.get(key)` and `getattr(self, "cache", None)` look into."""
    if not isinstance(value, ast.Call) or names.last(value.func) not in _LOOKS_UP or not value.args:
        return None
    if isinstance(value.func, ast.Attribute):
        return value.func.value
    key = string(value.args[1]) if len(value.args) > 1 else None
    return ast.Attribute(value.args[0], key, ast.Load()) if key is not None else value.args[0]


def _assigned(name: ast.expr, flow: Flow) -> ast.expr | None:
    """The expression that a name is assigned from first."""
    stores = flow.stores.get(name.id, ()) if isinstance(name, ast.Name) else ()
    parent = flow.parents.get(stores[0]) if stores else None
    return parent.value if isinstance(parent, ast.Assign | ast.NamedExpr) else None


def _unpacked(name: ast.expr, flow: Flow) -> ast.expr | None:
    """What a name is unpacked from first: `x.size(2)` of `b, n = len(x), x.size(2)`, `x.shape` of `h, w = x.shape`."""
    stores = flow.stores.get(name.id, ()) if isinstance(name, ast.Name) else ()
    around = flow.parents.get(stores[0]) if stores else None
    statement = flow.parents.get(around) if isinstance(around, ast.Tuple) else None
    if not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.Tuple):
        return given_to_target(flow, stores[0]) if stores else None
    return statement.value


def _drops(container: ast.expr, flow: Flow) -> bool:
    """Whether the function takes something out of a container again."""
    for word in _DROPS:
        for call in flow.calls_named(word):
            if isinstance(call.func, ast.Attribute) and same(call.func.value, container):
                return True
    return False


def found_large_enough(node: ast.AST, flow: Flow) -> bool:
    """Whether a place makes anew what an object keeps and found too small: behind `if self.pe is not None: if self.pe.size(1) >= n: return`.

    The function puts what it makes there in its place, so that the next call finds it.
    """
    return getattr(node, "lineno", 0) > cached.kept(flow, "large enough", lambda: _ends_of_search(flow)) > 0


def _ends_of_search(flow: Flow) -> int:
    """The last line of the statement by which a function ends where it has what it would make; 0 where there is none."""
    for statement in flow.function.node.body:
        if not isinstance(statement, ast.If) or (name := _searched(flow.choice(statement))) is None:
            continue
        ends = [one for one in statement.body if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Return)]
        parts = [part for one in ends for part in ast.walk(flow.choice(one).test) if isinstance(part, ast.Attribute)]
        asked = any(names.chain(part) == name for part in parts)
        end = statement.end_lineno or statement.lineno
        if asked and any(store.lineno > end for store in flow.targets.get(".".join(name), ())):
            return end
    return 0


def _searched(asked: Choice) -> list[str] | None:
    """`self.pe` of `if self.pe is not None:`."""
    held, is_none = none_test(asked.test) or (None, False)
    return names.chain(held) if isinstance(held, ast.Attribute) and is_none is not asked.true else None


def writes_checkpoint(function: Function) -> bool:
    """Whether a function is called for saving, and writes the state of a model or an optimizer, itself or by a trainer (`self.trainer.save_checkpoint(path)`): beside that what it waits for is nothing."""
    if _SAVING.search(function.name) is None or function.has_loops:
        return False
    called = {names.last(call.func) for call in function.flow.calls}
    return ("save" in called and "state_dict" in called) or not called.isdisjoint(_WRITERS)


def keeps_results(function: Function) -> bool:
    """Whether a function runs once (`@kept("table")`), or once for the same numbers (`@lru_cache`); for tensors, which its annotations tell of, that one runs again and again."""
    if any(_keeps_for_object(function, decorator) for decorator in function.decorators):
        return True
    if not any("cache" in name for name in function.decorator_names):
        return False
    annotations = [parameter.annotation for parameter in function.parameters if parameter.annotation is not None]
    return not any("Tensor" in ast.unparse(annotation) for annotation in annotations)


def _keeps_for_object(function: Function, decorator: ast.expr) -> bool:
    """Whether a decorator of the same file keeps for the object what a method has given, whatever that is given, and runs it no more."""
    name = callee(decorator)
    own = function.module.top_functions.get(name.id) if isinstance(name, ast.Name) else None
    return own is not None and cached.kept(own, "keeps for object", lambda: _wraps_to_keep(own, ()))


def _wraps_to_keep(decorator: Function, taken: Collection[str]) -> bool:
    """Whether a function inside of a decorator calls what that was given only where the object has none of it yet."""
    taken = {*taken, *decorator.positions}
    for inner in decorator.nested.values():
        calls = [call for name in taken - {*inner.positions} for call in inner.flow.calls_named(name)]
        once = [call for call in calls if any(_is_kept_by_object(one, inner.flow) for one in inner.flow.guards(call))]
        if (calls and len(once) == len(calls)) or (not calls and _wraps_to_keep(inner, taken)):
            return True
    return False


def _is_kept_by_object(guard: Guard, flow: Flow) -> bool:
    """Whether behind a condition that finds nothing it is put where the condition looks, in the object, under a name that is no argument of the call."""
    parameters = {*flow.parameters} - _OWN
    for missing in _missing(guard.test, guard.true):
        looked = _assigned(missing.thing, flow) or missing.thing
        if (root := root_of(looked.args[0] if isinstance(looked, ast.Call) and looked.args else looked)) is None:
            continue
        if root.id in _OWN and parameters.isdisjoint(names_in(looked)) and _is_filled(missing, guard, flow, None):
            return True
    return False
