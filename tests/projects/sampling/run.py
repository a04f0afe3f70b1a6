import torch
from diffusion import Pipeline

pipe = Pipeline(torch.load("unet.pt"), torch.device("cuda"))
for prompt in ("a cat", "a dog"):
    image, spread = pipe(prompt)
    print(image.mean().item())
