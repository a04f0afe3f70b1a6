from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency, kept_by_objects, syntax
from torchlint.facts.flow import Guard, Loop, contains
from torchlint.facts.guards import RARE
from torchlint.facts.module import Function
from torchlint.facts.nodes import is_constant, names_in, none_test, number
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_JOINS = ("cat", "concat", "concatenate", "vstack", "hstack")
_FEW = 4
"""How many iterations of a loop are too few to matter."""
_EMPTIES = frozenset(("clear", "pop", "popitem", "update", "setdefault"))
"""Methods of a dictionary after which an entry may be another."""
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
    ],
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
    and `self.x = torch.cat([self.x, new])` in the forward of a module or in what one calls (`cache.append(k, v)`), or `kept[layer] = torch.cat([kept[layer], new])` in a forward hook, where each call adds to what is kept.
    A parameter that a function makes longer and gives back counts where a loop calls it by `x = longer(x)`.
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
    loop, grown = site.loop(), site.part("grown")
    later = site.match.caught.get("later")
    if isinstance(later, ast.expr) and not _goes_on(later, grown, loop):
        return
    if loop is None:
        later = _kept_later(site, grown) if isinstance(grown, ast.Name) else None
        if isinstance(grown, ast.Name) and later is None:
            yield from _handed_back(site)
        else:
            yield from _across_calls(site, later)
        return
    whole = ast.unparse(grown)
    counted = _counted(site, grown, loop) if isinstance(grown, ast.Subscript) else loop
    joined = [ast.unparse(part) for part in _parts(site)]
    # What is doubled, `torch.cat((x, x))`, is as large at its end as all that was copied.
    if counted is None or whole not in joined or {*joined} == {whole}:
        return
    if site.flow.comprehension(site.call) is not None or _short(site, counted):
        return
    on_host = any(site.value(part).on_cpu for part in _parts(site))
    if on_host and not _is_of_batches(site, counted):
        return
    if isinstance(grown, ast.Subscript):
        holder = chain(grown.value)
        kept = holder is not None and _stays(site, counted, holder, whole)
    else:
        name = chain(grown)
        kept = name is not None and _carried(site, counted, name)
    if kept and not _is_rare(site):
        costs = "all of it on the host" if on_host else "all of it, and has a new shape"
        yield site.finding(f"`{whole}` grows by `{site.short()}`: each iteration copies {costs}.")


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


def _goes_on(test: ast.expr, grown: ast.expr, loop: Loop | None) -> bool:
    """Whether a condition holds but for the first time: `x is not None` of what grows, `i > 0` of the loop's counter, `i`."""
    asked = none_test(test)
    if asked is not None:
        return not asked[1] and ast.unparse(asked[0]) == ast.unparse(grown)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Gt | ast.GtE | ast.NotEq):
        test = test.left if number(test.comparators[0]) in (0, 1) else test
    return isinstance(test, ast.Name) and isinstance(loop, ast.For) and test.id in names_in(loop.target)


def _counted(site: Site, entry: ast.Subscript, loop: Loop) -> Loop | None:
    """The loop whose iterations add to an entry: of `kept[key]` the one around a loop over keys."""
    key = entry.slice
    if isinstance(key, ast.Name) and isinstance(loop, ast.For) and key.id in names_in(loop.target):
        return next(iter(site.flow.loops(loop)), None)
    return loop if isinstance(key, ast.Constant) else None


def _stays(site: Site, loop: Loop, holder: list[str], whole: str) -> bool:
    """Whether an entry comes from the iteration before: the loop makes neither it nor what holds it anew, but for the first time."""
    prefixes = [holder[:length] for length in range(1, len(holder) + 1)]
    for node in site.flow.nodes:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
            continue
        if not contains(loop, node) or contains(site.statement, node):
            continue
        if chain(node) in prefixes:
            return False
        if isinstance(node, ast.Subscript) and chain(node.value) == holder:
            other = isinstance(node.slice, ast.Constant) and ast.unparse(node) != whole
            if not (other or _is_first_entry(site, node, holder)):
                return False
    return not any(
        isinstance(call.func, ast.Attribute) and call.func.attr in _EMPTIES and chain(call.func.value) == holder
        for call in site.flow.calls_within(loop)
    )


def _is_first_entry(site: Site, target: ast.Subscript, holder: list[str]) -> bool:
    """`if key not in kept: kept[key] = new`, `if i == 0: kept[key] = new`"""
    return any(
        _asks_for_entry(guard, holder) or (guard.true and _is_start(guard.test) and _is_other_branch(site, guard))
        for guard in site.flow.guards(target)
    )


def _asks_for_entry(guard: Guard, holder: list[str]) -> bool:
    """Whether a condition says that there is no such entry yet: `key not in kept`."""
    test = guard.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    said = ast.NotIn if guard.true else ast.In
    return isinstance(test.ops[0], said) and chain(test.comparators[0]) == holder


