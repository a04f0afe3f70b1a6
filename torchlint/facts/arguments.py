"""The values of a call's arguments, and the places that they name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import overload

from .values import UNKNOWN, Device, Value, device_of_string


class Arguments:
    """The values of a call's arguments, each worked out when asked for.

    `open` tells that `*` or `**` may bring more, `named` that `**` may; `starred` is what stands behind a `*`.
    """

    __slots__ = ("keywords", "named", "open", "positional", "starred")

    def __init__(
        self,
        positional: Sequence[Value],
        keywords: Mapping[str, Value],
        open: bool = False,
        starred: Sequence[Value] = (),
        named: bool | None = None,
    ) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = open
        self.named = open if named is None else named
        self.starred = starred

    @classmethod
    def of(cls, node: ast.Call, read: Callable[[ast.expr], Value]) -> Arguments:
        """The arguments of a call; `read` tells what an expression is."""
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        given: dict[str, ast.expr | Value] = {}
        rest: list[ast.expr] = []
        for keyword in node.keywords:
            if keyword.arg is not None:
                given[keyword.arg] = keyword.value
            else:
                rest.append(keyword.value)
        starred: Sequence[Value] = ()
        if len(plain) < len(node.args):
            starred = _Positional([one.value for one in node.args if isinstance(one, ast.Starred)], read)
        keywords = _Keywords(given, rest, read) if given or rest else {}
        more = len(plain) < len(node.args) or bool(rest)
        return cls(_Positional(plain, read), keywords, more, starred, bool(rest))

    def beside(self, given: Mapping[str, Value] | None) -> Arguments:
        """The arguments of a call of something that was given others by name before."""
        if not given:
            return self
        return Arguments(self.positional, {**given, **self.keywords}, self.open, self.starred, self.named)

    def get(self, position: int, keyword: str) -> Value | None:
        if keyword in self.keywords:
            return self.keywords[keyword]
        return self.positional[position] if 0 <= position < len(self.positional) else None

    @property
    def first(self) -> Value:
        if self.positional:
            return self.positional[0]
        return next(iter(self.keywords.values()), UNKNOWN)

    def __len__(self) -> int:
        return len(self.positional) + len(self.keywords)


class _Positional(Sequence[Value]):
    __slots__ = ("_nodes", "_read", "_values")

    def __init__(self, nodes: Sequence[ast.expr], read: Callable[[ast.expr], Value]) -> None:
        self._nodes = nodes
        self._read = read
        self._values: dict[int, Value] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> list[Value]: ...
    def __getitem__(self, at: int | slice) -> Value | list[Value]:
        if isinstance(at, slice):
            return [self[place] for place in range(len(self._nodes))[at]]
        if at not in self._values:
            self._values[at] = self._read(self._nodes[at])
        return self._values[at]


class _Keywords(Mapping[str, Value]):
    """Those that are written, and what stands behind `**`, which is only looked at for a name that is not written."""

    __slots__ = ("_given", "_read", "_rest")

    def __init__(
        self, given: dict[str, ast.expr | Value], rest: Sequence[ast.expr], read: Callable[[ast.expr], Value]
    ) -> None:
        self._given = given
        self._rest = rest
        self._read = read

    @property
    def _all(self) -> dict[str, ast.expr | Value]:
        if self._rest:
            rest: dict[str, Value] = {}
            for node in self._rest:
                rest.update(self._read(node).entries or {})
            for name, value in rest.items():
                self._given.setdefault(name, value)
            self._rest = ()
        return self._given

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._given or name in self._all

    def __getitem__(self, name: str) -> Value:
        value = self._given[name] if name in self._given else self._all[name]
        if isinstance(value, ast.expr):
            value = self._given[name] = self._read(value)
        return value


def device_of(value: Value | None) -> Device:
    """The place that a device argument names; "" where it is unknown."""
    if value is None:
        return ""
    if value.kind in ("device", "tensor", "module"):
        return value.device
    if value.kind == "str" and isinstance(value.const, str):
        return device_of_string(value.const)
    if value.kind == "str" and value.device:
        return value.device
    if value.kind == "number" and value.integer and not value.boolean:
        return "accelerator"  # a device index or a rank
    return ""


def is_device(value: Value | None) -> bool:
    """Whether an argument names a device, not a dtype or a shape."""
    if value is None:
        return False
    if value.kind == "device":
        return True
    if value.kind == "str":
        return value.const is None or bool(device_of_string(str(value.const)))
    return value.kind == "number" and value.integer and not value.boolean
