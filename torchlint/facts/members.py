"""What attributes of values are."""

from __future__ import annotations

import ast

from . import batches, common_names, dataclass_fields, layers, module_calls, names, narrowing, operations
from . import torch_table as table
from .evaluator import Evaluator
from .module import Class, Function, key_of
from .nodes import OPERATORS, keyword_of
from .values import (
    BOOL,
    CUDA,
    DEVICE,
    DTYPE,
    EXTENT,
    INTEGER,
    LIKELY,
    NDARRAY,
    NUMBER,
    PROVEN,
    SIZE,
    UNKNOWN,
    Accelerator,
    Batch,
    DeviceValue,
    Dict,
    FunctionValue,
    Size,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
    join_all,
    replace,
    sequence,
    tensor,
)

_OF_GRAPHS = frozenset(
    "x y pos batch ptr edge_index edge_attr edge_weight edge_type train_mask val_mask test_mask".split()
)
"""The tensors that a graph of PyTorch Geometric holds."""
_OF_INSTANCES = frozenset(("gt_classes", "pred_classes", "objectness_logits"))
"""The tensors that `Instances` of detectron2 hold: https://detectron2.readthedocs.io/en/latest/tutorials/models.html"""
_STRUCTURES = ("boxes", "masks")
"""How the names of `Boxes`, `BitMasks` and the like of detectron2 end, whose `tensor` holds what they are made of."""
_OF_DGL = frozenset(("ndata", "edata", "srcdata", "dstdata"))
"""The attributes of a graph of DGL under which its tensors are."""
_BATCH_SIZES = replace(tensor("cpu", certainty=LIKELY), integer=True)
"""Those of a packed sequence are on the host, wherever the sequence is."""
_SAVED = frozenset(("saved_tensors", "saved_variables"))
_PROPERTIES = frozenset(("property", "cached_property"))
_FOLLOWED = (ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.BitAnd, ast.BitOr)
"""Operators that are followed into the methods of a class."""
_MOST = 8
"""So many methods of subclasses are asked what they give."""


def by_operator(values: Evaluator, owner: Value, op: ast.operator, *, in_place: bool = False) -> Value:
    """What an operator gives where the class of what stands left says so: `buffer += episode` is `buffer.__iadd__(episode)`, or `__add__`."""
    if owner.kind not in ("instance", "module") or owner.class_ is None or not isinstance(op, _FOLLOWED):
        return UNKNOWN
    name = OPERATORS[type(op)]
    method = values.world.method(owner.class_, f"__i{name}__") if in_place else None
    method = method or values.world.method(owner.class_, f"__{name}__")
    if method is None:
        return UNKNOWN
    given = values.world.returns(method)
    inherited = given.class_ is not None and given.class_ is method.cls is not owner.class_
    return values.instance(owner.class_) if inherited else given


_PROMISED = ("unknown", "loader", "tensor", "module", "instance", "dict", "list")
"""What an annotation alone says less of than the value behind it."""


def attribute(values: Evaluator, node: ast.Attribute) -> Value:
    binding = values.reach.get(node)
    if binding is not None:
        return values.bound(binding)
    return attribute_of(values, values.expr(node.value), node)


def attribute_of(values: Evaluator, base: Value, node: ast.Attribute) -> Value:
    of_structure = node.attr == "tensor" and base.kind == "unknown" and values.on_instances
    if of_structure and names.last(node.value).endswith(_STRUCTURES):
        return tensor(base.device)
    if node.attr in _SAVED and base.kind == "unknown" and (saved := _saved(values, node)) is not None:
        return saved
    value = member(values, base, node.attr)
    if not value.proven and value.kind in ("unknown", "tensor") and values.evidence:
        key = key_of(node)
        if key in values.evidence:
            return narrowing.used_as_tensor(value)
    return value


