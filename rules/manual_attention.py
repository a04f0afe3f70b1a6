from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchlint.facts import dropped_results, names
from torchlint.facts.nodes import number
from torchlint.facts.syntax import exclusive
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_PRODUCTS = frozenset(
    ("torch.matmul", "torch.bmm", "torch.baddbmm", "torch.einsum", "einsum", "torch.functional.einsum")
)
_METHODS = frozenset(("matmul", "bmm"))
_SHAPED = frozenset("contiguous double float half masked_fill reshape to type type_as view".split())
"""Methods that give the same matrix in another type or shape, or with some of it masked."""
_KEEPS_PRODUCT = _SHAPED | frozenset("add add_ div div_ masked_fill_ mul mul_ sub".split())
"""Methods of scores: they scale and mask them, too."""
_KEEPS_WEIGHTS = _SHAPED | frozenset(("permute", "transpose"))
_ADDS = frozenset(("add", "add_", "sub"))
_TURNS = frozenset("transpose permute swapaxes t T mT einsum".split())
_FUNCTIONS = frozenset(("torch.softmax()", "torch.nn.functional.softmax()"))
_FUSED = regex(rb"flash_attn|memory_efficient_attention|flex_attention|fused_attn")
_OF_TORCH = regex(
    rb"\b(?:F|functional|nn|ops\.\w+)\.scaled_dot_product_attention|[\"']scaled_dot_product_attention[\"']"
    rb"|\bimport\b[^\n(]{0,300}(?:\([^)]{0,2000})?\bscaled_dot_product_attention"
)
_OWN = regex(rb"\bdef _*scaled_dot_product_attention\(")
"""What many call an attention of their own, step by step."""
_STEPS = 8
"""How many assignments back the scores are followed."""
_Products = dict[tuple[str, int], ast.expr | None]
"""The product that a name is, so many steps further, where that was asked: a name may be assigned from itself many times."""


@rule(
    "TL701",
    shape=["torch.softmax(...)", "torch.nn.functional.softmax(...)", "$x.softmax(...)", "torch.nn.Softmax(...)"],
    severity="info",
    torch=">=2.0",
    impact="high",
    category="kernel",
    principle=("fusion",),
    silenced_by=("REGION",),
)
def manual_attention(site: Site) -> Iterator[Finding]:
    """Attention is computed step by step.

    ## What it does

    Finds a softmax over the product of two tensors, scaled and masked or not, whose result is multiplied by a third: by `@`,
    `matmul`, `bmm` or `einsum`, over assignments of one function.
    The softmax must be over the last dimension, and its result used for nothing else; it may be given to callers that all
    leave it out, `x, _ = self.attend(x)`, as far as they are known. It may be a module, `torch.nn.Softmax(dim=-1)`.

    ## Why is this slow?

    The matrix of scores is written to memory and read back in each step: a product, a scale, a mask, a softmax, a dropout, a
    product.
    `scaled_dot_product_attention` keeps it on the chip.

    ## When it does not matter

    In compiled code, where inductor replaces the plain pattern.
    For attention whose weights somebody needs, with terms between the softmax and the product, or over another dimension; none
    of it is reported, and neither is a file that calls a fused attention somewhere.
    Without `--preview` it tells of scores that are scaled and masked at most: where a bias as large as they are is added, or a
    function makes others of them, the fused kernel reads as much, or can't take the place.

    ## Bad

    ```python
    def attend(q, k, v, scale):
        weights = torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1)  # TL701
        return weights @ v
    ```

    ## Good

    ```python
    def attend(q, k, v, scale):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    """
    if site.in_compiled or site.role == "test" or _uses_fused(site) or not _over_last(site):
        return
    found = [one for one in _calls(site) if _attends(one)]
    # Branches that mask or don't end in the same product: one finding says it.
    for one in found[-1:]:
        message = f"`{one.short()}` writes the matrix of scores to memory; `scaled_dot_product_attention` keeps it on the chip"
        yield one.finding(message)


def _uses_fused(site: Site) -> bool:
    """Whether a file calls a fused attention somewhere, or may: a method of its own of that name is none."""
    source = site.source
    if source.holds(_FUSED):
        return True
    if not source.holds(b"scaled_dot_product_attention"):
        return False
    return source.holds(_OF_TORCH) or not source.holds(_OWN)


