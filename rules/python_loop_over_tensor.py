from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.facts import frequency, syntax
from torchlint.facts.flow import Flow
from torchlint.facts.module import BODIES
from torchlint.facts.names import last
from torchlint.facts.nodes import addends, argument_of, elements, indices, names_in, steps
from torchlint.facts.values import PROVEN, UNKNOWN, Value, replace
from torchlint.rule import Finding, Site, chain, rule
from torchlint.torch_api.operators import operator

# Methods that compute nothing, or take the row to the host.
_TAKES = frozenset("item tolist cpu numpy size dim numel detach clone data_ptr to cuda unbind view".split())

_FILLS = frozenset(("append", "extend"))
_BUILTINS = frozenset(("float", "int", "len", "range", "list", "tuple"))
_RAGGED = frozenset(("unique", "nonzero", "masked_select", "argwhere", "where"))
"""What gives as many elements as a row has of a kind."""
_KINDS = frozenset(("unique", "unique_consecutive"))
_SIZED = frozenset(
    f"torch.{name}" for name in "ones zeros empty full eye arange linspace logspace rand randn randint randperm".split()
)
"""What makes as many elements as it is told: rows have lengths of their own."""


_JOINS = ("stack", "cat")
_GROWS = frozenset(("cat", "concat", "concatenate"))


@rule(
    "TL707",
    shape=["for $row in $rows: ...", *(f"torch.{name}(...)" for name in _JOINS)],
    severity="info",
    impact="high",
    category="kernel",
    principle=("vectorisation",),
    silenced_by=("TL305",),
)
def python_loop_over_tensor(site: Site) -> Iterator[Finding]:
    """Python goes through the rows of a tensor and computes with each.

    ## What it does

    Finds `for row in x` over a tensor, by `enumerate`, `reversed`, `unbind` and `zip` of tensors too (`zip(*x.topk(5))`), whose rows may be
    unpacked (`for *box, score in x`), and `for i in range(len(x))` with `x[i]` or `x[i : i + 1]` in its body, where the body computes with the row, writes it into another tensor (`losses[n] = loss[i]`) or writes where it says (`mask[i, kept[i]] = 0`), and `torch.stack([x[i] for i in rows])`, which picks them one by one: in step loops, in evaluation loops, in what these call, and in what a
    `forward` does. With `--preview` also where the rows differ in what is done with them: behind conditions, by masks, by
    functions of the project.

    ## Why is this slow?

    Each turn launches its own kernels on a small piece, one after the other, while the device could do all rows at once.

    ## When it does not matter

    For a few rows; for recurrences, whose step needs the one before, and for what takes as much of each row as was found
    for it (`x[i][kept[i]]`, a list of what `nonzero()` gave), which are not reported; and on the host.

    ## Bad

    ```python
    def loss(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        total = 0
        for row in x:  # TL707
            total = total + (row * weights).sum()
        return total

    for batch in loader:
        loss(batch, weights).backward()
        optimizer.step()
    ```

    ## Good

    ```python
    def loss(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return (x * weights).sum()  # ok

    for batch in loader:
        loss(batch, weights).backward()
        optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.vmap.html
    - https://docs.pytorch.org/docs/stable/notes/broadcasting.html
    """
    if isinstance(site.target, ast.Call):
        yield from _gathered(site)
        return
    assert isinstance(site.target, ast.For)
    loop = site.target
    if site.in_compiled or not site.accelerator or site.role == "test":
        return
    rows = _rows(site, loop) if _is_plain(loop) else []
    if not rows or not _computes(site, loop, rows) or not (site.settings.preview or _is_alike(site, loop)):
        return
    often = _often(site)
    if often and not _is_ragged(site, loop):
        text = f"`for {site.short(loop.target)} in {site.short(loop.iter)}` launches kernels for each row by itself {often}"
        yield site.finding(text, related=site.why_hot())


