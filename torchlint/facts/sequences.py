"""What stands behind a layer in the `nn.Sequential` that it becomes a part of, however that is put together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol

from . import layer_outputs, names, syntax
from .flow import contains
from .makers import CallSite
from .module import Class, Function, key_of
from .nodes import string
from .uses import only_read, only_read_inside
from .values import Value

_SEQUENTIAL = "torch.nn.Sequential"
_LIST = "torch.nn.ModuleList"
_MOST = 40
"""Of more calls of a function none is asked what becomes of the list that it gives."""
_DEPTH = 3
"""Through so many functions a list is handed."""
_LISTS = ast.List | ast.Tuple
Chosen = Callable[[ast.stmt | None], ast.stmt | None]
"""Which statement runs, of one that branches."""


class Code(Protocol):
    """What is asked of the project."""

    def value(self, function: Function, node: ast.expr) -> Value: ...
    def resolve(self, function: Function, node: ast.expr) -> str | None: ...
    def base_name(self, klass: Class, base: ast.expr) -> str | None: ...
    def method(self, klass: Class, name: str) -> Function | None: ...
    def of_heirs(self, klass: Class, name: str, most: int = ...) -> list[Function]: ...
    def all_runs_of(self, function: Function, most: int) -> Sequence[CallSite] | None: ...


class Sequences:
    """The sequences that functions of a project put together."""

    def __init__(self, code: Code, chosen: Chosen) -> None:
        self._code = code
        self._chosen = chosen

    def behind(self, function: Function, item: ast.expr) -> ast.expr | None:
        """What comes next in the sequence that an item is put into; None where that is not known, or there is none."""
        flow = function.flow
        item = only_read_inside(function, item) or item  # `conv = nn.Conv2d(...)`, `layers += [conv, norm]`
        parent = flow.parents.get(item)
        if isinstance(parent, ast.Tuple) and len(parent.elts) == 2 and parent.elts[1] is item:
            # ("conv", nn.Conv2d(...)) of an OrderedDict
            item, parent = parent, flow.parents.get(parent)
        siblings: list[ast.expr] = []
        if isinstance(parent, ast.Call) and item in parent.args and self._is_sequence(function, parent):
            siblings = parent.args
        elif isinstance(parent, _LISTS) and (
            self._becomes(function, parent, _DEPTH) or self._is_list_in_order(function, parent)
        ):
            siblings = parent.elts
        if item in siblings and item is not siblings[-1]:
            behind = siblings[siblings.index(item) + 1]
            return behind.elts[1] if isinstance(behind, ast.Tuple) and len(behind.elts) == 2 else behind
        return self._added_next(function, item)

    def _added_next(self, function: Function, item: ast.expr) -> ast.expr | None:
        """`layers.append(conv)`, or `layers += [conv]`, and the next statement adds a norm to the same."""
        statement = function.flow.statement(item)
        here, next_ = _added(statement), _added(self._next(function, statement))
        if here is None or next_ is None or not next_[1] or here[1][-1:] != [item]:
            return None
        holder = key_of(here[0])
        if holder is None or holder != key_of(next_[0]) or isinstance(next_[1][0], ast.Starred):
            return None
        if _is_replaced(function, statement):
            return None
        return next_[1][0] if self._is_put_together(function, here[0]) else None

    def _next(self, function: Function, statement: ast.stmt) -> ast.stmt | None:
        """The statement that runs next, behind those that name what it alone reads: `norm = nn.BatchNorm2d(8)`, `layers.append(norm)`."""
        named: list[ast.Name] = []
        next_ = self._chosen(syntax.following(function.flow, statement))
        while isinstance(next_, ast.Assign) and isinstance(next_.value, ast.Call):
            read = only_read(function, next_.value)
            if read is None:
                break
            named.append(read)
            next_ = self._chosen(syntax.following(function.flow, next_))
        return next_ if next_ is not None and all(contains(next_, read) for read in named) else None

    def _is_put_together(self, function: Function, holder: ast.expr) -> bool:
        """Whether what layers are added to is a sequence, or becomes one."""
        if isinstance(holder, ast.Name) and holder.id == function.own_name:
            return function.cls is not None and self._is_of_sequence(function.cls)
        if self._runs_in_order(function, holder):
            return True
        return self._code.value(function, holder).class_name == _SEQUENTIAL or self._spreads(function, holder, _DEPTH)

    def _is_list_in_order(self, function: Function, items: ast.expr) -> bool:
        """`self.layers = nn.ModuleList([conv, norm])`, whose layers run one after the other."""
        made = function.flow.parents.get(items)
        return isinstance(made, ast.Call) and self._runs_in_order(function, syntax.target(function.flow, made))

    def _runs_in_order(self, function: Function, holder: ast.expr | None) -> bool:
        """Whether an attribute is a list of layers that the methods of its class, and no heir's, run one after the other."""
        name, klass = syntax.own_attribute(function, holder), function.cls
        stores = klass.stores.get(name, ()) if klass is not None and name is not None else ()
        if klass is None or name is None or len(stores) != 1 or not layer_outputs.runs_in_order(klass, name):
            return False
        made = syntax.given_to_target(stores[0][0].flow, stores[0][1])
        is_list = isinstance(made, ast.Call) and self._code.resolve(stores[0][0], made.func) == _LIST
        users = {method.name for method, _ in klass.uses.get(name, ())} - {"__init__"}
        return is_list and not any(self._code.of_heirs(klass, user) for user in users)

    def _is_sequence(self, function: Function, call: ast.Call) -> bool:
        """`nn.Sequential(...)`, or `super().__init__(...)` in a class of that kind."""
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "__init__" and syntax.is_super(func.value):
            return function.cls is not None and function.name == "__init__" and self._is_of_sequence(function.cls)
        return self._code.resolve(function, func) == _SEQUENTIAL

    def _is_of_sequence(self, klass: Class) -> bool:
        """Whether the objects of a class run one part after the other, as `nn.Sequential` does."""
        inherits = any(self._code.base_name(klass, base) == _SEQUENTIAL for base in klass.bases)
        own = inherits and self._code.method(klass, "forward") is not None
        return inherits and not own and not self._code.of_heirs(klass, "forward")

    def _becomes(self, function: Function, items: ast.expr, depth: int) -> bool:
        """`nn.Sequential(*[...])`, `nn.Sequential(OrderedDict([...]))`, or a list that is spread into one later, by whom it is given to as well."""
        parent = function.flow.parents.get(items)
        match parent:
            case ast.BinOp(op=ast.Add()):
                return self._becomes(function, parent, depth)  # `[conv, norm] + others`
            case ast.List():
                return self._become(function, parent, depth)
            case ast.Starred():
                return self._is_spread(function, parent, depth)
            case ast.Assign(targets=[target]):
                return self._spreads(function, target, depth)
            case ast.AugAssign(op=ast.Add(), target=target):
                return self._spreads(function, target, depth)
            case ast.Return():
                return self._is_given_spread(function, depth)
            case ast.Call(func=ast.Attribute(attr="extend", value=holder)):
                return self._spreads(function, holder, depth)
            case ast.Call(func=func) if (self._code.resolve(function, func) or "").endswith("OrderedDict"):
                call = function.flow.parents.get(parent)
                return isinstance(call, ast.Call) and self._is_sequence(function, call)
        return False

    def _become(self, function: Function, lists: ast.List, depth: int) -> bool:
        """Whether each list of a list is spread into a sequence: `nn.Sequential(*one) for one in lists`."""
        match function.flow.parents.get(lists):
            case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AugAssign(op=ast.Add(), target=ast.Name(id=name)):
                return any(self._spreads_each(function, load, depth) for load in function.flow.loads.get(name, ()))
        return False

    def _spreads_each(self, function: Function, lists: ast.expr, depth: int) -> bool:
        """`for one in lists: nn.Sequential(*one)`, `nn.Sequential(*lists[n])`, `others += lists[n]`."""
        parent = function.flow.parents.get(lists)
        if isinstance(parent, ast.For | ast.comprehension):
            return self._spreads(function, parent.target, depth)
        if not isinstance(parent, ast.Subscript) or isinstance(parent.slice, ast.Slice):
            return False
        return self._becomes(function, parent, depth)

    def _spreads(self, function: Function, name: ast.expr, depth: int) -> bool:
        """Whether the function writes `nn.Sequential(*name)`, of a dictionary `nn.Sequential(name)`, or gives the list to those who do."""
        if not isinstance(name, ast.Name):
            return False
        for load in function.flow.loads.get(name.id, ()):
            parent = function.flow.parents.get(load)
            if isinstance(parent, ast.Starred) and self._is_spread(function, parent, depth):
                return True
            if isinstance(parent, ast.Return) and self._is_given_spread(function, depth):
                return True
            if isinstance(parent, ast.Call) and parent.args == [load] and self._is_sequence(function, parent):
                return self._code.value(function, load).kind == "dict"
        return False

    def _is_spread(self, function: Function, starred: ast.Starred, depth: int) -> bool:
        """`nn.Sequential(*layers)`, or a list that becomes one: `[*layers, head]`."""
        around = function.flow.parents.get(starred)
        if isinstance(around, _LISTS):
            return self._becomes(function, around, depth)
        return isinstance(around, ast.Call) and self._is_sequence(function, around)

    def _is_given_spread(self, function: Function, depth: int) -> bool:
        """Whether all calls of a function make a part of a sequence of the list that it gives: `nn.Sequential(*block(16, 32))`."""
        sites = self._code.all_runs_of(function, _MOST) if depth else None
        return bool(sites) and all(
            site.given is None and self._becomes(site.function, site.call, depth - 1) for site in sites or ()
        )


