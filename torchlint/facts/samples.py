"""Elements of a batch, of a list of samples or of a tensor, which a loop or a comprehension takes one by one."""

from __future__ import annotations

import ast

from ..system.regex import regex
from .bindings import Assigned, Part
from .flow import Comprehension, Loop, contains
from .host_filled import filled
from .listed import is_only_listed
from .moves import SENDING
from .names import chain, last
from .nodes import (
    bound_names,
    elements,
    indices,
    is_constant,
    keyword_of,
    made_first,
    names_in,
    number,
    root_of,
    sized,
    spreads,
    string,
)
from .place import Place
from .runs import of_few
from .syntax import same
from .uses import assigned

_OF_ARRAYS = frozenset(("tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor", "IntTensor", "BoolTensor"))
"""What makes a tensor of an array."""
_GATHERS = ast.ListComp | ast.GeneratorExp
JOINS = frozenset(f"torch.{name}" for name in ("stack", "cat", "concat", "concatenate", "vstack", "hstack"))
JOINS |= {"torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.pack_sequence"}
"""What makes one tensor of many."""
_SPLITS = frozenset(("split", "tensor_split"))
"""What takes a tensor apart by sizes, into as many parts as there are."""
_TOKENIZER = regex(r"(?:^|_)tok(?:eni[sz]er)?$")
_OF_ONE_TEXT = frozenset(("encode", "encode_plus"))
"""The methods of a tokenizer that take one text, or a pair; padding gives it a length, and none beside it."""
_GENERATES = regex(r"generat|sampl|beam|decode$")
"""What runs a model many times for one text, next to which a copy is little."""
_OF_SAMPLES = frozenset(("last_hidden_state", "logits", "pooler_output", "image_embeds", "text_embeds"))
"""What outputs of transformers' models call a tensor with a row for each sample."""
_OF_LAYERS = frozenset(("hidden_states", "attentions"))
"""What they call a tuple of those, one for each layer."""
_STEPS = 10
"""Through how many names, parts and methods what was encoded is followed."""
_ASKED = "return_tensors"
"""What a tokenizer is asked by which tensors to give."""


def is_field_of_each(place: Place, field: ast.expr) -> bool:
    """`s["image"]` of `[s["image"].to(device) for s in samples]`, `v` of `[{k: v.to(device) for k, v in s.items()} for s in samples]`.

    What a call of the function made for each, `parts = [tokenize(text) for text in texts]`, are no samples.
    """
    inner = place.flow.comprehension(field)
    around: ast.AST | None = place.flow.parents.get(inner) if isinstance(inner, ast.DictComp) else inner
    if not isinstance(around, _GATHERS) or len(around.generators) != 1:
        return False
    match inner, field:
        case ast.DictComp(generators=[ast.comprehension(iter=ast.Call(func=owner)), *_]), ast.Name():
            sample = owner.value if isinstance(owner, ast.Attribute) and owner.attr == "items" else None
        case _, ast.Subscript(value=sample, slice=ast.Constant(value=str())) if inner is around:
            pass
        case _:
            return False
    if inner is not around and around.elt is not inner:
        return False
    each, rows = around.generators[0].target, around.generators[0].iter
    if not (isinstance(sample, ast.Name) and isinstance(each, ast.Name) and sample.id == each.id):
        return False
    bound = place.function.bindings.reach.get(rows) if isinstance(rows, ast.Name) else None
    made = bound.node if isinstance(bound, Assigned) else None
    return not (isinstance(made, ast.ListComp) and isinstance(made.elt, ast.Call))


def each_of(place: Place, node: ast.expr) -> ast.expr | None:
    """`xs` of `[x.to(device) for x in xs]`, for `x` or `torch.FloatTensor(x)`, and of `xs[i].to(device)` in a loop that counts up to its length; None of others.

    A comprehension has no other loop.
    """
    comprehension = place.flow.comprehension(node)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("view", "float"):
        node = node.func.value
    if isinstance(node, ast.Call) and len(node.args) == 1 and last(node.func) in _OF_ARRAYS | {"from_numpy"}:
        node = node.args[0]  # `torch.FloatTensor(x)`
    if isinstance(node, ast.Subscript) and comprehension is None:
        loop = place.loop((ast.For,))
        numbered = isinstance(loop, ast.For) and _is_numbered_batch(place, node, loop)
        return node.value if numbered else None
    if not isinstance(comprehension, _GATHERS) or len(comprehension.generators) != 1:
        return None
    target = comprehension.generators[0].target
    named = isinstance(node, ast.Name) and isinstance(target, ast.Name) and node.id == target.id
    return comprehension.generators[0].iter if named else None


