"""Train a small classifier: `python train.py --epochs 2`. Made for torchlint to find fault with."""

import argparse

import torch

from data import loaders
from engine import test_epoch, train_epoch
from model import Classifier


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.compile(Classifier().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train, test = loaders(args.batch_size)
    for epoch in range(args.epochs):
        loss = train_epoch(model, train, optimizer, device)
        accuracy = test_epoch(model, test, device)
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
