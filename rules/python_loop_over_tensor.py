from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import frequency, loop_rows, row_turns, runs, syntax, turn_parts, turns
from torchlint.facts.flow import Flow, contains
from torchlint.facts.layers import is_criterion
from torchlint.facts.module import BODIES
from torchlint.facts.names import last
from torchlint.facts.nodes import bound_names, indices, names_in, steps
from torchlint.facts.uses import meant
from torchlint.facts.values import Value
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex
from torchlint.torch_api.operators import operator

# Methods that compute nothing, or take the row to the host.
_TAKES = frozenset("item tolist cpu numpy size dim numel detach clone data_ptr to cuda unbind view".split())

_FILLS = frozenset(("append", "extend"))
_BUILTINS = frozenset(("float", "int", "len", "range", "list", "tuple"))
_KINDS = frozenset(("unique", "unique_consecutive"))
_READS = frozenset(("item", "tolist", "float", "int", "bool", "cpu", "numpy"))
_SIZED = frozenset(
    f"torch.{name}" for name in "ones zeros empty full eye arange linspace logspace rand randn randint randperm".split()
)
"""What makes as many elements as it is told: rows have lengths of their own."""


_SAVES_MEMORY = regex(
    rb"#[^\n#]{0,200}\b(?:(?:reduc|sav|limit|lower|conserv|avoid)\w{0,12}\b[^\n#]{0,100}\b(?:memory|mem|vram|oom)\b"
    rb"|(?:memory|vram)[ -](?:saving|efficien\w{1,12}|friendly))",
    re.IGNORECASE,
)
"""A comment that gives memory as the reason."""
_JOINS = ("stack", "cat")
_OF_SAMPLES = regex(r"collate|^__getitems?__$")
"""What functions are called that a loader calls for each sample, or each batch."""


@rule(
    "TL707",
    shape=[
        "for $row in $rows: ...",
        "[$made for $row in $rows]",
        "sum($added)",
        "$x.apply_($called)",
        *(f"torch.{name}(...)" for name in _JOINS),
    ],
    severity="info",
    impact="high",
    category="kernel",
    principle=("vectorisation",),
    silenced_by=("TL305",),
)
def python_loop_over_tensor(site: Site) -> Iterator[Finding]:
    """Python goes through the rows of a tensor and computes with each.

    ## What it does

    In step loops, in evaluation loops, in what these call, and in what a `forward` does, finds

    - `for row in x` over a tensor, by `enumerate`, `reversed`, `unbind`, `split(1)` and `zip` of tensors too
      (`zip(*x.topk(5))`), whose rows may be unpacked (`for *box, score in x`), and `for i in range(len(x))` with `x[i]` or
      `x[i : i + 1]` in its body, where the body computes with the row, writes it into another tensor
      (`losses[n] = loss[i]`) or writes where it says (`mask[i, kept[i]] = 0`);
    - rows that are picked one by one, `torch.stack([x[i] for i in rows])`, `[x[:, index[i]] for i in range(n)]`, windows of
      one size, `[x[i : i + 8] for i in range(n)]`, and rows that are made so, `torch.stack([start + i * step for i in range(n)])`;
    - a tensor that is filled part by part: by a number and another tensor (`for i in range(n): out[:, i] = x * (i + 1)`), by
      places of others (`for i, k in enumerate(modes): out[:, i] = x[:, k]`), by a number up to lengths
      (`for i, n in enumerate(lengths): mask[i, :n] = 1`), or that is changed place by place
      (`for token in set(tokens): logits[0, token] /= penalty`);
    - any other loop over the rows of a tensor, and lists that are made so (`[z.repeat(n, 1) for z in rows]`,
      `[combine(a, b) for a, b in zip(x, y)]`), whose turns launch kernels for their rows, each by itself, with nothing but
      torch and functions of the project that give tensors;
    - the builtin `sum` of a tensor, and `x.apply_(function)`, which calls Python for each element of a tensor on the host,
      also in what a loader calls for each sample or batch.

    With `--preview` also loops in which other functions are given the rows, chance decides what is done with them, or
    dictionaries are made of them; loops over the kinds that there are, whose turns ask what is of theirs
    (`for kind in labels.unique(): x[labels == kind]`); and those whose turns take or fill parts of tensors by their numbers, however long each is
    (`for b in range(n): x[b, lengths[b] :] = fill`), unless the numbers are named as those of layers, levels or dimensions are.

    ## Why is this slow?

    Each turn launches its own kernels on a small piece, one after the other, while the device could do all rows at once.

    ## When it does not matter

    For a few rows, such as the levels of a pyramid; for recurrences, whose step needs the one before, and for what has a size of its own for each row
    (`row.nonzero()`, `F.interpolate(x, size=(h, w))` for each `h`), which are not reported; for a backward pass, or a model, of each row; where a comment at the loop says that it saves memory; and on the host.

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
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.apply_.html
    """
    if isinstance(site.target, ast.Call):
        tells = {"sum()": _added, ".apply_()": _applied}.get(site.name, _gathered)
        yield from tells(site)
        return
    if isinstance(site.target, ast.ListComp):
        yield from _listed(site, site.target)
        return
    assert isinstance(site.target, ast.For)
    loop = site.target
    if site.in_compiled or not site.accelerator or site.role == "test" or turn_parts.goes_through_levels(loop):
        return
    if _is_to_save_memory(site, loop):
        return
    changed = loop_rows.changed_by_element(site, loop)
    if changed is not None and not runs.counts_few(site.function, loop):
        often = _often(site)
        if often:
            text = f"`for {site.short(loop.target)} in {site.short(loop.iter)}` changes `{site.short(changed)}` place by place {often}: an index of all the places does it at once"
            yield site.finding(text, related=site.why_hot())
        return
    if not site.settings.preview and row_turns.draws_lots(site, loop):
        return
    if site.settings.preview and row_turns.goes_through_kinds(site, loop):
        yield from _told(site, loop)
        return
    rows = loop_rows.rows(site, loop) if _is_plain(loop) else []
    by_number = not rows and loop_rows.fills_by_number(site, loop) and not runs.counts_few(site.function, loop)
    if (
        by_number
        or (not rows and loop_rows.fills_by_places(site, loop))
        or loop_rows.fills_by_lengths(site, loop)
        or (not rows and site.settings.preview and turn_parts.takes_parts(site, loop))
    ):
        yield from _told(site, loop)
        return
    if (
        not rows
        or _differentiates(site.flow, loop)
        or not _computes(site, loop, rows)
        or not (site.settings.preview or _is_alike(site, loop))
    ):
        if row_turns.loop_launches_by_row(site, loop, alike=not site.settings.preview):
            yield from _told(site, loop)
        return
    if not _is_ragged(site, loop):
        yield from _told(site, loop)


