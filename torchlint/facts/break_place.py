"""A construct that breaks Dynamo's graph, and what the detectors of such constructs share."""

from __future__ import annotations

import ast
from typing import NamedTuple, Protocol

from ..torch_api.version import Range
from . import break_table
from .place import Place as AnyPlace
from .values import PROVEN, Certainty


class Compiled(Protocol):
    """What is asked of a compiled region."""

    @property
    def fullgraph(self) -> bool: ...


class Place(AnyPlace, Protocol):
    """What is asked of a place in a compiled region (a Site)."""

    @property
    def region(self) -> Compiled | None: ...
    @property
    def torch(self) -> Range | None: ...
    @property
    def dynamo_options(self) -> frozenset[str]: ...
    def traced(self, node: ast.AST) -> bool: ...
    def short(self, node: ast.AST | None = None) -> str: ...


_CAPTURES = {"capture_scalar_outputs": "GB0124", "capture_dynamic_output_shape_ops": "GB0036"}
"""The ids of the breaks that an option of Dynamo ends. Where torch gives no ids, the option itself is the id."""


class Break(NamedTuple):
    """A construct that breaks the graph: its key in the table, and why it does."""

    construct: str
    why: str
    breaks: tuple[str, ...]
    """The ids that Dynamo reports without fullgraph; empty where it goes on tracing."""
    fullgraph: tuple[str, ...]
    """The ids that it raises with fullgraph=True; empty where it captures the construct."""


def found(place: Place, construct: str, why: str, *, seldom_too: bool = False) -> Break | None:
    """The break, unless the target torch traces the construct, the place is rarely reached or a test tries it."""
    breaks = break_table.ids(construct, "breaks", place.torch)
    fullgraph = break_table.ids(construct, "fullgraph", place.torch)
    if not (breaks or fullgraph) or (place.rare and not seldom_too) or place.role == "test":
        return None
    if any(option in breaks or _CAPTURES.get(option) in breaks for option in place.dynamo_options):
        return None
    return Break(construct, why, breaks, fullgraph)


def named(ids: tuple[str, ...]) -> str:
    """`GB0059`, `GB0156 and GB0007`; nothing where Dynamo gave no id."""
    return " and ".join(i for i in ids[:2] if i.startswith("GB"))


def told(found: Break) -> str:
    """What a break does, and why, for a message."""
    ids = named(found.breaks)
    return f"splits the compiled graph{f' ({ids})' if ids else ''}: {found.why}."


def is_tensor(place: Place, node: ast.expr | None, certainty: Certainty = PROVEN) -> bool:
    """Whether an expression is a tensor on every path."""
    if node is None or isinstance(node, ast.Starred):
        return False
    value = place.value(node)
    return value.kind == "tensor" and value.certainty >= certainty and value.other_kinds <= {"none"}


def called(place: Place) -> tuple[ast.Call, str, str] | None:
    """A call, the canonical name of what it calls ("" for a method), and the method's name."""
    call = place.target
    if not isinstance(call, ast.Call):
        return None
    name = place.resolve(call.func) or ""
    return call, name, call.func.attr if isinstance(call.func, ast.Attribute) and not name else ""
