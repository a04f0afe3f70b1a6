"""Functions in other words that do the same: what they hold stands in functions of its own (`python -m tests.bench.spellings`)."""

from __future__ import annotations

import ast
import builtins
import itertools

from .spelled_loops import Block, as_attributes, load, store

_Function = ast.FunctionDef
_KEPT = (
    ast.Yield
    | ast.YieldFrom
    | ast.Await
    | ast.NamedExpr
    | ast.Lambda
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
    | ast.FunctionDef
    | ast.ClassDef
    | ast.Global
    | ast.Nonlocal
)
"""What makes moving a part harder than it is worth here."""


def loaded(nodes: list[ast.AST]) -> list[str]:
    """The names that are read in nodes, in their order."""
    names = [one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name) and _is_read(one)]
    return list(dict.fromkeys(names))


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def stored(nodes: list[ast.AST]) -> list[str]:
    """The names that are given something in nodes, in their order."""
    names = [one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name) and not _is_read(one)]
    return list(dict.fromkeys(names))


def _is_plain(node: ast.AST, *more: type[ast.AST]) -> bool:
    asks = any(isinstance(one, ast.Name) and one.id in ("super", "locals", "eval", "vars") for one in ast.walk(node))
    return not asks and not any(isinstance(one, (_KEPT, *more)) for one in ast.walk(node))


class _Moved(ast.NodeTransformer):
    """Parts of functions that get functions of their own, at the end of the file; in a class, methods of it."""

    def __init__(self, as_methods: bool = False) -> None:
        self.numbers = itertools.count(1)
        self.as_methods = as_methods
        self.top: Block = []
        self.methods: Block | None = None
        self.local: set[str] = set()
        self.around: ast.AST = ast.Module([], [])

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.around, self.local = node, _names_of_module(node)
        made: Block = []
        self.top = made
        self.generic_visit(node)
        at = next((at for at, one in enumerate(node.body) if _runs(one)), len(node.body))
        node.body[at:at] = made
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        before, self.methods = self.methods, []
        self.generic_visit(node)
        node.body += self.methods
        self.methods = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if any(
            isinstance(one, _KEPT) for part in node.body for one in ast.walk(part) if not isinstance(one, ast.Lambda)
        ):
            return node
        before = self.local, self.around
        self.local = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)} | {*stored([*node.body])}
        self.around = node
        self.generic_visit(node)
        self.local, self.around = before
        return node

    def made(self, body: Block, names: list[str]) -> tuple[ast.expr, list[str]]:
        """A function of its own with a body; what calls it, and the arguments that it takes."""
        name = f"_part_{next(self.numbers)}"
        is_method = self.as_methods and self.methods is not None and names[:1] == ["self"]
        arguments = ast.arguments([], [ast.arg(one) for one in names], None, [], [], None, [])
        function = ast.FunctionDef(name, arguments, body, [], None)
        if is_method:
            assert self.methods is not None
            self.methods.append(function)
            return ast.Attribute(load("self"), name, ast.Load()), names[1:]
        self.top.append(function)
        return load(name), names


def _names_of_module(node: ast.Module) -> set[str]:
    return {*stored([one for one in node.body if not isinstance(one, ast.FunctionDef | ast.ClassDef)])}


