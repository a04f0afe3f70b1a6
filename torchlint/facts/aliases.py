"""Whether anybody may write to the host memory of a batch while a copy of it is under way: who holds it, and what they do."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from . import arguments, bindings, common_names, names
from .flow import contains
from .module import Function
from .nodes import elements, keyword_of, root_of
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
WRAPPERS = frozenset("enumerate tqdm trange zip iter islice".split())
_MANY = 100
"""A name with more uses in one function is not looked through: each copy would look at each of them."""
_PASSED_ON = (ast.Tuple, ast.List, ast.Starred)


def gone_through(iterable: ast.expr) -> ast.expr:
    """What `enumerate(...)`, `tqdm(...)` and the like go through."""
    while isinstance(iterable, ast.Call) and iterable.args and names.last(iterable.func) in WRAPPERS:
        iterable = iterable.args[0]
    return iterable


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
        root = root_of(self._receiver)
        known = self._origins(root) if root is not None else None
        if root is None or known is None or self._loop is None:
            return False
        known.add(root.id)
        todo = [*known]
        while todo:
            name = todo.pop()
            found = self._followers(name)
            if found is None or self._is_captured(name):
                return False
            todo += found - known
            known |= found
        return True

    def _brings(self, iterable: ast.expr) -> bool:
        """Whether a loader gives the elements of an iterable."""
        if isinstance(iterable, ast.Call) and names.last(iterable.func) in WRAPPERS:
            return any(self._brings(given) for given in iterable.args)
        return self._value(iterable).kind == "loader"

    # Where it comes from

    def _origins(self, read: ast.Name) -> set[str] | None:
        """The names that what is read has come from, out of a loader; None where something else may hold it, too."""
        found: set[str] = set()
        todo = [self._binding(read)]
        for binding in bindings.leaves(todo):
            if binding is None:
                return None
            for name in self._sources(binding):
                if name is None:
                    return None
                found.add(name.id)
                todo.append(self._binding(name))
        return found

    def _binding(self, read: ast.Name) -> bindings.Binding | None:
        """What a name is bound to where it is read; None where it may be what the function was called with."""
        found = self._function.bindings.reach.get(read)
        if read.id not in self._function.positions:
            return found
        whole = found.whole if isinstance(found, bindings.Part) else found
        if isinstance(whole, bindings.Assigned):
            block = self._flow.block(statement := self._flow.statement(whole.node))
            places = [] if block is None else [block.index.get(around, -1) for around in self._flow.chain(read)]
            return found if block is not None and max(places) > block.index[statement] else None
        return found if isinstance(whole, bindings.Iterated) else None

    def _sources(self, binding: bindings.Binding) -> Iterator[ast.Name | None]:
        """The names that a binding takes its value from; None where that is not known."""
        match binding:
            case bindings.Iterated():
                yield from self._elements(binding.node)
            case bindings.Assigned():
                yield from self._assigned(binding.node)
            case bindings.Changed() if isinstance(binding.node.func, ast.Attribute):
                yield root_of(binding.node.func.value)
            case bindings.Handed():
                yield binding.given
            case bindings.Stored():
                yield root_of(binding.node.value)
            case bindings.Narrowed():
                yield root_of(binding.node.args[0])
            case _:
                yield None

    def _elements(self, iterable: ast.expr) -> Iterator[ast.Name | None]:
        """Where the elements of an iterable come from: a loader makes each anew."""
        called = names.last(iterable.func) if isinstance(iterable, ast.Call) else ""
        if self._value(iterable).kind == "loader" or called == "range" or isinstance(iterable, ast.Constant):
            return
        if isinstance(iterable, ast.Call) and called in WRAPPERS:
            for given in iterable.args:
                yield from self._elements(given)
        elif isinstance(iterable, ast.Call) and called in (*_PARTS, "keys"):
            yield root_of(iterable.func)
        else:
            yield root_of(iterable)

    def _assigned(self, value: ast.expr) -> Iterator[ast.Name | None]:
        if isinstance(value, ast.Tuple | ast.List):
            for part in value.elts:
                yield from self._assigned(part)
        elif isinstance(value, ast.DictComp):
            yield from self._assigned(value.value)
        elif isinstance(value, ast.ListComp):
            yield from self._assigned(value.elt)
        elif not isinstance(value, ast.Constant) and not (
            isinstance(value, ast.Call) and (self._is_move(value) or names.last(value.func) == "next")
        ):
            yield root_of(value)

    # What is done with it

    def _followers(self, name: str) -> set[str] | None:
        """The names that a name's memory is given to; None where something else gets it, or writes to it."""
        overwritten = self._overwrites(name)
        found: set[str] = set()
        uses = (*self._flow.loads.get(name, ()), *self._flow.stores.get(name, ()))
        if len(uses) > _MANY:
            return None
        for node in uses:
            gone = self._is_before(node) or (overwritten and self._is_behind(node))
            if not gone and not self._is_copy(node):
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
        wrapped = isinstance(parent, ast.Call) and names.last(parent.func) in WRAPPERS and node in parent.args
        return parent if wrapped or isinstance(parent, _PASSED_ON) else None

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
        given = call.args[0] if call.args else keyword_of(call, "device")
        return given is not None and (arguments.is_device(self._value(given)) or common_names.named_like_device(given))

    def _is_captured(self, name: str) -> bool:
        """Whether a function inside of this one uses the name, which is everyone's where it is global."""
        readers = (function for function, _ in self._function.module.loads.get(name, ()))
        inner = (one for one in readers if one is not self._function and self._function in one.scopes)
        return name in self._flow.globals or any(not one.binds(name) for one in inner)

    # The copy in its place

    def _overwrites(self, name: str) -> bool:
        """Whether the statement that copies puts the copy in the place of what the name led to."""
        statement = self._statement
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        target = statement.targets[0]
        targets = elements(target)
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            return True
        whole = _plain(self._receiver)
        root = root_of(self._receiver)
        return root is not None and root.id == name and any(_plain(one) == whole for one in targets)

    def _is_before(self, node: ast.Name) -> bool:
        """Whether a place runs before the loop that brings the batches, and not again after it."""
        assert self._loop is not None
        start = (self._loop.lineno, self._loop.col_offset)
        around = self._flow.loops(self._loop)
        return (node.lineno, node.col_offset) < start and not any(contains(loop, node) for loop in around)

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


def _plain(node: ast.expr) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")
