import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 16, 1)
        self.bn2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
held_out = torch.randn(16, 3, 12, 12)
for step in range(8):
    x = torch.randn(8, 3, 12, 12)
    y = torch.randint(0, 10, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print(f"{loss.item():.5f} {model(held_out).softmax(1).max(1).values.mean().item():.4f}")
