"""Writes models.json.gz: what the operators of published models ask of a GPU, as linear functions of the batch.

    python scripts/prediction/record.py PUBLISHED.json MODELS.json.gz

It needs timm, and neither a GPU nor memory for the models: they run on the meta device, twice, with batches of 2 and 4.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import timm
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from torchlint.trace.eager.work import Work, may_launch, touched, work_of

_SMALL, _LARGE = 2, 4
_FUSED = frozenset(("pointwise", "norm"))

Row = tuple[Any, ...]


class _Part(NamedTuple):
    """Memory that an operator reads or writes, by its number, and the bytes touched of it."""

    storage: int
    bytes: int


class _Made(NamedTuple):
    """An operator's work, and which memory it reads and writes."""

    work: Work
    reads: tuple[_Part, ...]
    writes: tuple[_Part, ...]


def _parts(values: object) -> tuple[_Part, ...]:
    tensors = [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    return tuple(_Part(int(one.untyped_storage()._cdata), touched(one)) for one in tensors)


class _Recording(TorchDispatchMode):
    """The work of all operators that run inside, with memory that keeps its number."""

    def __init__(self) -> None:
        super().__init__()
        self.work: list[_Made] = []
        self._kept: list[Any] = []

    def __torch_dispatch__(
        self, func: Any, types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        work = work_of(func, args, kwargs or {}, result) if may_launch(func) else None
        self._kept.append((args, result))  # else its memory's number is given out again
        if work is not None:
            self.work.append(_Made(work, _parts((args, kwargs)), _parts(result)))
        return result


_LOW = frozenset(
    getattr(owner, name)
    for owner, names in (
        (functional, ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose2d", "bilinear")),
        (torch, ("matmul", "mm", "bmm", "baddbmm", "addmm", "einsum", "conv2d", "conv1d")),
        (torch.Tensor, ("matmul", "__matmul__", "mm", "bmm", "addmm", "baddbmm")),
    )
    for name in names
)
_FULL = frozenset(
    getattr(owner, name)
    for owner, names in (
        (functional, ("layer_norm", "group_norm", "softmax", "log_softmax", "cross_entropy", "normalize")),
        (torch, ("layer_norm", "softmax", "log_softmax", "exp", "pow", "rsqrt", "norm")),
        (torch.Tensor, ("softmax", "log_softmax", "exp", "pow", "rsqrt", "norm", "__pow__")),
    )
    for name in names
)


class HalfAutocast(TorchFunctionMode):
    """What autocast does on a GPU, for tensors that are nowhere: matrix products in half precision, norms in full one.

    A weight is cast once in the block.
    """

    def __init__(self) -> None:
        super().__init__()
        self._weights: dict[int, Any] = {}

    def __torch_function__(
        self, func: Any, types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        wanted = torch.half if func in _LOW else torch.float if func in _FULL else None
        if wanted is None:
            return func(*args, **(kwargs or {}))
        args, kwargs = tree_map(lambda value: self._cast(value, wanted), (tuple(args), dict(kwargs or {})))
        return func(*args, **kwargs)

    def _cast(self, value: Any, wanted: torch.dtype) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.dtype == wanted:
            return value
        if not isinstance(value, torch.nn.Parameter):
            return value.to(wanted)
        if id(value) not in self._weights:
            self._weights[id(value)] = value.to(wanted)
        return self._weights[id(value)]


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *_: object, **options: Any) -> Any:
    """One fused kernel, as a GPU has it under autocast; of other than four dimensions the plain one (sdp_utils_cpp.h)."""
    query, key, value = (one.half() for one in (query, key, value))
    if query.dim() != 4:
        return torch.ops.aten._scaled_dot_product_attention_math(
            query, key, value, attn_mask, scale=options.get("scale")
        )[0]
    return torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, scale=options.get("scale"))[0]


def fused(work: Sequence[_Made]) -> list[_Made]:
    """Runs of pointwise operators and norms as a compiler would fuse them: what is read and not written in them, and
    what is written and read after them."""
    last = {part.storage: position for position, one in enumerate(work) for part in one.reads}
    found: list[_Made] = []
    group: list[_Made] = []

    def close(position: int) -> None:
        if not group:
            return
        written: dict[int, _Part] = {}
        read: dict[int, _Part] = {}
        for one in group:
            for part in one.reads:
                if part.storage not in written:
                    read[part.storage] = max(part, read.get(part.storage, part), key=lambda each: each.bytes)
            written.update((part.storage, part) for part in one.writes)
        kept = [part for part in written.values() if last.get(part.storage, position) >= position]
        launches = 1 + sum(one.work.kind == "norm" for one in group) // 3
        size = sum(part.bytes for part in (*read.values(), *kept))
        found.append(_Made(Work("fused", "pointwise", 0, group[0].work.dtype, launches, size, 0), (), ()))
        group.clear()

    for position, one in enumerate(work):
        if one.work.kind in _FUSED:
            group.append(one)
        else:
            close(position)
            found.append(one)
    close(len(work))
    return found


def _rows(small: Sequence[_Made], large: Sequence[_Made]) -> list[list[Any]]:
    """kind, dtype, launches, FLOPs, bytes and unordered bytes as [for each example, beside], and how often."""
    counted: Counter[Row] = Counter()
    for (one, *_), (other, *_) in zip(small, large, strict=True):
        values: list[int] = []
        for before, after in (
            (one.flops, other.flops),
            (one.size, other.size),
            (one.activations, other.activations),
        ):
            each = (after - before) // (_LARGE - _SMALL)
            values += [each, before - _SMALL * each]
        dtype = "half" if one.dtype in ("float16", "bfloat16") else one.dtype
        counted[(one.kind, dtype, one.launches, *values)] += 1
    return [[*row, count] for row, count in counted.items()]


@contextmanager
def _meta() -> Iterator[None]:
    with torch.device("meta"), mock.patch.object(functional, "scaled_dot_product_attention", _attention):
        yield


def _record(name: str, size: int, train: bool, merged: bool) -> dict[str, list[list[Any]]]:
    """What a model's operators ask of a GPU; with `merged`, of branches that are merged into one convolution.

    No rows of a model that merging leaves as it is.
    """
    timm.layers.set_fused_attn(not train)
    runs: list[list[_Made]] = []
    with _meta():
        model = timm.create_model(name).train(train)
        if merged:
            before = sum(one.numel() for one in model.parameters())
            model = timm.utils.reparameterize_model(model)
            if before == sum(one.numel() for one in model.parameters()):
                return {}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
        for batch in (_SMALL, _SMALL, _LARGE) if train else (_SMALL, _LARGE):
            images = torch.empty(batch, 3, size, size)
            with _Recording() as recording, torch.set_grad_enabled(train):
                with HalfAutocast():
                    output = model(images)
                if train:
                    output = output[0] if isinstance(output, tuple) else output
                    labels = torch.empty(batch, dtype=torch.long)
                    functional.cross_entropy(output.float(), labels).backward()
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=False)
            runs.append(recording.work)
    small, large = runs[-2:]
    if [one.work.name for one in small] != [one.work.name for one in large]:
        raise ValueError("other operators for another batch")
    rows = {"eager": _rows(small, large)}
    if not train:
        rows["fused"] = _rows(fused(small), fused(large))
    return rows


def main(published: str, models: str) -> None:
    document = json.loads(Path(published).read_text())
    wanted = sorted(
        {
            (one["model"], one["size"], one["mode"], merged)
            for one in document["times"]
            for merged in {False, "merged" in document["sets"][one["set"]]}
        }
    )
    found: dict[str, dict[str, list[list[Any]]]] = {}
    for name, size, mode, merged in wanted:
        try:
            if rows := _record(name, size, mode == "train", merged):
                found[f"{name} {size} {mode}{' merged' if merged else ''}"] = rows
        except Exception as error:  # noqa: BLE001 - one model of many
            print(name, size, mode, type(error).__name__, str(error)[:120], file=sys.stderr)
    text = json.dumps({"torch": torch.__version__, "timm": timm.__version__, "models": found}, separators=(",", ":"))
    Path(models).write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:3])
