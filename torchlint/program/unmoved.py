"""Loops of the host: they run a model that their function makes, and that nothing moves to a device."""

from __future__ import annotations

import ast

from ..facts.flow import Flow, Loop
from ..facts.module import Class, Function
from ..facts.nodes import keyword_of
from ..query.question import question
from .project import Project

_OWN_USES = frozenset(("eval", "train", "load_state_dict", "state_dict", "parameters", "named_parameters"))
"""What may be asked of a model that stays where it is."""
_MOVES = ("to", "cuda", "xpu", "npu", "to_empty", "type_as", "set_device")
_MODULE = "torch.nn.Module"
_BY_DEFAULT = rb"set_default_(?:device|tensor_type)"
"""What has a program make its tensors on a device."""


@question("runs unmoved model", False)
def runs_unmoved_model(project: Project, function: Function, loop: Loop) -> bool:
    """Whether all models that a loop runs are made by the loop's function, of classes of the project, and stay on the host.

    `model = Net(); model.load_state_dict(weights); model.eval()`, where the function moves nothing and gives the model
    to nobody else, and the class moves nothing either.
    """
    made = _unmoved(project, function)
    called = [call.func for call in function.flow.calls_in(loop)] if made else []
    run = [one for one in called if project.value(function, one).kind == "module"]
    return (
        bool(run)
        and all(isinstance(one, ast.Name) and one.id in made for one in run)
        and not project.any_holds(_BY_DEFAULT, word=b"set_default_")
    )


@question("unmoved models", frozenset())
def _unmoved(project: Project, function: Function) -> frozenset[str]:
    """The models that a function makes and leaves on the host, by their names."""
    if isinstance(function.node, ast.Module) or function.nested or _moves(function.flow):
        return frozenset()
    return frozenset(name for name in function.flow.stores if _makes_model(project, function, name))


def _makes_model(project: Project, function: Function, name: str) -> bool:
    """Whether a name is a model that its function makes once, and gives to nobody."""
    made = function.flow.assignment(name)
    if made is None or not isinstance(made.value, ast.Call) or len(function.flow.stores[name]) > 1:
        return False
    if not all(_stays(function.flow, load) for load in function.flow.loads.get(name, ())):
        return False
    value = project.value(function, made.value)
    return value.kind == "module" and value.class_ is not None and _is_of_host(project, value.class_)


def _stays(flow: Flow, load: ast.Name) -> bool:
    """Whether a use of a model is one that leaves it where it is: `model(x)`, `model.eval()`."""
    user = flow.parents.get(load)
    return (isinstance(user, ast.Attribute) and user.attr in _OWN_USES) or (
        isinstance(user, ast.Call) and user.func is load
    )


def _is_of_host(project: Project, klass: Class) -> bool:
    """Whether a class, its bases included, is a module whose methods move nothing."""
    family = list(project.ancestry(klass))
    known = all(_is_known(project, one, project.base_name(one, base)) for one in family for base in one.bases)
    return known and not any(_moves(method.flow) for one in family for method in one.methods.values())


def _is_known(project: Project, klass: Class, base: str | None) -> bool:
    return base == _MODULE or (base is not None and isinstance(project.definition(base, klass.module), Class))


def _moves(flow: Flow) -> bool:
    """Whether a function says `x.to(...)`, `x.cuda()`, or gives a device to something."""
    return any(flow.calls_named(name) for name in _MOVES) or any(keyword_of(call, "device") for call in flow.calls)