def _attends(site: Site) -> bool:
    scores = _input(site)
    if scores is None or site.in_compiled:
        return False
    known: _Products = {}
    if not site.settings.preview and not _is_plain(site, scores, _STEPS, set(), known):
        return False
    product = _product(site, scores, _STEPS, known)
    return product is not None and _only_multiplied(site, turned=_has_turned(product))


def _is_plain(site: Site, scores: ast.expr, steps: int, seen: set[str], known: _Products) -> bool:
    """Whether scores are a product that is scaled, cast, reshaped and masked at most: no bias as large as they are is added, which the fused kernel reads all the same, and no function knows what else."""
    if isinstance(scores, ast.BinOp):
        if isinstance(scores.op, ast.MatMult):
            return not (_has_turned(scores.left) and not _has_turned(scores.right))  # channels attend to channels
        sides = [one for one in (scores.left, scores.right) if _product(site, one, steps, known) is not None]
        scaled = isinstance(scores.op, ast.Mult | ast.Div) or (
            isinstance(scores.op, ast.Add) and _is_mask(scores.right)
        )
        return scaled and all(_is_plain(site, one, steps - 1, seen, known) for one in sides)
    if isinstance(scores, ast.Call):
        if _multiplies(site, scores) or site.resolve(scores.func) == "torch.where":
            return True
        method = scores.func.attr if isinstance(scores.func, ast.Attribute) else ""
        return method in _KEEPS_PRODUCT - _ADDS and _is_plain(site, scores.func.value, steps - 1, seen, known)  # type: ignore[attr-defined]
    if not isinstance(scores, ast.Name) or steps <= 0:
        return False
    if scores.id in seen:
        return True  # `scores = scores / 8`: what else it is assigned is looked at already
    seen.add(scores.id)
    stores = [one for one in site.flow.stores.get(scores.id, ()) if one.lineno <= site.call.lineno]
    changes = [
        one
        for store in stores
        if (one := site.flow.parents.get(store)) is not site.statement and not exclusive(site.flow, store, site.call)
    ]
    return bool(changes) and all(
        isinstance(one.op, ast.Mult | ast.Div) or (isinstance(one.op, ast.Add) and _is_mask(one.value))
        if isinstance(one, ast.AugAssign)
        else isinstance(one, ast.Assign) and _is_plain(site, one.value, steps - 1, seen, known)
        for one in changes
    )


def _is_mask(added: ast.expr) -> bool:
    """Whether what is added is called a mask, which has a row for all heads at most: `scores + attention_mask[:, None]`."""
    while isinstance(added, ast.Subscript):
        added = added.value
    return "mask" in names.last(added).lower()


def _calls(site: Site) -> Iterator[Site]:
    """The place itself; of a module, its calls: `nn.Softmax(dim=-1)(scores)`, `self.softmax(scores)`."""
    if site.name != "torch.nn.Softmax()":
        yield site
        return
    parent = site.flow.parents.get(site.target)
    if isinstance(parent, ast.Call) and parent.func is site.target:
        yield site.at(site.function, parent)
    klass = site.function.cls
    name = chain(parent.targets[0]) if isinstance(parent, ast.Assign) else None
    if klass is None or name is None or len(name) != 2 or name[0] != "self":
        return
    for method in klass.methods.values():
        for call in method.flow.calls:
            if chain(call.func) == name:
                yield site.at(method, call)


def _input(site: Site) -> ast.expr | None:
    if site.name == ".softmax()":
        assert isinstance(site.call.func, ast.Attribute)
        return site.call.func.value
    return site.argument("input", 0)  # of the function and of the module


def _over_last(site: Site) -> bool:
    """`dim=-1`; a positive dimension counts where it is that of a batch of heads (2 or 3)."""
    return number(site.argument("dim", 1 if site.name in _FUNCTIONS else 0)) in (-1, 2, 3)


def _product(site: Site, node: ast.expr, steps: int, known: _Products) -> ast.expr | None:
    """The product of two tensors that an expression is, scaled, masked, cast or reshaped on its way."""
    if steps == 0:
        return None
    if isinstance(node, ast.Name):
        if (node.id, steps) not in known:
            known[node.id, steps] = _first_product(site, _assigned(site, node), steps, known)
        return known[node.id, steps]
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            return node
        if isinstance(node.op, ast.Mult | ast.Div | ast.Add | ast.Sub):
            parts = [node.left, node.right]
    elif isinstance(node, ast.Call):
        if _multiplies(site, node):
            return node
        if site.resolve(node.func) == "torch.where" and len(node.args) == 3:
            parts = node.args[1:]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS_PRODUCT:
            parts = [node.func.value]
    return _first_product(site, parts, steps, known)