def _matters(site: Site, loop: Loop | None) -> bool:
    """Whether more than a few bytes are copied, in a loop that trains or runs a model if there is one; all of it counts in compiled code."""
    if site.in_compiled:
        return True
    if _is_small(site):
        return False
    return loop is None or ((site.hot is not None or site.warm is not None) and not site.in_forward)


def _is_small(site: Site) -> bool:
    """Whether what is joined is a few bytes for each iteration: token ids, masks, other integers."""
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
        if not _is_kept(site, part):
            continue
        at = part.slice.value if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) else None
        for target in _targets(site):
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
    if not _is_kept(site, grown):
        return
    kept = ast.unparse(grown)
    if not any(ast.unparse(part) == kept for part in _parts(site)):
        return
    if any(site.value(part).on_cpu for part in _parts(site)) or site.rare or site.role == "test":
        return
    whole = kept if set_later is None else ast.unparse(set_later)
    others = [
        target
        for target in _targets(site)
        if ast.unparse(target) in (kept, whole) and target is not set_later and not contains(site.statement, target)
    ]
    if not all(syntax.exclusive(site.flow, target, site.target) for target in others):
        return  # made anew, or cut, in each call
    if site.in_forward or site.warm_caller is not None or _is_hook(site) or _is_kept_by_forwards(site, grown):
        message = f"`{ast.unparse(grown)}` grows by `{site.short()}`: each call copies all of it, and has a new shape."
        yield site.finding(message)


def _is_kept_by_forwards(site: Site, grown: ast.expr) -> bool:
    """Whether forwards call the method, on an object that is there before and after them: `cache.append(k, v)`."""
    attribute = syntax.own_attribute(site.function, grown)
    klass = site.function.cls
    if attribute is None or klass is None or site.function.name == "__init__" or not frequency.in_forward(site):
        return False
    kin = [*site.project.ancestry(klass), *site.project.subclasses(klass)]
    begun = (one for each in kin for one in kept_by_objects.beginnings(each, attribute))
    again = (site.at(*one) for one in begun if one[0].name != "__init__" and one[0] is not site.function)
    if any(frequency.in_forward(one) for one in again):
        return False
    made = [site.at(*one) for each in kin for one in kept_by_objects.constructions(site, each)]
    return not made or not all(frequency.in_forward(one) for one in made)


def _handed_back(site: Site) -> Iterator[Finding]:
    """`x = torch.cat([x, new]); return x` of a parameter, where a loop calls that by `x = longer(x)`."""
    grown = site.part("grown")
    assert isinstance(grown, ast.Name)
    name = grown.id
    if name not in site.function.positions or len(site.flow.stores[name]) > 1:
        return
    if not any(chain(part) == [name] for part in _parts(site)) or any(site.value(part).on_cpu for part in _parts(site)):
        return
    if site.rare or site.role == "test" or site.in_forward:
        return
    places = [_place_of(returned.value, name) for returned in site.flow.nodes if isinstance(returned, ast.Return)]
    if not places or any(place is None or place != places[0] for place in places):
        return
    for one in site.callers(site.function):
        if _grows_there(site, one.function, one.call, name, places[0]):
            why = site.related(one.function, one.call, "called on each iteration with what it gave before")
            message = f"`{name}` grows by `{site.short()}`: each iteration copies all of it, and has a new shape."
            yield site.finding(message, related=(why,))
            return


def _place_of(returned: ast.expr | None, name: str) -> int | None:
    """Where a name stands in what is returned: -1 by itself, or its place in a tuple; None where it stands nowhere."""
    if isinstance(returned, ast.Tuple):
        return next((i for i, part in enumerate(returned.elts) if chain(part) == [name]), None)
    return -1 if returned is not None and chain(returned) == [name] else None


def _grows_there(site: Site, caller: Function, call: ast.Call, name: str, place: int | None) -> bool:
    """Whether a loop gives a call what the call gave before, and sets it nowhere else."""
    given = site.function.argument(call, name)
    loops = caller.flow.loops(call)
    statement = caller.flow.parents.get(call)
    if not isinstance(given, ast.Name) or not loops or place is None or not isinstance(statement, ast.Assign):
        return False
    target: ast.expr = statement.targets[0]
    if place >= 0:
        target = target.elts[place] if isinstance(target, ast.Tuple) and place < len(target.elts) else statement.value
    stores = [store for store in caller.flow.stores.get(given.id, ()) if contains(loops[0], store)]
    return isinstance(target, ast.Name) and target.id == given.id and stores == [target]


def _is_kept(site: Site, grown: ast.expr) -> bool:
    """Whether something is an attribute of the method's own object, or an entry of one: `self.store["key"]`.

    An entry of what the function around a hook has made outlives the hook's calls, too.
    """
    if isinstance(grown, ast.Subscript):
        if not isinstance(grown.slice, ast.Constant | ast.Name):
            return False
        grown = grown.value
        if isinstance(grown, ast.Name):
            return _is_outer(site, grown.id)
    name = chain(grown)
    return name is not None and len(name) > 1 and name[0] == site.function.own_name


