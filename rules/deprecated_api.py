from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import api_table, resumed, syntax
from torchlint.facts.deprecated_table import (
    COMPUTED,
    FIRST_SUCCESSORS,
    KEYWORDS,
    LAST_RATE,
    METHODS,
    NAMES,
    REDUCTIONS,
    REQUIRED,
    STEPPED,
    Entry,
    Keyword,
    arguments_of,
    since,
    warns_since,
)
from torchlint.facts.nodes import is_constant
from torchlint.facts.number_first import SHAPES, TAKES_DTYPE, Given, roles_of
from torchlint.facts.told import Argument
from torchlint.facts.uses import assigned
from torchlint.rule import Finding, Site, rule

_NEW_SUCCESSOR = frozenset(
    (
        "torch.distributed.all_gather_into_tensor",
        "torch.distributed.reduce_scatter_tensor",
        "torch.nn.attention.flex_attention.flex_attention(return_lse)",
    )
)
"""What takes their place came with the deprecation itself: for an older torch there is nothing else to write."""
_NUMBERS_BEHIND = (1, 5)
"""The first torch that warns of a number before tensors."""


@rule(
    "TL903",
    shape=[
        *NAMES,
        *(f"{name}(...)" for name in (*KEYWORDS, *REQUIRED)),
        *(f"$x.__init__(..., {name}=$given)" for name in REDUCTIONS),
        "$x.get_lr()",
        "$x.step($epoch)",
        "$x.step(epoch=$epoch)",
        "$x.resize($size, ...)",
        *(f"$x.{name}(...)" for name in METHODS),
        *SHAPES,
    ],
    severity="info",
    fix="safe",
    category="migration",
    confirmed_by=("warning:FutureWarning", "warning:DeprecationWarning", "warning:UserWarning"),
)
def deprecated_api(site: Site) -> Iterator[Finding]:
    """A function or an argument of torch that is deprecated.

    ## What it does

    Looks calls up in a table of deprecated names, arguments, and arguments that should not be left out any more:
    `torch.qr`, `nn.init.uniform`, `functorch.vmap`, `F.upsample`, `size_average=`, `torch.meshgrid` without `indexing`,
    and about a hundred others. Also those of `add`, `sub`, `addcmul`, `addcdiv`, `addmm`, `addmv`, `addr`, `addbmm` and
    `baddbmm`, and of their like in place, whose numbers stand before the tensors, as until torch 1.5:
    `m.mul_(b).add_(1 - b, grad)`, of which optimizers written by hand are full.
    Of torchvision it knows `pretrained=` of the models, which newer ones call `weights=`. Of schedulers of torch it tells
    `get_lr()` outside of them, which computes the rate anew instead of telling it, and `step(epoch)`. `resize(...)` of a tensor,
    and of the functions also `K.cholesky()` and the like of what is known to be a tensor.
    Which versions warn is measured on torch 1.11 to 2.15, and the newest that the project allows decides (2.13 if it names none).
    What that version does not have any more is TL902's.

    ## Why is this slow?

    Most are not slower than what takes their place, but each will stop working one day, and most warn until then.

    ## When it does not matter

    In code for old versions of torch only, which is why the range of the project counts; and where the oldest torch that it
    names (`torch>=1.6`) does not have yet what takes the place (`torch.testing.assert_close` came with 1.9, `weights=` of
    torchvision with 1.12): to follow would be to give that torch up.
    Names that only the documentation deprecates, such as `torch.norm` and `torch.svd`, are not reported: nothing warns,
    and nobody has said that they will go.
    Where the successor came with the deprecation itself (`torch.distributed.all_gather_single` in torch 2.13), a project
    that allows an older torch, or does not say which it is for, is not told.
    An epoch that a scheduler is given once, behind `load_state_dict()` of what else a checkpoint has, brings it to where it was.
    Compatibility shims (`try: ... except ImportError`, `hasattr(torch, ...)`) are not reported, nor is a call without an
    argument that another branch gives to the same function.

    ## Bad

    ```python
    x, y = torch.meshgrid(a, b)  # TL903
    torch.nn.init.xavier_uniform(weight)  # TL903
    weight.add_(-0.1, weight)  # TL903
    ```

    ## Good

    ```python
    x, y = torch.meshgrid(a, b, indexing="ij")  # ok
    torch.nn.init.xavier_uniform_(weight)  # ok
    weight.add_(weight, alpha=-0.1)  # ok
    ```

    ## Fix safety

    Written only where the new name takes the given arguments and gives the same, and `import torch` is added where it is
    missing; the fix is unsafe where the project allows versions of torch that do not have the new name, and, where it
    says nothing of torch, if a release of the last three years does not have it. It is also unsafe for `torch.cholesky`,
    whose errors differ, for a `torch.qr` whose result is kept as a whole, for `NLLLoss2d`, and for `functional_call` with
    parameters that are not known to be a dictionary.
    `scheduler.get_lr()` becomes `get_last_lr()`, which is unsafe: behind a step that changes the rate they differ.
    An argument without effect is left out where it has none in any torch that the project allows.
    Names whose successor differs are reported without a fix.
    A number goes behind the tensors, by keyword: torch calls the same kernel. That is unsafe where only the name and the
    number tell that the object is a tensor, or where classes of the project have such a method and the object may be one of theirs, and where a call among the arguments, run before the number is looked up,
    may change it.

    ## References

    - https://docs.pytorch.org/docs/stable/torch.html
    - https://docs.pytorch.org/docs/stable/func.migrating.html
    - https://docs.pytorch.org/docs/stable/generated/torch.meshgrid.html
    - https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/deprecated.yaml
    """
    if site.shim:
        return
    if isinstance(site.target, ast.Call) and (roles := roles_of(site.name, len(site.call.args))) is not None:
        yield from _number_first(site, roles)
        return
    if site.name in (".get_lr()", ".step()"):
        yield from _of_scheduler(site)
        return
    if site.name == ".resize()":
        yield from _of_tensor(site)
        return
    if site.name.startswith(".") and site.name[1:].removesuffix("()") in METHODS:
        yield from _of_function(site, site.name[1:].removesuffix("()"))
        return
    if site.name.endswith("()"):
        name = _inherited(site) if site.name == ".__init__()" else site.name.removesuffix("()")
        yield from _arguments(site, name)
        return
    entry = NAMES[site.name]
    assert isinstance(site.target, ast.expr)
    call = syntax.called(site.flow, site.target)
    warned = _warned(site, entry.name, entry.renamed_in)
    if (call is None and not entry.attribute) or syntax.from_shim(site.function, site.target) or warned is None:
        return
    yield site.finding(
        f"`{site.text()}` is deprecated{since(warned, site.name)} and warns; use {entry.instead}{_from(site, entry)}",
        at=call if call is not None and not entry.attribute else site.target,
    )


