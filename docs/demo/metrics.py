"""Running averages."""

import torch


class Meter:
    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def update(self, loss: torch.Tensor) -> None:
        self.total += loss.item()
        self.count += 1

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)
