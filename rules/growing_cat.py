from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import carried, frequency, longer, syntax
from torchlint.facts.flow import Loop, contains
from torchlint.facts.guards import RARE
from torchlint.facts.nodes import number
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_JOINS = ("cat", "concat", "concatenate", "vstack", "hstack")
_ALL_JOINS = (*_JOINS, "stack")
"""What joins the elements of a list, too."""
_TOKENS = regex(
    r"(?:^|_)(?:id|ids|idx|ix|indices|tok|tokens?|tokenized|words?|sequences?|seqs?|ys|masks?|output_so_far)(?:_|$)"
)
"""What token ids and their masks are called: a few bytes for each iteration of a model."""


@rule(
    "TL306",
    shape=[
        shape
        for name in _JOINS
        for shape in (
            f"$grown = torch.{name}(tensors := $parts, ...)",
            f"$grown = ($here := torch.{name}(tensors := $parts, ...)).detach()",
            f"$grown = $first if $test else torch.{name}(tensors := $parts, ...)",
            f"$grown = torch.{name}(tensors := $parts, ...) if $later else $first",
        )
    ]
    + [f"torch.{name}(tensors := $parts, ...)" for name in _ALL_JOINS],
    severity="info",
    fix="suggestion",
    impact="medium",
    category="compile",
    confirmed_by=("operator:cat",),
)
def growing_cat(site: Site) -> Iterator[Finding]:
    """A tensor grows by torch.cat in a loop.

    ## What it does
    Finds `x = torch.cat([x, new])` in a loop where `x` comes from before the loop, or from its first iteration (`if i == 0: x = new`, `if first: x = new`, `x = torch.cat([x, new]) if i else new`), and nothing else in the loop sets it,
    an entry of a dictionary that the loop keeps (`kept["loss"] = torch.cat([kept["loss"], new])`, for each key in a loop of its own as well),
    and `self.x = torch.cat([self.x, new])` on each step, in the forward of a module or in what one calls (`cache.append(k, v)`), or `kept[layer] = torch.cat([kept[layer], new])` in a forward hook, where each call adds to what is kept.
    A parameter that a function makes longer and gives back counts where a loop calls it by `x = longer(x)`.
    So does all that a list has gathered, where the loop that adds to it joins it on each iteration: `kept.append(h)`, then `torch.cat(kept)` or `torch.stack(kept)`.
    By default it is told where the loop trains a model or runs one, outside of a module's forward, and for what is kept
    from call to call; what such a loop collects on the host counts, too. With `--preview` it is told in all loops, those of a forward over its own parts among them, and
    for token ids and their masks, too.

    ## Why is this slow?
    Each iteration copies all that was collected before: n iterations copy in the order of n² rows.
    Each iteration also has another shape, so the allocator finds no block to use again, CUDA graphs can't be replayed, and compiled code sees a dynamic shape or is compiled again.

    ## When it does not matter
    A loop of a few iterations, tensors on the host in a loop that runs no model, and a sequence of a few token ids, unless the model that reads them is compiled.
    Joining two tensors that are made anew in each iteration is no growth.

    ## Bad
    ```python
    def predict(model: torch.nn.Module, loader: torch.utils.data.DataLoader) -> torch.Tensor:
        seen = torch.empty(0, device="cuda")
        for images in loader:
            seen = torch.cat([seen, model(images.cuda())])  # TL306
        return seen
    ```

    ## Good
    Keep the parts and join them once, or write into a tensor of the whole length.

    ```python
    def predict(model: torch.nn.Module, loader: torch.utils.data.DataLoader) -> torch.Tensor:
        seen = []
        for images in loader:
            seen.append(model(images.cuda()))
        return torch.cat(seen)  # ok

    def generate(model: torch.nn.Module, ids: torch.Tensor, steps: int) -> torch.Tensor:
        start = ids.shape[1]
        out = ids.new_empty(ids.shape[0], start + steps)
        out[:, :start] = ids
        for step in range(start, start + steps):
            out[:, step] = model(out[:, step - 1 : step]).argmax(-1)[:, -1]  # ok
        return out
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.cat.html
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
    """
    # What a place is worth takes longer to tell than whether it grows.
    yield from (finding for finding in _grown(site) if site.settings.preview or _matters(site, site.loop()))