def is_of_given_samples(place: Place, node: ast.expr) -> bool:
    """Whether a comprehension or a loop takes something out of what the function is given first: `b` of `def pad(batch): return [b.to(device) for b in batch]`, `b["ids"]`."""
    root = root_of(node)
    given = [one.arg for one in place.function.parameters if one.arg != place.function.own_name][:1]
    if root is None or not given or given[0] in place.flow.stores:
        return False
    comprehension, loop = place.flow.comprehension(node), place.loop()
    through: list[ast.comprehension | ast.For] = [*(comprehension.generators if comprehension is not None else ())]
    through += [loop] if isinstance(loop, ast.For) else []
    return any(
        isinstance(one.iter, ast.Name) and one.iter.id == given[0] and root.id in bound_names(one.target)
        for one in through
    )


def holds_tensors(place: Place, rows: ast.expr) -> bool:
    """Whether what is gone through is a list of tensors, or the samples of a batch."""
    part = rows.slice if isinstance(rows, ast.Subscript) else None
    if isinstance(part, ast.Slice) and all(_is_written_out(bound) for bound in (part.lower, part.upper)):
        return False  # `batch[:4]`: the tensors that a batch begins with, each of all its samples
    if _is_unpacked(place) or _were_moved(place, rows):
        return False
    value = place.value(rows)
    if value.from_loader and value.kind == "tensor":
        return not _is_taken_apart(place, rows)
    return value.kind == "list" and value.items is None and value.element is not None and value.element.is_tensor


def _is_taken_apart(place: Place, rows: ast.expr) -> bool:
    """Whether something is a part of a part of a batch, `labels, weights = targets`: a list of a few tensors, each of all samples."""
    bound = place.function.bindings.reach.get(rows)
    whole = bound.whole if isinstance(bound, Part) else None
    return isinstance(whole, Assigned) and place.value(whole.node).kind == "tensor"


def _is_written_out(bound: ast.expr | None) -> bool:
    """Whether a bound of a slice is left out or written as a number: 4, -1."""
    return bound is None or isinstance(bound.operand if isinstance(bound, ast.UnaryOp) else bound, ast.Constant)


def _is_unpacked(place: Place) -> bool:
    """Whether what is made is taken apart into names, `x, y = [t.cuda() for t in batch]`: the tensors of a batch, no samples.

    Also by a later statement: `batch = tuple(t.to(device) for t in batch)` in front of `ids, mask = batch`.
    """
    statement = place.statement
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        value = statement.value
        return isinstance(value, _GATHERS) or (isinstance(value, ast.Call) and last(value.func) in ("tuple", "list"))
    name = chain(statement.targets[0]) if isinstance(statement, ast.Assign) else None
    return any(
        isinstance(taken := place.flow.parents.get(load), ast.Assign)
        and taken.value is load
        and isinstance(taken.targets[0], ast.Tuple)
        and load.lineno > statement.lineno
        for load in (place.flow.loads.get(name[0], ()) if name is not None and len(name) == 1 else ())
    )


def _were_moved(place: Place, rows: ast.expr) -> bool:
    """Whether each was moved to the same device before: a second `batch = tuple(t.to(device) for t in batch)` copies nothing."""
    bound = place.function.bindings.reach.get(rows) if isinstance(rows, ast.Name) else None
    made = bound.node if isinstance(bound, Assigned) else None
    if isinstance(made, ast.Call) and last(made.func) in ("tuple", "list") and len(made.args) == 1:
        made = made.args[0]
    before, now = made.elt if isinstance(made, _GATHERS) else None, place.target
    return (
        isinstance(before, ast.Call)
        and isinstance(now, ast.Call)
        and last(before.func) == last(now.func) in SENDING
        and [ast.dump(one) for one in before.args] == [ast.dump(one) for one in now.args]
    )


def is_part_of_sample(place: Place, node: ast.expr) -> bool:
    """Whether an inner loop, or one of a function that a loop calls, over a batch takes a value out of it: `for image, label in samples`, `for row in images`."""
    loop = place.loop()
    if not isinstance(loop, ast.For) or (len(place.flow.loops(node)) < 2 and _is_of_batches(place, loop)):
        return False
    root = root_of(node, ast.Attribute, ast.Call)
    if root is None or place.flow.comprehension(node) is not None:
        return False
    if not any(isinstance(part, ast.Name) and part.id == root.id for part in elements(loop.target)):
        return False
    batch = place.value(loop.iter)
    if batch.kind not in ("tensor", "batch") or not batch.from_loader:
        return False
    # The parts of a batch are not unpacked: what is, are samples.
    return batch.kind == "tensor" or isinstance(loop.target, ast.Tuple)


