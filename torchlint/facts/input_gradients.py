"""Backward passes that train nothing: they are made for the gradient of an input, or of an activation, which is looked at."""

from __future__ import annotations

import ast

from . import names
from .flow import Flow
from .module import Function

_HOOKS = ("register_backward_hook", "register_full_backward_hook")


def looked_at(function: Function, backward: ast.Call) -> bool:
    """Whether a backward pass is for a saliency map or normals: `x.requires_grad_(); ...; normals = -x.grad`.

    So is that of a class whose methods hook into gradients (Grad-CAM), and one behind which gradients that were kept are
    taken: `grads = attention.get_attn_gradients()`. Where something steps beside it, or a tensor is moved along its own
    gradient, something may be trained.
    """
    if function.flow.calls_named("step"):
        return False
    if _takes_kept(function.flow, backward):
        return True
    methods = function.cls.methods.values() if function.cls is not None else ()
    hooked = any(method.flow.calls_named(name) for method in methods for name in _HOOKS)
    if hooked and not any(method.flow.calls_named("step") for method in methods):
        return True
    return any(_is_read_alone(function.flow, name) for name in _asking(function.flow, backward))


def _takes_kept(flow: Flow, backward: ast.Call) -> bool:
    """Whether what was kept of gradients is taken behind a backward pass: `grads = self.gradients`, `cam.get_gradients()`."""
    for node in flow.nodes:
        if isinstance(node, ast.Assign) and node.lineno > backward.lineno:
            taken = node.value
            if isinstance(taken, ast.Call) and (taken.args or taken.keywords):
                continue
            owner = taken.func if isinstance(taken, ast.Call) else taken
            if isinstance(owner, ast.Attribute) and owner.attr.endswith("gradients"):
                return True
    return False


def _asking(flow: Flow, backward: ast.Call) -> set[str]:
    """The names of tensors that are told to want a gradient before a backward pass."""
    calls = [call for call in flow.calls_named("requires_grad_") if call.lineno < backward.lineno]
    owners = [call.func.value for call in calls if isinstance(call.func, ast.Attribute) and not call.args]
    return {owner.id for owner in owners if isinstance(owner, ast.Name)}


def _is_read_alone(flow: Flow, name: str) -> bool:
    """Whether the gradient of a tensor is read, and never to change the tensor: `x = x + rate * x.grad`."""
    reads = [flow.parents.get(load) for load in flow.loads.get(name, ())]
    gradients = [node for node in reads if isinstance(node, ast.Attribute) and node.attr == "grad"]
    return bool(gradients) and not any(_writes(flow.statement(node), name) for node in gradients)


def _writes(statement: ast.stmt, name: str) -> bool:
    """Whether a statement changes what a name stands for; a call may."""
    if isinstance(statement, ast.Assign):
        return any((names.chain(target) or [name])[0] == name for target in statement.targets)
    return True
