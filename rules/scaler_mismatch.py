from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import by_constants, syntax
from torchlint.facts.module import Function
from torchlint.facts.nodes import is_constant, string
from torchlint.rule import Finding, Site, plain, rule
from torchlint.rule.lazy import regex

_SCALERS = {"torch.amp.GradScaler()", "torch.cuda.amp.GradScaler()"}
_AUTOCASTS = frozenset(("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast"))
_SCALES = regex(
    rb"[Ss]caler|scale_loss|[Aa]ccelerat(?:e|or)\b|\bfabric\b|[Ll]ightning|deepspeed|set_autocast|loss_scale"
)
_SETS_DEFAULT = "set_autocast_dtype"
_HALF = frozenset(("torch.float16", "torch.half"))
_OTHER_SCALES = regex(rb"float16|\bhalf\b")
_GRADIENTS_ON = regex(rb"enable_grad\b")


@rule(
    "TL605",
    shape=[*plain(*_SCALERS), *(f"{name}(...)" for name in _AUTOCASTS)],
    torch=">=1.6",
    category="precision",
    principle=("precision",),
)
def scaler_mismatch(site: Site) -> Iterator[Finding]:
    """Loss scaling where the type of autocast needs none, or none where it needs it.

    ## What it does

    Finds an enabled `GradScaler` in a file that uses autocast with `torch.bfloat16` only, also by `torch.set_autocast_dtype` at the top of the file, or where a constant chooses it from a
    dictionary (`{"float16": torch.float16, "bfloat16": torch.bfloat16}[dtype]` behind `dtype = "bfloat16"`), and training steps under autocast
    with `torch.float16` (the default on CUDA) whose backward pass no scaler scales.

    ## Why is this slow?

    bfloat16 has the range of float32, so its gradients do not underflow; the scaler multiplies, checks every gradient for
    infinity, and reads the answer back to the host in each step, for which the host waits.
    float16 without scaling is wrong rather than slow: small gradients become zero, and the training stalls.

    ## When it does not matter

    In inference there are no gradients: the type of an autocast that is entered with autograd off does not count.
    With an optimizer that is fused the scaler does not wait for the device.
    Where the type is chosen at run time, or a framework owns the scaler (accelerate, fabric, lightning, deepspeed),
    nothing is reported.

    ## Bad

    ```python
    scaler = torch.amp.GradScaler("cuda")  # TL605
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Good

    ```python
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):  # ok
            loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """
    if site.name in _SCALERS:
        if not site.spread and _is_true(site.argument("enabled")) and _only_bfloat16(site):
            yield site.finding(
                f"`{site.short()}` scales for a range that bfloat16 does not lack, and waits for the device on every step"
            )
    elif site.hot is not None and not site.grad_off and _is_half(site) and _entered(site):
        backward = next((call for call, _ in syntax.method_calls(site.flow, "backward")), None)
        if backward is not None and not backward.args and not site.code_holds(_SCALES):
            yield site.finding(
                f"`{site.short()}` computes in float16, and no `GradScaler` keeps the gradients from becoming zero",
                related=(site.related(site.function, backward, "the gradients are computed here"),),
            )


def _is_true(given: ast.expr | None) -> bool:
    return given is None or is_constant(given, True)


def _autocasts(site: Site) -> Iterator[tuple[Function, ast.Call]]:
    for function in site.module.functions:
        for call in function.flow.calls:
            if site.project.resolve(function, call.func) in _AUTOCASTS:
                yield function, call


def _only_bfloat16(site: Site) -> bool:
    types, text = list[str](), site.code()
    for function, call in _autocasts(site):
        place = site.at(function, call)
        found, tables = _chosen(place)
        if found != "torch.bfloat16" and _is_without_gradients(place):
            text = text.replace(place.code(place.call), b"")
            continue
        types.append(found)
        for table in tables:  # the types that are not chosen
            text = text.replace(place.code(table), b"")
    return bool(types) and set(types) == {"torch.bfloat16"} and not _OTHER_SCALES.search(text.replace(b"bfloat16", b""))


def _is_without_gradients(site: Site) -> bool:
    """Whether autocast is entered, or decorates a function, where autograd is off: what is computed there needs no scaler."""
    if site.code_holds(_GRADIENTS_ON):
        return False  # inside of what is off something may be trained
    around = site.flow.parents.get(site.call)
    if isinstance(around, ast.withitem):
        entered = site.flow.parents[around]
        assert isinstance(entered, ast.With | ast.AsyncWith)
        return site.analysis.context.grad_off(site.function, entered.body[0])
    decorated = next((one for one in site.module.functions if site.call in one.decorators), None)
    return decorated is not None and site.analysis.context.function_off(decorated)


def _chosen(site: Site) -> tuple[str, list[ast.Dict]]:
    """The type given to autocast, where constants of the program choose it, and the dictionaries that they choose it from."""
    given = None if site.spread else site.argument("dtype", 1)
    if given is None:
        return _by_default(site) or _dtype(site), []
    node, tables = by_constants.chosen(site, given)
    return site.resolve(node) or "?", tables


def _by_default(site: Site) -> str | None:
    """The type that the top of the file has autocast take by default: `torch.set_autocast_dtype("cuda", torch.bfloat16)`."""
    device, top = site.argument("device_type", 0), site.module.body
    set_there = [call for call in top.flow.calls_named(_SETS_DEFAULT) if not any(top.flow.guards(call))]
    if site.spread or len(set_there) != 1 or site.code().count(_SETS_DEFAULT.encode()) != 1:
        return None
    match set_there[0]:
        case ast.Call(args=[kind, dtype], keywords=[]) if (
            device is not None and string(kind) == string(device) is not None
        ):
            return site.project.resolve(top, dtype)
    return None


def _dtype(site: Site) -> str:
    """The dotted name of the type given to autocast; "" where it is the default, "?" where it is chosen at run time."""
    if site.spread:
        return "?"
    given = site.argument("dtype", 1)
    return "" if given is None else site.resolve(given) or "?"


def _is_half(site: Site) -> bool:
    dtype = _dtype(site)
    if dtype:
        return dtype in _HALF and _on(site)
    device = site.argument("device_type", 0)
    cuda = site.name == "torch.cuda.amp.autocast()" or (isinstance(device, ast.Constant) and device.value == "cuda")
    return cuda and _on(site)


def _on(site: Site) -> bool:
    """Whether autocast is not switched by an argument."""
    if site.name == "torch.cuda.amp.autocast()" and site.call.args:
        return _is_true(site.call.args[0])
    return _is_true(site.argument("enabled", 2 if site.name != "torch.cuda.amp.autocast()" else 0))


def _entered(site: Site) -> bool:
    return isinstance(site.flow.parents.get(site.target), ast.withitem)