def _gathered(site: Site) -> Iterator[Finding]:
    """`torch.stack([x[i] for i in rows])`: a kernel for each row that is picked, and one that joins them."""
    made = site.call.args[0] if site.call.args else None
    if not isinstance(made, ast.ListComp | ast.GeneratorExp) or len(made.generators) != 1 or made.generators[0].ifs:
        return
    by, picked = made.generators[0].target, made.elt
    if not isinstance(by, ast.Name) or not isinstance(picked, ast.Subscript):
        return
    places = indices(picked.slice)
    alone = [one for one in places if isinstance(one, ast.Name) and one.id == by.id]
    rest = [one for one in places if one not in alone]
    if len(alone) != 1 or not all(isinstance(one, ast.Slice) and not names_in(one) for one in rest):
        return
    if not _are_places(site, made.generators[0].iter):
        return
    if by.id in names_in(picked.value) or site.in_compiled or site.role == "test" or not site.accelerator:
        return
    often = _often(site) if _is_device_tensor(site, picked.value) else ""
    if often:
        text = f"`{site.short(made)}` launches a kernel for each row by itself {often}: one index picks them all"
        yield site.finding(text, related=site.why_hot())


def _are_places(site: Site, given: ast.expr) -> bool:
    """Whether numbers are gone through, by which rows are picked; words are keys of a dictionary."""
    value = site.value(given)
    element = value.element
    by_number = element is not None and element.kind == "number" and not element.other_kinds
    return by_number or value.is_tensor or syntax.is_counted(site.resolve, given, ())


def _often(site: Site) -> str:
    """When the loop runs again and again; "" where it may run once."""
    if site.hot is not None:
        return "on every step"
    if site.rare:
        return ""
    if site.warm is not None or site.warm_caller is not None:
        return frequency.how_often(site)
    return frequency.in_passes(site) if frequency.in_forward(site) else ""


def _rows(site: Site, loop: ast.For) -> list[str]:
    """What the body calls the rows of the tensors that the loop goes through: names, or `x[i]`."""
    target, given = loop.target, loop.iter
    called = site.resolve(given.func) if isinstance(given, ast.Call) else None
    arguments = given.args if isinstance(given, ast.Call) and not given.keywords else []
    if called == "range":
        first = arguments[0] if len(arguments) == 2 else None
        if not isinstance(target, ast.Name) or not (
            len(arguments) == 1 or (isinstance(first, ast.Constant) and not first.value)
        ):
            return []
        return _by_index(site, loop, arguments[-1])
    if called == "enumerate" and len(arguments) == 1 and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target, given = target.elts[1], arguments[0]
    if called == "zip" and isinstance(target, ast.Tuple):
        names = [one.id for one in target.elts if isinstance(one, ast.Name)]
        tensors = _zipped(site, arguments)
        return names if len(names) == len(target.elts) == len(tensors) > 1 and all(map(_on_device, tensors)) else []
    if isinstance(given, ast.Call) and len(given.args) == 1 and site.resolve(given.func) == "reversed":
        given = given.args[0]
    return _bound(target) if _on_device(_gone_through(site, given)) else []


def _zipped(site: Site, arguments: list[ast.expr]) -> Sequence[Value]:
    """What `zip(a, b)` and `zip(*x.topk(5))` go through at once."""
    if len(arguments) == 1 and isinstance(arguments[0], ast.Starred):
        whole = site.value(arguments[0].value)
        return whole.items or () if whole.kind == "tuple" else ()
    return [_gone_through(site, one) for one in arguments]


def _gone_through(site: Site, given: ast.expr) -> Value:
    """What a loop goes through: the tensor itself where it is unbound along its first dimension, as nothing but a tensor can be."""
    if not isinstance(given, ast.Call) or last(given.func) != "unbind":
        return site.value(given)
    is_function = site.resolve(given.func) == "torch.unbind"
    whole = argument_of(given, "input", 0) if is_function else getattr(given.func, "value", None)
    dim = argument_of(given, "dim", int(is_function))
    is_first = dim is None or (isinstance(dim, ast.Constant) and dim.value == 0)
    value = site.value(whole) if whole is not None and is_first else UNKNOWN
    return replace(value, certainty=PROVEN) if value.kind == "tensor" else UNKNOWN