def _is_to_save_memory(site: Site, loop: ast.For) -> bool:
    """Whether a comment at the head of a loop, or right above it, says that it saves memory: `for row in logits:  # loop to reduce peak memory`."""
    if not site.source.holds(_SAVES_MEMORY):
        return False
    source = site.module.text_of(loop)
    head = source.span(loop.lineno, max(loop.lineno, loop.body[0].lineno - 1))
    if _SAVES_MEMORY.search(source.data, *head):
        return True
    start, end = source.span(max(loop.lineno - 1, 1), loop.lineno - 1)
    above = source.data[start:end].lstrip()
    return above.startswith(b"#") and _SAVES_MEMORY.search(above) is not None


def _told(site: Site, loop: ast.For) -> Iterator[Finding]:
    often = _often(site)
    if often:
        text = f"`for {site.short(loop.target)} in {site.short(loop.iter)}` launches kernels for each row by itself {often}"
        yield site.finding(text, related=site.why_hot())


def _listed(site: Site, made: ast.ListComp) -> Iterator[Finding]:
    """`[z.repeat(n, 1) for z in rows]`; the reads of `[z.item() for z in rows]` are told as such."""
    if last(getattr(made.elt, "func", made.elt)) in _READS or loop_rows.makes_by_number(site, made):
        return
    if row_turns.list_launches_by_row(site, made, alike=not site.settings.preview):
        often = _often_on_device(site)
        if often:
            text = f"`{site.short(made)}` launches kernels for each row by itself {often}"
            yield site.finding(text, related=site.why_hot())


def _added(site: Site) -> Iterator[Finding]:
    """`sum(x)` of a tensor: the builtin goes through its rows and adds one after the other."""
    added = site.part("added")
    if site.value(added).other_kinds:
        return
    often = _often_on_device(site, added)
    if often:
        text = f"the builtin `{site.short()}` launches a kernel for each row by itself {often}: `{site.short(added)}.sum(0)` is one"
        yield site.finding(text, related=site.why_hot())


