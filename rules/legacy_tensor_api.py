from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.deprecated_table import warns_since
from torchlint.facts.legacy_tensors import CONSTRUCTORS, SPARSE, is_new
from torchlint.facts.nodes import is_constant, required
from torchlint.facts.operator_calls import changes_its_tensor
from torchlint.facts.syntax import same
from torchlint.rule import Finding, Range, Site, rule
from torchlint.rule.lazy import regex

_TENSORS = frozenset(("torch.Tensor", "torch.autograd.Variable"))
"""Types that all tensors are of."""
_SPARSE = frozenset(f"{name}()" for name in SPARSE)
_MADE_THEM_LEGACY = (0, 4)
"""The first torch in which a tensor is a variable, and has numbers without dimensions."""
_SETS_DEVICE = (2, 0)
_DEPRECATES_TYPE = (2, 1)
_ON_HOST = regex(r"^[\"']?torch\.[A-Z]")
"""A type of the host, `torch.DoubleTensor`: its dtype can be set in any torch."""
_KNOWS_SPARSE = Range.parse(">=1.0")


@rule(
    "TL910",
    shape=[
        *(f"{name}(...)" for name in (*CONSTRUCTORS, *SPARSE)),
        "torch.autograd.Variable(...)",
        "torch.set_default_tensor_type(...)",
        "$x.data",
        "$context.saved_variables",
    ],
    severity="info",
    fix="safe",
    impact="low",
    torch=">=0.4",
    category="migration",
)
def legacy_tensor_api(site: Site) -> Iterator[Finding]:
    """Constructors and attributes from before torch 0.4.

    ## What it does

    Finds `torch.autograd.Variable(x)`, `torch.Tensor([...])` and `torch.FloatTensor([...])` with their like, on arrays and
    other lists too where that happens on each step, the constructors of `torch.cuda` on whatever they are given,
    `torch.set_default_tensor_type`; `torch.sparse.FloatTensor(i, v, shape)` with its like, in projects for a torch that does not warn
    of it yet (deprecated-api tells of the others); in step loops and loops that run a model also `.data` of an expression that autograd
    records; writes through `.data` there, in forwards and in the steps of optimizers (`p.data.add_(step)`, `p.data = q`, `x.data[mask] = 0`); and
    `ctx.saved_variables` in the `backward` of a function.

    ## Why is this slow?

    The typed constructors go through a tensor on the host whose type has nothing to do with the data, and those of
    `torch.cuda` wait for the copy.
    `Variable(x)` makes another tensor object and cuts the history of gradients, which its name hides; `x.detach()` says so,
    and `x.detach().requires_grad_()` what `Variable(x, requires_grad=True)` is.
    `Variable(x, volatile=True)` kept autograd off for all that was made of it; since torch 0.4 it warns and does not: the graph of
    an evaluation is recorded, and its activations are kept (a warning).
    `(model(x) * 2).data` records a graph that it throws away.
    A write through `.data` costs what it costs under `torch.no_grad()`, but leaves the version of the tensor as it was: where a
    backward pass still needs the old values, autograd raises no error, and the gradients are wrong.

    ## When it does not matter

    `torch.Tensor(3, 4)`, which is an empty tensor of that shape, is common in initialisation and is not reported;
    nor are writes through `.data` that are done once (`layer.weight.data.normal_()`) or now and then, and what reads `.data` alone. That a loop
    updates each parameter by itself is optimizer-slow-impl's.
    In projects that name an oldest torch from before 0.4; `set_default_tensor_type` of a type on the device is also left
    alone where theirs has no `set_default_device` (2.0), and any where the newest does not deprecate it (2.1).
    What a file that others import does under `if __name__ == "__main__":` to try itself, `print(Net()(Variable(torch.randn(1, 3))).size())`, is not reported.
    Without `--preview` it tells of `saved_variables`, of `Variable` and of the constructors of `torch.cuda`, of which torch warns
    since 2.1: in functions, where they run on each step,
    and of `Variable` where it was to keep autograd off, not once by a script or a constructor. What the rest says is true, but of 290 findings in 26 public repositories most were constants in tests and one-off code, where the old constructor costs nothing.

    ## Bad

    ```python
    from torch.autograd import Variable

    for x, y in loader:
        loss = model(Variable(x)).sum()  # TL910
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    for x, y in loader:
        loss = model(x).sum()  # ok
        loss.backward()
        optimizer.step()
    weights = torch.tensor([0.1, 0.9])  # ok
    ```

    ## Fix safety

    `Variable(x)` becomes `x.detach()`, which is the same for a tensor, but for a subclass of `torch.Tensor`, which
    `Variable` makes a plain one: the fix is safe where `x` is made in the same function by what makes no subclass.
    `Variable(torch.zeros(3))` and the like become `torch.zeros(3)`.
    A typed constructor of a list of numbers becomes `torch.tensor(..., dtype=..., device=...)`: with the device, because
    the old one does not care about `with torch.device(...)`. `torch.Tensor(list)` becomes the same, which is unsafe: it
    follows the default type that some program may set. So is that of `torch.cuda.FloatTensor(list)` and the like, which
    raises another exception where there is no GPU, and any of them in a project with a `TorchFunctionMode`, which is told of
    `torch.tensor` alone.
    `ctx.saved_variables` becomes `ctx.saved_tensors`, which gives the same tensors.

    ## References

    - https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
    - https://docs.pytorch.org/docs/stable/tensors.html
    - https://docs.pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html
    """
    if site.lacks(_MADE_THEM_LEGACY):
        return
    if site.name == ".saved_variables":
        klass = site.function.cls
        if klass is not None and site.function.name == "backward" and site.project.is_autograd_function(klass):
            yield site.finding(
                f"`{site.short()}` warns on every backward pass since torch 0.4; `saved_tensors` gives the same"
            )
        return
    if not site.settings.preview and not _is_told_by_default(site):
        return
    if site.in_own_trial:
        return  # what works as it did costs nobody anything there
    if site.name == ".data":
        yield from _data(site)
    elif site.name == "torch.autograd.Variable()":
        if site.call.args and not site.spread and not _is_no_tensor(site, site.call.args[0]):
            yield _variable(site)
    elif site.name == "torch.set_default_tensor_type()":
        if _default_can_be_set(site):
            yield site.finding(
                f"`{site.short()}` is deprecated since torch 2.1; use `torch.set_default_dtype` and `torch.set_default_device`"
            )
    elif site.name in _SPARSE:
        if _is_before_warning(site):
            yield site.finding(
                f"`{site.short(site.call.func)}` is a legacy constructor, of which torch warns since 2.1; use `torch.sparse_coo_tensor`"
            )
    elif _is_warned_of(site):
        instead = "`torch.tensor`, or `torch.empty` for a size, with the `dtype` and `device` meant"
        yield site.finding(f"`{site.short()}` makes torch warn, since 2.1; use {instead}")
    elif _is_data(site):
        yield site.finding(
            f"`{site.short()}` builds the tensor by a legacy constructor; use `torch.tensor` with the `dtype` and `device` meant"
        )


