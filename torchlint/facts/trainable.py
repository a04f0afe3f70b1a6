"""Calls that run a model with something to train: where autograd is on, it records a graph of them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator

from ..system.regex import regex
from . import frozen, names, syntax, training
from .collation import PLAIN_BASES
from .layers import WITHOUT_WEIGHTS
from .module import Class, Function
from .place import Place
from .values import Value

NO_RUN = frozenset(
    """eval train to cuda cpu parameters named_parameters state_dict load_state_dict zero_grad modules children buffers
    half float""".split()
)
"""Methods of every module that run nothing of it."""
_NO_GRAD = regex(rb"no_grad|inference_mode")
_LOSS = regex(r"(?i)loss|criterion")
_LOSS_CLASS = regex(r"(?<!And)(?<!With)Loss$")
"""How classes of losses are called: not `ModelAndLoss`, `NetWithLoss`."""
_HOLDERS = frozenset(("torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"))
"""Modules that have no parameters but those of what they are given."""
_WITHOUT_MODULES = frozenset(("PIL", "cv2", "h5py", "numpy", "pandas", "scipy")) | sys.stdlib_module_names
"""Packages whose classes are no modules of torch: `h5py.File(path)`."""
_PLAIN_BASES = PLAIN_BASES | {"torch.nn.Module"}
"""Bases that have no parameters."""
_DEPTH = 4


def model_of(call: ast.Call) -> ast.expr:
    """What a call runs if that is a model: `net` of `net(x)` and `net.forward(x)`."""
    func = call.func
    return func.value if isinstance(func, ast.Attribute) and func.attr == "forward" else func


def runs_trainable(place: Place, call: ast.Call) -> bool:
    """Whether a call runs a module that may have parameters, or a method of one that runs modules; a loss is none."""
    if any(keyword.arg == "training" for keyword in call.keywords):
        return False  # a model of Keras is told so
    called, func, model = place.value(call.func), call.func, model_of(call)
    if (
        model is not func
        and (whole := place.value(model)).kind == "module"
        and whole.class_name.startswith("torch.nn.")
    ):
        called, func = whole, model  # `net.forward(x)` of a container of torch
    if called.kind == "module":
        if called.class_name in WITHOUT_WEIGHTS or _LOSS.search(names.last(func)):
            return False
        is_loss = _LOSS_CLASS.search(called.class_name) is not None
        return not is_loss and (called.class_ is None or has_weights(place, called.class_))
    if isinstance(func, ast.Name):
        return _is_given_method(place, func, called) or _is_wrapper(place, called)
    if not isinstance(func, ast.Attribute) or func.attr in NO_RUN:
        return False
    owner = place.value(func.value)
    classes = owner.any_class if owner.kind == "module" else ()
    unseen = owner.kind == "module" and not classes and not owner.class_name.startswith("torch.")
    if unseen and func.attr.startswith("forward_"):
        return bool(call.args)  # `model.forward_features(x)`, of a class that nobody sees
    run = [(one, method) for one in classes if (method := place.project.method(one, func.attr)) is not None]
    return bool(run) and all(has_weights(place, one) and records(place, method) for one, method in run)


def _is_given_method(place: Place, func: ast.Name, called: Value) -> bool:
    """Whether a function is given a method of an object that runs the model which the object keeps: `score(loader, trainer.forward)`."""
    if func.id not in place.flow.parameters or func.id in place.flow.stores or called.kind != "function":
        return False
    method = called.function
    return method is not None and method.is_method and _returns_model(place, method) and records(place, method)


def _is_wrapper(place: Place, called: Value) -> bool:
    """Whether a function of the project gives what a model gives that it runs, whoever calls it: `def run(x): return net(x.to(device))`."""
    function = called.function if called.kind == "function" else None
    if function is None or function.cls is not None or function.own_name or function.says(_NO_GRAD):
        return False
    if place.analysis.context.function_off(function) or training.asks(function):
        return False
    return _returns_model(place, function)


def is_method_of_models(place: Place, call: ast.Call) -> bool:
    """`model.predict(x)` of a model whose class is not known, where all methods of that name in the project run a model with autograd on."""
    if not isinstance(call.func, ast.Attribute) or not call.args or place.value(call.func.value).class_ is not None:
        return False
    methods = place.may_run(call)
    return bool(methods) and all(records(place, method) for method in methods)


def _returns_model(place: Place, method: Function) -> bool:
    """Whether a method returns what a model gives that is to be trained, as it is: `return self.net(x)`."""
    returned = [node.value for node in method.flow.returns]
    return bool(returned) and all(
        isinstance(one, ast.Call) and _is_trained_model(place.at(method, one), one) for one in returned
    )


def _is_trained_model(place: Place, call: ast.Call) -> bool:
    model = model_of(call)
    value = place.value(model)
    if value.kind != "module" or value.class_name in WITHOUT_WEIGHTS or frozen.freezes_itself(place, value):
        return False
    if value.class_ is not None and not has_weights(place, value.class_):
        return False
    return not _LOSS.search(names.last(model)) and not frozen.is_frozen(place, names.last(model))


def records(place: Place, method: Function) -> bool:
    """Whether a method runs a module, and neither switches autograd off nor asks for gradients."""
    return (
        method.cls is not None
        and place.runs_module(method)
        and not place.analysis.context.function_off(method)
        and not training.asks(method)
        and not _says_off(place, method)
    )


def _says_off(place: Place, method: Function, depth: int = _DEPTH) -> bool:
    """Whether a method switches autograd off somewhere, or all others by which it runs modules do."""
    if method.says(_NO_GRAD):
        return True
    if not depth or method.cls is None:
        return False
    others: list[Function] = []
    for call in method.flow.calls:
        if place.project.value(method, call.func).kind == "module":
            return False
        own = syntax.own_attribute(method, call.func)
        other = place.project.method(method.cls, own) if own is not None else None
        if other is not None and other is not method and place.runs_module(other):
            others.append(other)
    return bool(others) and all(_says_off(place, one, depth - 1) for one in others)


def switches_off(place: Place, call: ast.Call) -> bool:
    """Whether all methods that a call of a model may run switch autograd off somewhere in them: `model.reverse(z)`."""
    methods = place.may_run(call) if isinstance(call.func, ast.Attribute) else []
    return bool(methods) and all(_says_off(place, method) for method in methods)


def has_weights(place: Place, klass: Class, around: frozenset[Class] = frozenset()) -> bool:
    """Whether a module may have parameters: it makes layers that have some, or calls what it was given.

    `around` are the modules that it is a part of.
    """
    ancestry = [*place.project.ancestry(klass)]
    if not all(place.project.has_plain_bases(one, _PLAIN_BASES) for one in ancestry):
        return True
    calls = ((method, call) for one in ancestry for method in one.methods.values() for call in method.flow.calls)
    return any(_may_train(place, method, call, around | {klass}) for method, call in calls)


def _may_train(place: Place, method: Function, call: ast.Call, around: frozenset[Class]) -> bool:
    """Whether a call in a method makes, or runs, what may have parameters."""
    name = place.project.resolve(method, call.func) or ""
    called = place.project.value(method, call.func)
    if name in WITHOUT_WEIGHTS or name in _HOLDERS or called.class_name in WITHOUT_WEIGHTS:
        return False
    if isinstance(method.flow.parents.get(call), ast.Raise):
        return False
    made = place.project.value(method, call)
    if parts := _parts(made if called.kind == "class" else called):
        return any(part not in around and has_weights(place, part, around) for part in parts)
    words = names.chain(call.func) or ["", ""]
    if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional."):
        return True
    if "Parameter" in words[-1] or isinstance(call.func, ast.Subscript) or _is_held(place, method, call, words):
        return True
    if name.partition(".")[0] in _WITHOUT_MODULES:
        return False
    return made.kind in ("module", "unknown") and words[-1][:1].isupper()


def _parts(value: Value) -> tuple[Class, ...]:
    """The classes of the project that a module may be of."""
    if value.kind != "module":
        return ()
    return value.classes or ((value.class_,) if value.class_ is not None else ())


def _is_held(place: Place, method: Function, call: ast.Call, words: list[str]) -> bool:
    """Whether a method calls what its object holds: no method of its own, nor one of a tensor."""
    assert method.cls is not None
    if words[0] != method.own_name or len(words) < 2 or words[1] == "register_buffer":
        return False
    if len(words) == 2:
        return words[1] not in method.cls.methods
    return not (isinstance(call.func, ast.Attribute) and place.project.value(method, call.func.value).kind == "tensor")


def sources(place: Place, node: ast.expr) -> list[ast.Call]:
    """The calls of models that an expression is made of: those in it, and those in what its names are given."""
    return _makers(place, node, runs_trainable)


def given_back(place: Place, node: ast.expr) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of models in functions that a loop calls for what an expression is made of: `feature = extract(path)`."""
    for call in dict.fromkeys(_makers(place, node, _runs_function)):
        if not place.flow.loops(call):
            continue
        for target in place.project.targets(place.function, call):
            yield from place.once(("given back", target), lambda: [*_given_back(place, target)])  # noqa: B023