def _applied(site: Site) -> Iterator[Finding]:
    """`labels.apply_(lambda n: table[n])`: "should not be used in code sections that require high performance", says its page."""
    if site.role == "test" or site.rare or site.receiver.kind not in ("tensor", "unknown"):
        return
    if _often(site) or site.loop() or _OF_SAMPLES.search(site.function.name):
        text = f"`{site.short()}` calls a function of Python for each element; an operation on the tensor, or an index of a table, takes all at once"
        yield site.finding(text, related=site.why_hot())


def _gathered(site: Site) -> Iterator[Finding]:
    """`torch.stack([x[i] for i in rows])`: a kernel for each row that is picked, and one that joins them."""
    made = meant(site.function, site.call.args[0]) if site.call.args else None
    if not isinstance(made, ast.ListComp | ast.GeneratorExp) or len(made.generators) != 1 or made.generators[0].ifs:
        return
    if loop_rows.makes_by_number(site, made):
        often = _often_on_device(site)
        if often:
            text = f"`{site.short(made)}` launches kernels for each number by itself {often}: one product with `torch.arange` makes them all"
            yield site.finding(text, related=site.why_hot())
        return
    window = _window(made) if site.name == "torch.stack()" else None
    if window is not None:
        often = _often_on_device(site, window.value)
        if often:
            text = f"`{site.short(made)}` takes each window by itself {often}: `unfold` gives a view of all"
            yield site.finding(text, related=site.why_hot())
        return
    picked = _picked(site, made)
    if picked is not None:
        often = _often_on_device(site, picked)
        if often:
            text = f"`{site.short(made)}` launches a kernel for each row by itself {often}: one index picks them all"
            yield site.finding(text, related=site.why_hot())
    elif site.settings.preview and turn_parts.made_of_parts(site, made):
        often = _often_on_device(site)
        if often:
            yield site.finding(
                f"`{site.short(made)}` launches kernels for each row by itself {often}", related=site.why_hot()
            )


def _picked(site: Site, made: ast.ListComp | ast.GeneratorExp) -> ast.expr | None:
    """The `x` of `[x[i] for i in rows]`, and of `[x[:, index[i]] for i in range(n)]`."""
    by, picked = made.generators[0].target, made.elt
    if not isinstance(by, ast.Name) or not isinstance(picked, ast.Subscript):
        return None
    places = indices(picked.slice)
    alone = [one for one in places if _is_place(site, one, by.id)]
    rest = [one for one in places if one not in alone]
    if len(alone) != 1 or not all(isinstance(one, ast.Slice) and not names_in(one) for one in rest):
        return None
    if not _are_places(site, made.generators[0].iter) or by.id in names_in(picked.value):
        return None
    return picked.value


def _window(made: ast.ListComp | ast.GeneratorExp) -> ast.Subscript | None:
    """The window of `[x[i : i + size] for i in range(n)]`, of one size for all; a number that stands there is a small one."""
    match made.elt, made.generators[0]:
        case (
            ast.Subscript(
                value=ast.Name() | ast.Attribute(),
                slice=ast.Slice(lower=ast.Name(id=begin), upper=ast.BinOp(op=ast.Add()) as end, step=None),
            ) as window,
            ast.comprehension(target=ast.Name(id=turn), iter=ast.Call(func=ast.Name(id="range"), args=counted)),
        ) if begin == turn and not all(isinstance(one, ast.Constant) for one in counted):
            terms = [one.id for one in ast.walk(end) if isinstance(one, ast.Name)]
            is_sum = all(isinstance(one.op, ast.Add) for one in ast.walk(end) if isinstance(one, ast.BinOp))
            return window if is_sum and terms.count(turn) == 1 else None
    return None


def _is_place(site: Site, index: ast.expr, turn: str) -> bool:
    """`i` of the turn, or `index[i]` of a tensor of places, which is read for that."""
    if isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Name):
        return index.slice.id == turn and loop_rows.is_device_tensor(site, index.value)
    return isinstance(index, ast.Name) and index.id == turn


def _are_places(site: Site, given: ast.expr) -> bool:
    """Whether numbers are gone through, by which rows are picked; words are keys of a dictionary."""
    value = site.value(given)
    element = value.element
    by_number = element is not None and element.kind == "number" and not element.other_kinds
    return by_number or value.is_tensor or syntax.is_counted(site.resolve, given, ())


