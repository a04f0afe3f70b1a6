"""What functions of well-known libraries give."""

from __future__ import annotations

import ast

from . import operator_results
from . import torch_table as table
from .arguments import Arguments
from .evaluator import Evaluator
from .module import Function
from .values import (
    INTEGER,
    NDARRAY,
    UNKNOWN,
    Dataset,
    Dict,
    ModuleValue,
    Scheduler,
    Tuple,
    Value,
    replace,
    sequence,
    tensor,
)

_ON_HOST = tensor("cpu")
_READ_FROM_FILES: dict[str, Value] = {
    "torchaudio.load": Tuple(items=(_ON_HOST, INTEGER)),
    "torchvision.io.read_image": _ON_HOST,
    "torchvision.transforms.functional.pil_to_tensor": _ON_HOST,
    "torchvision.transforms.functional.to_tensor": _ON_HOST,
}

_SIZES = Dict(element=INTEGER)
"""How long dimensions are, by their names."""
_EDGES = frozenset(
    (
        "torch_geometric.utils.dense_to_sparse",
        "torch_geometric.utils.add_self_loops",
        "torch_geometric.utils.remove_self_loops",
        "torch_sparse.coalesce",
    )
)
"""What gives the edges of a graph, and what is known of each."""
WHOLE_STEP = "train_batch"
"""The method of DeepSpeed's pipeline that draws micro-batches, runs them forward and backward, and steps."""


def takes_whole_step(function: Function, method: str, engine: Value) -> bool:
    """`engine.train_batch()` of what `deepspeed.initialize` gave, which gives the loss of the step on its device."""
    return method == WHOLE_STEP and engine.kind == "module" and function.module.source.holds(b"deepspeed")


def library(values: Evaluator, name: str, node: ast.Call, args: Arguments) -> Value:
    """What functions of well-known libraries give: models, and what is read from files, which is on the host."""
    last = name.rpartition(".")[2]
    if name in _READ_FROM_FILES:
        return _READ_FROM_FILES[name]
    if name.startswith("torchaudio.functional.") and args.first.kind == "tensor":
        return tensor(args.first.device)
    if name in table.TENSORS_OF_GRAPHS:
        return tensor(operator_results.mixed(*args.positional, *args.keywords.values()) or args.first.device)
    if name in ("torch_scatter.scatter_max", "torch_scatter.scatter_min"):
        return Tuple(items=(tensor(args.first.device), replace(tensor(args.first.device), integer=True)))
    if name in _EDGES:
        # What is known of each edge may be None.
        return Tuple(items=(replace(tensor(args.first.device), integer=True), UNKNOWN))
    if name == "torch_geometric.utils.to_dense_batch":
        return Tuple(items=(tensor(args.first.device), replace(tensor(args.first.device), boolean=True)))
    if name.startswith(("torch_geometric.nn.", "dgl.nn.")):
        return (
            ModuleValue(class_name=name, made_by=node, made_in=values.function.module)
            if last[:1].isupper()
            else UNKNOWN
        )
    if last in ("create_model", "get_model") or ".models." in name:
        return ModuleValue(class_name=name, made_by=node, made_in=values.function.module)
    if ".datasets." in name or name.startswith("torchmeta.toy."):
        return Dataset(class_name=name)
    if name.startswith("einops."):
        return _einops(last, args.first)
    if name.startswith("transformers.") and last.startswith("get_") and last.endswith("schedule"):
        return Scheduler()
    return UNKNOWN


def _einops(last: str, given: Value) -> Value:
    """What a function of einops makes of what it is given first: sizes are read from its shape."""
    if last == "parse_shape":
        return _SIZES
    if given.kind != "tensor":
        return UNKNOWN
    if last == "asnumpy":
        return NDARRAY
    made = tensor(given.device, grad=given.grad)
    return sequence(made) if last == "unpack" else made
