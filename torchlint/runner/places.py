"""Lets a run find the copy of the project where Python would find the project itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from torchlint.messages.order import Order

_THEIRS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def enter_copy(order: Order) -> None:
    """Work in the copy; what an editable installation finds in the project is found in the copy."""
    os.chdir(order.cwd)
    os.environ["PWD"] = order.cwd
    sys.path[:] = [_moved(path, order) for path in sys.path if path != ""]
    for finder in sys.meta_path:  # setuptools' finder of editable packages keeps a table of its own
        module = sys.modules.get(getattr(finder, "__module__", ""))
        table = getattr(module, "MAPPING", None)
        if isinstance(table, dict):
            table.update({name: _moved(path, order) for name, path in table.items() if isinstance(path, str)})


def _moved(path: str, order: Order) -> str:
    home = os.path.realpath(order.home)
    real = os.path.realpath(path)
    if real != home and not real.startswith(home + os.sep):
        return path
    moved = os.path.join(order.top, os.path.relpath(real, home))
    return moved if os.path.exists(moved) and not os.path.realpath(moved).startswith(home + os.sep) else path


def imported(order: Order) -> Iterator[str]:
    """The files of the copy that were imported, and the script."""
    top = os.path.realpath(order.top) + os.sep
    for module in list(sys.modules.values()):
        file: Any = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and os.path.realpath(file).startswith(top):
            yield os.path.relpath(os.path.realpath(file), top)


def strangers(order: Order) -> Iterator[str]:
    """The files of the project that were imported from there and not from the copy: a change of them would not show."""
    home = os.path.realpath(order.home) + os.sep
    ours = os.path.realpath(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))) + os.sep
    for module in list(sys.modules.values()):
        file: Any = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py"):
            real = os.path.realpath(file)
            if real.startswith(home) and not real.startswith(ours) and not any(folder in real for folder in _THEIRS):
                yield os.path.relpath(real, home)
