"""Waits for a module to be imported: what costs seconds to import is imported only by a program that uses it."""

from __future__ import annotations

import contextlib
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class _Waiting(MetaPathFinder):
    """Finds one module as Python does, and has something done when it has run."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            self._then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextlib.contextmanager
def when_imported(name: str, then: Callable[[], None]) -> Iterator[None]:
    """Do it as soon as the module of that name is imported, at once where it is."""
    if name in sys.modules:
        then()
        yield
        return
    waiting = _Waiting(name, then)
    sys.meta_path.insert(0, waiting)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(waiting)
