import torch
from torch import nn

from .blocks import Attention, Mlp


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([Attention(8) for _ in range(depth)])
        self.heads = nn.ModuleDict({"mlp": Mlp(8), "unused": Unused()})

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.heads["mlp"](x)

    @torch.no_grad()
    def generate(self, x):
        # not compiled: only `forward` is
        out = self(x)
        print(out.argmax())
        return out.argmax().item()


class Unused(nn.Module):
    def forward(self, x):
        print(x)
        return x
