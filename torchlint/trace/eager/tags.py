"""Which CPU tensors count as being on a virtual GPU, on which of them, or in pinned memory.

A tag belongs to a storage, not to a tensor: views, `.data`, `.grad` and parameters follow by themselves, and the tag
ends with the memory. Tensors without a storage (sparse, wrapper subclasses) carry it as an attribute.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable

import torch

_BLOCK = 512  # bytes; torch's caching allocator rounds every allocation up to it
_ATTRIBUTE = "_torchlint_on_cuda"
_UNDECIDED = -1


class _StorageTag(weakref.ref[torch.UntypedStorage]):
    """A weak reference that knows what it refers to; torch keeps a storage's Python object as long as its memory."""

    __slots__ = ("index", "key", "size")
    key: int
    size: int
    index: int  # of the device


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    try:
        return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return None


def _key(tensor: torch.Tensor) -> int:
    """The identity of the tensor's storage; 0 where it has none."""
    try:
        key: int = tensor.untyped_storage()._cdata
        return key
    except (RuntimeError, NotImplementedError):
        return 0


def shares(tensor: torch.Tensor, memory: set[int]) -> bool:
    """Whether the tensor is one of those of a survey or shares its memory with one."""
    return (_key(tensor) or id(tensor)) in memory


class Memory:
    """The bytes that tagged storages would take on one GPU: `allocated` now, `peak` so far, `total` ever."""

    def __init__(self) -> None:
        self.allocated = self.peak = self.total = 0

    def take(self, size: int) -> None:
        self.allocated += size
        self.total += size
        self.peak = max(self.peak, self.allocated)

    def free(self, size: int) -> None:
        self.allocated -= size

    def reset_peak(self) -> None:
        self.peak = self.allocated


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
        self._tags: dict[int, _StorageTag] = {}
        self._pinned: dict[int, _StorageTag] = {}
        self._fresh: dict[int, _StorageTag] = {}
        self._lock = threading.RLock()  # a weak reference may die inside any call below
        self._when_gone = self._gone  # bound once: there is one for each tensor that is made

    def is_cuda(self, tensor: torch.Tensor) -> bool:
        return self.index(tensor) is not None

    def index(self, tensor: torch.Tensor) -> int | None:
        """The index of the device that the tensor is on; None where it is on none, or it is undecided."""
        key = _key(tensor)
        if not key:
            index: int | None = getattr(tensor, _ATTRIBUTE, None)
            return None if index == _UNDECIDED else index
        tag = self._tags.get(key)
        return None if tag is None or tag.index == _UNDECIDED else tag.index

    def is_undecided(self, tensor: torch.Tensor) -> bool:
        key = _key(tensor)
        if not key:
            return getattr(tensor, _ATTRIBUTE, None) == _UNDECIDED
        tag = self._tags.get(key)
        return tag is not None and tag.index == _UNDECIDED

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        return _key(tensor) in self._pinned

    def mark_cuda(self, tensor: torch.Tensor, index: int) -> None:
        """The tensor's memory is on the virtual GPU of that index from now on; memory that is on one stays there."""
        self._mark(tensor, _storage(tensor), index)

    def _mark(self, tensor: torch.Tensor, storage: torch.UntypedStorage | None, index: int) -> None:
        if tensor.is_meta:
            return
        if storage is None:
            self.bare = True
            setattr(tensor, _ATTRIBUTE, index)
            return
        key = storage._cdata
        with self._lock:
            tag = self._tags.get(key)
            if tag is None:
                tag = self._tags[key] = _StorageTag(storage, self._when_gone)
                tag.key = key
            elif tag.index != _UNDECIDED:
                return
            tag.index = index
            tag.size = size = -(-storage.nbytes() // _BLOCK) * _BLOCK
            memory = self.memory[index]
            memory.total += size
            memory.allocated = allocated = memory.allocated + size
            memory.peak = max(memory.peak, allocated)

    def place(self, tensor: torch.Tensor, index: int, besides: set[int]) -> None:
        """`mark_cuda`, but for what shares its memory with those of a survey."""
        try:
            storage = tensor.untyped_storage()
            shared = storage._cdata in besides
        except (RuntimeError, NotImplementedError):
            storage, shared = None, id(tensor) in besides
        if not shared:
            self._mark(tensor, storage, index)

    def mark_undecided(self, tensor: torch.Tensor) -> None:
        key = _key(tensor)
        if not key:
            if getattr(tensor, _ATTRIBUTE, None) is None:
                self.bare = True
                setattr(tensor, _ATTRIBUTE, _UNDECIDED)
        else:
            with self._lock:
                if key not in self._tags:
                    self._tags[key] = self._tag(tensor.untyped_storage(), key, self._gone)

    def mark_host(self, tensor: torch.Tensor) -> None:
        """The tensor's memory is the host's from now on."""
        key = _key(tensor)
        if not key:
            if hasattr(tensor, _ATTRIBUTE):
                setattr(tensor, _ATTRIBUTE, None)
            return
        with self._lock:
            tag = self._tags.pop(key, None)
            if tag is not None and tag.index != _UNDECIDED:
                self.memory[tag.index].free(tag.size)

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
    ) -> tuple[int | None, int | None, list[torch.Tensor], list[torch.Tensor], set[int]]:
        """Where the inputs of an operator are.

        The index of the first device that one is on, that of another device, the undecided ones, those on the host,
        and the memory of all.
        """
        first: int | None = None
        other: int | None = None
        undecided: list[torch.Tensor] = []
        host: list[torch.Tensor] = []
        memory: set[int] = set()
        tags = self._tags
        for tensor in tensors:
            try:
                key = tensor.untyped_storage()._cdata
            except (RuntimeError, NotImplementedError):
                key = 0
            if key:
                memory.add(key)
                tag = tags.get(key)
                index = None if tag is None else tag.index
            else:
                memory.add(id(tensor))
                index = getattr(tensor, _ATTRIBUTE, None)
            if index is None:
                host.append(tensor)
            elif index == _UNDECIDED:
                undecided.append(tensor)
            elif first is None:
                first = index
            elif index != first:
                other = index
        return first, other, undecided, host, memory

    def clear(self) -> None:
        """Forget everything; for a new virtual GPU in the same process."""
        with self._lock:
            self._tags.clear()
            self._pinned.clear()
            self._fresh.clear()
            self.memory.clear()
            self.bare = False

    @staticmethod
    def _tag(storage: torch.UntypedStorage, key: int, gone: object) -> _StorageTag:
        tag = _StorageTag(storage, gone)  # type: ignore[arg-type]
        tag.key, tag.size, tag.index = key, 0, _UNDECIDED
        return tag

    def _gone(self, tag: _StorageTag) -> None:
        with self._lock:
            if self._tags.get(tag.key) is tag:
                del self._tags[tag.key]
                if tag.index != _UNDECIDED:
                    self.memory[tag.index].free(tag.size)

    def _unpinned(self, tag: _StorageTag) -> None:
        with self._lock:
            if self._pinned.get(tag.key) is tag:
                del self._pinned[tag.key]

    def _written(self, tag: _StorageTag) -> None:
        with self._lock:
            if self._fresh.get(tag.key) is tag:
                del self._fresh[tag.key]


tags = DeviceTags()
