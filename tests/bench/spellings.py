"""Write the cases of all rules in other words, and see whether the same is found; by hand, for it is slow.

    python -m tests.bench.spellings [--show] [SPELLING...] [--only PART]

Each spelling leaves what a case does as it is: `x.to(device)` becomes `x.to(device=device)`, an argument that is a call gets a name
of its own, the body of a function stands in a `with`. What is lost there is a shape that a fact does not know, what comes new
a fact that some rule rests on and that is not found any more. `--show` prints the cases that differ, in both spellings.
"""

from __future__ import annotations

import argparse
import ast
import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterator

from torchlint.fix.examples import Example
from torchlint.text.normal_form import TURNED

from ..pages import cases, linted
from . import spelled_functions as functions
from . import spelled_loops as loops

Spelling = Callable[[ast.Module], ast.Module | None]
_THROUGH = """\
import functools

def _through(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner
"""


class _Enumerated(ast.NodeTransformer):
    """`for x in loader:` as `for _i, x in enumerate(loader):`"""

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if isinstance(node.iter, ast.Name):
            node.iter = ast.Call(ast.Name("enumerate", ast.Load()), [node.iter], [])
            node.target = ast.Tuple([ast.Name("_i", ast.Store()), node.target], ast.Store())
        return node


class _Renamed(ast.NodeTransformer):
    """`import torch` as `import torch as th`."""

    def __init__(self) -> None:
        self.on = False

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for one in node.names:
            if one.name == "torch" and one.asname is None:
                one.asname, self.on = "th", True
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("th", node.ctx) if self.on and node.id == "torch" else node


class _ByName(ast.NodeTransformer):
    """`x.to(device)` as `x.to(device=device)`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        is_move = isinstance(node.func, ast.Attribute) and node.func.attr == "to" and len(node.args) == 1
        if is_move and isinstance(node.args[0], ast.Name | ast.Attribute) and "dev" in ast.unparse(node.args[0]):
            node.keywords.insert(0, ast.keyword("device", node.args.pop()))
        return node


class _Flipped(ast.NodeTransformer):
    """`loss > 3` as `3 < loss`."""

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        flipped = TURNED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        return ast.Compare(node.comparators[0], [flipped()], [node.left]) if flipped is not None else node


class _Negated(ast.NodeTransformer):
    """`if a: b` as `if not a: pass`, `else: b`."""

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse or [ast.Pass()], node.body)


class _Annotated(ast.NodeTransformer):
    """`x = f()` as `x: Any = f()`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return ast.AnnAssign(node.targets[0], ast.Name("Any", ast.Load()), node.value, 1)
        return node


class _Wrapped(ast.NodeTransformer):
    """The body of each function in `with context():`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if not any(isinstance(one, ast.Global | ast.Nonlocal) for one in node.body):
            node.body = [self.wrapped(node.body)]
        return node

    def wrapped(self, body: list[ast.stmt]) -> ast.stmt:
        return ast.With([ast.withitem(ast.Call(ast.Name("context", ast.Load()), [], []))], body)


class _Tried(_Wrapped):
    """The body of each function in `try:`, with something in `finally:`."""

    def wrapped(self, body: list[ast.stmt]) -> ast.stmt:
        return ast.Try(body, [], [], [ast.Expr(ast.Call(ast.Name("done", ast.Load()), [], []))])


class _Aliased(ast.NodeTransformer):
    """`for x in loader:` behind `_1 = loader` as `for x in _1:`."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.iter, ast.Name):
            return [node]
        name, around = f"_{next(self.numbers)}", node.iter
        node.iter = ast.Name(name, ast.Load())
        return [ast.Assign([ast.Name(name, ast.Store())], around), node]


class _Parts(ast.NodeTransformer):
    """What gets a name of its own in a statement."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.numbers = numbers
        self.named: list[ast.stmt] = []

    def name(self, node: ast.expr) -> ast.Name:
        name = f"_{next(self.numbers)}"
        self.named.append(ast.Assign([ast.Name(name, ast.Store())], node))
        return ast.Name(name, ast.Load())

    def visit(self, node: ast.AST) -> ast.AST:
        """What runs on a condition, or several times, stays where it is."""
        aside = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.IfExp | ast.BoolOp
        visited: ast.AST = node if isinstance(node, aside) else super().visit(node)
        return visited


class _Arguments(_Parts):
    """`f(g(x))` behind `_1 = g(x)` as `f(_1)`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.args = [self.name(one) if isinstance(one, ast.Call) else one for one in node.args]
        return node