def _is_outer(site: Site, name: str) -> bool:
    """Whether a name is one of the function around."""
    around = site.function.parent
    own = name in site.flow.parameters or name in site.flow.stores
    return around is not None and around is not site.module.body and not own and name in around.flow.stores


def _is_hook(site: Site) -> bool:
    """Whether the function runs behind each forward of a module: `layer.register_forward_hook(save)`."""
    if not site.source.holds(b"register_forward_"):
        return False
    return any(
        isinstance(given, ast.Name) and given.id == site.function.name
        for function in site.module.functions
        for name in ("register_forward_hook", "register_forward_pre_hook")
        for call in function.flow.calls_named(name)
        for given in call.args
    )


def _targets(site: Site) -> Iterator[ast.expr]:
    """What the function assigns to."""
    for node in site.flow.nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node


def _parts(site: Site) -> list[ast.expr]:
    """The tensors that are joined."""
    given = site.part("parts")
    return given.elts if isinstance(given, ast.List | ast.Tuple) else []


def _short(site: Site, loop: Loop) -> bool:
    """Whether the loop has a few iterations only."""
    iterable = getattr(loop, "iter", None)
    if isinstance(iterable, ast.List | ast.Tuple):
        return len(iterable.elts) <= _FEW
    if isinstance(iterable, ast.Call) and site.resolve(iterable.func) == "range" and iterable.args:
        count = site.value(iterable.args[-1 if len(iterable.args) == 1 else 1]).const
        return isinstance(count, int) and count <= _FEW
    return False


def _carried(site: Site, loop: Loop, name: list[str]) -> bool:
    """Whether the name comes from the iteration before: nothing else in the loop sets it, except for the first time."""
    inside = [n for n in site.flow.nodes if isinstance(n, ast.Name | ast.Attribute) and contains(loop, n)]
    set_here = (n for n in inside if not isinstance(n.ctx, ast.Load) and not contains(site.statement, n))
    others = [n for n in set_here if chain(n) == name and not _joins(site, n, name)]
    if isinstance(loop, ast.For) and any(chain(t) == name for t in ast.walk(loop.target) if isinstance(t, ast.Name)):
        return False
    # `x[0] = ...` changes no shape; `a.b = ...` sets the `x` of `a.b.x` anew.
    prefixes = [name[:length] for length in range(1, len(name))]
    reset = any(not isinstance(n.ctx, ast.Load) and chain(n) in prefixes for n in inside)
    return not reset and all(_first(site, n, name) for n in others)


def _joins(site: Site, target: ast.expr, name: list[str]) -> bool:
    """Whether the assignment is another growth of the same name."""
    parent = site.flow.parents.get(target)
    call = parent.value if isinstance(parent, ast.Assign) else None
    if not isinstance(call, ast.Call) or not call.args or not (site.resolve(call.func) or "").startswith("torch."):
        return False
    tensors = call.args[0]
    return isinstance(tensors, ast.List | ast.Tuple) and any(chain(part) == name for part in tensors.elts)


def _first(site: Site, target: ast.expr, name: list[str]) -> bool:
    """Whether the assignment is for the first iteration: behind `if x is None`, `if i == 0`."""
    if any(
        guard.true and (_is_start(guard.test) or _is_taken_down(site, guard)) and _is_other_branch(site, guard)
        for guard in site.flow.guards(target)
    ):
        return True
    return any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Is)
        and (chain(part.left) == name or _is_other_branch(site, guard))
        for guard in site.flow.guards(target)
        if guard.true
        for part in ast.walk(guard.test)
    )


def _is_start(test: ast.expr) -> bool:
    """`i == 0`"""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    zero = test.comparators[0]
    return isinstance(test.left, ast.Name) and isinstance(zero, ast.Constant) and zero.value == 0


def _is_taken_down(site: Site, guard: Guard) -> bool:
    """`if first:` with `first = False` in that branch, of a flag that is True before the loop."""
    if not isinstance(guard.test, ast.Name) or not isinstance(guard.node, ast.If):
        return False
    stores = site.flow.stores.get(guard.test.id, ())
    down = [store for store in stores if any(contains(one, store) for one in guard.node.body)]
    return bool(down) and all(_is_set_to(site, store, store not in down) for store in stores)


def _is_set_to(site: Site, store: ast.Name, value: bool) -> bool:
    made = site.flow.parents.get(store)
    return isinstance(made, ast.Assign) and is_constant(made.value, value)


def _is_other_branch(site: Site, guard: Guard) -> bool:
    """Whether the growth stands in the `else` of a condition: `if a is None: a, b = x, y`, which is for the first time too."""
    return isinstance(guard.node, ast.If) and any(contains(one, site.target) for one in guard.node.orelse)