def _runs_function(place: Place, call: ast.Call) -> bool:
    """Whether a call runs one function of the project, which is no method."""
    targets = place.project.targets(place.function, call) if isinstance(call.func, ast.Name | ast.Attribute) else []
    return len(targets) == 1 and targets[0].cls is None


def _given_back(place: Place, function: Function) -> Iterator[tuple[Function, ast.Call]]:
    for given in function.flow.returned:
        yield from ((function, call) for call in sources(place.at(function, given), given))


_Wanted = Callable[[Place, ast.Call], bool]


def _makers(place: Place, node: ast.expr, wanted: _Wanted) -> list[ast.Call]:
    """The calls of a kind that an expression is made of."""
    found: list[ast.Call] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and wanted(place, part):
            found.append(part)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            key = ("made by", wanted, place.function, part.id)
            found += place.once(key, lambda: list(_makers_of(place, part.id, wanted)))  # noqa: B023
    return found


def _makers_of(place: Place, name: str, wanted: _Wanted) -> Iterator[ast.Call]:
    """Such calls in what a name is given, or the names in that: `q = net(x)`, `target = r + q.max(1)[0]`."""
    names_wanted, seen = [name], {name}
    for _ in range(_DEPTH):
        made = [value for one in names_wanted for value in _given(place, one)]
        parts = [part for value in made for part in ast.walk(value)]
        yield from (part for part in parts if isinstance(part, ast.Call) and wanted(place, part))
        loaded = (part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))
        names_wanted = [one for one in dict.fromkeys(loaded) if one not in seen]
        seen.update(names_wanted)


def _given(place: Place, name: str) -> Iterator[ast.expr]:
    """The values that a name is given by assignments, or parts of it, `x[i] = net(y)`, and what the list of that name is given."""
    for store in (*place.flow.stores.get(name, ()), *place.flow.stored_in.get(name, ())):
        statement = place.flow.statement(store)
        if isinstance(statement, ast.Assign):
            yield statement.value
    for call in place.flow.calls_named("append"):
        if (grown := syntax.appended_to(place.flow, call)) is not None and grown.id == name:
            yield from call.args