def _bound(target: ast.expr) -> list[str]:
    """The names that a loop binds to a row, or to its elements: `*box, score`."""
    parts = elements(target)
    parts = [part.value if isinstance(part, ast.Starred) else part for part in parts]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _by_index(site: Site, loop: ast.For, bound: ast.expr) -> list[str]:
    """The rows of `for i in range(n)`, where n is how long a tensor is."""
    assert isinstance(loop.target, ast.Name)
    measured = bound.args[0] if isinstance(bound, ast.Call) and len(bound.args) == 1 else bound
    of_length = measured is not bound and isinstance(bound, ast.Call) and site.resolve(bound.func) == "len"
    count = site.value(bound)
    is_extent = count.kind == "number" and count.extent
    # How many rows there are may be told by what is only likely a tensor, as a forward is given: the rows are of others.
    if not is_extent and not (of_length and _may_be_on_device(site.value(measured))):
        return []
    index = loop.target.id
    parts = [node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Subscript)]
    others = _other_places(loop, index)
    if any(_is_beside(node.slice, index) or _is_named(node.slice, others) for node in parts):
        return []  # `x[i - 1]`: a turn needs the one before
    found = {ast.unparse(node): node.value for node in parts if _is_at(node.slice, index)}
    rows = [written for written, tensor in found.items() if _is_device_tensor(site, tensor)]
    return [*rows, *_called(loop, rows)]


def _is_at(part: ast.expr, index: str) -> bool:
    """`x[i]`, `x[i, :, 0]`, `x[i : i + 1]`"""
    first = _first(part)
    return (isinstance(first, ast.Name) and first.id == index) or _is_one(first, index)


def _first(part: ast.expr) -> ast.expr:
    return part.elts[0] if isinstance(part, ast.Tuple) and part.elts else part


def _is_one(part: ast.expr, index: str) -> bool:
    """`i : i + 1`"""
    return (
        isinstance(part, ast.Slice)
        and part.step is None
        and isinstance(part.lower, ast.Name)
        and part.lower.id == index
        and isinstance(part.upper, ast.BinOp)
        and ast.unparse(part.upper) == f"{index} + 1"
    )


def _is_beside(part: ast.expr, index: str) -> bool:
    """`x[i + 1]`, `x[i:]`, `x[: i + 1]`"""
    first = _first(part)
    return (
        isinstance(first, ast.BinOp | ast.Slice)
        and not _is_one(first, index)
        and any(isinstance(node, ast.Name) and node.id == index for node in ast.walk(first))
    )


def _other_places(loop: ast.For, index: str) -> set[str]:
    """The names of what is calculated of a turn's number: `j = n - i - 1`."""
    made = (node for node in loop.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp))
    named = ((node.targets[0], node.value) for node in made)
    return {target.id for target, value in named if isinstance(target, ast.Name) and index in names_in(value)}


def _is_named(part: ast.expr, names: set[str]) -> bool:
    first = _first(part)
    return isinstance(first, ast.Name) and first.id in names


def _called(loop: ast.For, rows: list[str]) -> list[str]:
    """The names that the body gives to rows: `boxes = x[i]`."""
    assigned = (node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Assign))
    return [
        node.targets[0].id
        for node in assigned
        if isinstance(node.targets[0], ast.Name) and ast.unparse(node.value) in rows
    ]


def _is_device_tensor(site: Site, node: ast.expr) -> bool:
    return _on_device(site.value(node))


def _on_device(value: Value) -> bool:
    return value.is_tensor and _may_be_on_device(value)


