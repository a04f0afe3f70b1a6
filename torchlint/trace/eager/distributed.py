"""Process groups of the virtual GPUs: one process, on gloo, whatever backend is asked for.

What waits in NCCL is a wait where the group was to be NCCL's. A group that was to be gloo's copies tensors of a device to
pinned memory of the host and back, on streams of its own, by a thread that waits for the first copy; who waits for the
collective so waits for all that the device had to do before it (ProcessGroupGloo.cpp, the classes named ...CUDAWork).
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from torchlint.trace.eager import private
from torchlint.trace.eager.device import VirtualGpu, size_in_bytes
from torchlint.trace.eager.device_api import Patch
from torchlint.trace.eager.tags import leaves


class _Collective(NamedTuple):
    """An operator of `torch.ops.c10d`: what it is called in Python, and which of its arguments go to the host and come back."""

    called: str
    sent: int
    received: int
    root: int = -1
    """The argument that says which rank alone sends, -1 where all do."""


COLLECTIVES = {
    "allreduce_": _Collective("all_reduce", 0, 0),
    "broadcast_": _Collective("broadcast", 0, 0, root=2),
    "reduce_": _Collective("reduce", 0, 0),
    "allgather_": _Collective("all_gather", 1, 0),
    "_allgather_base_": _Collective("all_gather_into_tensor", 1, 0),
    "gather_": _Collective("gather", 1, 0),
    "scatter_": _Collective("scatter", 1, 0),
    "alltoall_base_": _Collective("all_to_all_single", 1, 0),
}
"""Those that have a class for tensors of a device."""
_IN_PYTHON = (*(one.called for one in COLLECTIVES.values()), "all_gather_single")
"""The functions of `torch.distributed` that call them."""
_OBJECT_COLLECTIVES = (
    "all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list", "send_object_list",
    "recv_object_list",
)  # fmt: skip
"""They pickle objects into tensors of the group's device, and read their sizes and themselves back."""


class Groups:
    """Which backend each group was to have for tensors of a device, and who waits for what gloo does."""

    def __init__(self, gpu: VirtualGpu) -> None:
        self._gpu = gpu
        self._backends: dict[str | None, str] = {}  # by the name of the group; that of the default group is None
        self._local = threading.local()
        self._begun: weakref.WeakKeyDictionary[Any, Sequence[str]] = weakref.WeakKeyDictionary()

    def name(self, group: Any, backend: Any) -> None:
        self._backends[_key(group)] = self.of(None) if group is not None and backend is None else str(backend).lower()

    def of(self, group: Any) -> str:
        return self._backends.get(_key(group), "")

    def is_nccl(self, group: Any) -> bool:
        """Whether NCCL is the only backend asked for; beside gloo, objects and barriers go by the host."""
        return self.of(group).removeprefix("cuda:") == "nccl"

    def ran(self, operator: str, args: Sequence[Any]) -> None:
        """Record what gloo copies for a collective with tensors of a device, and that its caller waits for it."""
        collective = COLLECTIVES[operator]
        group = next((one for one in args if isinstance(one, torch.ScriptObject)), None)
        if group is None or not _is_gloo(self.of(found := torch.distributed.ProcessGroup.unbox(group))):
            return
        sends = collective.root < 0 or args[collective.root] == found.rank()
        for position, to_device in ((collective.sent, False), (collective.received, True)):
            for tensor in leaves(args[position]) if sends or to_device else ():
                if self._gpu.tags.is_cuda(tensor) and tensor.layout == torch.strided:
                    size = size_in_bytes(tensor)
                    self._gpu.copied(collective.called, size, to_device=to_device, pinned=True, blocking=False)
        begun: list[str] | None = getattr(self._local, "begun", None)
        if begun is None:  # C++ of DistributedDataParallel, which waits before it returns
            self._gpu.sync(collective.called)
        else:
            begun.append(collective.called)

    def waiting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of Python, which waits itself, or returns a work to wait for."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._beginning() as begun:
                work = function(*args, **kwargs)
            if begun and work is not None:
                self._begun[work] = tuple(begun)
            for name in begun if work is None else ():
                self._gpu.sync(name)
            return work

        return call

    @contextlib.contextmanager
    def _beginning(self) -> Iterator[list[str]]:
        before, self._local.begun = getattr(self._local, "begun", None), []
        try:
            yield self._local.begun
        finally:
            self._local.begun = before

    def waited(self, work: Any) -> None:
        """Record the wait for a work, once."""
        for name in self._begun.pop(work, ()):
            self._gpu.sync(name)


