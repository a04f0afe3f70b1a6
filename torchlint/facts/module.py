"""One file's skeleton: its imports, functions and classes, from one pass over the statements of its `ast`."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeGuard

from ..system.cached import cached_property, kept
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.normal_form import AnnotatedAssign, PairedAssign
from . import generators, scope
from .nodes import argument_of, callee, defaults_of, number, string, telling

if TYPE_CHECKING:
    import re

    from ..text.source import Source
    from .bindings import Bindings
    from .flow import Flow

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
BODIES = ("body", "handlers", "orelse", "finalbody", "cases")
_BLOCKS = frozenset(
    getattr(ast, name)
    for name in "For AsyncFor With AsyncWith If While Try TryStar ExceptHandler Match match_case".split()
    if hasattr(ast, name)
)
_REGISTERS = ("register_buffer", "register_parameter")
_SIMPLE = frozenset((ast.Assign, ast.Expr, ast.Return, ast.AugAssign, ast.AnnAssign, AnnotatedAssign, PairedAssign))

BASES_OF_PYTHON = frozenset(("object", "ABC"))
"""Bases of classes that are nobody's library."""


def key_of(node: ast.expr) -> str | None:
    """The name that stands for an assignable expression: `x`, `self.x`."""
    if node.__class__ is ast.Name:
        return node.id
    if isinstance(node, ast.Attribute):
        base = key_of(node.value)
        return f"{base}.{node.attr}" if base is not None else None
    return None


def has_slice(index: ast.expr) -> bool:
    """Whether an index has several parts, one of which is a slice or an ellipsis: `x[:, 0]`."""
    return isinstance(index, ast.Tuple) and any(
        isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is ...) for part in index.elts
    )


_KEEP = frozenset(("staticmethod", "classmethod", "no_grad", "inference_mode"))
"""Decorators behind which a function does and gives what it says."""


_PROPERTIES = frozenset(("property", "cached_property"))


