"""Functions whose answers a database keeps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Asking(Protocol):
    """What a question is asked of: a project, or what knows one."""

    def ask(self, key: tuple[Any, ...], work: Callable[[], T], initial: T) -> T: ...


A = TypeVar("A", bound=Asking)


def question(
    kind: str, initial: Any, by: str = "ask"
) -> Callable[[Callable[Concatenate[A, P], T]], Callable[Concatenate[A, P], T]]:
    """A function that is worked out once for what it is given, by place alone: its key is `kind` with that.

    `initial` stands for the answer where working it out leads back to it; it is asked `by` a method of its first argument.
    """

    def remembered(find: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(find)
        def ask(asked: Asking, *about: Any) -> T:
            # What is asked of a project as a whole is about no file, which a key names second.
            answer: T = getattr(asked, by)((kind, *(about or ("",))), lambda: find(asked, *about), initial)
            return answer

        return ask

    return remembered