def _added(statement: ast.stmt | None) -> tuple[ast.expr, list[ast.expr]] | None:
    """What a statement adds layers to, and these: `layers += [conv, norm]`, `self.add_module("conv", conv)`, `layers["conv"] = conv`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=holder), args=[one])):
            return holder, [one]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add_module", value=holder), args=[_, one])):
            return holder, [one]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="extend", value=holder), args=[ast.List(elts=several)])):
            return holder, several
        case ast.AugAssign(target=holder, op=ast.Add(), value=ast.List(elts=several)):
            return holder, several
        case ast.Assign(targets=[ast.Name() as holder], value=ast.List(elts=several)):
            return holder, several
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() as holder, slice=key)], value=one) if _is_text(key):
            return holder, [one]
    return None


def _is_replaced(function: Function, statement: ast.stmt) -> bool:
    """Whether another statement writes or deletes the entry of a dictionary that a statement writes: `layers["conv"] = nn.Identity()`."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Subscript):
        return False
    loads = function.flow.loads.get(names.last(target.value), ())
    entries = [one for load in loads if isinstance(one := function.flow.parents.get(load), ast.Subscript)]
    others = [one for one in entries if one is not target and not isinstance(one.ctx, ast.Load)]
    return any(syntax.same(one.slice, target.slice) for one in others)


def _is_text(key: ast.expr) -> bool:
    return isinstance(key, ast.JoinedStr) or string(key) is not None
