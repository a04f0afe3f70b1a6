"""Parts of a model, which say nothing of where they run."""

import torch
from torch import nn
from warping import warped


class Head(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if mask.any():  # TL106
            x = x.masked_fill(mask, 0)
        return x

    def get_loss(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = x.sum().item()  # TL101
        return x.mean()

    def summary_of(self, x: torch.Tensor) -> float:
        return x.sum().item()


class Reader:
    def forward(self, x: torch.Tensor) -> float:
        return x.sum().item()


class Aligned(nn.Module):
    def forward(self, x: torch.Tensor, flow: torch.Tensor) -> torch.Tensor:
        return warped(x, flow)
