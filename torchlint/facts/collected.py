"""What an evaluation loop collects, and what of it is written to files behind the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..system.regex import regex
from . import aliases, nodes, uses
from .flow import Flow, Loop, contains
from .handed_on import handed_on
from .kept_by_objects import keeps_last
from .module import key_of
from .moves import SENDING
from .names import chain, last
from .nodes import assigned_in, names_in
from .place import Place
from .sending import goes_to_device

_WRITERS = ("save", "savez", "savez_compressed", "savetxt", "dump", "to_csv", "to_json", "to_pickle", "to_parquet")

_SCORES = regex(
    r"(?:^|[._])(?:y|pred(?:s|iction|ictions)?|labels?|lbls?|targets?|tags?|true|truths?|gts?|prob(?:s|abilities|ability)?"
    r"|scores?|logits?|loss(?:es)?|acc|correct|mse|mae|rmse|errors?|ppls?|perplexit(?:y|ies)|y?hats?)(?:_|$)"
)
"""What collects predictions, labels and metrics is called, not images or sounds."""
_MEDIA = regex(
    r"(?:^|[._])(?:im(?:a?ges?|gs?)?|pictures?|figs?|frames?|videos?|wavs?|audios?|samples?|masks?|recon\w*|outs?|outputs?)(?:_|$)"
)
_ADDS = ("append", "extend")
_CUTS = ("split", "chunk", "tensor_split")
"""What cuts a tensor into chunks; a text, too."""


def is_collected(place: Place, copy: ast.Call) -> bool:
    """Whether an evaluation loop collects predictions, labels or scores: they could stay where they are until it ends.

    One array a batch goes to what works on the host.
    """
    if place.warm is None:
        return False
    read = uses.read_beside(place.function, place.statement)
    if _is_array_of_batch(place.flow, copy, read):
        return False
    holder = _holder(place.flow.statement(read) if read is not None else place.statement)
    if holder is None or not _SCORES.search(".".join(_words(holder)).lower()):
        return False
    return not _is_written(place, _key(holder)) and not is_of_chunks(place, copy)


def is_kept(place: Place, copy: ast.Call) -> bool:
    """Whether a loop over a loader adds the copy of what it calculates to a list, for what works on all of them behind the loop.

    Images and sounds are what an evaluation is for, and large; so is what the loader gave.
    """
    loop, func = place.warm, copy.func
    if not isinstance(loop, ast.For) or place.flow.loops(copy)[0] is not loop or not isinstance(func, ast.Attribute):
        return False
    if getattr(place.value(func.value), "loader_calls", None):
        return False
    holders = list(_lists(place, copy, named=False))
    if not holders or not all(_is_own(place, holder) for holder in holders):
        return False
    if any(_MEDIA.search(".".join(_words(holder)).lower()) for holder in holders):
        return False
    if not _brings_batches(place, loop) or any(_is_written(place, _key(holder)) for holder in holders):
        return False
    return not any(_goes_round(place, loop, _key(holder)) for holder in holders)


def is_of_chunks(place: Place, copy: ast.Call) -> bool:
    """Whether an evaluation loop collects what it makes of one chunk after the other of a tensor, which is too large for the device as a whole.

    `for part in torch.split(points, size): values.append(net(part).cpu())`
    """
    loop = place.warm
    if loop is None or place.flow.loops(copy)[0] is not loop or not _goes_through_chunks(place, loop):
        return False
    collects = any(True for _ in _lists(place, copy, named=False))
    return collects and not _goes_back(place, _made_of(place.flow, copy, None), loop)


def _goes_through_chunks(place: Place, loop: Loop) -> bool:
    """`for part in torch.split(points, size):`, also of a name for that"""
    over = aliases.gone_through(loop.iter) if isinstance(loop, ast.For) else None
    whole = uses.assigned(place.function, over) if isinstance(over, ast.Name) else over
    if not isinstance(whole, ast.Call) or last(whole.func) not in _CUTS or any(map(nodes.string, whole.args)):
        return False
    return bool(whole.args)


def _goes_back(place: Place, made: set[str], loop: Loop) -> bool:
    """Whether what is made of the copies is sent to the device behind a loop, which has room for it then."""
    moves = [call for name in SENDING for call in place.flow.calls_named(name) if call.lineno > loop.lineno]
    sent = (call for call in moves if not made.isdisjoint(names_in(call.func)) and loop not in place.flow.loops(call))
    return any(goes_to_device(place, call) for call in sent)


def is_meant_by_caller(place: Place, copy: ast.Call) -> bool:
    """Whether the evaluation loop that calls the function is there for its copies: it writes what they are added to, cuts its data into chunks, or has each printed.

    `for x in batches: predict(net, x, rows)` behind `def predict(net, x, rows): rows.append(net(x).cpu())`, then `np.save(path, rows)`
    """
    if place.hot is not None or place.warm is not None or place.warm_caller is None:
        return False
    caller, loop = place.warm_caller
    if not isinstance(loop, ast.For | ast.AsyncFor | ast.While):
        return False
    near = caller.flow.calls_within(loop)
    calls = [call for call in near if place.function in place.project.targets(caller, call)]
    return bool(calls) and all(_is_meant_there(place, copy, place.at(caller, call), call, loop) for call in calls)


def _is_meant_there(place: Place, copy: ast.Call, there: Place, call: ast.Call, loop: Loop) -> bool:
    """Whether the loop around a call is there for a copy that the place's function makes."""
    made, statement = place.statement, there.statement
    lists = [_given_for(place, call, holder) for holder in _lists(place, copy, named=False)]
    keys = {_key(one) for one in lists} if lists else set[str]()
    read = uses.read_beside(place.function, made)
    taker = place.flow.statement(read) if read is not None else made
    if not keys and not isinstance(taker, ast.Assign):
        keys = {_key(_given_for(place, call, _holder(taker)))}
    results = _made_of(place.flow, copy, None)
    returned = place.flow.returned
    if isinstance(statement, ast.Assign) and any(not results.isdisjoint(names_in(one)) for one in returned):
        keys |= {_key(target) for whole in statement.targets for target in nodes.elements(whole)}
    if any(_is_written(there, key) for key in keys):
        return True
    if lists and _goes_through_chunks(there, loop):
        return not _goes_back(there, _made_of(there.flow, call, None) | keys, loop)
    prints = (one for one in place.flow.calls_named("print") if not results.isdisjoint(names_in(one)))
    is_printed = any(not place.flow.loops(one) and next(place.flow.guards(one), None) is None for one in prints)
    return is_printed and not _brings_batches(there, loop)


