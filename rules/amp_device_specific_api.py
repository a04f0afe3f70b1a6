from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import amp, api_table, syntax
from torchlint.rule import Finding, Site, plain, rule

_INSTEAD = {"apex.amp.initialize()": "`torch.autocast`", "apex.amp.scale_loss()": "`GradScaler.scale`"}
"""What apex had before torch, and what torch has in its place."""


@rule(
    "TL901",
    shape=plain(*amp.OLD, *_INSTEAD),
    severity="info",
    fix="safe",
    torch=">=2.4",
    category="migration",
    confirmed_by=("warning:FutureWarning",),
)
def amp_device_specific_api(site: Site) -> Iterator[Finding]:
    """Mixed precision through the deprecated modules `torch.cuda.amp` and `torch.cpu.amp`.

    ## What it does

    Finds calls of `autocast` and `GradScaler`, by a name of one's own too (`context = torch.cuda.amp.autocast`), and uses of the decorators `custom_fwd` and `custom_bwd`, from
    `torch.cuda.amp` and `torch.cpu.amp`; and `initialize` and `scale_loss` of NVIDIA's `apex.amp`, which apex no longer has.
    `torch.amp` has all of them for every device since torch 2.4.

    ## Why is this slow?

    It is not, but each use raises a `FutureWarning` since torch 2.4, in a training loop on every step, and the old names
    are going to be removed. `apex.amp` warned from 2022 on, and was removed in April 2025.

    ## When it does not matter

    In code that must run on torch before 2.4.
    There `torch.autocast("cuda", ...)` already works in place of `torch.cuda.amp.autocast(...)`.
    Compatibility shims (`try: ... except ImportError`, `hasattr(torch.amp, ...)`) are not reported, nor is `apex.amp` in a
    file that has torch's way beside it.

    ## Bad

    ```python
    scaler = torch.cuda.amp.GradScaler(enabled=True)  # TL901
    with torch.cuda.amp.autocast(dtype=torch.float16):  # TL901
        loss = model(x)
    ```

    ## Good

    ```python
    scaler = torch.amp.GradScaler("cuda", enabled=True)  # ok
    with torch.amp.autocast("cuda", dtype=torch.float16):  # ok
        loss = model(x)
    ```

    ## Fix safety

    Writes the name in `torch.amp` with the device, and positional arguments of `autocast` as keywords, whose order is
    another one there.
    An `autocast` without a dtype gets the one that it has had, `torch.float16` or on the CPU `torch.bfloat16`: the new one
    would take that of an autocast around it. Where the project switches the cache of casts off, `cache_enabled=True`
    is written for the same reason.
    An import that gives nothing but these names is changed together with all their uses; where that can't be done the
    use is written out as `torch.amp.autocast(...)`.
    The fix is unsafe where the project allows a torch that lacks the new name (`GradScaler` came with 2.3, `custom_fwd`
    and `custom_bwd` with 2.4) or does not say which torch it is for, where it asks for the class of an object
    (`isinstance(..., GradScaler)`), where the object is printed, passed on or kept in a list and so may show its class,
    and where `**options` may leave out the dtype.
    Nothing is written where `*arguments` hide what is given.

    ## References

    - https://docs.pytorch.org/docs/stable/amp.html
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    - https://github.com/NVIDIA/apex/pull/1896
    """
    target = site.target
    assert isinstance(target, ast.expr)
    if site.name in _INSTEAD:
        if not site.source.holds(amp.NATIVE):
            what = f"`{site.text(site.call.func)}` is gone from apex since 2025"
            yield site.finding(f"{what}; {_INSTEAD[site.name]} of torch does it")
        return
    use = amp.use_of(site.flow, target) or (target if amp.called_later(site.flow, target) else None)
    if use is None or site.shim or syntax.from_shim(site.function, target):
        return
    old = amp.split(site.name)
    new = f"torch.amp.{old[1]}"
    beside = site.once(
        (new, site.function), lambda: [one for one in site.flow.calls_named(old[1]) if site.resolve(one.func) == new]
    )
    if any(syntax.exclusive(site.flow, one, target) for one in beside):
        return  # the branch for a torch that does not have it
    there = site.from_torch(api_table.there(f"torch.amp.{old[1]}"))
    yield site.finding(
        f"`{site.text()}` is deprecated since torch 2.4 and warns on every use; `{amp.form(old)}` takes its place{there}",
        at=use,
    )
