"""Runs programs under torch and tells everything about them that a caller could tell; the child process of the judge.

    python child.py        reads one JSON list of requests a line, writes one JSON list of answers a line

A request is a program before and after its fix, and the situation to call its `run(x, y)` in. The answer holds what was
seen of both, in plain data. All of it happens in one process, each run in a namespace of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import os
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

Seen = dict[str, Any]
_OF_THE_MACHINE = re.compile("never awaited|Dynamo does not know how")
"""Warnings that come when memory is freed, and the compiler's about its own limits."""


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what torch itself prints must not come between the answers

    torch.set_num_threads(1)
    torch.set_warn_always(True)
    for line in sys.stdin:
        print(json.dumps([answer(request) for request in json.loads(line)]), file=out, flush=True)


def answer(request: dict[str, Any]) -> dict[str, Seen]:
    """What a program and its fixed version show, and where that differs what the program shows the next time."""
    global _unwritten
    before, after = (compile(request[which], f"<{which}>", "exec") for which in ("before", "after"))
    situation = request["situation"]
    _unwritten = situation["second"] == "meta" and any(word in request["before"] for word in _PRODUCTS)
    one, other = observed(before, situation), observed(after, situation)
    return {"before": one, "after": other, "again": one if one == other else observed(before, situation)}


def observed(code: Any, situation: dict[str, Any]) -> Seen:
    """All that can be seen of one call of `run`: results, inputs, what later writes and a backward pass do to them."""
    seen: Seen = {}
    _settle()
    torch.manual_seed(0)
    random.seed(0)
    x, leaf = tensor(situation, situation["grad"])
    y, other_leaf = second(situation, x)
    namespace: dict[str, Any] = {"__name__": "program"}
    result: list[Any] = []

    def call() -> None:
        exec(code, namespace)  # noqa: S102
        run = namespace["run"]
        if situation["ambient"].startswith("compiled"):
            run = torch.compile(run, backend=situation["ambient"].split()[1])
        with ambient(situation["ambient"]):
            result.append(_settled(run(x, y)))

    def tell() -> list[Any]:
        return described([*result, x, y, leaf.grad, other_leaf.grad], {})  # type: ignore[no-any-return]

    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as told, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        for name, step in (
            ("call", call),
            ("then", lambda: afterwards(situation["then"], result, x, y)),
            ("backward", lambda: backward(result)),
        ):
            seen[f"{name} raises"] = _raised(step)
            seen[f"after {name}"] = tell()
    seen["printed"] = _plain(printed.getvalue())
    seen["calls"] = list(namespace.get("CALLS", ()))
    seen["state"] = _state()
    kinds = {f"{one.category.__name__}: {_class_of(str(one.message))}" for one in told}
    seen["warnings"] = sorted(kind for kind in kinds if not _OF_THE_MACHINE.search(kind))
    return seen


def _state() -> list[str]:
    """What a program may have left switched on, and where the random numbers stand."""
    held = [torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()]
    held += [torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")]
    # `torch.get_default_device()` of torch before 2.10 raises where no default device is left.
    held += [torch.empty(0).device, torch.are_deterministic_algorithms_enabled()]
    _settle()
    return [*map(str, held), str(torch.rand((), dtype=torch.float64).item()), str(random.random())]


def _settle() -> None:
    """Everything that a program can switch on as it was."""
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_enabled("cuda", False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_dtype("cuda", torch.float16)
    if torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(False)
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()


def _settled(value: Any) -> Any:
    """Coroutines and generators run to their end."""
    if inspect.iscoroutine(value):
        return _settled(asyncio.run(value))
    return list(value) if inspect.isgenerator(value) else value


def _raised(step: Callable[[], None]) -> str:
    try:
        step()
    except Exception as error:  # noqa: BLE001 - whatever a program raises is compared
        return f"{type(error).__name__}: {_class_of(str(error))}"
    return ""


def _class_of(message: str) -> str:
    """The first sentence of a message, without the numbers, names and arguments that are in it."""
    first = re.sub(r"\([^()]*\)", "()", (message.strip() or " ").splitlines()[0])
    first = re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "Q", first))
    return re.split(r"(?<=\w)\.\s", first)[0][:120]


def _plain(text: str) -> str:
    """Text without addresses, and without the names of autograd's nodes, which tell how torch calculates, not what."""
    return re.sub(r"grad_fn=<\w+>", "grad_fn", re.sub(r"0x[0-9a-f]+", "0x", text))


# What goes in


