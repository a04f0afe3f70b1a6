import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(96, 96)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
REPEATS = 40
for step in range(8):
    x = torch.randn(96, 96)
    with torch.no_grad():
        for i in range(REPEATS):
            y = model(x)
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.5f}")
