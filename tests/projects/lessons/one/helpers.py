"""The same names as in the other lesson, and not the same functions."""

import torch


def report(loss: torch.Tensor):
    print(loss.item())


def update(loss: torch.Tensor):
    return loss.item()  # TL101
