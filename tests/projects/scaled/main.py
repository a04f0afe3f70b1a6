import torch

from engine import train_one_epoch
from misc import ScalerWithNorm as Scaler
from misc import Watcher as Watch

device = torch.device("cuda")
model = torch.nn.Linear(4, 4).to(device)
loader = torch.utils.data.DataLoader(torch.zeros(8, 4), batch_size=2, num_workers=2, pin_memory=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_scaler = Scaler()
train_one_epoch(model, loader, optimizer, device, loss_scaler, Watch())