def _is_told_by_default(site: Site) -> bool:
    if site.name == "torch.autograd.Variable()":
        return _was_to_turn_grad_off(site) or _may_be_repeated(site)
    return _is_warned_of(site) and _may_be_repeated(site)


def _is_warned_of(site: Site) -> bool:
    """Whether torch warns of a constructor of `torch.cuda`, in the newest version that the project allows.

    Source: Tensor_new in torch/csrc/tensor/python_tensor.cpp; builds for a GPU alone have the warning.
    """
    return _is_of_cuda(site) and site.torch is not None and site.torch.high > _DEPRECATES_TYPE and not site.shim


def _is_of_cuda(site: Site) -> bool:
    return site.name.startswith("torch.cuda.") and bool(site.call.args) and not site.spread


def _default_can_be_set(site: Site) -> bool:
    """Whether the newest torch of the project deprecates the call, and its oldest has what takes the place of the type that is set."""
    if site.torch is None or site.torch.high <= _DEPRECATES_TYPE:
        return False
    kind = site.text(site.call.args[0]) if site.call.args else ""
    return _ON_HOST.search(kind) is not None or not site.lacks(_SETS_DEVICE)


def _is_before_warning(site: Site) -> bool:
    """Whether the project's torch has `sparse_coo_tensor` and warns of no other one yet; where it does, deprecated-api tells."""
    torch = site.torch
    if torch is None or torch.high <= _KNOWS_SPARSE.low or site.shim:
        return False
    return warns_since(site.name.removesuffix("()"), torch) is None


