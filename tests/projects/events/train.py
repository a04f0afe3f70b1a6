import torch
from torch.utils.data import DataLoader

import handlers  # noqa: F401
from bus import bus, criteria


def train(model, dataset, optimizer, names):
    losses = criteria(names)
    loader = DataLoader(dataset, 64, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=True)
    bus.fire("start", model=model)
    for _ in range(10):
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            logits = model(x)
            loss = sum(fn(logits, y) for fn in losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bus.fire("step", loss=loss.detach(), logits=logits.detach())
        bus.fire("epoch", loss=loss.detach(), logits=logits.detach())


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    for x, y in loader:
        bus.fire("batch", logits=model(x.cuda(non_blocking=True)), target=y.cuda(non_blocking=True))