def _given_for(place: Place, call: ast.Call, held: ast.expr | None) -> ast.expr | None:
    """What a call of the place's function gives for a list that this is given; any other one itself."""
    is_given = isinstance(held, ast.Name) and held.id in place.function.positions
    return place.function.argument(call, held.id) if is_given and isinstance(held, ast.Name) else held


def is_streamed(place: Place, copy: ast.Call) -> bool:
    """Whether a loop that goes through no batches hands out what it makes as it goes: `for chunk in stream: buffer.append(chunk.cpu().numpy()); yield join(buffer)`."""
    flow = place.flow
    loop = next(iter(flow.loops(copy)), None)
    if loop is None or place.hot is not None:
        return False
    yields = [one for one in place.function.yields if isinstance(one, ast.Yield) and loop in flow.loops(one)]
    if not yields or _brings_batches(place, loop):
        return False
    made = _made_of(flow, copy, loop)
    return any(contains(one, copy) or not made.isdisjoint(names_in(one)) for one in yields)


def is_printed(place: Place, copy: ast.Call) -> bool:
    """Whether a loop that goes through no batches prints what it calculates of a copy each time, and so waits for it anyway.

    `for one, other in pairs: same = cosine(net(one).cpu(), net(other).cpu()); print(same)`
    """
    loop, flow = place.warm, place.flow
    if loop is None or flow.loops(copy)[:1] != [loop]:
        return False
    prints = [*flow.calls_named("print"), *(call for call, _ in handed_on(place, lambda _: ("print",)))]
    prints = [call for call in prints if flow.loops(call)[:1] == [loop]]
    if not prints or _brings_batches(place, loop):
        return False
    since = {guard.node for guard in flow.guards(copy, loop)}
    made = _made_of(flow, copy, loop)
    shown = (call for call in prints if not made.isdisjoint(names_in(call)))
    return any(all(guard.node in since for guard in flow.guards(call, loop)) for call in shown)


