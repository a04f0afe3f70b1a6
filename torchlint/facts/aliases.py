"""Whether anybody may write to the host memory of a batch while a copy of it is under way: who holds it, and what they do."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from . import bindings, calls, names
from .flow import contains
from .module import Function
from .values import Value

_ABOUT = frozenset("shape dtype device ndim layout itemsize nbytes is_cuda is_leaf is_sparse requires_grad".split())
"""Attributes that say something of a tensor, and hold none of its memory."""
_READS = frozenset(
    """size dim numel nelement ndimension element_size stride tolist item sum mean std var max min amax amin argmax argmin
    any all count_nonzero is_contiguous is_floating_point is_pinned clone keys""".split()
)
"""Methods that read, and give nothing that shares memory."""
_MOVES = frozenset(("to", "cuda", "xpu"))
_PARTS = frozenset(("items", "values", "get"))
"""Methods of a dictionary that give what it holds."""
_BUILTINS = frozenset("len isinstance type print str repr float int bool hasattr range id".split())
_WRAPPERS = frozenset("enumerate tqdm trange zip iter islice".split())
_MANY = 100
"""A name with more uses in one function is not looked through: each copy would look at each of them."""
_PASSED_ON = (ast.Tuple, ast.List, ast.Starred)


class Batch:
    """A part of a batch that a function copies, and the names that lead to its memory."""

    def __init__(self, function: Function, move: ast.Call, value: Callable[[ast.expr], Value]) -> None:
        self._function = function
        self._flow = function.flow
        self._value = value
        self._statement = self._flow.statement(move)
        assert isinstance(move.func, ast.Attribute)
        self._receiver = move.func.value
        loops = self._flow.loops(self._statement)
        self._loop = next((loop for loop in loops if not isinstance(loop, ast.While) and self._brings(loop.iter)), None)
        """The loop that brings the batches."""

    def is_left_alone(self) -> bool:
        """Whether it is proven that nobody writes to it from the copy on: all that hold it are seen, and only read."""
        root = _root(self._receiver)
        todo = [root] if root is not None else []
        known = set(todo)
        while todo:
            name = todo.pop()
            origins = [*self._origins(name)]
            found = self._followers(name)
            if not origins or None in origins or found is None or self._is_captured(name):
                return False
            new = {one for one in (*origins, *found) if one} - known
            known |= new
            todo += new
        return root is not None and self._loop is not None

    def _brings(self, iterable: ast.expr) -> bool:
        """Whether a loader gives the elements of an iterable."""
        if isinstance(iterable, ast.Call) and names.last(iterable.func) in _WRAPPERS:
            return any(self._brings(given) for given in iterable.args)
        return self._value(iterable).kind == "loader"

    # Where it comes from

    def _origins(self, name: str) -> Iterator[str | None]:
        """The names that a name has its memory from; "" where it is new, None where that is not known."""
        if any(name == parameter.arg for parameter in self._function.parameters):
            yield None
        for store in self._flow.stores.get(name, ()):
            node: ast.AST = store
            parent = self._flow.parents[node]
            while isinstance(parent, _PASSED_ON):
                node, parent = parent, self._flow.parents[parent]
            if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension) and parent.target is node:
                yield from self._elements(parent.iter)
            elif isinstance(parent, ast.Assign):
                yield from self._assigned(parent.value)
            elif not isinstance(parent, ast.AugAssign | ast.Delete):
                yield None

    def _elements(self, iterable: ast.expr) -> Iterator[str | None]:
        """Where the elements of an iterable come from: a loader makes each anew."""
        called = names.last(iterable.func) if isinstance(iterable, ast.Call) else ""
        if self._value(iterable).kind == "loader" or called == "range" or isinstance(iterable, ast.Constant):
            yield ""
        elif isinstance(iterable, ast.Call) and called in _WRAPPERS:
            for given in iterable.args:
                yield from self._elements(given)
        elif isinstance(iterable, ast.Call) and called in (*_PARTS, "keys"):
            yield _root(iterable.func)
        else:
            yield _root(iterable)

    def _assigned(self, value: ast.expr) -> Iterator[str | None]:
        if isinstance(value, ast.Tuple | ast.List):
            for part in value.elts:
                yield from self._assigned(part)
        elif isinstance(value, ast.DictComp):
            yield from self._assigned(value.value)
        elif isinstance(value, ast.ListComp):
            yield from self._assigned(value.elt)
        elif isinstance(value, ast.Constant) or (
            isinstance(value, ast.Call) and (self._is_move(value) or names.last(value.func) == "next")
        ):
            yield ""
        else:
            yield _root(value)

    # What is done with it

    def _followers(self, name: str) -> set[str] | None:
        """The names that a name's memory is given to; None where something else gets it, or writes to it."""
        overwritten = self._overwrites(name)
        found: set[str] = set()
        uses = (*self._flow.loads.get(name, ()), *self._flow.stores.get(name, ()))
        if len(uses) > _MANY:
            return None
        for node in uses:
            if not (overwritten and self._is_behind(node)) and not self._is_copy(node):
                given = self._given_to(node)
                if given is None:
                    return None
                found |= given
        return found

    def _given_to(self, name: ast.Name) -> set[str] | None:
        """The names that one use of a name gives its memory to; None where that is not known, or the use writes."""
        node: ast.AST = name
        parent = self._flow.parents[node]
        if not isinstance(name.ctx, ast.Load):
            return None if isinstance(parent, ast.AugAssign) else set()
        while (upwards := self._shares(node, parent)) is not None:
            node, parent = upwards, self._flow.parents[upwards]
        if isinstance(parent, ast.Assign) and parent.value is node:
            return _names(parent.targets)
        if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
            pairs = isinstance(node, ast.Call) and names.last(node.func) == "items"
            target = parent.target
            return _names(target.elts[1:] if pairs and isinstance(target, ast.Tuple) else [target])
        return set() if self._only_reads(node, parent) else None

    def _shares(self, node: ast.AST, parent: ast.AST) -> ast.AST | None:
        """The larger expression that gives the same memory, or holds it."""
        if isinstance(parent, ast.Attribute):
            called = self._flow.parents[parent]
            if isinstance(called, ast.Call) and called.func is parent:
                return called if parent.attr in _PARTS else None
            return parent if parent.attr not in _ABOUT else None
        if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
            return parent
        if isinstance(parent, _PASSED_ON):
            return parent
        return (
            parent
            if isinstance(parent, ast.Call) and names.last(parent.func) in _WRAPPERS and node in parent.args
            else None
        )

    def _only_reads(self, node: ast.AST, parent: ast.AST) -> bool:
        if isinstance(parent, ast.Attribute):
            called = self._flow.parents[parent]
            if isinstance(called, ast.Call) and called.func is parent:
                plain = not any(keyword.arg in ("out", None) for keyword in called.keywords)
                return (parent.attr in _READS and plain) or self._is_move(called)
            return parent.attr in _ABOUT
        if isinstance(parent, ast.Subscript):
            key = isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str)
            return parent.slice is node or key or isinstance(parent.ctx, ast.Del)
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in _BUILTINS
        if isinstance(parent, ast.BinOp):
            return isinstance(node, ast.expr) and self._value(node).kind == "tensor"
        tested = isinstance(parent, ast.If | ast.While | ast.Assert) and parent.test is node
        return tested or isinstance(parent, ast.UnaryOp | ast.Compare | ast.FormattedValue | ast.Expr)

    def _is_move(self, call: ast.Call) -> bool:
        """Whether a call moves a tensor to a device: `to(torch.float32)` may give the same one."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _MOVES:
            return False
        if call.func.attr != "to":
            return True
        given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "device"), None)
        return given is not None and (calls.is_device(self._value(given)) or calls.named_like_device(given))

    def _is_captured(self, name: str) -> bool:
        """Whether a function inside of this one uses the name, which is everyone's where it is global."""
        for function, _ in self._function.module.loads.get(name, ()):
            scope = function.parent
            while scope is not None:
                if scope is self._function and not function.binds(name):
                    return True
                scope = scope.parent
        return name in self._flow.globals

    # The copy in its place

    def _overwrites(self, name: str) -> bool:
        """Whether the statement that copies puts the copy in the place of what the name led to."""
        statement = self._statement
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        target = statement.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            return True
        whole = _plain(self._receiver)
        return _root(self._receiver) == name and any(_plain(one) == whole for one in targets)

    def _is_copy(self, node: ast.Name) -> bool:
        """Whether a name leads to a copy on the device where it is read."""
        found = self._function.bindings.reach.get(node) if isinstance(node.ctx, ast.Load) else None
        value: ast.expr | None = None
        if isinstance(found, bindings.Part) and isinstance(found.whole, bindings.Assigned):
            whole = found.whole.node
            exact = isinstance(whole, ast.Tuple | ast.List) and found.count == len(whole.elts)
            value = whole.elts[found.at] if exact and isinstance(whole, ast.Tuple | ast.List) else None
        elif isinstance(found, bindings.Assigned):
            value = found.node
        if isinstance(value, ast.DictComp):
            value = value.value
        elif isinstance(value, ast.ListComp):
            value = value.elt
        return isinstance(value, ast.Call) and self._is_move(value)

    def _is_behind(self, node: ast.Name) -> bool:
        """Whether a place is reached only when the copy has taken the place of what it was made of."""
        if contains(self._statement, node):
            return True
        end = (self._statement.end_lineno or 0, self._statement.end_col_offset or 0)
        if (node.lineno, node.col_offset) < end or self._loop is None:
            return False
        inner = (loop for loop in self._flow.loops(self._statement) if contains(self._loop, loop))
        return not any(contains(loop, node) for loop in inner if loop is not self._loop)


def _names(targets: list[ast.expr]) -> set[str] | None:
    """The names of targets; None where one is no name."""
    found: set[str] = set()
    todo = [*targets]
    while todo:
        target = todo.pop()
        if isinstance(target, ast.Tuple | ast.List):
            todo += target.elts
        elif isinstance(target, ast.Starred):
            todo.append(target.value)
        elif isinstance(target, ast.Name):
            found.add(target.id)
        else:
            return None
    return found


def _root(node: ast.expr) -> str | None:
    """The name that an expression starts at; None for one that starts elsewhere."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _plain(node: ast.expr) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")