def _first_product(site: Site, parts: Iterable[ast.expr], steps: int, known: _Products) -> ast.expr | None:
    return next((found for part in parts if (found := _product(site, part, steps - 1, known)) is not None), None)


def _has_turned(product: ast.expr) -> bool:
    """Whether a factor, of a product or by itself, is turned right there, as the keys are: `q @ k.transpose(-2, -1)`; `einsum` says it in words."""
    parts = (part.attr if isinstance(part, ast.Attribute) else "" for part in ast.walk(product))
    return any(part in _TURNS for part in parts)


def _multiplies(site: Site, call: ast.Call) -> bool:
    if site.resolve(call.func) in _PRODUCTS or names.last(call.func) == "einsum":
        return len(call.args) >= 2
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in _METHODS
        and len(call.args) == 1
        and site.resolve(call.func) is None
    )


def _assigned(site: Site, name: ast.Name) -> Iterator[ast.expr]:
    """What is assigned to a name before the place, in the function."""
    for store in site.flow.stores.get(name.id, ()):
        parent = site.flow.parents.get(store)
        if (
            isinstance(parent, ast.Assign)
            and parent.targets == [store]
            and parent.lineno <= site.call.lineno
            and parent is not site.statement
        ):
            yield parent.value


def _only_multiplied(site: Site, *, turned: bool) -> bool:
    """Whether the weights are a factor of a product, directly or through one name, a cast and a dropout.

    Where the keys are `turned` they may be given to callers, too, that all leave them out.
    """
    node: ast.AST = site.target
    for _ in range(_STEPS):
        parent = site.flow.parents.get(node)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult):
            return True
        if isinstance(parent, ast.Call) and node in parent.args:
            if _multiplies(site, parent):
                return _sums_over_keys(parent, node)
            last = names.last(parent.func).lower()
            if "drop" not in last and last != "rearrange":
                return False
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr in _KEEPS_WEIGHTS | _METHODS:
            call = site.flow.parents.get(parent)
            if parent.attr in _METHODS:
                return True
            assert call is not None
            node = call
        elif isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
            later = [load for load in site.flow.loads.get(parent.targets[0].id, ()) if load.lineno > parent.lineno]
            if not later or not (_same_use(site, later, parent) or (turned and _only_given_on(site, later))):
                return False
            node = later[0]
        else:
            return False
    return False


def _sums_over_keys(product: ast.Call, weights: ast.AST) -> bool:
    """Whether an `einsum` that is written out sums over one of the last dimensions of the weights, `b h i j, b h j d -> b h i d`; one that mixes heads does not."""
    words = next((one.value for one in product.args if isinstance(one, ast.Constant)), None)
    if names.last(product.func) != "einsum" or not isinstance(words, str) or "->" not in words:
        return True
    terms, _, result = words.partition("->")
    factors = [one for one in product.args if not isinstance(one, ast.Constant)]
    said = terms.split(",")
    axes = _axes(said[factors.index(weights)]) if len(said) == len(factors) and weights in factors else []
    return not axes or not set(axes[-2:]) <= set(_axes(result))


def _axes(term: str) -> list[str]:
    """The dimensions of a term, in words (of einops) or in letters (of torch)."""
    return term.split() if " " in term.strip() else list(term.strip())


def _same_use(site: Site, loads: list[ast.Name], store: ast.Assign) -> bool:
    """Whether the name is read once, or again only after it was assigned anew."""
    first = site.flow.statement(loads[0])
    rebinds = isinstance(first, ast.Assign) and [t.id for t in first.targets if isinstance(t, ast.Name)] == [
        loads[0].id
    ]
    return len(loads) == 1 or rebinds


def _only_given_on(site: Site, loads: list[ast.Name]) -> bool:
    """Whether all reads but the first only give the weights to callers that leave them out: `return out, weights`."""
    return all(dropped_results.is_unused(site, load) for load in loads[1:])
