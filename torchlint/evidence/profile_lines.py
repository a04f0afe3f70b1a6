"""Which line of a function made a call that a profile shows.

A profile names functions and what they called, in order, but not the lines. A call that only one place of the function
can have made is of that line. Where several can, the calls before and after it tell which, as a function runs from
place to place; where they do not, all places are told, and none is picked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = {
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}
_TYPES = frozenset(
    ("bool", "bytes", "complex", "dict", "enumerate", "filter", "float", "frozenset", "int", "list", "map", "object",
     "range", "reversed", "set", "slice", "str", "super", "tuple", "type", "zip")
)  # fmt: skip
"""Calls of these show in no profile."""
_WRAPPERS = frozenset(("wrapper", "inner", "_fn", "wrapped", "decorate_context", "decorate_fwd", "decorate_bwd"))
_OPERATORS: dict[str, tuple[type[ast.AST], ...]] = {
    "add": (ast.Add,), "add_": (ast.Add,), "sub": (ast.Sub,), "sub_": (ast.Sub,), "rsub": (ast.Sub,),
    "mul": (ast.Mult,), "mul_": (ast.Mult,), "div": (ast.Div,), "div_": (ast.Div,), "matmul": (ast.MatMult,),
    "floor_divide": (ast.FloorDiv,), "remainder": (ast.Mod,), "pow": (ast.Pow,), "neg": (ast.USub,),
    "gt": (ast.Gt, ast.Lt), "lt": (ast.Lt, ast.Gt), "ge": (ast.GtE, ast.LtE), "le": (ast.LtE, ast.GtE),
    "eq": (ast.Eq,), "ne": (ast.NotEq,), "bitwise_and": (ast.BitAnd,), "bitwise_or": (ast.BitOr,),
    "bitwise_xor": (ast.BitXor,), "bitwise_not": (ast.Invert,),
}  # fmt: skip
_STORES = frozenset(("index_put_", "copy_", "fill_", "masked_fill_"))
_LOADS = frozenset(("index", "select", "slice", "nonzero"))
_BUILT_IN = re.compile(r"<built-in (?:method|function) (?P<name>\w*)")
FRAME = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): (?P<function>.+)$", re.DOTALL)


FETCH = "fetch"
"""What a loader does."""


class Child(NamedTuple):
    """What a function called: `call` by name (`item`), a `module`, an `operator` without a call, or `any` call.

    `loop` is the fetching of the next batch.
    """

    how: str
    name: str = ""


def child_of(kind: str, name: str, doing: str = "") -> Child:
    """What a span right below a function's is; `doing` is what torch says that it does there."""
    if doing:
        return Child("loop") if doing == FETCH else Child("call", doing)
    if kind == "cpu_op":
        return Child("operator", name.rpartition("::")[2])
    if found := _BUILT_IN.match(name):
        return Child("call", found["name"]) if found["name"] else Child("any")
    if found := FRAME.match(name):
        called = found["function"]
        return Child("any") if called.startswith(("_", "<")) or called in _WRAPPERS else Child("call", called)
    return Child("module") if name.startswith("nn.Module: ") else Child("other")


_TRUTH = Child("operator", "is_nonzero")


class Site(NamedTuple):
    """A place of a function that calls or computes something: its node and line."""

    node: ast.AST
    line: int
    always: bool
    """Whether it runs whenever what is around it does: it stands behind no condition."""
    loop: ast.AST | None
    """The innermost loop around it."""
    truth: bool = False
    """Whether the node's truth is asked for here, and nothing else."""


class _Around(NamedTuple):
    """What is around a node."""

    always: bool = True
    loop: ast.AST | None = None

    def maybe(self) -> _Around:
        return self._replace(always=False)


