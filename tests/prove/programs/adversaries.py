import torch
from torch import nn

torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
judge = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
makes = torch.optim.Adam(maker.parameters(), lr=2e-3)
judges = torch.optim.Adam(judge.parameters(), lr=2e-3)
criterion = nn.BCELoss()
real = torch.randn(64, 16) * 0.5 + 1
for step in range(8):
    noise = torch.randn(32, 8)
    made = maker(noise)
    batch = real[torch.randperm(64)[:32]]
    judges.zero_grad()
    loss = criterion(judge(batch), torch.ones(32, 1)) + criterion(judge(made.detach()), torch.zeros(32, 1))
    loss.backward()
    judges.step()
    makes.zero_grad()
    fooled = criterion(judge(made), torch.ones(32, 1))
    fooled.backward()
    makes.step()
    print(f"{step}: {loss.item():.4f} {fooled.item():.4f}")
