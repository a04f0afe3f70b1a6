"""GPUs that code can be generated for, by compute capability: what their makers publish."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple


class Target(NamedTuple):
    """One GPU; sizes in the unit of the name."""

    name: str
    multiprocessors: int
    memory_gib: int
    shared_kib_per_block: int  # at most, opted in to
    shared_kib_per_multiprocessor: int
    threads_per_multiprocessor: int
    l2_mib: int


TARGETS = {
    "sm_70": Target("Tesla V100-SXM2-16GB", 80, 16, 96, 96, 2048, 6),
    "sm_75": Target("Tesla T4", 40, 15, 64, 64, 1024, 4),
    "sm_80": Target("NVIDIA A100-SXM4-80GB", 108, 80, 163, 164, 2048, 40),
    "sm_86": Target("NVIDIA A10", 72, 24, 99, 100, 1536, 6),
    "sm_89": Target("NVIDIA L4", 58, 24, 99, 100, 1536, 48),
    "sm_90": Target("NVIDIA H100 80GB HBM3", 132, 80, 227, 228, 2048, 50),
    "sm_100": Target("NVIDIA B200", 148, 180, 227, 228, 2048, 126),
    "sm_120": Target("NVIDIA GeForce RTX 5090", 170, 32, 99, 100, 1536, 96),
}


def properties(target: str) -> SimpleNamespace:
    """What `torch.cuda.get_device_properties` says of `target`; ValueError names the known ones."""
    try:
        gpu = TARGETS[target]
    except KeyError:
        raise ValueError(f"unknown target {target!r}: choose from {', '.join(TARGETS)}") from None
    major, minor = divmod(int(target.removeprefix("sm_")), 10)
    return SimpleNamespace(
        name=gpu.name,
        major=major,
        minor=minor,
        total_memory=gpu.memory_gib * 2**30,
        multi_processor_count=gpu.multiprocessors,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=gpu.threads_per_multiprocessor,
        max_threads_per_block=1024,
        shared_memory_per_block=48 * 2**10,
        shared_memory_per_block_optin=gpu.shared_kib_per_block * 2**10,
        shared_memory_per_multiprocessor=gpu.shared_kib_per_multiprocessor * 2**10,
        warp_size=32,
        L2_cache_size=gpu.l2_mib * 2**20,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
        uuid="virtual",
    )
