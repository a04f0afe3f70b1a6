"""What the expressions of one function are, each worked out when somebody asks for it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Protocol, TypeVar

from ..query.database import Database
from . import calls, fixed_options, layers, names, narrowing, operations
from . import torch_table as table
from .argparse_defaults import argparse_defaults
from .bindings import (
    Assigned,
    Augmented,
    Before,
    Binding,
    Changed,
    Declared,
    Defined,
    Iterated,
    Joined,
    Narrowed,
    Parameter,
    Part,
    Rest,
    Starred,
    Stored,
    shows_tensor,
)
from .calls import Arguments
from .chosen import Choice, choice, may_return
from .left_out import left_out
from .module import Class, Function, Module, has_slice, key_of
from .promises import promised
from .values import (
    ACCELERATORS,
    ARRAY_OR_NUMBER,
    BOOL,
    CUDA,
    DEVICE,
    DTYPE,
    EXTENT,
    INTEGER,
    LIKELY,
    LIKELY_NUMBER,
    LIKELY_TENSOR,
    LIST,
    NDARRAY,
    NONE,
    NUMBER,
    ON_ACCELERATOR,
    PROVEN,
    SIZE,
    STR,
    TENSOR,
    UNKNOWN,
    Accelerator,
    Batch,
    ClassValue,
    Dataset,
    Device,
    DeviceValue,
    Dict,
    Dtype,
    FunctionValue,
    ImportedName,
    Instance,
    List,
    Loader,
    ModuleValue,
    Scheduler,
    Size,
    Tensor,
    Text,
    Tuple,
    Unknown,
    Value,
    constant,
    device_of_string,
    join,
    replace,
    sequence,
    tensor,
)

Reader = Callable[..., Value]
Given = tuple[tuple[str, Device], ...]
"""Parameters that are tensors, and where these live."""
T = TypeVar("T")
KEYS = 200
"""How many keys of a dictionary that grows are known; each statement that adds one has a dictionary of its own."""
SHORT = 40
"""So many lines has a helper of which is asked what it makes of certain tensors."""
CHAIN = 100
"""How many bindings are read one for another before they are read in their order instead."""


_OF_GRAPHS = frozenset(
    "x y pos batch ptr edge_index edge_attr edge_weight edge_type train_mask val_mask test_mask".split()
)
"""The tensors that a graph of PyTorch Geometric holds."""
_OF_DGL = frozenset(("ndata", "edata", "srcdata", "dstdata"))
"""The attributes of a graph of DGL under which its tensors are."""


class World(Protocol):
    """What an evaluation asks the rest of the project."""

    def canonical(self, name: str, near: Module) -> str:
        """A dotted name as `near` imports it, with the project's re-exports followed."""

    def resolve(self, function: Function, node: ast.expr) -> str | None:
        """The canonical dotted name of an expression that starts at an import or a builtin, or None."""

    def definition(self, name: str, near: Module) -> Function | Class | Module | None:
        """What the project defines under a dotted name that `near` may import."""

    def final(self, function: Function, name: str) -> Value | None:
        """What a name is at the end of a function or module body; None where it binds no such name."""

    def parameter(self, function: Function, name: str) -> Value:
        """What the callers pass for a parameter."""

    def keywords(self, function: Function) -> Value:
        """The dictionary that `**kwargs` of a function is."""

    def positional_rest(self, function: Function) -> Value:
        """The tuple that `*args` of a function is."""

    def attribute(self, klass: Class, name: str) -> Value:
        """What the methods of a class, or of its bases, assign to `self.name`."""

    def method(self, klass: Class, name: str) -> Function | None:
        """A method of a class or of its bases in the project."""

    def of_modules(self, name: str) -> list[Function]:
        """The methods of that name, where only modules of one family in the project have one."""

    def returns(self, function: Function, given: Choice = ()) -> Value:
        """What a call of the function gives, one that gives some flags."""

    def returns_of(self, function: Function, tensors: Given) -> Value:
        """What a call of the function gives that gives tensors for some parameters."""

    def is_module(self, klass: Class) -> bool:
        """Whether instances are nn.Modules."""

    def is_distribution(self, klass: Class) -> bool:
        """Whether instances are distributions of torch's."""

    def is_loader(self, klass: Class) -> bool:
        """Whether instances are loaders of torch's: a subclass that iterates as its base does."""

    def inside(self, function: Function, ask: Callable[[Evaluator], T]) -> T:
        """What the values of a function say."""


_STEPS = table.EVALUATION_STEPS | {"training_step"}


