class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n):
        # a number comes in
        self.sum += float(value) * n
        self.count += n


def count_right(output, labels):
    return (output.argmax(1) == labels).sum()


def grad_norm(model):
    # only called behind a throttle
    return sum(p.grad.norm().item() for p in model.parameters())
