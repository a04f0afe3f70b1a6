import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Points(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(3)
        self.points = torch.rand(size, 20, generator=generator) * 255
        self.labels = (self.points.sum(1) > 2550).float()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return (self.points[index] / 255 - 0.5) / 0.25, self.labels[index]


def main():
    train = DataLoader(Points(90), batch_size=16, shuffle=True, pin_memory=True)
    test = DataLoader(Points(40), batch_size=20)
    model = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    for epoch in range(2):
        model.train()
        optimizer.zero_grad(set_to_none=False)
        for number, (points, labels) in enumerate(train):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                scores = model(points).squeeze(1)
            loss = nn.functional.binary_cross_entropy(torch.sigmoid(scores.float()), labels) / 2
            loss.backward()
            if number % 2 == 1:
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
        model.eval()
        right = 0
        with torch.no_grad():
            for points, labels in test:
                right += ((model(points).squeeze(1) > 0) == labels.bool()).sum().item()
        print(f"epoch {epoch}: {right} of {len(test.dataset)}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
    with open("log.txt", "w") as log:
        log.write(f"loss {loss.item():.5f}\n")


main()
