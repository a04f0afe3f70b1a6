"""What operators do when they are called: torch's own samples (OpInfo), run on torchlint's virtual GPU.

Each sample is one observation: of which dtype the result is, whether it lies in the memory of an input, whether the
host waited, whether a shape depends on values. What holds in all observations of an operator, or follows an argument,
becomes a column of the table.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch  # noqa: TID251
from torch.testing._internal.common_methods_invocations import op_db  # noqa: TID251
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: TID251
from torch.utils._pytree import tree_leaves, tree_map_only  # noqa: TID251

from torchlint.trace.eager.virtual import virtual_gpu

Column = str | bool | None
SAMPLES = 20
"""How many samples of an operator are run for each dtype, at most."""
DTYPES = (torch.float32, torch.int64)
NOT_ALIASES = {"max": {"maximum"}, "min": {"minimum"}}
"""What OpInfo calls an alias and is none of the reductions of that name."""
SOMETIMES = "sometimes"


@dataclass
class Observation:
    """One call of an operator."""

    given: dict[str, Any]
    """The arguments by name, a tensor as its class; those without a name by their number."""
    alone: bool
    """Whether the result is one tensor."""
    waits: bool
    dynamic: bool
    """Whether it ran an operator of which torch says that the shape of its result depends on values."""
    aliased: bool
    """Whether the result lies in the memory of an input."""
    saves: bool
    """Whether backward fails after the result was changed in place."""
    inputs: list[torch.dtype]
    output: torch.dtype | None


class _Waits:
    """A recorder that tells whether the host waited."""

    def __init__(self) -> None:
        self.seen = False

    def record(self, kind: str, **_: Any) -> None:
        self.seen |= kind == "sync"

    def emit(self, event: object) -> None: ...


class _Dynamic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees whether an operator with a shape that depends on values runs."""

    seen = False

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        self.seen |= torch.Tag.dynamic_output_shape in getattr(func, "tags", ())
        return func(*args, **(kwargs or {}))


# --- calling -------------------------------------------------------------------------------------------------------


def observations(names: Iterable[str], positions: dict[str, list[str]]) -> dict[str, list[Observation]]:
    """What was seen of each spelling; `positions` names the arguments that stand by position."""
    wanted = set(names)
    found: dict[str, list[Observation]] = {}
    waits = _Waits()
    with warnings.catch_warnings(), virtual_gpu(waits):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for op in op_db:
            spelled = [name for name in _spellings(op) if name in wanted]
            if spelled:
                seen = list(_observed(op, positions.get(spelled[0], []), waits))
                for name in spelled:
                    found.setdefault(name, []).extend(seen)
    return found


def _spellings(op: Any) -> Iterator[str]:
    """The names of a function and its method, and of what is the same under another name."""
    aliases = {alias.name for alias in op.aliases} - NOT_ALIASES.get(op.name, set())
    for name in (op.name, *sorted(aliases)):
        name = name.removeprefix("torch.")
        yield f"torch.{name}"
        if op.method_variant is not None:
            yield f"torch.Tensor.{name}"


def _observed(op: Any, positions: Sequence[str], waits: _Waits) -> Iterator[Observation]:
    """Calls of an operator with all tensors on the device."""
    for args, kwargs in samples(op, SAMPLES):
        args, kwargs = tree_map_only(torch.Tensor, lambda value: value.to("cuda"), (args, kwargs))
        given = {positions[at] if at < len(positions) else str(at): value for at, value in enumerate(args)} | kwargs
        inputs = _leaves(given)
        waits.seen, result = False, None
        with contextlib.suppress(Exception), _Dynamic() as dynamic:  # type: ignore[no-untyped-call]
            result = op.op(*args, **kwargs)
        if result is None:  # a sample for another device
            continue
        seen = waits.seen
        output = next(iter(_leaves(result)), None)
        yield Observation(
            tree_map_only(torch.Tensor, type, given),
            isinstance(result, torch.Tensor),
            seen,
            dynamic.seen,
            output is not None and bool(_memory([output]) & _memory(inputs)),
            isinstance(result, torch.Tensor) and _saves(op, args, kwargs),
            [one.dtype for one in inputs],
            output.dtype if output is not None else None,
        )


