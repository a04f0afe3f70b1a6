import torch

import metrics
from metrics import logger


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).sum()
        loss.backward()
        optimizer.step()
        metrics.log_scalar("loss", loss)
        metrics.log_scalar("loss", loss.item())  # TL101: the function is given a number, and logs nothing
        logger.info("loss", loss.item())  # TL104


model = torch.nn.Linear(4, 4).cuda()
loader = torch.utils.data.DataLoader(torch.zeros(8, 4), batch_size=2, num_workers=2, pin_memory=True)
train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