class Function:
    """A function, a method, or the body of a module (its node is then the `ast.Module`)."""

    __slots__ = ("__dict__", "cls", "imports", "module", "name", "node", "other_imports", "parent", "qualname")

    def __init__(
        self, module: Module, node: FunctionNode | ast.Module, qualname: str, parent: Function | None, cls: Class | None
    ) -> None:
        self.module = module
        self.node = node
        self.qualname = qualname
        self.name = qualname.rpartition(".")[2]
        self.parent = parent
        self.cls = cls
        self.imports: dict[str, str] = {}
        """Names bound by imports in this function itself; the module's own are `module.body.imports`."""
        self.other_imports: dict[str, list[str]] = {}
        """What earlier imports of the function bind such a name to: `if kind == "gan": from gan import GAN as M`."""

    def __repr__(self) -> str:
        return f"<{self.module.path}:{self.qualname}>"

    @cached_property
    def defaults(self) -> dict[str, ast.expr]:
        """The defaults of the parameters that have one, by name, in source order."""
        return {} if isinstance(self.node, ast.Module) else dict(defaults_of(self.node.args))

    @cached_property
    def nested(self) -> dict[str, Function]:
        """The functions defined directly inside, by name (the last definition wins)."""
        return self.module.nested.get(self, {})

    def knowing(self, name: str) -> Iterator[Function]:
        """The functions inside of it, at any depth, in which a name is still its own."""
        for inner in self.nested.values():
            if not inner.binds(name):
                yield inner
                yield from inner.knowing(name)

    @cached_property
    def flow(self) -> Flow:
        from .flow import Flow

        return Flow(self)

    @cached_property
    def bindings(self) -> Bindings:
        from .bindings import Bindings

        return Bindings(self)

    @cached_property
    def parameters(self) -> tuple[ast.arg, ...]:
        """Positional and keyword-only parameters, `self` included, `*args` and `**kwargs` left out."""
        if isinstance(self.node, ast.Module):
            return ()
        arguments = self.node.args
        return (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)

    @cached_property
    def positions(self) -> dict[str, int]:
        """The places of the parameters, by their names."""
        return {parameter.arg: at for at, parameter in enumerate(self.parameters)}

    @cached_property
    def bound(self) -> frozenset[str]:
        """Names that are the function's own: parameters, what it assigns and defines; imports are not among them."""
        return scope.bound(self)

    def binds(self, name: str) -> bool:
        """Whether a name is one of the function's own."""
        if "bound" not in self.__dict__:
            free: set[str] = self.__dict__.setdefault("_free", set())
            if name in free:
                return False
            if not scope.may_bind(self, name):
                free.add(name)
                return False
        return name in self.bound

    @cached_property
    def rebound(self) -> Mapping[str, tuple[ast.AST, ...]]:
        """What binds names that the function imports to something else, behind the import."""
        return self.find_rebound()

    def find_rebound(self) -> dict[str, tuple[ast.AST, ...]]:
        """The same, worked out."""
        twice = self.imports.keys() & self.bound
        if not twice:
            return {}
        from .scope import rebinding

        found = {name: rebinding(self, name) for name in twice}
        return {name: binders for name, binders in found.items() if binders}

    def assigned_once(self, name: str) -> ast.expr | None:
        """What a name is assigned from, once, in the function or at the top of its module."""
        if name in self.flow.stores:
            made = self.flow.assignment(name)
            return made.value if made is not None else None
        if self.binds(name) or len(self.module.body.flow.stores.get(name, ())) != 1:
            return None
        return self.module.assigned.get(name)

    def number(self, node: ast.AST | None) -> int | float | None:
        """The number that an expression writes out, or a name that is assigned one, once: `4`, `LIMIT` behind `LIMIT = 4`."""
        return number(self.assigned_once(node.id) if isinstance(node, ast.Name) else node)

    @property
    def root(self) -> FunctionNode | ast.Module:
        """Its node, for who looks at what is its own alone."""
        return self.node

    @property
    def has_loops(self) -> bool:
        """Whether a statement of the function is a loop."""
        return bool(self.own_loops)

    @cached_property
    def own_loops(self) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops among the statements of the function."""
        found: list[ast.For | ast.AsyncFor | ast.While] = []
        todo: list[ast.AST] = list(self.node.body)
        while todo:
            statement = todo.pop()
            kind = statement.__class__
            if kind in _SIMPLE:
                continue
            if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
                found.append(statement)
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                for field in BODIES:
                    todo += getattr(statement, field, ())
        return found

    @cached_property
    def yields(self) -> list[ast.Yield | ast.YieldFrom]:
        """Where the function gives something as a generator; nowhere in any other function."""
        return [node for node in self.flow.nodes if isinstance(node, ast.Yield | ast.YieldFrom)]

    @cached_property
    def giving_loops(self) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops of a generator that give something on each iteration: the innermost ones around each `yield`."""
        if not self.module.source.holds(b"yield") or not self.own_loops:
            return []
        around = (self.flow.loops(node)[:1] for node in self.yields)
        return list(dict.fromkeys(loop for loops in around for loop in loops))

    @cached_property
    def assigned_attributes(self) -> list[ast.Attribute]:
        """The attributes that statements of the function assign."""
        found: list[ast.Attribute] = []
        stack: list[ast.AST] = [self.node]
        while stack:
            node = stack.pop()
            kind = type(node)
            targets: list[ast.expr] = []
            if kind is ast.Assign or kind is AnnotatedAssign or kind is PairedAssign:
                targets = list(node.targets)  # type: ignore[attr-defined]
            elif kind is ast.AnnAssign:
                targets = [node.target]  # type: ignore[attr-defined]
            elif kind in _BLOCKS or node is self.node:
                for field in ("finalbody", "orelse", "handlers", "cases", "body"):
                    stack.extend(reversed(getattr(node, field, ())))
            while targets:
                target = targets.pop()
                if isinstance(target, ast.Tuple | ast.List):
                    targets.extend(target.elts)
                elif isinstance(target, ast.Attribute):
                    found.append(target)
        return found

    @property
    def decorators(self) -> list[ast.expr]:
        return [] if isinstance(self.node, ast.Module) else self.node.decorator_list

    @property
    def is_method(self) -> bool:
        return self.cls is not None and "staticmethod" not in self.decorator_names and not self._is_called_on_class

    @property
    def _is_called_on_class(self) -> bool:
        """Whether a function in a class is none of its objects', and written as if it were: `Scaler.overflows(x)` of `def overflows(x):`."""
        if self.cls is None or isinstance(self.node, ast.Module) or not self.node.args.args:
            return False
        first = self.node.args.args[0].arg
        if first in _OWN_NAMES or first.startswith("_"):
            return False
        return self.module.source.holds(as_bytes(f"{self.cls.name}.{self.name}("))

    @property
    def own_name(self) -> str:
        """What a method calls its object, `self`; "" for what is no method, or has no parameter."""
        return self.parameters[0].arg if self.is_method and self.parameters else ""

    @cached_property
    def decorator_names(self) -> frozenset[str]:
        """Last components of the decorators' names: `staticmethod`, `no_grad`, `compile`."""
        names = set()
        for decorator in self.decorators:
            target = callee(decorator)
            if isinstance(target, ast.Attribute):
                names.add(target.attr)
            elif isinstance(target, ast.Name):
                names.add(target.id)
        return frozenset(names)

    @property
    def is_property(self) -> bool:
        """Whether a method is read as an attribute of its object."""
        return self.cls is not None and not _PROPERTIES.isdisjoint(self.decorator_names)

    @property
    def is_replaced(self) -> bool:
        """Whether a decorator may put something else in the place of the function: none that says whose it is, or turns autograd off."""
        return not self.decorator_names <= _KEEP or len(self.decorators) > len(self.decorator_names)

    @property
    def telling(self) -> list[ast.stmt]:
        """The statements of the body but for texts and `...`, those of a `with` or a `try: ... finally: ...` that is all of it; none of a file."""
        body = [] if isinstance(self.node, ast.Module) else [*telling(self.node.body)]
        while len(body) == 1 and (inside := _passed_through(body[0])):
            body = [*telling(inside)]
        return body

    @property
    def end(self) -> ast.stmt | None:
        """The statement that ends the body: `return f(x)` of `with torch.no_grad(): return f(x)`; None of a file."""
        body = self.telling
        while body and (inside := _passed_through(body[-1])):
            body = inside
        return body[-1] if body else None

    @cached_property
    def is_abstract(self) -> bool:
        """Whether a method leaves all it does to subclasses: `raise NotImplementedError`, or nothing behind `@abstractmethod`."""
        telling = self.telling
        if telling and isinstance(telling[0], ast.Raise):
            raised = telling[0].exc
            raised = callee(raised)
            return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
        return "abstractmethod" in self.decorator_names and all(isinstance(one, ast.Pass) for one in telling)

    @cached_property
    def handed_on(self) -> str | None:
        """The parameter whose elements a generator yields as they are: `for batch in batches: yield batch`."""
        if not self.module.source.holds(b"yield"):
            return None
        return generators.handed_on(self.node, {parameter.arg for parameter in self.parameters})

    def argument(self, call: ast.Call, name: str) -> ast.expr | None:
        """The expression that a call of the function passes for a parameter; None where it passes none.

        Behind `*args` no place gives one: `def __call__(self, *args, shape=None)`.
        """
        position = self.positions.get(name) if name not in self._behind_rest else None
        return argument_of(call, name, position - self.brings_own(call) if position is not None else -1)

    def parameter_given(self, call: ast.Call, given: ast.AST) -> str | None:
        """The parameter for which a call of the function gives an expression."""
        return next((name for name in self.positions if self.argument(call, name) is given), None)

    @cached_property
    def _behind_rest(self) -> frozenset[str]:
        """The parameters that are given by their names alone, where there are `*args` that take what stands at their places."""
        given = self.node.args if not isinstance(self.node, ast.Module) else None
        return frozenset(one.arg for one in given.kwonlyargs) if given is not None and given.vararg else frozenset()

    @property
    def keywords(self) -> str:
        """`options` of `**options`, which holds what is given by names that are no parameters; "" where there is none."""
        given = self.node.args.kwarg if not isinstance(self.node, ast.Module) else None
        return given.arg if given is not None else ""

    @property
    def rest(self) -> str:
        """`args` of `*args`, which holds what is given behind the parameters; "" where there is none."""
        given = self.node.args.vararg if not isinstance(self.node, ast.Module) else None
        return given.arg if given is not None else ""

    def brings_own(self, call: ast.Call) -> bool:
        """Whether a call gives the first parameter by the object that it is called on: any of a method but `Base.update(self, x)`."""
        klass, func = self.cls, call.func
        if klass is None or not self.is_method:
            return False
        owner = func.value if isinstance(func, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or owner.id != klass.name or not call.args:
            return True
        first = call.args[0]
        return not isinstance(first, ast.Name) or first.id != self.own_name or "classmethod" in self.decorator_names

    def takes(self, call: ast.Call) -> bool:
        """Whether a call has the arguments that the parameters ask for, and no others; a decorator may change what they ask for."""
        if isinstance(self.node, ast.Module) or self.node.decorator_list:
            return True
        own, written = self.node.args, {keyword.arg for keyword in call.keywords}
        by_name = {parameter.arg for parameter in (*own.args, *own.kwonlyargs)}
        if own.kwarg is None and not written - {None} <= by_name:
            return False
        if None in written or any(isinstance(argument, ast.Starred) for argument in call.args):
            return True
        positional = [*own.posonlyargs, *own.args][self.brings_own(call) :]
        if own.vararg is None and len(call.args) > len(positional):
            return False
        rest = (*positional[len(call.args) :], *own.kwonlyargs)
        return all(one.arg in self.defaults or (one.arg in written and one.arg in by_name) for one in rest)

    def length_of_spread(self, call: ast.Call) -> int | None:
        """How many arguments the one star of a call stands for: all that the parameters ask for and nothing else gives, `f(*loaders, device)`."""
        if isinstance(self.node, ast.Module) or self.node.args.vararg is not None:
            return None
        named = {keyword.arg for keyword in call.keywords}
        own = [*self.node.args.posonlyargs, *self.node.args.args][self.brings_own(call) :]
        asked = [one.arg for one in own if one.arg not in named]
        given = [one for one in call.args if not isinstance(one, ast.Starred)]
        if None in named or len(call.args) - len(given) != 1 or any(name in self.defaults for name in asked):
            return None
        return len(asked) - len(given) if len(asked) >= len(given) else None

    @property
    def scopes(self) -> Iterator[Function]:
        """The function, those that it stands in, and the body of its module, innermost first."""
        scope: Function | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def is_stated_by(self, statement: ast.AST) -> bool:
        """Whether a statement is the function's own."""
        return self.node is statement

    @property
    def start(self) -> tuple[int, int]:
        """The label of the line of its `def`, and the column as in `ast`; zeros for the body of a module."""
        if isinstance(self.node, ast.Module):
            return 0, 0
        return self.module.label(self.node.lineno), self.node.col_offset

    @property
    def first_line(self) -> int:
        return 1 if isinstance(self.node, ast.Module) else self.node.lineno

    @property
    def last_line(self) -> int:
        if isinstance(self.node, ast.Module):
            return max((statement.end_lineno or 0 for statement in self.node.body), default=1)
        return self.node.end_lineno or self.node.lineno

    def says(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the lines of the function hold what a pattern matches; those of decorators stand above them."""
        if isinstance(self.node, ast.Module):
            return pattern.search(self.module.source.data) is not None
        return self.module.says(self.node, pattern)

    @property
    def header_line(self) -> int:
        """The last line before the body: decorators, defaults and annotations stand above it."""
        return 0 if isinstance(self.node, ast.Module) else self.node.body[0].lineno


class Class:
    """A class statement and the functions in it."""

    __slots__ = ("__dict__", "methods", "module", "name", "node", "parent", "qualname")

    def __init__(self, module: Module, node: ast.ClassDef, qualname: str, parent: Function) -> None:
        self.module = module
        self.node = node
        self.qualname = qualname
        self.name = node.name
        self.parent = parent
        self.methods: dict[str, Function] = {}

    def __repr__(self) -> str:
        return f"<class {self.module.path}:{self.qualname}>"

    @property
    def start(self) -> tuple[int, int]:
        """The label of the line of its `class`, and the column as in `ast`."""
        return self.module.label(self.node.lineno), self.node.col_offset

    @property
    def bases(self) -> list[ast.expr]:
        """What is written as its bases."""
        return self.node.bases

    @property
    def keywords(self) -> list[ast.keyword]:
        """What is written behind its bases: `metaclass=ABCMeta`."""
        return self.node.keywords

    @property
    def decorators(self) -> list[ast.expr]:
        return self.node.decorator_list

    def is_stated_by(self, statement: ast.AST) -> bool:
        """Whether a statement is the class's own; who looks into that asks for its node."""
        return self.node is statement

    @cached_property
    def getters(self) -> dict[str, Function]:
        """The methods that are properties, by name."""
        return {name: method for name, method in self.methods.items() if "property" in method.decorator_names}

    @cached_property
    def cached_getters(self) -> dict[str, Function]:
        """The methods that are properties computed once for each object, by name."""
        return {name: method for name, method in self.methods.items() if "cached_property" in method.decorator_names}

    @cached_property
    def stores(self) -> dict[str, list[tuple[Function, ast.Attribute]]]:
        """Where methods, and the functions inside of them, assign `self.name`, by that name, `__init__` first."""
        found: dict[str, list[tuple[Function, ast.Attribute]]] = {}
        for method in sorted(self.methods.values(), key=lambda method: method.name != "__init__"):
            for function in (method, *method.knowing(method.own_name)) if method.own_name else ():
                for target in function.assigned_attributes:
                    if isinstance(target.value, ast.Name) and target.value.id == method.own_name:
                        found.setdefault(target.attr, []).append((function, target))
        return found

    @cached_property
    def uses(self) -> dict[str, list[tuple[Function, ast.Attribute]]]:
        """Where methods read `self.name`, by that name."""
        found: dict[str, list[tuple[Function, ast.Attribute]]] = {}
        for method in self.methods.values():
            own = method.own_name
            for node in method.flow.nodes if own else ():
                owner = node.value if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) else None
                if isinstance(node, ast.Attribute) and isinstance(owner, ast.Name) and owner.id == own:
                    found.setdefault(node.attr, []).append((method, node))
        return found

    @cached_property
    def assigned(self) -> dict[str, ast.Assign | ast.AnnAssign]:
        """The names that statements of the class assign, each with the first of them."""
        found: dict[str, ast.Assign | ast.AnnAssign] = {}
        for statement in self.node.body:
            if isinstance(statement, ast.AnnAssign | ast.Assign):
                for target in [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, statement)
        return found

    @cached_property
    def setters(self) -> dict[str, ast.Call]:
        """The methods that give the object an attribute by a name that they are told, with `setattr(self, name, x)` of each."""
        if not self.module.source.holds(b"setattr("):
            return {}
        found: dict[str, ast.Call] = {}
        for method in self._own_methods_calling("setattr"):
            for call in method.flow.calls_named("setattr"):
                owner, told = call.args[:2] if len(call.args) == 3 else (None, None)
                own = isinstance(owner, ast.Name) and owner.id == method.own_name
                if own and isinstance(told, ast.Name) and told.id in method.positions:
                    found[method.name] = call
        return found

    @cached_property
    def registered(self) -> dict[str, list[tuple[Function, ast.Call]]]:
        """Where methods give the object an attribute by its name, `__init__` last: `self.register_buffer("name", tensor)`."""
        names = [*self.setters, *(_REGISTERS if self.module.source.holds(b"register_") else ())]
        found: dict[str, list[tuple[Function, ast.Call]]] = {}
        for called in dict.fromkeys(names):
            for method in sorted(self._own_methods_calling(called), key=lambda method: method.name == "__init__"):
                for call in method.flow.calls_named(called):
                    name = string(call.args[0]) if call.args else None
                    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
                    if name is not None and isinstance(owner, ast.Name) and owner.id == method.own_name:
                        found.setdefault(name, []).append((method, call))
        return found

    def _own_methods_calling(self, name: str) -> list[Function]:
        return [one for one in self.module.functions_at(self.module.lines_calling(name)) if one.cls is self]

    @property
    def full_name(self) -> str:
        return f"{self.module.name}.{self.qualname}"


class Module:
    """A parsed file. Raises SourceError where the file does not parse."""

    of_function = Function
    of_class = Class

    def __init__(self, source: Source, name: str, is_package: bool) -> None:
        self.source = source
        self.path = source.path
        self.name = name
        """Dotted name of the module, as an import inside its project would write it."""
        self.is_package = is_package
        self.tree = source.parse()
        self.body = self.of_function(self, self.tree, "<module>", None, None)
        self.functions: list[Function] = [self.body]
        self.classes: list[Class] = []
        self.stars: list[str] = []
        """Modules whose public names a star import brings in."""
        self._asked = 0
        self._statements(self.tree.body, self.body, None, "")

    def _statements(self, body: list[ast.stmt], function: Function, cls: Class | None, prefix: str) -> None:
        for statement in body:
            kind = statement.__class__
            if kind in _LEAVES:
                continue
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = self.of_function(self, statement, prefix + statement.name, function, cls)
                self.functions.append(inner)
                if cls is not None:
                    # A property's setter must not hide its getter.
                    cls.methods.setdefault(statement.name, inner)
                self._statements(statement.body, inner, None, f"{prefix}{statement.name}.")
            elif isinstance(statement, ast.ClassDef):
                klass = self.of_class(self, statement, prefix + statement.name, function)
                self.classes.append(klass)
                self._statements(statement.body, function, klass, f"{prefix}{statement.name}.")
            elif isinstance(statement, ast.Import):
                for alias in statement.names:
                    if alias.asname:
                        function.imports[alias.asname] = alias.name
                    else:
                        root = alias.name.partition(".")[0]
                        function.imports.setdefault(root, root)
            elif isinstance(statement, ast.ImportFrom):
                origin = self._origin(statement)
                for alias in statement.names:
                    if alias.name == "*":
                        self.stars.append(origin)
                    else:
                        local, name = alias.asname or alias.name, f"{origin}.{alias.name}" if origin else alias.name
                        if function.imports.get(local, name) != name:
                            function.other_imports.setdefault(local, []).append(function.imports[local])
                        function.imports[local] = name
            else:
                while _is_chain(statement):  # a thousand `elif` lie a thousand deep
                    self._statements(statement.body, function, cls, prefix)
                    statement = statement.orelse[0]
                for field in BODIES:
                    for inner_body in _bodies(statement, field):
                        self._statements(inner_body, function, cls, prefix)

    def _origin(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        package = self.name.split(".")
        drop = statement.level - (1 if self.is_package else 0)
        package = package[: len(package) - drop] if drop else package
        return ".".join([*package, *([statement.module] if statement.module else [])])

    @cached_property
    def imports(self) -> dict[str, str]:
        """What the module's own imports bind: local name to dotted name."""
        return self.body.imports

    @cached_property
    def import_names(self) -> frozenset[str]:
        """The names that imports bind anywhere in the module."""
        return frozenset(name for function in self.functions for name in function.imports)

    @cached_property
    def twice_imported(self) -> frozenset[str]:
        """The names that imports of one function bind to several things."""
        return frozenset(name for function in self.functions for name in function.other_imports)

    @cached_property
    def aliases(self) -> dict[str, list[str]]:
        """What the imports of the module and its functions call things, by the last part of their own names."""
        found: dict[str, list[str]] = {}
        origins = {alias: origin for function in self.functions for alias, origin in function.imports.items()}
        others = [
            (alias, origin)
            for function in self.functions
            for alias, more in function.other_imports.items()
            for origin in more
        ]
        for alias, origin in dict.fromkeys((*origins.items(), *others)):
            found.setdefault(origin.rpartition(".")[2], []).append(alias)
        return found

    @cached_property
    def top_functions(self) -> dict[str, Function]:
        return {f.name: f for f in self.functions if f.parent is self.body and f.cls is None}

    @cached_property
    def top_classes(self) -> dict[str, Class]:
        return {c.name: c for c in self.classes if c.parent is self.body and "." not in c.qualname}

    @cached_property
    def _spans(self) -> tuple[list[int], list[Function]]:
        """The lines at which another function becomes the innermost one, and those functions."""
        found: list[tuple[int, int, Function]] = []
        for function in self.functions[1:]:
            node = function.node
            assert not isinstance(node, ast.Module)
            found.append((first_line(node), node.end_lineno or node.lineno, function))
        starts, inner = [0], [self.body]
        around: list[tuple[int, Function]] = [(sys.maxsize, self.body)]
        for first, last, function in sorted(found, key=lambda span: (span[0], -span[1])):
            while around[-1][0] < first:
                starts.append(around.pop()[0] + 1)
                inner.append(around[-1][1])
            starts.append(first)
            inner.append(function)
            around.append((last, function))
        while len(around) > 1:
            starts.append(around.pop()[0] + 1)
            inner.append(around[-1][1])
        return starts, inner

    def function_at(self, line: int) -> Function:
        """The innermost function whose lines hold `line`; the module's body where there is none."""
        starts, inner = self._spans
        return inner[bisect_right(starts, line) - 1]

    @cached_property
    def nested(self) -> dict[Function, dict[str, Function]]:
        """The functions defined directly in functions, by name (the last definition wins)."""
        found: dict[Function, dict[str, Function]] = {}
        for function in self.functions:
            if function.parent is not None and function.cls is None:
                found.setdefault(function.parent, {})[function.name] = function
        return found

    @cached_property
    def assigned(self) -> dict[str, ast.expr]:
        """The names that statements of the module assign, each with its first value."""
        found: dict[str, ast.expr] = {}
        for statement in self.statements:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                for target in [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, statement.value)
        return found

    @cached_property
    def loads(self) -> dict[str, list[tuple[Function, ast.Name]]]:
        """Where the functions of the module read each name; annotations of parameters and results are not among them."""
        found: dict[str, list[tuple[Function, ast.Name]]] = {}
        for function in self.functions:
            for name, nodes in function.flow.loads.items():
                found.setdefault(name, []).extend((function, node) for node in nodes)
        return found

    @property
    def text(self) -> Source:
        """The text of the file, for who tells by `look_at` what of it is looked at."""
        return self.source

    def look_at(self, node: ast.AST) -> None:
        """Told that somebody looks at the lines of a node."""

    def text_of(self, node: ast.AST) -> Source:
        """The text of the file, for who looks at no lines but those of a node."""
        self.look_at(node)
        return self.text

    def lines_of(self, node: ast.stmt) -> str:
        """The text of the lines of a statement."""
        source = self.text_of(node)
        start, end = source.span(node.lineno, node.end_lineno or node.lineno)
        return source.data[start:end].decode()

    def says(self, node: ast.stmt | ast.expr, pattern: re.Pattern[bytes]) -> bool:
        """Whether the lines of a node hold what a pattern matches."""
        source = self.text_of(node)
        return pattern.search(source.data, *source.span(node.lineno, node.end_lineno or node.lineno)) is not None

    @property
    def statements(self) -> list[ast.stmt]:
        """The statements of the file itself, for who looks at nothing in its functions."""
        return self.tree.body

    def whole_tree(self) -> ast.Module:
        """The tree of the file, for who looks at all of it."""
        return self.tree

    def label(self, line: int) -> int:
        """What a line is called: its number; in an editor something that stays when lines above it come and go.

        Labels are ordered as the lines are.
        """
        return line

    def line(self, label: int) -> int:
        """The number of the line of that label."""
        return label

    def lines_calling(self, name: str) -> list[int]:
        """The lines on which something of that name may be called."""
        self._asked += 1
        if self._asked > _FEW:
            return self._lines_calling.get(as_bytes(name), [])
        return self.lines_holding(f"{name}(")

    def functions_calling(self, name: str) -> Sequence[Function]:
        """The innermost functions on whose lines something of that name may be called, in source order."""
        return self._functions_on("calling", name, self.lines_calling)

    def functions_holding(self, text: str) -> Sequence[Function]:
        """The innermost functions on whose lines a text begins, in source order."""
        return self._functions_on("holding", text, self.lines_holding)

    def methods_calling(self, klass: Class, name: str) -> list[Function]:
        """The methods of a class of the file on whose lines something of that name may be called."""
        return self._by_class("calling", name, self.functions_calling(name)).get(klass, [])

    def methods_holding(self, klass: Class, text: str) -> list[Function]:
        """The methods of a class of the file on whose lines a text begins."""
        return self._by_class("holding", text, self.functions_holding(text)).get(klass, [])

    def _by_class(self, kind: str, text: str, functions: Sequence[Function]) -> dict[Class, list[Function]]:
        known: dict[str, dict[Class, list[Function]]] = kept(self, f"methods {kind}", dict)
        if text not in known:
            found = known[text] = {}
            for one in functions:
                if one.cls is not None:
                    found.setdefault(one.cls, []).append(one)
        return known[text]

    def _functions_on(self, kind: str, text: str, lines: Callable[[str], list[int]]) -> Sequence[Function]:
        known: dict[str, list[Function]] = kept(self, f"functions {kind}", dict)
        if text not in known:
            known[text] = sorted(self.functions_at(lines(text)), key=lambda one: one.first_line)
        return known[text]

    def lines_holding(self, text: str) -> list[int]:
        """The lines on which a text begins."""
        data, starts, mark = self.source.data, self.source.lines, as_bytes(text)
        found: list[int] = []
        position = data.find(mark)
        while position >= 0:
            found.append(bisect_right(starts, position))
            position = data.find(mark, position + 1)
        return found

    @cached_property
    def _lines_calling(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        starts = self.source.lines
        for match in _CALLED.finditer(self.source.data):
            found.setdefault(match[1], []).append(bisect_right(starts, match.start()))
        return found

    def functions_at(self, lines: Iterable[int]) -> dict[Function, list[int]]:
        """The innermost functions that hold some lines, each with its own."""
        found: dict[Function, list[int]] = {}
        for line in lines:
            found.setdefault(self.function_at(line), []).append(line)
        return found

    @cached_property
    def function_of(self) -> dict[ast.AST, Function]:
        """The functions by their statements."""
        return {function.node: function for function in self.functions}

    @cached_property
    def by_qualname(self) -> dict[str, list[Function]]:
        """The functions by qualified name, in source order."""
        return _grouped((function.qualname, function) for function in self.functions)

    @cached_property
    def _later(self) -> dict[Function, int]:
        """The functions whose qualified names others have before them, with how many."""
        return {one: number for every in self.by_qualname.values() for number, one in enumerate(every) if number}

    @cached_property
    def _by_name(self) -> dict[str, list[Function]]:
        return _grouped((function.name, function) for function in self.functions)

    def functions_named(self, name: str) -> Sequence[Function]:
        """The functions of that name, methods and those inside of others among them, in source order."""
        return self._by_name.get(name, ())

    def number_of(self, function: Function) -> int:
        """How many functions of the same qualified name stand before one."""
        return self._later.get(function, 0)

    def numbered(self, qualname: str, number: int) -> Function | None:
        """The function of that qualified name which has so many before it."""
        every = self.by_qualname.get(qualname, ())
        return every[number] if number < len(every) else None

    @cached_property
    def class_of(self) -> dict[ast.ClassDef, Class]:
        """The classes by their statements."""
        return {klass.node: klass for klass in self.classes}


def _grouped(named: Iterable[tuple[str, Function]]) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for name, function in named:
        found.setdefault(name, []).append(function)
    return found


_OWN_NAMES = frozenset(("self", "cls", "mcs", "mcls", "metacls", "this", "ctx"))
_FEW = 100
"""So many names are searched for one by one before all that are called are looked up."""
_CALLED = regex(rb"(?<![\w\x80-\xff])([A-Za-z_\x80-\xff][\w\x80-\xff]*)\(")
_LEAVES = frozenset(
    (
        ast.Expr,
        ast.Assign,
        ast.AugAssign,
        ast.AnnAssign,
        AnnotatedAssign,
        PairedAssign,
        ast.Return,
        ast.Raise,
        ast.Assert,
        ast.Pass,
        ast.Break,
        ast.Continue,
        ast.Delete,
        ast.Global,
        ast.Nonlocal,
    )
)


def first_line(node: ast.stmt | ast.expr | ast.excepthandler) -> int:
    """The line on which a node begins, at its first decorator where it has one."""
    decorators = getattr(node, "decorator_list", None)
    return min(node.lineno, decorators[0].lineno) if decorators else node.lineno


def _passed_through(statement: ast.stmt) -> list[ast.stmt]:
    """What stands in a `with`, or in a `try` that keeps nothing back; nothing for other statements."""
    if isinstance(statement, ast.Try):
        return statement.body if not (statement.handlers or statement.orelse) else []
    return statement.body if isinstance(statement, ast.With | ast.AsyncWith) else []


def _is_chain(statement: ast.stmt) -> TypeGuard[ast.If]:
    """Whether an `elif` follows."""
    return isinstance(statement, ast.If) and len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If)


def _bodies(statement: ast.AST, field: str) -> Iterator[list[ast.stmt]]:
    value = getattr(statement, field, None)
    if not value:
        return
    if field in ("handlers", "cases"):
        for part in value:
            yield part.body
    else:
        yield value
