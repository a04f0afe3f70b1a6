"""A model with a method that runs it, and one whose forward pass records nothing."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.layer(x) * scale

    def run_on(self, rows: list[torch.Tensor], scale: float) -> torch.Tensor:
        return self.forward(torch.stack(rows), scale=scale)

    def count(self) -> int:
        return sum(one.numel() for one in self.parameters())


class Quiet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)

    def run_on(self, rows: list[torch.Tensor]) -> torch.Tensor:
        return self.forward(torch.stack(rows))

    @torch.inference_mode()
    def run_off(self, rows: list[torch.Tensor]) -> torch.Tensor:
        return self.forward(torch.stack(rows))