def _grown(site: Site) -> Iterator[Finding]:
    if "grown" not in site.match.caught:
        yield from _given_back(site)
        yield from _joined_anew(site)
        return
    loop, grown = site.loop(), site.part("grown")
    later = site.match.caught.get("later")
    if isinstance(later, ast.expr) and not carried.goes_on(later, grown, loop):
        return
    if loop is None:
        later = _kept_later(site, grown) if isinstance(grown, ast.Name) else None
        if isinstance(grown, ast.Name) and later is None:
            yield from _handed_back(site)
        else:
            yield from _across_calls(site, later)
        return
    whole = ast.unparse(grown)
    counted = carried.counted(site, grown) if isinstance(grown, ast.Subscript) else loop
    joined = [ast.unparse(part) for part in _parts(site)]
    # What is doubled, `torch.cat((x, x))`, is as large at its end as all that was copied.
    if counted is None or whole not in joined or {*joined} == {whole}:
        return
    if site.flow.comprehension(site.call) is not None or carried.short(site, counted):
        return
    on_host = any(site.value(part).on_cpu for part in _parts(site))
    if on_host and not _is_of_batches(site, counted):
        return
    if isinstance(grown, ast.Subscript):
        holder = carried.holder_of(grown)
        kept = holder is not None and carried.stays(site, counted, holder, whole)
    else:
        name = chain(grown)
        kept = name is not None and carried.carried(site, counted, name)
    if kept and not _is_rare(site):
        costs = "all of it on the host" if on_host else "all of it, and has a new shape"
        yield site.finding(f"`{whole}` grows by `{site.short()}`: each iteration copies {costs}.")


def _joined_anew(site: Site) -> Iterator[Finding]:
    """`torch.cat(kept)` in the loop that adds to `kept`, on each of its iterations."""
    given, loop = site.part("parts"), site.loop()
    if not isinstance(given, ast.Name) or loop is None or site.flow.comprehension(site.call) is not None:
        return
    if carried.short(site, loop) or site.role == "test" or not carried.gathers(site, loop, given.id):
        return
    if _is_rare(site) or not frequency.on_most_iterations(site, loop) or _is_last(site, loop):
        return
    element, reader = site.value(given).element, site.flow.parents.get(site.call)
    if isinstance(reader, ast.Call) and site.value(reader.func).kind in ("module", "unknown"):
        return  # next to a model that reads all of it, the copy is little
    if element is not None and element.kind == "tensor" and not element.on_cpu:
        yield site.finding(f"`{site.short()}` copies on each iteration all that `{given.id}` has gathered before.")


def _is_last(site: Site, loop: Loop) -> bool:
    """Whether the block that a place stands in ends the loop: `if done: x = torch.cat(kept); break`."""
    for child, parent in site.flow.around(site.target):
        if child is loop or parent is loop:
            return False
        block = site.flow.block(child) if isinstance(child, ast.stmt) else None
        if block is not None and isinstance(block.statements[-1], ast.Break | ast.Return | ast.Raise):
            return True
    return False


def _is_rare(site: Site) -> bool:
    """Whether few calls come to the place; an evaluation after every fifth epoch goes through all of its batches."""
    if site.warm is None or not site.rare:
        return site.rare
    periodic = any(_is_periodic(guard.test) for guard in site.flow.guards(site.warm))
    return not periodic or site.guarded(site.target, site.warm) in RARE


def _is_periodic(test: ast.expr) -> bool:
    """`epoch % 5 == 0`"""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.BinOp) and isinstance(test.left.op, ast.Mod)


def _is_of_batches(site: Site, loop: Loop) -> bool:
    """Whether a loop runs a model on each iteration: what it collects on the host is as long as a data set."""
    runs_model = site.warm is loop or (site.hot is not None and site.hot.loop is loop)
    return runs_model and not site.in_forward and not _is_small(site)


def _matters(site: Site, loop: Loop | None) -> bool:
    """Whether more than a few bytes are copied, in a loop that trains or runs a model if there is one; all of it counts in compiled code."""
    if site.in_compiled:
        return True
    if _is_small(site):
        return False
    return loop is None or _runs_a_model(site)


def _runs_a_model(site: Site) -> bool:
    """Whether the loop around a place trains a model or runs one, and is no loop of a forward over its own parts."""
    return (site.hot is not None or site.warm is not None) and not site.in_forward


def _is_small(site: Site) -> bool:
    """Whether what is joined is a few bytes for each iteration: token ids, masks, other integers."""
    given = site.part("parts")
    gathered = site.value(given).element if isinstance(given, ast.Name) else None
    if gathered is not None and (gathered.integer or _is_token(given)):
        return True
    return any(site.value(part).integer or _is_token(part) for part in _parts(site))


def _is_token(part: ast.expr) -> bool:
    """Whether an expression speaks of token ids or a mask: `ids`, `next_token.unsqueeze(0)`, `sampled["sampled_token"]`."""
    words = (
        node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else node.value
        for node in ast.walk(part)
        if isinstance(node, ast.Name | ast.Attribute | ast.Constant)
    )
    return any(isinstance(word, str) and _TOKENS.search(word.lower()) for word in words)