def tensor(spec: dict[str, Any], grad: str, device: str = "cpu") -> tuple[Any, Any]:
    """A tensor as a situation describes it, and the leaf that its gradients go to."""
    dtype = getattr(torch, spec["dtype"])
    differentiable = dtype.is_floating_point or dtype.is_complex
    leaf = _laid_out(_filled(spec["dims"], dtype, spec["layout"]), spec["layout"])
    grad = grad if differentiable else "none"
    if spec["layout"] == "sparse" and grad == "saved":
        grad = "non-leaf"  # a sparse tensor has no exp()
    if spec["layout"] == "meta":
        leaf = leaf.to("meta")
    if spec["layout"] == "parameter" and differentiable:
        leaf = torch.nn.Parameter(leaf, requires_grad=grad != "none")
    elif spec["layout"] == "subclass":
        leaf = leaf.as_subclass(_subclass())
    if grad != "none":
        leaf.requires_grad_()
    made = {"none": lambda: leaf, "leaf": lambda: leaf, "non-leaf": lambda: leaf * 1, "saved": lambda: leaf.exp()}
    return made[grad](), leaf


def second(spec: dict[str, Any], x: Any) -> tuple[Any, Any]:
    """The other tensor: like the first, of another type, of another shape, on another device, or the first itself."""
    if spec["second"] == "same":
        return x, x
    plain = {**spec, "layout": "contiguous"}
    if spec["second"] == "other dtype":
        plain["dtype"] = "float64" if spec["dtype"] != "float64" else "int32"
    if spec["second"] == "scalar":
        plain["dims"] = 0
    y, leaf = tensor(plain, "leaf" if spec["grad"] != "none" else "none")
    if spec["second"] == "meta":
        y = leaf = torch.empty_like(leaf, device="meta")
    return y, leaf


def _filled(dims: int, dtype: Any, layout: str) -> Any:

    shape = (2, 3, 2, 2)[:dims]
    if layout == "empty" and dims:
        shape = (*shape[:-1], 0)
    count = 1
    for size in shape:
        count *= size
    values = torch.arange(count, dtype=torch.float64).reshape(shape) * 0.75 - 1.5
    if dtype == torch.uint8:
        values = values.abs()
    return values.to(dtype) * (1 + 0.5j) if dtype.is_complex else values.to(dtype)


def _laid_out(made: Any, layout: str) -> Any:

    dims = made.dim()
    if layout == "transposed" and dims > 1:
        return made.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "permuted" and dims > 1:
        return made.transpose(0, -1)
    if layout == "expanded" and dims:
        return made[:1].expand(made.shape)
    if layout == "sliced" and dims:
        return torch.stack([made, made], -1)[..., 0]
    if layout == "offset" and dims:
        return torch.cat([made[:1], made])[1:]
    if layout == "channels last" and dims == 4:
        return made.contiguous(memory_format=torch.channels_last)
    if layout == "conjugated" and made.is_complex():
        return made.conj()
    if layout == "sparse" and dims:
        return made.to_sparse()
    return made


_SUBCLASSES: list[Any] = []


def _subclass() -> Any:
    """One class of tensors of a program's own."""
    if not _SUBCLASSES:
        _SUBCLASSES.append(type("Tagged", (torch.Tensor,), {}))
    return _SUBCLASSES[0]


_PRODUCTS = (" @ ", "matmul(")
_unwritten = False
"""Whether a tensor of the host is multiplied with one of `meta`: torch gives memory as it was found (`torch.mm` of 2.13)."""
_undefined = False
"""Whether what is made is made on `meta`: an index from there selects nothing, and the result is memory as it was found."""


@contextlib.contextmanager
def ambient(name: str) -> Iterator[None]:
    """What is switched on around the call, where the program's text doesn't show it."""
    global _undefined
    _undefined = name.endswith("meta")
    contexts: dict[str, Callable[[], Any]] = {
        "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
        "autocast to float16": lambda: torch.autocast("cpu", torch.float16),
        "autocast for cuda": lambda: torch.autocast("cuda", torch.bfloat16, enabled=True),
        "device meta": lambda: torch.device("meta"),
        "device cpu": lambda: torch.device("cpu"),
        "inference mode": torch.inference_mode,
        "no grad": torch.no_grad,
        "anomaly": torch.autograd.detect_anomaly,
        "late copies": _late_copies,
    }
    if name == "default float64":
        torch.set_default_dtype(torch.float64)
    if name == "default device meta":
        torch.set_default_device("meta")
    if name == "deterministic":
        torch.use_deterministic_algorithms(True)
    try:
        with contexts.get(name, contextlib.nullcontext)():
            yield
    finally:
        torch.set_default_device(None)


