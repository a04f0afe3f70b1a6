import torch
from utils.general import smart_inference_mode


@smart_inference_mode()
def run(model: torch.nn.Module, loader, device):
    model.eval()
    outputs = []
    for images, targets in loader:
        outputs.append(model(images.to(device)))
    return outputs


def careless(model: torch.nn.Module, loader, device):
    model.eval()
    outputs = []
    for images, targets in loader:
        outputs.append(model(images.to(device)))  # TL503
    return outputs


def guarded(model: torch.nn.Module, loader, device):
    # its only caller turns autograd off
    model.eval()
    outputs = []
    for images, targets in loader:
        outputs.append(model(images.to(device)))
    return outputs
