"""Points on two spirals, with noise: a data set that needs no download."""

import math

import torch
from torch.utils.data import DataLoader, Dataset


class Spirals(Dataset):
    def __init__(self, points: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.labels = torch.randint(0, 2, (points,), generator=generator)
        radius = torch.rand(points, generator=generator)
        angle = 3 * math.pi * radius + math.pi * self.labels
        noise = 0.05 * torch.randn(points, 2, generator=generator)
        self.points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1) + noise

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.points[index], self.labels[index]


def loaders(batch_size: int) -> tuple[DataLoader, DataLoader]:
    train = DataLoader(Spirals(2048), batch_size=batch_size, shuffle=True, pin_memory=True)
    test = DataLoader(Spirals(512), batch_size=batch_size, pin_memory=True)
    return train, test