def _often_on_device(site: Site, tensor: ast.expr | None = None) -> str:
    """When kernels are launched again and again, for a tensor of the device where one is given; "" in tests and in what is compiled."""
    if site.in_compiled or site.role == "test" or not site.accelerator:
        return ""
    return _often(site) if tensor is None or loop_rows.is_device_tensor(site, tensor) else ""


def _often(site: Site) -> str:
    """When the loop runs again and again; "" where it may run once."""
    if site.hot is not None:
        return "on every step"
    if site.rare:
        return ""
    if site.warm is not None or site.warm_caller is not None:
        return frequency.how_often(site)
    return frequency.in_passes(site) if frequency.in_forward(site) else ""


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


def _differentiates(flow: Flow, loop: ast.For) -> bool:
    """Whether each turn runs a backward pass: one over all rows keeps the graphs of all, and adds up their gradients."""
    return any(contains(loop, call) for call in flow.calls_named("backward"))


def _is_mask(index: Value) -> bool:
    return index.kind == "tensor" and index.boolean


def _is_alike(site: Site, loop: ast.For) -> bool:
    """Whether torch alone computes with the rows, and with all elements of each: one operation over all rows does the same."""
    targets = bound_names(loop.target)
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    bound = targets | turns.bound_in(loop.body)
    for node in inside:
        if isinstance(node, ast.Lambda):
            return False
        if isinstance(node, ast.If | ast.IfExp) and not bound.isdisjoint(names_in(node.test)):
            return False  # what is the same in all turns chooses the same for all: `if self.weighted:`
        if isinstance(node, ast.Slice) and any(_is_of(bound, targets) for bound in (node.lower, node.upper)):
            return False  # `x[i, : lengths[i]]`: each row has a length of its own
        if isinstance(node, ast.Subscript) and _is_mask(site.value(node.slice)):
            return False
        if isinstance(node, ast.Call):
            name = site.resolve(node.func)
            parts = chain(node.func) or ["", getattr(node.func, "attr", "")]
            known = name in _BUILTINS or name.startswith("torch.") if name else _is_method(parts)
            known = known or is_criterion(site.value(node.func))
            if (
                not known
                or parts[-1] in row_turns.FOUND
                or (name in _SIZED and any(_is_of(size, targets) for size in node.args))
            ):
                return False
    return True


def _is_ragged(site: Site, loop: ast.For) -> bool:
    """Whether a turn takes `kept[i]` of a list, each as long as `nonzero()` found elements for it: rows of that can't be joined."""
    by, lists = bound_names(loop.target), site.once(("ragged lists", site.function), lambda: _ragged_lists(site.flow))
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


def _is_found(flow: Flow, value: ast.expr, seen: set[str], by: frozenset[str] = row_turns.FOUND) -> bool:
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
    return computed and not turns.left_for_next(loop)


def _places_rows(site: Site, loop: ast.For, rows: list[str], nodes: list[ast.AST]) -> bool:
    """Whether the rows tell where to write in another tensor: one index writes all of it."""
    if isinstance(loop.target, ast.Tuple) and site.resolve(getattr(loop.iter, "func", loop.iter)) != "enumerate":
        return False  # pairs, as lists hold them
    written = (target for node in nodes if (target := _written(node)) is not None)
    placed = [one for one in written if any(ast.unparse(part) in rows for part in _places(site, one))]
    return bool(placed) and not _are_kinds(site.flow, loop) and _may_be_placed_at_once(loop, nodes, placed)


def _written(node: ast.AST) -> ast.Subscript | None:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target if isinstance(target, ast.Subscript) else None


def _places(site: Site, written: ast.Subscript) -> list[ast.expr]:
    """By what a statement says where to write in a tensor: `kept[i]` of `mask[i, kept[i]] = 0`, `row` of `x[row[0], row[1]] = 0`."""
    parts = [one for one in indices(written.slice) if isinstance(one, ast.Name | ast.Subscript)]
    rows = [one.value for one in parts if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant)]
    return [*parts, *rows] if parts and loop_rows.is_device_tensor(site, written.value) else []


def _may_be_placed_at_once(loop: ast.For, nodes: list[ast.AST], placed: list[ast.Subscript]) -> bool:
    """Whether no turn reads what another has written, and no write takes what its turn has made by itself."""
    made = turns.bound_in(loop.body)
    if any(
        _written(node) is not None and names_in(node.value) & made for node in nodes if isinstance(node, ast.Assign)
    ):
        return False
    return not any(_reads(nodes, ast.unparse(one.value)) for one in placed)


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