def is_sent_one_by_one(place: Place, array: ast.expr) -> bool:
    """`xs.append(torch.from_numpy(x).to(device))` in a loop within a step, for each of many arrays: a copy of all would do.

    What is sent may have a name, and other shapes, with which nothing else is done.
    """
    loop = place.loop()
    assert isinstance(place.target, ast.expr)
    if not isinstance(loop, ast.For) or not is_only_listed(place, place.target):
        return False
    if _is_of_batches_or_few(place, loop):
        return False
    if _is_of_dataset(place, array):
        return True
    made = made_first(array)
    if not isinstance(made, ast.Call) or len(made.args) != 1:
        return False
    given = place.value(made.args[0])
    known = given.kind == "ndarray" and not given.other_kinds
    return last(made.func) == "from_numpy" or (known and last(made.func) in _OF_ARRAYS)


def is_joined_one_by_one(place: Place, array: ast.expr) -> bool:
    """`torch.stack([torch.tensor(x).to(device) for x in xs])` of arrays or lists: a copy of what is joined would do."""
    around = place.flow.comprehension(place.target)
    if not isinstance(around, _GATHERS) or len(around.generators) != 1 or around.elt is not place.target:
        return False
    made = made_first(array)
    if not isinstance(made, ast.Call) or not made.args or last(made.func) not in _OF_ARRAYS | {"from_numpy"}:
        return False
    taker = place.flow.parents.get(around)
    if not isinstance(taker, ast.Call) or place.resolve(taker.func) not in JOINS:
        return False
    each = around.generators[0]
    if isinstance(each.iter, ast.Tuple | ast.List) or _is_short(place, each):
        return False
    return place.value(made.args[0]).kind != "tensor" and not bound_names(each.target).isdisjoint(
        names_in(made.args[0])
    )


def is_gathered_one_by_one(place: Place, moved: ast.expr) -> bool:
    """`xs.append(self.images[i][a:b].to(device))` in a loop that draws samples, and `torch.stack(xs)` behind it: a copy of the stack would do.

    So of what the loop makes on the host, `x, y = assign(boxes.cpu())`, `xs.append(x.to(device))`.
    """
    taker, loop = place.flow.parents.get(place.target), place.loop()
    filled_list = taker.func.value if isinstance(taker, ast.Call) and isinstance(taker.func, ast.Attribute) else None
    if (
        loop is None
        or not isinstance(taker, ast.Call)
        or last(taker.func) != "append"
        or not isinstance(filled_list, ast.Name)
    ):
        return False
    if isinstance(loop, ast.For) and _is_of_batches_or_few(place, loop):
        return False
    held = root_of(moved, ast.Subscript, ast.Attribute)
    drawn = isinstance(moved, ast.Subscript) and held is not None and held.id == place.function.own_name
    takers = (place.flow.parents.get(read) for read in place.flow.loads.get(filled_list.id, ()))
    joined = any(
        isinstance(one, ast.Call) and place.resolve(one.func) in JOINS and loop not in place.flow.loops(one)
        for one in takers
    )
    return joined and (drawn or _is_made_on_host(place, moved, loop))


def _is_made_on_host(place: Place, moved: ast.expr, loop: Loop) -> bool:
    """Whether each turn of a loop gives a name another tensor of the host, calculated by a function: no numbers that `device=` would fill."""
    value = place.value(moved)
    if not isinstance(moved, ast.Name) or not value.proven or not (value.is_tensor and value.device == "cpu"):
        return False
    if value.from_loader or value.other_kinds or filled(place, moved) is not None:
        return False
    bound = place.function.bindings.reach.get(moved)
    made = bound.whole if isinstance(bound, Part) else bound
    return isinstance(made, Assigned) and isinstance(made.node, ast.Call) and contains(loop, made.node)


def _is_of_batches_or_few(place: Place, loop: ast.For) -> bool:
    """Whether a loop goes through batches, or has few turns: what it moves one by one is no sample, or costs little."""
    return _is_of_batches(place, loop) or of_few(place.function, loop) or _is_short(place, loop)


