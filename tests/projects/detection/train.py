import torch
import val
from torch.utils.data import DataLoader


def train(model: torch.nn.Module, dataset, device):
    loader = DataLoader(dataset, batch_size=16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        model.train()
        for images, targets in loader:
            loss = model(images.to(device)).sum()
            loss.backward()
            optimizer.step()
        val.run(model, loader, device)
        val.careless(model, loader, device)
        with torch.no_grad():
            val.guarded(model, loader, device)


train(torch.nn.Linear(3, 3), [], torch.device("cuda"))