def _brings_batches(place: Place, loop: Loop) -> bool:
    return isinstance(loop, ast.For) and place.value(aliases.gone_through(loop.iter)).kind == "loader"


def _made_of(flow: Flow, copy: ast.Call, loop: Loop | None) -> set[str]:
    """The names of what a loop makes of a copy behind it, and of the lists that it adds that to; without one, of what the function does."""
    own = flow.statement(copy)
    made: set[str] = set()
    for one in flow.nodes:
        if not isinstance(one, ast.Assign | ast.AugAssign | ast.Expr) or one.lineno < own.lineno:
            continue
        inside = loop is None or loop in flow.loops(one)
        if one is own or (inside and not made.isdisjoint(names_in(one.value))):
            holder = _holder(one) if isinstance(one, ast.Expr) else None
            made |= assigned_in(one) | ({holder.id} if isinstance(holder, ast.Name) else set())
    return made


def _goes_round(place: Place, loop: Loop, name: str) -> bool:
    """Whether what a list holds is a table that the next turn sends to the device in parts, as one layer after the other does that is too large for it.

    `for layer in layers: ... rows.append(layer(table[ids].to(device)).cpu()) ...; table = torch.cat(rows)`
    """
    flow = place.flow
    around = flow.loops(loop)[:1]
    if not around:
        return False
    made = [one for one in flow.nodes if isinstance(one, ast.Assign) and flow.loops(one)[:1] == around]
    tables = {_key(target) for one in made if name in _read(one.value) for target in one.targets}
    moved = (call for move in SENDING for call in flow.calls_named(move) if loop in flow.loops(call))
    sent = (call.func.value for call in moved if isinstance(call.func, ast.Attribute))
    return any(isinstance(one, ast.Subscript) and _key(one) in tables for one in sent)


def _lists(place: Place, whole: ast.expr, *, named: bool) -> Iterator[ast.expr]:
    """The lists that something is added to, by itself or by a name that is read for that alone; nothing where it goes elsewhere."""
    for child, parent in place.flow.upwards(whole):
        match parent:
            case ast.Attribute():
                continue
            case ast.Call(func=method) if method is child:
                continue
            case ast.Call(func=ast.Attribute(value=holder, attr="append" | "extend")):
                yield holder
            case ast.Assign(targets=[ast.Name(name)]) if not named:
                read = list(uses.readers(place.function, name, parent.value))
                found = [list(_lists(place, one, named=True)) for one in read]
                if all(found):
                    yield from (holder for holders in found for holder in holders)
        return


def _is_own(place: Place, holder: ast.expr) -> bool:
    """Whether something is a list of the function, or one in a dictionary of it, which shows what becomes of it."""
    root = nodes.root_of(holder, ast.Subscript)
    if root is None or not place.function.binds(root.id) or root.id in place.flow.parameters:
        return False
    if keeps_last(place, holder):
        return False
    return place.value(holder).kind == "list" or (root is not holder and place.value(root).kind in ("list", "dict"))


