from torch.utils.data import DataLoader


def make_loader(use_cuda):
    options = {"batch_size": 32}
    if use_cuda:
        options.update({"num_workers": 2, "pin_memory": True})
    return DataLoader(range(100), **options)
