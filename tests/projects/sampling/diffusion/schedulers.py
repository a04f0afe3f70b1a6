class Euler:
    def __init__(self):
        self.timesteps = range(50)

    def step(self, noise, t, latents):
        return latents - noise * (t / 50)