def _is_optimizer(values: Evaluator, base: Value) -> bool:
    """An optimizer of torch's, or an object of a class of the project that inherits from one."""
    if base.kind == "optimizer":
        return True
    return base.kind == "instance" and base.class_ is not None and values.world.is_optimizer(base.class_)


def member(values: Evaluator, base: Value, attr: str) -> Value:
    kind = base.kind
    if base.kind == "name":
        if base.choices:  # one of several modules: `methods[name].config`
            return join_all([member(values, one, attr) for one in base.choices])
        return values.named(values.canonical(f"{base.class_name}.{attr}"))
    if attr in _OF_GRAPHS and not base.proven and kind in ("unknown", "tensor") and values.on_graphs:
        return tensor(base.device)
    if attr in _OF_INSTANCES and not base.proven and kind in ("unknown", "tensor") and values.on_instances:
        return tensor(base.device)
    if attr == "batch_sizes" and kind in ("unknown", "tensor") and values.on_packed:
        return _BATCH_SIZES
    if attr in _OF_DGL and kind in ("unknown", "tensor", "batch") and base.device:
        return Batch(LIKELY, device=base.device, from_loader=base.from_loader)
    if base.kind == "tensor":
        return operations.tensor_attribute(base, attr)
    if kind in ("instance", "module", "class") and base.class_ is not None:
        found = values.world.attribute(base.class_, attr)
        if kind == "instance" and (found.other_kinds - {"none"} or _is_promised(base, attr, found)):
            found = values.world.attribute_of(base, attr)
        if found:
            if found.const is not None:
                found = _as_made(base, attr, found)
            # A module's parts move with it.
            return (
                replace(found, device=base.device)
                if found.kind == "module" and base.device and not found.device
                else found
            )
        method = values.world.method(base.class_, attr)
        if method is not None and method.decorator_names & _PROPERTIES:
            own = values.world.returns(method)
            if own.kind != "number" or own.const is None or base.made_by is not None:
                return own
            # A constant may be another one in a subclass, and the object one of that.
            others = _of_heirs(values, base.class_, attr)
            return join_all([own, *map(values.world.returns, others)])
        if method is not None:
            return FunctionValue(function=method)
        if base.made_by is None and (methods := _of_heirs(values, base.class_, attr)):
            return join_all([FunctionValue(function=one) for one in methods])
        if kind == "instance" and found.kind == "unknown" and found.device:
            return Unknown(device=found.device)  # what was moved, whatever it is
    if base.class_ is None and base.classes:
        return join_all([member(values, one, attr) for one in each_class(base)])
    if attr == "dtype" and kind == "unknown":
        return DTYPE
    if attr == "data" and kind == "unknown" and base.device:
        return base  # what was moved, `batch["y"].cpu()`, is where it was
    if attr == "device":
        return CUDA if kind in ("accelerator",) else DeviceValue(device=base.device)
    if kind == "device" and attr == "index":
        return INTEGER
    if base.kind == "batch" and base.entries and attr in base.entries:
        return base.entries[attr]
    if base.kind == "batch" and attr not in table.ATTRIBUTES_NOT_TENSOR:
        counted = attr == "batch_size" or (attr.startswith("num_") and values.on_graphs)
        return INTEGER if counted else batches.batch_tensor(base)
    if base.kind == "batch":
        return operations.tensor_attribute(batches.batch_tensor(base), attr)
    if kind == "module":
        if base.entries is not None and attr in base.entries:
            return base.entries[attr]
        if attr == "bias" and base.class_name in layers.FLAGGED_BIAS:
            return BOOL
        if attr in layers.INTEGERS and base.class_name.startswith("torch.nn."):
            return INTEGER
        if attr in ("weight", "bias", "data"):
            if base.class_ is not None and any(attr in one.stores for one in values.world.ancestry(base.class_)):
                return UNKNOWN  # what its own code sets may be an option: `self.bias = bias`
            known = attr != "bias" or base.class_name  # a layer's `bias` may say whether it has one
            return Tensor(PROVEN if known else LIKELY, parameter=True, device=base.device)
        if attr in ("module", "_orig_mod"):
            return base
        return BOOL if attr == "training" else UNKNOWN
    if attr == "param_groups" and _is_optimizer(values, base):
        return sequence(Dict(entries={"params": module_calls.PARAMETERS, "lr": NUMBER}))
    if kind == "distribution":
        return tensor(base.device) if attr in table.DISTRIBUTION_TENSORS else UNKNOWN
    if kind == "ndarray":
        return SIZE if attr == "shape" else NDARRAY if attr == "T" else UNKNOWN
    if kind == "tuple" and base.entries is not None:  # one of torch.return_types
        return base.entries.get(attr, UNKNOWN)
    if kind == "dict" and base.entries is not None and not hasattr(dict, attr):
        entry = base.entries.get(attr)  # of a dictionary that has its keys as attributes
        if entry is not None and entry.kind in ("loader", "module", "dataset"):
            return entry
    if attr in ("loss", "logits") and (kind in ("unknown", "instance") or base.grad):
        # The fields of a model's output object.
        return tensor(certainty=LIKELY, grad=True, scalar=attr == "loss")
    if common_names.DEVICE_NAME.search(attr):
        return DEVICE
    if attr == "shape" and kind == "unknown":
        return Size(LIKELY, element=EXTENT)
    if attr in ("accelerator", "fabric") and kind in ("unknown", "instance"):
        return Accelerator(LIKELY)
    return UNKNOWN


