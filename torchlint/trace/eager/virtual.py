"""A virtual `cuda:0`, or several, for machines without a GPU: programs that ask for CUDA run, and tell what a GPU would wait for.

Tensors stay plain CPU tensors with real values, real autograd and real control flow; `tags` knows which of them are
*on a device*, and on which. A function mode answers and rewrites devices in torch's API, a dispatch mode follows the tags from
operator to operator and records synchronizations and copies, and patches let `torch.cuda` and its relatives answer.

For the compile half: `tags.is_cuda(tensor)` asks, `tags.mark_cuda(tensor, index)` says that its memory is on the device, and
inside `with plain():` this thread's modes are off, so that Dynamo sees plain CPU tensors and nothing is recorded;
results of what ran in there have to be marked by whoever ran it. `torch.cuda` keeps answering in there, and
`torch._C._has_cuda` says whether the build is one for CUDA (`torch.backends.cuda.is_built()` answers True).

What differs from a GPU: autocast uses the CPU's list of operators; random numbers are the CPU's, so that values equal
those of a plain CPU run; nothing is asynchronous; kernels that exist for CUDA only are reported as `unsupported`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from torchlint.trace.eager import device_api, libraries, private, streams
from torchlint.trace.eager.device import Sink, VirtualGpu
from torchlint.trace.eager.functions import DeviceFunctions
from torchlint.trace.eager.operators import DeviceOperators
from torchlint.trace.eager.real import real_gpu
from torchlint.trace.eager.tags import tags
from torchlint.trace.eager.targets import properties
from torchlint.trace.eager.work import WorkLog

__all__ = ["plain", "real_gpu", "tags", "virtual_gpu"]

_gpu: VirtualGpu | None = None
_gates: private.Gates | None = None


@contextlib.contextmanager
def virtual_gpu(
    recorder: Sink,
    *,
    compute: bool = True,
    target: str = "sm_90",
    work: WorkLog | None = None,
    counts: bool = False,
    gpus: int = 1,
) -> Iterator[None]:
    """Let the program in the block see that many GPUs, each a `target` (`sm_80`, `sm_90`, ...), and record what it does to them.

    What operators ask of the GPU goes to `work`; with `counts` each that computes is an event. Without `compute`, matrix products and their like return zeros: control flow, shapes and events stay, values don't.
    Raises ValueError for an unknown target.
    """

    global _gpu, _gates
    gpu = _gpu = VirtualGpu(recorder, properties(target), compute, gpus)
    gpu.work, gpu.counts = work, counts
    tags.clear()

    def functions() -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext() if private.has_function_mode(DeviceFunctions) else DeviceFunctions(gpu)

    @contextlib.contextmanager
    def modes() -> Iterator[None]:
        if _gpu is not gpu:  # what outlives the block, as an operator of the program
            yield
            return
        answering = DeviceFunctions(gpu)
        with DeviceOperators(gpu, answering), answering:
            yield

    scopes = libraries.Scopes(modes, functions, plain)
    locations = libraries.Locations(gpu)
    _gates = private.Gates(DeviceFunctions)
    with contextlib.ExitStack() as stack:
        stack.callback(streams.use, None)
        streams.use(gpu)
        stack.enter_context(device_api.patched(device_api.patches(gpu)))
        stack.enter_context(device_api.patched(libraries.patches(gpu, scopes)))
        stack.enter_context(device_api.patched(locations.saving()))
        stack.enter_context(private.grouped_by(gpu.device_of))
        stack.enter_context(private.storage_package(locations.tag, locations.restore))
        stack.enter_context(private.dispatched_at_once(DeviceOperators))
        stack.callback(_leave)
        stack.callback(_gates.set, False)
        _gates.set(True)
        stack.enter_context(modes())
        yield


def _leave() -> None:
    global _gpu, _gates
    _gpu = _gates = None
    device = private.default_device()
    if device is not None and device.type == "cuda":
        torch.set_default_device(None)


@contextlib.contextmanager
def plain() -> Iterator[None]:
    """This thread's modes off: tensors are what they are, on the CPU."""

    def is_ours(mode: object) -> bool:
        device = getattr(mode, "device", None)
        return isinstance(mode, DeviceFunctions) or (isinstance(device, torch.device) and device.type == "cuda")

    with contextlib.ExitStack() as stack:
        if _gpu is not None and _gates is not None:
            stack.callback(_gates.set, _gates.opened)
            _gates.set(False)
            stack.enter_context(_gpu.thread.pause())
        stack.enter_context(private.without_function_modes(is_ours))
        stack.enter_context(private.without_dispatch_modes(lambda mode: isinstance(mode, DeviceOperators)))
        yield
