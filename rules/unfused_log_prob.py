from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import dtypes, epsilons, syntax, uses
from torchlint.facts.bindings import shows_tensor
from torchlint.facts.names import last
from torchlint.facts.nodes import number
from torchlint.facts.told import Fused
from torchlint.facts.values import Value
from torchlint.rule import Finding, Site, rule

_SOFTMAX = frozenset(("torch.softmax", "torch.nn.functional.softmax"))
_SIGMOID = frozenset(("torch.sigmoid", "torch.nn.functional.sigmoid", "torch.special.expit"))
_SEQUENTIAL = "torch.nn.Sequential"
_ADDS = ("append", "extend", "insert", "add_module")

_MINUS_ONE = ("torch.exp(...) - 1", "torch.exp(...) - 1.0")


@rule(
    "TL609",
    shape=["torch.log(...)", "$x.log()", *_MINUS_ONE, "torch.nn.functional.binary_cross_entropy(...)"],
    severity="info",
    fix="unsafe",
    numbers="rounding",
    category="precision",
    principle=("fusion",),
)
def unfused_log_prob(site: Site) -> Iterator[Finding]:
    """A logarithm of an exponential in several kernels, where one function does it without overflow.

    ## What it does

    Finds `log(softmax(x))`, `log(sigmoid(x))`, `log(1 + exp(x))`, `exp(x) - 1`, `log(sum(exp(x), dim))`,
    and `binary_cross_entropy(sigmoid(x), y)` on tensors. Softmax and sigmoid may be modules (`self.softmax = nn.Softmax(dim=1)`),
    or the last layer of an `nn.Sequential` whose output the logarithm is of, and have a name that nothing else reads: `p = self.softmax(x)`, then `torch.log(p)`. A small number beside them, which keeps the
    logarithm from infinity, makes no difference: `torch.log(torch.sigmoid(x) + 1e-8)`, `p.clamp(min=eps).log()`.

    ## Why is this slow?

    Each step is a kernel of its own that reads and writes the whole tensor.
    Worse, the parts overflow or vanish where the whole does not: in half precision `softmax` gives zero early, and its
    logarithm minus infinity.

    ## When it does not matter

    In code that runs once or on a few numbers, which is why `log(1 + exp(x))` and `exp(x) - 1` are reported in `forward` and in
    the step loop only. `log(1 + x)` of other things is mostly one of counts or sizes, which `log1p` makes no better.
    In compiled code the kernels are one anyway; the numbers are still worse there.
    Where a small number is there to bound the loss: without it that of a hopeless case grows on, and so does its gradient.
    Not reported are tests, and `log(sum(exp(x - x.max())))`, which loses no digits.

    ## Bad

    ```python
    log_probabilities = torch.log(torch.softmax(logits, dim=-1))  # TL609
    ```

    ## Good

    ```python
    log_probabilities = torch.log_softmax(logits, dim=-1)  # ok
    ```

    ## Fix safety

    Writes the one function: `log_softmax`, `logsigmoid`, `softplus`, `expm1`, `logsumexp`,
    `binary_cross_entropy_with_logits`; `logsigmoid`, `softplus` and the last one only where the input is proven to be of real
    floating point, since they take no integers, and `logsumexp` where the dimensions are numbers: it takes neither None nor `()`.
    The fix is unsafe because the results differ in the last digits, and where the old ones overflowed or were rounded to 0
    or 1 (`binary_cross_entropy` cuts its losses off at 100, a small number that was added at its own logarithm); under autocast `logsigmoid` and `logsumexp` give the type of
    their input, where `log` gave single precision.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softplus.html
    - https://docs.pytorch.org/docs/stable/generated/torch.logsumexp.html
    """
    found = _fused(site) if site.role != "test" else None
    if found is not None:
        place, fused = found
        instead = fused.function.replace("torch.nn.functional.", "F.")
        inner = _without_epsilon(site, _input(site)) if site.name != "torch.exp()" else None
        of = f" of `{site.short(uses.meant(site.function, inner))}`" if isinstance(inner, ast.Name) else ""
        text = f"`{site.short(place)}`{of} takes several kernels and loses digits; `{instead}` is one"
        yield site.finding(text, at=place, told=fused)


def _fused(site: Site) -> tuple[ast.expr, Fused] | None:
    """The expression that one function computes, and that function."""
    if site.name == "torch.exp()":
        return (site.whole, Fused("torch.expm1")) if _often(site) and not dtypes.may_be_complex(site) else None
    inner = _input(site)
    read = uses.meant(site.function, inner) if inner is not None else None
    bare = _without_epsilon(site, read)
    if bare is not read:
        read = inner = uses.meant(site.function, bare) if bare is not None else None
    if site.name == "torch.nn.functional.binary_cross_entropy()":
        fused = Fused("torch.nn.functional.binary_cross_entropy_with_logits")
        return (site.call, fused) if _is_call(site, read, _SIGMOID, "Sigmoid") else None
    if _is_call(site, read, _SOFTMAX, "Softmax") and _has_dim(site, read):
        return site.call, Fused("torch.log_softmax")
    if _is_call(site, read, _SIGMOID, "Sigmoid"):
        return site.call, Fused("torch.nn.functional.logsigmoid")
    if _is_sum_of_exp(site, inner):
        return site.call, Fused("torch.logsumexp")
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add):
        other = inner.right if number(inner.left) == 1 else inner.left if number(inner.right) == 1 else None
        is_tensor = other is not None and _is_exp(site, other) and site.value(other).is_tensor
        if is_tensor and _often(site) and not dtypes.may_be_complex(site):
            return site.call, Fused("torch.nn.functional.softplus")
    return None


