from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import api_table, by_dictionary, class_users, syntax
from torchlint.facts.deprecated_table import (
    KEYWORDS,
    LOADER_NEXT,
    METHODS,
    NAMES,
    NON_BLOCKING,
    REQUIRED,
    TOOK_ASYNC,
    Keyword,
    arguments_of,
    since,
)
from torchlint.facts.told import Argument
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_RAISES = (0, 5)
"""The first torch in which a tensor of no dimensions has no element 0."""

_STATIC = (1, 5)
"""The first torch that refuses to call an object of a function of autograd."""
_NAMED_NON_BLOCKING = (0, 4)
_LOADER = "torch.utils.data.DataLoader"


@rule(
    "TL902",
    shape=[
        *NAMES,
        *(f"{name}(...)" for name in (*KEYWORDS, *REQUIRED)),
        "$x.data[0]",
        "$x.next()",
        *(f"$x.{name}(...)" for name in (*TOOK_ASYNC, *METHODS)),
        "class $class($here := torch.autograd.Function, ...): ...",
    ],
    severity="error",
    fix="unsafe",
    numbers="exact",
    category="migration",
)
def removed_api(site: Site) -> Iterator[Finding]:
    """A function or an argument that torch does not have any more.

    ## What it does

    Looks names and arguments up in a table of what is gone: `torch.solve`, `torch.symeig`, `torch.rfft`, also as methods of
    tensors, `torch.onnx.dynamo_export`, `torch.export.export_for_training`, `verbose=` of the learning-rate schedulers, also
    at its place and by a dictionary (`StepLR(optimizer, 30, **{"verbose": True})`), and others; of torchvision `transforms.Scale`, `range=` of `save_image` and `make_grid`, `resample=`, `model_urls`. A call of
    `torch.stft` without `return_complex` counts as well, and `batches.next()` of what `iter` gives for a `DataLoader`.
    Which versions have it is measured on torch 1.11 to 2.15, and the newest that the project allows decides (2.13 if it names none).
    Also `loss.data[0]` of what is known to be a single value, which was its number before torch 0.4, and `x.cuda(async=True)`,
    which was called `non_blocking` then: Python 3.7 and later can't read it. Such a file is linted as if it said `non_blocking`.
    And a `torch.autograd.Function` whose `forward(self, x)` is no static method: to call its object, `Scale(2)(x)`, raises since
    torch 1.5.

    ## Why is this slow?

    It does not run at all: `AttributeError`, `IndexError`, `RuntimeError` or `TypeError`.

    ## When it does not matter

    In code for older versions of torch only; then say so in the project's requirements or in the option `target-torch`.
    Behind `hasattr(torch, ...)`, a comparison of versions, or `try: ... except ImportError` nothing is reported.

    ## Bad

    ```python
    values, vectors = torch.symeig(a, eigenvectors=True)  # TL902
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30, verbose=True)  # TL902
    ```

    ## Good

    ```python
    values, vectors = torch.linalg.eigh(a)  # ok
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)  # ok
    ```

    ## Fix safety

    Where another name takes the same arguments, or another argument means the same, it is written instead, and `verbose` is
    left out.
    `loss.data[0]` becomes `loss.item()`, `batches.next()` becomes `next(batches)`, and `async=` becomes `non_blocking=`.
    All fixes are unsafe: a program that raised runs on, and with `verbose=True` nobody prints the rate. Where the project also
    allows a torch that has the old name, the note says so.

    ## References

    - https://docs.pytorch.org/docs/stable/linalg.html
    - https://github.com/pytorch/pytorch/pull/70988
    - https://github.com/pytorch/pytorch/pull/147301
    - https://docs.pytorch.org/docs/stable/generated/torch.stft.html
    - https://github.com/pytorch/vision/releases/tag/v0.14.0
    """
    if site.shim:
        return
    if site.name == ".data":
        yield from _first_of_one(site)
        return
    if isinstance(klass := site.flow.parents.get(site.target), ast.ClassDef):
        yield from _of_objects(site, klass)
        return
    if site.name == ".next()":
        yield from _next(site)
        return
    if site.name.startswith("."):
        method = site.name[1:].removesuffix("()")
        yield from _of_tensor(site, method) if method in METHODS else _async(site)
        return
    if site.name.endswith("()"):
        yield from _arguments(site, site.name.removesuffix("()"))
        return
    entry = NAMES[site.name]
    assert isinstance(site.target, ast.expr)
    gone = _gone(site, entry.name)
    if gone is None or syntax.from_shim(site.function, site.target) or _probed(site):
        return
    call = syntax.called(site.flow, site.target)
    yield site.finding(
        f"`{site.text()}` is gone{since(gone, site.name)}; use {entry.instead}",
        at=call if call is not None else site.target,
    )


