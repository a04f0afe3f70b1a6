import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)) for _ in range(4)]
model = nn.Sequential(*layers, nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = [(torch.randn(32, 64), torch.randint(0, 10, (32,))) for _ in range(4)]
held_out = [(torch.randn(32, 64), torch.randint(0, 10, (32,))) for _ in range(16)]
criterion = nn.CrossEntropyLoss()


def evaluate(model, loader):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum()
    model.train()
    return right / (32 * len(loader))


for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {evaluate(model, held_out).item():.4f}")
