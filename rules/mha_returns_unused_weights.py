from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import hidden_reads, syntax
from torchlint.facts.module import Class, Function
from torchlint.facts.values import Value
from torchlint.rule import Finding, Site, rule

_CLASS = "torch.nn.MultiheadAttention"
_MADE = f"{_CLASS}(...)"
_OF_PARENT = "$parent.forward(...)"
_NEED_WEIGHTS = 4
"""The position of `need_weights` in `forward(query, key, value, key_padding_mask, need_weights, ...)`."""


@rule(
    "TL702",
    shape=[f"$made = {_MADE}", _MADE, _OF_PARENT],
    fix="unsafe",
    numbers="rounding",
    torch=">=2.0",
    impact="high",
    category="kernel",
    principle=("fusion",),
    confirmed_by=("kernel",),
)
def mha_returns_unused_weights(site: Site) -> Iterator[Finding]:
    """`nn.MultiheadAttention` computes attention weights that nobody reads.

    ## What it does

    Finds calls of an `nn.MultiheadAttention` without `need_weights=False` whose second result is thrown away:
    `attention(q, k, v)[0]`, and `output, _ = attention(q, k, v)`.
    The module must be built by the class itself in the same class or function, by itself or in an `nn.ModuleList` of its kind.
    A class whose only base it is counts where it says `super().forward(x, x, x)[0]`.

    ## Why is this slow?

    With `need_weights=True`, the default, the module multiplies, applies softmax, averages over the heads and multiplies
    again, and writes the whole matrix of weights to memory.
    With `need_weights=False` it calls `scaled_dot_product_attention`, which keeps the matrix on the chip.

    ## When it does not matter

    In tests, which are not reported. Where the sequences are short, or the weights are read by a forward hook, which sees them as part of the result.

    ## Bad

    ```python
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(512, 8)

        def forward(self, x, mask):
            return x + self.attention(x, x, x, attn_mask=mask)[0]  # TL702
    ```

    ## Good

    ```python
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(512, 8)

        def forward(self, x, mask):
            return x + self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]  # ok
    ```

    ## Fix safety

    Adds `need_weights=False`.
    The fix is unsafe because the fused kernel sums in another order (differences of about 1e-7 in float32), draws its
    dropout differently, and gives zeros where all keys of a query are masked, in place of NaN.
    Nothing is offered in a project that registers forward hooks, which may read the weights.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    """
    if site.role == "test":
        return
    for function, call in _wasteful_calls(site):
        place = Site(site.analysis, function, call, site.rule, site.name)
        yield place.finding(
            f"`{place.short()}` computes attention weights that are thrown away, and is kept off the fused kernel by them",
            related=() if site.pattern == _OF_PARENT else (site.related(site.function, site.call, "built here"),),
        )


def _wasteful_calls(site: Site) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of the module that the site constructs, where they compute weights that are thrown away."""
    cls = site.function.cls
    if site.pattern == _OF_PARENT:
        if _is_of_parent(site) and _is_wasteful(site.function, site.call):
            yield site.function, site.call
        return
    if site.pattern == _MADE and cls is not None:
        yield from site.once(("attention in holders", cls), lambda: _by_maker(site, cls)).get(site.call, ())
        return
    for function, func in _uses(site) if site.pattern != _MADE else ():
        call = syntax.called(function.flow, func)
        if call is not None and _is_attention(site.project.value(function, func)) and _is_wasteful(function, call):
            yield function, call


def _is_of_parent(site: Site) -> bool:
    """`super().forward(...)` in a class that has no other base than torch's attention."""
    cls = site.function.cls
    if cls is None or len(cls.bases) != 1 or not syntax.is_super(site.part("parent")):
        return False
    return site.project.base_name(cls, cls.bases[0]) == _CLASS


def _by_maker(site: Site, klass: Class) -> dict[ast.expr, list[tuple[Function, ast.Call]]]:
    """The wasteful calls of a class's methods on what a list holds, by the calls that made it."""
    found: dict[ast.expr, list[tuple[Function, ast.Call]]] = {}
    for function in klass.methods.values():
        for call in function.flow.calls:
            if syntax.own_attribute(function, call.func) is None and _is_wasteful(function, call):
                value = site.project.value(function, call.func)
                if value.made_by is not None and _is_attention(value):
                    found.setdefault(value.made_by, []).append((function, call))
    return found


def _is_attention(value: Value) -> bool:
    return value.class_name == _CLASS and not value.other_kinds


def _is_wasteful(function: Function, call: ast.Call) -> bool:
    """Whether a call computes weights that are thrown away."""
    return not _asks_for_weights(call) and _drops_weights(function, call)


def _uses(site: Site) -> Iterator[tuple[Function, ast.expr]]:
    made = site.part("made")
    name = syntax.own_attribute(site.function, made)
    if name is not None and site.function.cls is not None:
        yield from site.function.cls.uses.get(name, ())
    elif isinstance(made, ast.Name):
        for load in site.flow.loads.get(made.id, ()):
            if site.value(load).made_by is site.call:
                yield site.function, load


def _asks_for_weights(call: ast.Call) -> bool:
    if any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > _NEED_WEIGHTS:
        return True
    return any(keyword.arg in (None, "need_weights") for keyword in call.keywords)


def _drops_weights(function: Function, call: ast.Call) -> bool:
    """`attention(...)[0]`, and `output, _ = attention(...)` with a name that nobody reads."""
    parent = function.flow.parents.get(call)
    if isinstance(parent, ast.Subscript) and parent.value is call:
        return isinstance(parent.slice, ast.Constant) and parent.slice.value == 0
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    pair = parent.targets[0]
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2 or not isinstance(pair.elts[1], ast.Name):
        return False
    name = pair.elts[1].id
    if name in function.flow.globals:
        return False
    seeing = (one.flow for one in function.module.functions if function in one.scopes)
    return not any(name in flow.loads or any(map(hidden_reads.reads_any, flow.nodes)) for flow in seeing)
