import time

import torch
from torch.nn import functional as F

from .metrics import AverageMeter, count_right, grad_norm


def train_one_epoch(model, loader, optimizer, device, log_every=100):
    model.train()
    meter = AverageMeter()
    last = time.time()
    total = torch.zeros((), device=device)
    for step, (images, labels) in enumerate(loader):
        images = images.to(device)  # TL402
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        meter.update(loss.item(), len(images))  # TL101
        if step % log_every == 0:
            print(loss.item(), grad_norm(model))
        if time.time() - last > 60:
            print(loss.item())
    return total


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    right = 0
    for images, labels in loader:
        output = model(images.to(device))  # the loader does not pin
        right += count_right(output, labels.to(device))
    return right
