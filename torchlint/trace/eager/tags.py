"""Which CPU tensors count as being on a virtual GPU, on which of them, or in pinned memory.

A tag belongs to a storage, not to a tensor: views, `.data`, `.grad` and parameters follow by themselves, and the tag
ends with the memory. It is an attribute of the storage's Python object, which torch keeps as long as its memory:
a program makes a tag for each tensor, and a table of weak references costs twice as much. Tensors without a storage (sparse, wrapper subclasses) carry it as an attribute.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import torch

_BLOCK = 512  # bytes; torch's caching allocator rounds every allocation up to it
_ATTRIBUTE = "_torchlint_on_cuda"
_UNDECIDED = -1
_NO_STORAGE = (RuntimeError, NotImplementedError, ValueError)  # the last of a parameter whose shape is not known yet


class _StorageTag(weakref.ref[torch.UntypedStorage]):
    """A weak reference that knows what it refers to; torch keeps a storage's Python object as long as its memory."""

    __slots__ = ("key",)
    key: int


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    try:
        return tensor.untyped_storage()
    except _NO_STORAGE:
        return None


def _key(tensor: torch.Tensor) -> int:
    """The identity of the tensor's storage; 0 where it has none."""
    try:
        key: int = tensor.untyped_storage()._cdata
        return key
    except _NO_STORAGE:
        return 0


