"""Loops, conditions and values in other words that do the same (`python -m tests.bench.spellings`)."""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
from collections.abc import Iterator

Block = list[ast.stmt]


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([store(name)], value)


class _Numbered(ast.NodeTransformer):
    """A spelling that needs names of its own."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)

    def name(self) -> str:
        return f"_{next(self.numbers)}"


class _Wrapped(ast.NodeTransformer):
    """Loops that go through what a function gives of what they went through before."""

    name = ""
    made = ""
    """What the file begins with where one does."""

    def __init__(self) -> None:
        self.used = False

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.generic_visit(node)
        at = sum(isinstance(one, ast.ImportFrom) and one.module == "__future__" for one in node.body)
        node.body[at:at] = ast.parse(self.made).body if self.used else []
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if isinstance(node.iter, ast.Name | ast.Attribute):
            node.iter, self.used = ast.Call(load(self.name), [node.iter], []), True
        return node


class Progress(_Wrapped):
    """`for x in loader:` as `for x in tqdm(loader):`"""

    name, made = "tqdm", "from tqdm import tqdm"


class Generated(_Wrapped):
    """`for x in loader:` as `for x in _items(loader):`, a generator that gives what it is given."""

    name, made = "_items", "def _items(items):\n    for item in items:\n        yield item"


class Taken(_Numbered):
    """`for x in loader:` as `while True:` with `x = next(items)`."""

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        self.generic_visit(node)
        if node.orelse:
            return [node]
        name = self.name()
        taking = ast.Assign([node.target], ast.Call(load("next"), [load(name)], []))
        ended = ast.ExceptHandler(load("StopIteration"), None, [ast.Break()])
        return [
            assigned(name, ast.Call(load("iter"), [node.iter], [])),
            ast.While(ast.Constant(True), [ast.Try([taking], [ended], [], []), *node.body], []),
        ]


class Counted(ast.NodeTransformer):
    """`for step in range(n):` as `while step < n:`, but where something may `continue`."""

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        self.generic_visit(node)
        match node:
            case ast.For(ast.Name(id=name), ast.Call(ast.Name(id="range"), [end]), orelse=[]):
                pass
            case _:
                return [node]
        if any(isinstance(one, ast.Continue) for one in ast.walk(node)):
            return [node]
        more = ast.AugAssign(store(name), ast.Add(), ast.Constant(1))
        test = ast.Compare(load(name), [ast.Lt()], [end])
        return [assigned(name, ast.Constant(0)), ast.While(test, [*node.body, more], [])]


class Whole(_Numbered):
    """`for x, y in loader:` as `for batch in loader:` with `x, y = batch`; inside `enumerate` too."""

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        match node:
            case ast.For(ast.Tuple([ast.Name(), ast.Tuple() as parts]) as target, ast.Call(ast.Name(id="enumerate"))):
                name = self.name()
                target.elts[1] = store(name)
            case ast.For(ast.Tuple() as parts, ast.Name() | ast.Attribute()):
                name = self.name()
                node.target = store(name)
            case _:
                return node
        node.body[:0] = self.parts(parts, name)
        return node

    def parts(self, parts: ast.Tuple, name: str) -> Block:
        return [ast.Assign([parts], load(name))]


class Indexed(Whole):
    """`for x, y in loader:` as `for batch in loader:` with `x = batch[0]` and `y = batch[1]`."""

    def parts(self, parts: ast.Tuple, name: str) -> Block:
        if any(isinstance(one, ast.Starred) for one in parts.elts):
            return super().parts(parts, name)
        return [
            ast.Assign([one], ast.Subscript(load(name), ast.Constant(at), ast.Load()))
            for at, one in enumerate(parts.elts)
        ]


class Collected(ast.NodeTransformer):
    """`xs = []` and a loop that appends as `xs = [f(x) for x in loader]`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, list(self._collected(block)))
        return node

    def _collected(self, block: Block) -> Iterator[ast.stmt]:
        waiting: ast.stmt | None = None
        for one in block:
            match waiting, one:
                case (
                    ast.Assign([ast.Name(id=name)], ast.List(elts=[])),
                    ast.For(
                        target=target,
                        iter=around,
                        body=[ast.Expr(ast.Call(ast.Attribute(ast.Name(id=into), "append"), [item], []))],
                        orelse=[],
                    ),
                ) if name == into:
                    waiting = None
                    yield assigned(
                        name, ast.ListComp(item, [ast.comprehension(target=target, iter=around, ifs=[], is_async=0)])
                    )
                    continue
                case _:
                    if waiting is not None:
                        yield waiting
            waiting = one
        if waiting is not None:
            yield waiting


