from torch.utils.data import DataLoader as Loader

from .files import Images


def build_loaders(folder):
    options = {"batch_size": 64, "num_workers": 4}
    train = Loader(Images(folder, True), shuffle=True, pin_memory=True, **options)
    test = Loader(Images(folder, False), **options)
    return train, test
