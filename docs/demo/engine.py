"""One epoch of training, one of testing."""

import torch
from torch import nn
from torch.utils.data import DataLoader

from metrics import Meter


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer, device: torch.device) -> float:
    model.train()
    meter = Meter()
    criterion = nn.CrossEntropyLoss()
    for step, (points, labels) in enumerate(loader):
        points = points.to(device)
        labels = labels.to(device)
        loss = criterion(model(points), labels)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        meter.update(loss)
        if step % 10 == 0:
            print(f"  step {step}: loss {loss.item():.4f}")
    return meter.mean


def test_epoch(model: nn.Module, loader: DataLoader, device: torch.device) -> float:
    model.eval()
    hits = torch.zeros((), device=device)
    total = 0
    for points, labels in loader:
        points = points.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        hits += (model(points).argmax(dim=1) == labels).sum()
        total += len(labels)
    return hits.item() / total
