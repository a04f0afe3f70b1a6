"""Copies between the virtual GPUs that torch makes in C++ and NCCL: those of DataParallel and `torch.nn.parallel.comm`.

Operators and copies are those of torch's own way without NCCL (torch/csrc/cuda/comm.cpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.cuda import comm as cuda_comm
from torch.nn.parallel import _functions, comm

from torchlint.trace.eager.device import VirtualGpu
from torchlint.trace.eager.device_api import Patch

_utils: Any = torch._utils
_split: Any = torch.split
_BUFFER = 10 * 2**20  # bytes; that of `broadcast_coalesced`


def patches(gpu: VirtualGpu) -> Iterator[Patch]:
    def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> tuple[Tensor, ...]:
        tensor = _utils._handle_complex(tensor)
        if (devices is None) == (out is None):
            raise RuntimeError(
                f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
            )
        if out is not None:
            for target in out:
                target.copy_(tensor, non_blocking=True)
            return tuple(out)
        made = []
        for device in map(gpu.index, devices):
            made.append(tensor if device == gpu.tags.index(tensor) else _empty_on(gpu, tensor, tensor.shape, device))
            if made[-1] is not tensor:
                made[-1].copy_(tensor, non_blocking=True)
        return tuple(made)

    def broadcast_coalesced(tensors: Sequence[Tensor], devices: Any, buffer_size: int = _BUFFER) -> list[list[Tensor]]:
        indices, tensors = list(map(gpu.index, devices)), [_utils._handle_complex(tensor) for tensor in tensors]
        if any(gpu.tags.index(tensor) != indices[0] for tensor in tensors):
            raise RuntimeError(f"All tensors must be on devices[0]: {indices[0]}")
        made: list[list[Tensor]] = [list(tensors), *([] for _ in indices[1:])]
        order = []
        for chunk in _utils._take_tensors(tensors, buffer_size):
            order.extend(chunk)
            flat = _utils._flatten_dense_tensors(chunk)
            for into, copy in zip(made[1:], broadcast(flat, indices)[1:], strict=True):
                into.extend(part.data for part in _utils._unflatten_dense_tensors(copy, chunk))
        places = {id(tensor): position for position, tensor in enumerate(order)}
        return [made[0], *([into[places[id(tensor)]] for tensor in tensors] for into in made[1:])]

    def scatter(
        tensor: Tensor,
        devices: Any = None,
        chunk_sizes: Any = None,
        dim: int = 0,
        streams: Any = None,
        *,
        out: Any = None,
    ) -> tuple[Tensor, ...]:
        tensor = _utils._handle_complex(tensor)
        if out is not None:
            for target, part in zip(out, _split(tensor, [one.size(dim) for one in out], dim), strict=True):
                target.copy_(part, non_blocking=True)
            return tuple(out)
        indices = list(map(gpu.index, devices))
        parts = _split(tensor, list(chunk_sizes), dim) if chunk_sizes is not None else tensor.chunk(len(indices), dim)
        return tuple(
            part.to(gpu.devices[index], non_blocking=True) for part, index in zip(parts, indices, strict=False)
        )

    def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Tensor:
        given = [_utils._handle_complex(tensor) for tensor in tensors]
        sizes = [tensor.size(dim) for tensor in given]
        if out is None:
            shape = list(given[0].shape)
            shape[dim] = sum(sizes)
            index = _utils._get_device_index(destination, allow_cpu=True, optional=True)
            out = _empty_on(gpu, given[0], shape, None if index == -1 else index)
        for part, tensor in zip(_split(out, sizes, dim), given, strict=True):
            part.copy_(tensor, non_blocking=True)
        made: Tensor = out
        return made

    for name, function in (
        ("broadcast", broadcast),
        ("broadcast_coalesced", broadcast_coalesced),
        ("scatter", scatter),
        ("gather", gather),
    ):
        yield Patch(comm, name, function)
        yield Patch(cuda_comm, name, function)
    yield Patch(torch.cuda.nccl, "is_available", lambda tensors: False)
    yield Patch(_functions, "_streams", None)  # kept for the number of devices that there were at first


def _empty_on(gpu: VirtualGpu, like: Tensor, shape: Sequence[int], index: int | None) -> Tensor:
    device = "cpu" if index is None else gpu.devices[index]
    return torch.empty(shape, dtype=like.dtype, layout=like.layout, device=device)
