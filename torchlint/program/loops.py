"""What a loop goes through, what it makes, and the calls in it."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ..facts import aliases, names, runs
from ..facts.flow import Loop, contains
from ..facts.module import Function
from ..facts.nodes import bound_names, in_any_order, required, root_of
from ..system.regex import regex
from ..text.finders import fact_of_files
from ..text.source import Source
from .project import Project

_EXPORTING = frozenset((("onnx", "export"), ("onnx", "dynamo_export"), ("jit", "trace"), ("jit", "script")))
_EXPORTS = regex(rb"\b(?:onnx|jit)\.(?:export|dynamo_export|trace|script)\b")
_EXPORTS_MODELS = regex(rb"\b(?:onnx\.(?:dynamo_)?export|jit\.trace)\(")
_NAMES = 3
"""Through how many names what a loop counts is followed."""


def brings_batches(project: Project, function: Function, iterable: ast.expr) -> bool:
    """`loader`, `enumerate(loader)`, `tqdm(loader)`, an object of a class of the project that is called a loader and iterated over."""
    value = project.value(function, aliases.gone_through(iterable))
    klass = value.class_ if value.kind == "instance" else None
    if klass is not None and klass.name.endswith("Loader"):
        return project.method(klass, "__iter__") is not None
    return value.kind == "loader"


def brings_samples(project: Project, function: Function, loop: ast.For) -> bool:
    """`for i in range(len(dataset)): sample = dataset[i]`, of a dataset, or an object of a class that has samples by their numbers."""
    match aliases.gone_through(loop.iter):
        case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=samples)])]):
            pass
        case _:
            return False
    taken = [
        load
        for load in function.flow.loads.get(samples, ())
        if contains(loop, load)
        and isinstance(part := function.flow.parents[load], ast.Subscript)
        and isinstance(part.slice, ast.Name)
        and part.slice.id in bound_names(loop.target)
    ]
    value = project.value(function, taken[0]) if taken else None
    if value is None or value.kind != "instance":
        return value is not None and value.kind == "dataset"
    return value.class_ is not None and project.method(value.class_, "__getitem__") is not None


def over_runs(project: Project, function: Function, loop: Loop) -> bool:
    """Whether a loop is one over runs, each of several steps."""
    return runs.over_runs(function, loop, lambda node: project.value(function, node))


def exports(project: Project, function: Function, loop: Loop) -> bool:
    """Whether a loop goes through models, or parts of one, to export each of them: `for part in parts: torch.onnx.export(part, ...)`, or by a function of its file."""
    if not isinstance(loop, ast.For) or not function.module.source.holds(_EXPORTS):
        return False
    parts = bound_names(loop.target)
    return any(
        isinstance(given, ast.Name) and given.id in parts and _exports_given(project, function, call, given)
        for call in function.flow.calls_in(loop)
        for given in call.args[:1]
    )


@fact_of_files("exports models")
def exports_models(source: Source) -> bool:
    """Whether a file exports models: by `torch.onnx.export`, `torch.jit.trace`."""
    return source.holds(_EXPORTS_MODELS)


def _exports_given(project: Project, function: Function, call: ast.Call, given: ast.expr) -> bool:
    """Whether a call exports what it is given, itself or by a function of the same file."""
    if _is_export(call):
        return True
    targets = (one for one in project.targets(function, call) if one.module is function.module)
    return any(_exports_parameter(target, call, given) for target in targets)


def _exports_parameter(target: Function, call: ast.Call, given: ast.expr) -> bool:
    exported = (inner.args[0] for inner in target.flow.calls if inner.args and _is_export(inner))
    return any(isinstance(one, ast.Name) and target.argument(call, one.id) is given for one in exported)


def _is_export(call: ast.Call) -> bool:
    """`torch.onnx.export(net, ...)`, `torch.jit.trace(net, x)`"""
    return tuple((names.chain(call.func) or [])[-2:]) in _EXPORTING


def makes_what_it_runs(project: Project, function: Function, loop: Loop) -> bool:
    """Whether a loop makes the model or optimizer that it runs, anew on each iteration."""
    return runs.makes_what_it_runs(function.flow, loop, lambda node: project.value(function, node))


def only_iterates(loop: Loop, call: ast.Call) -> bool:
    """`for optimizer in optimizers: optimizer.step()`: a loop over optimizers or losses, not over steps."""
    if not isinstance(loop, ast.For) or len(loop.body) > 2:
        return False
    func, targets = call.func, bound_names(loop.target)
    root = root_of(func.value) if isinstance(func, ast.Attribute) else None
    if root is not None and root.id in targets:
        return True
    given = any(isinstance(one, ast.Name) and one.id in targets for one in call.args)
    return given and not names.last(func).endswith("backward")


def counts_up(project: Project, function: Function, loop: Loop) -> bool:
    """`for i in range(n)`, `for i, (a, b) in enumerate(self.scales)` of a list, which bring no batches."""
    if not isinstance(loop, ast.For):
        return False
    iterable = aliases.gone_through(loop.iter)
    return _is_counted(function, iterable) or project.value(function, iterable).kind in ("list", "tuple")


def _is_counted(function: Function, iterable: ast.expr, depth: int = _NAMES) -> bool:
    """`range(n)`, `reversed(range(n)) if whole else steps`, and names for it: `bar = tqdm(range(n))`."""
    node = aliases.gone_through(iterable)
    if isinstance(node, ast.IfExp):
        return _is_counted(function, node.body, depth) or _is_counted(function, node.orelse, depth)
    if isinstance(node, ast.Name):
        made = function.assigned_once(node.id) if depth else None
        return made is not None and _is_counted(function, made, depth - 1)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    passed = node.args[0] if node.func.id in ("reversed", "list") and node.args else None
    return node.func.id == "range" or (passed is not None and _is_counted(function, passed, depth))


def over_all_modules(loop: Loop) -> bool:
    """`for name, module in model.named_modules()`: what is done for each module of a model, at every depth, runs none of them in turn."""
    iterable = aliases.gone_through(loop.iter) if isinstance(loop, ast.For) else None
    return isinstance(iterable, ast.Call) and names.last(iterable.func) in ("modules", "named_modules")


def counted_by(loop: Loop, over: Collection[str] = ("range", "enumerate")) -> str:
    """`i` of `for i in range(n)` and of `for i, x in enumerate(xs)`; "" where a loop does not count."""
    if not isinstance(loop, ast.For):
        return ""
    counted = in_any_order(loop.iter)
    if not isinstance(counted, ast.Call) or not isinstance(counted.func, ast.Name):
        return ""
    target = next(iter(loop.target.elts), None) if isinstance(loop.target, ast.Tuple) else loop.target
    return target.id if counted.func.id in over and isinstance(target, ast.Name) else ""


def is_once_in(loop: Loop, function: Function, node: ast.AST) -> bool:
    """Whether a place runs on one iteration of a loop: `for i in range(n): if i == 0: ...`"""
    counter = counted_by(loop)
    return bool(counter) and any(
        _is_a_number(test, counter, ast.Eq() if true else ast.NotEq())
        for guard in function.flow.guards(node, loop)
        for test, true in required(guard.test, guard.true)
    )


def is_last_in(loop: Loop, function: Function, node: ast.AST) -> bool:
    """Whether a loop is left once a place has run: `if odd: replay(x); raise SystemExit`."""
    flow = function.flow
    innermost = flow.loops(node)[:1] == [loop]
    return any(
        guard.block is not None
        and flow.ends_in_exit(guard.block, leaves_function=True)
        and (innermost or not isinstance(guard.block[-1], ast.Break))
        for guard in flow.guards(node, loop)
    )


def _is_a_number(test: ast.expr, name: str, op: ast.cmpop) -> bool:
    """`i == 0`"""
    match test:
        case ast.Compare(left=ast.Name(id=counter), ops=[compared], comparators=[ast.Constant(value=int())]):
            return counter == name and type(compared) is type(op)
    return False
