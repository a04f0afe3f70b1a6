"""GPUs by what their makers publish. Peaks are dense, with accumulation in float32; every figure has its source."""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.system.failure import Failure

_NVIDIA = "https://www.nvidia.com/content/dam/en-zz/Solutions/"
_A100 = f"{_NVIDIA}Data-Center/a100/pdf/nvidia-a100-datasheet-nvidia-us-2188504-web.pdf"
_H100 = "https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet"
_H200 = "https://nvdam.widen.net/s/nb5zzzsjdf/hpc-datasheet-sc23-h200-datasheet-3002446"
_B200 = "https://resources.nvidia.com/en-us-blackwell-architecture/datasheet"
_ADA = "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"
_AMPERE = "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"
_BLACKWELL = "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"
_TURING = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf"
_VOLTA = "https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf"
_MI300X = (
    "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/amd-instinct-mi300x-data-sheet.pdf"
)
_MI250X = "https://www.amd.com/content/dam/amd/en/documents/instinct-business-docs/product-briefs/instinct-mi250x.pdf"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: TFLOP/s by precision, GB/s of its memory and of pinned copies from the host, GiB of memory."""

    name: str
    half: float
    tf32: float
    single: float
    double: float
    bandwidth: float
    pcie: float
    memory: int
    source: str
    consumer: bool = False
    """Whether it is a GeForce: their kernels come closer to the data sheet, whose clock is a rated one and whose rate of
    tensor cores with accumulation in float32 is cut to half, so that power does not hold them back."""
    tensor_bf16: bool = True


GPUS = {
    "a100": Gpu("NVIDIA A100 80GB SXM", 312, 156, 19.5, 19.5, 2039, 25, 80, _A100),
    "a100-40": Gpu("NVIDIA A100 40GB SXM", 312, 156, 19.5, 19.5, 1555, 25, 40, _A100),
    "h100": Gpu("NVIDIA H100 80GB SXM", 989, 494, 67, 67, 3350, 50, 80, _H100),
    "h200": Gpu("NVIDIA H200 SXM", 989, 494, 67, 67, 4800, 50, 141, _H200),
    "b200": Gpu("NVIDIA B200 SXM", 2250, 1125, 75, 37, 7700, 50, 180, _B200),
    "l4": Gpu("NVIDIA L4", 121, 60, 30.3, 0.5, 300, 25, 24, f"{_NVIDIA}l4/PB-11316-001_v01.pdf"),
    "l40s": Gpu("NVIDIA L40S", 362, 183, 91.6, 1.4, 864, 25, 48, f"{_NVIDIA}data-center/l40s/l40s-datasheet.pdf"),
    "t4": Gpu("NVIDIA T4", 65, 8.1, 8.1, 0.25, 320, 12, 16, _TURING, tensor_bf16=False),
    "v100": Gpu("NVIDIA V100 SXM2", 125, 15.7, 15.7, 7.8, 900, 12, 16, _VOLTA, tensor_bf16=False),
    "rtx3090": Gpu("NVIDIA GeForce RTX 3090", 71, 35.6, 35.6, 0.56, 936, 25, 24, _AMPERE, consumer=True),
    "rtx4090": Gpu("NVIDIA GeForce RTX 4090", 165, 82.6, 82.6, 1.3, 1008, 25, 24, _ADA, consumer=True),
    "rtx5090": Gpu("NVIDIA GeForce RTX 5090", 209.5, 104.8, 104.8, 1.6, 1792, 50, 32, _BLACKWELL, consumer=True),
    "pro6000-maxq": Gpu("NVIDIA RTX PRO 6000 Blackwell Max-Q", 439, 219, 110, 1.7, 1792, 50, 96, _BLACKWELL),
    "mi300x": Gpu("AMD Instinct MI300X", 1307, 654, 163, 163, 5300, 50, 192, _MI300X),
    "mi250x": Gpu("AMD Instinct MI250X (one of its two dies)", 191, 48, 24, 24, 1638, 25, 64, _MI250X),
}


def gpu(name: str) -> Gpu:
    """The GPU of that name, `h100` or `H100`. Failure names the known ones."""
    try:
        return GPUS[name.lower()]
    except KeyError:
        raise Failure(f"there are no figures of a GPU `{name}`; there are those of {', '.join(GPUS)}") from None
