"""What functions of a project take and give: values across files, callers, what a call runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..facts import handed_down, left_on_host, names, syntax, type_tested
from ..facts.batches import batch_tensor, held
from ..facts.binding_values import returned_as
from ..facts.chosen import Choice
from ..facts.common_names import MODEL_NAME
from ..facts.evaluate import evaluator
from ..facts.evaluator import Evaluator, Given, Literals
from ..facts.module import Class, Function, Module
from ..facts.nodes import spreads
from ..facts.roles import is_own_trial
from ..facts.torch_table import TOKEN_CALLS
from ..facts.values import (
    DICT,
    LIKELY,
    TENSOR,
    TUPLE,
    UNKNOWN,
    Dict,
    Tensor,
    Tuple,
    Value,
    constant,
    join,
    join_all,
    replace,
    tensor,
)
from ..query.question import question
from ..settings.home import Home
from . import (
    applied,
    attributes,
    by_keywords,
    by_text,
    dispatch,
    framework_arguments,
    handed,
    hooks,
    mixins,
    objects,
    of_object,
    results,
    spread,
    supers,
    tables,
    wrappers,
)
from .calling import OF_ENDS, PASSES_MESSAGES, CallSite, aliases, called_name, calls_named, propagating, started
from .constructions import constructions, knows_heirs
from .definitions import GENERIC, Definitions
from .files import OUTSIDE
from .texts import MAX_SITES, Sought

MAX_GIVERS = 16
"""Callers of one helper that may still agree on what they pass."""
MAX_CALLING = 16
"""Where more files call something of a method's name, those that import a factory are not looked for: it would take long."""
MAX_CONSTRUCTIONS = 20
"""So many scripts may make an object of one class: a trainer, with their models and criteria."""
T = TypeVar("T")

_OBJECT = frozenset(("object",))


