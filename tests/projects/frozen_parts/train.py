"""One part of a model is frozen by the file that makes it, another one is not, and nobody trains on what it gives."""

import torch
from flow import Flow
from torch.utils.data import DataLoader


def train(dataset):
    loader = DataLoader(dataset, batch_size=16, num_workers=4, pin_memory=True)
    model = Flow(8).cuda()
    optimizer = torch.optim.Adam(model.decoder.parameters())
    for x in loader:
        x = x.cuda(non_blocking=True)
        code = model.encoder(x)
        likely = model.prior(x)  # TL503
        loss = (model.decoder(code.detach()) - likely.detach()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train([])
