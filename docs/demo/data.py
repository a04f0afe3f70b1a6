"""Curves that wind to the left or to the right, with noise: a data set that needs no download."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Spirals(Dataset):
    def __init__(self, curves: int, points: int = 128) -> None:
        generator = np.random.default_rng(0)
        self.labels = generator.integers(2, size=curves)
        radius = np.linspace(0, 1, points)
        turn = 3 * np.pi * radius * (2 * self.labels[:, None] - 1)
        angle = turn + generator.uniform(0, 2 * np.pi, size=(curves, 1))
        curve = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2)
        self.points = (curve + 0.2 * generator.normal(size=curve.shape)).astype(np.float32)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return self.points[index], int(self.labels[index])


def collate(samples: list[tuple[np.ndarray, int]]) -> tuple[torch.Tensor, torch.Tensor]:
    points = torch.tensor([curve for curve, _ in samples])
    labels = torch.tensor([label for _, label in samples])
    return points, labels


def loaders(batch_size: int) -> tuple[DataLoader, DataLoader]:
    train = DataLoader(Spirals(2048), batch_size=batch_size, shuffle=True, collate_fn=collate, pin_memory=True)
    test = DataLoader(Spirals(512), batch_size=batch_size, collate_fn=collate, pin_memory=True)
    return train, test