def _often(site: Site) -> bool:
    """Whether the place is on the path of each step: elsewhere one more kernel on a few numbers is nothing."""
    return site.in_forward or site.hot is not None


def _input(site: Site) -> ast.expr | None:
    """What the logarithm is taken of."""
    if site.name == ".log()":
        return site.part("x")
    return site.argument("input", 0)


def _without_epsilon(site: Site, node: ast.expr | None) -> ast.expr | None:
    return epsilons.without(site, node) if node is not None else None


def _is_call(site: Site, node: ast.expr | None, functions: frozenset[str], module: str) -> bool:
    """A call of one of the functions, of the method of a tensor, or of a module of torch that does the same."""
    if not isinstance(node, ast.Call):
        return False
    if site.resolve(node.func) in functions:
        return bool(node.args)
    method = isinstance(node.func, ast.Attribute) and node.func.attr == module.lower()
    return (method and _is_tensor(site, node)) or _module(site, node, module) is not None


def _module(site: Site, call: ast.Call, name: str) -> Value | None:
    """The module of torch that a call runs, or that a sequence of them ends with, where it is one of this name."""
    value = site.value(call.func)
    while value.kind == "module" and value.class_name == _SEQUENTIAL and value.items and not value.other_kinds:
        if _is_added_to(site, call.func, value):
            return None
        value = value.items[-1]
    is_it = value.kind == "module" and value.class_name == f"torch.nn.{name}" and not value.other_kinds
    return value if is_it and len(call.args) == 1 else None


def _is_added_to(site: Site, func: ast.expr, made: Value) -> bool:
    """Whether layers are added to a sequence, by the name where it is called or made: `self.policy.append(head)`, `net.add_module("head", head)`."""
    named = [(site.module, func)]
    if made.made_by is not None and made.made_in is not None:
        maker = made.made_in.function_at(made.made_by.lineno)
        target = syntax.target(maker.flow, made.made_by)
        named += [(made.made_in, target)] if target is not None else []
    uses = ((module, f"{last(holder)}.{method}(") for module, holder in named for method in _ADDS)
    return any(module.source.holds(use.encode()) for module, use in uses)


def _is_tensor(site: Site, call: ast.Call) -> bool:
    """Whether a method is one of a tensor: `x.sigmoid()`, and `(a - b).sigmoid()`, since nothing else that is calculated has it."""
    assert isinstance(call.func, ast.Attribute)
    value = site.value(call.func.value)
    if value.is_tensor:
        return True
    if value.other_kinds or not shows_tensor(call.func.attr, call):
        return False
    return value.kind == "tensor" or (value.kind == "unknown" and _is_calculated(call.func.value))


def _is_calculated(node: ast.expr) -> bool:
    """`a - b`, `-a`, `(a * b).sum(-1)`"""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return isinstance(node, ast.BinOp | ast.UnaryOp)


def _has_dim(site: Site, node: ast.expr | None) -> bool:
    """Whether a softmax says over which dimension, as function, as method, or where its module is made."""
    assert isinstance(node, ast.Call)
    module = _module(site, node, "Softmax")
    before = 1 if site.resolve(node.func) in _SOFTMAX else 0
    said = module.made_by if module is not None else node
    return isinstance(said, ast.Call) and (
        len(said.args) > before or any(keyword.arg == "dim" for keyword in said.keywords)
    )


def _is_sum_of_exp(site: Site, node: ast.expr | None) -> bool:
    """`torch.sum(torch.exp(x), dim)` and `x.exp().sum(dim)`, with a dimension."""
    if not isinstance(node, ast.Call):
        return False
    keyword = any(k.arg == "dim" for k in node.keywords)
    if site.resolve(node.func) == "torch.sum":
        return bool(node.args) and _is_exp(site, node.args[0]) and (keyword or len(node.args) > 1)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "sum":
        return _is_exp(site, node.func.value) and (keyword or bool(node.args))
    return False


def _is_stabilised(node: ast.expr) -> bool:
    """`exp(x - x.max())`: what `logsumexp` does inside is written out, and loses no digits."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def _is_exp(site: Site, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if site.resolve(node.func) == "torch.exp":
        return not (node.args and _is_stabilised(node.args[0]))
    if isinstance(node.func, ast.Attribute) and _is_stabilised(node.func.value):
        return False
    return isinstance(node.func, ast.Attribute) and node.func.attr == "exp" and site.value(node.func.value).is_tensor