def leaves(value: object) -> Iterator[torch.Tensor]:
    """A tensor, or those in lists and tuples."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)


def memory_of(tensors: Iterable[torch.Tensor]) -> set[int]:
    """What `shares` asks for: the memory of some tensors."""
    return {_key(tensor) or id(tensor) for tensor in tensors}


def shares(tensor: torch.Tensor, memory: set[int]) -> bool:
    """Whether the tensor is one of those of `memory_of` or shares its memory with one."""
    return (_key(tensor) or id(tensor)) in memory


class Memory:
    """The bytes that tagged storages would take on one GPU: `allocated` now, `peak` so far, `total` ever."""

    def __init__(self) -> None:
        self.allocated = self.peak = self.total = 0

    def reset_peak(self) -> None:
        self.peak = self.allocated


class _Place:
    """Where a storage is. It goes with the storage, and its bytes are free then."""

    __slots__ = ("index", "memory", "size")
    index: int  # of the device
    memory: Memory | None  # of the device
    size: int

    def __del__(self) -> None:
        if self.memory is not None:
            self.memory.allocated -= self.size


class DeviceTags:
    """Tags of all storages, and the memory of each device.

    Besides on and off the device there is *undecided*: memory that torch's own C++ code made without saying where
    (zeros for an undefined gradient, which may have no memory at all, the buckets of DistributedDataParallel). It joins the device of the first
    operation that mixes it with device memory, silently.
    """

    def __init__(self) -> None:
        self.memory: defaultdict[int, Memory] = defaultdict(Memory)  # by the index of the device
        self.bare = False
        """Whether a tensor without a storage has a tag, which its views do not share."""
        self._name = "_torchlint_0"
        """The attribute of a storage that holds its `_Place`; another one for each virtual GPU of a process."""
        self._pinned: dict[int, _StorageTag] = {}
        self._fresh: dict[int, _StorageTag] = {}
        self._lock = threading.RLock()  # a weak reference may die inside any call below

    def is_cuda(self, tensor: torch.Tensor) -> bool:
        return self.index(tensor) is not None

    def index(self, tensor: torch.Tensor) -> int | None:
        """The index of the device that the tensor is on; None where it is on none, or it is undecided."""
        storage = _storage(tensor)
        if storage is None:
            index: int | None = getattr(tensor, _ATTRIBUTE, None)
            return None if index == _UNDECIDED else index
        place: _Place | None = getattr(storage, self._name, None)
        return None if place is None or place.index == _UNDECIDED else place.index

    def is_undecided(self, tensor: torch.Tensor) -> bool:
        storage = _storage(tensor)
        if storage is None:
            return getattr(tensor, _ATTRIBUTE, None) == _UNDECIDED
        place: _Place | None = getattr(storage, self._name, None)
        return place is not None and place.index == _UNDECIDED

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        return _key(tensor) in self._pinned

    def mark_cuda(self, tensor: torch.Tensor, index: int) -> None:
        """The tensor's memory is on the virtual GPU of that index from now on; memory that is on one stays there."""
        if tensor.is_meta:
            return
        try:
            storage = tensor.untyped_storage()
        except _NO_STORAGE:
            self.bare = True
            setattr(tensor, _ATTRIBUTE, index)
            return
        place: _Place | None = getattr(storage, self._name, None)
        if place is None:
            place = _Place()
            setattr(storage, self._name, place)
        elif place.index != _UNDECIDED:
            return
        place.index = index
        place.size = size = -(-storage.nbytes() // _BLOCK) * _BLOCK
        place.memory = memory = self.memory[index]
        memory.total += size
        memory.allocated = allocated = memory.allocated + size
        if allocated > memory.peak:  # noqa: PLR1730 - a call of `max` for each new tensor shows
            memory.peak = allocated

    def place(self, tensor: torch.Tensor, index: int, besides: set[int]) -> None:
        """`mark_cuda`, but for what shares its memory with those of `memory_of`."""
        if not shares(tensor, besides):
            self.mark_cuda(tensor, index)

    def mark_undecided(self, tensor: torch.Tensor) -> None:
        storage = _storage(tensor)
        if storage is None:
            if getattr(tensor, _ATTRIBUTE, None) is None:
                self.bare = True
                setattr(tensor, _ATTRIBUTE, _UNDECIDED)
        elif not hasattr(storage, self._name):
            place = _Place()
            place.index, place.memory, place.size = _UNDECIDED, None, 0
            setattr(storage, self._name, place)

    def mark_host(self, tensor: torch.Tensor) -> None:
        """The tensor's memory is the host's from now on."""
        storage = _storage(tensor)
        if storage is None:
            if hasattr(tensor, _ATTRIBUTE):
                setattr(tensor, _ATTRIBUTE, None)
        elif hasattr(storage, self._name):
            delattr(storage, self._name)

    def mark_fresh(self, tensor: torch.Tensor) -> None:
        """The tensor's memory was only just allocated; that ends with the first operator that changes it in place."""
        key = _key(tensor)
        if key:
            with self._lock:
                self._fresh[key] = self._tag(tensor.untyped_storage(), key, self._written)

    def is_fresh(self, tensor: torch.Tensor) -> bool:
        """Whether nothing was ever written to the tensor's memory."""
        return _key(tensor) in self._fresh and tensor._version == 0

    def mark_pinned(self, tensor: torch.Tensor) -> None:
        key = _key(tensor)
        if key:
            with self._lock:
                self._pinned[key] = self._tag(tensor.untyped_storage(), key, self._unpinned)

    def survey(
        self, tensors: Iterable[torch.Tensor]
    ) -> tuple[int | None, int | None, Sequence[torch.Tensor], Sequence[torch.Tensor]]:
        """Where the inputs of an operator are.

        The index of the first device that one is on, that of another device, the undecided ones and those on the host.
        """
        first: int | None = None
        other: int | None = None
        undecided: list[torch.Tensor] | None = None  # most operators have none: each list that is made is made in vain
        host: list[torch.Tensor] | None = None
        name = self._name
        for tensor in tensors:
            try:
                place: _Place | None = getattr(tensor.untyped_storage(), name, None)
                index = None if place is None else place.index
            except _NO_STORAGE:
                index = getattr(tensor, _ATTRIBUTE, None)
            if index is None:
                if host is None:
                    host = []
                host.append(tensor)
            elif index == first:
                pass
            elif index == _UNDECIDED:
                if undecided is None:
                    undecided = []
                undecided.append(tensor)
            elif first is None:
                first = index
            else:
                other = index
        return first, other, undecided or (), host or ()

    def clear(self) -> None:
        """Forget everything; for a new virtual GPU in the same process."""
        with self._lock:
            self._name = f"_torchlint_{int(self._name.rpartition('_')[2]) + 1}"
            self._pinned.clear()
            self._fresh.clear()
            self.memory.clear()
            self.bare = False

    @staticmethod
    def _tag(storage: torch.UntypedStorage, key: int, gone: object) -> _StorageTag:
        tag = _StorageTag(storage, gone)  # type: ignore[arg-type]
        tag.key = key
        return tag

    def _unpinned(self, tag: _StorageTag) -> None:
        with self._lock:
            if self._pinned.get(tag.key) is tag:
                del self._pinned[tag.key]

    def _written(self, tag: _StorageTag) -> None:
        with self._lock:
            if self._fresh.get(tag.key) is tag:
                del self._fresh[tag.key]


tags = DeviceTags()