class Evaluator:
    """The values in one function, each worked out when it is asked for: what nobody asks for is not evaluated."""

    def __init__(self, function: Function, world: World, database: Database, given: Given = ()) -> None:
        """`given` are tensors that the parameters are, for one call among many."""
        self.function = function
        self.given_tensors = dict(given)
        self.world = world
        self.bindings = function.bindings
        self.reach = self.bindings.reach
        self.evidence = self.bindings.evidence
        self.parameters = {p.arg: p for p in function.parameters}
        node = function.node
        vararg = node.args.vararg if not isinstance(node, ast.Module) else None
        self.rest = vararg.arg if vararg is not None else ""
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
        value = _BINDINGS[type(binding)](self, binding)
        self._nested -= 1
        self.reach = reach
        return value

    def assigned(self, binding: Assigned) -> Value:
        return self.expr(binding.node)

    def declared(self, binding: Declared) -> Value:
        node = binding.node
        value = self.expr(node.value) if node.value is not None else UNKNOWN
        if not value or value.kind == "none":
            return promised(self, node.annotation) or value
        if value.kind == "tensor" and not value.proven and promised(self, node.annotation).kind == "tensor":
            return replace(value, certainty=PROVEN, other_kinds=frozenset())
        return value

    def augmented(self, binding: Augmented) -> Value:
        node = binding.node
        target = node.target
        if binding.before is not None:
            before = self.bound(binding.before)
        elif isinstance(target, ast.Name):
            before = self.lookup(target.id, None)
        elif isinstance(target, ast.Attribute):
            before = self.member(self.expr(target.value), target.attr)
        else:
            before = self.subscript(target)
        value = operations.binary(before, self.expr(node.value), node.op)
        if before.is_tensor and before.device and value.kind == "tensor":
            return replace(value, device=before.device)  # in place: it stays where it is
        return value

    def part(self, binding: Part) -> Value:
        whole = binding.whole
        if isinstance(whole, Assigned) and binding.count is not None:
            node = whole.node
            if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == binding.count and not _starred(node):
                reach, self.reach = self.reach, whole.reach
                value = self.expr(node.elts[binding.at])
                self.reach = reach
                return value
        value = self.bound(whole)
        if value.items is not None and len(value.items) == binding.count:
            return value.items[binding.at]
        each = self.element(value, None)
        if value.kind == "tensor" and isinstance(whole, Assigned) and _is_moved(whole.node):
            # `index, _, size = adjacency.to(device)`: nobody takes a tensor apart so; it is several things.
            return replace(each, other_kinds=each.other_kinds | {"tuple"})
        return each

    def starred_part(self, binding: Starred) -> Value:
        return sequence(self.bound(binding.each))

    def iterated(self, binding: Iterated) -> Value:
        return self.element(self.expr(binding.node), binding.node)

    def narrowed(self, binding: Narrowed) -> Value:
        """`if isinstance(x, (int, float))` and `torch.is_tensor(x)` tell what x is inside, and what it is not elsewhere."""
        test = binding.node
        current = self.expr(test.args[0])
        if self.dotted(test.func) == "torch.is_tensor":
            return narrowing.kept(current, TENSOR) if binding.true else narrowing.left(current, TENSOR)
        if self.dotted(test.func) != "isinstance" or len(test.args) != 2:
            return current
        kinds = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
        found = [promised(self, kind) for kind in kinds]
        if not binding.true:
            for kind in found:
                current = narrowing.left(current, kind)
            return current
        if len(found) == 1 or (found[0] and all(kind.kind == found[0].kind for kind in found)):
            return narrowing.kept(current, functools.reduce(join, found))
        return narrowing.kept_of(current, frozenset(kind.kind for kind in found)) if all(found) else current

    def changed(self, binding: Changed) -> Value:
        node = binding.node
        function = node.func
        assert isinstance(function, ast.Attribute)
        base = self.expr(function.value)
        attr = function.attr
        if base.kind == "batch" and attr in calls.MOVES and isinstance(self.function.flow.parents.get(node), ast.Expr):
            return calls.move(base, attr, self.arguments(node))  # nobody asks for what it gives: it moves itself
        if base.kind not in ("module", "list", "dict"):
            return base
        args = self.arguments(node)
        if base.kind == "module" and attr in ("to", "cuda", "cpu", "train", "eval"):
            if base.class_ is not None and self.world.method(base.class_, attr):
                return base
            return calls.module_method(base, attr, node, args) or base
        if base.kind == "list" and attr in ("append", "add", "insert", "extend", "appendleft"):
            added = args.positional[-1] if args.positional else UNKNOWN
            if attr == "extend":
                # What an array holds may be rows, or numbers.
                added = self.element(added, None) if added.kind != "ndarray" else UNKNOWN
            elem = join(base.element, added) if base.element is not None else added
            return replace(base, element=elem, items=None)
        if base.kind == "dict" and attr == "update":
            given = args.first.entries if args.positional else None
            merged = {**(base.entries or {}), **(given or {}), **({} if args.positional else args.keywords)}
            return replace(base, entries=merged if len(merged) <= KEYS else None)
        return base

    def stored(self, binding: Stored) -> Value:
        """`d["k"] = v` adds a key to a dictionary that is known; into a list or an unknown dict it joins the elements."""
        target = binding.node
        holder = self.expr(target.value)
        if holder.kind == "batch":
            return self.put_into(holder, binding)
        if holder.kind in ("unknown", "module") and not holder.proven:
            return self.put_into_unknown(holder, target, binding)
        if holder.kind not in ("dict", "list"):
            return holder
        value = self.bound(binding.value)
        key = self.key(target.slice)
        if holder.kind == "dict" and isinstance(key, str):
            keys = holder.entries or {}
            if len(keys) < KEYS:
                holder = replace(holder, entries={**keys, key: value})
            elif key in keys:
                holder = replace(holder, entries=None)
            if isinstance(target.slice, ast.Constant):
                return holder
        return replace(holder, element=join(holder.element, value) if holder.element else value)

    def put_into(self, batch: Batch, binding: Stored) -> Batch:
        """A batch that something is put into: under a name, or what was sent to the device in place of each that it holds."""
        target, value = binding.node, self.bound(binding.value)
        key = self.key(target.slice)
        keys = [key] if isinstance(key, str) else self.keys_of(target)
        if keys:
            entries = {**(batch.entries or {}), **dict.fromkeys(keys, value)}
            return replace(batch, entries=entries if len(entries) <= KEYS else None)
        if value.kind != "tensor" or value.from_loader or not (value.device == "accelerator" or _sends(binding.value)):
            return batch
        if not self.goes_over(target):
            return batch
        kept = left_out(self.function.flow.guards(target), key_of(target.slice))
        if kept is None:
            return batch
        left = {key: calls.batch_entry(batch, key) for key in kept}
        return replace(batch, device=value.device, from_loader=False, entries=left or None)

    def put_into_unknown(self, holder: Value, target: ast.Subscript, binding: Stored) -> Value:
        """What nobody knows and gets a key: a dictionary of which that one key is known, or a batch that was moved."""
        key = self.key(target.slice)
        if not isinstance(key, str) or holder.on_cpu:
            return holder
        entries = {key: self.bound(binding.value)}
        if holder.device:
            return Batch(LIKELY, device=holder.device, entries=entries)
        return Dict(LIKELY, entries=entries)

    def keys_of(self, target: ast.Subscript) -> list[str]:
        """The names that a loop puts something under: `for key in ("x", "y"): batch[key] = ...`."""
        over = self.iterated_by(target.slice)
        found = [self.expr(one).const for one in over.elts] if isinstance(over, ast.Tuple | ast.List) else []
        return [one for one in found if isinstance(one, str)]

    def goes_over(self, target: ast.Subscript) -> bool:
        """Whether a loop goes over what a batch holds and puts something in its place: `for key in batch: batch[key] = ...`."""
        over = self.iterated_by(target.slice)
        while isinstance(over, ast.Call):
            is_view = isinstance(over.func, ast.Attribute) and over.func.attr in calls.VIEWS
            over = over.func.value if isinstance(over.func, ast.Attribute) and is_view else next(iter(over.args), None)
        return over is not None and key_of(over) is not None and key_of(over) == key_of(target.value)

    def before_loop(self, node: ast.Subscript) -> Value | None:
        """A batch as it was before the loop that goes over it, where that reads what it is going to put something in the place of."""
        binding, element = self.reach.get(node.value), self.reach.get(node.slice)
        if not isinstance(binding, Joined) or element is None or binding.number > element.number:
            return None
        found = isinstance(binding.other, Stored | Joined) and self.goes_over(node)
        return self.bound(binding.one) if found and self.is_stored(binding.other, node) else None

    def is_stored(self, binding: Binding, node: ast.Subscript) -> bool:
        """Whether one of the paths puts something under the index that a loop reads."""
        if isinstance(binding, Joined):
            return self.is_stored(binding.one, node) or self.is_stored(binding.other, node)
        return isinstance(binding, Stored) and key_of(binding.node.slice) == key_of(node.slice)

    def iterated_by(self, index: ast.expr) -> ast.expr | None:
        """What a loop goes over whose variable is an index, or the first one of several: `for i, x in enumerate(batch)`."""
        binding = self.reach.get(index)
        if isinstance(binding, Part) and binding.at == 0:
            binding = binding.whole
        return binding.node if isinstance(binding, Iterated) else None

    def joined_paths(self, binding: Joined) -> Value:
        return join(self.bound(binding.one), self.bound(binding.other))

    def defined(self, binding: Defined) -> Value:
        node, module = binding.node, self.function.module
        if isinstance(node, ast.ClassDef):
            return ClassValue(class_=module.class_of.get(node))
        functions = module.top_functions if self.function is module.body else self.function.nested
        return FunctionValue(function=functions.get(node.name))

    def before(self, binding: Before) -> Value:
        node = binding.node
        if isinstance(node, ast.Name):
            return self.answers.of(node.id, self.outer)
        return self.attribute_of(self.expr(node.value), node)

    def lambda_parameter(self, binding: Parameter) -> Value:
        return operations.by_name(binding.name)

    def keyword_rest(self, binding: Rest) -> Value:
        return self.world.keywords(self.function)

    def canonical(self, name: str) -> str:
        return self.world.canonical(name, self.function.module)

    def definition(self, name: str) -> Function | Class | Module | None:
        return self.world.definition(name, self.function.module)

    def _of_outer(self, scope: Function, name: str) -> Value:
        """A parameter of a function around this one."""
        return self.world.inside(scope, lambda values: values.parameter(name))

    def element(self, value: Value, node: ast.expr | None) -> Value:
        """What iterating over the value gives."""
        kind = value.kind
        if value.class_name == "torch.nn.ParameterList":
            return Tensor(parameter=True, device=value.device)
        if kind in ("list", "size", "module", "loader") and value.element is not None:
            return value.element
        if value.kind == "loader":
            return Batch(
                value.certainty,
                device=value.device or ("accelerator" if value.managed else "cpu"),
                from_loader=not value.managed,
                pinned=value.pinned,
                managed=value.managed,
            )
        if value.kind == "batch":
            return calls.batch_tensor(value)
        if kind == "tensor":
            return replace(value, scalar=False, parameter=False, made_by=None)
        if value.kind == "tuple" and value.element is not None:
            return value.element
        if kind == "tuple" and value.items:
            each = value.items[0]
            for item in value.items[1:]:
                each = join(each, item)
            return each
        if kind == "ndarray":
            return ARRAY_OR_NUMBER
        if kind == "dict":
            return STR if value.entries is not None else UNKNOWN
        if kind == "module":
            return ModuleValue(LIKELY)
        if kind == "str":
            return STR
        if kind == "instance" and value.class_ is not None:
            given = self.wrapped(value, value.class_)
            if given:
                return given
        if node is not None and kind in ("unknown", "instance") and operations.looks_like_loader(node):
            return Batch(LIKELY, from_loader=True)
        return self.moved_part(value, None)

    def wrapped(self, value: Value, klass: Class) -> Value:
        """What iterating over an object of the project's gives: the elements of the loader it was made of, or what it says."""
        following = self.world.method(klass, "__next__") or self.world.method(klass, "__iter__")
        if following is None:
            return UNKNOWN
        if isinstance(value.made_by, ast.Call) and value.made_by.args:
            own = value.made_by in self.function.flow.parents
            inner = self.expr(value.made_by.args[0]) if own else UNKNOWN
            if inner.kind == "loader":
                return self.element(inner, None)
        returned = self.world.returns(following)
        return (
            returned
            if following.name == "__next__"
            else self.element(returned, None)
            if returned.kind == "list"
            else UNKNOWN
        )

    # Expressions

    def expr(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Call) and self.reach is self.bindings.reach:
            # In `x.a().b().c()` each call may be asked for, and asks for all before.
            return self.answers.of(node, self.call)
        method: Reader | None = _METHODS.get(type(node))
        return method(self, node) if method is not None else UNKNOWN

    def constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def joined(self, node: ast.JoinedStr) -> Value:
        first = node.values[0] if node.values else None
        text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        return Text(device=device_of_string(text.rstrip(":")) if text else "")

    def name(self, node: ast.Name) -> Value:
        return self.lookup(node.id, self.reach.get(node))

    def lookup(self, name: str, binding: Binding | None) -> Value:
        value = self.bound(binding) if binding is not None else self.answers.of(name, self.outer)
        if not value.proven and name in self.bindings.trained and value.kind in ("unknown", "tensor"):
            return ModuleValue(LIKELY, device=value.device)
        if not value.proven and name in self.evidence and narrowing.may_be_tensor(value):
            value = narrowing.used_as_tensor(value)
        elif not value.proven and value.kind == "tensor" and not value.from_loader and self.is_used_whole(name):
            if "ndarray" in value.other_kinds:
                return value  # which has rows and columns, too
            value = replace(value, certainty=PROVEN, other_kinds=frozenset())
        if not value and calls.DEVICE_NAME.search(name):
            return DEVICE
        return value

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
        if found is not None:
            return self.named(self.canonical(found))
        scope = function.parent
        while scope is not None:
            bound = self.world.final(scope, name) if scope is not function else None
            if bound is not None:
                return bound
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
        return self.named(starred) if starred else UNKNOWN

    def named(self, name: str) -> Value:
        """The value of an import or builtin."""
        if name in table.DTYPES:
            return Dtype(class_name=name)
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

    def parameter(self, name: str) -> Value:
        if name in self.given_tensors:
            return tensor(self.given_tensors[name])
        function, parameter = self.function, self.parameters[name]
        first = function.parameters[0].arg
        if function.is_method and name == first and function.cls is not None:
            if "classmethod" in function.decorator_names:
                return ClassValue(class_=function.cls)
            return self.instance(function.cls)
        if name == "state_steps":  # what torch.optim's functions call the counters, which it keeps on the host
            return sequence(tensor("cpu"))
        annotated = promised(self, parameter.annotation) if parameter.annotation is not None else UNKNOWN
        if annotated.proven and annotated.kind in ("tensor", "number", "str", "ndarray"):
            default = self.default(name) if annotated.kind == "tensor" else None
            # `flag: torch.Tensor | None = False`: the default knows better.
            if default is not None and default.kind == "number" and default.boolean:
                return replace(annotated, certainty=LIKELY)
            if annotated.kind == "tensor" and function.name.startswith("_") and not annotated.device:
                # All calls of what is private are seen.
                passed = self.world.parameter(function, name)
                if passed.kind == "tensor" and passed.proven and passed.device == "cpu" and not passed.from_loader:
                    return replace(annotated, device="cpu")
            return annotated
        passed = self.world.parameter(function, name)
        if passed:
            return passed
        if annotated:
            return annotated
        if self.is_given_batches() and function.parameters[1].arg == name:
            return Batch(LIKELY, device="accelerator", managed=True)
        named = operations.by_name(name)
        if named.kind != "device" and self.takes_tensors():
            default = self.default(name)
            return LIKELY_TENSOR if default is None or default.kind == "none" else default
        return named if named else self.by_default(name)

    def by_default(self, name: str) -> Value:
        """What a parameter is that nobody is seen to give: as its default a number or a list of them, `sizes=(32, 64)`."""
        default = self.function.defaults.get(name)
        if isinstance(default, ast.List | ast.Tuple):
            return (
                List(LIKELY, element=LIKELY_NUMBER) if default.elts and all(map(_is_number, default.elts)) else UNKNOWN
            )
        return LIKELY_NUMBER if default is not None and _is_number(default) else UNKNOWN

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

    def attribute(self, node: ast.Attribute) -> Value:
        binding = self.reach.get(node)
        if binding is not None:
            return self.bound(binding)
        return self.attribute_of(self.expr(node.value), node)

    @property
    def sets_device(self) -> bool:
        """Whether the file says where tensors are made that are given no device."""
        return self.function.module.source.holds(calls.DEFAULT_DEVICE)

    @functools.cached_property
    def on_graphs(self) -> bool:
        """Whether the file works on graphs of PyTorch Geometric."""
        return b"torch_geometric" in self.function.module.source.data

    def attribute_of(self, base: Value, node: ast.Attribute) -> Value:
        value = self.member(base, node.attr)
        if not value.proven and value.kind in ("unknown", "tensor") and self.evidence:
            key = key_of(node)
            if key in self.evidence:
                return narrowing.used_as_tensor(value)
        return value

    def member(self, base: Value, attr: str) -> Value:
        kind = base.kind
        if kind == "name":
            return self.named(self.canonical(f"{base.class_name}.{attr}"))
        if attr in _OF_GRAPHS and not base.proven and kind in ("unknown", "tensor") and self.on_graphs:
            return tensor(base.device)
        if attr in _OF_DGL and kind in ("unknown", "tensor", "batch") and base.device:
            return Batch(LIKELY, device=base.device, from_loader=base.from_loader)
        if base.kind == "tensor":
            return operations.tensor_attribute(base, attr)
        if kind in ("instance", "module", "class") and base.class_ is not None:
            found = self.world.attribute(base.class_, attr)
            if found:
                # A module's parts move with it.
                return (
                    replace(found, device=base.device)
                    if found.kind == "module" and base.device and not found.device
                    else found
                )
            method = self.world.method(base.class_, attr)
            if method is not None:
                return (
                    self.world.returns(method)
                    if method.decorator_names & _PROPERTIES
                    else FunctionValue(function=method)
                )
        if base.class_ is None and base.classes:
            return functools.reduce(join, [self.member(one, attr) for one in _each(base)])
        if attr == "dtype" and kind == "unknown":
            return DTYPE
        if attr == "device":
            return CUDA if kind in ("accelerator",) else DeviceValue(device=base.device)
        if base.kind == "batch" and attr not in table.ATTRIBUTES_NOT_TENSOR:
            counted = attr == "batch_size" or (attr.startswith("num_") and self.on_graphs)
            return INTEGER if counted else calls.batch_tensor(base)
        if base.kind == "batch":
            return operations.tensor_attribute(calls.batch_tensor(base), attr)
        if kind == "module":
            if base.entries is not None and attr in base.entries:
                return base.entries[attr]
            if attr == "bias" and base.class_name in layers.FLAGGED_BIAS:
                return BOOL
            if attr in ("weight", "bias", "data"):
                known = attr != "bias" or base.class_name  # a layer's `bias` may say whether it has one
                return Tensor(PROVEN if known else LIKELY, parameter=True, device=base.device)
            if attr in ("module", "_orig_mod"):
                return base
            return BOOL if attr == "training" else UNKNOWN
        if kind == "optimizer" and attr == "param_groups":
            return sequence(Dict(entries={"params": calls.PARAMETERS, "lr": NUMBER}))
        if kind == "distribution":
            return tensor(base.device) if attr in table.DISTRIBUTION_TENSORS else UNKNOWN
        if kind == "ndarray":
            return SIZE if attr == "shape" else NDARRAY if attr == "T" else UNKNOWN
        if kind == "tuple" and base.entries is not None:  # one of torch.return_types
            return base.entries.get(attr, UNKNOWN)
        if attr in ("loss", "logits") and (kind in ("unknown", "instance") or base.grad):
            # The fields of a model's output object.
            return tensor(certainty=LIKELY, grad=True, scalar=attr == "loss")
        if calls.DEVICE_NAME.search(attr):
            return DEVICE
        if attr == "shape" and kind == "unknown":
            return Size(LIKELY, element=EXTENT)
        if attr in ("accelerator", "fabric") and kind in ("unknown", "instance"):
            return Accelerator(LIKELY)
        return UNKNOWN

    def subscript(self, node: ast.Subscript) -> Value:
        base = self.expr(node.value)
        if base.kind == "batch" and not base.from_loader:
            base = self.before_loop(node) or base
        kind = base.kind
        if kind == "batch" and isinstance(node.slice, ast.Slice):
            return base  # `batch[1:]`: some of what the batch is made of, or of its rows
        if base.kind == "batch" and base.entries and isinstance(key := self.key(node.slice), str):
            return calls.batch_entry(base, key)
        if base.kind in ("tensor", "batch"):
            part = calls.batch_tensor(base) if base.kind == "batch" else base
            # What is not as the loader gave it, and has rows and columns, is a tensor.
            apart = not base.from_loader and "ndarray" not in base.other_kinds
            if apart and (has_slice(node.slice) or self.is_row(node, base)):
                part = replace(part, certainty=PROVEN, other_kinds=frozenset())
            return replace(part, scalar=False, made_by=None)
        index = self.index(node, base)
        if kind in ("tuple", "list") and base.items is not None and isinstance(index, int):
            return base.items[index] if -len(base.items) <= index < len(base.items) else UNKNOWN
        if kind == "list" and base.element is not None:
            return base if isinstance(node.slice, ast.Slice) else base.element
        if kind == "tuple":
            return base if isinstance(node.slice, ast.Slice) else self.element(base, None)
        if kind == "dict":
            if base.entries is not None and isinstance(index, str):
                return base.entries.get(index, base.element or UNKNOWN)
            return calls.held(base)
        if kind == "size":
            return SIZE if isinstance(node.slice, ast.Slice) else EXTENT
        if kind == "module":
            if base.entries is not None and isinstance(index, str):
                return base.entries.get(index, ModuleValue(LIKELY))
            if base.items is not None and isinstance(index, int) and -len(base.items) <= index < len(base.items):
                return base.items[index]
            return base if isinstance(node.slice, ast.Slice) else base.element or ModuleValue(LIKELY)
        if kind == "ndarray":
            return NDARRAY if isinstance(node.slice, ast.Slice) or has_slice(node.slice) else ARRAY_OR_NUMBER
        if kind == "str":
            return STR
        return self.moved_part(base, node.slice)

    def moved_part(self, base: Value, index: ast.expr | None) -> Value:
        """A part of something of unknown kind, which is where that was moved: what has names holds tensors under them."""
        if base.kind != "unknown" or base.device != "accelerator":
            return UNKNOWN
        named = index is not None and isinstance(self.expr(index).const, str)
        return tensor("accelerator", certainty=LIKELY) if named else Unknown(device="accelerator")

    def is_row(self, node: ast.Subscript, base: Value) -> bool:
        """`lengths[i]` of what was sent to the device: neither a mapping nor what a model gives."""
        sent = base.kind == "tensor" and base.device == "accelerator" and not (base.grad or base.other_kinds)
        return sent and self.expr(node.slice).kind == "number"

    def index(self, node: ast.Subscript, base: Value) -> object:
        """The constant that indexes a container whose parts are known one by one."""
        return self.key(node.slice) if base.items is not None or base.entries is not None else None

    def key(self, index: ast.expr) -> object:
        """The constant that is an index; for a text with gaps, `f"loss_{name}"`, that with the gaps."""
        if isinstance(index, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in index.values]
            return "".join(map(str, parts)) if parts != ["{}"] else None
        return self.expr(index).const

    def binop(self, node: ast.BinOp) -> Value:
        return operations.binary(self.expr(node.left), self.expr(node.right), node.op)

    def unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return BOOL
        value = self.expr(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value.const, int | float):
            return constant(-value.const)
        return value.without_const()

    def boolop(self, node: ast.BoolOp) -> Value:
        value = self.expr(node.values[0])
        for other in node.values[1:]:
            both = value, self.expr(other)
            value = join(*both)
            if value.kind == "number" and any(v.kind == "number" and v.needs_accelerator for v in both):
                value = replace(value, needs_accelerator=True)
        return value

    def compare(self, node: ast.Compare) -> Value:
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return BOOL
        values = [self.expr(node.left), *map(self.expr, node.comparators)]
        if isinstance(node.left, ast.Attribute) and node.left.attr == "type" and isinstance(node.ops[0], ast.Eq):
            # `device.type == "cuda"` holds where there is one.
            return ON_ACCELERATOR if values[1].const in ACCELERATORS else BOOL
        tensors = [v for v in values if v.kind == "tensor"]
        others = [v for v in values if v.kind != "tensor"]
        if tensors and not any(v.kind in ("none", "str") for v in others):
            certainty = max(v.certainty for v in tensors)
            scalar = all(v.scalar for v in tensors) and all(v.kind == "number" for v in others)
            return Tensor(certainty, device=calls.mixed(*values), boolean=True, scalar=scalar)
        if any(v.kind == "ndarray" for v in values):
            return NDARRAY
        if self.asked_as_tensor(node):
            return Tensor(LIKELY, device=calls.mixed(*values), boolean=True)
        return BOOL

    def asked_as_tensor(self, node: ast.Compare) -> bool:
        """`(x >= y).float()`: neither a bool of Python nor an array of them has such a method."""
        around = self.function.flow.parents.get(node)
        if not isinstance(around, ast.Attribute):
            return False
        if around.attr != "nonzero":
            return around.attr in _OF_COMPARED
        call = self.function.flow.parents.get(around)
        return isinstance(call, ast.Call) and any(given.arg == "as_tuple" for given in call.keywords)

    def ifexp(self, node: ast.IfExp) -> Value:
        if _is_scripting(node.test):
            return self.expr(node.orelse)
        holds = fixed_options.truth(self.function.module, node.test)
        if holds is not None:
            return self.expr(node.body if holds else node.orelse)
        return join(self.expr(node.body), self.expr(node.orelse))

    def named_expr(self, node: ast.NamedExpr) -> Value:
        return self.expr(node.value)

    def tuple(self, node: ast.Tuple) -> Value:
        items = tuple(self.expr(e) for e in node.elts)
        if any(isinstance(e, ast.Starred) for e in node.elts):
            return Tuple(element=functools.reduce(join, items))
        return Tuple(items=items)

    def list(self, node: ast.List | ast.Set) -> Value:
        items = [self.expr(e) for e in node.elts]
        if not items:
            return LIST
        each = items[0]
        for item in items[1:]:
            each = join(each, item)
        known = tuple(items) if not any(isinstance(e, ast.Starred) for e in node.elts) and len(items) <= 8 else None
        return List(element=each, items=known, made_by=node)

    def dict(self, node: ast.Dict) -> Value:
        keys: dict[str, Value] = {}
        elem: Value | None = None
        for key, value_node in zip(node.keys, node.values, strict=True):
            value = self.expr(value_node)
            if key is None:
                keys.update(value.entries or {})
                continue
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                keys[key.value] = value
            elem = value if elem is None else join(elem, value)
        return Dict(entries=keys, element=elem, made_by=node)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        return List(element=self.expr(node.elt), made_by=node)

    def dict_comprehension(self, node: ast.DictComp) -> Value:
        return Dict(element=self.expr(node.value))

    def lambda_(self, node: ast.Lambda) -> Value:
        return FunctionValue(LIKELY, made_by=node, made_in=self.function.module)

    def starred(self, node: ast.Starred) -> Value:
        return self.element(self.expr(node.value), None)

    def awaited(self, node: ast.Await) -> Value:
        return self.expr(node.value)

    # Calls

    def arguments(self, node: ast.Call) -> Arguments:
        return Arguments.of(node, self.expr)

    def call(self, node: ast.Call) -> Value:
        value = self.called(node)
        if value.proven:
            return value
        if not value and _encodes(node):
            return _ENCODED
        return self.told_to_pin(node) or value

    def called(self, node: ast.Call) -> Value:
        function = node.func
        name = self.dotted(function)
        if name is not None:
            return self.by_name(name, node, self.arguments(node))
        if isinstance(function, ast.Attribute):
            return self.method(self.expr(function.value), function, node, self.arguments(node))
        return self.of_value(self.expr(function), node, self.arguments(node), function)

    def given(self, function: Function, node: ast.Call, args: Arguments, owner: Class | None = None) -> Value:
        """What calling a function gives: a generator that hands on what it iterates over gives the elements of that."""
        if function.handed_on is not None:
            passed = function.argument(node, function.handed_on)
            whole = self.expr(passed) if passed is not None else UNKNOWN
            if whole.kind == "loader":
                return whole
        return self.given_by(function, args, owner)

    def of_lambda(self, function: ast.Lambda, args: Arguments) -> Value:
        """What a lambda gives that hands on what it is given, `lambda x: x`, or iterates over it, `lambda x: tqdm(x)`."""
        parameters, body = function.args.args, function.body
        if len(parameters) != 1 or len(args.positional) != 1:
            return UNKNOWN
        if isinstance(body, ast.Call) and body.args and names.last(body.func) in table.ITERATION_WRAPPERS:
            body = body.args[0]
        return args.first if isinstance(body, ast.Name) and body.id == parameters[0].arg else UNKNOWN

    def by_name(self, name: str, node: ast.Call, args: Arguments) -> Value:
        definition = self.definition(name)
        if isinstance(definition, Function):
            owner = self.definition(name.rpartition(".")[0]) if definition.cls is not None else None
            return self.given(definition, node, args, owner if isinstance(owner, Class) else None)
        if isinstance(definition, Class):
            return self.made(definition, node, args)
        if name in table.PASS_THROUGH:
            given = args.first
            if name == "torch.compile":
                return calls.compiled(given)
            return replace(given, certainty=max(given.certainty, LIKELY)) if given else ModuleValue(LIKELY)
        root = name.partition(".")[0]
        if name == "torch.jit.annotate" and node.args:
            return promised(self, node.args[0])
        if name == "torch.utils.checkpoint.checkpoint" and node.args:
            return self.of_value(args.first, node, args, node.args[0]) or LIKELY_TENSOR
        if name.startswith("torch.autograd") and name.endswith(".Variable"):
            return args.first if args.first.kind == "tensor" else TENSOR  # a tensor, since torch 0.4
        if root == "torch":
            value = calls.torch_call(name, node, args)
            if value.device == "cpu" and self.sets_device and calls.hangs_on_default(name, args):
                value = replace(value, device="")
            value = self.pinned_by_option(value, node) if value.kind == "loader" else value
            return replace(value, made_in=self.function.module) if value.made_by is not None else value
        if name in table.PINNING_LOADERS:
            return self.loader_of(None, name, node, args)
        if name in table.LIBRARY_LOADERS:
            return calls.made_loader(Loader(class_name=name, made_by=node, made_in=self.function.module), None)
        if root == "numpy":
            return calls.numpy_call(name, args)
        last = name.rpartition(".")[2]
        if name in table.ITERATION_WRAPPERS or last in ("tqdm", "trange"):
            return self.iteration(last, args)
        if root in ("accelerate", "lightning", "lightning_fabric", "lightning_utilities") and last in (
            "Accelerator",
            "Fabric",
        ):
            return Accelerator(class_name=name)
        if last == "from_pretrained":
            return operations.pretrained(name)
        if "." not in name:
            return self.builtin(name, node, args)
        if name.startswith(("time.", "os.", "math.", "random.", "sys.")):
            return NUMBER if not name.startswith(("os.", "sys.")) else UNKNOWN
        if root in (
            "torchvision",
            "timm",
            "transformers",
            "segmentation_models_pytorch",
            "monai",
            "torchaudio",
            "open_clip",
            "clip",
            "torch_geometric",
            "torch_scatter",
            "dgl",
        ):
            return self.library(name, node, args)
        if name in ("functools.partial",):
            return args.first
        if name in ("collections.namedtuple", "typing.NamedTuple"):
            return operations.named_tuple_class(node)
        if name in _OPTION_PARSERS and args.first.class_ is not None:
            return self.instance(args.first.class_, node)
        if root in ("einops",):
            return tensor(args.first.device, grad=args.first.grad) if args.first.kind == "tensor" else UNKNOWN
        bound = self.named(name)  # what another file of the project binds the name to
        return self.of_value(bound, node, args, node.func) if bound.kind in ("class", "function", "module") else UNKNOWN

    def given_by(self, function: Function, args: Arguments, owner: Class | None = None) -> Value:
        """What a call of the project's function gives: where its paths disagree, those that the call's flags lead to.

        A class method of a base class, called on `owner`, makes an object of that.
        """
        value = self.world.returns(function)
        given = () if value else choice(function, args)
        value = self.world.returns(function, given) if given else value
        if not (value and all(value.items or ())) and (tensors := self.tensors_given(function, args)):
            return self.world.returns_of(function, tensors) or value
        base = function.cls if "classmethod" in function.decorator_names else None
        if base is not None and value.class_ is base and owner not in (None, base) and value.kind in _OBJECTS:
            assert owner is not None
            return replace(self.instance(owner), certainty=value.certainty, other_kinds=value.other_kinds)
        return value

    def tensors_given(self, function: Function, args: Arguments) -> Given:
        """The parameters of a short function for which a call gives tensors; none where it is not known which ones."""
        if args.open or not function.bindings.returned or function.last_line - function.first_line > SHORT:
            return ()
        found = []
        for at, parameter in enumerate(function.parameters):
            passed = args.get(at - function.is_method, parameter.arg)
            if passed is not None and passed.kind == "tensor" and passed.proven and not passed.from_loader:
                found.append((parameter.arg, passed.device))
        return tuple(found)

    def library(self, name: str, node: ast.Call, args: Arguments) -> Value:
        """What functions of well-known libraries give: models, and what is read from files, which is on the host."""
        last = name.rpartition(".")[2]
        if name in _READ_FROM_FILES:
            return _READ_FROM_FILES[name]
        if name.startswith("torchaudio.functional.") and args.first.kind == "tensor":
            return tensor(args.first.device)
        if name in table.TENSORS_OF_GRAPHS:
            return tensor(calls.mixed(*args.positional, *args.keywords.values()) or args.first.device)
        if name in ("torch_scatter.scatter_max", "torch_scatter.scatter_min"):
            return Tuple(items=(tensor(args.first.device), replace(tensor(args.first.device), integer=True)))
        if name == "torch_geometric.utils.to_dense_batch":
            return Tuple(items=(tensor(args.first.device), replace(tensor(args.first.device), boolean=True)))
        if name.startswith(("torch_geometric.nn.", "dgl.nn.")):
            return (
                ModuleValue(class_name=name, made_by=node, made_in=self.function.module)
                if last[:1].isupper()
                else UNKNOWN
            )
        if last in ("create_model", "get_model") or ".models." in name:
            return ModuleValue(class_name=name, made_by=node, made_in=self.function.module)
        if ".datasets." in name:
            return Dataset(class_name=name)
        if name.startswith("transformers.") and last.startswith("get_") and last.endswith("schedule"):
            return Scheduler()
        return UNKNOWN

    def iteration(self, last: str, args: Arguments) -> Value:
        given = args.first
        if last == "list" and not len(args) and not args.open:
            return LIST
        if last in ("trange", "prange"):
            return sequence(INTEGER)
        if given.kind in ("loader", "list", "tuple", "batch"):
            return given
        if given.kind in ("tensor", "size", "ndarray", "dict", "module"):
            return sequence(self.element(given, None))
        return given

    def builtin(self, name: str, node: ast.Call, args: Arguments) -> Value:
        first = args.first
        if name in ("len", "id", "hash", "ord"):
            return INTEGER
        if name in ("float", "complex", "round", "abs", "pow", "divmod"):
            if name in ("abs", "pow") and first.kind in ("tensor", "ndarray"):
                return first
            return NUMBER
        if name == "int":
            return INTEGER
        if name in ("bool", "isinstance", "hasattr", "callable", "issubclass", "any", "all"):
            return BOOL
        if name in ("str", "repr", "format", "chr", "hex", "input"):
            return STR
        if name in ("range",):
            return sequence(INTEGER)
        if name == "enumerate":
            return sequence(Tuple(items=(INTEGER, self.element(first, node.args[0] if node.args else None))))
        if name == "zip":
            if node.args and isinstance(node.args[0], ast.Starred):
                return self.transposed(self.expr(node.args[0].value)) if len(node.args) == 1 else UNKNOWN
            items = tuple(self.element(v, n) for v, n in zip(args.positional, node.args, strict=False))
            return sequence(Tuple(items=items))
        if name in ("set", "frozenset"):
            return sequence(self.element(first, None))
        if name == "filter" and len(args.positional) == 2:
            return sequence(self.element(args.positional[1], None))
        if name == "map" and len(node.args) == 2 and isinstance(node.args[0], ast.Lambda):
            return self.mapped(node.args[0], self.element(args.positional[1], node.args[1]))
        if name == "next":
            return self.element(first, node.args[0] if node.args else None)
        if name in ("sum", "max", "min"):
            return self.reduced(name, args)
        if name == "dict":
            return Dict(entries=dict(args.keywords), element=None, made_by=node)
        if name == "getattr" and len(args.positional) >= 2 and isinstance(args.positional[1].const, str):
            return args.positional[2] if len(args.positional) > 2 and not first else UNKNOWN
        if name == "slice":
            return Unknown(PROVEN)
        if name == "super":
            return UNKNOWN
        if name == "print":
            return NONE
        return UNKNOWN

    def mapped(self, function: ast.Lambda, each: Value) -> Value:
        """`map(lambda x: x.to(device), batch)` moves each part of a batch."""
        body, parameters = function.body, function.args.args
        if (
            not isinstance(body, ast.Call)
            or not isinstance(body.func, ast.Attribute)
            or body.func.attr not in calls.MOVES
        ):
            return UNKNOWN
        moved = body.func.value
        if each.kind != "tensor" or [p.arg for p in parameters] != [moved.id if isinstance(moved, ast.Name) else ""]:
            return UNKNOWN
        return sequence(calls.move(each, body.func.attr, self.arguments(body)))

    def transposed(self, value: Value) -> Value:
        """`zip(*x.topk(5))` gives pairs of elements, `zip(*pairs)` all the first ones and all the second ones."""
        if value.kind == "tuple" and value.items is not None:
            return sequence(Tuple(items=tuple(self.element(item, None) for item in value.items)))
        if value.kind == "list" and value.element is not None and value.element.items is not None:
            return Tuple(items=tuple(sequence(item) for item in value.element.items))
        return UNKNOWN

    def reduced(self, name: str, args: Arguments) -> Value:
        if len(args.positional) == 1 or name == "sum":
            elem = self.element(args.first, None)
            return calls.calculated(elem) if elem else UNKNOWN
        value = args.first
        for other in args.positional[1:]:
            value = join(value, other)
        return value.without_const() if value else UNKNOWN

    def pinned_by_option(self, loader: Loader, node: ast.Call) -> Loader:
        """`pin_memory=args.pin_memory`, where the option is on unless somebody turns it off."""
        given = next((keyword.value for keyword in node.keywords if keyword.arg == "pin_memory"), None)
        if loader.pinned is not None or not isinstance(given, ast.Attribute) or self.expr(given):
            return loader
        default = argparse_defaults(self.function.module).get(given.attr)
        return calls.made_loader(loader, True) if default is True else loader

    def told_to_pin(self, node: ast.Call) -> Loader | None:
        """What `create_loader(data, pin_memory=args.pin_mem)` gives, whoever defines it; what pins may stand in a dictionary."""
        if not names.last(node.func).lower().endswith("loader"):
            return None
        for keyword in node.keywords:
            if keyword.arg == "pin_memory":
                return calls.likely_loader(node)
            if keyword.arg is None:
                options = self.expr(keyword.value)
                if "pin_memory" in (options.entries or ()) and options.made_by is not None:
                    return calls.likely_loader(options.made_by)
        return None

    def loader_of(self, klass: Class | None, name: str, node: ast.Call, args: Arguments) -> Loader:
        """A loader of a library or of the project, which hands on `pin_memory` by its name."""
        told = args.keywords.get("pin_memory")
        own = klass is None and not args.open
        pinned = (
            told.const if told is not None and isinstance(told.const, bool) else False if own and told is None else None
        )
        loader = Loader(class_name=name, made_by=node, made_in=self.function.module)
        return self.pinned_by_option(calls.made_loader(loader, pinned), node)

    def made(self, klass: Class, node: ast.Call, args: Arguments) -> Value:
        """An object of a class of the project, which may be a loader."""
        if self.world.is_loader(klass):
            return self.loader_of(klass, klass.full_name, node, args)
        return self.instance(klass, node)

    def instance(self, klass: Class, node: ast.Call | None = None) -> Value:
        kind = ModuleValue if self.world.is_module(klass) else Instance
        made_in = self.function.module if node is not None else None
        return kind(class_name=klass.full_name, class_=klass, made_by=node, made_in=made_in)

    def method(self, base: Value, function: ast.Attribute, node: ast.Call, args: Arguments) -> Value:
        attr = function.attr
        kind = base.kind
        if attr in ("split", "rsplit") and args.first.kind == "str":
            return sequence(STR)  # whatever it seemed to be: tensors are split by numbers
        if base.kind == "tensor":
            if not base.proven and "unknown" in base.other_kinds and shows_tensor(attr, node):
                # What has a method of tensors alone is one, on the paths that come here.
                base = replace(base, certainty=PROVEN, other_kinds=base.other_kinds - {"unknown"})
            return calls.tensor_method(base, attr, node, args)
        if base.kind == "batch":
            return operations.batch_method(base, attr, args)
        if base.kind == "module":
            value = calls.module_method(base, attr, node, args)
            if attr in ("items", "values") and base.entries is not None:
                each = base.element or ModuleValue(LIKELY)
                return sequence(each if attr == "values" else Tuple(items=(STR, each)))
            if value is not None and not (base.class_ and self.world.method(base.class_, attr)):
                return value
            if attr == "forward":
                return self.of_value(base, node, args, function)
        binding = self.reach.get(function)
        callee = self.bound(binding) if binding is not None else self.attribute_of(base, function)
        if callee.kind == "function" and callee.function is None and base.class_ is None and base.classes:
            return functools.reduce(join, [self.method(one, function, node, args) for one in _each(base)])
        if callee.kind in ("function", "module", "class") or (callee.kind == "name" and callee.choices):
            return self.of_value(callee, node, args, function)
        if kind == "accelerator":
            return operations.accelerator_method(attr, args)
        if kind == "distribution":
            return tensor(base.device, grad=True) if attr in table.DISTRIBUTION_TENSORS else UNKNOWN
        if kind == "dict" and not base.proven and attr in calls.MOVES:
            return self.unknown_method(UNKNOWN, attr, callee, node, args)  # no dictionary, but something like one
        if kind in ("dict", "list", "tuple", "str"):
            return operations.container_method(base, attr, args)
        if kind == "ndarray":
            one = attr in ("item", "tolist") or (attr in calls.NUMPY_REDUCES and not len(args) and not args.open)
            return NUMBER if one else NDARRAY
        if kind == "scaler" and attr == "scale":
            return args.first if args.first.kind == "tensor" else LIKELY_TENSOR
        if kind == "loader" and attr in ("next", "__next__"):
            return self.element(base, None)
        if kind in ("loader", "optimizer", "scheduler", "scaler"):
            return UNKNOWN
        if self.of_distribution(base, attr):
            return tensor(base.device, grad=True)
        if base.kind == "module" and not callee and base.of_any_class:
            methods = [method for method in self.world.of_modules(attr) if not method.is_abstract]
            if methods and (value := functools.reduce(join, map(self.world.returns, methods))):
                return value
        return self.unknown_method(base, attr, callee, node, args)

    def of_distribution(self, base: Value, attr: str) -> bool:
        """Whether something is what the objects of a project's distribution have of torch's: `dist.log_prob(action)`."""
        known = base.kind == "instance" and attr in table.DISTRIBUTION_TENSORS
        return known and base.class_ is not None and self.world.is_distribution(base.class_)

    def unknown_method(self, base: Value, attr: str, callee: Value, node: ast.Call, args: Arguments) -> Value:
        if attr in ("detach", "unsqueeze", "masked_fill", "log_softmax") and len(args) <= 2 and not base:
            return calls.tensor_method(tensor(base.device, grad=True), attr, node, args)
        if not base and len(args) == _OF_DISTRIBUTIONS.get(attr):
            return tensor(grad=True, certainty=LIKELY)
        if attr in ("view", "long") and not base and shows_tensor(attr, node):
            return calls.tensor_method(tensor(base.device), attr, node, args)
        if attr == "item" and not len(args):
            return NUMBER
        if attr == "astype" and not base:
            return NDARRAY
        if attr in ("item", "numpy", "tolist", "size", "dim", "numel"):
            return calls.tensor_method(LIKELY_TENSOR, attr, node, args)
        if attr in ("to", "cuda") and not base and "non_blocking" in args.keywords:
            return calls.tensor_method(LIKELY_TENSOR, attr, node, args)  # nobody copies a model so
        if attr in ("to", "cuda", "cpu") and not base:
            key = key_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
            if key is not None and key in self.bindings.sliced:
                # What is moved and has rows and columns is a tensor.
                return calls.move(TENSOR, attr, args)
            return Unknown(device=calls.move(LIKELY_TENSOR, attr, args).device)
        if calls.MODEL_NAME.search(attr):
            return calls.called_by_name(attr)
        if calls.is_loss(attr, args):
            return calls.likely_module_result()
        if attr == "setup_dataloaders" or (attr == "prepare" and len(args.positional) > 1):
            return operations.accelerator_method(attr, args)
        if attr in _CASTS and not base and base.device:
            return base  # a tensor or a module, which stays where it is
        if attr in _OF_MOVED and not base and base.device and not callee:
            return calls.tensor_method(tensor(base.device), attr, node, args)
        if attr == "state_dict":
            return Dict(LIKELY)
        if attr == "parameters" and not len(args):
            return calls.PARAMETERS
        return UNKNOWN

    def of_value(self, callee: Value, node: ast.Call, args: Arguments, function: ast.expr) -> Value:
        """What calling a value gives: a module's forward, a function's result, an instance of a class."""
        if callee.kind in ("function", "name") and callee.choices:
            return functools.reduce(join, [self.of_value(one, node, args, function) for one in callee.choices])
        if isinstance(callee.made_by, ast.Lambda):
            return self.of_lambda(callee.made_by, args)
        if callee.kind == "class" and callee.entries is not None:
            return operations.named_tuple(list(callee.entries), args)
        if callee.kind == "function":
            if callee.function is None:
                return UNKNOWN
            method = callee.function.cls is not None and isinstance(function, ast.Attribute)
            owner = self.expr(function.value).class_ if method and isinstance(function, ast.Attribute) else None
            return self.given(callee.function, node, args, owner)
        if callee.kind == "class" and (callee.class_ is not None or callee.classes):
            classes = (callee.class_,) if callee.class_ is not None else callee.classes
            return functools.reduce(join, [self.made(klass, node, args) for klass in classes])
        if callee.kind == "module":
            if callee.class_ is None and callee.classes:
                return functools.reduce(join, [self.of_value(one, node, args, function) for one in _each(callee)])
            if callee.class_ is not None:
                forward = self.world.method(callee.class_, "forward")
                if forward is not None:
                    value = self.world.returns(forward)
                    if value.kind == "tensor":
                        return replace(value, device=callee.device or value.device, grad=True)
                    if value.kind in ("tuple", "dict"):
                        return operations.with_grad(value, callee.device)
                    if value:
                        return value
            if callee.class_name == "torch.nn.Sequential" and callee.items:
                last = callee.items[-1]
                if last.kind == "module" and callee.device:
                    last = replace(last, device=callee.device)
                return self.of_value(last, node, args, function)
            if callee.class_ is None and not callee.class_name.startswith("torch.") and callee.class_name:
                # A library's model: a tensor, or an output object whose fields are tensors.
                return Tensor(LIKELY, device=callee.device, grad=True)
            return calls.module_result(callee)
        if callee.kind == "name":
            return self.by_name(callee.class_name, node, args)
        # `models[0](x)`, `self.losses[phase](outputs, targets)`: one of several, which have the name together.
        several = isinstance(function, ast.Subscript)
        name = (names.chain(function.value if isinstance(function, ast.Subscript) else function) or [""])[-1]
        if not callee and calls.MODEL_NAME.search(name.removesuffix("s") if several else name):
            return calls.called_by_name(name)
        if not callee.proven and calls.is_loss(name, args):
            return calls.likely_module_result()
        return UNKNOWN


