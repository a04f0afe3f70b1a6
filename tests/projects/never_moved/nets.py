"""A model that is moved by who makes it, and one that moves itself."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x)


class Placed(Net):
    def __init__(self) -> None:
        super().__init__()
        self.cuda()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x.cuda())