class _Links(_Parts):
    """`x.a().b()` behind `_1 = x.a()` as `_1.b()`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            node.func.value = self.name(node.func.value)
        return node


class _Named(ast.NodeTransformer):
    """Statements whose parts get names of their own in front of them."""

    def __init__(self, parts: type[_Parts]) -> None:
        self.parts, self.numbers = parts, itertools.count(1)

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        parts = self.parts(self.numbers)
        visited = parts.visit(node)
        assert isinstance(visited, ast.stmt)
        return [*parts.named, visited]

    visit_Expr = visit_Assign = visit_Return = _statement


def _in_main(tree: ast.Module) -> ast.Module | None:
    """What stands at the top in a function `main`."""
    if any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) for node in ast.walk(tree)):
        return None
    head = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    rest = [one for one in tree.body if one not in head]
    starts = ast.parse("def main(): ...\n\nif __name__ == '__main__':\n    main()")
    main = starts.body[0]
    assert isinstance(main, ast.FunctionDef)
    main.body = rest or main.body
    return ast.Module([*head, *starts.body], []) if rest else None


def _decorated(tree: ast.Module) -> ast.Module | None:
    """Functions behind a decorator that calls them as they are."""
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    for one in functions:
        one.decorator_list.insert(0, ast.Name("_through", ast.Load()))
    futures = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    rest = [one for one in tree.body if one not in futures]
    return ast.Module([*futures, *ast.parse(_THROUGH).body, *rest], []) if functions else None


def _by(make: Callable[[], ast.NodeTransformer]) -> Spelling:
    def spelled(tree: ast.Module) -> ast.Module:
        visited = make().visit(tree)
        assert isinstance(visited, ast.Module)
        return visited

    return spelled


SPELLINGS: dict[str, Spelling] = {
    "enumerated": _by(_Enumerated),
    "renamed": _by(_Renamed),
    "by-name": _by(_ByName),
    "main": _in_main,
    "aliased": _by(_Aliased),
    "decorated": _decorated,
    "flipped": _by(_Flipped),
    "negated": _by(_Negated),
    "with": _by(_Wrapped),
    "try": _by(_Tried),
    "arguments": _by(lambda: _Named(_Arguments)),
    "links": _by(lambda: _Named(_Links)),
    "annotated": _by(_Annotated),
    "progress": _by(loops.Progress),
    "generated": _by(loops.Generated),
    "taken": _by(loops.Taken),
    "counted": _by(loops.Counted),
    "whole": _by(loops.Whole),
    "indexed": _by(loops.Indexed),
    "collected": _by(loops.Collected),
    "early": _by(loops.Early),
    "conditions": _by(loops.Conditions),
    "apart": _by(loops.Apart),
    "together": _by(loops.Together),
    "chosen": _by(loops.Chosen),
    "unchosen": _by(loops.Unchosen),
    "sums": _by(loops.Sums),
    "formatted": _by(loops.Formatted),
    "constants": _by(loops.Constants),
    "from-torch": _by(loops.FromTorch),
    "dicts": _by(loops.InDicts),
    "tuples": _by(loops.InTuples),
    "lists": _by(loops.InLists),
    "object": _by(loops.OnObject),
    "extracted": _by(functions.Extracted),
    "methods": _by(lambda: functions.Extracted(as_methods=True)),
    "bodies": _by(functions.Bodies),
    "body-methods": _by(lambda: functions.Bodies(as_methods=True)),
    "runners": _by(functions.Runners),
    "inner": _by(functions.Inner),
}


def _spelled(case: Example, spelling: Spelling) -> tuple[str, str] | None:
    """A case as `ast` writes it, and in other words; None where these are the same, or the case is no Python."""
    try:
        tree = ast.parse(case.prelude + case.code)
    except SyntaxError:
        return None
    other = spelling(copy.deepcopy(tree))
    if other is None:
        return None
    one, another = ast.unparse(tree), ast.unparse(ast.fix_missing_locations(other))
    return (one, another) if one != another else None


def _told(case: Example, text: str) -> Counter[str]:
    return Counter(finding.code for finding in linted(case, text.encode()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.spellings", description=__doc__)
    parser.add_argument("spellings", nargs="*", metavar="SPELLING", help=f"of {', '.join(SPELLINGS)} (default: all)")
    parser.add_argument("--only", default="", metavar="PART", help="cases with that in their names")
    parser.add_argument("--show", action="store_true", help="print the cases that differ")
    args = parser.parse_args()
    print("| spelling | cases | findings | lost | new |\n|---|---:|---:|---:|---:|")
    for name in args.spellings or SPELLINGS:
        count, found, lost, new = 0, 0, Counter[str](), Counter[str]()
        for case in (one for one in cases() if args.only in str(one.name)):
            texts = _spelled(case, SPELLINGS[name])
            if texts is None:
                continue
            before, after = (_told(case, text) for text in texts)
            count, found = count + 1, found + before.total()
            lost += before - after
            new += after - before
            if args.show and before != after:
                print(f"# {case.name}: lost {dict(before - after)}, new {dict(after - before)}", *texts, sep="\n\n")
        print(f"| {name} | {count:,} | {found:,} | {lost.total()} | {new.total()} |", flush=True)


if __name__ == "__main__":
    main()
