"""Commands that run a model by a method of its own; the method of one records a graph, those of the other don't."""

import click
import torch
from nets import Net, Quiet
from rows import read, write


@click.command()
@click.option("--path")
def fold(path: str) -> None:
    net = Net().cuda()
    net.load_state_dict(torch.load(path))
    net.eval()
    print(net.count())
    found = net.run_on(read(path), scale=2.0)  # TL503
    write(found, path)


@click.command()
def quietly(path: str) -> None:
    net = Quiet().cuda()
    net.eval()
    write(net.run_on(read(path)), path)


@click.command()
def off(path: str) -> None:
    net = Quiet().cuda()
    net.eval()
    write(net.run_off(read(path)), path)


def helper(path: str) -> None:
    net = Net().cuda()
    net.eval()
    write(net.run_on(read(path), scale=2.0), path)


@click.command()
def given(path: str) -> torch.Tensor:
    net = Net().cuda()
    net.eval()
    return net.run_on(read(path), scale=2.0)