class Early(ast.NodeTransformer):
    """An `if` at the end of a loop as `if not a: continue` in front of what it holds; of a function, as `return`."""

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.body = self._left(node.body, ast.Continue())
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body = self._left(node.body, ast.Continue())
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body = self._left(node.body, ast.Return(None))
        return node

    def _left(self, block: Block, leave: ast.stmt) -> Block:
        match block:
            case [*before, ast.If(test, body, [])]:
                return [*before, ast.If(ast.UnaryOp(ast.Not(), test), [leave], []), *body]
        return block


class Conditions(_Numbered):
    """`if f(x) > 3:` behind `flag = f(x) > 3` as `if flag:`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "finalbody"):  # an `elif` stays
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [one for given in block for one in self._named(given)])
        return node

    def _named(self, node: ast.stmt) -> Block:
        if not isinstance(node, ast.If) or isinstance(node.test, ast.Name):
            return [node]
        name = self.name()
        flag, node.test = assigned(name, node.test), load(name)
        return [flag, node]


class Apart(ast.NodeTransformer):
    """`if a and b:` as `if a:` with `if b:` in it."""

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        match node:
            case ast.If(ast.BoolOp(ast.And(), [first, *rest]), body, []):
                other = rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest)
                return ast.If(first, [ast.If(other, body, [])], [])
        return node


class Together(ast.NodeTransformer):
    """`if a:` with nothing but `if b:` in it as `if a and b:`."""

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        match node:
            case ast.If(first, [ast.If(second, body, [])], []):
                return ast.If(ast.BoolOp(ast.And(), [first, second]), body, [])
        return node


class Chosen(ast.NodeTransformer):
    """`if a: x = b`, `else: x = c` as `x = b if a else c`."""

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        match node:
            case ast.If(test, [ast.Assign([ast.Name(id=one)], first)], [ast.Assign([ast.Name(id=other)], second)]):
                if one == other:
                    return assigned(one, ast.IfExp(test, first, second))
        return node


class Unchosen(ast.NodeTransformer):
    """`x = b if a else c` as `if a: x = b`, `else: x = c`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        match node:
            case ast.Assign([ast.Name(id=name)], ast.IfExp(test, first, second)):
                return ast.If(test, [assigned(name, first)], [assigned(name, second)])
        return node


class Sums(ast.NodeTransformer):
    """`x += y` as `x = x + y`, of names."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            return node
        return assigned(node.target.id, ast.BinOp(load(node.target.id), node.op, node.value))


class Formatted(ast.NodeTransformer):
    """`f"{x:.3f}"` as `"{:.3f}".format(x)`."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        text, given = "", list[ast.expr]()
        for one in node.values:
            match one:
                case ast.Constant(value=str(said)):
                    text += said.replace("{", "{{").replace("}", "}}")
                case ast.FormattedValue(value, -1, ast.JoinedStr([ast.Constant(value=str(how))])):
                    text += "{:" + how + "}"
                    given.append(value)
                case ast.FormattedValue(value, -1, None):
                    text += "{}"
                    given.append(value)
                case _:
                    return node
        return ast.Call(ast.Attribute(ast.Constant(text), "format", ast.Load()), given, [])


class Constants(_Numbered):
    """Numbers and texts in calls and comparisons as names that stand at the top."""

    def __init__(self) -> None:
        super().__init__()
        self.made: Block = []

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.generic_visit(node)
        at = 0
        while at < len(node.body) and (
            isinstance(node.body[at], ast.Import | ast.ImportFrom)
            or (isinstance(one := node.body[at], ast.Expr) and isinstance(one.value, ast.Constant))
        ):
            at += 1
        node.body[at:at] = self.made
        return node

    def _named(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Constant) or type(node.value) not in (int, str):
            return node
        name = self.name().upper() + "C"
        self.made.append(assigned(name, node))
        return load(name)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.args = [self._named(one) for one in node.args]
        for one in node.keywords:
            one.value = self._named(one.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        node.comparators = [self._named(one) for one in node.comparators]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod):
            node.right = self._named(node.right)
        return node


