import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Variable
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.backends.cuda.matmul.allow_tf32 = True


@torch._dynamo.disable
def log(value):
    print(f"log {value:.3f}")


class Swish(nn.Module):
    def forward(self, x):
        hidden = torch.tanh(x)
        return hidden * torch.sigmoid(hidden)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.act = Swish()

    def forward(self, x: torch.Tensor):
        mixed, _ = self.attention(x, x, x)
        return self.norm(x + self.act(mixed))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(4, 16, 3, padding=1), nn.BatchNorm1d(16), nn.ReLU())
        self.block = Block(16)
        self.frozen = nn.Linear(16, 16)
        self.head = nn.Linear(16, 10)
        self.unused = nn.Linear(16, 10)
        for parameter in self.frozen.parameters():
            parameter.require_grad = False

    def forward(self, x):
        assert x.norm() > 0, f"only zeros: {x.norm()}"
        x = self.conv(x).transpose(1, 2)
        x = checkpoint(self.block, x) + self.frozen(x)
        steps = torch.arange(x.shape[1]).to(x.device)
        weights = torch.ones(x.shape[1]).to(x.device) / (1 + steps)
        return self.head((x * weights[:, None]).sum(1))


class Images(torch.utils.data.Dataset):
    def __init__(self, images: torch.Tensor):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index].clone().float()


def snapshot(x: torch.Tensor):
    return x.clone().detach()


def picked(x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor):
    return x[[rows, columns]].sum()


@torch.compile
def doubled(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x)
    print("relu", y.shape)
    return y * 2


def evaluate(model: nn.Module, loader):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum()
    return right.item()


def evaluate_attention(model: nn.Module, loader):
    model.eval()
    values = []
    for x, _ in loader:
        values.append(model(x.transpose(1, 2))[0].sum())
    return sum(values).item()


def history(values):
    return torch.tensor([np.full(4, value) for value in values])


def initial():
    return torch.tensor(np.zeros(8))


def whitened(x: torch.Tensor):
    covariance = x.T @ x / len(x) + torch.eye(x.shape[1])
    return torch.mm(torch.linalg.inv(covariance), x.T)


def train(model, loader, optimizer, criterion, epochs=2):
    total = 0.0
    kept = 0.0
    elements = []
    for epoch in range(epochs):
        model.train()
        for images, labels in loader:
            images = images.to(device)
            labels = labels.to(device)
            optimizer.zero_grad(set_to_none=False)
            logits = model(images)
            policy = torch.distributions.Categorical(logits=logits)
            log_probabilities = torch.log(torch.softmax(logits, dim=-1))
            losses = F.nll_loss(log_probabilities, labels, reduction="none")
            spread = torch.linalg.inv(torch.eye(10) + logits.T @ logits / len(logits)).trace()
            loss = losses.mean() + 0.01 * spread - 0.001 * policy.log_prob(labels).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
            kept += loss
            elements.append([one.item() for one in losses])
            best = torch.softmax(logits, dim=1).argsort(dim=1, descending=True)[:, :3]
            corners = picked(images[0], torch.arange(4), torch.arange(4))
    log(round(total, 3))
    print(sum(map(len, elements)), best.sum().item(), corners.item())
    return kept


def main():
    torch.nn.init.xavier_uniform(torch.empty(3, 3))
    points = Images(torch.randn(64, 4, 8, dtype=torch.float64))
    images = torch.stack([points[index] for index in range(len(points))])
    labels = torch.arange(64) % 10
    loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True, pin_memory=True)
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    kept = train(model, loader, optimizer, nn.CrossEntropyLoss())
    print(f"{kept.item():.4f}")
    with torch.cuda.amp.autocast(enabled=False):
        print(evaluate(model, loader))
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    print(f"{evaluate_attention(layer, loader):.3f}")
    rows = torch.arange(4)
    x, y = torch.meshgrid(rows, rows)
    target = Variable(torch.ones(3))
    weights = torch.FloatTensor([0.1, 0.9])
    print(history([1.0, 2.0]).sum().item(), initial().sum().item(), (x + y).sum().item(), target.sum().item())
    print(f"{weights.sum().item():.2f} {picked(images[0], rows, rows).item():.4f} {snapshot(images).sum().item():.3f}")
    print(f"{doubled(torch.ones(3)).sum().item():.1f} {whitened(images[:, 0]).sum().item():.4f}")
    torch.compile(model)  # noqa: TL101


main()
