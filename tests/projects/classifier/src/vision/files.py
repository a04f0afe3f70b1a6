import torch


class Images(torch.utils.data.Dataset):
    def __init__(self, folder, train):
        self.paths = sorted(folder)
        self.weights = torch.rand(len(self.paths))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        # in a worker, on the host
        return torch.zeros(3, 32, 32), self.weights[index].item()
