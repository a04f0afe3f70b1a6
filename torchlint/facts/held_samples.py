"""Datasets that hold their samples, or have them ready: workers have nothing to read."""

from __future__ import annotations

import ast

from . import names, prefetched
from .module import Class
from .nodes import is_constant
from .place import Place
from .values import Value

_CONVERTS = frozenset(
    """int float len tensor as_tensor from_numpy FloatTensor LongTensor Tensor
    astype copy clone long double size item min max
    randint randrange rand randn ones zeros""".split()
)
"""What makes a number, a tensor or a copy of something small that is in memory, the place of a window in it, or what stands in for data."""
_IN_MEMORY = ("TensorDataset", "ArrayDataset", "InMemoryDataset")


def is_held(place: Place, dataset: Value) -> bool:
    """Whether samples are elements or rows of what a dataset holds."""
    if dataset.kind in ("list", "tensor", "ndarray", "dict", "tuple") or dataset.class_name.endswith(_IN_MEMORY):
        return True
    if dataset.class_name.startswith("torchmeta.toy."):
        return True  # which counts its samples
    klass = dataset.class_
    return klass is not None and (
        _has_one(place, klass) or _only_indexes(place, klass) or prefetched.reads_ahead(place, klass)
    )


def _has_one(place: Place, dataset: Class) -> bool:
    """Whether a dataset has one item, `def __len__(self): return 1`: workers would begin anew for each."""
    length = place.project.method(dataset, "__len__")
    returned = length.end if length is not None else None
    return isinstance(returned, ast.Return) and is_constant(returned.value, 1)


def _only_indexes(place: Place, dataset: Class) -> bool:
    """Whether a dataset hands out what it holds: `__getitem__` calls nothing but what makes a number, a tensor or a copy of it.

    What stands behind an option that nobody gives, `if self.transform:`, is not called.
    """
    item = dataset.methods.get("__getitem__")
    return item is not None and all(
        names.last(call.func) in _CONVERTS or place.at(item, call).rare for call in item.flow.calls
    )