class Function:
    """A function of a file with its places in the order in which they run."""

    def __init__(self, node: ast.AST, name: str, last: int) -> None:
        self.node, self.name, self.last = node, name, last
        self.line: int = getattr(node, "lineno", 1)

    @property
    def first(self) -> int:
        """The line that a profile names: a decorator's, if there is one."""
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        return min([self.line, *(one.lineno for one in decorators)])

    @property
    def all_lines(self) -> range:
        return range(self.first, self.last + 1)

    @cached_property
    def sites(self) -> list[Site]:
        body = getattr(self.node, "body", None)
        if body is None:  # a comprehension
            return list(_site(self.node, _Around()))
        return list(_sites(body if isinstance(body, list) else [body], _Around()))

    def lines(self, children: Sequence[Child], began: bool) -> list[tuple[int, ...]]:
        """The lines that each of the calls can have been made at, in their order: one where it is known.

        `began` says that the calls are all since the function was entered.
        """
        possible = [[at for at, site in enumerate(self.sites) if _may(site, child)] for child in children]
        known: list[int | None] = [one[0] if len(one) == 1 else None for one in possible]
        found = [tuple(sorted({self.sites[at].line for at in one})) for one in possible]
        start = 0
        while start < len(children):
            if known[start] is not None:
                start += 1
                continue
            end = start
            while end < len(children) and known[end] is None:
                end += 1
            before = known[start - 1] if start else None
            after = known[end] if end < len(children) else None
            for at, line in self._between(range(start, end), possible, children, before, after, began).items():
                found[at] = (line,)
            start = end
        return found

    def _between(
        self,
        run: range,
        possible: Sequence[Sequence[int]],
        children: Sequence[Child],
        before: int | None,
        after: int | None,
        began: bool,
    ) -> dict[int, int]:
        """The lines of calls between two known places."""
        wraps = before is not None and after is not None and after <= before

        def inside(at: int) -> bool:
            late, early = before is None or at > before, after is None or at < after
            return late or early if wraps else late and early

        left = {at: [one for one in possible[at] if inside(one)] for at in run}
        found = {}
        alike: dict[Child, list[int]] = {}
        for at in run:
            alike.setdefault(children[at], []).append(at)
        whole = not wraps and (before is not None or began)
        for group in alike.values():
            sites = left[group[0]]
            plain = all(self.sites[one].always for one in sites)
            if len(sites) == 1 and (len(group) == 1 or self._repeats(self.sites[sites[0]], before, after)):
                found.update(dict.fromkeys(group, self.sites[sites[0]].line))
            elif len(sites) == len(group) and plain and whole and (after is not None or len(group) > 1):
                found.update((at, self.sites[one].line) for at, one in zip(group, sites, strict=True))
        return found

    def _repeats(self, site: Site, before: int | None, after: int | None) -> bool:
        """Whether it runs again and again while nothing before and after it does: in a loop of its own."""
        ends = [self.sites[at].loop for at in (before, after) if at is not None]
        return site.loop is not None and bool(ends) and site.loop not in ends


def _sites(nodes: Sequence[ast.AST], around: _Around) -> Iterator[Site]:
    for node in nodes:
        yield from _site(node, around)


