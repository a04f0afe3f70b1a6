import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Variational(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(48, 32)
        self.mean = nn.Linear(32, 8)
        self.spread = nn.Linear(32, 8)
        self.decode = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 48))

    def forward(self, x):
        hidden = torch.relu(self.encode(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        code = mean + torch.exp(0.5 * spread) * torch.randn_like(mean)
        return torch.sigmoid(self.decode(code)), mean, spread


model = Variational()
average = Variational()
average.load_state_dict(model.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = torch.rand(96, 48)
for step in range(9):
    x = data[32 * (step % 3) : 32 * (step % 3) + 32]
    made, mean, spread = model(x)
    fit = F.binary_cross_entropy(made, x, reduction="sum")
    prior = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())
    loss = fit + prior
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, now in zip(average.parameters(), model.parameters()):
            kept.mul_(0.99).add_(now, alpha=0.01)
with torch.no_grad():
    made, mean, spread = average(data)
print(f"{loss.item() / 32:.3f} {F.mse_loss(made, data).item():.5f}")
