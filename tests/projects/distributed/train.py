"""One process a device."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from tools.data import make_loader
from tools.trainer import Trainer


def main(rank, world_size, epochs):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    model = DDP(torch.nn.Linear(3, 1).to(rank), device_ids=[rank])
    trainer = Trainer(model, make_loader(use_cuda=True), torch.optim.SGD(model.parameters(), lr=0.1), rank)
    trainer.train(epochs)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(torch.cuda.device_count(), 10), nprocs=torch.cuda.device_count())