def is_encoded_alone(place: Place, moved: ast.expr) -> bool:
    """`ids["input_ids"]` of `ids = tokenizer(text, return_tensors="pt")` in `for text in texts`, which runs the model on each alone.

    Without padding a tokenizer makes a tensor of one text, as others differ in length. A text that is written out, what one text
    is generated for, and what a loader gives, are left out.
    """
    loop = place.loop((ast.For,))
    if not isinstance(loop, ast.For) or not place.function.module.source.holds(_ASKED.encode()):
        return False
    call = _encoding(place, moved)
    if call is None or next(iter(place.flow.loops(call)), None) is not loop:
        return False
    given = [*call.args, *filter(None, [keyword_of(call, "text")])]
    if not _takes_one_text(call) or of_few(place.function, loop) or _is_short(place, loop):
        return False
    if place.value(loop.iter).kind == "loader" or any(place.value(one).from_loader for one in given):
        return False
    stores = (store for one in given for name in names_in(one) for store in place.flow.stores.get(name, ()))
    return any(contains(loop, store) for store in stores) and not place.once(
        ("generates for each", loop), lambda: _generates(place, loop)
    )


def _generates(place: Place, loop: ast.For) -> bool:
    """Whether a loop has another one inside, or calls what runs a model many times for each text."""
    inner = any(one is not loop and contains(loop, one) for one in place.function.own_loops)
    return inner or any(_GENERATES.search(last(one.func)) for one in place.flow.calls_in(loop))


def _encoding(place: Place, moved: ast.expr) -> ast.Call | None:
    """The call for tensors, by `return_tensors="pt"`, that something comes out of: `ids["mask"]`, `v` of `for k, v in ids.items()`."""
    node: ast.expr | None = moved
    around = place.flow.comprehension(moved)
    if isinstance(around, ast.DictComp) and isinstance(moved, ast.Name) and moved.id in names_in(around.value):
        node = around.generators[0].iter
    for _ in range(_STEPS):
        if isinstance(node, ast.Call) and string(keyword_of(node, _ASKED)) == "pt":
            return node
        if isinstance(node, ast.Name):
            node = assigned(place.function, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        else:
            return None
    return None


def _takes_one_text(call: ast.Call) -> bool:
    """Whether a tokenizer is given one text to encode: by a method that takes no more, or without padding."""
    if spreads(call):
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_ONE_TEXT:
        return _TOKENIZER.search(last(call.func.value).lower()) is not None
    padding = keyword_of(call, "padding")
    return (padding is None or is_constant(padding, False)) and _TOKENIZER.search(last(call.func).lower()) is not None


def _is_of_batches(place: Place, loop: ast.For) -> bool:
    """Whether a loop is the one that trains or evaluates around the place, which goes through batches; one of a forward is within a batch."""
    hot = place.hot
    around = hot.loop if hot is not None and hot.function is place.function else None
    return loop is around or (loop is place.warm and not place.in_forward)


def _is_of_dataset(place: Place, sample: ast.expr) -> bool:
    """`dataset[i]`, and a part of it: `dataset[i][0]`"""
    while isinstance(sample, ast.Subscript):
        sample = sample.value
        if place.value(sample).kind == "dataset":
            return True
    return False


def _is_short(place: Place, loop: ast.For | ast.comprehension) -> bool:
    """`for i in range(3)`"""
    over = loop.iter if isinstance(loop.iter, ast.Call) and place.resolve(loop.iter.func) == "range" else None
    return over is not None and all(isinstance(place.value(bound).const, int) for bound in over.args)


def rows_of(place: Place, row: ast.expr) -> ast.expr | None:
    """What a loop or a comprehension goes through whose row a value is, `x` of `for x in xs` or `xs[i]` of `for i in range(n)`; None of others."""
    comprehension, loop = place.flow.comprehension(row), place.loop((ast.For,))
    if isinstance(row, ast.Subscript) and comprehension is not None:
        return row.value if _takes_each(row, comprehension) else None
    if isinstance(row, ast.Subscript):
        numbered = isinstance(loop, ast.For) and _is_numbered(place, row, loop)
        return row.value if numbered else None
    around = comprehension.generators[0] if comprehension is not None else loop
    if not isinstance(row, ast.Name) or not isinstance(around, ast.For | ast.comprehension):
        return None
    target, rows = around.target, around.iter
    if isinstance(rows, ast.Call) and place.resolve(rows.func) == "enumerate" and isinstance(target, ast.Tuple):
        if not (rows.args and target.elts):
            return None
        target, rows = target.elts[-1], rows.args[0]
    if not isinstance(target, ast.Name) or target.id != row.id:
        return None
    # Something else may be assigned to the name before it is read.
    stores = place.flow.stores.get(target.id, ())
    return None if any(target.lineno < store.lineno < row.lineno for store in stores) else rows


def split_whole(place: Place, parts: ast.expr) -> ast.expr | None:
    """The tensor that a name holds the parts of: `x` behind `parts = torch.split(x, sizes)` and `parts = x.split(sizes)`."""
    made = assigned(place.function, parts) if isinstance(parts, ast.Name) else parts
    if not isinstance(made, ast.Call) or last(made.func) not in _SPLITS:
        return None
    name = place.resolve(made.func)
    if name is not None:
        return made.args[0] if name.startswith("torch.") and made.args else None
    return made.func.value if isinstance(made.func, ast.Attribute) else None


def _takes_each(row: ast.Subscript, comprehension: Comprehension) -> bool:
    """`x[start:end]` of `[x[start:end].cpu() for start, end in spans]`: each turn takes its part of the same tensor."""
    turns = {name for one in comprehension.generators for name in bound_names(one.target)}
    if any(one.ifs for one in comprehension.generators) or root_of(row.value) is None:
        return False
    return not turns.isdisjoint(names_in(row.slice)) and turns.isdisjoint(names_in(row.value))


def is_counted_by_shape(place: Place, rows: ast.expr) -> bool:
    """Whether the loop around the place counts up to how many rows there are, as only a tensor tells: `range(x.shape[0])`, `range(x.size(0))`."""
    loop = place.loop((ast.For,))
    counter = loop.iter if isinstance(loop, ast.For) else None
    counted = counter.args[0] if isinstance(counter, ast.Call) and len(counter.args) == 1 else None
    return same(sized(assigned(place.function, counted) if isinstance(counted, ast.Name) else counted), rows)


def is_of_output(place: Place, rows: ast.expr) -> bool:
    """Whether a tensor of all samples has the name that outputs of transformers' models give it: `out.last_hidden_state`, `out.hidden_states[-2]`."""
    return place.function.module.source.holds(b"transformers") and _field_of_output(rows) is not None


def _field_of_output(rows: ast.expr) -> ast.Attribute | None:
    """The field of a model's output that is a tensor, or one of the tensors of layers, by its name."""
    match rows:
        case ast.Attribute(attr=name) if name in _OF_SAMPLES:
            return rows
        case ast.Subscript(value=ast.Attribute(attr=name) as field, slice=layer) if name in _OF_LAYERS:
            return field if number(layer) is not None else None
    return None


def _is_numbered_batch(place: Place, row: ast.Subscript, loop: ast.For) -> bool:
    """`batch["x"][i]` in `for i in range(batch["image"].size(0))`, of what a loader gave."""
    match loop:
        case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[count], keywords=[])):
            value, counted = place.value(row.value), place.value(count)
            by_turn = isinstance(row.slice, ast.Name) and row.slice.id == index
            return (
                by_turn and value.from_loader and value.kind == "tensor" and counted.kind == "number" and counted.extent
            )
    return False


