"""Makes an optimizer for a file that trains, and names no device itself."""

import torch
from trainer import Trainer

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)  # TL706
Trainer(model, optimizer).fit([torch.zeros(8)])