@contextlib.contextmanager
def _late_copies() -> Iterator[None]:
    """A device to which every move copies; what is copied without waiting arrives as late as it can."""
    under_way = []

    class Late(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = kwargs or {}
            if func in (torch.Tensor.to, torch.Tensor.cuda):
                copy = args[0].clone()
                if given.get("non_blocking"):
                    under_way.append((copy, args[0]))
                return copy
            for copy, source in under_way:  # what the device does with a copy waits for it
                if any(copy is one for one in (*args, *given.values())):
                    arrived(copy, source)
            return func(*args, **given)

    def arrived(copy: Any, source: Any) -> None:
        under_way[:] = [pair for pair in under_way if pair[0] is not copy]
        copy.data.copy_(source.data)

    with Late():
        yield
    for copy, source in under_way.copy():
        arrived(copy, source)


# What is done with the results


def tensors(value: Any) -> Iterator[Any]:

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def afterwards(what: str, result: Any, x: Any, y: Any) -> None:
    """What a caller goes on to do, which shows who shares memory with whom and what autograd has kept."""
    actions: dict[str, Callable[[Any], Any]] = {
        "write the result": lambda t: t.zero_(),
        "write by index": lambda t: t.__setitem__(..., 1),
        "write a view": lambda t: t.view(-1)[:1].fill_(1),
        "resize": lambda t: t.resize_(min(t.numel(), 1)),
        "ask for gradients": lambda t: t.requires_grad_(),
        "stop gradients": lambda t: t.requires_grad_(False),
        "write as data": lambda t: t.data.zero_(),
    }
    if what == "write the first":
        x.zero_()
    elif what == "write the first unseen":
        with torch.no_grad():
            x.zero_()
    elif what == "write the second":
        y.zero_()
    elif what in actions:
        for one in tensors(result):
            actions[what](one)


def backward(result: Any) -> None:

    parts = [t for t in tensors(result) if t.requires_grad and t.grad_fn is not None and t.layout == torch.strided]
    if parts:
        total = sum(part.real.double().sum() if part.is_complex() else part.double().sum() for part in parts)
        assert isinstance(total, torch.Tensor)
        (total * 3).backward()  # type: ignore[no-untyped-call]


def described(value: Any, known: dict[int, int]) -> Any:
    """A value as plain data: of tensors all that can be asked, and which of them share memory or are the same object."""
    if isinstance(value, torch.Tensor):
        return _tensor_described(value, known)
    if isinstance(value, torch.nn.Module):
        parts = {**dict(value.named_parameters()), **dict(value.named_buffers())}
        return [type(value).__name__, described(parts, known)]
    if isinstance(value, torch.amp.GradScaler):
        return ["GradScaler", described(value.state_dict(), known)]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(described(item, known) for item in value)]
    if isinstance(value, dict):
        return {str(key): described(item, known) for key, item in value.items()}
    if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
        return [type(value).__name__, str(value.dtype), str(getattr(value, "strides", "")), str(value.tolist())]
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, int | float | complex | bytes | torch.dtype | torch.device | type(None)):
        return f"{type(value).__name__} {value!r}"
    return type(value).__name__


def _tensor_described(t: Any, known: dict[int, int]) -> dict[str, Any]:

    strided = t.layout == torch.strided
    memory = t.untyped_storage()._cdata if strided else id(t)
    return {
        "type": type(t).__name__,
        "dtype": str(t.dtype),
        "shape": list(t.shape),
        "layout": [str(t.layout), *map(str, t.stride() if strided else ()), t.storage_offset() if strided else 0],
        "storage": t.untyped_storage().nbytes() if strided else 0,
        "device": str(t.device),
        "gradient": [_asked(t, "requires_grad"), _asked(t, "is_leaf"), t.is_inference()],
        "bits": [t.is_conj(), t.is_neg()],
        "memory of": known.setdefault(memory, len(known)),
        "object": known.setdefault(id(t), len(known)),
        "values": "" if t.is_meta or _undefined or _unwritten else _values(t),
    }


def _asked(t: Any, attribute: str) -> object:
    """A property that torch refuses to tell of views which were written where it could not follow."""
    try:
        return getattr(t, attribute)
    except RuntimeError as error:
        return _class_of(str(error))


def _values(t: Any) -> str:

    with torch.inference_mode():
        t = t.detach()
        return str(t.to_dense().tolist() if t.layout != torch.strided else t.tolist())


if __name__ == "__main__":
    main()
