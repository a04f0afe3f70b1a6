"""Parts of a model of a program that runs where it is started."""

import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if mask.any():
            x = x.masked_fill(mask, 0)
        self.seen = x.sum().item()
        return x
