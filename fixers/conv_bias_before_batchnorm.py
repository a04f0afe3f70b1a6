from __future__ import annotations

import ast
import re

from torchlint.facts import evaluation_mode, layers, names, related, syntax
from torchlint.facts.flow import Guard
from torchlint.facts.module import Function
from torchlint.facts.nodes import elements, number, string
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import call_node

_MENTION = regex(rb"\.bias\b|bias[\"']")
_FREEZES = regex(rb"\.eval\(\)|\.train\(False\)")
_PARAMETERS = regex(rb"\bparameters\(\)")
_NOTE = "the state_dict and parameters() lose an entry, running means start without the bias, and later layers draw other random numbers"
_HOOKS = regex(rb"register_(?:module_)?forward_hook\(")
_OF_ALL = frozenset("parameters named_parameters modules apply to cuda train eval state_dict load_state_dict".split())
"""What a module has that runs no layer of it alone."""
_APPLIED = ("conv1d", "conv2d", "conv3d", "batch_norm", "linear")
_ASKS = frozenset(("hasattr", "endswith", "startswith"))


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name.removesuffix("()") not in layers.BIAS:
        return None  # the class that has it may do more with it
    if site.once(("bias is read", site.module, site.name), lambda: _bias_is_read(site)):
        return None
    if site.once(("bias is needed", site.module), lambda: _norms_are_frozen(site) or _go_by_position(site)):
        return None
    if related.holds(site, _HOOKS) or _is_reached_alone(site):
        return None
    given = site.argument("bias", layers.BIAS[site.name.removesuffix("()")])
    if given is not None:
        edit = site.tree.replace(site.cst(given), "False")
    else:
        added = site.tree.add_argument(call_node(site), "bias=False")
        if added is None:
            return None
        edit = added
    return Fix("Leave the bias out", (edit,), "unsafe", _NOTE)


def _is_reached_alone(site: Site) -> bool:
    """Whether what the layer gives may be had without the norm: `self.net[0](x)`, `for layer in self.net:`, `self.net.conv` of a name that it is added by."""
    statement = site.statement
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_module":
        added = string(call.args[0]) if call.args else None
        return added is None or any(_is_called_by_name(function, added) for function in site.module.functions)
    if not isinstance(statement, ast.Assign) or statement.value is site.target:
        return False
    targets = [name for one in statement.targets if (name := syntax.own_attribute(site.function, one)) is not None]
    klass = site.function.cls
    uses = [one for name in targets for one in klass.uses.get(name, ())] if klass is not None else []
    return any(not _is_called(function, node) for function, node in uses)


def _is_called(function: Function, used: ast.Attribute) -> bool:
    """`self.net(x)`, `self.net.parameters()`: the layers one after the other, or none of them."""
    parent = function.flow.parents.get(used)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OF_ALL
    return isinstance(parent, ast.Call) and (parent.func is used or names.last(parent.func) == "len")


def _is_called_by_name(function: Function, name: str) -> bool:
    """`self.features.conv(x)`"""
    return any(isinstance(call.func, ast.Attribute) for call in function.flow.calls_named(name))


def _bias_is_read(site: Site) -> bool:
    """Whether the program reads the bias of such a layer without asking whether there is one: it initialises, copies or names it."""
    return any(
        _reads(site, function, node)
        for module in related.modules(site, _MENTION)
        for function in module.functions
        for node in function.flow.nodes
    )


