"""The operators whose shape depends on values; made by scripts/torch_api with the table, which loads later."""

from __future__ import annotations

DYNAMIC = frozenset(
    """
    torch.Tensor.argwhere
    torch.Tensor.bincount
    torch.Tensor.masked_select
    torch.Tensor.nonzero
    torch.Tensor.repeat_interleave
    torch.Tensor.unique
    torch.Tensor.unique_consecutive
    torch.argwhere
    torch.bincount
    torch.masked_select
    torch.nn.functional.one_hot
    torch.nonzero
    torch.repeat_interleave
    torch.sparse_coo_tensor
    torch.unique
    torch.unique_consecutive
    torch.where
    """.split()
)