class Project(Definitions):
    """The files of a project, whose functions are evaluated at most once, when first asked about."""

    def __init__(
        self, files: Mapping[str, Callable[[], bytes]], home: Home | None = None, *, noting: bool = False
    ) -> None:
        """With `noting`, it is known what each answer depends on."""
        super().__init__(files, home, noting=noting)
        self._evaluators: dict[Function, Evaluator] = {}

    # Values

    def _ask(self, key: tuple[Any, ...], compute: Callable[[], T], initial: T) -> T:
        """The answer to a question of the project itself; `initial` stands for it where it asks for itself."""
        return self._database.get(key, compute, initial)

    def inside(self, function: Function, ask: Callable[[Evaluator], T]) -> T:
        """What the values of a function say."""
        values = self.evaluator(function)
        database = self._database
        return database.noted(values.answers, lambda: ask(values)) if database.noting else ask(values)

    def evaluator(self, function: Function) -> Evaluator:
        """The values of a function."""
        found = self._evaluators.get(function)
        if found is None:
            found = self._evaluators[function] = evaluator(function, self, self._database, {})
        return found

    def value(self, function: Function, node: ast.expr) -> Value:
        """What an expression of a function evaluates to."""
        if type(node) is ast.Constant:
            return constant(node.value)
        if self._database.noting:
            return self.inside(function, lambda values: values.value(node))
        return self.evaluator(function).value(node)

    def final(self, function: Function, name: str) -> Value | None:
        """What a name is at the end of a function or module body; None where it binds no such name."""
        return self.inside(function, lambda values: self._final(values, name))

    def _final(self, values: Evaluator, name: str) -> Value | None:
        if name not in values.bindings.final:
            return None
        function = values.function
        initial: Value | None = UNKNOWN
        return self._ask(("final", function, name), lambda: self._with_put(function, name), initial)

    def _with_put(self, function: Function, name: str) -> Value | None:
        """What a name is at the end of a function; a table of a file with what its functions put into it."""
        value = self.inside(function, lambda own: own.final(name))
        is_of_file = value is not None and function is function.module.body
        return tables.with_put(self, function, name, value) if is_of_file and value is not None else value

    def returns(self, function: Function, given: Choice = ()) -> Value:
        """What a call of the function gives: its annotation where that is telling, else what it returns on all paths.

        On those that are open to a call which gives some flags.
        """
        return self._ask(("returns", function, *given), lambda: self._return_value(function, given), UNKNOWN)

    def _return_value(self, function: Function, given: Choice) -> Value:
        if isinstance(function.node, ast.AsyncFunctionDef | ast.Module):
            return UNKNOWN
        if function.cls is not None and function.is_abstract:
            found = [value for method in self._made_real(function) if (value := self.returns(method, given))]
            if found:
                return join_all(found)
        return self.inside(function, lambda values: results.given(values, given))

    def returns_of(self, function: Function, tensors: Given) -> Value:
        """What a call of the function gives that gives tensors for some parameters, whatever other calls give."""
        return self._ask(("returns of", function, *tensors), lambda: self._return_of(function, tensors), UNKNOWN)

    def _return_of(self, function: Function, tensors: Given) -> Value:
        if isinstance(function.node, ast.AsyncFunctionDef | ast.Module) or function.is_abstract:
            return UNKNOWN
        # What is read counts for the question itself: these values are nobody else's.
        return results.given(self.evaluator_given(function, {name: tensor(device) for name, device in tensors}), ())

    def returns_on(self, function: Function, owner: Class) -> Value:
        """What a method gives on an object of that class, which inherits it."""
        return self._ask(("returns on", function, owner), lambda: self._return_on(function, owner), UNKNOWN)

    def _return_on(self, function: Function, owner: Class) -> Value:
        if isinstance(function.node, ast.AsyncFunctionDef | ast.Module) or function.is_abstract:
            return UNKNOWN
        own = self.evaluator(function).instance(owner)
        return results.given(self.evaluator_given(function, {function.own_name: own}), ())

    def returned_as(self, function: Function, count: int) -> tuple[tuple[Value, ...], ...]:
        """The tuples of so many that a function gives on some of its paths."""
        nothing: tuple[tuple[Value, ...], ...] = ()
        return self._ask(
            ("returned as", function, count),
            lambda: self.inside(function, lambda values: returned_as(values, count)),
            nothing,
        )

    def returns_for(self, function: Function, literals: Literals, given: Choice) -> Value:
        """What a call of the function gives that gives words, flags and None for some parameters, on the paths open to it."""
        key = ("returns for", function, *literals, *given)
        return self._ask(key, lambda: self._return_for(function, literals, given), UNKNOWN)

    def _return_for(self, function: Function, literals: Literals, given: Choice) -> Value:
        if isinstance(function.node, ast.AsyncFunctionDef | ast.Module) or function.is_abstract:
            return UNKNOWN
        return results.given(self.evaluator_given(function, {name: constant(value) for name, value in literals}), given)

    def wrapped(self, wrapper: Function, name: str) -> Value:
        """What a wrapper of a decorator is given by what it goes around, which it calls by a name."""
        return wrappers.result(self, wrapper, name)

    def _made_real(self, method: Function) -> list[Function]:
        """What subclasses define in place of an abstract method; nothing where there are too many."""
        found = self.of_heirs(method.cls, method.name, MAX_SITES) if method.cls is not None else []
        return [one for one in found if not one.is_abstract]

    @question("parameter", UNKNOWN, by="_ask")
    def parameter(self, function: Function, name: str) -> Value:
        """What the callers in the project pass for a parameter, where they agree."""
        most = MAX_CONSTRUCTIONS if function.name == "__init__" else MAX_GIVERS
        sites = self._givers(function, most)
        batch = self._batch_walked(sites, function, name)
        if batch is not None:
            return batch
        value = self.passed(sites, function, name)
        if value is not None:
            return value
        tried = [
            value for one in filter(self._tries, sites) if (value := self._passed(one, function, name)) is not None
        ]
        if tried:
            # A test passes what a program would, but small and in the host's memory.
            return join_all(tried) if self.is_tested(function) else join_all(tried).anywhere()
        return (
            self._given_to_object(function, name)
            or self._base_parameter(function, name)
            or self._given_by_heirs(function, name)
            or hooks.given(self, function, name)
            or self._given_for_token(function, name)
            or framework_arguments.given(self, function, name)
            or self._given_by_apply(function, name)
            or spread.given(self, function, name)
        )

    def calls_near(self, function: Function, path: str) -> Sequence[CallSite]:
        """The calls of a method; those of one file where there are too many."""
        return self._givers(function, MAX_GIVERS) or self.sites_in(path, function)

    def passed(self, sites: Iterable[CallSite], function: Function, name: str) -> Value | None:
        """What some calls give for a parameter; None where none of them gives anything, or a test alone does."""
        given = [
            (site, value)
            for site in sites
            if not self._tries(site) and (value := self._passed(site, function, name)) is not None
        ]
        return self._joined(given) if given else None

    def _batch_walked(self, sites: Sequence[CallSite], function: Function, name: str) -> Value | None:
        """A loader's batch, or a part of it, where a function that calls itself with the parts is given one; None elsewhere."""
        own = [site for site in sites if site.function is function]
        if not own or len(own) == len(sites):
            return None
        parts = [function.argument(site.given or site.call, name) for site in own]
        if not all(part is not None and handed_down.is_part(function, part, name) for part in parts):
            return None
        whole = self.passed((site for site in sites if site.function is not function), function, name)
        if whole is None or whole.kind != "batch" or not whole.from_loader:
            return None
        return join(whole, batch_tensor(whole))

    def _givers(self, function: Function, most: int) -> Sequence[CallSite]:
        """The calls of a function, by another name where there is none by its own; nothing where they are too many."""
        sites = self.runs_of(function, most) or self.call_sites(function, most)
        if sites != []:
            return sites or ()
        others = handed.calls_as(self, function) or by_text.calls(self, function) or by_keywords.calls(self, function)
        others = others or dispatch.calls(self, function) or dispatch.calls_by_name(self, function)
        others = others or handed.calls_by_map(self, function)
        return others if len(others) <= most else ()

    def _joined(self, given: list[tuple[CallSite, Value]]) -> Value:
        """What calls give a parameter; where they differ in the device, one on a device may be of another method."""
        passed = join_all([value for _, value in given])
        if not any(value.on_cpu for _, value in given):
            return passed
        sent = [site for site, value in given if value.device == "accelerator"]
        if any(len(self.targets(one.function, one.call)) > 1 for one in sent):
            return replace(passed.anywhere(), certainty=min(passed.certainty, LIKELY))
        return passed

    def runs_of(self, function: Function, most: int) -> list[CallSite] | None:
        """The calls of a function; those of a constructor with those that make objects of a subclass, or through a table.

        None where that can't be said, or for more than `most`.
        """
        sites = self.call_sites(function, most)
        if sites is None or function.name != "__init__":
            return sites
        nothing: list[CallSite] = []
        key = ("constructions", function)
        others = self._ask(key, lambda: [CallSite(*call) for call in constructions(self, function)], nothing)
        return sites + others if len(sites) + len(others) <= most else None

    def all_runs_of(self, function: Function, most: int) -> list[CallSite] | None:
        """The same where nothing else is seen that may call it: what it is given to, a decorator that registers it or its class, an heir of another kind."""
        klass, name = function.cls, called_name(function)
        if function.decorator_names - {"staticmethod", "classmethod"}:
            return None
        if klass is None or name != klass.name:
            is_own = klass is not None or function.parent is not function.module.body
            return None if handed.is_given_on(self, function.module, name, is_own) else self.runs_of(function, most)
        if self.heirs(name) and not knows_heirs(self, function):
            return None
        for one in (klass, *self.subclasses(klass)):
            if one.decorators or handed.is_given_on(self, one.module, one.name, False):
                return None
        return self.runs_of(function, most)

    def constructed(self, klass: Class, init: Function) -> list[tuple[Function, ast.Call]]:
        """The calls of a class by its name that run a constructor, one that it may have from a base."""
        paths = [klass.module.path, *self.named_by(klass.module, klass.name)]
        modules = filter(None, (self.module_for_calls(path, klass.name) for path in paths))
        sites = [site for module in modules for site in self.sites_named(module, klass.name).get(init, ())]
        return [(site.function, site.call) for site in sites]

    def named_by(self, module: Module, name: str) -> list[str]:
        """The files that may use a member of a module."""
        return self.mentioning(Sought(module.path, module.name, name, name)) or []

    @question("keywords", DICT, by="_ask")
    def keywords(self, function: Function) -> Value:
        """The dictionary that `**kwargs` of a function is: its keys are known where all callers write them.

        What only some of them write may be missing, which is as if it were None.
        """
        given = []
        for site in self.call_sites(function, MAX_SITES) or ():
            keys: dict[str, Value] = {}
            others: list[Value] = []
            for keyword in (site.given or site.call).keywords:
                value = self.value(site.function, keyword.value)
                if keyword.arg is not None:
                    keys[keyword.arg] = value
                elif value.entries is not None:
                    keys.update(value.entries)
                else:
                    others.append(held(value))
            keys = {key: value for key, value in keys.items() if key not in function.positions}
            each = join_all([*keys.values(), *others]) if others else None
            given.append(Dict(entries=None if others else keys, element=each))
        whole = join_all(given) if given else DICT
        return replace(whole, entries=_with_missing(whole.entries, given)) if whole.entries else whole

    @question("positional rest", TUPLE, by="_ask")
    def positional_rest(self, function: Function) -> Value:
        """The tuple that `*args` of a function is: its elements are known where all callers give as many."""
        node = function.node
        if isinstance(node, ast.Module):
            return TUPLE
        before = len(node.args.posonlyargs) + len(node.args.args) - function.is_method
        given = []
        for site in self.call_sites(function, MAX_SITES) or ():
            passed = (site.given or site.call).args
            if any(isinstance(argument, ast.Starred) for argument in passed[:before]):
                return TUPLE
            items: list[Value] = []
            for argument in passed[before:]:
                if isinstance(argument, ast.Starred):
                    handed_on = self.value(site.function, argument.value)  # `log(*args)` of `*args` of its own
                    if handed_on.kind != "tuple" or handed_on.items is None:
                        return TUPLE
                    items += handed_on.items
                else:
                    items.append(self.value(site.function, argument))
            given.append(Tuple(items=tuple(items)))
        return join_all(given) if given else TUPLE

    def _base_parameter(self, function: Function, name: str) -> Value:
        """What the callers pass to the method of a base class that a method stands in place of."""
        for base in self.bases(function.cls) if function.cls is not None and function.name != "__init__" else ():
            method = self.method(base, function.name)
            if method is not None and any(parameter.arg == name for parameter in method.parameters):
                return self.parameter(method, name)
            if method is not None and (value := self._renamed_parameter(method, function, name)):
                return value
        return UNKNOWN

    def _renamed_parameter(self, method: Function, function: Function, name: str) -> Value:
        """What calls of a base's method pass by position to a method that calls the parameter otherwise: `step(self, batch_x, batch_u)` of `step(self, batch)`."""
        sites = (site for site in self._givers(method, MAX_GIVERS) if function.takes(site.given or site.call))
        given = self.passed((site for site in sites if self._may_be_of(site, function)), function, name)
        return UNKNOWN if given is None else given

    def _given_by_heirs(self, function: Function, name: str) -> Value:
        """What methods of subclasses pass to the method that they stand in place of, `super().update(batch)`, and what those of classes beside its own pass."""
        given = [
            (site, value)
            for site in (*supers.calls(self, function), *mixins.calls(self, function))
            if not self._tries(site) and (value := self._passed(site, function, name)) is not None
        ]
        return self._joined(given) if given and len(given) <= MAX_GIVERS else UNKNOWN

    def _given_for_token(self, function: Function, name: str) -> Value:
        """What transformers gives to what it calls for each token: `input_ids` and `scores` of a `LogitsProcessor`."""
        if function.name != "__call__" or function.cls is None or not function.module.source.holds(b"transformers"):
            return UNKNOWN
        tensors = max((TOKEN_CALLS.get(word, 0) for word in self.base_words(function.cls)), default=0)
        return TENSOR if 0 < function.positions.get(name, 0) <= tensors else UNKNOWN

    def _given_by_apply(self, function: Function, name: str) -> Value:
        """What `Scale.apply(x, factor)` hands on to the `forward` of a function of autograd, which gets a context before it."""
        if not function.positions.get(name):
            return UNKNOWN
        given = self.passed(applied.calls(self, function), function, name)
        return UNKNOWN if given is None else given

    def _may_be_of(self, site: CallSite, function: Function) -> bool:
        """Whether a call may run a method: one of its own object's method, `self.step(x)`, is in a class that the method's class is made of."""
        caller, callee = site.function, site.call.func
        own = isinstance(callee, ast.Attribute) and names.chain(callee.value) == [caller.own_name]
        return not own or caller.cls is None or function.cls is None or self.inherits(function.cls, caller.cls)

    def _given_to_object(self, function: Function, name: str) -> Value:
        """What calls of objects pass to a `forward` or `__call__`: `net(x.cuda())` behind `net = Net()`."""
        calls = objects.calls(self, function) if function.name in ("forward", "__call__") else []
        calls = calls or (handed.calls_of_made(self, function) if function.name == "__call__" else [])
        given = (self._passed_to_object(site, function, name) for site in calls if not self._tries(site))
        known = [value for value in given if value is not None]
        parts = [objects.received(join_all(known))] if known else []
        return join_all([*parts, *self._given_by_own(function, name)] or [UNKNOWN])

    def _given_by_own(self, function: Function, name: str) -> Iterator[Value]:
        """What methods of a module hand on to its `forward`, as they have it: `self.forward(x)`, `self(x)`; a trial on the host tells of no place."""
        klass = function.cls if function.name == "forward" else None
        if klass is None:
            return
        called = filter(None, ("forward", function.own_name))
        calling = (one for word in called for one in klass.module.methods_calling(klass, word))
        for method in dict.fromkeys(calling):
            runs = [method.own_name], [method.own_name, "forward"]
            for call in (one for chain in runs for one in method.flow.calls_named(chain[-1])):
                value = self._passed(CallSite(method, call), function, name) if names.chain(call.func) in runs else None
                if value is not None:
                    yield value if value.from_loader else value.anywhere()

    def _tries(self, site: CallSite) -> bool:
        """Whether a call is of a test, or of what a file of modules does on random data where it is run by itself."""
        function = site.function
        if self.is_tested(function):
            return True
        return is_own_trial(function, site.call) and bool(self.importers(function.module.path))

    def _passed_to_object(self, site: CallSite, function: Function, name: str) -> Value | None:
        """What a call of an object passes; what the caller leaves on the host, which it moves other parts of, stays there."""
        value = self._passed(site, function, name)
        node = function.argument(site.given or site.call, name)
        if node is None or value is None or not (value.from_loader or (value.kind == "unknown" and not value.device)):
            return value
        if site.function.module.source.holds(b"DataParallel") or site.function.module.source.holds(b".prepare("):
            return value  # which may move what it is given
        caller = site.function

        def is_moved(other: ast.expr) -> bool:
            return self.value(caller, other).device == "accelerator"

        left = left_on_host.stays(caller.flow, site.given or site.call, node, is_moved)
        return Tensor(LIKELY, device="cpu") if left else value

    def _passed(self, site: CallSite, function: Function, name: str) -> Value | None:
        node = function.argument(site.given or site.call, name)
        if node is None:
            return self._spread(site, function, name)
        if isinstance(node, ast.Constant):
            return constant(node.value)
        value = self.value(site.function, node)
        if value.kind == "tuple" and function.name in PASSES_MESSAGES and name.endswith(OF_ENDS):
            return join_all([*(value.items or ())]) if value.items else UNKNOWN  # one for each end of the edges
        return value

    def _spread(self, site: CallSite, function: Function, name: str) -> Value | None:
        """What `f(*pair, x)` passes for a parameter by position: a part of the pair, or `x` behind it."""
        call, at = site.given or site.call, function.positions.get(name)
        node = function.node
        if (
            at is None
            or at < function.is_method
            or not spreads(call)
            or isinstance(node, ast.Module)
            or at >= len((*node.args.posonlyargs, *node.args.args))
        ):
            return None
        at -= function.is_method
        for argument in call.args:
            items: Sequence[Value] | None = None
            if isinstance(argument, ast.Starred):
                if not isinstance(argument.value, ast.Subscript):  # `pair[1:]` has fewer
                    whole = self.value(site.function, argument.value)
                    items = whole.items
                    lengths = whole.by_length if whole.kind == "tuple" and argument is call.args[-1] else ()
                    if fitting := [one[at] for one in lengths if at < len(one)]:
                        return join_all(fitting)  # `inputs += (mask,)` behind a condition
                if items is None:  # as many as there are
                    length = function.length_of_spread(call)
                    last = argument is call.args[-1] and name not in function.defaults
                    if last or (length is not None and at < length):
                        each = self.value(site.function, argument)
                        return replace(each, certainty=min(each.certainty, LIKELY)) if each else None
                    if length is None:
                        return None
                    at -= length
                    continue
            elif at == 0:
                return self.value(site.function, argument)
            count = len(items) if items is not None else 1
            if items is not None and at < count:
                return items[at]
            at -= count
        return None

    # Classes

    @question("attribute", UNKNOWN, by="_ask")
    def attribute(self, klass: Class, name: str) -> Value:
        """What the methods of a class or of its bases assign to `self.name`, or, where none does, those of its heirs."""
        value = self.inherited(klass, name)
        return value if value and value.kind != "none" else attributes.stored_by_heirs(self, klass, name, value)

    @question("inherited", UNKNOWN, by="_ask")
    def inherited(self, klass: Class, name: str) -> Value:
        """What the methods of a class, or of its bases, assign to `self.name`."""
        return self._attribute(klass, name)

    def _attribute(self, klass: Class, name: str) -> Value:
        return tables.with_put(self, klass, name, attributes.stored(self, klass, name))

    def attribute_of(self, owner: Value, name: str) -> Value:
        """What `owner.name` is by what is called on that object, where it is known where it was made."""
        return of_object.attribute(self, owner, name)

    def evaluator_given(self, function: Function, given: Mapping[str, Value]) -> Evaluator:
        """The values of a function where its parameters are known; they are kept by nobody else."""
        self.evaluator(function)  # which notes that the function is looked into
        return evaluator(function, self, self._database, given)

    @question("declared", UNKNOWN, by="_ask")
    def declared(self, klass: Class, name: str) -> Value:
        """What the body of a class, or of one of its bases, says `self.name` is: `model: Model`, which methods assign."""
        return attributes.declared(self, klass, name)

    def attribute_stores(self, klass: Class, name: str) -> list[tuple[Function, ast.Attribute]]:
        """Where methods assign `self.name`, `__init__` first."""
        return klass.stores.get(name, [])

    def is_option(self, klass: Class, name: str) -> bool:
        """Whether `__init__` alone assigns `self.name`."""
        stores = self.attribute_stores(klass, name)
        return bool(stores) and all(method.name == "__init__" for method, _ in stores)

    def registering(self, klass: Class, name: str) -> Sequence[tuple[Function, ast.Call]]:
        """Where methods say `self.register_buffer("name", tensor)`, or the like by a method of their own."""
        return klass.registered.get(name, ())

    # Calls

    @question("readers", [], by="_ask")
    def readers(self, function: Function, call: ast.Call) -> list[tuple[Function, ast.expr, ast.Call]]:
        """The functions that a call runs which read what it gives them where that is a tensor; with what is given, and the read."""
        if self.value(function, call.func).kind != "function":
            return []
        return [
            (target, given, read)
            for target in self.targets(function, call)
            for given, read in self._read_by(target, call)
        ]

    @question("read by", [], by="_ask")
    def _read_by(self, function: Function, call: ast.Call) -> list[tuple[ast.expr, ast.Call]]:
        return type_tested.read_of(function, call)

    @question("targets", [], by="_ask")
    def targets(self, function: Function, call: ast.Call) -> list[Function]:
        """The project's functions that a call runs: a function, a method, a class's `__init__`, a module's `forward`."""
        func = call.func
        if isinstance(func, ast.Name):
            scope: Function | None = function
            while scope is not None and scope is not scope.module.body:
                if func.id in scope.nested:
                    return [scope.nested[func.id]]
                if scope.binds(func.id):
                    return self._called_value(function, call)
                scope = scope.parent
        name = self.resolve(function, func)
        if name is None and isinstance(func, ast.Name):
            module = function.module
            if func.id in module.top_functions:
                return [module.top_functions[func.id]]
            if func.id in module.top_classes:
                return self._constructor(module.top_classes[func.id])
        if name is not None:
            definition = self.definition(name, function.module)
            if isinstance(definition, Function):
                return [definition]
            if isinstance(definition, Class):
                return self._constructor(definition)
            if name.partition(".")[0] in OUTSIDE or "." not in name:
                return []
        return self._called_value(function, call)

    def _constructor(self, klass: Class) -> list[Function]:
        init = self.method(klass, "__init__")
        return [init] if init is not None else []

    def _called_value(self, function: Function, call: ast.Call) -> list[Function]:
        func = call.func
        own = syntax.own_attribute(function, func)
        method = self.method(function.cls, own) if own is not None and function.cls is not None else None
        if method is not None:
            return self.runs(self.returns(method)) if method.is_property else [method]
        if not self.may_be_own(function, call):
            return []
        value = self.value(function, func)
        if value.kind == "class":
            return list(dict.fromkeys(init for klass in value.any_class for init in self._constructor(klass)))
        if value.kind in ("function", "name") and value.choices:
            return self.runs(value)
        if isinstance(func, ast.Attribute) and value.kind in ("unknown", "function") and value.function is None:
            owner_value = self.value(function, func.value)
            found = (self.method(klass, func.attr) for klass in owner_value.classes)
            return list(dict.fromkeys(method for method in found if method is not None))
        return self.run_by(value)

    def may_be_own(self, function: Function, call: ast.Call) -> bool:
        """Whether a call may run the project's code or a model, by its name alone: no builtin, no method of lists and tensors."""
        func = call.func
        if isinstance(func, ast.Attribute):
            return func.attr in self._callable_words or MODEL_NAME.search(func.attr) is not None
        return not (
            isinstance(func, ast.Name) and func.id in names.BUILTINS and names.resolve(function, func) == func.id
        )

    def runs(self, value: Value) -> list[Function]:
        """The same of what is one of several functions or objects."""
        choices = value.choices if value.kind in ("function", "name") else ()
        return list(dict.fromkeys(target for one in choices or (value,) for target in self.run_by(one)))

    def run_by(self, value: Value) -> list[Function]:
        """What calling a function, a module or an object runs."""
        if value.kind == "function" and value.function is not None:
            return [value.function]
        if value.kind not in ("module", "instance"):
            return []
        if value.class_name == "torch.nn.Sequential":
            return [t for item in value.items or (value.element,) if item is not None for t in self.run_by(item)]
        name = "forward" if value.kind == "module" else "__call__"
        called = [method for klass in value.any_class if (method := self.method(klass, name)) is not None]
        return list(dict.fromkeys(called))

    def call_sites(self, function: Function, most: int = sys.maxsize) -> list[CallSite] | None:
        """Where the project calls the function, as far as names tell; None where that can't be said, or for more than `most`."""
        return self._ask(("sites", function, most), lambda: self._call_sites(function, most), None)

    def _call_sites(self, function: Function, most: int) -> list[CallSite] | None:
        paths = self._callers(function)
        return self._found_in(paths, function, most) if paths is not None else None

    def _found_in(self, paths: Sequence[str], function: Function, most: int) -> list[CallSite] | None:
        """Where some files call the function; None for more than `most`."""
        name = called_name(function)
        by_name = function.cls is None or function.cls.name == name
        if by_name and len(paths) > most and sum(self.may_call(path, name) for path in paths) > most:
            return None  # a file that imports a function or class and holds a call of that name calls it
        found: list[CallSite] = []
        for path in paths:
            found += self.sites_in(path, function)
            if len(found) > most:
                return None
        return found

    @question("own sites", [], by="_ask")
    def own_sites(self, function: Function) -> list[CallSite]:
        """Where the project calls the function outside of tests; nothing where that can't be said, or is done in many places."""
        sites = self.call_sites(function, MAX_SITES)
        if sites is None:  # many of which may stand in tests
            others = [path for path in self._callers(function) or () if not self.in_test(path, "")]
            sites = self._found_in(others, function, MAX_SITES)
        return [site for site in sites or () if not self.is_tested(site.function)]

    def calls_of(self, function: Function) -> Iterator[CallSite]:
        """The call sites one by one: who has seen enough of them need not have the other files parsed."""
        for path in self._callers(function) or ():
            yield from self.sites_in(path, function)

    def _is_plain_forward(self, klass: Class, name: str) -> bool:
        """Whether a `forward` is a method like others, which runs where it is called by its name: of a class that is no module."""
        return name == "forward" and all(self.has_plain_bases(one, _OBJECT) for one in self.ancestry(klass))

    def sites_in(self, path: str, function: Function) -> list[CallSite]:
        """Where a file calls the function."""
        name = called_name(function)
        is_own = path == function.module.path
        module = self.module_for_calls(path, name) if is_own or self._may_reach(path, function, name) else None
        if module is None:
            return []
        found = [site for alias in aliases(module, name) for site in self.sites_named(module, alias).get(function, ())]
        return [*found, *self._propagated(function)] if is_own and name in PASSES_MESSAGES else found

    @question("propagated", [])
    def _propagated(self, function: Function) -> Sequence[CallSite]:
        return [CallSite(*site) for site in propagating(function)]

    def _may_reach(self, path: str, function: Function, name: str) -> bool:
        """Whether another file may call the function, as far as texts tell: its methods call those of their own classes, of bases, and what these leave to heirs."""
        how = self.called_as(path, name)
        if how == "own" and function.cls is not None:
            return path in self.lineage(function.cls.name) or self._inherits_from(path, function.cls)
        return how not in ("", "base")  # what `super()` is, nobody tells

    def _inherits_from(self, path: str, klass: Class) -> bool:
        """Whether a class inherits from one of a file."""
        return any(base.module.path == path for base in self.ancestry(klass))

    @question("named", {}, by="_ask")
    def sites_named(self, module: Module, name: str) -> dict[Function, list[CallSite]]:
        """The calls of anything of that last name in a file, by what they call."""
        found: dict[Function, list[CallSite]] = {}
        for caller, call in calls_named(module, name):
            for target in dict.fromkeys(self.targets(caller, call)):
                found.setdefault(target, []).append(CallSite(caller, call))
        for caller, call, given in self._started(module, name):
            for target in dict.fromkeys(self.targets(caller, given)):
                found.setdefault(target, []).append(CallSite(caller, call, given))
        return found

    @question("started", [])
    def _started(self, module: Module, name: str) -> Sequence[tuple[Function, ast.Call, ast.Call]]:
        return list(started(module, name))

    @question("callers", None, by="_ask")
    def _callers(self, function: Function) -> list[str] | None:
        """The files that may call the function: its own, and those that import it, its class or its module."""
        name = called_name(function)
        if isinstance(function.node, ast.Module):
            return None
        if function.cls is not None and name in GENERIC and not self._is_plain_forward(function.cls, name):
            return None
        own = function.module.path
        if function.parent is not function.module.body and function.cls is None:
            return [own]
        # A method is not imported by its own name.
        own_name = function.cls.name if function.cls is not None else function.name
        others = self.mentioning(Sought(own, function.module.name, own_name, name))
        if others is None:
            return None
        by_objects = self._by_objects(function.cls, name) if function.cls is not None and name != "__init__" else []
        return list(dict.fromkeys((own, *others, *by_objects)))

    def _by_objects(self, klass: Class, name: str) -> list[str]:
        """The files that call a method of objects, as `model = get_model(options)` imports no class.

        They are few, or, where they are not many, those are that import a file which imports the class.
        """
        paths = self.calling(name)
        if MAX_SITES < len(paths) <= MAX_CALLING:
            makers = self.named_by(klass.module, klass.name)
            paths &= {path for maker in makers for path in self.importers(maker)} if len(makers) <= MAX_SITES else set()
        return sorted(paths) if len(paths) <= MAX_SITES else []


def _with_missing(entries: Mapping[str, Value], given: Sequence[Value]) -> dict[str, Value]:
    """What calls give by name, of which some do not give all."""
    known = [one.entries for one in given if one.entries is not None]
    return {
        key: value if all(key in one for one in known) else replace(value, other_kinds=value.other_kinds | {"none"})
        for key, value in entries.items()
    }
