"""The values in one function, each worked out when somebody asks for it; and what its names stand for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol, TypeVar

from ..query.database import Database
from . import batches, common_names, names, narrowing, operations, operator_results, type_tested
from . import torch_table as table
from .arguments import Arguments
from .bindings import Assigned, Binding, Joined, Narrowed, Parameter
from .chosen import Choice, may_return
from .loss_names import is_named_as_loss
from .module import Class, Function, Module, key_of
from .nodes import number, root_of
from .promises import promised
from .type_comments import annotation_of
from .used_as_mapping import is_asked_for_keys
from .values import (
    LIKELY,
    LIKELY_DEVICE,
    LIKELY_NUMBER,
    LIKELY_TENSOR,
    NONE,
    NUMBER,
    PROVEN,
    UNKNOWN,
    Batch,
    ClassValue,
    Device,
    Dict,
    Dtype,
    FunctionValue,
    ImportedName,
    Instance,
    List,
    ModuleValue,
    Unknown,
    Value,
    bounded,
    join_all,
    replace,
    sequence,
    tensor,
)

Reader = Callable[..., Value]
Given = tuple[tuple[str, Device], ...]
"""Parameters that are tensors, and where these live."""
Literals = tuple[tuple[str, str | bool | None], ...]
"""Parameters, and the words, flags and None that a call gives for them."""
T = TypeVar("T")
CHAIN = 100
"""How many bindings are read one for another before they are read in their order instead."""


class World(Protocol):
    """What an evaluation asks the rest of the project, each as `Project` says."""

    def canonical(self, name: str, near: Module) -> str: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def definition(self, name: str, near: Module) -> Function | Class | Module | None: ...
    def starred_files(self, module: Module, name: str) -> Iterator[Module]: ...
    def final(self, function: Function, name: str) -> Value | None: ...
    def parameter(self, function: Function, name: str) -> Value: ...
    def keywords(self, function: Function) -> Value: ...
    def positional_rest(self, function: Function) -> Value: ...
    def attribute(self, klass: Class, name: str) -> Value: ...
    def attribute_of(self, owner: Value, name: str) -> Value: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def of_heirs(self, klass: Class, name: str, most: int = ...) -> list[Function]: ...
    def of_modules(self, name: str) -> list[Function]: ...
    def returns(self, function: Function, given: Choice = ()) -> Value: ...
    def returns_of(self, function: Function, tensors: Given) -> Value: ...
    def returns_on(self, function: Function, owner: Class) -> Value: ...
    def returned_as(self, function: Function, count: int) -> tuple[tuple[Value, ...], ...]: ...
    def targets(self, function: Function, call: ast.Call) -> list[Function]: ...
    def wrapped(self, wrapper: Function, name: str) -> Value: ...
    def returns_for(self, function: Function, literals: Literals, given: Choice) -> Value: ...
    def ancestry(self, klass: Class) -> Iterator[Class]: ...
    def has_plain_bases(self, klass: Class, plain: Collection[str]) -> bool: ...
    def is_module(self, klass: Class) -> bool: ...
    def is_distribution(self, klass: Class) -> bool: ...
    def is_optimizer(self, klass: Class) -> bool: ...
    def is_progress_bar(self, klass: Class) -> bool: ...
    def is_autograd_function(self, klass: Class) -> bool: ...
    def is_loader(self, klass: Class) -> bool: ...
    def inside(self, function: Function, ask: Callable[[Evaluator], T]) -> T: ...
    def any_holds(self, pattern: bytes, places: str = "", *, word: bytes = b"") -> bool: ...


_STEPS = table.EVALUATION_STEPS | {"training_step"}
_WAYS = 8
"""How many paths that meet are looked at for what a name may be."""


_PLAIN = ("number", "list", "tuple", "size")


class Evaluator:
    """The values in one function, each worked out when it is asked for: what nobody asks for is not evaluated."""

    def __init__(
        self,
        function: Function,
        world: World,
        database: Database,
        expressions: Mapping[type[ast.expr], Reader],
        bindings: Mapping[type[Binding], Reader],
        given: Mapping[str, Value],
    ) -> None:
        """`expressions` and `bindings` tell who reads one of each kind.

        `given` is what parameters are for one call, or one object, among many.
        """
        self._expressions = expressions
        self._bindings = bindings
        self._call = expressions[ast.Call]
        self.function = function
        self.given = given
        self.world = world
        self.bindings = function.bindings
        self.reach = self.bindings.reach
        self.evidence = self.bindings.evidence
        self.parameters = {p.arg: p for p in function.parameters}
        self.rest = function.rest
        self.answers = database.parts()
        self._resolved: dict[str, str | None] = database.memo()
        self._nested = 0
        """How many bindings are being read, one for another."""

    # What is asked from outside

    def value(self, node: ast.expr) -> Value:
        """What an expression of the function evaluates to."""
        known: Value | None = self.answers.known.get(node)
        if known is not None:
            return known
        reach, nested = self.reach, self._nested
        self.reach, self._nested = self.bindings.reach, 0
        try:
            # The values of calls are kept by `expr`.
            return self.expr(node) if type(node) is ast.Call else self.answers.of(node, self.expr)
        finally:
            self.reach, self._nested = reach, nested

    def final(self, name: str) -> Value | None:
        """What a name is at the end of the function; None where it binds no such name."""
        binding = self.bindings.final.get(name)
        return self._entered(lambda: self.bound(binding)) if binding is not None else None

    def returned(self, given: Choice = ()) -> list[Value]:
        """What the function returns, path by path, for calls that give some flags."""
        found = self.bindings.returned
        if given:
            flags = dict(given)
            found = [one for one in found if one is None or may_return(self.function, one.node, flags)]
        return self._entered(lambda: [self.bound(one) if one is not None else NONE for one in found])

    def yielded(self) -> list[Value]:
        """What the function yields, place by place."""
        return self._entered(lambda: [self.bound(one) for one in self.bindings.yielded])

    def _entered(self, answer: Callable[[], T]) -> T:
        # Callers may ask about a function while one of its own values is being worked out.
        reach, nested = self.reach, self._nested
        self.reach, self._nested = self.bindings.reach, 0
        try:
            return answer()
        finally:
            self.reach, self._nested = reach, nested

    # Bindings

    def bound(self, binding: Binding) -> Value:
        """What a binding binds its name to."""
        return self.answers.of(binding, self._bound)

    def _bound(self, binding: Binding) -> Value:
        if self._nested >= CHAIN:
            # A thousand statements, each of which needs the one before: from the first on, not from the last.
            self._nested = 0
            for earlier in self.bindings.all[: binding.number]:
                self.bound(earlier)
        reach, self.reach = self.reach, binding.reach
        self._nested += 1
        value = bounded(self._bindings[type(binding)](self, binding))
        self._nested -= 1
        self.reach = reach
        return value

    def canonical(self, name: str) -> str:
        return self.world.canonical(name, self.function.module)

    def definition(self, name: str) -> Function | Class | Module | None:
        return self.world.definition(name, self.function.module)

    def _of_outer(self, scope: Function, name: str) -> Value:
        """A parameter of a function around this one."""
        return self.world.inside(scope, lambda values: values.parameter(name))

    # Expressions and names

    def expr(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Call) and self.reach is self.bindings.reach:
            # In `x.a().b().c()` each call may be asked for, and asks for all before.
            return self.answers.of(node, functools.partial(self._call, self))
        method: Reader | None = self._expressions.get(type(node))
        return method(self, node) if method is not None else UNKNOWN

    def name(self, node: ast.Name) -> Value:
        return self.lookup(node.id, self.reach.get(node))

    def lookup(self, name: str, binding: Binding | None) -> Value:
        value = self.bound(binding) if binding is not None else self.answers.of(name, self.outer)
        if value.kind == "tensor" and name in self.bindings.mappings and not value.from_loader:
            return self._as_mapping(name, binding, value)
        if not value.proven and name in self.bindings.trained and value.kind in ("unknown", "tensor"):
            return ModuleValue(LIKELY, device=value.device)
        if value.kind == "tensor" and not value.proven and self._is_given_to_numpy(name, binding):
            return replace(value, device="cpu", other_kinds=value.other_kinds | {"ndarray"})
        is_shown = not value.proven and self._is_shown(name, binding) and narrowing.may_be_tensor(value)
        if is_shown and not (value.kind == "unknown" and self._is_another(binding, _WAYS)):
            value = narrowing.used_as_tensor(value)
        elif (
            not value.proven
            and value.kind == "tensor"
            and not value.from_loader
            and (self.is_used_whole(name) or self._is_number_of(binding, value))
        ):
            if "ndarray" in value.other_kinds:
                return value  # which has rows and columns, too
            value = replace(value, certainty=PROVEN, other_kinds=frozenset())
        if not value and common_names.DEVICE_NAME.search(name):
            return LIKELY_DEVICE
        return value

    def _as_mapping(self, name: str, binding: Binding | None, value: Value) -> Value:
        """What seems to be a tensor; where it is asked for its keys, a mapping that may hold such."""
        if not is_asked_for_keys(self.function, name, binding):
            return value
        return Dict(LIKELY, element=value)

    def _is_shown(self, name: str, binding: Binding | None) -> bool:
        """Whether a name is used as only a tensor can be; of a lambda or a comprehension, whether its own is, there."""
        if (name if binding is None else binding) in self.bindings.given_to_torch:
            return True
        while isinstance(binding, Narrowed):
            binding = binding.before
        if isinstance(binding, Parameter):
            return binding.used
        own = self.bindings.of_comprehensions.get(binding) if binding is not None else None
        return name in self.evidence if own is None else own

    def _is_another(self, binding: Binding | None, ways: int) -> bool:
        """Whether all is known that a name may be there, and none of it is a tensor: `x` behind `x = x.numpy() if x != 0 else 0`."""
        if isinstance(binding, Joined):
            return ways > 0 and self._is_another(binding.one, ways - 1) and self._is_another(binding.other, ways - 1)
        if type(binding) is not Assigned:
            return False
        arms = [binding.node.body, binding.node.orelse] if isinstance(binding.node, ast.IfExp) else [binding.node]
        reach, self.reach = self.reach, binding.reach  # what `x` in `x = x.to(device)` was before
        kinds = {kind for arm in map(self.expr, arms) for kind in (arm.kind, *arm.other_kinds)}
        self.reach = reach
        return kinds.isdisjoint(("unknown", "tensor", "batch", "output"))

    def _is_given_to_numpy(self, name: str, binding: Binding | None) -> bool:
        """Whether NumPy is given what a name stands for: a tensor of the device would be an error there."""
        return (name if binding is None else binding) in self.bindings.given_to_numpy

    def _is_number_of(self, binding: Binding | None, value: Value) -> bool:
        """Whether a name is what was moved to the device, or an element of that, and is read as a number, or summed up: lists of numbers have no `cuda()`."""
        return value.device == "accelerator" and not value.other_kinds and binding in self.bindings.counted

    def is_used_whole(self, name: str) -> bool:
        """Whether what may be a tensor has rows and columns, or, where it is given to a forward, a shape."""
        return name in self.bindings.sliced or (
            name in self.bindings.shaped and name in self.parameters and self.takes_tensors()
        )

    def outer(self, name: str) -> Value:
        """A name that this function does not bind before: a parameter, a closure's or the module's name, an import."""
        function = self.function
        if name in self.parameters:
            return self.parameter(name)
        if name == self.rest:
            return self.world.positional_rest(function)
        found = names.imported(function, name)
        return self._imported(self.canonical(found), name) if found is not None else self.around(name)

    def around(self, name: str) -> Value:
        """A name of the functions around this one, or of the module."""
        function = self.function
        scope = function.parent
        while scope is not None:
            bound = self.world.final(scope, name) if scope is not function else None
            if bound is not None:
                return self._set_later(scope, name) if bound.kind == "none" else bound
            if scope is not scope.module.body:
                if name in scope.nested:
                    return FunctionValue(function=scope.nested[name])
                if any(p.arg == name for p in scope.parameters):
                    return self._of_outer(scope, name)
            scope = scope.parent
        module = function.module
        if name in module.top_functions:
            return FunctionValue(function=module.top_functions[name])
        if name in module.top_classes:
            return ClassValue(class_=module.top_classes[name])
        starred = self.world.resolve(function, ast.Name(name))
        return self.named(starred) if starred else self._by_star(name) or self._set_by_functions(module, name)

    def is_of_branches(self, name: str) -> bool:
        """Whether several imports of the function bind a name, each to something else."""
        return name in self.function.module.twice_imported and any(
            name in one.other_imports for one in self.function.scopes
        )

    def _imported(self, origin: str, name: str) -> Value:
        """What an import binds a name to; one of several classes where branches of the function import different ones by it."""
        value = self.named(origin)
        if not self.is_of_branches(name):
            return value
        scope = next(one for one in self.function.scopes if name in one.imports)
        more = scope.other_imports.get(name, ())
        others = [self.named(self.canonical(one)) for one in more]
        if others and all(one.kind == "class" and one.class_ is not None for one in (value, *others)):
            return join_all([value, *others])
        return value

    def _set_later(self, scope: Function, name: str) -> Value:
        """What functions give a name of the module that is None until then: `_device` behind `global _device`."""
        given = self._set_by_functions(scope.module, name) if scope is scope.module.body else UNKNOWN
        return join_all([NONE, given]) if given else NONE

    def _set_by_functions(self, module: Module, name: str) -> Value:
        """What functions that declare a name of the module give it: `net` behind `def run(): global net; net = Net()`."""
        if not module.source.holds(b"global "):
            return UNKNOWN
        setters = [one for one in module.functions if name in one.flow.globals]
        given = [value for one in setters if (value := self.world.final(one, name)) is not None]
        return join_all(given) if given else UNKNOWN

    def _by_star(self, name: str) -> Value:
        """What a star import brings that another file of the project makes: `data` behind `data = Data(path)`."""
        for module in self.world.starred_files(self.function.module, name):
            bound = self.world.final(module.body, name)
            if bound is not None:
                return bound
        return UNKNOWN

    def named(self, name: str) -> Value:
        """The value of an import or builtin."""
        if name in table.DTYPES:
            return Dtype(class_name=name)
        if name in table.NUMBERS:
            return NUMBER
        definition = self.definition(name)
        if isinstance(definition, Function):
            return FunctionValue(function=definition, class_name=name)
        if isinstance(definition, Class):
            return ClassValue(class_=definition, class_name=name)
        if definition is None and "." in name:
            owner = self.definition(name.rpartition(".")[0])
            if isinstance(owner, Module) and owner is not self.function.module:
                return self.world.final(owner.body, name.rpartition(".")[2]) or UNKNOWN
        return ImportedName(class_name=name)

    def _is_given_host(self, name: str) -> bool:
        """Whether all calls that are known give a parameter what was put into host memory; methods of models are not asked."""
        klass = self.function.cls
        if klass is not None and not self.function.name.startswith("_") and self.world.is_module(klass):
            return False
        passed = self.world.parameter(self.function, name)
        is_put = passed.kind == "unknown" or (passed.is_tensor and not passed.from_loader)
        return is_put and passed.device == "cpu"

    def parameter(self, name: str) -> Value:
        if name in self.given:
            return self.given[name]
        function, parameter = self.function, self.parameters[name]
        if name == function.own_name and function.cls is not None:
            if "classmethod" in function.decorator_names:
                return ClassValue(class_=function.cls)
            return self.instance(function.cls)
        if name == "state_steps":  # what torch.optim's functions call the counters, which it keeps on the host
            return sequence(tensor("cpu"))
        annotation = annotation_of(function, parameter)
        annotated = promised(self, annotation) if annotation is not None else UNKNOWN
        if annotated.proven and annotated.kind in ("tensor", "number", "str", "ndarray"):
            default = self.default(name) if annotated.kind == "tensor" else None
            # `grid: Tensor = torch.tensor([1.0, 0.0])`, and nobody is seen to give another.
            if (
                default is not None
                and default.on_cpu
                and default.is_tensor
                and not self.world.parameter(function, name)
            ):
                return default
            # `flag: torch.Tensor | None = False`: the default knows better.
            if default is not None and default.kind == "number" and default.boolean:
                return replace(annotated, certainty=LIKELY)
            if annotated.kind == "tensor" and "number" in annotated.other_kinds:
                passed = self.world.parameter(function, name)
                if passed.kind == "number" and "tensor" not in passed.other_kinds:
                    return passed  # `value: float | Tensor`, which all calls give numbers
            if annotated.kind == "tensor" and name in self.bindings.plain:
                passed = self.world.parameter(function, name)
                if passed.proven and passed.kind in _PLAIN and "tensor" not in passed.other_kinds:
                    return passed  # `sizes: Tensor`, which all calls give a list of numbers
            if annotated.kind == "tensor" and not annotated.device and self._is_given_host(name):
                return replace(annotated, device="cpu")
            if annotated.kind == "tensor" and not annotated.device and type_tested.is_made_one(function, name):
                return replace(annotated, other_kinds=annotated.other_kinds | {"unknown"})
            return annotated
        passed = self.world.parameter(function, name)
        # What a loader gives, or only likely is a tensor, may be a list: `tokens: list[list[int]]`. What surely is one shows
        # that the annotation is wrong.
        may_be_list = passed.from_loader or not passed.proven or function.name == "forward"
        is_list = may_be_list and passed.kind in ("tensor", "batch") and _is_of_numbers(annotated)
        if passed and not (is_list and not type_tested.is_asked(function, name)):
            # What a forward gives on is only likely a tensor: `def forward(self, data): return self.net.loss(data)`.
            is_guessed = passed.kind == "tensor" and not passed.from_loader
            may_be_object = annotated.kind == "instance" and ("instance" in passed.other_kinds or is_guessed)
            return annotated if may_be_object and not passed.proven else passed
        if annotated.kind == "loader" and annotated.pinned is None and batches.pinned_beside(function.module):
            return batches.made_loader(annotated, True)
        if annotated:
            return annotated
        if self.is_given_batches() and function.parameters[1].arg == name:
            return Batch(LIKELY, device="accelerator", managed=True)
        named = operations.by_name(name)
        if (named.kind != "device" and self.takes_tensors()) or (not named and is_named_as_loss(function)):
            default = self.default(name)
            return LIKELY_TENSOR if default is None or default.kind == "none" else default
        found = named or self.by_default(name)
        return found or Unknown(found.certainty, device=passed.device)  # what was moved, whatever it is

    def by_default(self, name: str) -> Value:
        """What a parameter is that nobody is seen to give: as its default a number, a list of them, a function or a class."""
        default = self.function.defaults.get(name)
        if isinstance(default, ast.List | ast.Tuple) and default.elts and None not in map(number, default.elts):
            return List(LIKELY, element=LIKELY_NUMBER)
        root = root_of(default, ast.Attribute) if isinstance(default, ast.Name | ast.Attribute) else None
        if default is not None and root is not None and root.id not in self.parameters:
            value = self.expr(default)
            return replace(value, certainty=LIKELY) if value.kind in ("function", "class", "name") else UNKNOWN
        return LIKELY_NUMBER if number(default) is not None else UNKNOWN

    def is_given_batches(self) -> bool:
        """Whether a framework calls the method with batches that it has moved: Lightning's steps."""
        function = self.function
        named = function.name in _STEPS and function.is_method and len(function.parameters) > 1
        return named and function.cls is not None and self.world.is_module(function.cls)

    def takes_tensors(self) -> bool:
        """Whether the arguments are tensors where nothing else is said: the forward of a module, a compiled function."""
        function = self.function
        if "compile" in function.decorator_names:
            return True
        return function.cls is not None and function.name == "forward" and self.world.is_module(function.cls)

    def default(self, name: str) -> Value | None:
        default = self.function.defaults.get(name)
        return self.expr(default) if default is not None else None

    def dotted(self, node: ast.expr) -> str | None:
        """The canonical dotted name of an expression, unless a local variable stands at its root."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        binding = self.reach.get(root)
        if binding is not None:
            value = self.bound(binding)
            if value.kind not in ("name", "class", "function") or not value.class_name:
                return None
            parts = names.chain(node) or []
            return self.canonical(".".join([value.class_name, *parts[1:]]))
        key = key_of(node)
        assert key is not None
        if key in self._resolved:
            return self._resolved[key]
        found = self._resolved[key] = self._resolve(node, key)
        return found

    def _resolve(self, node: ast.expr, key: str) -> str | None:
        found = self.world.resolve(self.function, node)
        if found is None and key in self.function.module.top_classes:
            return f"{self.function.module.name}.{key}"
        return found

    @property
    def sets_device(self) -> bool:
        """Whether the file says where tensors are made that are given no device."""
        return self.function.module.source.holds(operator_results.DEFAULT_DEVICE)

    @property
    def sets_type(self) -> bool:
        """Whether a file of the project has tensors made on an accelerator that are given no device."""
        return self.world.any_holds(operator_results.DEFAULT_TYPE, word=operator_results.SETS_TYPE)

    @functools.cached_property
    def on_graphs(self) -> bool:
        """Whether the file works on graphs of PyTorch Geometric."""
        return b"torch_geometric" in self.function.module.source.data

    @functools.cached_property
    def on_instances(self) -> bool:
        """Whether the file works on instances of detectron2."""
        return b"detectron2" in self.function.module.source.data

    @functools.cached_property
    def on_box_lists(self) -> bool:
        """Whether the file works on the lists of boxes of maskrcnn-benchmark."""
        return b"maskrcnn_benchmark" in self.function.module.source.data

    @property
    def on_packed(self) -> bool:
        """Whether the file works on packed sequences."""
        return self.function.module.source.holds(common_names.PACKS)

    def arguments(self, node: ast.Call) -> Arguments:
        return Arguments.of(node, self.expr)

    def instance(self, klass: Class, node: ast.Call | None = None) -> Value:
        kind = ModuleValue if self.world.is_module(klass) else Instance
        made_in = self.function.module if node is not None else None
        return kind(class_name=klass.full_name, class_=klass, made_by=node, made_in=made_in)


def _is_of_numbers(value: Value) -> bool:
    """`list[int]`, `list[list[str]]`"""
    element = value.element if value.kind == "list" else None
    return element is not None and (element.kind in ("number", "str") or _is_of_numbers(element))