def _arguments(site: Site, name: str) -> Iterator[Finding]:
    missing = REQUIRED.get(name)
    if (
        missing is not None
        and not site.spread
        and site.argument(missing.keyword, missing.position) is None
        and (gone := _gone(site, missing.name)) is not None
        and not syntax.has_twin(site.flow, site.call, missing.keyword)
    ):
        yield site.finding(
            f"`{site.text(site.call.func)}` of what is not complex raises without `{missing.keyword}`{since(gone, name)}"
        )
    for entry, given in _given(site, name):
        if (gone := _gone(site, entry.name)) is not None and not syntax.has_twin(
            site.flow, site.call, entry.successor or entry.rename
        ):
            func = site.text(site.call.func)
            yield site.finding(
                f"`{func}` does not take `{entry.keyword}`{since(gone, site.name)}; use {entry.instead}",
                at=given,
                told=Argument(entry, given if isinstance(given, ast.keyword) else None),
            )


def _given(site: Site, name: str) -> Iterator[tuple[Keyword, ast.keyword | ast.expr]]:
    """The arguments that a call gives, also by a dictionary: `StepLR(optimizer, 30, **{"verbose": True})`."""
    yield from arguments_of(site.call, name)
    if any(keyword.arg is None for keyword in site.call.keywords):
        held = by_dictionary.given(site.function, site.call, site.resolve)
        yield from ((entry, site.call) for keyword, entry in KEYWORDS.get(name, {}).items() if keyword in held)


def _of_tensor(site: Site, method: str) -> Iterator[Finding]:
    """`a.symeig()` of a tensor: objects of other classes have methods such as `solve`, too."""
    entry = NAMES[f"torch.{method}"]
    if site.receiver.kind != "tensor" or not site.receiver.proven or site.receiver.other_kinds:
        return
    if (gone := _gone(site, entry.name)) is not None:
        yield site.finding(f"`{site.short(site.call.func)}` is gone{since(gone)}; use {entry.instead}")


def _async(site: Site) -> Iterator[Finding]:
    if site.torch is None or site.torch.high < _NAMED_NON_BLOCKING:
        return
    for given in site.call.keywords:
        if given.arg == NON_BLOCKING and site.text(given).startswith("async"):
            yield site.finding(
                f"`{site.short()}` can't be read by Python 3.7 and later; the argument is called `{NON_BLOCKING}` since torch 0.4",
                at=given,
            )


def _of_objects(site: Site, definition: ast.ClassDef) -> Iterator[Finding]:
    """`class Scale(Function)` with `def forward(self, x)`, of which the project calls objects and no `Scale.apply`."""
    klass, name = site.module.class_of.get(definition), definition.name
    forward = klass.methods.get("forward") if klass is not None else None
    if forward is None or forward.own_name != "self" or site.torch is None or site.torch.high <= _STATIC:
        return
    users = class_users.naming(site, name)
    applied = regex(rb"\b%s\.apply\b" % name.encode())
    if any(class_users.makes(one, name) for one in users) and not any(one.holds(applied) for one in users):
        yield site.finding(
            f"objects of `{name}` can't be called since torch 1.5: `forward` has to be a static method that is given `ctx`, "
            f"and `{name}.apply` runs it",
            at=definition,
        )


def _next(site: Site) -> Iterator[Finding]:
    """`batches.next()` of what `iter(loader)` gives: Python 2's name, which loaders of torch had up to 1.12."""
    owner = site.value(site.part("x"))
    loader = owner.kind == "loader" and owner.proven and not owner.managed and owner.class_name == _LOADER
    if loader and (gone := _gone(site, LOADER_NEXT)) is not None:
        yield site.finding(
            f"the iterator of a loader has no `next`{since(gone)}; use `next({site.short(site.part('x'))})`"
        )


def _first_of_one(site: Site) -> Iterator[Finding]:
    """`loss.data[0]`: a single value had one dimension before torch 0.4, which warned of it; since 0.5 this raises."""
    read = site.flow.parents[site.target]
    assert isinstance(read, ast.Subscript)
    value = site.value(site.part("x"))
    if value.kind != "tensor" or not value.is_tensor or not value.scalar or not isinstance(read.ctx, ast.Load):
        return
    if any(_asks_for_item(guard.test) for guard in site.flow.guards(read)):
        return
    if site.torch is not None and site.torch.high > _RAISES:
        yield site.finding(
            f"`{site.short(read)}` raises since torch 0.5, as a single value has no dimensions; use `.item()`", at=read
        )


def _asks_for_item(test: ast.expr) -> bool:
    """`hasattr(loss, "item")`."""
    return any(isinstance(part, ast.Constant) and part.value == "item" for part in ast.walk(test))


def _gone(site: Site, name: str) -> tuple[int, int] | None:
    """Since which version the newest torch that the place is reached under does not have the name; None where it does."""
    return api_table.gone(name, site.torch) if site.torch is not None else None


def _probed(site: Site) -> bool:
    """Whether the name is stored to, such as in a patch for old versions."""
    return isinstance(getattr(site.target, "ctx", None), ast.Store | ast.Del)
