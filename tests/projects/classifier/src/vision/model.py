import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rates = [x.item() for x in torch.linspace(0, 0.1, 4)]  # at set-up
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(7200, 10)

    def forward(self, x):
        return self.head(self.features(x))
