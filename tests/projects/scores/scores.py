"""What an evaluation works out of each batch, and once at its end."""

import torch


def variance(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    count = mask.sum()
    if count == 0:  # TL102
        return values.new_zeros(())
    if mask.shape[0] == 1 or values.numel() == 1:
        return values.sum()
    return torch.where(mask, values, 0).pow(2).sum() / count


def check(values: torch.Tensor, limit: int) -> int:
    most = values.shape[0]
    if (values > limit).sum() > 3:  # TL102
        most = 3
    assert values.max() < 1e6  # TL102
    if most > limit or values.dim() == limit:
        most = limit
    lengths = [len(row) for row in ("ab", "c")]
    if max(lengths) > most or sum(lengths) > most:
        most = sum(lengths)
    return most


def keep(values: torch.Tensor) -> int:
    seen = values.abs().sum()
    return int(seen)  # TL101


def once(values: torch.Tensor) -> bool:
    total = values.sum()
    if total > 0:
        return True
    return bool(values.max() > 1)
