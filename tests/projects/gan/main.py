"""Two networks, two optimizers, one loop."""

import torch
from networks import Discriminator, Generator
from torch import nn, optim
from torch.utils.data import DataLoader


def train(dataset, epochs, device="cuda"):
    loader = DataLoader(dataset, batch_size=64, pin_memory=True)
    netG, netD = Generator().to(device), Discriminator().to(device)
    criterion = nn.BCELoss()
    optimizerD = optim.Adam(netD.parameters(), lr=2e-4)
    optimizerG = optim.Adam(netG.parameters(), lr=2e-4)
    fixed = torch.randn(64, 100, device=device)
    for epoch in range(epochs):
        for i, data in enumerate(loader, 0):
            netD.zero_grad()
            real = data[0].to(device)  # TL402
            label = torch.ones(64, device=device)
            score = netD(real)
            errD_real = criterion(score, label)
            errD_real.backward()
            D_x = score.mean().item()  # TL101
            noise = torch.randn(64, 100, device=device)
            fake = netG(noise)
            errD_fake = criterion(netD(fake.detach()), label.fill_(0))
            errD_fake.backward()
            optimizerD.step()
            netG.zero_grad()
            errG = criterion(netD(fake), label.fill_(1))
            errG.backward()
            optimizerG.step()
            if i % 100 == 0:
                print(epoch, errG.item(), D_x)
                save(netG(fixed).detach().cpu())
        print(epoch, errG.item())


def save(images):
    print(images.mean().item())  # in host memory, behind a throttle
