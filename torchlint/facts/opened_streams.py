"""Datasets that read a stream which their constructor opens: workers would share its place, or each open it for itself first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import syntax
from .module import Class, Function
from .nodes import given_to
from .place import Place

_OPENS = frozenset(
    """av.open cv2.VideoCapture decord.VideoReader gzip.open imageio.get_reader imageio.v2.get_reader open
    torchvision.io.VideoReader""".split()
)
"""What opens a file that is read in one place after the other."""
_DEPTH = 3
"""Through how many datasets that hold others one is looked for."""


def reads_opened(place: Place, dataset: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a dataset reads an open stream, or holds another one that does: `Paired([Video(path), Video(other)])`."""
    if any(_reads_own(place, klass) for klass in place.value(dataset).any_class):
        return True
    return depth > 0 and any(reads_opened(place, part, depth - 1) for part in _parts(place, dataset))


def _parts(place: Place, dataset: ast.expr) -> Iterator[ast.expr]:
    """What the calls that a dataset is made by are given, by whatever statement of the function; the elements of a list each."""
    named = place.flow.stores.get(dataset.id, ()) if isinstance(dataset, ast.Name) else ()
    for made in (dataset, *(syntax.given_to_target(place.flow, store) for store in named)):
        for given in given_to(made) if isinstance(made, ast.Call) else ():
            whole = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
            yield from (part for part in whole if isinstance(part, ast.Name | ast.Call))


def _reads_own(place: Place, dataset: Class) -> bool:
    """Whether a method of a class reads what its constructor has opened."""
    opened = {
        name
        for name, stores in dataset.stores.items()
        for method, target in stores
        if method.name == "__init__" and _opens(place, method, syntax.given_to_target(method.flow, target))
    }
    items = [dataset.methods.get(name) for name in ("__getitem__", "__iter__", "__next__")]
    return bool(opened) and any(method in items for name in opened for method, _ in dataset.uses.get(name, ()))


def _opens(place: Place, method: Function, given: ast.expr | None) -> bool:
    return isinstance(given, ast.Call) and place.project.resolve(method, given.func) in _OPENS