def _key(group: Any) -> str | None:
    world = torch.distributed.group.WORLD
    name = getattr(group, "group_name", None)
    return None if group is None or name == getattr(world, "group_name", None) else name


def _is_gloo(backend: str) -> bool:
    """Whether gloo is asked for tensors of a device."""
    return backend == "gloo" or "cuda:gloo" in backend.split(",")


def patches(gpu: VirtualGpu) -> Iterator[Patch]:
    import torch.distributed as dist

    if not dist.is_available():
        return
    groups = gpu.groups = Groups(gpu)
    init, new_group, barrier, all_reduce = dist.init_process_group, dist.new_group, dist.barrier, dist.all_reduce

    def init_gloo(backend: Any = None, init_method: Any = None, *args: Any, **kwargs: Any) -> None:
        groups.name(None, backend)
        kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)
        size = _world_size(args, kwargs)
        if size > 1:
            gpu.unsupported("several processes", f"world size {size}; the run goes on as the only process")
            args, kwargs = (), {"timeout": kwargs["timeout"]} if "timeout" in kwargs else {}
            kwargs.update(store=torch._C._distributed_c10d.HashStore(), rank=0, world_size=1)
            init_method = None
        init("gloo", init_method, *args, **kwargs)

    def new_gloo_group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        group = new_group(ranks, timeout, "gloo", *args, **kwargs)
        groups.name(group, backend)
        return group

    def barrier_anywhere(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
        if not async_op and groups.is_nccl(group):
            gpu.sync("barrier")
        return barrier(group, async_op)

    def of_objects(name: str) -> Callable[..., Any]:
        function = getattr(dist, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = kwargs.get("group", next((one for one in args if isinstance(one, dist.ProcessGroup)), None))
            where = "cuda" if groups.is_nccl(given) else "cpu"
            with gpu.thread.named(name), private.object_device(where):
                return function(*args, **kwargs)

        return call

    def all_reduce_any(tensor: Any, op: Any = dist.ReduceOp.SUM, *args: Any, **kwargs: Any) -> Any:
        mean = op == dist.ReduceOp.AVG  # unknown to gloo, and of one process the same as the sum
        return all_reduce(tensor, dist.ReduceOp.SUM if mean else op, *args, **kwargs)

    functions = {
        "init_process_group": init_gloo,
        "new_group": new_gloo_group,
        "barrier": barrier_anywhere,
        "is_nccl_available": lambda: True,
        **{name: groups.waiting(getattr(dist, name)) for name in _IN_PYTHON if hasattr(dist, name)},
        **{name: of_objects(name) for name in _OBJECT_COLLECTIVES if hasattr(dist, name)},
        "all_reduce": groups.waiting(all_reduce_any),
    }
    for owner in (dist, dist.distributed_c10d):
        for name, function in functions.items():
            yield Patch(owner, name, function)
    yield _waits(groups)


def _waits(groups: Groups) -> Patch:
    """`work.wait()` of what was begun with `async_op=True`."""
    wait = torch.distributed.Work.wait

    def wait_for(self: Any, *args: Any, **kwargs: Any) -> Any:
        done = wait(self, *args, **kwargs)
        groups.waited(self)
        return done

    return Patch(torch.distributed.Work, "wait", wait_for)


def _world_size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """As `init_process_group(backend, init_method, timeout, world_size, ...)` would see it."""
    given = kwargs.get("world_size", args[1] if len(args) > 1 else -1)
    return int(given) if given and int(given) > 0 else int(os.environ.get("WORLD_SIZE", "1"))