def _runs(node: ast.stmt) -> bool:
    """Whether a statement at the top does something when the file runs."""
    return not isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef) and not (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


class Extracted(_Moved):
    """`x = f(y).g()` as `x = _part(y)`, with `def _part(y): return f(y).g()`."""

    def _value(self, value: ast.expr | None) -> ast.expr | None:
        if not isinstance(value, ast.Call) or not _is_plain(value):
            return value
        names = [one for one in loaded([value]) if one in self.local and not hasattr(builtins, one)]
        names.sort(key=lambda one: one != "self")
        function, given = self.made([ast.Return(value)], names)
        return ast.Call(function, [load(one) for one in given], [])

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        value = self._value(node.value)
        assert value is not None
        node.value = value
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        value = self._value(node.value)
        assert value is not None
        node.value = value
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        node.value = self._value(node.value)
        return node


class Bodies(_Moved):
    """The body of each innermost loop as a function of its own, which gives what the loop changes."""

    def visit_For(self, node: ast.For) -> ast.For:
        if any(isinstance(one, ast.For | ast.While) for part in node.body for one in ast.walk(part)):
            self.generic_visit(node)
            return node
        if not all(_is_plain(one, ast.Break, ast.Continue, ast.Return) for one in node.body):
            return node
        inside = [*node.body]
        changed = stored([*inside])
        outside = _read_outside(self.around, node)
        first = {name for name in changed if _is_read_first(node.body, name)}
        back = [name for name in changed if name in outside or name in first]
        names = [one for one in loaded([*inside]) if one in self.local and (one not in changed or one in first)]
        names += [one for one in back if one in first and one not in names]
        names = list(dict.fromkeys([*names, *(one for one in back if _is_augmented(node.body, one))]))
        if not {*names} <= _bound_before(self.around, node):
            return node  # the call would read a name that nothing has bound yet
        names.sort(key=lambda one: one != "self")
        giving: Block = [ast.Return(_several([load(one) for one in back], ast.Load()))] if back else []
        function, given = self.made([*node.body, *giving], names)
        call = ast.Call(function, [load(one) for one in given], [])
        node.body = (
            [ast.Assign([_several([store(one) for one in back], ast.Store())], call)] if back else [ast.Expr(call)]
        )
        return node


def _several(names: list[ast.Name], context: ast.expr_context) -> ast.expr:
    return names[0] if len(names) == 1 else ast.Tuple([*names], context)


def _read_outside(around: ast.AST, loop: ast.For) -> set[str]:
    """The names that are read in what holds a loop, but for its body."""
    inside = {id(one) for part in loop.body for one in ast.walk(part)}
    return {one.id for one in ast.walk(around) if isinstance(one, ast.Name) and _is_read(one) and id(one) not in inside}


def _bound_before(around: ast.AST, loop: ast.For) -> set[str]:
    """The names that something outside of a loop's body binds where the loop stands, above it or around it."""
    inside = {id(one) for part in loop.body for one in ast.walk(part)}
    return {
        one.arg if isinstance(one, ast.arg) else one.id
        for one in ast.walk(around)
        if isinstance(one, ast.arg) or (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        if id(one) not in inside and _position(one) < _position(loop.body[0])
    }


def _position(node: ast.AST) -> tuple[int, int]:
    """Where a node stands; what was made here stands where something was read before."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _is_augmented(body: Block, name: str) -> bool:
    return any(
        isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name) and one.target.id == name
        for part in body
        for one in ast.walk(part)
    )


def _is_read_first(body: Block, name: str) -> bool:
    """Whether a name may be read in a body before it is given something there."""
    for statement in body:
        if _is_augmented([statement], name):
            return True
        value = statement.value if isinstance(statement, ast.Assign) else statement
        if name in loaded([value]) if value is not None else False:
            return True
        if name in stored([statement]):
            return not isinstance(statement, ast.Assign | ast.With)
    return False


class Runners(ast.NodeTransformer):
    """`def f(a, b): ...` as a class that keeps `a` and `b`, with a method `run` that does what `f` did."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = [one for statement in node.body for one in self._made(statement)]
        return node

    def _made(self, node: ast.stmt) -> Block:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list or not node.args.args:
            return [node]
        given = node.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
            return [node]
        if not all(_is_plain(one) for one in node.body):
            return [node]
        names = [one.arg for one in given.args]
        keeps = [ast.Assign([ast.Attribute(load("self"), one, ast.Store())], load(one)) for one in names]
        arguments = ast.arguments([], [ast.arg("self"), *given.args], None, [], [], None, [])
        takes_object = ast.arguments([], [ast.arg("self")], None, [], [], None, [])
        renamed = as_attributes({one: one for one in names})
        body = [renamed.visit(one) for one in node.body]
        runner = f"_Runs_{node.name}"
        made = ast.ClassDef(
            runner,
            [],
            [],
            [
                _Function("__init__", arguments, [*keeps], [], None),
                _Function("run", takes_object, body, [], None),
            ],
            [],
        )
        call = ast.Call(load(runner), [load(one) for one in names], [])
        node.body = [ast.Return(ast.Call(ast.Attribute(call, "run", ast.Load()), [], []))]
        return [made, node]


class Inner(ast.NodeTransformer):
    """What a function does stands in a function inside of it, which it calls."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if not all(_is_plain(one) for one in node.body):
            return node
        names = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        if names & {*stored([*node.body])}:
            return node
        none = ast.arguments([], [], None, [], [], None, [])
        inner = _Function("_inner", none, node.body, [], None)
        node.body = [inner, ast.Return(ast.Call(load("_inner"), [], []))]
        return node