def is_sent(place: Place, rows: ast.expr) -> bool:
    """Whether a name is what was sent to a device by itself, as no list is: `target = target.cuda()`."""
    made = assigned(place.function, rows) if isinstance(rows, ast.Name) else None
    return isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in ("cuda", "to")


def _is_numbered(place: Place, row: ast.Subscript, loop: ast.For) -> bool:
    """`x[i]` or `x[i, best, :3]` of `for i in range(n)`, where nothing in the loop makes `x`, writes to it or moves `i`."""
    if not isinstance(loop.iter, ast.Call) or next(place.flow.guards(row, loop), None) is not None:
        return False  # some of the rows
    over = place.resolve(loop.iter.func)
    counter = loop.target if over == "range" and not _is_short(place, loop) else None
    if over == "enumerate" and isinstance(loop.target, ast.Tuple) and loop.target.elts:
        counter = loop.target.elts[0]
    field = _field_of_output(row.value)
    name = chain(field if field is not None else row.value)
    parts = indices(row.slice)
    if not isinstance(counter, ast.Name) or not name or not isinstance(parts[0], ast.Name):
        return False
    if not any(isinstance(part, ast.Name) and part.id == counter.id for part in parts):
        return False
    written = [*place.flow.targets.get(".".join(name), ()), *place.flow.stored_in.get(".".join(name), ())]
    written += place.flow.stores.get(name[0], ())
    moved = [store for store in place.flow.stores.get(counter.id, ()) if store is not counter]
    return not any(contains(loop, store) for store in (*written, *moved))
