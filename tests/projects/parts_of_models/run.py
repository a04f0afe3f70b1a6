"""The script that moves the model."""

import torch
from registry import build

model = build("detector").to(torch.device("cuda"))