def _of_tensor(site: Site) -> Iterator[Finding]:
    """`x.resize(4, 4)` of a tensor: pictures and arrays have such a method, too."""
    if site.receiver.kind == "tensor" and site.receiver.proven and not site.receiver.other_kinds:
        yield site.finding(f"`{site.short()}` is deprecated and warns on every call; use `reshape`")


def _of_function(site: Site, method: str) -> Iterator[Finding]:
    """`x.cholesky()` of a tensor, which is `torch.cholesky(x)`: objects of other classes have such methods, too."""
    entry = NAMES[f"torch.{method}"]
    if site.receiver.kind != "tensor" or not site.receiver.proven or site.receiver.other_kinds:
        return
    if (warned := _warned(site, entry.name, entry.renamed_in)) is not None and _is_made_tensor(site, site.part("x")):
        yield site.finding(
            f"`{site.short(site.call.func)}` is deprecated{since(warned, f'torch.{method}')} and warns; use {entry.instead}"
        )


def _is_made_tensor(site: Site, node: ast.expr) -> bool:
    """Whether what makes it is known to give a tensor: linear operators are used like tensors, and added to them."""
    if site.surely_tensor(node):
        return True
    if isinstance(node, ast.Name):
        given = assigned(site.function, node)
        return given is not None and _is_made_tensor(site, given)
    if isinstance(node, ast.BinOp):
        return all(site.value(side).kind == "number" or _is_made_tensor(site, side) for side in (node.left, node.right))
    value = site.value(node)
    if not isinstance(node, ast.Call) or not value.is_tensor:
        return value.is_tensor and value.parameter
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return owner is None or site.value(owner).kind != "tensor" or _is_made_tensor(site, owner)


def _of_scheduler(site: Site) -> Iterator[Finding]:
    """`scheduler.get_lr()`, which computes the rate of the next step, and `scheduler.step(epoch)`."""
    if site.torch is None or site.torch.high <= LAST_RATE or (site.name == ".get_lr()" and site.lacks(LAST_RATE)):
        return
    owner = site.value(site.part("x"))
    if owner.kind != "scheduler" or not owner.proven:
        return
    if site.name == ".get_lr()" and owner.class_name in COMPUTED:
        yield site.finding(
            f"`{site.short()}` is for the scheduler itself and warns since torch 1.4: it computes the rate anew, which may be "
            "another than the one in use; use `get_last_lr()`"
        )
    elif site.name == ".step()" and owner.class_name in STEPPED and not is_constant(site.part("epoch"), None):
        if resumed.is_resumed(site.function, site.call):
            return  # it warns once, and no `step()` without an epoch does the same
        yield site.finding(
            f"the epoch in `{site.short()}` is deprecated since torch 1.4 and warns; call `step()` once an epoch, "
            "behind the optimizer's steps"
        )


def _inherited(site: Site) -> str:
    """The class of torch whose constructor `super().__init__(...)` runs; "" where that is not known."""
    klass = site.function.cls
    own = klass is not None and site.function.name == "__init__" and syntax.is_super(site.part("x"))
    return site.project.constructor_of_torch(klass) if own and klass is not None else ""


