"""`scheduler.step` of a sampler trains nothing."""

import torch

from .schedulers import Euler


class Pipeline:
    def __init__(self, unet: torch.nn.Module, device):
        self.unet = unet
        self.scheduler = Euler()
        self.device = device

    @torch.no_grad()
    def __call__(self, prompt, guidance=7.5):
        latents = torch.randn(1, 4, 64, 64, device=self.device)
        for i, t in enumerate(self.scheduler.timesteps):
            noise = self.unet(latents)
            latents = self.scheduler.step(noise, t, latents)
            spread = latents.std().item()  # TL101
            if i % 10 == 0:
                print(latents.std().item())
        return latents.cpu(), spread