def _may_be_on_device(value: Value) -> bool:
    return value.kind == "tensor" and not value.on_cpu and not value.parameter and not value.from_loader


def _is_plain(loop: ast.For) -> bool:
    """Whether no turn ends the loop, and there is no other loop inside."""
    # Of statements alone: their expressions are ten times as many, and most loops are looked at for nothing.
    todo: list[ast.AST] = list(loop.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Break | ast.Return | ast.While | ast.For):
            return False
        todo += [inner for field in BODIES for inner in getattr(node, field, ())]
    return True


def _is_mask(index: Value) -> bool:
    return index.kind == "tensor" and index.boolean


def _is_alike(site: Site, loop: ast.For) -> bool:
    """Whether torch alone computes with the rows, and with all elements of each: one operation over all rows does the same."""
    targets = names_in(loop.target)
    for node in (node for statement in loop.body for node in ast.walk(statement)):
        if isinstance(node, ast.If | ast.IfExp | ast.Lambda):
            return False
        if isinstance(node, ast.Slice) and any(_is_of(bound, targets) for bound in (node.lower, node.upper)):
            return False  # `x[i, : lengths[i]]`: each row has a length of its own
        if isinstance(node, ast.Subscript) and _is_mask(site.value(node.slice)):
            return False
        if isinstance(node, ast.Call):
            name = site.resolve(node.func)
            parts = chain(node.func) or ["", getattr(node.func, "attr", "")]
            known = name in _BUILTINS or name.startswith("torch.") if name else _is_method(parts)
            if (
                not known
                or parts[-1] in _RAGGED
                or (name in _SIZED and any(_is_of(size, targets) for size in node.args))
            ):
                return False
    return True


def _is_ragged(site: Site, loop: ast.For) -> bool:
    """Whether a turn takes `kept[i]` of a list, each as long as `nonzero()` found elements for it: rows of that can't be joined."""
    by, lists = names_in(loop.target), site.once(("ragged lists", site.function), lambda: _ragged_lists(site.flow))
    return bool(lists) and any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in lists
        and isinstance(node.slice, ast.Name)
        and node.slice.id in by
        for statement in loop.body
        for node in ast.walk(statement)
    )


def _ragged_lists(flow: Flow) -> frozenset[str]:
    """The lists that a function fills with what is as long as elements are found, one by one or by a comprehension."""
    appended = (
        (grown.id, value)
        for call in flow.calls_named("append")
        if (grown := syntax.appended_to(flow, call)) is not None
        for value in call.args
    )
    bound = ((name, syntax.given_to_target(flow, store)) for name, stores in flow.stores.items() for store in stores)
    made = ((name, value.elt) for name, value in bound if isinstance(value, ast.ListComp))
    return frozenset(name for name, value in (*appended, *made) if _is_found(flow, value, set()))


def _is_found(flow: Flow, value: ast.expr, seen: set[str], by: frozenset[str] = _RAGGED) -> bool:
    """`mask.nonzero()[:, 0]`, `torch.where(mask)[0]`, and names for it; `torch.where(mask, a, b)` is as long as its mask."""
    for part in steps(value):
        if isinstance(part, ast.Call) and last(part.func) in by:
            return last(part.func) != "where" or len(part.args) + len(part.keywords) == 1
        if isinstance(part, ast.Name) and part.id not in seen:
            seen.add(part.id)
            given = (syntax.given_to_target(flow, store) for store in flow.stores.get(part.id, ()))
            return any(one is not None and _is_found(flow, one, seen, by) for one in given)
    return False


def _is_of(bound: ast.expr | None, names: set[str]) -> bool:
    return bound is not None and any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(bound))


def _is_method(parts: list[str]) -> bool:
    """Whether a call may be one of a tensor's methods, or fills a list; `model.encoder(row)` is none."""
    last = parts[-1]
    return len(parts) > 1 and parts[0] != "self" and (last in _FILLS or operator(f"torch.Tensor.{last}") is not None)


