from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_CUDA = regex(rb"[\"']cuda|\.cuda\(|set_device\(")


@rule(
    "TL811",
    shape=[f'torch.distributed.init_process_group(backend := "{backend}", ...)' for backend in ("gloo", "nccl")],
    set="preview",
    severity="info",
    impact="low",
    category="distributed",
    principle=("parallelism",),
    options={"suggest-device-id": "find NCCL without `device_id=` too, for torch 2.3 and newer."},
)
def process_group_setup(site: Site) -> Iterator[Finding]:
    """Training on GPUs exchanges its gradients over gloo.

    ## What it does

    Finds `init_process_group("gloo")` in a file that wraps a model in `DistributedDataParallel` and puts it on CUDA.

    ## Why is this slow?

    Gloo copies the tensors of a CUDA collective to the host, reduces them there, and copies them back; NCCL goes from device to
    device.
    Without `device_id` NCCL makes its connections at the first collective, and guesses the device of a `barrier()`.

    ## When it does not matter

    On Windows, which has no NCCL, and for training on CPUs.

    ## Bad

    ```python
    torch.distributed.init_process_group("gloo")  # TL811
    model = torch.nn.parallel.DistributedDataParallel(model.to("cuda"))
    ```

    ## Good

    ```python
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))  # ok
    model = torch.nn.parallel.DistributedDataParallel(model.to("cuda"))
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use
    """
    if site.role == "test":
        return
    if "nccl" in site.pattern:
        if site.option("suggest-device-id") and _lacks_device(site):
            yield site.finding(
                f"`{site.short()}` connects at the first collective only; `device_id=` names the device at once"
            )
        return
    data = site.source.data
    if any(True for _ in site.flow.guards(site.target)) or b"nccl" in data or b"is_available" in data:
        return
    if b"DistributedDataParallel" in data and _CUDA.search(data):
        yield site.finding(f"`{site.short()}` exchanges the gradients of GPUs through the host; `nccl` does not")


def _lacks_device(site: Site) -> bool:
    known = site.torch is not None and site.torch.low >= (2, 3)
    return known and not site.spread and site.argument("device_id") is None
