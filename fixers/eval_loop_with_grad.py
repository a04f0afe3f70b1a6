from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from torchlint.facts import related, syntax, training
from torchlint.facts.common_names import MODEL_NAME
from torchlint.facts.module import Function
from torchlint.facts.nodes import given_to, root_of
from torchlint.rule import Finding, Fix, Site, Value
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import spelled

_NOTE = "what the function gives, keeps or hands on, or the model that it runs keeps, no longer carries a graph for autograd"
_FAST = "; without one, `nn.TransformerEncoder` takes its fast path, which gives zeros at places that are padded"
_MASK = b"src_key_padding_mask"
_ENCODER = rb"\bnn\.Transformer(?:Encoder)?\b|\btorch\.nn import\b[^#\n]*\bTransformer(?:Encoder)?\b"
_TRAINING_NAME = regex(
    r"train|fit\b|fit_|backward|optim|learn|tune|step|search|attack|callback|hook|closure", re.IGNORECASE
)
# Names of functions that are given to a function, and do not train what they are not given.
_MEASURES = regex(
    r"loss|criteri|metric|accura|score|transform|token|process|decode|encode|normali|augment|device|log|print",
    re.IGNORECASE,
)
_PLAIN = frozenset(
    "tensor ndarray number str none list tuple dict device dtype size loader batch dataset distribution".split()
)
_MOST = 60
"""How many functions of the project are looked into; what calls more of them may do anything."""


def fix(site: Site, finding: Finding) -> Fix | None:
    node = site.function.node
    if not isinstance(node, ast.FunctionDef) or site.name != ".eval()" or _is_generator(site):
        return None
    if not node.lineno <= finding.line <= (node.end_lineno or node.lineno):
        return None  # the model runs in another method
    if _may_train(site) or _may_be_trained_on(site):
        return None
    spelling = spelled(site.at(site.function.parent, node), "torch.no_grad") if site.function.parent else None
    if spelling is None:
        return None
    edit = site.tree.add_decorator(node, f"@{spelling[0]}()")
    note = _NOTE + (_FAST if _may_take_fast_path(site) else "")
    return Fix("Run the function without autograd", (edit, *spelling[1]), "unsafe", note)


def _may_take_fast_path(site: Site) -> bool:
    """Whether the project gives an encoder of torch a mask of what is padded."""
    holds = site.project.any_holds
    return holds(_ENCODER, word=b"Transformer") and holds(_MASK, word=_MASK)


def _is_generator(site: Site) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in site.flow.nodes)


# What the function runs


def _may_train(site: Site) -> bool:
    """Whether the function, or what it calls, may need autograd."""
    seen = {site.function}
    todo = [site.function]
    while todo:
        function = todo.pop()
        if training.trains(function) or len(seen) > _MOST:
            return True
        for inner in _inside(function):
            for call in inner.flow.calls:
                if _is_unknown(site, inner, call):
                    return True
                run = [target for target in training.run_by(site, inner, call) if target not in seen]
                seen.update(run)
                todo += run
    return False


def _inside(function: Function) -> Iterator[Function]:
    yield function
    for inner in function.nested.values():
        yield from _inside(inner)


def _is_unknown(site: Site, function: Function, call: ast.Call) -> bool:
    """Whether a call may train for all that is known of it."""
    if site.project.targets(function, call):
        return False
    func = call.func
    value = site.project.value(function, func)
    if value.kind == "module":
        return value.class_name.partition(".")[0] != "torch" and related.holds(site, training.INSIDE)
    name = site.project.resolve(function, func)
    if name is not None:
        outside = name.partition(".")[0] in ("torch", "numpy") or "." not in name
        return not outside and (_TRAINING_NAME.search(name) is not None or _hands_on(site, function, call))
    if not isinstance(func, ast.Attribute):
        last = func.id if isinstance(func, ast.Name) and func.id not in function.flow.stores else ""
        return not (_MEASURES.search(last) or MODEL_NAME.search(last)) or _hands_on(site, function, call)
    owner = site.project.value(function, func.value)
    if owner.kind in _PLAIN or (owner.kind == "module" and func.attr in ("train", "eval")):
        return False
    return _TRAINING_NAME.search(func.attr) is not None or _hands_on(site, function, call)


def _hands_on(site: Site, function: Function, call: ast.Call) -> bool:
    """Whether a call is given a model, an optimizer or a function."""
    return any(
        site.project.value(function, argument).kind in ("module", "optimizer", "function")
        for argument in given_to(call)
    )


# What becomes of its results


def _may_be_trained_on(site: Site) -> bool:
    """Whether a caller runs a backward pass on what the function gives, or the file on what it keeps."""
    kept = any(_keeps_graph(site, node) for node in site.flow.nodes)
    if kept and site.source.holds(training.TRAINS):
        return True
    if _is_plain(site.project.returns(site.function)):
        return False
    return training.is_trained_on(site, site.function) or _is_handed_on(site)


def _is_handed_on(site: Site) -> bool:
    """Whether somebody may call the function by another name, and train on what it gives: `{"features": features}`, an object that is called."""
    function = site.function
    if function.name == "__call__":
        return True
    uncalled = re.compile(rb"\b%s\b(?!\s*\()" % function.name.encode())
    return any(
        _is_named(node, function.name)
        and syntax.called(other.flow, node) is None
        and site.project.value(other, node).function is function
        for module in related.modules(site, uncalled)
        for other in module.functions_at(module.lines_holding(function.name))
        for node in other.flow.nodes
    )


def _is_named(node: ast.AST, name: str) -> TypeGuard[ast.Name | ast.Attribute]:
    written = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return written == name


def _is_plain(value: Value) -> bool:
    """Whether a value holds no tensor."""
    if value.kind in ("tuple", "list", "dict"):
        parts = [
            *(value.items or ()),
            *(value.entries or {}).values(),
            *([value.element] if value.element is not None else ()),
        ]
        return bool(parts) and all(map(_is_plain, parts))
    return value.kind in ("number", "str", "none", "ndarray", "device", "dtype", "size")


def _keeps_graph(site: Site, node: ast.AST) -> bool:
    """`self.outputs = model(x)`, `outputs.append(model(x))`: a tensor that outlives the function."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(_is_outside(site, target) for target in targets) and _carries_graph(site, node.value)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("append", "extend", "add")
    ):
        return _is_outside(site, node.func) and any(_carries_graph(site, argument) for argument in node.args)
    return False


def _carries_graph(site: Site, node: ast.expr) -> bool:
    value = site.value(node)
    return value.kind in ("tensor", "list", "tuple", "dict") and not (
        (value.kind == "tensor" and value.boolean) or value.integer or _is_plain(value)
    )


def _is_outside(site: Site, target: ast.expr) -> bool:
    """Whether a target is part of something that the function did not make itself."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(_is_outside(site, element) for element in target.elts)
    root = root_of(target, ast.Attribute, ast.Subscript, ast.Starred)
    if root is None or root.id in site.flow.globals:
        return True
    return root is not target and root.id not in site.flow.stores
