"""Functions of tensors, which say nothing of where they run either: those that a model's forward calls are parts of it."""

import torch
import torch.nn.functional as F


def warped(x: torch.Tensor, flow: torch.Tensor) -> torch.Tensor:
    _, _, h, w = x.size()
    rows, columns = torch.meshgrid(
        torch.arange(0, h).type_as(x),  # TL405
        torch.arange(0, w).type_as(x),  # TL405
        indexing="ij",
    )
    grid = torch.stack((columns, rows), 2) + flow
    return F.grid_sample(x, grid, align_corners=True)


def drawn_flow(flow: torch.Tensor) -> torch.Tensor:
    h, w = flow.shape[-2:]
    return flow + torch.arange(0, h * w).view(h, w).type_as(flow)
