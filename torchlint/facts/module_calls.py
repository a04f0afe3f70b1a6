"""What modules and their methods give, and what is called like one."""

from __future__ import annotations

import ast

from ..system.regex import regex
from ..torch_api.operators import operator
from . import torch_table as table
from .arguments import Arguments, device_of
from .common_names import LOSS_NAME
from .moves import MOVES, move
from .nodes import is_constant, keyword_of
from .operator_results import made, result_of
from .values import (
    LIKELY,
    LIKELY_TENSOR,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    Device,
    Dict,
    FunctionValue,
    ModuleValue,
    Tensor,
    Tuple,
    Value,
    constant,
    replace,
    sequence,
    tensor,
)

PARAMETERS = sequence(Tensor(parameter=True))
_NOTHING = ("zero_grad", "load_state_dict", "register_buffer", "register_parameter", "add_module", "compile")
_GIVES: dict[str, Value] = {
    "named_parameters": sequence(Tuple(items=(STR, Tensor(parameter=True)))),
    "named_buffers": sequence(Tuple(items=(STR, TENSOR))),
    **dict.fromkeys(("modules", "children"), sequence(ModuleValue(LIKELY))),
    **dict.fromkeys(("named_modules", "named_children"), sequence(Tuple(items=(STR, ModuleValue(LIKELY))))),
    "state_dict": Dict(element=TENSOR),
    "get_parameter": Tensor(parameter=True),
    **dict.fromkeys(_NOTHING, NONE),
}
"""What methods of modules give, wherever these are."""
_TRANSFORMER, _, _CAUSAL_MASK = table.CAUSAL_MASK.rpartition(".")
_MAKES_MODEL = regex(r"(?:get|build|create|make|load|init|setup|construct|define|instantiate)_")


GIVE_MODULE = frozenset("train eval half float double bfloat16 requires_grad_ apply to_empty type".split())
"""Methods of every nn.Module that give the module itself."""


def module_method(base: ModuleValue, attr: str, node: ast.Call, args: Arguments) -> Value | None:
    """What the methods that every nn.Module has give; None for others."""
    if attr in MOVES:
        return move(base, attr, args)
    if attr in GIVE_MODULE:
        return base
    if attr == "parameters":
        return sequence(Tensor(parameter=True, device=base.device))
    if attr == "buffers":
        return sequence(Tensor(device=base.device))
    if attr == "clip_grad_norm_":  # FSDP's
        return tensor(base.device, scalar=True)
    if attr == _CAUSAL_MASK and base.class_name == _TRANSFORMER:
        return causal_mask(node, args)
    return _GIVES.get(attr)


def causal_mask(node: ast.Call, args: Arguments) -> Value:
    """`nn.Transformer.generate_square_subsequent_mask(n)`, which older releases of torch have as a method of a model."""
    given = args.get(1, "device")
    device = device_of(given) if given is not None else ("" if args.open else "cpu")
    return Tensor(device=device, made_by=node)


def module_result(base: ModuleValue, args: Arguments) -> Value:
    """What calling a module of torch, or one we can't see into, gives."""
    likely = Tensor(LIKELY, device=base.device, grad=True)
    row = operator(f"{base.class_name}.forward")
    result = result_of(row, _made_with(base.made_by)) if row is not None else None
    if result is None or result.kind == "unknown":
        return likely
    value = replace(made(result, base.device, True), certainty=base.certainty)
    if base.class_name.endswith("Loss") and value.kind == "tensor":
        return replace(value, scalar=_is_reduced(base.made_by), device=where_given(args))
    return value


def where_given(args: Arguments) -> Device:
    """Where a loss is computed, or what a layer gives that nobody moves: on the host where all that it is given is there, else it is not known."""
    given = (*args.positional, *args.keywords.values())
    return "cpu" if given and not args.open and all(one.on_cpu for one in given) else ""


def _is_reduced(origin: ast.expr | None) -> bool:
    """Whether a loss of torch gives a single value: it is not made with `reduction="none"` or `reduce=False`, nor may be."""
    if not isinstance(origin, ast.Call):
        return True
    reduction, reduce = keyword_of(origin, "reduction"), keyword_of(origin, "reduce")
    several = reduction is not None and not (isinstance(reduction, ast.Constant) and reduction.value != "none")
    return not several and (reduce is None or is_constant(reduce, True))


def _made_with(origin: ast.expr | None) -> Arguments:
    """The literals that a module was made with: a flag of a module stands there."""
    if not isinstance(origin, ast.Call):
        return Arguments((), {}, open=True)
    return Arguments.of(origin, lambda node: constant(node.value) if isinstance(node, ast.Constant) else UNKNOWN)


def compiled(given: Value) -> Value:
    """What torch.compile makes of a value."""
    if given.kind in ("module", "function", "name", "class", "instance"):
        return replace(given, compiled=True)
    return FunctionValue(LIKELY, compiled=True)


def called_by_name(name: str) -> Value:
    """What calling something gives that is named like a model: `Net(16)`, `build_model(16)` make one, `net(x)`, `netD(x)` run one."""
    makes = (name[:1].isupper() and name[1:2].islower()) or _MAKES_MODEL.match(name) is not None
    return ModuleValue(LIKELY) if makes else likely_module_result()


def is_loss(name: str, args: Arguments) -> bool:
    """Whether something that is named like a loss is called with a model's output: it computes one, whoever made it."""
    return bool(LOSS_NAME.search(name)) and any(one.grad for one in args.positional)


def likely_loss(args: Arguments) -> Value:
    """What such a call likely gives."""
    return replace(likely_module_result(), device=where_given(args))


def likely_module_result() -> Value:
    """What a model or a loss likely gives: a tensor with a graph."""
    return replace(LIKELY_TENSOR, grad=True)
