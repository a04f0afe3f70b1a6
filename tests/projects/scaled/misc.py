"""A scaler that is made under another name, and called where it is handed to."""

import torch


class ScalerWithNorm:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, parameters):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optimizer)
        norm = grad_norm(parameters)
        self.scaler.step(optimizer)
        self.scaler.update()
        return norm


class Watcher:
    def __call__(self, tensors):
        return largest(tensors)


def grad_norm(parameters):
    parameters = [p for p in parameters if p.grad is not None]
    return torch.norm(torch.stack([torch.norm(p.grad.detach(), 2.0) for p in parameters]), 2.0)  # TL708


def largest(tensors):
    tensors = [t for t in tensors if t.grad is not None]
    return torch.stack([t.grad.norm() for t in tensors])  # a few tensors, no parameters