def _is_array_of_batch(flow: Flow, copy: ast.Call, read: ast.Name | None) -> bool:
    """`parts.append(x.cpu().numpy())`, or `part = x.cpu().numpy()` in front of `parts.append(part)`, where it is read."""
    made = flow.parents.get(copy)
    if not isinstance(made, ast.Attribute) or made.attr != "numpy":
        return False
    whole = flow.parents[made]
    named = read if isinstance(flow.parents.get(whole), ast.Assign) else None
    added = flow.parents.get(named or whole)
    return isinstance(added, ast.Call) and isinstance(added.func, ast.Attribute) and added.func.attr == "append"


def _holder(statement: ast.stmt) -> ast.expr | None:
    """The list that a statement adds to; None where it does something else."""
    if isinstance(statement, ast.AugAssign):
        return statement.target
    call = statement.value if isinstance(statement, ast.Expr) else None
    added = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ADDS
    return call.func.value if added else None  # type: ignore[union-attr]


def _words(node: ast.expr) -> Iterator[str]:
    """The names that lead to something, and the keys: found, y_pred of `found["y_pred"]`."""
    if isinstance(node, ast.Subscript):
        yield from _words(node.value)
        if isinstance(node.slice, ast.Constant):
            yield str(node.slice.value)
    else:
        yield from chain(node) or ()


def is_written(place: Place) -> bool:
    """Whether what an evaluation loop copies is written to a file behind it: the copies are what it is for."""
    made = place.statement
    if not isinstance(made, ast.Assign):
        return _is_written(place, _key(_holder(made)))
    if any(_is_written(place, _key(target)) for target in made.targets):
        return True
    read = uses.read_beside(place.function, made)
    taker = place.flow.statement(read) if read is not None else made
    return not isinstance(taker, ast.Assign) and _is_written(place, _key(_holder(taker)))  # else it calculates


def _is_written(place: Place, name: str) -> bool:
    """Whether a name, or what is made of it, is written to a file behind the loop; with no name, whether anything is."""
    loop = place.warm
    if loop is None:
        return False
    written = place.once(("written", loop), lambda: _written(place, loop))
    return name in written if name else bool(written)


def _written(place: Place, loop: Loop) -> frozenset[str]:
    """The names of what is written to files behind a loop, and of what that was made of."""
    end = loop.end_lineno or loop.lineno
    calls = [call for name in _WRITERS for call in place.flow.calls_named(name) if call.lineno > end]
    calls = [call for call in calls if not is_checkpoint(place, call)]
    found = {name for call in calls for name in _read(call)}
    found |= {name for call, given in handed_on(place, _writing) if call.lineno > end for name in _read(given)}
    if not found:
        return frozenset()
    made = [node for node in place.flow.nodes if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)]
    for statement in [node for node in reversed(made) if node.lineno >= loop.lineno]:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if not found.isdisjoint([*map(_key, targets), _key(_holder(statement))]):
            found |= _read(statement.value)
    return frozenset(found)


def _writing(place: Place) -> set[str]:
    """What calls of a function are called that write something else to a file than a model."""
    calls = (call for name in _WRITERS for call in place.flow.calls_named(name))
    return {last(call.func) for call in calls if not is_checkpoint(place, call)}


def is_checkpoint(place: Place, call: ast.Call) -> bool:
    """`torch.save({"acc": acc, "net": net.state_dict()}, path)`: a model is written, and numbers that tell how good it is."""
    saved = call.args[0] if call.args and place.resolve(call.func) == "torch.save" else None
    if isinstance(saved, ast.Name):
        saved = uses.assigned(place.function, saved)
    return saved is not None and any(
        isinstance(part, ast.Attribute) and part.attr == "state_dict" for part in ast.walk(saved)
    )


def _read(node: ast.AST) -> set[str]:
    return {_key(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)} - {""}


def _key(node: ast.expr | None) -> str:
    """The name that something is, or is a part of: `pose` for `pose[i]`, `self.pose`; "" for other expressions."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return (key_of(node) or "") if node is not None else ""