def _is_promised(base: Value, attr: str, found: Value) -> bool:
    """Whether no more than the annotation of a dataclass's field is known, and the call that made the object gives it."""
    return found.kind in _PROMISED and dataclass_fields.given(base, attr) is not None


def _as_made(base: Value, attr: str, found: Value) -> Value:
    """What a field is that has a default, where the call that made the object may give another one: `Options(workers=8)`."""
    klass, made = base.class_, dataclass_fields.call_of(base)
    if klass is None or made is None or not dataclass_fields.may_give(klass, made, attr):
        return found
    given = keyword_of(made, attr)
    return constant(given.value) if isinstance(given, ast.Constant) else replace(found, const=None)


def _saved(values: Evaluator, node: ast.Attribute) -> Value | None:
    """`ctx.saved_tensors` in the `backward` of a function of autograd: what its `forward` gives to `save_for_backward`."""
    function = values.function
    forward = function.cls.methods.get("forward") if function.cls is not None and function.name == "backward" else None
    context = function.parameters[0].arg if function.parameters else ""
    if forward is None or not isinstance(node.value, ast.Name) or node.value.id != context:
        return None
    return values.world.inside(forward, _kept_for_backward)


def _kept_for_backward(values: Evaluator) -> Value | None:
    calls = values.function.flow.calls_named("save_for_backward")
    if not calls or any(isinstance(given, ast.Starred) for call in calls for given in call.args):
        return None
    return join_all([Tuple(items=tuple(map(values.value, call.args))) for call in calls])


def _of_heirs(values: Evaluator, klass: Class, name: str) -> list[Function]:
    """The methods of subclasses by a name; in one of its methods, of those that do not replace that one."""
    here = values.function
    return [
        method
        for method in values.world.of_heirs(klass, name, _MOST)
        if here.cls is not klass or method.cls is None or not _replaces(values, method.cls, here.name)
    ]


def _replaces(values: Evaluator, heir: Class, name: str) -> bool:
    """Whether a subclass has a method in place of its base's, which it does not call."""
    method = heir.methods.get(name)
    return method is not None and not values.world.inside(method, lambda own: own.function.flow.calls_named(name))


def each_class(value: Value) -> list[Value]:
    """An object of one of several classes, as one of each."""
    return [replace(value, class_=klass, class_name=klass.full_name, classes=()) for klass in value.classes]
