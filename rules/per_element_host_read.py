from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import common_names, element_reads, frequency, host_needs, logging_calls, type_tested
from torchlint.facts import host_reads as reads
from torchlint.facts.consumers import parts_given
from torchlint.facts.flow import Loop
from torchlint.facts.names import last
from torchlint.facts.values import LIKELY
from torchlint.rule import Finding, Severity, Site, rule

_CASTS = frozenset(("int", "float", "bool"))
_PACKERS = frozenset(("pack_padded_sequence",))


@rule(
    "TL105",
    shape=[
        *("$x.item(...)", "$x.tolist()", "float(...)", "int(...)", "bool(...)", "list(...)"),
        *(f"{name}(...)" for name in (*(f"math.{one}" for one in reads.MATH), *reads.READERS)),
        "map($cast, $x)",
        "for $row in $rows: ...",
    ],
    fix="unsafe",
    numbers="exact",
    impact="high",
    category="sync",
    principle=("vectorisation", "batching", "async"),
    confirmed_by=("sync", "d2h"),
)
def per_element_host_read(site: Site) -> Iterator[Finding]:
    """Device tensors are read back one by one where one read would do.

    ## What it does

    Finds `.item()`, `float(t)`, `int(t)`, `bool(t)` and `math.sqrt(t)` of device tensors that are repeated for each element: in a
    comprehension, by `map(int, t)`, or in an inner loop over a tensor, a list of tensors or the parameters of a model; in step loops,
    in what they call, and (`.item()` only, as `info`) in evaluation and generation loops, and elsewhere in loops
    over a tensor that is proven to be on the device, or that count its elements (`for i in range(n): sizes[i].item()`); there `.tolist()` of each row counts, too, where the loop does nothing else. So does `list(lengths)` of a device tensor that `pack_padded_sequence` is given.
    Loops whose turns need their element of a device tensor as a number without saying so are found as well, and in what a `forward` does
    (as `info`): as an index (`x[i]` of `for i in scores.argsort()`, `names[i]`), a bound (`x[start : start + n]`), in `range(n)`, or in a test (`if n > 0:`).

    ## Why is this slow?

    Each read is a copy and a wait of its own (tens of microseconds at least), one behind the other. A read of all
    elements at once waits once.

    ## When it does not matter

    At start-up (drop-path rates from `torch.linspace`), behind a condition that holds once in many steps, and for
    tensors in host memory: none of these is reported. Two or three elements a step cost little more than one.

    ## Bad

    ```python
    for images in loader:
        losses = criterion(model(images.to(device)), reduction="none")
        losses.mean().backward()
        optimizer.step()
        history.append([loss.item() for loss in losses])  # TL105
    ```

    ## Good

    ```python
    for images in loader:
        losses = criterion(model(images.to(device)), reduction="none")
        losses.mean().backward()
        optimizer.step()
        kept.append(losses.detach())
    history = torch.stack(kept).tolist()  # ok
    ```

    `X.tolist()` gives the elements of a one-dimensional tensor in one read, `torch.stack(list_of_scalars).tolist()`
    those of several. A total norm of gradients is `torch.nn.utils.get_total_norm(grads)` (2.6 and later).

    ## Fix safety

    `[x.item() for x in X]` becomes `X.flatten().tolist()`, as rows may be of one element each. It is unsafe, since rows of
    several elements, and a tensor that has no rows, no longer raise.

    ## References

    - <https://docs.pytorch.org/docs/stable/generated/torch.Tensor.tolist.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.get_total_norm.html>
    """
    if isinstance(site.target, ast.For):
        yield from _taken_as_numbers(site, site.target)
        return
    if site.name == "list()":
        yield from _packed(site, site.call)
        return
    if site.name == ".tolist()":
        yield from _row_by_row(site)
        return
    if site.name == "map()":
        yield from _mapped(site)
        return
    repeated = reads.per_element(site, site.call) or _by_number(site)
    tensor = reads.scalar_read(site, site.call) if repeated is not None else None
    if tensor is None or logging_calls.is_logged(site, site.call) or site.role == "test":
        return
    if type_tested.is_of_rest(site.function, site.call):
        return  # told where it is given
    often = frequency.severity(site)
    level = often or _anywhere(site, tensor)
    if level is None or host_needs.for_environment(site, site.call):
        return
    if site.call not in reads.told_reads(site, site.statement):
        return
    loop = "iteration of the inner loop" if often is not None else "iteration of this loop"
    what = loop if isinstance(repeated, ast.For) else "element of this comprehension"
    message = f"`{site.short()}` waits for the device once for each {what}: read them all at once"
    yield site.finding(message, severity=level, related=site.why_hot())


def _taken_as_numbers(site: Site, loop: ast.For) -> Iterator[Finding]:
    """`for i in order: total += scores[i]`: each turn reads its element; `for i in order.tolist():` reads all at once."""
    if site.role in ("test", "benchmark") or site.in_compiled or not site.may_have_accelerator:
        return
    whole = element_reads.read_by_turns(site, loop)
    if whole is None or not site.accelerator or host_needs.chooses_action(site):
        return
    level = frequency.severity(site)
    if level is None and (site.rare or not frequency.in_forward(site)):
        return
    often = frequency.how_often(site) if level is not None else frequency.of_calls(site)
    message = f"each turn of this loop reads its element of `{site.short(whole)}` from the device {often}: one `tolist()` in front of it reads all"
    yield site.finding(message, severity=level or "info", related=site.why_hot())


