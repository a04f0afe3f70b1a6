"""Supervised training with a package in a source folder."""

import argparse

import torch
from vision import Net, build_loaders
from vision.engine import evaluate, train_one_epoch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train_loader, test_loader = build_loaders("data")
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, optimizer, device)
        right = evaluate(model, test_loader, device)
        print(epoch, loss.item(), right)  # once an epoch


if __name__ == "__main__":
    main()