class FromTorch(ast.NodeTransformer):
    """`torch.nn.Linear` as `nn.Linear`, behind `from torch import nn`."""

    def __init__(self) -> None:
        self.members: dict[str, None] = {}
        self.bound: set[str] = set()
        self.on = False

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for one in ast.walk(node):
            match one:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                    self.bound.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(name=name, asname=None):
                    self.bound.add(name)
                case ast.alias(asname=str(name)):
                    self.bound.add(name)
        self.on = any(isinstance(one, ast.Import) and [x.name for x in one.names] == ["torch"] for one in node.body)
        self.generic_visit(node)
        if self.members:
            at = next(at for at, one in enumerate(node.body) if isinstance(one, ast.Import))
            node.body.insert(at + 1, ast.ImportFrom("torch", [ast.alias(one) for one in self.members], 0))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        is_read = isinstance(node.value, ast.Name) and node.value.id == "torch" and isinstance(node.ctx, ast.Load)
        if not self.on or not is_read or node.attr in self.bound or hasattr(builtins, node.attr):
            return node
        self.members[node.attr] = None
        return load(node.attr)


class _Values(_Numbered):
    """`x = f(y)` with what the call gives put into something first."""

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        match node:
            case ast.Assign([ast.Name(id=name)], ast.Call() as call):
                return self.put(name, call)
        return [node]

    def put(self, name: str, call: ast.expr) -> Block:
        raise NotImplementedError


class InDicts(_Values):
    """`x = f(y)` as `d = {"value": f(y)}` and `x = d["value"]`."""

    def put(self, name: str, call: ast.expr) -> Block:
        held = self.name()
        read = ast.Subscript(load(held), ast.Constant("value"), ast.Load())
        return [assigned(held, ast.Dict([ast.Constant("value")], [call])), assigned(name, read)]


class InTuples(_Values):
    """`x = f(y)` as `x, _ = f(y), None`."""

    def put(self, name: str, call: ast.expr) -> Block:
        targets = ast.Tuple([store(name), store(self.name())], ast.Store())
        return [ast.Assign([targets], ast.Tuple([call, ast.Constant(None)], ast.Load()))]


class InLists(_Values):
    """`x = f(y)` as `held = []`, `held.append(f(y))` and `x = held[0]`."""

    def put(self, name: str, call: ast.expr) -> Block:
        held = self.name()
        append = ast.Call(ast.Attribute(load(held), "append", ast.Load()), [call], [])
        read = ast.Subscript(load(held), ast.Constant(0), ast.Load())
        return [assigned(held, ast.List([], ast.Load())), ast.Expr(append), assigned(name, read)]


class OnObject(ast.NodeTransformer):
    """What a method gives a name stands on the object: `self._x = f(y)`."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and [one.arg for one in method.args.args[:1]] == ["self"]:
                self._put(method)
        self.generic_visit(node)
        return node

    def _put(self, method: ast.FunctionDef) -> None:
        names = {
            target.id
            for one in ast.walk(method)
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Name)
        }
        aside = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.FunctionDef | ast.Global
        inner = [one for one in ast.walk(method) if isinstance(one, aside) and one is not method]
        names -= {one.id for part in inner for one in ast.walk(part) if isinstance(one, ast.Name)}
        names -= {one.arg for one in ast.walk(method.args) if isinstance(one, ast.arg)}
        renamed = _Attributes({one: f"_{one}" for one in names})
        method.body = [renamed.visit(one) for one in method.body]


class _Attributes(ast.NodeTransformer):
    """Names as attributes of `self`."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        attribute = self.names.get(node.id)
        return node if attribute is None else ast.Attribute(load("self"), attribute, copy.copy(node.ctx))


def as_attributes(names: dict[str, str]) -> ast.NodeTransformer:
    """A visitor that writes `self.ATTRIBUTE` for names."""
    return _Attributes(names)
