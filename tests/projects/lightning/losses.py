import torch


def weighted(loss: torch.Tensor):
    weight = loss.detach().sigmoid().item()  # TL101
    return loss * weight


def unused(loss: torch.Tensor):
    return loss * loss.item()