def _arguments(site: Site, name: str) -> Iterator[Finding]:
    func = site.text(site.call.func)
    for entry, given in _given(site, name):
        value = given.value if isinstance(given, ast.keyword) else given
        if (
            (warned := _warned(site, entry.name, entry.renamed_in)) is not None
            and not is_constant(_written(site, value), None)
            and not _is_default(site, entry, value)
            and not syntax.has_twin(site.flow, site.call, entry.successor or entry.rename)
        ):
            yield site.finding(
                f"`{entry.keyword}` of `{func}` is deprecated{since(warned, site.name)} and warns; use {entry.instead}",
                at=given,
                told=Argument(entry, given if isinstance(given, ast.keyword) else None),
            )
    missing = REQUIRED.get(name)
    if missing is None or site.spread or site.argument(missing.keyword, missing.position) is not None:
        return
    came = api_table.there(f"{missing.function}({missing.keyword})") if missing.given else api_table.ALWAYS
    if (warned := _warned(site, missing.name, came)) is not None and not syntax.has_twin(
        site.flow, site.call, missing.keyword
    ):
        message = f"`{func}` without `{missing.keyword}` is deprecated{since(warned, site.name)} and warns"
        there = site.from_torch(came) if missing.given else ""
        message += f"; it takes it{there}" if there else ""
        yield site.finding(message, told=Argument(missing))


def _given(site: Site, name: str) -> Iterator[tuple[Keyword, ast.keyword | ast.expr]]:
    """The deprecated arguments that a call gives; those of a base's constructor by their names alone, which has the object in front."""
    of_base = site.name == ".__init__()"
    return ((entry, at) for entry, at in arguments_of(site.call, name) if not of_base or isinstance(at, ast.keyword))


def _is_default(site: Site, entry: Keyword, given: ast.expr) -> bool:
    """Whether an argument is the value that torch does not warn of, as it stands there or as a parameter has it by default."""
    node = _written(site, given)
    return entry.unwarned is not None and isinstance(node, ast.Constant) and node.value == entry.unwarned


def _written(site: Site, given: ast.expr) -> ast.expr | None:
    """An argument as it stands there, or what a parameter is by default."""
    return site.function.defaults.get(given.id) if isinstance(given, ast.Name) else given


def _number_first(site: Site, roles: Given) -> Iterator[Finding]:
    """`x.add_(2, y)`: a signature from before torch 1.5."""
    if site.torch is None or site.torch.high <= _NUMBERS_BEHIND or site.lacks(FIRST_SUCCESSORS):
        return
    args = site.call.args
    tensors = [arg for name, arg in zip(roles, args, strict=True) if not name]
    if site.call.keywords or site.spread or not all(site.value(one).kind in ("tensor", "unknown") for one in tensors):
        return
    if site.name.startswith(".") and not _is_tensors(site, args[0]):
        return
    if site.name in TAKES_DTYPE and site.value(args[0]).kind != "number" and not site.value(args[-1]).is_tensor:
        return  # `torch.addmm(x, a, b, dtype)` of today
    numbers = [f"`{name}=`" for name in roles if name]
    what = "numbers" if len(numbers) > 1 else "a number"
    yield site.finding(
        f"`{site.short()}` gives {what} before the tensors, which is deprecated and warns; give {' and '.join(numbers)} behind them"
    )


def _is_tensors(site: Site, first: ast.expr) -> bool:
    """Whether a method is torch's: of a tensor, or of what nobody knows, by a name of torch alone with a number in front."""
    owner = site.value(site.part("x"))
    if owner.is_tensor:
        return site.value(first).kind in ("number", "unknown", "tensor")
    if owner.kind not in ("tensor", "unknown") or site.name in (".add()", ".sub()"):
        return False
    while isinstance(first, ast.UnaryOp):
        first = first.operand
    sides = (first.left, first.right) if isinstance(first, ast.BinOp) else (first,)  # `1 - beta`
    return any(site.value(side).kind == "number" for side in sides)


def _from(site: Site, entry: Entry) -> str:
    """From which torch on there is what a message advises, where the project may run on an older one."""
    allowed = site.allowed_torch
    if not (entry.rename or entry.successor) or allowed is None or allowed.low >= entry.renamed_in:
        return ""
    aside = "," if "," in entry.instead else ""  # behind `f`, which takes a list
    return f"{aside} from torch {entry.renamed_in[0]}.{entry.renamed_in[1]} on"


def _warned(site: Site, name: str, came: tuple[int, int]) -> tuple[int, int] | None:
    """Since which version the newest torch that the place is reached under warns; None where it does not, or the oldest has nothing else."""
    if site.lacks(max(came, FIRST_SUCCESSORS)):
        return None
    warned = warns_since(name, site.torch) if site.torch is not None else None
    if warned is None or site.torch is None or name not in _NEW_SUCCESSOR or site.torch.low > warned:
        return warned
    # A project that says nothing is taken for one of the latest torch; it need not leave the older ones behind.
    return warned if site.torch.low == warned and site.settings.target_torch is not None else None
