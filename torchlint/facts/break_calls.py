"""Breaks of Dynamo's graph at a call that it can't trace, or at a change of state that it can't represent."""

from __future__ import annotations

import ast

from . import break_table, names
from .break_place import Break, Place, called, found, is_tensor
from .flow import Guard
from .module import Function
from .nodes import callee, is_constant, keyword_of, none_test

_QUIETING = frozenset(("reorderable_logging_functions", "ignore_logging_functions", "ignore_logger_methods"))
"""Options of Dynamo that leave such calls out of the graph."""
_LOGGER_METHODS = frozenset("debug info warning warn error exception critical log isEnabledFor".split())
# Methods of libraries' loggers, which call those.
_LIBRARY_METHODS = {"warning_once": "warning", "warn_once": "warning", "info_once": "info", "warn": "warning"}

# TL203: the outside world


def io_or_logging(place: Place) -> Break | None:
    """`print`, logging, `warnings.warn`, files, JSON, pickle."""
    asked = called(place)
    if asked is None:
        return None
    call, name, method = asked
    construct = f"{name}()"
    method = _LIBRARY_METHODS.get(method, method)
    if method in _LOGGER_METHODS and isinstance(call.func, ast.Attribute) and _is_logger(place, call.func.value):
        construct = f"logger.{method}()"
    elif break_table.rule_of(construct) != "TL203":
        return None
    announces = name == "warnings.warn" or "logg" in construct
    if place.dynamo_options & _QUIETING and (announces or name == "print"):
        return None
    if announces and not all(any(_usual(place, one) for one in readings) for readings in place.flow.readings(call)):
        return None  # it tells that something is not as usual
    # What makes a warning seldom is that it is one: of those that are left it is known how usual they are.
    return found(place, construct, "Dynamo can't trace input, output or logging", seldom_too=announces)


def _usual(place: Place, guard: Guard) -> bool:
    """Whether an ordinary call meets a condition, or need not because an earlier `if` gives it."""
    return guard.block is None or _is_met(place, guard.test, guard.true) or _is_mode(place, guard)


def _is_mode(place: Place, guard: Guard) -> bool:
    """Whether a branch is for an argument that is given, and does more than to warn of it: `elif ids is not None: logger.warning(...); y = self.encoder(ids)`."""
    any_of = isinstance(guard.test, ast.BoolOp) and isinstance(guard.test.op, ast.Or)
    tests = guard.test.values if isinstance(guard.test, ast.BoolOp) and any_of else [guard.test]
    asked = [none_test(test) for test in tests] if guard.true else []
    given = [one[0] for one in asked if one is not None and not one[1]]
    if not any(isinstance(one, ast.Name) and one.id in place.function.positions for one in given):
        return False
    calls = (node for statement in guard.block or () for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(place.value(call.func).kind in ("module", "function") for call in calls)


def _is_met(place: Place, test: ast.expr, true: bool) -> bool:
    """Whether an ordinary call meets a condition.

    An argument is left at its default, None, or one without default is there, or there is something of a kind: `padding > 0`.
    """
    if isinstance(test, ast.BoolOp):
        holds = [_is_met(place, value, true) for value in test.values]
        return all(holds) if isinstance(test.op, ast.And) is true else any(holds)
    if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name)) or len(test.ops) > 1:
        return False
    bound = test.comparators[0]
    if not isinstance(bound, ast.Constant):
        return False
    is_given = test.left.id in place.function.positions
    if bound.value == 0 and isinstance(test.ops[0], ast.Gt):
        return true and not is_given
    if bound.value is not None or not is_given or not isinstance(test.ops[0], ast.Is | ast.IsNot):
        return False
    asks_for_none = isinstance(test.ops[0], ast.Is) is true
    default = place.function.defaults.get(test.left.id)
    left_out = is_constant(default, None)
    return left_out if asks_for_none else default is None


def _is_logger(place: Place, node: ast.expr) -> bool:
    """Whether the expression is what `logging.getLogger()` (or a library's `get_logger`) gave."""
    origin = place.value(node).made_by
    if origin is None and isinstance(node, ast.Name):
        origin = place.function.module.assigned.get(node.id)
    return isinstance(origin, ast.Call) and names.last(origin.func) in ("getLogger", "get_logger")


# TL205: calls that can't be traced

_DISABLES = frozenset(("torch.compiler.disable", "torch._dynamo.disable", "torch._disable_dynamo"))


def untraceable_call(place: Place) -> Break | None:
    """The clock, random numbers of Python and NumPy, the operating system, locks, functions that were disabled."""
    asked = called(place)
    if asked is None:
        return None
    call, name, method = asked
    if disabled(place, call):
        return found(place, "torch.compiler.disable", "the function is disabled for torch.compile")
    construct = f"{name}()" if name else f".{method}()"
    if isinstance(place.flow.parents.get(call), ast.withitem) and break_table.rule_of(f"with {construct}"):
        construct = f"with {construct}"
    elif not name and not (isinstance(call.func, ast.Attribute) and place.value(call.func.value).kind == "tensor"):
        return None
    if break_table.rule_of(construct) != "TL205":
        return None
    if name == "copy.copy" and call.args and place.value(call.args[0]).kind == "tensor":
        return None
    return found(place, construct, "Dynamo can't trace the call")


def disabled(place: Place, call: ast.Call) -> bool:
    """Whether the call runs a function of the project that is decorated with torch.compiler.disable."""
    for target in place.project.targets(place.function, call):
        if "disable" in target.decorator_names:
            scope = target.parent or target.module.body
            for decorator in target.decorators:
                func = callee(decorator)
                if place.project.resolve(scope, func) in _DISABLES:
                    return True
    return False


