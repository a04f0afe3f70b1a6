"""Calls that log or print, and what they read of the device for that."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .host_reads import device_tensor, first_of_lines, host_copy, reads_as_before, scalar_read
from .module import Function
from .nodes import given_to
from .place import Place
from .uses import read_beside
from .values import Value

# Loggers format at once, except for a level that is mostly off.
_LOGGERS = ("info", "warning", "error", "critical", "exception")
_WRITERS = (
    *"add_scalar add_scalars log_metric log_metrics set_postfix set_postfix_str set_description".split(),
    *"set_description_str track log_scalar log_value".split(),
)
_FRAMEWORK_LOGS = ("log", "log_dict")
_PRINTS = (
    *"print wandb.log mlflow.log_metric mlflow.log_metrics tqdm.tqdm.write".split(),
    "tensorboard_logger.log_value",
)
METHODS = (*_LOGGERS, *_WRITERS, *_FRAMEWORK_LOGS)
"""Methods of loggers, progress bars and experiment trackers."""
FUNCTIONS = (*_PRINTS, *(f"logging.{name}" for name in _LOGGERS))
"""Functions that print or log."""
_FORMATS = frozenset(("str", "repr", "format"))


def logging_call(place: Place, call: ast.Call) -> bool:
    """`print`, a method of a logger, a progress bar or an experiment tracker."""
    name = place.resolve(call.func)
    if name in _PRINTS or name == "tqdm.write":
        return True
    func = call.func
    if not isinstance(func, ast.Attribute) or not (call.args or call.keywords):
        return False
    if func.attr in _LOGGERS or func.attr in _WRITERS:
        # `metrics.log_scalar(...)` of a module of the project's own: what it is given was read before.
        return name is None or not isinstance(place.project.definition(name, place.function.module), Function)
    if func.attr in _FRAMEWORK_LOGS:
        # `self.log("loss", loss)` of Lightning keeps the tensor, as does its module in a callback; trackers take a dictionary.
        # `loss.log()` is arithmetic.
        receiver = func.value
        return (
            not (isinstance(receiver, ast.Name) and receiver.id == "self")
            and not (call.args and place.value(call.args[0]).kind == "str")
            and place.value(receiver).kind != "tensor"
            and name is None
        )
    return False


def logged(place: Place, call: ast.Call) -> list[ast.expr]:
    """The device tensors that a logging call formats or reads: the first of each line, in source order."""
    found: list[ast.expr] = []
    for given in given_to(call):
        tensors = [node for node in formatted(place, given) if device_tensor(place, node) is not None]
        if tensors and not (_is_own(place, call) and place.value(given).kind != "str"):
            found += tensors  # what the project's own method is given it may keep, unless that is a text already
        found += [part for part in ast.walk(given) if isinstance(part, ast.expr) and _reads(place, part)]
    if found:
        found.sort(
            key=lambda node: (node.lineno, node.col_offset, -(node.end_lineno or 0), -(node.end_col_offset or 0))
        )
        told = first_of_lines(place, place.flow.statement(call), found)
        return [node for node in found if node in told]
    keys = [place.value(given).entries for given in call.args]
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in (*_FRAMEWORK_LOGS, *_WRITERS)
        and not _is_own(place, call)
    ):
        for given, entries in zip(call.args, keys, strict=True):
            if any(map(_is_read, (entries or {}).values())) and place.accelerator:
                return [given]
    return []


def _reads(place: Place, node: ast.expr) -> bool:
    """Whether an expression reads a tensor of the device: `loss.item()`, `loss.cpu()`, `loss.data[0]`."""
    if isinstance(node, ast.Call):
        return scalar_read(place, node) is not None or _is_copied(place, node)
    return reads_as_before(place, node)


def _is_copied(place: Place, call: ast.Call) -> bool:
    """Whether a call copies a tensor to the host, `loss.cpu()`; of what an evaluation shows, single values alone: the rest is what it is for."""
    copied = host_copy(place, call)
    return copied is not None and (place.hot is not None or ((value := place.value(copied)).is_tensor and value.scalar))


def _is_read(value: Value) -> bool:
    """Whether a value is a tensor of the device, and one each time: for certain, or what is made of a model's output."""
    known = value.kind == "tensor" and (value.proven or (value.grad and "number" not in value.other_kinds))
    known = known and "none" not in value.other_kinds
    return known and not value.on_cpu and not value.from_loader


def _is_own(place: Place, call: ast.Call) -> bool:
    """Whether a call runs a method of the project, which may keep the tensors that it is given, or reads them itself."""
    return bool(place.project.targets(place.function, call))


def formatted(place: Place, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that a value to be logged turns into text."""
    if isinstance(node, ast.JoinedStr | ast.Tuple | ast.List):
        for part in node.values if isinstance(node, ast.JoinedStr) else node.elts:
            yield from formatted(place, part)
    elif isinstance(node, ast.FormattedValue | ast.Starred):
        yield from formatted(place, node.value)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from formatted(place, value)
    elif isinstance(node, ast.BinOp) and place.value(node).kind == "str":
        for side in (node.left, node.right):
            yield from formatted(place, side)
    elif isinstance(node, ast.Call) and _formats(place, node):
        for given in given_to(node):
            yield from formatted(place, given)
    else:
        yield node


def _formats(place: Place, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr == "format" and place.value(call.func.value).kind in ("str", "unknown")
    return place.resolve(call.func) in _FORMATS


def is_logged(place: Place, node: ast.expr) -> bool:
    """Whether the place stands in the arguments of a logging call, which TL104 reports."""
    return any(isinstance(a, ast.Call) and logging_call(place, a) for _, a in place.flow.takers(node))


def is_shown_as_it_is(place: Place, node: ast.expr) -> bool:
    """Whether an evaluation logs what has a name, and no single value, right there, and nothing else reads it: that is what it is for."""
    read = read_beside(place.function, place.statement)
    if read is None:
        return False
    takers = (call for child, call in place.flow.takers(read) if isinstance(call, ast.Call) and child is not call.func)
    taker = next(takers, None)
    value = place.value(node)
    return taker is not None and not (value.is_tensor and value.scalar) and logging_call(place, taker)
