"""Trains on the device, tests a copy of the model where it is made."""

import nets
import torch

device = torch.device("cuda")
loader = torch.utils.data.DataLoader(torch.zeros(8, 4), batch_size=2, num_workers=2, pin_memory=True)


def train() -> None:
    net = nets.Net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=True)
    for x in loader:
        optimizer.zero_grad()
        loss = net(x.to(device, non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        if loss > 3:  # TL102
            break


@torch.no_grad()
def test(path: str) -> float:
    net = nets.Net()
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net.eval()
    worst = 0.0
    for x in loader:
        error = net(x).abs().max()
        if error > worst:
            worst = error.item()
    return worst


@torch.no_grad()
def test_given(net: torch.nn.Module) -> float:
    worst = 0.0
    for x in loader:
        error = net(x).abs().max()
        if error > worst:  # TL102
            worst = 1.0
    return worst


@torch.no_grad()
def test_placed(prepare) -> float:  # type: ignore[no-untyped-def]
    net = nets.Net()
    prepare(net)
    worst = 0.0
    for x in loader:
        error = net(x).abs().max()
        if error > worst:  # TL102
            worst = 1.0
    return worst


@torch.no_grad()
def test_self_placed() -> float:
    net = nets.Placed()
    worst = 0.0
    for x in loader:
        error = net(x).abs().max()
        if error > worst:  # TL102
            worst = 1.0
    return worst


train()
test("a.pt")
test_given(nets.Net().cuda())
test_placed(print)
test_self_placed()
