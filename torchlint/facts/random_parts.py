"""Models that leave parts of themselves out at random: which parameters a step trains is drawn anew for each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import names
from .layers import WITHOUT_WEIGHTS
from .module import Function, Module
from .nodes import elements, is_constant, keyword_of, leaves, number
from .place import Place
from .trainable import has_weights

_DRAWING = rb"\b(?:random|rand|uniform|uniform_|randint|randrange|random_sample|choice|getrandbits|binomial)\("
_OF_HOST = {
    "random": 0,
    "rand": 0,
    "random_sample": 0,
    "getrandbits": 1,
    "choice": 1,
    "uniform": 2,
    "randint": 2,
    "randrange": 3,
    "binomial": 2,
}
"""What draws one number, of Python's or NumPy's generators, with the most arguments that it is given then."""
_OF_TORCH = {"torch.rand": 0, "torch.empty": 0, "torch.randint": 2}
"""Which of their arguments says how many numbers torch's functions give, where the first number is no lower end."""
_SAME = frozenset(("item", "uniform_"))
"""Methods of a tensor that give what is drawn."""
_STEPS = ("backward", "manual_backward", "step")
_MOST_FILES = 100
_DEPTH = 3


def leaves_some_out(place: Place, model: ast.expr | None) -> bool:
    """Whether a draw decides which parts of a model run on a step.

    It is looked for in the file of its class, or that of the place where nobody knows it, in what these import, directly or
    through others, and in the steps of the place's file, which may leave out what they give the model.
    """
    drawing = place.project.holders(_DRAWING)
    module = place.function.module
    if module.path in drawing and any(_steps(one) and _drops_input(one) for one in module.functions):
        return True
    klass = place.value(model).class_ if model is not None and drawing else None
    return bool(drawing) and any(
        one.path in drawing and place.once(("random parts", one), lambda: _has_such(place, one))  # noqa: B023
        for one in _reached(place, klass.module if klass is not None else module)
    )


def _reached(place: Place, module: Module) -> Iterator[Module]:
    """A file, and those of the project that it imports, directly or through others."""
    todo, seen = [module], {module}
    while todo and len(seen) <= _MOST_FILES:
        one = todo.pop()
        yield one
        new = [other for other in place.project.imports_of(one) if other not in seen]
        seen.update(new)
        todo += new


def _has_such(place: Place, module: Module) -> bool:
    return any(
        _drops_input(method) or _skips_part(place, method)
        for method in module.functions
        if method.cls is not None and place.project.is_module(method.cls)
    )


def _steps(function: Function) -> bool:
    return any(map(function.flow.calls_named, _STEPS))


def _drops_input(function: Function) -> bool:
    """Whether a draw makes None of what a call is given: `if random() < p: label = None`."""
    nones = (node for node in function.flow.nodes if is_constant(node, None))
    return any(_is_input(function, none) and _is_drawn(function, none) for none in nones)


def _is_input(function: Function, none: ast.AST) -> bool:
    """Whether a call is given what is None, by name or as it is; without a mask a model leaves nothing out."""
    flow = function.flow
    parent = flow.parents[none]
    while isinstance(parent, ast.IfExp):
        none, parent = parent, flow.parents[parent]
    if isinstance(parent, ast.Assign) and isinstance(target := parent.targets[0], ast.Name):
        given = any(isinstance(flow.argument_of(load), ast.Call) for load in flow.loads.get(target.id, ()))
        return given and not _is_mask(target.id)
    if isinstance(parent, ast.keyword):
        return not _is_mask(parent.arg or "")
    return isinstance(parent, ast.Call)


def _is_mask(name: str) -> bool:
    return "mask" in name.lower()


def _skips_part(place: Place, method: Function) -> bool:
    """Whether a draw decides if a module's method runs one of its parts that have parameters: `if random() > p: x = self.block(x)`."""
    calls = method.flow.calls
    for call in calls:
        sides, called = _sides(method, call), names.chain(call.func)
        if sides and _is_part(place, method, call.func):
            others = (other for other in calls if other is not call and names.chain(other.func) == called)
            if all(sides & _sides(method, other) for other in others):
                return True
    return False


def _is_part(place: Place, method: Function, called: ast.expr) -> bool:
    value = place.project.value(method, called)
    if value.kind != "module" or value.class_name in WITHOUT_WEIGHTS:
        return False
    return value.class_ is None or has_weights(place, value.class_)


def _sides(function: Function, node: ast.AST) -> set[tuple[ast.AST, bool]]:
    """The drawn conditions that a place is behind, each with whether it holds there."""
    return {(guard.test, guard.true) for guard in function.flow.guards(node) if _decides(function, guard.test)}


def _is_drawn(function: Function, node: ast.AST, depth: int = _DEPTH) -> bool:
    return any(_decides(function, guard.test, depth) for guard in function.flow.guards(node))


def _decides(function: Function, test: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a draw decides a condition, or a part of it that stands by itself."""
    return any(_is_by_draw(function, leaf, depth) for leaf in leaves(test))


def _is_by_draw(function: Function, leaf: ast.expr, depth: int) -> bool:
    if isinstance(leaf, ast.Compare):
        return any(_draws(function, side, depth) for side in (leaf.left, *leaf.comparators))
    if isinstance(leaf, ast.Name) and depth:
        return any(_is_told(function, store, depth - 1) for store in function.flow.stores.get(leaf.id, ()))
    return _draws(function, leaf, depth)


def _is_told(function: Function, store: ast.Name, depth: int) -> bool:
    """Whether a name is given what a draw says: `drop = training and random() < p`, `if random() < p: drop = True`."""
    statement = function.flow.parents[store]
    if not isinstance(statement, ast.Assign):
        return False
    given = statement.value
    if isinstance(given, ast.Constant):
        return isinstance(given.value, bool) and _is_drawn(function, statement, depth)
    parts = (given.test,) if isinstance(given, ast.IfExp) else given.args if isinstance(given, ast.Call) else (given,)
    return _draws(function, given, depth) or any(_decides(function, part, depth) for part in parts)


def _draws(function: Function, node: ast.expr, depth: int) -> bool:
    """Whether an expression is one number that is drawn, or a name of one."""
    if isinstance(node, ast.Name) and depth:
        stores = function.flow.stores.get(node.id, ())
        given = [function.flow.parents[store] for store in stores]
        return any(isinstance(one, ast.Assign) and _draws(function, one.value, depth - 1) for one in given)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        return _draws(function, node.func.value, depth)
    name = names.resolve(function, node.func) or names.last(node.func)
    if name.startswith("torch."):
        return name in _OF_TORCH and _is_one(node, _OF_TORCH[name])
    return len(node.args) <= _OF_HOST.get(name.rpartition(".")[2], -1) and keyword_of(node, "size") is None


def _is_one(call: ast.Call, position: int) -> bool:
    """Whether a tensor is told to have one element: `torch.rand(1)`, `torch.rand([])`, `torch.randint(0, 2, (1,))`."""
    sizes = call.args[position:]
    return bool(sizes) and all(number(size) == 1 for given in sizes for size in elements(given))