def _site(node: ast.AST, around: _Around) -> Iterator[Site]:
    """The places of a node in the order in which they run."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        held = around._replace(loop=node) if isinstance(node, ast.While) else around
        yield from _truth(node.test, held)
        body = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [*node.body, *node.orelse]
        yield from _sites(body, held.maybe())
    elif isinstance(node, ast.BoolOp):
        for number, value in enumerate(node.values):
            yield from _truth(value, around if number == 0 else around.maybe())
    elif isinstance(node, ast.For | ast.AsyncFor):
        held = around._replace(loop=node)
        yield from _site(node.iter, around)
        yield _made(node, node.iter.lineno, held)
        yield from _sites(node.body, held)
        yield from _sites(node.orelse, around.maybe())
    elif isinstance(node, ast.comprehension):
        yield from _site(node.iter, around)
        yield _made(node, node.iter.lineno, around)
        for test in node.ifs:
            yield from _truth(test, around)
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        held = around._replace(loop=node)
        yield from _sites(node.generators, held)
        values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        yield from _sites(values, held.maybe() if any(one.ifs for one in node.generators) else held)
    elif isinstance(node, ast.Assert) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        yield from _truth(node.test if isinstance(node, ast.Assert) else node.operand, around)
    else:
        yield from _plain(node, around)


def _plain(node: ast.AST, around: _Around) -> Iterator[Site]:
    held = around.maybe() if isinstance(node, ast.Try | ast.Match | ast.ExceptHandler) else around
    inner = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and node.value is not None:
        inner = [node.value, *(one for one in inner if one is not node.value)]  # the value comes first
    yield from _sites(inner, held)
    if isinstance(node, ast.Call | ast.Subscript | ast.BinOp | ast.UnaryOp | ast.Compare | ast.AugAssign):
        yield _made(node, _line(node), held)


def _truth(node: ast.AST, around: _Around) -> Iterator[Site]:
    yield from _site(node, around)
    yield Site(node, _line(node), around.always, around.loop, truth=True)


def _made(node: ast.AST, line: int, around: _Around) -> Site:
    return Site(node, line, around.always, around.loop)


def _line(node: ast.AST) -> int:
    """The line that runs when a node does: of a method call in a chain the one that its name is in."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return int(node.func.end_lineno or node.lineno)
    return int(getattr(node, "lineno", 1))


def _called(node: ast.AST) -> str:
    """The last name of what a call calls, "" if it has none."""
    if not isinstance(node, ast.Call):
        return ""
    target = node.func
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""


def _may(site: Site, child: Child) -> bool:
    """Whether a place can have made the call."""
    node = site.node
    if site.truth or child == _TRUTH:
        return child == _TRUTH and (site.truth or _asks(node))
    if child.how == "call":
        return _called(node) == child.name
    if child.how in ("any", "module"):
        return isinstance(node, ast.Call) and _called(node) not in _TYPES
    if child.how == "loop":
        return isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) or _called(node) == "next"
    return child.how == "operator" and _computes(node, child.name)


def _asks(node: ast.AST) -> bool:
    """Whether something is asked for its truth by `bool()` and the like, in a chain of comparisons, or by `in`."""
    if isinstance(node, ast.Compare):
        return len(node.ops) > 1 or isinstance(node.ops[0], ast.In | ast.NotIn)
    return _called(node) in ("bool", "any", "all")


def _computes(node: ast.AST, name: str) -> bool:
    if name in ("item", "_local_scalar_dense"):
        return _called(node) in ("float", "int", "complex", "range") or isinstance(node, ast.Subscript)
    if name in _STORES:
        return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    if name in _LOADS:
        return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    if (wanted := _OPERATORS.get(name)) is None:
        return isinstance(node, ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript | ast.AugAssign)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.AugAssign):
        return isinstance(node.op, wanted)
    return isinstance(node, ast.Compare) and any(isinstance(one, wanted) for one in node.ops)


class Functions:
    """The functions of a file."""

    def __init__(self, source: bytes) -> None:
        self.tree = ast.parse(source)
        end = len(source.splitlines()) + 1
        self._module = Function(self.tree, "<module>", end)
        self._named: dict[str, list[Function]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._add(node, node.name)
            elif isinstance(node, ast.Lambda):
                self._add(node, "<lambda>")
            else:
                for name, kind in _COMPREHENSIONS.items():
                    if isinstance(node, kind) and isinstance(node, ast.expr):
                        self._add(node, name)

    def _add(self, node: ast.stmt | ast.expr, name: str) -> None:
        self._named.setdefault(name, []).append(Function(node, name, int(node.end_lineno or node.lineno)))

    def find(self, name: str, line: int) -> tuple[Function, bool] | None:
        """The function of that name at that line, and whether the line is its first: it was entered just then.

        A function that ran already when the profile began is told by the line that it was at.
        """
        if name == "<module>":
            return self._module, line <= 1
        around = [one for one in self._named.get(name, ()) if one.first <= line <= one.last]
        if not around:
            return None
        innermost = max(around, key=lambda one: one.first)
        return innermost, line in (innermost.first, innermost.line)
