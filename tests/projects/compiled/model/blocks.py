import torch
from torch import nn

from . import debug


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, dim)

    def forward(self, x):
        x = self.qkv(x)
        scale = x.abs().max().item()  # TL201
        debug.show(x)
        if not torch.compiler.is_compiling():
            debug.dump(x)
        debug.store(x)
        return x / scale


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x)