def _leaves(tree: object) -> list[torch.Tensor]:
    """The tensors in arguments or results."""
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _saves(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the derivative needs the result as it was."""

    def leaf(value: torch.Tensor) -> torch.Tensor:
        return value.detach().clone().requires_grad_() if value.dtype.is_floating_point else value

    args, kwargs = tree_map_only(torch.Tensor, leaf, (args, kwargs))
    with contextlib.suppress(NotImplementedError, TypeError, ValueError, IndexError):  # what has no derivative
        try:
            result = op.op(*args, **kwargs)
            result.detach().zero_()
            result.sum().backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
    return False


def _memory(tensors: list[torch.Tensor]) -> set[int]:
    return {one.untyped_storage().data_ptr() for one in tensors if one.layout is torch.strided and one.numel()}


def samples(op: Any, most: int, *, grad: bool = False) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The positional and keyword arguments of calls, `most` of each dtype; with `grad` those of float32 require it where that is possible."""
    for dtype in [one for one in DTYPES if one in op.dtypes] or sorted(op.dtypes, key=str)[:1]:
        with contextlib.suppress(Exception):
            requires_grad = grad and dtype == torch.float32 and op.supports_autograd
            given = (
                ((sample.input, *sample.args), sample.kwargs)
                for sample in op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
            )
            plain = (
                one for one in given if all(leaf.numel() and leaf.layout is torch.strided for leaf in _leaves(one))
            )
            yield from itertools.islice(plain, most)


# --- concluding ----------------------------------------------------------------------------------------------------


def columns(seen: list[Observation]) -> dict[str, Column]:
    """The columns that the observations of one spelling give."""
    tensors = [one for one in seen if one.alone]
    found: dict[str, Column] = {
        "dtype": _dtype(tensors),
        "dynamic": _when(seen, lambda one: one.dynamic),
        "waits": _when(seen, lambda one: one.waits),
        "alias": "maybe" if any(one.aliased for one in tensors) else None,
        "saves": "result" if any(one.saves and not one.aliased for one in tensors) else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def scalar(called: Callable[..., Any]) -> bool:
    """Whether a call with nothing but a tensor of three dimensions gives one of none."""
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in DTYPES:
            result = called(torch.ones(2, 3, 4, dtype=dtype))
            return isinstance(result, torch.Tensor) and result.dim() == 0
    return False


def _when(seen: list[Observation], holds: Callable[[Observation], bool]) -> Column:
    """True, None for never, the argument that decides, or `sometimes`."""
    held = [holds(one) for one in seen]
    if not any(held) or all(held):
        return True if any(held) else None
    for condition, test in _conditions(seen):
        if [test(one) for one in seen] == held:
            return condition
    return SOMETIMES


def _conditions(seen: list[Observation]) -> Iterator[tuple[str, Callable[[Observation], bool]]]:
    """What may decide: that an argument is given, is True, is a tensor, is a word."""
    for name in sorted({name for one in seen for name in one.given if not name.isdigit()}):
        yield f"{name}=", lambda one, name=name: one.given.get(name) is not None
        yield f"!{name}=", lambda one, name=name: one.given.get(name) is None
        yield name, lambda one, name=name: one.given.get(name) is True
        yield f"!{name}", lambda one, name=name: one.given.get(name) is not True
        yield f"{name}:tensor", lambda one, name=name: one.given.get(name) is torch.Tensor
        words = sorted({one.given[name] for one in seen if isinstance(one.given.get(name), str)})
        for word in words:
            yield f"{name}={word}", lambda one, name=name, word=word: one.given.get(name) == word
            yield f"!{name}={word}", lambda one, name=name, word=word: one.given.get(name) != word


def _dtype(seen: list[Observation]) -> Column:
    """`bool`, `int64`, `float` for what makes floats of integers, `complex`; nothing where it is the inputs'."""
    plain = [one for one in seen if one.given.get("dtype") is None and one.inputs]
    made = {(one.inputs[0], one.output) for one in plain if one.output is not None and one.inputs[0] in DTYPES}
    kinds = {to for _, to in made}
    if all(of == to for of, to in made):
        return None
    if len(kinds) > 1:
        return SOMETIMES
    (kind,) = kinds
    if kind.is_complex:
        return "complex"
    return {torch.bool: "bool", torch.int64: "int64", torch.int32: "int32", torch.float32: "float"}.get(kind, SOMETIMES)
