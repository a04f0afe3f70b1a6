"""The values of every expression of one function, from one pass over its statements in the order they run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from . import calls, names
from . import torch_table as table
from .calls import Arguments
from .module import Class, Function, Module, key_of
from .values import (
    BOOL,
    CONTEXT,
    CUDA,
    DEVICE,
    INTEGER,
    LIKELY_TENSOR,
    NDARRAY,
    NONE,
    NUMBER,
    SIZE,
    STR,
    UNKNOWN,
    Device,
    Value,
    constant,
    device_of_string,
    join,
    sequence,
    tensor,
)

Env = dict[str, Value]
Reader = Callable[..., Value]
Loops = (ast.For, ast.AsyncFor)


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

    def attribute(self, klass: Class, name: str) -> Value:
        """What the methods of a class, or of its bases, assign to `self.name`."""

    def method(self, klass: Class, name: str) -> Function | None:
        """A method of a class or of its bases in the project."""

    def returns(self, function: Function) -> Value:
        """What a call of the function gives."""

    def is_module(self, klass: Class) -> bool:
        """Whether instances are nn.Modules."""


class Evaluation:
    """The values of a function's expressions, of its names at the end, and of what it returns."""

    def __init__(self) -> None:
        self.values: dict[ast.expr, Value] = {}
        self.env: Env = {}
        self.returned: list[Value] = []
        self.yielded: list[Value] = []

    def value(self, node: ast.expr) -> Value:
        return self.values.get(node, UNKNOWN)


def evaluate(function: Function, world: World, mask: int) -> Evaluation:
    """The values of the statements of `mask` (a closure of the function's `slices`)."""
    return _Evaluator(function, world, mask).run()