def _variable(site: Site) -> Finding:
    if _was_to_turn_grad_off(site):
        message = f"`{site.short()}` has not kept autograd off since torch 0.4: use `torch.no_grad()`"
        return site.finding(message, severity="warning")
    asked = site.argument("requires_grad", 1)
    makes_leaf = asked is not None and not (isinstance(asked, ast.Constant) and not asked.value)
    if not makes_leaf and is_new(site, site.call.args[0]):
        return site.finding(f"`{site.short()}` does nothing: what it is given is new and has no history of gradients")
    return site.finding(
        f"`{site.short()}` makes a new leaf; `detach().requires_grad_()` says so"
        if makes_leaf
        else f"`{site.short()}` cuts the history of gradients like `detach()` and does nothing else"
    )


def _was_to_turn_grad_off(site: Site) -> bool:
    """`Variable(x, volatile=True)` where autograd is on: a script that does so once records the graph of what follows, too."""
    return is_constant(site.argument("volatile"), True) and not site.grad_off


def _is_no_tensor(site: Site, given: ast.expr) -> bool:
    """Whether tensors left the function before: `if isinstance(x, Variable): return x` in front of `return Variable(x)`."""
    if not isinstance(given, ast.Name):
        return False
    asked = (part for guard in site.flow.guards(given) for part in required(guard.test, guard.true))
    return any(
        isinstance(test, ast.Call)
        and not true
        and site.resolve(test.func) == "isinstance"
        and same(test.args[0], given)
        and site.resolve(test.args[-1]) in _TENSORS
        and not any(test.lineno <= store.lineno <= given.lineno for store in site.flow.stores.get(given.id, ()))
        for test, true in asked
    )


def _is_repeated(site: Site) -> bool:
    """Whether the place runs on each step, in a loop that runs a model, or in a forward."""
    return site.hot is not None or site.warm is not None or site.in_forward


def _may_be_repeated(site: Site) -> bool:
    """Whether the place is in a function that may run any number of times: no script, no constructor, no `main()` and no `test()`."""
    function = site.function
    once = function is site.module.body or function.name in ("__init__", "main") or site.role == "test"
    # `def test(): net(Variable(torch.randn(1, 3)))`
    tries = function.name.startswith("test") and not function.parameters
    if tries and site.loop() is None:
        return False
    return not once or _is_repeated(site)


def _is_data(site: Site) -> bool:
    """Whether the constructor gets data, not sizes: a literal, or on each step or for the device anything known to be data."""
    if _is_of_cuda(site):
        return True  # deprecated whatever it is given: the device is part of the name
    if len(site.call.args) != 1 or site.call.keywords or site.spread:
        return False
    given = site.call.args[0]
    if isinstance(given, ast.List):
        return True
    if not _is_repeated(site):
        return False
    value = site.value(given)
    return isinstance(given, ast.ListComp) or value.kind == "ndarray" or (value.kind == "list" and value.proven)


def _data(site: Site) -> Iterator[Finding]:
    """`(x * w).data` in the step loop and in loops that run a model; `p.data.add_(step)` wherever it is done again and again."""
    assert isinstance(site.target, ast.Attribute)
    owner = site.target.value
    value = site.value(owner)
    if not value.is_tensor:
        return
    if _is_written(site, site.target):
        if _is_repeated(site) and not site.rare:
            yield site.finding(
                f"`{site.short()}` is written past autograd, which can't tell a backward pass that reads it of the change; "
                f"write `{site.short(owner)}` under `torch.no_grad()`",
                related=site.why_hot(),
            )
    elif (site.hot or site.warm) and isinstance(owner, ast.BinOp | ast.Call) and value.grad and not site.grad_off:
        yield site.finding(
            f"`{site.short()}` throws away the graph that the expression has just recorded; calculate under `torch.no_grad()`",
            related=site.why_hot(),
        )


def _is_written(site: Site, node: ast.Attribute) -> bool:
    """Whether a tensor is set, or a part of it, or changed by a method: `x.data = y`, `x.data[0] = 1`, `x.data[:, 0].mul_(2)`.

    Not gradients that are set to zero, of which zero-filling-grads tells.
    """
    part: ast.Attribute | ast.Subscript = node
    around = site.flow.parents.get(part)
    while isinstance(around, ast.Subscript) and around.value is part:
        part, around = around, site.flow.parents.get(around)
    if not isinstance(part.ctx, ast.Load):
        return isinstance(part.ctx, ast.Store)
    call = site.flow.parents.get(around) if isinstance(around, ast.Attribute) else None
    return (
        isinstance(around, ast.Attribute)
        and isinstance(call, ast.Call)
        and call.func is around
        and around.attr not in ("zero_", "detach_")
        and changes_its_tensor(around.attr)
    )
