import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(64, 1000)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    x = torch.randn(64, 64)
    y = torch.randint(0, 1000, (64,))
    log_probs = torch.log(torch.softmax(model(x), dim=-1))
    loss = torch.nn.functional.nll_loss(log_probs, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.5f}")