def _kept_later(site: Site, grown: ast.Name) -> tuple[ast.expr, ast.expr] | None:
    """What an object keeps of a name that got longer, and where it is set: `key = torch.cat([self.key, key])`, then `self.key = key`.

    Of `self.past = key, value` that is `self.past[0]`. What is cut in between (`key = key[-n:]`) is another one.
    """
    line = site.statement.end_lineno or site.statement.lineno
    for part in _parts(site):
        if not longer.is_kept(site, part):
            continue
        at = part.slice.value if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) else None
        for target in longer.targets(site):
            made = site.flow.parents.get(target)
            given = made.value if isinstance(made, ast.Assign) and made.lineno > line else None
            if type(at) is int and isinstance(part, ast.Subscript) and isinstance(given, ast.Tuple):
                name, given = part.value, given.elts[at] if 0 <= at < len(given.elts) else None
            else:
                name = part
            if not isinstance(given, ast.Name) or given.id != grown.id or ast.unparse(target) != ast.unparse(name):
                continue
            between = (one for one in site.flow.stores.get(grown.id, ()) if line < one.lineno <= given.lineno)
            if next(between, None) is None:
                return part, target
    return None


def _across_calls(site: Site, later: tuple[ast.expr, ast.expr] | None) -> Iterator[Finding]:
    """`self.keys = torch.cat([self.keys, new])` in a forward, or in what a loop calls: what an object keeps grows from call to call.

    `later` is what the object keeps, and where that is set, if the longer one has a name first.
    """
    grown, set_later = later if later is not None else (site.part("grown"), None)
    if not longer.is_kept(site, grown):
        return
    kept = ast.unparse(grown)
    if not any(ast.unparse(part) == kept for part in _parts(site)):
        return
    if any(site.value(part).on_cpu for part in _parts(site)) or site.rare or site.role == "test":
        return
    whole = kept if set_later is None else ast.unparse(set_later)
    others = [
        target
        for target in longer.targets(site)
        if ast.unparse(target) in (kept, whole) and target is not set_later and not contains(site.statement, target)
    ]
    if not all(syntax.exclusive(site.flow, target, site.target) for target in others):
        return  # made anew, or cut, in each call
    dim = site.argument("dim", 1)
    along = number(dim) if dim is not None else int(site.name == "torch.hstack()")
    if longer.is_cut_elsewhere(site, grown, along):
        return
    if (
        site.in_forward
        or site.hot is not None
        or site.warm_caller is not None
        or longer.is_hook(site)
        or longer.is_kept_by_forwards(site, grown)
    ):
        message = f"`{ast.unparse(grown)}` grows by `{site.short()}`: each call copies all of it, and has a new shape."
        yield site.finding(message)


def _handed_back(site: Site) -> Iterator[Finding]:
    """`x = torch.cat([x, new]); return x` of a parameter, where a loop calls that by `x = longer(x)`."""
    grown = site.part("grown")
    assert isinstance(grown, ast.Name)
    name = grown.id
    if name not in site.function.positions or len(site.flow.stores[name]) > 1:
        return
    joined = [chain(part) for part in _parts(site)]
    position = longer.given_back_at(site.function, name)
    if [name] in joined and any(part != [name] for part in joined) and position is not None:
        yield from _grown_by_callers(site, [name], position)


def _given_back(site: Site) -> Iterator[Finding]:
    """`return torch.cat([x, new])` of a parameter, where a loop calls that by `x = longer(x, new)`."""
    if not isinstance(site.flow.parents.get(site.call), ast.Return) or site.loop() is not None:
        return
    if site.name == "torch.stack()":
        return  # of which none gets longer
    parts = [part.id for part in _parts(site) if isinstance(part, ast.Name)]
    given = [name for name in parts if name in site.function.positions and not site.flow.stores.get(name)]
    if len({*parts}) > 1:
        yield from _grown_by_callers(site, given, -1)


def _grown_by_callers(site: Site, given: list[str], position: int) -> Iterator[Finding]:
    """One of some parameters that a function gives back longer, at a place in a tuple (-1: by itself), if a loop gives it that again."""
    if not given or any(site.value(part).on_cpu for part in _parts(site)):
        return
    if site.rare or site.role == "test" or site.in_forward:
        return
    for one in site.callers(site.function):
        again = (it for it in given if longer.grows_there(site.function, one.function, one.call, it, position))
        name = next(again, None)
        if name is not None and _goes_on(site, site.at(one.function, one.call)):
            why = site.related(one.function, one.call, "called on each iteration with what it gave before")
            message = f"`{name}` grows by `{site.short()}`: each iteration copies all of it, and has a new shape."
            yield site.finding(message, related=(why,))
            return


def _goes_on(site: Site, caller: Site) -> bool:
    """Whether the loop around a call has more than a few iterations, and what they copy counts, as where the loop joined by itself."""
    loop = caller.loop()
    if loop is None or carried.short(caller, loop) or _is_rare(caller):
        return False
    return site.settings.preview or site.in_compiled or _runs_a_model(caller)


def _parts(site: Site) -> list[ast.expr]:
    """The tensors that are joined."""
    given = site.part("parts")
    return given.elts if isinstance(given, ast.List | ast.Tuple) else []
