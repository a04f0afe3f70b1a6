from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.flow import Guard, Loop, contains
from torchlint.rule import Finding, Site, chain, rule

_JOINS = ("cat", "concat", "concatenate", "vstack", "hstack")
_FEW = 4
"""How many iterations of a loop are too few to matter."""


@rule(
    "TL306",
    shape=[f"$grown = torch.{name}(tensors := $parts, ...)" for name in _JOINS],
    set="preview",
    severity="info",
    fix="suggestion",
    impact="medium",
    category="compile",
    confirmed_by=("operator:cat",),
)
def growing_cat(site: Site) -> Iterator[Finding]:
    """A tensor grows by torch.cat in a loop.

    ## What it does
    Finds `x = torch.cat([x, new])` in a loop where `x` comes from before the loop and nothing else in the loop sets it.

    ## Why is this slow?
    Each iteration copies all that was collected before: n iterations copy in the order of n² rows.
    Each iteration also has another shape, so the allocator finds no block to use again, CUDA graphs can't be replayed, and compiled code sees a dynamic shape or is compiled again.

    ## When it does not matter
    A loop of a few iterations, tensors on the host, and a sequence of a few token ids, unless the model that reads them is compiled.
    Joining two tensors that are made anew in each iteration is no growth.

    ## Bad
    ```python
    def generate(model: torch.nn.Module, ids: torch.Tensor, steps: int) -> torch.Tensor:
        for _ in range(steps):
            new = model(ids[:, -1:]).argmax(-1)
            ids = torch.cat([ids, new], dim=1)  # TL306
        return ids
    ```

    ## Good
    ```python
    def generate(model: torch.nn.Module, ids: torch.Tensor, steps: int) -> torch.Tensor:
        start = ids.shape[1]
        out = ids.new_empty(ids.shape[0], start + steps)
        out[:, :start] = ids
        for step in range(start, start + steps):
            out[:, step] = model(out[:, step - 1 : step]).argmax(-1)[:, -1]
        return out
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.cat.html
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
    """
    loop, name = site.loop(), chain(site.part("grown"))
    if loop is None or name is None or not any(chain(part) == name for part in _parts(site)):
        return
    if (
        any(site.value(part).on_cpu for part in _parts(site))
        or site.flow.comprehension(site.call) is not None
        or _short(site, loop)
    ):
        return
    if not _carried(site, loop, name) or site.rare:
        return
    whole = ".".join(name)
    yield site.finding(f"`{whole}` grows by `{site.short()}`: each iteration copies all of it, and has a new shape.")


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
    others = [n for n in inside if not isinstance(n.ctx, ast.Load) and chain(n) == name and not _joins(site, n, name)]
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
    """Whether the assignment is for the first iteration: behind `if x is None`."""
    return any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Is)
        and (chain(part.left) == name or _is_other_branch(site, guard))
        for guard in site.flow.guards(target)
        if guard.true
        for part in ast.walk(guard.test)
    )


def _is_other_branch(site: Site, guard: Guard) -> bool:
    """Whether the growth stands in the `else` of a condition: `if a is None: a, b = x, y`, which is for the first time too."""
    return isinstance(guard.node, ast.If) and any(contains(one, site.target) for one in guard.node.orelse)
