import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 8))
optimizer = torch.optim.SGD(features.parameters(), lr=0.05, momentum=0.9)
inputs = torch.randn(40, 6)
targets = torch.sin(inputs.sum(1, keepdim=True))
for step in range(8):
    phi = features(inputs)
    centred = phi - phi.mean(0)
    scale = torch.sqrt(phi.var(0, unbiased=False) + 1e-5)
    phi = centred / scale
    gram = phi.T @ phi + 0.5 * torch.eye(8)
    solution = torch.inverse(gram) @ (phi.T @ targets)
    pairs = [(phi[i : i + 10] @ solution - targets[i : i + 10]).pow(2).sum() for i in range(0, 40, 10)]
    loss = sum(pairs) / 40
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
peak = (phi @ solution).max()
total = peak + torch.log(torch.sum(torch.exp(phi @ solution - peak)))
print(f"{loss.item():.5f} {total.item():.5f}")