def _is_number(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _each(value: Value) -> list[Value]:
    """An object of one of several classes, as one of each."""
    return [replace(value, class_=klass, class_name=klass.full_name, classes=()) for klass in value.classes]


def _encodes(call: ast.Call) -> bool:
    """Whether a tokenizer or processor of transformers is called for tensors, by what it alone is given."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = given.get("return_tensors")
    return isinstance(kind, ast.Constant) and kind.value == "pt" and "device" not in given


def _starred(node: ast.Tuple | ast.List) -> bool:
    return any(isinstance(element, ast.Starred) for element in node.elts)


def _sends(binding: Binding) -> bool:
    """Whether a statement moves what it binds, wherever to: `batch[key] = batch[key].to(args.device)`."""
    return isinstance(binding, Assigned) and _is_moved(binding.node)


def _is_moved(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and names.last(node.func) in ("to", "cuda")


def _is_scripting(test: ast.expr) -> bool:
    """Whether a condition holds in torch.jit only: `torch.jit.is_tracing() and ...`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_is_scripting, test.values))
    return isinstance(test, ast.Call) and (names.chain(test.func) or [""])[-1] in ("is_tracing", "is_scripting")


# What makes an object of a dataclass from the command line.
_OPTION_PARSERS = frozenset(
    ("tyro.cli", "simple_parsing.parse", "jsonargparse.CLI", "jsonargparse.auto_cli", "draccus.parse", "pyrallis.parse")
)

