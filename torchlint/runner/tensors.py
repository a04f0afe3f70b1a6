"""What is kept of a tensor: a digest, its norm, and a sketch of it.

The digest tells whether two tensors are the same to the bit. The sketch is the tensor under random signs, folded to at
most a thousand numbers: the norm of the difference of two sketches is that of the difference of the tensors, to a few
percent, so that runs of a model of any size can be compared afterwards.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

WIDTH = 1024


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Its values on the CPU, without gradient."""
    value = tensor.detach()
    if value.layout != torch.strided:
        value = value.to_dense()
    if value.is_quantized:
        value = value.dequantize()
    return value.cpu().contiguous()


def digest(value: torch.Tensor) -> str:
    data: Any = value.view(-1).view(torch.uint8).numpy() if value.numel() else b""
    return hashlib.sha256(data).hexdigest()[:16]


def sketch(value: torch.Tensor) -> torch.Tensor:
    flat = real(value).view(-1)
    size = flat.numel()
    signed = flat * _signs(size)
    if size <= WIDTH:
        return signed
    padded = torch.nn.functional.pad(signed, (0, -size % WIDTH))
    return padded.view(-1, WIDTH).sum(0)


def real(value: torch.Tensor) -> torch.Tensor:
    """In double precision; a complex number as two."""
    return torch.view_as_real(value.resolve_conj()).double() if value.is_complex() else value.double()


@functools.lru_cache(maxsize=256)
def _signs(size: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(size)
    return torch.randint(0, 2, (size,), generator=generator, dtype=torch.int8) * 2 - 1


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def inside(values: object) -> Iterator[torch.Tensor]:
    """The tensors in what a module gave: a tensor, a container of them, or a data class."""
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.Tensor):
            yield leaf
        elif is_dataclass(leaf) and not isinstance(leaf, type):
            yield from inside([getattr(leaf, field.name) for field in fields(leaf)])
