import torch
from torch import nn

torch.manual_seed(0)


def predict(x):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    model.load_state_dict(torch.load("model.pt"))
    return model(x)


torch.save(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).state_dict(), "model.pt")
print(f"{predict(torch.ones(2, 4)).sum().item():.4f}")