_CASTS = frozenset(("float", "half", "double", "bfloat16", "long", "int", "bool", "contiguous"))
_OF_MOVED = (table.TENSOR_ONLY | frozenset("view reshape squeeze flatten mean sum argmax max min norm t".split())) - {
    "contiguous",
    "detach",
}
"""Methods that show that what was moved to a device is a tensor: neither a module nor a batch of a library has them."""
_OF_COMPARED = _CASTS | table.TENSOR_ONLY | {"byte", "cpu", "cuda", "to", "type"}
"""Methods of tensors that neither a bool of Python nor an array of them has."""
_PROPERTIES = frozenset(("property", "cached_property"))
_OF_DISTRIBUTIONS = {"log_prob": 1, "entropy": 0, "rsample": 0}
"""Methods that torch's distributions and those made like them have, with how many arguments they are given."""
_ON_HOST = tensor("cpu")
_ENCODED = Batch(LIKELY, device="cpu")
"""The tensors that a tokenizer makes of words, by name."""
_READ_FROM_FILES: dict[str, Value] = {
    "torchaudio.load": Tuple(items=(_ON_HOST, INTEGER)),
    "torchvision.io.read_image": _ON_HOST,
    "torchvision.transforms.functional.pil_to_tensor": _ON_HOST,
    "torchvision.transforms.functional.to_tensor": _ON_HOST,
}
_OBJECTS = frozenset(("instance", "module"))