def _packed(site: Site, made: ast.Call) -> Iterator[Finding]:
    """`lengths = list(mask.sum(1))` for `pack_padded_sequence`, which makes a number of each element by itself."""
    if len(made.args) != 1 or not site.source.holds(common_names.PACKS) or not site.consumed_by(_PACKERS, made):
        return
    if site.role == "test" or site.rare or not frequency.repeated(site):
        return
    if reads.is_on_device(site, made.args[0], LIKELY):
        often = frequency.of_calls(site) if frequency.severity(site) is None else frequency.how_often(site)
        message = f"Packing waits for the device once for each element of `{site.short(made)}` {often}: `tolist()` reads them all at once"
        yield site.finding(message, severity=frequency.severity(site) or "info", related=site.why_hot())


def _row_by_row(site: Site) -> Iterator[Finding]:
    """`[row.tolist() for row in scores]`, or a loop that appends nothing else, outside of steps: `scores.tolist()` gives the same rows."""
    row, around = site.part("x"), _only_lists(site)
    if around is None or not isinstance(row, ast.Name) or site.role == "test" or site.rare:
        return
    whole = dict(parts_given(around.target, around.iter)).get(row.id)
    if whole is None or frequency.severity(site) is not None:  # in a loop that runs a model it is told as a copy
        return
    if site.value(whole).device == "accelerator" and reads.is_on_device(site, whole):
        what = "iteration of this loop" if isinstance(around, ast.For) else "element of this comprehension"
        message = f"`{site.short()}` waits for the device once for each {what}: read them all at once"
        yield site.finding(message, severity="info")


def _mapped(site: Site) -> Iterator[Finding]:
    """`list(map(int, lengths))`: a read for each element, where `tolist()` is one for all."""
    cast, read = site.part("cast"), site.part("x")
    level = frequency.severity(site)
    if (
        site.resolve(cast) not in _CASTS
        or level is None
        or site.role == "test"
        or logging_calls.is_logged(site, site.call)
    ):
        return
    if reads.is_on_device(site, read) and site.value(read).is_tensor:
        message = f"`{site.short()}` waits for the device once for each element: read them all at once"
        yield site.finding(message, severity=level, related=site.why_hot())


def _only_lists(site: Site) -> ast.For | ast.comprehension | None:
    """The loop or comprehension that makes lists of rows and does nothing else; of several reads the first one has it."""
    comprehension = site.flow.comprehension(site.call)
    loop = site.loop()
    around: ast.For | ast.comprehension | None = None
    made: ast.expr | None = None
    if isinstance(comprehension, ast.ListComp) and len(comprehension.generators) == 1:
        around, made = comprehension.generators[0], comprehension.elt
        if around.ifs:
            return None
    elif comprehension is None and isinstance(loop, ast.For):
        match loop.body:
            case [ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[made]))]:
                around = loop
    parts = made.elts if isinstance(made, ast.Tuple) else [made]
    if parts[0] is not site.target:
        return None
    lists = (isinstance(one, ast.Call) and last(one.func) == "tolist" for one in parts)
    return around if all(lists) else None


def _anywhere(site: Site, tensor: ast.expr) -> Severity | None:
    """Once is enough where the tensor is proven to be on the device and is as long as it likes; not on some steps of many."""
    loops = site.flow.loops(site.target)
    if any(site.analysis.steps.is_step_loop(site.function, loop) for loop in loops):
        return None
    proven = site.value(tensor).device == "accelerator" and site.name == ".item()"
    loop = site.loop()
    told = proven and loop is not None and not _is_over_fields(loop) and not frequency.shows(site.function)
    return "info" if told and not site.rare else None


def _by_number(site: Site) -> ast.For | None:
    """The loop that reads the elements of a tensor of the device by their number, elsewhere than on steps: `for i in range(n): counts[kinds[i].item()] += 1`."""
    loop = next(iter(site.flow.loops(site.target)), None)
    if site.name != ".item()" or not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return None
    element = site.part("x")
    if not isinstance(element, ast.Subscript) or not isinstance(element.slice, ast.Name):
        return None
    if element.slice.id != loop.target.id or not _is_counted(site, loop.iter) or frequency.severity(site) is not None:
        return None
    whole = element.value
    changed = isinstance(whole, ast.Name) and bool(site.flow.stores_within(whole.id, loop))
    return loop if not changed and site.value(whole).is_tensor else None


def _is_counted(site: Site, iterated: ast.expr) -> bool:
    """`range(n)`, of which nobody writes out how long it is."""
    if not isinstance(iterated, ast.Call) or site.resolve(iterated.func) != "range":
        return False
    return not all(isinstance(bound, ast.Constant) for bound in iterated.args)


def _is_over_fields(loop: Loop) -> bool:
    """`for name, loss in losses.items()`: the few that a dictionary names."""
    called = loop.iter.func if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in ("items", "values")