def _reads(site: Site, function: Function, node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.search(r"(?:^|\.)bias$", node.value) is not None and not _is_asked_for(function, node)
    if not isinstance(node, ast.Attribute) or node.attr != "bias" or not isinstance(node.ctx, ast.Load):
        return False
    if syntax.own_attribute(function, node) is not None or _is_none_checked(function.flow.parents.get(node), node):
        return False
    owner = site.project.value(function, node.value)
    if (
        owner.kind == "module"
        and owner.class_name.startswith("torch.nn.")
        and owner.class_name != site.name.removesuffix("()")
    ):
        return False
    return not any(_is_other(site, function, guard.test, guard.true, node) for guard in function.flow.guards(node))


def _norms_are_frozen(site: Site) -> bool:
    """Whether the program puts norms alone into evaluation, `if isinstance(m, nn.BatchNorm2d): m.eval()`: these subtract no bias of today."""
    return any(
        isinstance(func := call.func, ast.Attribute)
        and (_is_norm(site, function, func.value) or any(map(_asks_for_norm, function.flow.guards(call))))
        for module in related.modules(site, _FREEZES)
        for function in module.functions
        for call in evaluation_mode.switching(function)
    )


def _is_norm(site: Site, function: Function, node: ast.expr) -> bool:
    value = site.project.value(function, node)
    return value.kind == "module" and value.class_name in layers.NORMS


def _asks_for_norm(guard: Guard) -> bool:
    """`isinstance(m, nn.BatchNorm2d)`, `classname.find("BatchNorm") != -1`."""
    return guard.true and "Norm" in ast.unparse(guard.test)


def _go_by_position(site: Site) -> bool:
    """Whether the program takes parameters by their places, `F.conv2d(x, weights[0], weights[1])`, `weight, bias = conv.parameters()`: without a bias these are others."""
    return any(
        any(
            _is_place(given) for name in _APPLIED for call in function.flow.calls_named(name) for given in call.args[1:]
        )
        or any(_is_taken_apart(function, call) for call in function.flow.calls_named("parameters"))
        for module in related.modules(site, _PARAMETERS)
        for function in module.functions
    )


def _is_taken_apart(function: Function, parameters: ast.Call) -> bool:
    """`weight, bias = conv.parameters()`, `list(conv.parameters())[1]`; the first and the last of all are seldom the bias of such a layer."""
    node: ast.expr = parameters
    parent = function.flow.parents.get(node)
    while isinstance(parent, ast.Starred | ast.List | ast.Tuple) or _is_list(parent):
        assert isinstance(parent, ast.expr)
        node, parent = parent, function.flow.parents.get(parent)
    if isinstance(parent, ast.Assign):
        return any(isinstance(target, ast.Tuple | ast.List) for target in parent.targets)
    return (
        isinstance(parent, ast.Subscript) and _is_place(parent, among=ast.expr) and number(parent.slice) not in (0, -1)
    )


def _is_list(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple")


def _is_place(given: ast.expr, among: type[ast.expr] = ast.Name) -> bool:
    return (
        isinstance(given, ast.Subscript)
        and isinstance(given.value, among)
        and (isinstance(given.slice, ast.Name | ast.BinOp) or isinstance(number(given.slice), int))
    )


def _is_asked_for(function: Function, text: ast.Constant) -> bool:
    """`"bias" in name`, `hasattr(m, "bias")`"""
    parent = function.flow.parents.get(text)
    if isinstance(parent, ast.Call):
        called = parent.func
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        return name in _ASKS
    return isinstance(parent, ast.Compare | ast.Expr)


def _is_none_checked(test: ast.AST | None, bias: ast.Attribute) -> bool:
    return (
        isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot) and syntax.same(test.left, bias)
    )


def _is_other(site: Site, function: Function, test: ast.expr, true: bool, bias: ast.Attribute) -> bool:
    """Whether behind the test there is a bias, or the layer is one of another kind."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and true:
        return any(_is_other(site, function, part, true, bias) for part in test.values)
    if isinstance(test, ast.Compare) and _is_none_checked(test, bias):
        return isinstance(test.ops[0], ast.IsNot) is true
    if not true:
        return False
    if any(isinstance(part, ast.Constant) and "Norm" in str(part.value) for part in ast.walk(test)):
        return True  # classname.find("BatchNorm") != -1
    if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"):
        return False
    if len(test.args) != 2 or not syntax.same(test.args[0], bias.value):
        return False
    asked = elements(test.args[1])
    kinds = [site.project.resolve(function, one) for one in asked]
    return all(
        kind is not None
        and kind.startswith("torch.nn.")
        and kind not in (site.name.removesuffix("()"), "torch.nn.Module")
        for kind in kinds
    )