class _Evaluator:
    def __init__(self, function: Function, world: World, mask: int) -> None:
        self.function = function
        self.world = world
        slices = function.slices
        self.mask = mask
        self.index = slices.index
        self.active = slices.active(mask)
        self.leaving = slices.leaving
        self.result = Evaluation()
        self.values = self.result.values
        self.env: Env = {}
        self.dead = False
        """Whether the statement being read can't be reached: the block returned, raised, broke or continued."""
        self.looping = False
        self.holders: set[str] = set()
        """Names that have attributes in the environment of their own."""
        self.evidence = function.tensor_evidence
        self.parameters = {p.arg: p for p in function.parameters}
        node = function.node
        self.rest = set()
        if not isinstance(node, ast.Module):
            self.rest = {a.arg for a in (node.args.vararg, node.args.kwarg) if a is not None}
            if node.args.kwarg is not None:
                self.env[node.args.kwarg.arg] = Value("dict", 2)

    def run(self) -> Evaluation:
        node = self.function.node
        if not isinstance(node, ast.Module):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    self.expr(default)
        self.block(node.body)
        self.result.env = self.env
        return self.result

    def canonical(self, name: str) -> str:
        return self.world.canonical(name, self.function.module)

    def definition(self, name: str) -> Function | Class | Module | None:
        return self.world.definition(name, self.function.module)

    # Statements

    def block(self, body: Iterable[ast.stmt]) -> None:
        index, active, leaving = self.index, self.active, self.leaving
        for statement in body:
            number = index[statement]
            if number not in active:
                self.dead = self.dead or number in leaving
                continue
            method = getattr(self, f"do_{statement.__class__.__name__}", None)
            if method is not None:
                method(statement)
            else:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        self.expr(child)

    def wanted(self, statement: ast.stmt) -> bool:
        """Whether the statement itself is asked for, not only one inside it."""
        return bool(self.mask >> self.index[statement] & 1)

    def do_Assign(self, node: ast.Assign) -> None:
        value = self.expr(node.value)
        for target in node.targets:
            self.bind(target, value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        value = self.expr(node.value) if node.value is not None else UNKNOWN
        if not value or value.kind == "none":
            value = self.annotated(node.annotation) or value
        if node.value is not None or isinstance(node.target, ast.Name):
            self.bind(node.target, value)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        before = self.expr(node.target)
        value = self.expr(node.value)
        result = self.binary(before, value, node.op)
        if before.is_tensor and before.device:
            result = replace(result, device=before.device)  # in place: it stays where it is
        self.bind(node.target, result)

    def do_Return(self, node: ast.Return) -> None:
        self.result.returned.append(self.expr(node.value) if node.value is not None else NONE)
        self.dead = True

    def do_Raise(self, node: ast.Raise) -> None:
        for child in (node.exc, node.cause):
            if child is not None:
                self.expr(child)
        self.dead = True

    def do_Break(self, node: ast.Break) -> None:
        self.dead = True

    do_Continue = do_Break

    def do_If(self, node: ast.If) -> None:
        if self.wanted(node):
            self.expr(node.test)
        if not any(self.index[s] in self.active for s in (*node.body, *node.orelse)) and not _narrows(node.test):
            self.dead = self.index[node] in self.leaving
            return
        before = dict(self.env)
        self.narrow(node.test, True)
        self.block(node.body)
        then, then_dead = self.env, self.dead
        self.env, self.dead = before, False
        self.narrow(node.test, False)
        self.block(node.orelse)
        self.env = self.merge(then, then_dead, self.env, self.dead)
        self.dead = then_dead and self.dead

    def narrow(self, test: ast.expr, true: bool) -> None:
        """`if isinstance(x, torch.Tensor)` and `torch.is_tensor(x)` tell what x is inside."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.narrow(test.operand, not true)
        elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if true else ast.Or):
            for value in test.values:
                self.narrow(value, true)
        elif isinstance(test, ast.Call) and test.args:
            name = self.dotted(test.func)
            key = key_of(test.args[0])
            if key is None:
                return
            is_tensor = name == "torch.is_tensor" or (
                name == "isinstance" and len(test.args) == 2 and self.dotted(test.args[1]) == "torch.Tensor"
            )
            if is_tensor:
                current = self.env.get(key) or (self.lookup(key) if key in self.parameters else UNKNOWN)
                if true and current.kind != "tensor":
                    self.env[key] = tensor()
                elif not true and current.kind in ("tensor", "unknown"):
                    # Sure to be something else, whatever the rest of the function does with it.
                    self.env[key] = Value("unknown", 2)
            elif true and name == "isinstance" and len(test.args) == 2 and _is_number(test.args[1]):
                self.env[key] = NUMBER

    @staticmethod
    def merge(a: Env, a_dead: bool, b: Env, b_dead: bool) -> Env:
        if a_dead and not b_dead:
            return b
        if b_dead and not a_dead:
            return a
        merged = dict(b)
        for key, value in a.items():
            other = b.get(key)
            # A name bound on one path only is what that path says, wherever it may be read at all.
            merged[key] = value if other is None or other is value else join(value, other)
        return merged

    def do_For(self, node: ast.For | ast.AsyncFor) -> None:
        wanted = self.wanted(node)
        iterable = self.expr(node.iter) if wanted else UNKNOWN
        before = dict(self.env)
        for _ in self.passes():
            if wanted:
                self.bind(node.target, self.element(iterable, node.iter))
            self.block(node.body)
            self.env = self.merge(before, False, self.env, False)
            self.dead = False
        self.block(node.orelse)

    do_AsyncFor = do_For

    def passes(self) -> Iterator[int]:
        """Twice for an outermost loop, so that the second pass knows what the first left; inner loops come along."""
        if self.looping:
            yield 1
            return
        self.looping = True
        yield from (1, 2)
        self.looping = False

    def do_While(self, node: ast.While) -> None:
        before = dict(self.env)
        for _ in self.passes():
            if self.wanted(node):
                self.expr(node.test)
            self.block(node.body)
            self.env = self.merge(before, False, self.env, False)
            self.dead = False
        self.block(node.orelse)

    def do_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items if self.wanted(node) else ():
            value = self.expr(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)

    do_AsyncWith = do_With

    def do_Try(self, node: ast.Try) -> None:
        before = dict(self.env)
        self.block(node.body)
        self.block(node.orelse)
        env, dead = self.env, self.dead
        for handler in node.handlers:
            self.env, self.dead = dict(before), False
            self.block(handler.body)
            env = self.merge(env, dead, self.env, self.dead)
            dead = dead and self.dead
        self.env, self.dead = env, False
        self.block(node.finalbody)
        self.dead = self.dead or dead

    do_TryStar = do_Try

    def do_Match(self, node: ast.Match) -> None:
        if self.wanted(node):
            self.expr(node.subject)
        before = self.env
        env, all_dead = dict(before), False
        for case in node.cases:
            self.env, self.dead = dict(before), False
            if case.guard is not None and self.wanted(node):
                self.expr(case.guard)
            self.block(case.body)
            env = self.merge(env, False, self.env, self.dead)
        self.env, self.dead = env, all_dead

    def do_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.expr(decorator)
        function = self.function.nested.get(node.name)
        if self.function is self.function.module.body:
            function = self.function.module.top_functions.get(node.name)
        self.env[node.name] = Value("function", 2, function=function)

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node: ast.ClassDef) -> None:
        for expression in (
            (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)) if self.wanted(node) else ()
        ):
            self.expr(expression)
        klass = next((c for c in self.function.module.classes if c.node is node), None)
        self.env[node.name] = Value("class", 2, klass=klass)
        # The statements of the body run here, in a scope of their own.
        env = self.env
        self.env = dict(env)
        self.block([s for s in node.body if not isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)])
        self.env, self.dead = env, False

    def do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            key = key_of(target)
            if key is not None:
                self.env.pop(key, None)

    # Binding

    def bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name | ast.Attribute):
            key = key_of(target)
            if key is None:
                self.expr(target.value)  # type: ignore[union-attr]
                return
            if key in self.holders:
                # What `x` held goes with its attributes.
                prefix = f"{key}."
                for stale in [k for k in self.env if k.startswith(prefix)]:
                    del self.env[stale]
            if isinstance(target, ast.Attribute):
                self.expr(target.value)
                self.holders.add(key.rpartition(".")[0])
            self.env[key] = value
            self.values[target] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self.unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, sequence(value))
        elif isinstance(target, ast.Subscript):
            self.expr(target.value)
            self.expr(target.slice)
            self.store(target, value)

    def unpack(self, targets: list[ast.expr], value: Value) -> None:
        items = value.items
        starred = any(isinstance(t, ast.Starred) for t in targets)
        if items is not None and len(items) == len(targets) and not starred:
            for target, item in zip(targets, items, strict=True):
                self.bind(target, item)
            return
        each = self.element(value, None)
        for target in targets:
            self.bind(target, each)

    def store(self, target: ast.Subscript, value: Value) -> None:
        """`d["k"] = v` adds a key to a dictionary that is known; into a list or an unknown dict it joins the elements."""
        key = key_of(target.value)
        holder = self.env.get(key) if key is not None else None
        if key is None or holder is None:
            return
        if holder.kind == "dict":
            index = target.slice
            if isinstance(index, ast.Constant) and isinstance(index.value, str):
                self.env[key] = replace(holder, keys={**(holder.keys or {}), index.value: value})
            else:
                self.env[key] = replace(holder, elem=join(holder.elem, value) if holder.elem else value)
        elif holder.kind == "list":
            self.env[key] = replace(holder, elem=join(holder.elem, value) if holder.elem else value)

    def element(self, value: Value, node: ast.expr | None) -> Value:
        """What iterating over the value gives."""
        kind = value.kind
        if kind in ("list", "size", "module", "loader") and value.elem is not None:
            return value.elem
        if kind == "loader":
            return Value(
                "batch",
                value.sure,
                device=value.device or ("accelerator" if value.managed else "cpu"),
                batch=not value.managed,
                pinned=value.pinned,
                managed=value.managed,
            )
        if kind == "batch":
            return calls.batch_tensor(value)
        if kind == "tensor":
            return replace(value, scalar=False, const=None, parameter=False, origin=None, batch=value.batch)
        if kind == "tuple" and value.items:
            each = value.items[0]
            for item in value.items[1:]:
                each = join(each, item)
            return each
        if kind == "ndarray":
            return NDARRAY
        if kind == "dict":
            return STR if value.keys is not None else UNKNOWN
        if kind == "module":
            return Value("module", 1)
        if kind == "str":
            return STR
        if kind == "instance" and value.klass is not None:
            given = self.wrapped(value, value.klass)
            if given:
                return given
        if node is not None and kind in ("unknown", "instance") and _looks_like_loader(node):
            return Value("batch", 1, batch=True)
        return UNKNOWN

    def wrapped(self, value: Value, klass: Class) -> Value:
        """What iterating over an object of the project's gives: the elements of the loader it was made of, or what it says."""
        following = self.world.method(klass, "__next__") or self.world.method(klass, "__iter__")
        if following is None:
            return UNKNOWN
        if isinstance(value.origin, ast.Call) and value.origin.args:
            inner = self.values.get(value.origin.args[0], UNKNOWN)
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
        method: Reader | None = _METHODS.get(node.__class__)
        value = method(self, node) if method is not None else self.other(node)
        self.values[node] = value
        return value

    def other(self, node: ast.expr) -> Value:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expr(child)
        return UNKNOWN

    def constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def joined(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.expr(part.value)
                if part.format_spec is not None:
                    self.expr(part.format_spec)
        first = node.values[0] if node.values else None
        text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        return Value("str", 2, device=device_of_string(text.rstrip(":")) if text else "")

    def name(self, node: ast.Name) -> Value:
        return self.lookup(node.id)

    def lookup(self, name: str) -> Value:
        value = self.env.get(name)
        if value is None:
            value = self.outer(name)
        if value.sure < 2 and name in self.evidence and value.kind in ("unknown", "tensor"):
            value = replace(value, kind="tensor", sure=2, others=value.others - {"unknown"})
        if not value and calls.DEVICE_NAME.search(name):
            return DEVICE
        return value

    def outer(self, name: str) -> Value:
        """A name that this function does not bind before: a parameter, a closure's or the module's name, an import."""
        function = self.function
        if name in self.parameters:
            value = self.parameter(name)
            self.env.setdefault(name, value)
            return value
        if name in self.rest:
            return UNKNOWN
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
                    return Value("function", 2, function=scope.nested[name])
                if any(p.arg == name for p in scope.parameters):
                    return _Evaluator(scope, self.world, 0).parameter(name)
            scope = scope.parent
        module = function.module
        if name in module.top_functions:
            return Value("function", 2, function=module.top_functions[name])
        if name in module.top_classes:
            return Value("class", 2, klass=module.top_classes[name])
        starred = self.world.resolve(function, ast.Name(name))
        return self.named(starred) if starred else UNKNOWN

    def named(self, name: str) -> Value:
        """The value of an import or builtin."""
        definition = self.definition(name)
        if isinstance(definition, Function):
            return Value("function", 2, function=definition, cls=name)
        if isinstance(definition, Class):
            return Value("class", 2, klass=definition, cls=name)
        if definition is None and "." in name:
            owner = self.definition(name.rpartition(".")[0])
            if isinstance(owner, Module) and owner is not self.function.module:
                return self.world.final(owner.body, name.rpartition(".")[2]) or UNKNOWN
        return Value("name", 2, cls=name)

    def parameter(self, name: str) -> Value:
        function, parameter = self.function, self.parameters[name]
        first = function.parameters[0].arg
        if function.is_method and name == first and function.cls is not None:
            if "classmethod" in function.decorator_names:
                return Value("class", 2, klass=function.cls)
            return self.instance(function.cls, None)
        annotated = self.annotated(parameter.annotation) if parameter.annotation is not None else UNKNOWN
        if annotated.sure >= 2 and annotated.kind in ("tensor", "number", "str", "ndarray"):
            return annotated
        passed = self.world.parameter(function, name)
        if passed:
            return passed
        if annotated:
            return annotated
        named = _by_name(name)
        if named.kind != "device" and self.takes_tensors():
            default = self.default(name)
            return LIKELY_TENSOR if default is None or default.kind == "none" else default
        return named

    def takes_tensors(self) -> bool:
        """Whether the arguments are tensors where nothing else is said: the forward of a module, a compiled function."""
        function = self.function
        if "compile" in function.decorator_names:
            return True
        return function.cls is not None and function.name == "forward" and self.world.is_module(function.cls)

    def default(self, name: str) -> Value | None:
        node = self.function.node
        assert not isinstance(node, ast.Module)
        positional = [*node.args.posonlyargs, *node.args.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = [
            # The last parameters are those with defaults.
            *zip(reversed(positional), reversed(node.args.defaults), strict=False),
            *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
        ]
        for parameter, default in pairs:
            if parameter.arg == name and default is not None:
                return self.values.get(default) or self.expr(default)
        return None

    def annotated(self, annotation: ast.expr) -> Value:
        """What an annotation promises; strings and `X | None`, `Optional[X]` are looked into."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except (SyntaxError, ValueError):
                return UNKNOWN
        if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
            sides = [self.annotated(side) for side in (annotation.left, annotation.right)]
            if any(side.kind == "none" for side in sides):
                return next((side for side in sides if side and side.kind != "none"), UNKNOWN)
            return sides[0] if sides[0].kind == sides[1].kind else UNKNOWN
        if isinstance(annotation, ast.Constant) and annotation.value is None:
            return NONE
        if isinstance(annotation, ast.Subscript):
            return self.generic(annotation)
        name = self.dotted(annotation)
        if name is None:
            return UNKNOWN
        if name in ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor"):
            return tensor()
        if name in ("int", "float", "bool", "str"):
            return {"int": INTEGER, "float": NUMBER, "bool": BOOL, "str": STR}[name]
        if name in ("torch.nn.Module", "torch.nn.Sequential", "torch.nn.ModuleList"):
            return Value("module", 2, cls=name)
        if name == "torch.utils.data.DataLoader":
            return Value("loader", 2)
        if name == "torch.device":
            return DEVICE
        if name == "torch.dtype":
            return Value("dtype", 2)
        if name.startswith("torch.optim.") and "lr_scheduler" not in name:
            return Value("optimizer", 2)
        if name.endswith(("ndarray", "DataFrame")):
            return NDARRAY
        if name.endswith((".Accelerator", ".Fabric")):
            return Value("accelerator", 2, cls=name)
        if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
            return Value("module", 2, cls=name)
        klass = self.definition(name)
        if isinstance(klass, Class):
            return self.instance(klass, None)
        return UNKNOWN

    def generic(self, node: ast.Subscript) -> Value:
        name = (names.chain(node.value) or [""])[-1]
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Optional":
            return self.annotated(inner[0])
        if name in ("List", "list", "Sequence", "Iterable", "Iterator"):
            return sequence(self.annotated(inner[0]))
        if name in ("Tuple", "tuple"):
            if isinstance(inner[-1], ast.Constant) and inner[-1].value is Ellipsis:
                return sequence(self.annotated(inner[0]))
            return Value("tuple", 2, items=tuple(self.annotated(i) for i in inner))
        if name in ("Dict", "dict", "Mapping"):
            return Value("dict", 2, elem=self.annotated(inner[-1]))
        if name in ("DataLoader",):
            return Value("loader", 2)
        # jaxtyping: Float[Tensor, "batch dim"]
        first = self.dotted(inner[0])
        return tensor() if first in ("torch.Tensor", "jaxtyping.Tensor") else UNKNOWN

    def dotted(self, node: ast.expr) -> str | None:
        """The canonical dotted name of an expression, unless a local variable stands at its root."""
        parts = names.chain(node)
        if parts is None or parts[0] in self.env:
            value = self.env.get(parts[0]) if parts else None
            if value is None or value.kind not in ("name", "class", "function") or not value.cls:
                return None
            assert parts is not None
            return self.canonical(".".join([value.cls, *parts[1:]]))
        found = self.world.resolve(self.function, node)
        if found is not None:
            return found
        if len(parts) == 1 and parts[0] in self.function.module.top_classes:
            return f"{self.function.module.name}.{parts[0]}"
        return None

    def attribute(self, node: ast.Attribute) -> Value:
        key = key_of(node)
        if key is not None and key in self.env:
            self.expr(node.value)
            return self.env[key]
        base = self.expr(node.value)
        value = self.member(base, node.attr, node)
        if value.sure < 2 and key is not None and key in self.evidence and value.kind in ("unknown", "tensor"):
            return replace(value, kind="tensor", sure=2, others=value.others - {"unknown"})
        return value

    def member(self, base: Value, attr: str, node: ast.Attribute) -> Value:
        kind = base.kind
        if kind == "name":
            return self.named(self.canonical(f"{base.cls}.{attr}"))
        if kind == "tensor":
            return _tensor_attribute(base, attr)
        if kind in ("instance", "module", "class") and base.klass is not None:
            found = self.world.attribute(base.klass, attr)
            if found:
                # A module's parts move with it.
                return (
                    replace(found, device=base.device)
                    if found.kind == "module" and base.device and not found.device
                    else found
                )
            method = self.world.method(base.klass, attr)
            if method is not None:
                return (
                    self.world.returns(method)
                    if "property" in method.decorator_names
                    else Value("function", 2, function=method)
                )
        if attr == "device":
            return CUDA if kind in ("accelerator",) else Value("device", 2, device=base.device)
        if kind == "batch":
            return calls.batch_tensor(base)
        if kind == "module":
            if base.keys is not None and attr in base.keys:
                return base.keys[attr]
            if attr in ("weight", "bias", "data"):
                return Value("tensor", 2, parameter=True, device=base.device)
            if attr in ("module", "_orig_mod"):
                return base
            return BOOL if attr == "training" else UNKNOWN
        if kind == "optimizer" and attr == "param_groups":
            return sequence(Value("dict", 2, keys={"params": calls.PARAMETERS, "lr": NUMBER}))
        if kind == "distribution":
            return tensor(base.device) if attr in table.DISTRIBUTION_TENSORS else UNKNOWN
        if kind == "ndarray":
            return SIZE if attr == "shape" else NDARRAY if attr == "T" else UNKNOWN
        if kind == "tuple" and base.items and attr in ("values", "indices"):  # torch.return_types.max
            return base.items[attr == "indices"]
        if attr in ("loss", "logits") and (kind in ("unknown", "instance") or base.grad):
            # The fields of a model's output object.
            return tensor(sure=1, grad=True, scalar=attr == "loss")
        if calls.DEVICE_NAME.search(attr):
            return DEVICE
        return UNKNOWN

    def subscript(self, node: ast.Subscript) -> Value:
        base = self.expr(node.value)
        index = self.expr(node.slice)
        kind = base.kind
        if kind == "tensor":
            return replace(base, scalar=False, const=None, origin=None)
        if kind == "batch":
            return calls.batch_tensor(base)
        if kind in ("tuple", "list") and base.items is not None and isinstance(index.const, int):
            if -len(base.items) <= index.const < len(base.items):
                return base.items[index.const]
            return UNKNOWN
        if kind == "list" and base.elem is not None:
            return base if isinstance(node.slice, ast.Slice) else base.elem
        if kind == "tuple":
            return base if isinstance(node.slice, ast.Slice) else self.element(base, None)
        if kind == "dict":
            if base.keys is not None and isinstance(index.const, str):
                return base.keys.get(index.const, base.elem or UNKNOWN)
            return base.elem or UNKNOWN
        if kind == "size":
            return SIZE if isinstance(node.slice, ast.Slice) else INTEGER
        if kind == "module":
            if base.keys is not None and isinstance(index.const, str):
                return base.keys.get(index.const, Value("module", 1))
            if (
                base.items is not None
                and isinstance(index.const, int)
                and -len(base.items) <= index.const < len(base.items)
            ):
                return base.items[index.const]
            return base if isinstance(node.slice, ast.Slice) else base.elem or Value("module", 1)
        if kind == "ndarray":
            return NDARRAY
        if kind == "str":
            return STR
        return UNKNOWN

    def slice(self, node: ast.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.expr(part)
        return UNKNOWN

    def binop(self, node: ast.BinOp) -> Value:
        return self.binary(self.expr(node.left), self.expr(node.right), node.op)

    def binary(self, left: Value, right: Value, op: ast.operator) -> Value:
        kinds = {left.kind, right.kind}
        if "str" in kinds and isinstance(op, ast.Mod | ast.Add | ast.Mult):
            return STR
        if "tensor" in kinds:
            sides = [v for v in (left, right) if v.kind == "tensor"]
            other = right if left.kind == "tensor" else left
            sure = max(v.sure for v in sides)
            return Value(
                "tensor",
                sure,
                device=calls.mixed(left, right),
                scalar=all(v.scalar for v in sides) and (len(sides) == 2 or other.kind == "number"),
                boolean=all(v.boolean for v in sides) and isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor),
                grad=left.grad or right.grad,
            )
        if "ndarray" in kinds:
            return NDARRAY
        if kinds == {"number"}:
            folded = _fold(left, right, op)
            if folded is not None:
                return folded
            return INTEGER if left.integer and right.integer and not isinstance(op, ast.Div | ast.Pow) else NUMBER
        if left.kind in ("list", "tuple") and isinstance(op, ast.Add | ast.Mult):
            if left.kind == right.kind and left.elem and right.elem:
                return sequence(join(left.elem, right.elem))
            if left.kind == "tuple" and right.kind == "tuple" and left.items is not None and right.items is not None:
                return Value("tuple", 2, items=left.items + right.items)
            return left if left.elem else right if right.kind == "list" else replace(left, items=None)
        return UNKNOWN

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return BOOL
        if isinstance(node.op, ast.USub) and isinstance(value.const, int | float):
            return constant(-value.const)
        return replace(value, const=None)

    def boolop(self, node: ast.BoolOp) -> Value:
        value = self.expr(node.values[0])
        for other in node.values[1:]:
            value = join(value, self.expr(other))
        return value

    def compare(self, node: ast.Compare) -> Value:
        values = [self.expr(node.left), *(self.expr(c) for c in node.comparators)]
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return BOOL
        tensors = [v for v in values if v.kind == "tensor"]
        others = [v for v in values if v.kind != "tensor"]
        if tensors and not any(v.kind in ("none", "str") for v in others):
            sure = max(v.sure for v in tensors)
            scalar = all(v.scalar for v in tensors) and all(v.kind == "number" for v in others)
            return Value("tensor", sure, device=calls.mixed(*values), boolean=True, scalar=scalar)
        if any(v.kind == "ndarray" for v in values):
            return NDARRAY
        return BOOL

    def ifexp(self, node: ast.IfExp) -> Value:
        self.expr(node.test)
        return join(self.expr(node.body), self.expr(node.orelse))

    def named_expr(self, node: ast.NamedExpr) -> Value:
        value = self.expr(node.value)
        self.bind(node.target, value)
        return value

    def tuple(self, node: ast.Tuple) -> Value:
        items = tuple(self.expr(e) for e in node.elts)
        if any(isinstance(e, ast.Starred) for e in node.elts):
            return Value("tuple", 2)
        return Value("tuple", 2, items=items)

    def list(self, node: ast.List | ast.Set) -> Value:
        items = [self.expr(e) for e in node.elts]
        if not items:
            return Value("list", 2)
        each = items[0]
        for item in items[1:]:
            each = join(each, item)
        known = tuple(items) if not any(isinstance(e, ast.Starred) for e in node.elts) and len(items) <= 8 else None
        return Value("list", 2, elem=each, items=known, origin=node)

    def dict(self, node: ast.Dict) -> Value:
        keys: dict[str, Value] = {}
        elem: Value | None = None
        for key, value_node in zip(node.keys, node.values, strict=True):
            value = self.expr(value_node)
            if key is None:
                keys.update(value.keys or {})
                continue
            self.expr(key)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                keys[key.value] = value
            elem = value if elem is None else join(elem, value)
        return Value("dict", 2, keys=keys, elem=elem, origin=node)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        outer = self.env
        self.env = dict(outer)
        for generator in node.generators:
            iterable = self.expr(generator.iter)
            self.bind(generator.target, self.element(iterable, generator.iter))
            for test in generator.ifs:
                self.expr(test)
        if isinstance(node, ast.DictComp):
            self.expr(node.key)
            value = self.expr(node.value)
            self.env = outer
            return Value("dict", 2, elem=value)
        value = self.expr(node.elt)
        self.env = outer
        return Value("list", 2, elem=value, origin=node)

    def lambda_(self, node: ast.Lambda) -> Value:
        outer = self.env
        self.env = dict(outer)
        for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.env[parameter.arg] = _by_name(parameter.arg)
        self.expr(node.body)
        self.env = outer
        return Value("function", 1)

    def starred(self, node: ast.Starred) -> Value:
        return self.element(self.expr(node.value), None)

    def awaited(self, node: ast.Await) -> Value:
        return self.expr(node.value)

    def yielded(self, node: ast.Yield) -> Value:
        if node.value is not None:
            self.result.yielded.append(self.expr(node.value))
        return UNKNOWN

    # Calls

    def arguments(self, node: ast.Call) -> Arguments:
        positional = []
        is_open = False
        keywords: dict[str, Value] = {}
        for argument in node.args:
            value = self.expr(argument)
            if isinstance(argument, ast.Starred):
                is_open = True
            else:
                positional.append(value)
        for keyword in node.keywords:
            value = self.expr(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif value.keys is not None:
                keywords.update({k: v for k, v in value.keys.items() if k not in keywords})
                is_open = True
            else:
                is_open = True
        return Arguments(positional, keywords, is_open)

    def call(self, node: ast.Call) -> Value:
        function = node.func
        name = self.dotted(function)
        callee = UNKNOWN
        if name is None:
            callee = self.expr(function)
        elif isinstance(function, ast.Attribute):
            self.expr(function.value)
        args = self.arguments(node)
        if name is not None:
            self.values.setdefault(function, Value("name", 2, cls=name))
            return self.by_name(name, node, args)
        if isinstance(function, ast.Attribute):
            base = self.values[function.value]
            value = self.method(base, function, callee, node, args)
        else:
            value = self.of_value(callee, node, args, function)
        return value

    def by_name(self, name: str, node: ast.Call, args: Arguments) -> Value:
        definition = self.definition(name)
        if isinstance(definition, Function):
            return self.world.returns(definition)
        if isinstance(definition, Class):
            return self.instance(definition, node)
        if name in table.PASS_THROUGH:
            given = args.first
            if name == "torch.compile":
                return replace(given, compiled=True) if given else Value("function", 1, compiled=True)
            return replace(given, sure=max(given.sure, 1)) if given else Value("module", 1)
        root = name.partition(".")[0]
        if root == "torch":
            value = calls.torch_call(name, node, args)
            return replace(value, home=self.function.module) if value.origin is not None else value
        if root == "numpy":
            return calls.numpy_call(name, args)
        last = name.rpartition(".")[2]
        if name in table.ITERATION_WRAPPERS or last in ("tqdm", "trange"):
            return self.iteration(last, args)
        if root in ("accelerate", "lightning", "lightning_fabric", "lightning_utilities") and last in (
            "Accelerator",
            "Fabric",
        ):
            return Value("accelerator", 2, cls=name)
        if last == "from_pretrained":
            return self.pretrained(name)
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
        ):
            return self.library(name, node)
        if name in ("functools.partial",):
            return args.first
        if name in _OPTION_PARSERS and args.first.klass is not None:
            return self.instance(args.first.klass, node)
        if root in ("einops",):
            return tensor(args.first.device, grad=args.first.grad) if args.first.kind == "tensor" else UNKNOWN
        return UNKNOWN

    def library(self, name: str, node: ast.Call) -> Value:
        """Constructors of well-known model libraries."""
        last = name.rpartition(".")[2]
        if last in ("create_model", "get_model") or ".models." in name:
            return Value("module", 2, cls=name, origin=node, home=self.function.module)
        if ".datasets." in name:
            return Value("dataset", 2, cls=name)
        if name.startswith("transformers.") and last.startswith("get_") and last.endswith("schedule"):
            return Value("scheduler", 2)
        return UNKNOWN

    def pretrained(self, name: str) -> Value:
        owner = name.split(".")[-2]
        if owner.endswith(table.NO_MODULE_SUFFIXES):
            return Value("scheduler", 1, cls=name) if owner.endswith("Scheduler") else UNKNOWN
        return Value("module", 2, cls=name.rpartition(".")[0])

    def iteration(self, last: str, args: Arguments) -> Value:
        given = args.first
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
                return replace(first, const=None)
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
            return sequence(
                Value("tuple", 2, items=(INTEGER, self.element(first, node.args[0] if node.args else None)))
            )
        if name == "zip":
            items = tuple(self.element(v, n) for v, n in zip(args.positional, node.args, strict=False))
            return sequence(Value("tuple", 2, items=items))
        if name in ("set", "frozenset"):
            return sequence(self.element(first, None))
        if name == "filter" and len(args.positional) == 2:
            return sequence(self.element(args.positional[1], None))
        if name == "next":
            return self.element(first, node.args[0] if node.args else None)
        if name in ("sum", "max", "min"):
            return self.reduced(name, args)
        if name == "dict":
            return Value("dict", 2, keys=dict(args.keywords), elem=None)
        if name == "getattr" and len(args.positional) >= 2 and isinstance(args.positional[1].const, str):
            return args.positional[2] if len(args.positional) > 2 and not first else UNKNOWN
        if name == "super":
            return UNKNOWN
        if name == "print":
            return NONE
        return UNKNOWN

    def reduced(self, name: str, args: Arguments) -> Value:
        if len(args.positional) == 1 or name == "sum":
            elem = self.element(args.first, None)
            return replace(elem, const=None, batch=False) if elem else UNKNOWN
        value = args.first
        for other in args.positional[1:]:
            value = join(value, other)
        return replace(value, const=None) if value else UNKNOWN

    def instance(self, klass: Class, node: ast.Call | None) -> Value:
        kind = "module" if self.world.is_module(klass) else "instance"
        value = Value(kind, 2, cls=klass.full_name, klass=klass)  # type: ignore[arg-type]
        return replace(value, origin=node, home=self.function.module) if node is not None else value

    def method(self, base: Value, function: ast.Attribute, callee: Value, node: ast.Call, args: Arguments) -> Value:
        attr = function.attr
        kind = base.kind
        if kind == "tensor":
            return calls.tensor_method(base, attr, node, args)
        if kind == "batch":
            return self.batch_method(base, attr, args)
        if kind == "module":
            value = calls.module_method(base, attr, node, args)
            if attr in ("items", "values") and base.keys is not None:
                each = base.elem or Value("module", 1)
                return sequence(each if attr == "values" else Value("tuple", 2, items=(STR, each)))
            if value is not None and not (base.klass and self.world.method(base.klass, attr)):
                if attr in ("to", "cuda", "cpu", "train", "eval"):
                    self.update(function.value, value)
                return value
            if attr == "forward":
                return self.of_value(base, node, args, function)
        if callee.kind in ("function", "module", "class"):
            return self.of_value(callee, node, args, function)
        if kind == "accelerator":
            return self.accelerator(attr, args)
        if kind == "distribution":
            return tensor(base.device, grad=True) if attr in table.DISTRIBUTION_TENSORS else UNKNOWN
        if kind in ("dict", "list", "tuple", "str"):
            return self.container(base, function, args)
        if kind == "ndarray":
            return NDARRAY if attr not in ("item", "tolist") else NUMBER
        if kind == "scaler" and attr == "scale":
            return args.first if args.first.kind == "tensor" else LIKELY_TENSOR
        if kind in ("loader", "optimizer", "scheduler", "scaler"):
            return UNKNOWN
        return self.unknown_method(base, attr, callee, node, args)

    def unknown_method(self, base: Value, attr: str, callee: Value, node: ast.Call, args: Arguments) -> Value:
        if attr in ("detach", "unsqueeze", "masked_fill", "log_softmax") and len(args) <= 2 and not base:
            return calls.tensor_method(tensor(grad=True), attr, node, args)
        if attr == "item" and not len(args):
            return NUMBER
        if attr in ("item", "numpy", "tolist", "size", "dim", "numel"):
            return calls.tensor_method(LIKELY_TENSOR, attr, node, args)
        if attr in ("to", "cuda", "cpu") and not base:
            return replace(calls.move(LIKELY_TENSOR, attr, args), kind="unknown", sure=0)
        if calls.MODEL_NAME.search(attr):
            return calls.likely_module_result()
        if attr == "setup_dataloaders" or (attr == "prepare" and len(args.positional) > 1):
            return self.accelerator(attr, args)
        if attr == "state_dict":
            return Value("dict", 1)
        if attr == "parameters" and not len(args):
            return calls.PARAMETERS
        return UNKNOWN

    def update(self, node: ast.expr, value: Value) -> None:
        """A method that changes its receiver in place, such as `model.cuda()`."""
        key = key_of(node)
        if key is not None and (key in self.env or "." in key):
            self.env[key] = value

    def batch_method(self, base: Value, attr: str, args: Arguments) -> Value:
        if attr in ("to", "cuda", "cpu"):
            return calls.move(base, attr, args)
        if attr == "items":
            return sequence(Value("tuple", 2, items=(STR, calls.batch_tensor(base))))
        if attr in ("values",):
            return sequence(calls.batch_tensor(base))
        if attr == "keys":
            return sequence(STR)
        if attr in ("pop", "get"):
            return calls.batch_tensor(base)
        if (
            attr in table.METHODS_NOT_TENSOR
            or attr in table.TENSOR_ONLY
            or attr in ("view", "reshape", "float", "long", "transpose", "t")
        ):
            return calls.tensor_method(calls.batch_tensor(base), attr, ast.Call(ast.Name("x"), [], []), args)
        return UNKNOWN

    def accelerator(self, attr: str, args: Arguments) -> Value:
        if attr in ("prepare", "setup", "setup_dataloaders", "setup_module", "setup_optimizers"):
            if attr == "setup_dataloaders":
                # Whatever it is given is a loader, and what it gives moves its batches.
                given = [v if v.kind == "loader" else Value("loader", 1) for v in args.positional]
            else:
                given = list(args.positional)
            prepared = tuple(self.prepared(v) for v in given)
            return prepared[0] if len(prepared) == 1 else Value("tuple", 2, items=prepared)
        if attr in ("gather", "gather_for_metrics", "reduce", "all_reduce", "all_gather"):
            gathered = args.first if args.first.kind == "tensor" else LIKELY_TENSOR
            return replace(gathered, grad=False, device="accelerator")
        if attr in ("clip_grad_norm_", "clip_gradients"):
            return Value("tensor", 2, scalar=True, device="accelerator")
        if attr in (
            "autocast",
            "accumulate",
            "no_sync",
            "no_backward_sync",
            "main_process_first",
            "init_module",
            "local_main_process_first",
        ):
            return CONTEXT
        if attr == "unwrap_model":
            return args.first
        return UNKNOWN

    @staticmethod
    def prepared(value: Value) -> Value:
        if value.kind == "loader":
            elem = Value("batch", 2, device="accelerator", managed=True, pinned=value.pinned)
            return replace(value, managed=True, elem=elem, device="accelerator")
        if value.kind == "module":
            return replace(value, device="accelerator")
        return value

    def container(self, base: Value, function: ast.Attribute, args: Arguments) -> Value:
        attr = function.attr
        if base.kind == "str":
            return STR if attr not in ("split", "splitlines") else sequence(STR)
        if base.kind == "dict":
            if attr == "items":
                return sequence(Value("tuple", 2, items=(STR if base.keys else UNKNOWN, base.elem or UNKNOWN)))
            if attr == "values":
                return sequence(base.elem or UNKNOWN)
            if attr == "keys":
                return sequence(STR if base.keys else UNKNOWN)
            if attr in ("get", "pop", "setdefault"):
                if base.keys and isinstance(args.first.const, str):
                    return base.keys.get(args.first.const, base.elem or UNKNOWN)
                return base.elem or UNKNOWN
            if attr == "update":
                given = args.first.keys if args.positional else None
                merged = {**(base.keys or {}), **(given or {}), **({} if args.positional else args.keywords)}
                self.update(function.value, replace(base, keys=merged))
                return NONE
            if attr == "copy":
                return base
        if base.kind == "list":
            if attr in ("append", "add", "insert", "extend", "appendleft"):
                added = args.positional[-1] if args.positional else UNKNOWN
                if attr == "extend":
                    added = self.element(added, None)
                elem = join(base.elem, added) if base.elem is not None else added
                self.update(function.value, replace(base, elem=elem, items=None))
                return NONE
            if attr in ("pop", "popleft", "__getitem__"):
                return base.elem or UNKNOWN
            if attr == "copy":
                return base
            if attr in ("index", "count"):
                return INTEGER
        return UNKNOWN

    def of_value(self, callee: Value, node: ast.Call, args: Arguments, function: ast.expr) -> Value:
        """What calling a value gives: a module's forward, a function's result, an instance of a class."""
        if callee.kind == "function":
            if callee.function is not None:
                return self.world.returns(callee.function)
            return UNKNOWN
        if callee.kind == "class" and callee.klass is not None:
            return self.instance(callee.klass, node)
        if callee.kind == "module":
            if callee.klass is not None:
                forward = self.world.method(callee.klass, "forward")
                if forward is not None:
                    value = self.world.returns(forward)
                    if value.kind == "tensor":
                        return replace(value, device=callee.device or value.device, grad=True)
                    if value.kind in ("tuple", "dict"):
                        return _with_grad(value, callee.device)
                    if value:
                        return value
            if callee.klass is None and not callee.cls.startswith("torch.") and callee.cls:
                # A library's model: a tensor, or an output object whose fields are tensors.
                return Value("tensor", 1, device=callee.device, grad=True)
            return calls.module_result(callee)
        if callee.kind == "name":
            return self.by_name(callee.cls, node, args)
        key = names.chain(function)
        if not callee and key is not None and calls.MODEL_NAME.search(key[-1]):
            return calls.likely_module_result()
        return UNKNOWN


def _narrows(test: ast.expr) -> bool:
    """Whether a condition may tell what a name is: it calls something such as `isinstance`, or binds a name."""
    return not isinstance(test, ast.Name | ast.Attribute | ast.Compare | ast.Constant)


def _is_number(kind: ast.expr) -> bool:
    """`float`, `(int, float)`"""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(isinstance(k, ast.Name) and k.id in ("int", "float", "bool", "complex") for k in kinds)


def _with_grad(value: Value, device: Device) -> Value:
    items = value.items and tuple(
        replace(i, grad=True, device=device or i.device) if i.kind == "tensor" else i for i in value.items
    )
    return replace(value, items=items)


def _tensor_attribute(base: Value, attr: str) -> Value:
    kind = table.ATTRIBUTES_NOT_TENSOR.get(attr)
    if kind == "size":
        return SIZE
    if kind == "device":
        return Value("device", 2, device=base.device)
    if kind == "dtype":
        return Value("dtype", 2)
    if kind == "number":
        return INTEGER
    if kind is not None:
        return UNKNOWN
    if attr in ("data", "grad"):
        return replace(base, grad=False, const=None)
    if attr in table.TENSOR_ATTRIBUTES:
        return base
    if base.sure < 2 and attr in ("loss", "logits", "sample", "last_hidden_state", "hidden_states"):
        # What looked like a tensor is a model's output object.
        return replace(base, sure=1, scalar=attr == "loss")
    return UNKNOWN


def _by_name(name: str) -> Value:
    """What a parameter's name says where nothing else does."""
    if calls.DEVICE_NAME.search(name):
        return DEVICE
    if calls.LOADER_NAME.search(name):
        return Value("loader", 1, elem=Value("batch", 1, batch=True))
    if name in ("optimizer", "optim", "opt") or name.endswith("_optimizer"):
        return Value("optimizer", 1)
    if calls.MODEL_NAME.search(name):
        return Value("module", 1)
    if name in ("accelerator", "fabric"):
        return Value("accelerator", 1)
    if name in ("loss", "logits"):
        return tensor(sure=1, scalar=name == "loss")
    return UNKNOWN


def _looks_like_loader(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and node.args:
        # enumerate(loader), tqdm(loader), accelerator.skip_first_batches(loader, n)
        return _looks_like_loader(node.args[0])
    parts = names.chain(node)
    return parts is not None and bool(calls.LOADER_NAME.search(parts[-1]))


def _fold(left: Value, right: Value, op: ast.operator) -> Value | None:
    a, b = left.const, right.const
    if not isinstance(a, int) or not isinstance(b, int) or abs(a) > 1 << 40 or abs(b) > 1 << 40:
        return None
    if isinstance(op, ast.Add):
        return constant(a + b)
    if isinstance(op, ast.Sub):
        return constant(a - b)
    if isinstance(op, ast.Mult):
        return constant(a * b)
    if isinstance(op, ast.FloorDiv) and b:
        return constant(a // b)
    return None


# What makes an object of a dataclass from the command line.
_OPTION_PARSERS = frozenset(
    ("tyro.cli", "simple_parsing.parse", "jsonargparse.CLI", "jsonargparse.auto_cli", "draccus.parse", "pyrallis.parse")
)

_METHODS: dict[type[ast.expr], Reader] = {
    ast.Constant: _Evaluator.constant,
    ast.JoinedStr: _Evaluator.joined,
    ast.Name: _Evaluator.name,
    ast.Attribute: _Evaluator.attribute,
    ast.Subscript: _Evaluator.subscript,
    ast.Slice: _Evaluator.slice,
    ast.BinOp: _Evaluator.binop,
    ast.UnaryOp: _Evaluator.unary,
    ast.BoolOp: _Evaluator.boolop,
    ast.Compare: _Evaluator.compare,
    ast.IfExp: _Evaluator.ifexp,
    ast.NamedExpr: _Evaluator.named_expr,
    ast.Tuple: _Evaluator.tuple,
    ast.List: _Evaluator.list,
    ast.Set: _Evaluator.list,
    ast.Dict: _Evaluator.dict,
    ast.ListComp: _Evaluator.comprehension,
    ast.SetComp: _Evaluator.comprehension,
    ast.GeneratorExp: _Evaluator.comprehension,
    ast.DictComp: _Evaluator.comprehension,
    ast.Lambda: _Evaluator.lambda_,
    ast.Starred: _Evaluator.starred,
    ast.Await: _Evaluator.awaited,
    ast.Yield: _Evaluator.yielded,
    ast.Call: _Evaluator.call,
}
