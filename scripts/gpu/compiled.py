"""Compiled functions on a GPU: how many kernels of Triton and of libraries a step launches, as the profiler tells.

    python scripts/gpu/compiled.py OUT.json [NAME ...]

The functions below, each given as `torchlint trace compiled.py:NAME` takes it: a module, and its example inputs.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Given = tuple[nn.Module, tuple[Any, ...]]


def mlp() -> Given:
    layers = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512), nn.LayerNorm(512))
    return layers.cuda(), (torch.randn(256, 512, device="cuda"),)


def convolutions() -> Given:
    def block(of: int, to: int) -> list[nn.Module]:
        return [nn.Conv2d(of, to, 3, padding=1, bias=False), nn.BatchNorm2d(to), nn.ReLU()]

    layers = nn.Sequential(
        *block(3, 32),
        *block(32, 64),
        nn.MaxPool2d(2),
        *block(64, 64),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    return layers.cuda(), (torch.randn(32, 3, 64, 64, device="cuda"),)


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(8, width), nn.GroupNorm(8, width)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(functional.silu(self.norms[0](x)))
        return x + self.second(functional.silu(self.norms[1](y)))


def groups() -> Given:
    return nn.Sequential(_Residual(64), _Residual(64)).cuda(), (torch.randn(8, 64, 32, 32, device="cuda"),)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, fused: bool, causal: bool) -> None:
        super().__init__()
        self.heads, self.fused, self.causal = heads, fused, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
            if self.causal:
                mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
                scores = scores.masked_fill(~mask, float("-inf"))
            y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a perceptron, each behind a norm; `fused` by one kernel, else written by hand."""

    def __init__(self, width: int, heads: int, fused: bool, causal: bool = True) -> None:
        super().__init__()
        self.attention = Attention(width, heads, fused, causal)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norms[0](x))
        return x + self.mlp(self.norms[1](x))


class _Language(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(1000, 256), nn.Embedding(128, 256)
        self.blocks = nn.ModuleList([Block(256, 4, fused) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 1000, bias=False)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.norm(x)).view(-1, 1000), labels.view(-1))


def _tokens() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(1000, (8, 128), device="cuda"), torch.randint(1000, (8, 128), device="cuda")


def language_fused() -> Given:
    return _Language(fused=True).cuda(), _tokens()


def language_by_hand() -> Given:
    return _Language(fused=False).cuda(), _tokens()


def half_language() -> Given:
    return _Language(fused=True).cuda().bfloat16(), _tokens()


def encoder_layer() -> Given:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.1, batch_first=True)
    return layer.cuda(), (torch.randn(16, 64, 256, device="cuda"),)


class _Contrastive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(128, 64), nn.Linear(128, 64)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        left, right = functional.normalize(self.left(x)), functional.normalize(self.right(y))
        scores = self.scale.exp() * left @ right.t()
        labels = torch.arange(x.shape[0], device=x.device)
        return (functional.cross_entropy(scores, labels) + functional.cross_entropy(scores.t(), labels)) / 2


def contrastive() -> Given:
    return _Contrastive().cuda(), (torch.randn(256, 128, device="cuda"), torch.randn(256, 128, device="cuda"))


class _Variational(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(784, 40), nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, log = self.encode(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log).exp()
        divergence = -0.5 * (1 + log - mean.pow(2) - log.exp()).sum()
        return functional.binary_cross_entropy_with_logits(self.decode(z), x, reduction="sum") + divergence


def variational() -> Given:
    return _Variational().cuda(), (torch.rand(128, 784, device="cuda"),)


class _Rays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.field = nn.Sequential(nn.Linear(63, 256), nn.ReLU(), nn.Linear(256, 4))

    def forward(self, origins: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
        depths = torch.linspace(2, 6, 64, device=origins.device)
        points = origins[:, None] + directions[:, None] * depths[:, None]
        waves = [points, *(one(2.0**level * points) for level in range(10) for one in (torch.sin, torch.cos))]
        colour, density = self.field(torch.cat(waves, -1)).split([3, 1], -1)
        alpha = 1 - torch.exp(-functional.relu(density[..., 0]) * (4 / 64))
        seen = torch.cumprod(1 - alpha + 1e-10, -1)
        return (alpha * seen)[..., None].mul(colour.sigmoid()).sum(1)


def rays() -> Given:
    return _Rays().cuda(), (torch.randn(512, 3, device="cuda"), torch.randn(512, 3, device="cuda"))


class _Gather(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 16)])

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        for layer in self.weights:
            x = layer(x)
            x = functional.relu(torch.zeros_like(x).index_add_(0, target, x[source]))
        return x.log_softmax(-1)


def graph() -> Given:
    edges = torch.randint(500, (2, 4000), device="cuda")
    return _Gather().cuda(), (torch.randn(500, 64, device="cuda"), edges[0], edges[1])


def recurrent() -> Given:
    return nn.GRUCell(64, 64).cuda(), (torch.randn(32, 64, device="cuda"), torch.randn(32, 64, device="cuda"))


def resnet() -> Given:
    import timm

    return timm.create_model("resnet18").cuda(), (torch.randn(16, 3, 224, 224, device="cuda"),)


def mobile() -> Given:
    import timm

    return timm.create_model("mobilenetv3_small_100").cuda(), (torch.randn(16, 3, 224, 224, device="cuda"),)


def convnext() -> Given:
    import timm

    return timm.create_model("convnext_atto").cuda(), (torch.randn(16, 3, 224, 224, device="cuda"),)


ALL = (mlp, convolutions, groups, language_fused, language_by_hand, half_language, encoder_layer, contrastive, variational, rays, graph, recurrent, resnet, mobile, convnext)  # fmt: skip


def profiled(given: Given) -> dict[str, Any]:
    """Kernels by their kind that the third step launches, forward and backward, and a graph's names of Triton's."""
    module, inputs = given
    compiled = torch.compile(module)

    def step() -> None:
        output = compiled(*inputs)
        (output if output.dim() == 0 else output.float().sum()).backward()

    for _ in range(2):
        step()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        output = compiled(*inputs)
        loss = output if output.dim() == 0 else output.float().sum()
        loss.backward()
        torch.cuda.synchronize()
    names = [
        event.name() for event in profile.profiler.kineto_results.events() if str(event.device_type()).endswith("CUDA")
    ]
    return {"triton": sum(name.startswith("triton_") for name in names), "names": dict(Counter(names))}


def main(arguments: list[str]) -> None:
    out, names = Path(arguments[0]), arguments[1:]
    found: dict[str, Any] = {"torch": torch.__version__}
    for one in ALL:
        if names and one.__name__ not in names:
            continue
        torch._dynamo.reset()
        try:
            found[one.__name__] = profiled(one())
        except Exception as error:  # noqa: BLE001 - one function of many
            found[one.__name__] = {"error": f"{type(error).__name__}: {error}"[:300]}
        out.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