# TL206: state that the graph can't hold

_STATE_METHODS = frozenset("resize_ resize_as_ share_memory_ retain_grad".split())


def state_change(place: Place) -> Break | None:
    """Parameters and modules made while tracing, `.data =`, `.requires_grad =`, copies of tensors, `resize_`."""
    if isinstance(place.target, ast.Assign):
        return _assigned(place, place.target)
    asked = called(place)
    if asked is None:
        return None
    call, name, method = asked
    if name.startswith("torch.nn.") and break_table.rule_of(f"{name}()") == "TL206":
        return found(place, f"{name}()", "a parameter can't be made while the graph is traced")
    if name in ("copy.copy", "copy.deepcopy") and call.args and is_tensor(place, call.args[0]):
        return found(place, f"{name}() tensor", "a tensor can't be copied as a Python object")
    if name.startswith("torch.") and any(
        k.arg == "requires_grad" and getattr(k.value, "value", None) is True for k in call.keywords
    ):
        return found(
            place, "requires_grad=True", "a leaf that requires gradients can't be made while the graph is traced"
        )
    if not method or not isinstance(call.func, ast.Attribute):
        return None
    value = place.value(call.func.value)
    if value.kind == "module" and method == "register_forward_hook":
        return found(place, ".register_forward_hook()", "a hook can't be registered while the graph is traced")
    if method in _STATE_METHODS and value.kind == "tensor":
        return found(place, f".{method}()", "the graph can't represent the change of the tensor's storage or state")
    return None


def _assigned(place: Place, node: ast.Assign) -> Break | None:
    for target in node.targets:
        if isinstance(target, ast.Attribute) and target.attr in ("data", "requires_grad"):
            value = place.value(target.value)
            if value.kind == "tensor" and value.certainty >= (1 if target.attr == "requires_grad" else 2):
                return found(place, f".{target.attr} =", f"the graph can't represent an assignment to `.{target.attr}`")
    return None


# TL207: autograd inside the graph


def autograd_call(place: Place) -> Break | None:
    """`.backward()`, `torch.autograd.grad`, `optimizer.zero_grad()`."""
    asked = called(place)
    construct = _autograd(place, *asked) if asked is not None else ""
    if not construct or {"compiled_autograd", "trace_autograd_ops"} & place.dynamo_options:
        return None
    resets = construct == ".zero_grad()"
    return found(
        place,
        construct,
        "gradients are reset outside of the graph" if resets else "autograd runs between graphs, not inside one",
    )


def _autograd(place: Place, call: ast.Call, name: str, method: str) -> str:
    """The construct that the call is; "" for any other call."""
    if name in ("torch.autograd.grad", "torch.autograd.backward"):
        return f"{name}()"
    if method not in ("backward", "zero_grad") or not isinstance(call.func, ast.Attribute):
        return ""
    kind = place.value(call.func.value).kind
    wanted = ("tensor",) if method == "backward" else ("optimizer", "module")
    return f".{method}()" if kind in wanted else ""


# TL208: modules and layouts that Dynamo does not trace

_RECURRENT = frozenset(("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"))
_SCRIPTED = frozenset(("torch.jit.script", "torch.jit.trace", "torch.jit.freeze", "torch.jit.load"))
_SPARSE = frozenset(("to_sparse", "to_sparse_csr", "to_sparse_coo"))
_LAYOUTS = frozenset(("torch.sparse_coo_tensor", "torch.sparse_csr_tensor"))


def unsupported_module(place: Place) -> Break | None:
    """A recurrent layer, a TorchScript module, a sparse or strided nested tensor."""
    asked = called(place)
    if asked is None:
        return None
    call, name, method = asked
    if name in _LAYOUTS:
        return found(place, f"{name}()", "Dynamo does not trace sparse tensors")
    if name == "torch.nested.nested_tensor":
        layout = keyword_of(call, "layout")
        if layout is not None and place.resolve(layout) != "torch.strided":
            return None
        return found(place, f"{name}()", "Dynamo does not trace nested tensors of the strided layout")
    if method in _SPARSE and isinstance(call.func, ast.Attribute) and is_tensor(place, call.func.value):
        return found(place, f".{method}()", "Dynamo does not trace sparse tensors")
    value = place.value(call.func)
    if value.kind == "module" and value.class_name in _RECURRENT and "allow_rnn" not in place.dynamo_options:
        return found(
            place, value.class_name, "Dynamo does not trace recurrent layers and leaves the whole frame to eager mode"
        )
    if _is_scripted(place, call.func):
        return found(place, "torch.jit.script", "Dynamo does not trace TorchScript")
    return None


def _is_scripted(place: Place, callee: ast.expr) -> bool:
    """Whether `callee` is a name of the module, or an attribute of the class, that holds the result of torch.jit."""
    made: list[tuple[Function, ast.expr | None]] = []
    if isinstance(callee, ast.Name):
        made = [(place.function.module.body, place.function.module.assigned.get(callee.id))]
    elif isinstance(callee, ast.Attribute) and place.function.cls is not None and isinstance(callee.value, ast.Name):
        stores = place.project.attribute_stores(place.function.cls, callee.attr)
        made = [(method, getattr(method.flow.statement(target), "value", None)) for method, target in stores]
    return any(
        isinstance(call, ast.Call) and place.project.resolve(function, call.func) in _SCRIPTED
        for function, call in made
    )
