"""Knows of a device, and trains nothing."""

import torch


def like(x: torch.Tensor) -> torch.Tensor:
    return torch.ones(8, device=x.device)