_METHODS: dict[type[ast.expr], Reader] = {
    ast.Constant: Evaluator.constant,
    ast.JoinedStr: Evaluator.joined,
    ast.Name: Evaluator.name,
    ast.Attribute: Evaluator.attribute,
    ast.Subscript: Evaluator.subscript,
    ast.BinOp: Evaluator.binop,
    ast.UnaryOp: Evaluator.unary,
    ast.BoolOp: Evaluator.boolop,
    ast.Compare: Evaluator.compare,
    ast.IfExp: Evaluator.ifexp,
    ast.NamedExpr: Evaluator.named_expr,
    ast.Tuple: Evaluator.tuple,
    ast.List: Evaluator.list,
    ast.Set: Evaluator.list,
    ast.Dict: Evaluator.dict,
    ast.ListComp: Evaluator.comprehension,
    ast.SetComp: Evaluator.comprehension,
    ast.GeneratorExp: Evaluator.comprehension,
    ast.DictComp: Evaluator.dict_comprehension,
    ast.Lambda: Evaluator.lambda_,
    ast.Starred: Evaluator.starred,
    ast.Await: Evaluator.awaited,
    ast.Call: Evaluator.call,
}

_BINDINGS: dict[type[Binding], Reader] = {
    Assigned: Evaluator.assigned,
    Declared: Evaluator.declared,
    Augmented: Evaluator.augmented,
    Part: Evaluator.part,
    Starred: Evaluator.starred_part,
    Iterated: Evaluator.iterated,
    Narrowed: Evaluator.narrowed,
    Changed: Evaluator.changed,
    Stored: Evaluator.stored,
    Joined: Evaluator.joined_paths,
    Defined: Evaluator.defined,
    Before: Evaluator.before,
    Parameter: Evaluator.lambda_parameter,
    Rest: Evaluator.keyword_rest,
}
