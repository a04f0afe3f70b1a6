from torch.nn import functional as F


class Trainer:
    def __init__(self, model, loader, optimizer, gpu):
        self.model = model
        self.loader = loader
        self.optimizer = optimizer
        self.gpu = gpu

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(source), targets)
        loss.backward()
        self.optimizer.step()
        self._check(loss)
        return loss

    def _check(self, loss):
        if self.gpu == 0 and loss > 100:  # TL102
            print("diverged")

    def _run_epoch(self, epoch):
        for source, targets in self.loader:
            source = source.to(self.gpu)  # TL402
            targets = targets.to(self.gpu, non_blocking=True)
            loss = self._run_batch(source, targets)
        print(epoch, loss.item())

    def train(self, epochs):
        for epoch in range(epochs):
            self._run_epoch(epoch)