def _computes(site: Site, loop: ast.For, rows: list[str]) -> bool:
    """Whether the body computes with a row, and no turn needs the result of the one before but to add or append to it."""
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    computed = any(ast.unparse(one) in rows for node in nodes for one in _operands(site, node))
    # `labels == label` asks who belongs to a class, of two rows each element is compared.
    compared = (node for node in nodes if isinstance(node, ast.Compare))
    computed = computed or any(all(ast.unparse(side) in rows for side in _sides(one)) for one in compared)
    if not computed:
        computed = _places_rows(site, loop, rows, nodes)
    return computed and not _carried(loop)


def _places_rows(site: Site, loop: ast.For, rows: list[str], nodes: list[ast.AST]) -> bool:
    """Whether the rows tell where to write in another tensor: one index writes all of it."""
    if isinstance(loop.target, ast.Tuple) and site.resolve(getattr(loop.iter, "func", loop.iter)) != "enumerate":
        return False  # pairs, as lists hold them
    written = (target for node in nodes if (target := _written(node)) is not None)
    placed = [one for one in written if any(ast.unparse(part) in rows for part in _places(site, one))]
    return bool(placed) and not _are_kinds(site.flow, loop) and _may_be_placed_at_once(loop, nodes, placed)


def _carried(loop: ast.For) -> set[str]:
    """The names that a turn reads before it binds them, but for sums and what grows: what the turn before has left."""
    return _read_first(loop.body, _bound_in(loop.body), set()) - _counted(loop)


def _counted(loop: ast.For) -> set[str]:
    """The names that each turn adds a number to, and that nothing else binds: `n += 1` is told by the turn."""
    steps = (one for one in loop.body if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add))
    counted = {
        one.target.id for one in steps if isinstance(one.target, ast.Name) and isinstance(one.value, ast.Constant)
    }
    stores = [
        node.id
        for one in loop.body
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in counted
    ]
    return {name for name in counted if stores.count(name) == 1}


def _read_first(block: list[ast.stmt], stored: set[str], bound: set[str]) -> set[str]:
    """What statements read of some names before it is bound; what any of several branches binds counts as bound."""
    found: set[str] = set()
    for statement in block:
        inner = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
        within = {id(node) for part in inner for one in part for node in ast.walk(one)}
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and id(n) not in within]
        own = _own_names(statement) if any(isinstance(n, ast.comprehension) for n in ast.walk(statement)) else set()
        found |= {n.id for n in names if isinstance(n.ctx, ast.Load)} & stored - bound - own - _summed(statement)
        bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
        before = set(bound)
        for part in inner:
            branch = set(before)
            found |= _read_first(part, stored, branch)
            bound |= branch
    return found


def _own_names(statement: ast.stmt) -> set[str]:
    """What the comprehensions of a statement call their elements: names of their own."""
    loops = [node for node in ast.walk(statement) if isinstance(node, ast.comprehension)]
    return {name.id for loop in loops for name in ast.walk(loop.target) if isinstance(name, ast.Name)}


