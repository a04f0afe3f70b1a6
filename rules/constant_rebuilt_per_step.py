from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency
from torchlint.facts.nodes import elements, names_in
from torchlint.facts.torch_table import CAUSAL_MASK
from torchlint.rule import Finding, Site, rule

_SHAPES = frozenset(("shape", "size", "device", "dtype", "config", "numel", "dim", "ndim", "training"))
_FILLED = frozenset(
    ("torch.ones", "torch.zeros", "torch.full", "torch.ones_like", "torch.zeros_like", "torch.full_like")
)


@rule(
    "TL505",
    shape=["torch.tril(...)", "torch.triu(...)", "torch.tensor(...)", "torch.arange(...)", f"{CAUSAL_MASK}(...)"],
    set="preview",
    severity="info",
    impact="medium",
    category="memory",
    principle=("locality",),
    silenced_by=("REGION",),
)
def constant_rebuilt_per_step(site: Site) -> Iterator[Finding]:
    """A forward pass builds the same tensor again each time.

    ## What it does

    Finds in the `forward` of a module, and in methods of it that this calls, what depends on numbers, options and shapes alone: masks such as
    `torch.tril(torch.ones(n, n))` and `nn.Transformer.generate_square_subsequent_mask(n)`, `torch.tensor([...])` of numbers, and frequencies such as
    `base ** (torch.arange(0, dim, 2) / dim)`.

    ## Why is this slow?

    A mask takes an allocation of n times n and at least two kernels, for the same values as in the step before. Numbers
    in a list are copied from the host, which waits.

    ## When it does not matter

    Under `torch.compile`, where the compiler folds it into the kernels that use it: compiled regions are not reported.
    One `torch.arange` is one small kernel, and not reported by itself.

    ## Bad

    ```python
    class Attention(torch.nn.Module):
        def forward(self, x):
            n = x.shape[1]
            mask = torch.tril(torch.ones(n, n, device=x.device))  # TL505
            return x @ mask
    ```

    ## Good

    ```python
    class Attention(torch.nn.Module):
        def __init__(self, longest):
            super().__init__()
            self.register_buffer('mask', torch.tril(torch.ones(longest, longest)), persistent=False)  # ok

        def forward(self, x):
            n = x.shape[1]
            return x @ self.mask[:n, :n]
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer
    """
    if not (site.in_forward or _is_of_module(site)) or site.in_compiled or site.role == "test":
        return
    if site.name == "torch.tensor()":
        built: ast.expr | None = site.call if _numbers(site) else None
        what = "copies the same numbers from the host"
    elif site.name == "torch.arange()":
        built, what = _power(site), "is computed anew"
    elif site.name == f"{CAUSAL_MASK}()":
        built, what = site.call, "is built anew"
    else:
        given = site.argument("input", 0)
        filled = isinstance(given, ast.Call) and site.resolve(given.func) in _FILLED
        built, what = (site.call if filled else None), "is built anew"
    if built is None or not _constant(site, built, set()):
        return
    if any(site.flow.guards(site.target)) and _is_kept(site):
        return
    own = not site.in_forward
    if own and (site.rare or _is_kept(site) or not _is_always_called(site) or not frequency.in_forward(site)):
        return
    yield site.finding(f"`{site.short(built)}` {what} {frequency.in_passes(site)}", at=built)


def _is_of_module(site: Site) -> bool:
    """Whether the place stands in a method of a module, which a `forward` may call."""
    klass = site.function.cls
    return klass is not None and site.function.name != "__init__" and site.project.is_module(klass)


def _is_always_called(site: Site) -> bool:
    """Whether another method of the module calls the place's method on no condition, and does not keep what it gives."""
    calls = [one for one in site.callers(site.function) if one.function.cls is not None]
    places = [site.at(one.function, one.call) for one in calls]
    return any(not any(one.flow.guards(one.target)) for one in places) and not any(map(_is_kept, places))


def _is_kept(place: Site) -> bool:
    """Whether a method keeps what it builds, or calls, for later calls: `self.mask = torch.tril(...)`, `masks[n] = mask`."""
    targets = place.statement.targets if isinstance(place.statement, ast.Assign) else []
    named = {part.id for target in targets for part in elements(target) if isinstance(part, ast.Name)}
    stores = (
        one for one in place.flow.nodes if isinstance(one, ast.Assign) and not named.isdisjoint(names_in(one.value))
    )
    registered = (argument for call in place.flow.calls_named("register_buffer") for argument in call.args)
    if any(not named.isdisjoint(names_in(one)) for one in registered):
        return True
    kept = [*targets, *(target for one in stores for target in one.targets)]
    return any(isinstance(part, ast.Attribute | ast.Subscript) for target in kept for part in elements(target))


def _numbers(site: Site) -> bool:
    """Numbers in a list that go to the device."""
    given = site.argument("data", 0)
    parent = site.flow.parents.get(site.target)
    moved = isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda", "type_as")
    if not moved and site.argument("device") is None:
        return False
    if not isinstance(given, ast.List | ast.Tuple) or not given.elts:
        return False
    signed = (element.operand if isinstance(element, ast.UnaryOp) else element for element in given.elts)
    return all(isinstance(element, ast.Constant) for element in signed)


def _power(site: Site) -> ast.expr | None:
    """`base ** (arange / dim)`: several kernels."""
    for parent in site.flow.ancestors(site.target):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow):
            return parent
        if isinstance(parent, ast.stmt):
            return None
    return None


def _constant(site: Site, node: ast.expr, seen: set[str]) -> bool:
    """Whether an expression is made of literals, options of the object, and shapes of tensors."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load):
            continue
        value = site.value(part)
        if value.kind in ("number", "device", "dtype", "size", "name", "str") or part.id in seen:
            continue
        parent = site.flow.parents[part]
        if isinstance(parent, ast.Attribute) and parent.attr in _SHAPES:
            continue
        if part.id == "self" and isinstance(parent, ast.Attribute):
            attribute = site.value(parent)
            klass = site.function.cls
            if attribute.kind in ("number", "device", "dtype") or (
                attribute.kind == "unknown" and klass is not None and site.project.is_option(klass, parent.attr)
            ):
                continue
        return False
    return True
