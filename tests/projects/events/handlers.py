import torch

from bus import bus, criterion

CURVE = []


@bus.on("start")
def describe(model):
    print(next(model.parameters()).norm().item())


@bus.on("step")
def follow(loss, logits):
    CURVE.append(loss.item())  # TL101
    if logits.isnan().any():  # TL102
        raise ValueError("diverged")


@bus.on("epoch")
def summary(loss, logits):
    print(loss.item(), logits.argmax(-1).unique().tolist())


@bus.on("batch")
def count(logits, target):
    CURVE.append((logits.argmax(-1) == target).sum().item())  # TL101


def watch(loss, logits):
    CURVE.append(logits.abs().max().item())  # TL101


bus.on("step")(watch)


@criterion()
def focal(logits, target):
    likely = torch.softmax(logits, 1)
    return likely[target > 0].log().mean()  # TL107


@criterion("margin")
def by_margin(logits, target):
    if target.sum() == 0:  # TL102
        return logits.sum() * 0
    return logits.square().mean()