def _summed(statement: ast.stmt) -> set[str]:
    """The name of `total = total + x`, `total = x + y + total`, `rows = torch.cat((rows, x))`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, added = statement.targets[0], _joined(statement.value) or list(addends(statement.value))
        if isinstance(target, ast.Name) and len(added) > 1:
            inside = {name for one in added if not isinstance(one, ast.Name) for name in names_in(one)}
            return {target.id} & {one.id for one in added if isinstance(one, ast.Name)} - inside
    return set()


def _joined(node: ast.expr) -> list[ast.expr]:
    """What `torch.cat((rows, x))` puts behind each other, as a list would."""
    if not isinstance(node, ast.Call) or last(node.func) not in _GROWS or not node.args:
        return []
    return node.args[0].elts if isinstance(node.args[0], ast.Tuple | ast.List) else []


def _written(node: ast.AST) -> ast.Subscript | None:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target if isinstance(target, ast.Subscript) else None


def _places(site: Site, written: ast.Subscript) -> list[ast.expr]:
    """By what a statement says where to write in a tensor: `kept[i]` of `mask[i, kept[i]] = 0`, `row` of `x[row[0], row[1]] = 0`."""
    parts = [one for one in indices(written.slice) if isinstance(one, ast.Name | ast.Subscript)]
    rows = [one.value for one in parts if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant)]
    return [*parts, *rows] if parts and _is_device_tensor(site, written.value) else []


def _may_be_placed_at_once(loop: ast.For, nodes: list[ast.AST], placed: list[ast.Subscript]) -> bool:
    """Whether no turn reads what another has written, and no write takes what its turn has made by itself."""
    made = _bound_in(loop.body)
    if any(
        _written(node) is not None and names_in(node.value) & made for node in nodes if isinstance(node, ast.Assign)
    ):
        return False
    return not any(_reads(nodes, ast.unparse(one.value)) for one in placed)


def _bound_in(block: list[ast.stmt]) -> set[str]:
    """The names that statements bind."""
    parts = (part for one in block for part in ast.walk(one) if isinstance(part, ast.Name))
    return {part.id for part in parts if isinstance(part.ctx, ast.Store)}


def _reads(nodes: list[ast.AST], written: str) -> bool:
    """Whether something reads what is written to: by itself, or a part of it."""
    stores = [node.value for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    parts = (node for node in nodes if isinstance(node, ast.Name | ast.Attribute) and node not in stores)
    return any(isinstance(node.ctx, ast.Load) and ast.unparse(node) == written for node in parts)


def _sides(comparison: ast.Compare) -> list[ast.expr]:
    return [comparison.left, *comparison.comparators]


def _picks(site: Site, index: ast.expr) -> bool:
    """Whether elements are picked by the numbers of a tensor, `x[i, places]`: as many of each row, which a mask may not give."""
    value = site.value(index)
    return value.kind == "tensor" and value.integer


def _are_kinds(flow: Flow, loop: ast.For) -> bool:
    """Whether a loop goes through the kinds that there are, of which each is written for by itself: `for label in torch.unique(labels)`."""
    given = [loop.iter, *(loop.iter.args if isinstance(loop.iter, ast.Call) else ())]
    return any(_is_found(flow, one, set(), _KINDS) for one in given)


def _operands(site: Site, node: ast.AST) -> list[ast.expr]:
    """What an operator, a comparison, a method of a tensor, an index by a tensor or a function of torch computes with."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        # `found[i] == right[i]`; `labels == label` asks who belongs to a class, and classes have sizes of their own.
        sides = _sides(node)
        asked = any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        return [] if asked or not all(isinstance(side, ast.Subscript) for side in sides) else sides
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        return [node.value]  # `rewards[i, start:] += scores[i]`
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return [node.value] if site.value(node.targets[0].value).is_tensor else []  # `losses[n] = loss[i]`
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name | ast.Subscript):
        if site.value(node.value).kind == "ndarray":
            return [node.slice]  # waits for the device
        return [node.value] if site.value(node.slice).is_tensor else []
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        masks: list[ast.expr] = [
            one for one in node.slice.elts if isinstance(one, ast.Subscript) and _is_mask(site.value(one))
        ]
        return [*masks, node] if any(_picks(site, one) for one in node.slice.elts[1:]) else masks
    if not isinstance(node, ast.Call):
        return []
    if isinstance(node.func, ast.Attribute) and node.func.attr not in _TAKES and site.resolve(node.func) is None:
        owner = [node.func.value]
    else:
        owner = []
    computed = (site.resolve(node.func) or "").startswith("torch.") or site.value(node).is_tensor
    given = node.args if computed else []
    parts = [
        part for one in given if isinstance(one, ast.List | ast.Tuple) for part in one.elts
    ]  # `torch.cat([row, x])`
    return [*owner, *given, *parts]
