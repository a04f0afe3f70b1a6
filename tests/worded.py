"""A program with a finding that stands only where something gives an option a word."""

WORDED = """\
import argparse
import torch

def fit(net, loader, optimizer, args):
    for x in loader:
        loss = net(x.cuda()).sum()
        if args.kind == "phong":
            print(loss.item())
        loss.backward()
        optimizer.step()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="volume")
    fit(net, loader, optimizer, parser.parse_args())
"""
