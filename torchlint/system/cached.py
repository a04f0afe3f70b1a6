"""`cached_property` as Python has it from 3.12 on: without a lock, which took longer than most of what is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property  # noqa: PLC0414
else:

    class cached_property:
        """An attribute that is worked out at its first use, and lies in the `__dict__` from then on."""

        def __init__(self, answer: Any) -> None:
            self._answer = answer
            self.__doc__ = answer.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            answer = instance.__dict__[self._name] = self._answer(instance)
            return answer


def kept(owner: Any, name: str, answer: Callable[[], T]) -> T:
    """What is worked out once for an object, by others than its class, and lies in its `__dict__` under a name."""
    known: dict[str, T] = owner.__dict__
    if name not in known:
        known[name] = answer()
    return known[name]
