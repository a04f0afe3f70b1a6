"""What annotations promise about values."""

from __future__ import annotations

import ast
from typing import Protocol

from . import names
from .module import Class, Function, Module
from .nodes import indices, is_constant
from .picture_calls import PICTURE
from .values import (
    BOOL,
    DEVICE,
    DICT,
    DTYPE,
    INTEGER,
    LIKELY_TENSOR,
    LIST,
    NDARRAY,
    NONE,
    NUMBER,
    STR,
    TUPLE,
    UNKNOWN,
    Accelerator,
    Dataset,
    Dict,
    Loader,
    ModuleValue,
    Optimizer,
    Tensor,
    Tuple,
    Value,
    join_all,
    sequence,
    tensor,
)

_PROMISES: dict[str, Value] = {
    "int": INTEGER,
    "float": NUMBER,
    "bool": BOOL,
    "complex": NUMBER,
    "str": STR,
    "list": LIST,
    "tuple": TUPLE,
    "dict": DICT,
    "numbers.Number": NUMBER,
    "numbers.Real": NUMBER,
    "numbers.Integral": INTEGER,
    **dict.fromkeys(("torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor"), tensor()),
    # Functions that are taken for the types: `x: torch.tensor`.
    "torch.tensor": LIKELY_TENSOR,
    "numpy.array": NDARRAY,
    **dict.fromkeys(("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer"), Tensor(parameter=True)),
    "torch.utils.data.DataLoader": Loader(),
    "torch.utils.data.IterableDataset": Dataset(class_name="torch.utils.data.IterableDataset"),
    "torch.device": DEVICE,
    "torch.dtype": DTYPE,
    PICTURE.class_name: PICTURE,
}
"""What names of types promise."""


class Names(Protocol):
    """What is asked of the function that an annotation stands in, as `Evaluator` says."""

    def dotted(self, node: ast.expr) -> str | None: ...
    def definition(self, name: str) -> Function | Class | Module | None: ...
    def instance(self, klass: Class) -> Value: ...


def promised(where: Names, annotation: ast.expr) -> Value:
    """What an annotation promises; strings and `X | None`, `Optional[X]` are looked into."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except (SyntaxError, ValueError):
            return UNKNOWN
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _one_of([promised(where, side) for side in (annotation.left, annotation.right)])
    if is_constant(annotation, None):
        return NONE
    if isinstance(annotation, ast.Subscript):
        return _generic(where, annotation)
    name = where.dotted(annotation)
    if name is None:
        return UNKNOWN
    if name in _PROMISES:
        return _PROMISES[name]
    if name.startswith("torch.optim.") and "lr_scheduler" not in name:
        return Optimizer()
    if name.endswith(("ndarray", "DataFrame")):
        return NDARRAY
    if name.endswith((".Accelerator", ".Fabric")):
        return Accelerator(class_name=name)
    if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
        return ModuleValue(class_name=name)
    klass = where.definition(name)
    if isinstance(klass, Class):
        return where.instance(klass)
    return UNKNOWN


def _one_of(sides: list[Value]) -> Value:
    """What one of several types promises, where they agree or one of them is a tensor."""
    known: list[Value] = [side for side in sides if side.kind != "none"]
    if len(known) < len(sides):
        return next((side for side in known if side), UNKNOWN)
    kinds = {side.kind for side in known}
    if len(kinds) == 1:
        return known[0]
    if kinds == {"device", "str"}:
        return DEVICE
    # `list[int] | torch.Tensor`: one of several things that it may be.
    return join_all(known) if all(known) and "tensor" in kinds else UNKNOWN


def _generic(where: Names, node: ast.Subscript) -> Value:
    name = names.last(node.value)
    inner = indices(node.slice)
    if not inner:  # `tuple[()]`, the empty one
        return Tuple(items=()) if name in ("Tuple", "tuple") else UNKNOWN
    if name == "Optional":
        return promised(where, inner[0])
    if name == "Union":
        return _one_of([promised(where, each) for each in inner])
    if name in ("List", "list", "Sequence", "Iterable", "Iterator"):
        return sequence(promised(where, inner[0]))
    if name in ("Tuple", "tuple"):
        if isinstance(inner[-1], ast.Constant) and inner[-1].value is Ellipsis:
            return sequence(promised(where, inner[0]))
        return Tuple(items=tuple(promised(where, i) for i in inner))
    if name in ("Dict", "dict", "Mapping"):
        return Dict(element=promised(where, inner[-1]))
    if name in ("DataLoader",):
        return Loader()
    # jaxtyping: Float[Tensor, "batch dim"]
    first = where.dotted(inner[0])
    return tensor() if first in ("torch.Tensor", "jaxtyping.Tensor") else UNKNOWN
