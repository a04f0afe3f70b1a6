"""Which binding each read of a name in one function finds: static single assignment, without evaluating anything.

A binding says how a name got its value (assigned, unpacked, iterated, changed in place, joined from two paths); what that value
is, is worked out only when somebody asks (`evaluator.py`). The first pass over an outermost loop is kept apart, so that a
value in the loop's body can be what the iteration before left.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ..system.cached import kept
from ..system.regex import regex
from ..text.normal_form import AnnotatedAssign, PairedAssign
from . import names, short_functions
from .flow import CHILDREN
from .module import has_slice, key_of
from .nodes import FLAGS, bound_by, none_test, number, root_of, without_not
from .torch_table import GIVEN_NOTHING, TAKES_LOSS, TAKES_TENSOR, TAKES_TENSORS, TENSOR_ONLY

if TYPE_CHECKING:
    from .module import Function

# Methods that change what their receiver is known to be: a module moved in place, a list or dict that grows.
MUTATORS = frozenset("to to_device cuda cpu train eval append add insert extend appendleft update setdefault".split())
# Calls that make a tensor of what they are given.
_CONVERTS = frozenset(("tensor", "as_tensor", "asarray", "from_numpy", "FloatTensor", "LongTensor"))
_SENDS = regex(r"(?i)(?:to|on)_?(?:gpu|cuda|device)|^cuda_|(?:^|_)(?:move|send|transfer)(?:_|$)")
"""How functions are called that move what they are given: `load_data_to_gpu`, `to_cuda_`, `move_batch`."""
_COUNTS = frozenset(("int", "float", "range"))
"""Functions of Python that take a number, or what is one."""
_OF_ALL = {"sum": 1, "min": 1, "max": 1, "sorted": 1, "map": 2}
"""Functions of Python that go through what they are given, by how many arguments."""
_ORDERS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
_OF_MODULES = frozenset(("parameters", "named_parameters", "named_modules", "eval"))
OF_MAPPINGS = frozenset(("items", "keys"))
"""Methods that mappings have, and tensors have not."""
_CONDITIONS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call, ast.Name)
"""What a flag is assigned that says something of other names."""
_MOST_LEFT = 20
"""How many ways out of an iteration are looked at."""
_OF_ARRAYS = frozenset(("shape", "max", "min", "sum", "mean", "argmax", "cumsum"))
"""What tensors and arrays have, and neither lists nor dictionaries."""


class Binding:
    """One way in which a name is bound; `reach` tells what the names in its expressions are."""

    __slots__ = ("number", "reach")

    number: int
    """Its place in the order of evaluation: it reads bindings of lower numbers only."""
    reach: Reach


Reach = dict[ast.expr, Binding]
Env = dict[str, Binding]
Changes = dict[str, Binding | None]
"""What names are bound to after some statements; None where they were deleted."""
B = TypeVar("B", bound=Binding)


class Assigned(Binding):
    """`x = node`, `with node as x`, `return node`."""

    __slots__ = ("node",)

    def __init__(self, node: ast.expr) -> None:
        self.node = node


class Declared(Assigned):
    """`x: T = node`."""

    __slots__ = ("annotation",)

    def __init__(self, node: ast.expr, annotation: ast.expr) -> None:
        super().__init__(node)
        self.annotation = annotation


class Announced(Binding):
    """`x: T`."""

    __slots__ = ("annotation",)

    def __init__(self, annotation: ast.expr) -> None:
        self.annotation = annotation


class Augmented(Binding):
    """`x += v`."""

    __slots__ = ("before", "node")

    def __init__(self, node: ast.AugAssign, before: Binding | None) -> None:
        self.node = node
        self.before = before


class Part(Binding):
    """One target of `a, b = whole`, with its name; `count` is None where a star takes an unknown number."""

    __slots__ = ("at", "count", "name", "whole")

    def __init__(self, whole: Binding, at: int, count: int | None, name: str | None) -> None:
        self.whole = whole
        self.at = at
        self.count = count
        self.name = name


class Starred(Binding):
    """The list that `*rest` takes."""

    __slots__ = ("each",)

    def __init__(self, each: Binding) -> None:
        self.each = each


class Iterated(Binding):
    """`for x in node`."""

    __slots__ = ("node",)

    def __init__(self, node: ast.expr) -> None:
        self.node = node


class Narrowed(Binding):
    """What a test such as `isinstance(x, torch.Tensor)` says of x where it is true, or false."""

    __slots__ = ("before", "node", "true")

    def __init__(self, node: ast.Call, true: bool, before: Binding | None) -> None:
        self.node = node
        self.true = true
        self.before = before


class Changed(Binding):
    """The receiver after a method that may change it: `model.cuda()`, `found.append(x)`."""

    __slots__ = ("node",)

    def __init__(self, node: ast.Call) -> None:
        self.node = node


class Sent(Binding):
    """What a function was given that may move it part by part, in place: `batch_to_gpu(batch)`."""

    __slots__ = ("call", "name")

    def __init__(self, call: ast.Call, name: ast.Name) -> None:
        self.call = call
        self.name = name


class Stored(Binding):
    """The container after `x[i] = value`."""

    __slots__ = ("node", "value")

    def __init__(self, node: ast.Subscript, value: Binding) -> None:
        self.node = node
        self.value = value


class Joined(Binding):
    """What two paths bind; where a condition parts them, the first is the one where it holds."""

    __slots__ = ("one", "other", "test")

    def __init__(self, one: Binding, other: Binding, test: ast.expr | None = None) -> None:
        self.one = one
        self.other = other
        self.test = test


class Defined(Binding):
    """A function or class statement."""

    __slots__ = ("node",)

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.node = node


class Before(Binding):
    """A parameter as the caller passes it, an attribute as it was before the function sets it."""

    __slots__ = ("node",)

    def __init__(self, node: ast.Name | ast.Attribute) -> None:
        self.node = node


class Captured(Binding):
    """A name that a pattern of `match` takes, or `except E as x`: anything."""

    __slots__ = ()


class Parameter(Binding):
    """A parameter of a lambda, and whether the lambda uses it as only a tensor can be."""

    __slots__ = ("name", "used")

    def __init__(self, name: str) -> None:
        self.name = name
        self.used = False


class Around(Binding):
    """A name of the scopes around the function that a parameter of its own is called like: `def hook(x, name=name)`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Rest(Binding):
    """`**kwargs` of the function itself."""

    __slots__ = ()


def leaves(todo: list[Binding | None]) -> Iterator[Binding | None]:
    """What bindings come to through joined paths and unpacked wholes, each once; None for what is not known.

    More may be put on the list while it is gone through.
    """
    seen: set[Binding] = set()
    while todo:
        binding = todo.pop()
        if binding in seen:
            continue
        if binding is not None:
            seen.add(binding)
        if isinstance(binding, Joined):
            todo += [binding.one, binding.other]
        elif isinstance(binding, Part):
            todo.append(binding.whole)
        else:
            yield binding


class Bindings:
    """The bindings of one function, from one pass over its statements in the order they run.

    What a loop holds is read once more before, for what an iteration leaves to the next one.
    """

    def __init__(self, function: Function) -> None:
        self._owner = function
        self.all: list[Binding] = []
        self.reach: Reach = {}
        """What each name or attribute that is read or bound refers to; names from outside of the function are left out."""
        self.returned: list[Assigned | None] = []
        """What it returns; None for a bare `return`."""
        self.yielded: list[Assigned] = []
        self._target = self.reach
        self._env: Env = {}
        self._journal: list[tuple[str, Binding | None]] = []
        """Every change of the environment: the name, and what it was before."""
        self._parameters = {p.arg for p in function.parameters}
        self._before: dict[str, Before] = {}
        self._set_as: dict[str, ast.Attribute] = {}
        """The attributes that the function sets, by their dotted names."""
        self._dead = False
        """Whether the statement being read can't be reached: the block returned, raised, broke or continued."""
        self._rehearsing = False
        """Whether the first iteration of a loop is being read: loops in it are read once."""
        self._begun = 0
        """Where the iteration that is being read begins in the journal."""
        self._left: dict[type[ast.stmt], list[Changes]] = {}
        """What names were bound to where that iteration was left: by `break`, and by `continue`."""
        self._walruses: list[str] = []
        """The names that `:=` binds in the comprehension that is being read."""
        self._held: dict[str, set[str]] = {}
        """The dotted names ever bound, by what they are attributes of."""
        self._attributes: set[str] = set()
        """Their last parts."""
        self.of_comprehensions: dict[Binding, bool] = {}
        """What comprehensions bind to names of their own, and whether they use it as only a tensor can be."""
        self._uses: set[tuple[str, str | None]] = set()
        """How names and attributes are used, where that tells tensors."""
        self.given_to_torch: set[Binding | str] = set()
        """What functions of torch are given that take nothing but a tensor, by what binds the name, or by a name from outside of the function."""
        self.given_to_numpy: set[Binding | str] = set()
        """What functions of NumPy are given, itself or a part of it, likewise."""
        self.counted: set[Binding] = set()
        """What binds names that the function reads as a number, or sums up: `int(n)`, `n > 3`, `x[:n]`, `sum(lengths)`."""
        self.plain: set[str] = set()
        """Names that loops go through, or that `int(...)` and `float(...)` are given in arithmetic: what is there need be no tensor."""
        self.sliced: set[str | None] = set()
        """Names and attributes read by several indices, one of which is a slice: `x[:, 0]`."""
        self.shaped: set[str | None] = set()
        """Names and attributes used as only tensors and arrays can be: `x.shape`, `x.max()`."""
        self.trained: set[str | None] = set()
        """Names and attributes used as only modules can be: `net.parameters()`."""
        self.mappings: set[str | None] = set()
        """Names and attributes used as only mappings can be: `meta.items()`, `meta["boxes"]`."""
        roots = {name: origin.partition(".")[0] for name, origin in function.module.imports.items()}
        self._packages = {name: root for name, root in roots.items() if root in ("torch", "numpy")}
        self._converters = _CONVERTS & function.module.import_names
        """Calls that make a tensor of what they are given, by names that are imported: `from torch import tensor`."""
        node = function.node
        self._defaults(function)
        if not isinstance(node, ast.Module) and node.args.kwarg is not None:
            self._env[node.args.kwarg.arg] = self._new(Rest())
        self._block(node.body)
        self.evidence = _of_tensors(self._uses)
        """Names and attributes used as only a tensor can be: `loss.backward()`, `engine.backward(loss)`, `x.unsqueeze(0)`, `x.size(0)` and `x.device`.

        What is converted, `x = torch.tensor(x)`, becomes one only there.
        """
        self.given_to_torch -= self.given_to_numpy
        self.final = self._env
        """The names at the end of the function."""
        self.reaches_end = not self._dead
        """Whether it may end without a `return`."""
        # What only the walk needed takes a fifth of the memory of all bindings.
        del self._journal, self._before, self._set_as, self._held, self._attributes
        del self._uses, self._left, self._walruses, self._owner, self._packages

    def _defaults(self, function: Function) -> None:
        """Read the defaults of the parameters, which see none of them."""
        made = [default for default in function.defaults.values() if type(default) is not ast.Constant]
        mark = len(self._journal)
        for name in sorted(self._parameters) if made else ():
            self._set(name, self._new(Around(name)))
        for default in made:
            self._read(default)
        self._take_back(mark)

    def _new(self, binding: B) -> B:
        binding.number = len(self.all)
        binding.reach = self._target
        self.all.append(binding)
        return binding

    # The environment: changed in place, taken back where paths part

    def _set(self, key: str, binding: Binding | None) -> None:
        env = self._env
        self._journal.append((key, env.get(key)))
        if binding is None:
            env.pop(key, None)
            return
        env[key] = binding
        owner, dot, attribute = key.rpartition(".")
        if dot:
            self._attributes.add(attribute)
            while dot:
                self._held.setdefault(owner, set()).add(key)
                owner, dot, _ = owner.rpartition(".")

    def _take_back(self, mark: int) -> Changes:
        """Go back to how things were at a place in the journal; what has changed since is returned."""
        env = self._env
        changes: Changes = {key: env.get(key) for key, _ in self._journal[mark:]}
        for key, before in reversed(self._journal[mark:]):
            if before is None:
                env.pop(key, None)
            else:
                env[key] = before
        del self._journal[mark:]
        return changes

    def _apply(self, changes: Changes) -> None:
        for key, binding in changes.items():
            self._set(key, binding)

    def _joined(self, a: Changes, a_dead: bool, b: Changes, b_dead: bool, test: ast.expr | None = None) -> Changes:
        """The changes that two paths from here make together, the first of which is gone where a condition holds."""
        if a_dead and not b_dead:
            return b
        if b_dead and not a_dead:
            return a
        env = self._env
        merged: Changes = {}
        for key in (*a, *(key for key in b if key not in a)):
            split = env.get(key)
            one = a.get(key, split)
            other = b.get(key, split)
            if _only_narrowed(one, split) and _only_narrowed(other, split):
                continue  # what a test said on each path
            if (one is None) is not (other is None):
                one, other = one or self._as_before(key), other or self._as_before(key)
            # A local name bound on one path only is what that path says, wherever it may be read at all.
            if one is None or other is None or one is other:
                merged[key] = one or other
            else:
                merged[key] = self._new(Joined(one, other, test))
        return merged

    def _as_before(self, key: str) -> Before | None:
        """What a parameter or an attribute is where the function has not set it; None for local names."""
        if key not in self._before and (key in self._parameters or key in self._set_as):
            self._before[key] = self._new(Before(self._set_as.get(key) or ast.Name(key, ast.Load())))
        return self._before.get(key)

    # Statements

    def _block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            kind = type(statement)
            if kind is ast.Expr:
                self._read(statement.value)  # type: ignore[attr-defined]
                self._send(statement.value)  # type: ignore[attr-defined]
            elif kind is ast.Assign:
                self._assign(statement)  # type: ignore[arg-type]
            else:
                method = _STATEMENTS.get(kind)
                if method is not None:
                    method(self, statement)
                else:
                    self._children(statement)

    def _send(self, node: ast.expr) -> None:
        """Note what a statement hands to a function that is called like one that moves things: `batch_to_gpu(batch)`."""
        if not isinstance(node, ast.Call) or not node.args or not _SENDS.search(names.last(node.func)):
            return
        for given in node.args:
            if isinstance(given, ast.Name) and (given.id in self._env or given.id in self._parameters):
                self._set(given.id, self._new(Sent(node, given)))

    def _assign(self, node: ast.Assign) -> None:
        self._read(node.value)
        binding = self._new(Assigned(node.value))
        for target in node.targets:
            self._bind(target, binding)

    def _declare(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._read(node.value)
            self._bind(node.target, self._new(Declared(node.value, node.annotation)))
        elif isinstance(node.target, ast.Name):
            self._bind(node.target, self._new(Announced(node.annotation)))

    def _augment(self, node: ast.AugAssign) -> None:
        target = node.target
        key = key_of(target)
        before = self._env.get(key) if key is not None else None
        self._read_holder(target)
        self._read(node.value)
        self._store(target, self._new(Augmented(node, before)))

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._read(node.value)
        self.returned.append(self._new(Assigned(node.value)) if node.value is not None else None)
        self._dead = True

    def _raise(self, node: ast.Raise) -> None:
        self._children(node)
        self._dead = True

    def _leave(self, node: ast.stmt) -> None:
        left = self._left.get(type(node), [])
        if not self._dead and len(left) < _MOST_LEFT:
            left.append({key: self._env.get(key) for key, _ in self._journal[self._begun :]})
        self._dead = True

    def _if(self, node: ast.If) -> None:
        arms: list[tuple[ast.expr, int, Changes, bool]] = []
        while True:  # a thousand `elif` lie a thousand deep
            self._read(node.test)
            mark = len(self._journal)
            said = self._said(node.test)
            self._narrow(node.test, True)
            self._block(node.body)
            then_dead, self._dead = self._dead, False
            then = self._take_back(mark)
            arms.append((said, mark, then, then_dead))
            self._narrow(node.test, False)
            self._leave_none(said, then)
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                break
            node = node.orelse[0]
        self._block(node.orelse)
        for test, mark, then, then_dead in reversed(arms):
            orelse = self._take_back(mark)
            self._apply(self._joined(then, then_dead, orelse, self._dead, test))
            self._dead = then_dead and self._dead

    def _leave_none(self, test: ast.expr, then: Changes) -> None:
        """Where `if x is not None: x = x.cpu()` comes out false, x is None: what it was before reaches nothing behind it."""
        tested = none_test(test) if then else None
        key = key_of(tested[0]) if tested is not None and not tested[1] else None
        asked, _ = without_not(test, True)
        if key in then and isinstance(asked, ast.Compare):
            self._set(key, self._new(Assigned(asked.comparators[0])))

    def _said(self, test: ast.expr) -> ast.expr:
        """What a condition asks that is a flag, `x is not None` of `given = x is not None`; other conditions as they are."""
        asked, true = without_not(test, True)
        said = self._env.get(asked.id) if isinstance(asked, ast.Name) else None
        if not isinstance(said, Assigned) or not isinstance(said.node, _CONDITIONS):
            return test
        none = none_test(said.node)
        if none is not None and self._is_bound_since(key_of(none[0]) or "", said.number):
            return test
        return said.node if true else ast.copy_location(ast.UnaryOp(ast.Not(), said.node), test)

    def _is_bound_since(self, key: str, since: int) -> bool:
        """Whether a name stands for something else than when a flag was assigned."""
        now = self._env.get(key)
        while isinstance(now, Narrowed):
            now = now.before
        return now is not None and now.number > since

    def _narrow(self, test: ast.expr, true: bool) -> list[tuple[str, Binding | None]]:
        """Note what a condition, and the flags in it, say of names where it is true, or false; the names, and what they were before."""
        narrowed: list[tuple[str, Binding | None]] = []
        todo: list[tuple[ast.expr, bool, int | None]] = [(test, true, None)]
        followed = set[int]()
        while todo:
            test, true, since = todo.pop()
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                todo.append((test.operand, not true, since))
            elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if true else ast.Or):
                todo += [(value, true, since) for value in reversed(test.values)]
            elif not isinstance(test, ast.Name):
                narrowed += self._narrow_one(test, true, since)
            elif len(followed) < FLAGS:
                said = self._env.get(test.id)
                if not isinstance(said, Assigned) or not isinstance(said.node, _CONDITIONS) or said.number in followed:
                    continue
                if since is None or said.number < since:
                    followed.add(said.number)
                    todo.append((said.node, true, said.number))
        return narrowed

    def _narrow_one(self, test: ast.expr, true: bool, since: int | None) -> list[tuple[str, Binding | None]]:
        """What one call or comparison says; of a flag that was assigned it, `since` says when, only of what has not been bound anew."""
        if isinstance(test, ast.Compare):
            compared = test
            test = names.type_compared(test, true)
            true = true or test is not compared  # where `type(x) != T` is false it is one
        asked = names.type_tested(test) or (names.asked_for_method(test) if not true else None)
        key = key_of(asked) if asked is not None else None
        if key is None or not isinstance(test, ast.Call):
            return []
        before = self._env.get(key)
        if since is not None and self._is_bound_since(key, since):
            return []
        self._set(key, self._new(Narrowed(test, true, before)))
        return [(key, before)]

    def _widen(self, narrowed: list[tuple[str, Binding | None]]) -> None:
        """Forget what a condition said, behind the part of an expression that it is the condition of."""
        for key, before in reversed(narrowed):
            if isinstance(self._env.get(key), Narrowed):  # a walrus may have bound it anew
                self._set(key, before)

    def _assert(self, node: ast.Assert) -> None:
        self._children(node)
        self._narrow(node.test, True)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._read(node.iter)
        self._loop(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        mark = len(self._journal)
        header = self._target
        if not self._rehearsing:
            self._rehearsing, self._target = True, {}
            self._iteration(node, header, mark)
            self._rehearsing, self._target = False, header
        broken = self._iteration(node, header, mark)
        self._block(node.orelse)
        if broken:
            changes, dead = self._take_back(mark), self._dead
            for one in broken:
                changes, dead = self._joined(changes, dead, one, False), False
            self._apply(changes)
            self._dead = False

    def _iteration(self, node: ast.For | ast.AsyncFor | ast.While, header: Reach, mark: int) -> list[Changes]:
        """One pass through the body of a loop, and back to where the loop began or ends; what was where `break` left it."""
        around = self._begun, self._left
        self._begun, self._left = mark, {ast.Break: [], ast.Continue: []}
        if isinstance(node, ast.While):
            self._read(node.test)
        else:
            element = self._new(Iterated(node.iter))
            self._go_through(node.iter)
            element.reach = header
            self._bind(node.target, element)
        self._block(node.body)
        changes = self._take_back(mark)
        for one in self._left[ast.Continue]:
            changes = self._joined(changes, False, one, False)
        self._apply(self._joined({}, False, changes, False))
        self._dead = False
        broken = self._left[ast.Break]
        self._begun, self._left = around
        return broken

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self._read(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, self._new(Assigned(item.context_expr)))
        self._block(node.body)

    def _try(self, node: ast.Try) -> None:
        mark = len(self._journal)
        self._block(node.body)
        self._block(node.orelse)
        changes, dead = self._take_back(mark), self._dead
        for handler in node.handlers:
            if handler.type is not None:
                self._read(handler.type)
            self._dead = False
            if handler.name is not None:
                self._set(handler.name, self._new(Captured()))
            self._block(handler.body)
            changes = self._joined(changes, dead, self._take_back(mark), self._dead)
            dead = dead and self._dead
        self._apply(changes)
        self._dead = False
        self._block(node.finalbody)
        self._dead = self._dead or dead

    def _match(self, node: ast.Match) -> None:
        self._read(node.subject)
        mark = len(self._journal)
        changes: Changes = {}
        for case in node.cases:
            self._dead = False
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if name is not None:
                    self._set(name, self._new(Captured()))
            if case.guard is not None:
                self._read(case.guard)
            self._block(case.body)
            changes = self._joined(changes, False, self._take_back(mark), self._dead)
        self._apply(changes)
        self._dead = False

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self._read(decorator)
        self._set(node.name, self._new(Defined(node)))

    def _class(self, node: ast.ClassDef) -> None:
        for expression in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self._read(expression)
        self._set(node.name, self._new(Defined(node)))
        # The statements of the body run here, in a scope of their own.
        mark = len(self._journal)
        self._block([s for s in node.body if not isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)])
        self._take_back(mark)
        self._dead = False

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            key = key_of(target)
            if key is not None:
                self._set(key, None)

    # Binding

    def _bind(self, target: ast.expr, binding: Binding) -> None:
        self._read_holder(target)
        self._store(target, binding)

    def _read_holder(self, target: ast.expr) -> None:
        """What a target is a part of, and under which key: once, for a method in it may change what its own name refers to."""
        if isinstance(target, ast.Attribute | ast.Subscript):
            self._read(target.value)
        if isinstance(target, ast.Subscript):
            self._read(target.slice)

    def _store(self, target: ast.expr, binding: Binding) -> None:
        if isinstance(target, ast.Name | ast.Attribute):
            key = key_of(target)
            if key is None:
                return
            if isinstance(target, ast.Attribute):
                self._set_as.setdefault(key, target)
            for stale in self._held.get(key, ()):
                # What `x` held goes with its attributes.
                if stale in self._env:
                    self._set(stale, None)
            self._set(key, binding)
            self._target[target] = binding
        elif isinstance(target, ast.Tuple | ast.List):
            starred = any(isinstance(t, ast.Starred) for t in target.elts)
            for at, inner in enumerate(target.elts):
                self._bind(inner, self._new(Part(binding, at, None if starred else len(target.elts), key_of(inner))))
        elif isinstance(target, ast.Starred):
            self._bind(target.value, self._new(Starred(binding)))
        elif isinstance(target, ast.Subscript):
            key = key_of(target.value)
            if key is not None and (key in self._env or key in self._parameters):
                self._set(key, self._new(Stored(target, binding)))

    # Reading

    def _read(self, node: ast.expr) -> None:
        """Note what the names in an expression refer to, in the order it is evaluated."""
        kind = type(node)
        if kind is ast.Name:
            binding = self._env.get(node.id)  # type: ignore[attr-defined]
            if binding is not None:
                self._target[node] = binding
        elif kind is ast.Constant:
            pass
        elif kind is ast.Attribute:
            if node.attr == "device":  # type: ignore[attr-defined]
                self._uses.add(("placed", key_of(node.value)))  # type: ignore[attr-defined]
            elif node.attr in _OF_ARRAYS:  # type: ignore[attr-defined]
                self.shaped.add(key_of(node.value))  # type: ignore[attr-defined]
            if node.attr in self._attributes:  # type: ignore[attr-defined]
                key = key_of(node)
                binding = self._env.get(key) if key is not None else None
                if binding is not None:
                    self._target[node] = binding
            self._read(node.value)  # type: ignore[attr-defined]
        else:
            method = _EXPRESSIONS.get(kind)
            if method is not None:
                method(self, node)
            else:
                self._children(node)

    def _children(self, node: ast.AST) -> None:
        for field in _READ[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                for child in value:
                    if isinstance(child, ast.expr):
                        self._read(child)
            elif isinstance(value, ast.expr):
                self._read(value)

    def _binary(self, node: ast.BinOp) -> None:
        # A sum of a thousand terms is as deep.
        sides = [node.right]
        left = node.left
        while isinstance(left, ast.BinOp):
            sides.append(left.right)
            left = left.left
        self._read(left)
        for side in reversed(sides):
            self._read(side)

    def _call(self, node: ast.Call) -> None:
        function = node.func
        self._read(function)
        for argument in node.args:
            self._read(argument)
        for keyword in node.keywords:
            self._read(keyword.value)
        if isinstance(function, ast.Name) and function.id in self._converters and node.args:
            self._uses.add(("converted", key_of(node.args[0])))
        self._uses |= {("used", key) for key in self._used_by_short(node)}
        if not isinstance(function, ast.Attribute):
            if isinstance(function, ast.Name) and (
                function.id in _COUNTS or len(node.args) == _OF_ALL.get(function.id)
            ):
                self._count(*node.args)
            return
        attribute = function.attr
        if node.args and isinstance(function.value, ast.Name | ast.Attribute):
            self._given(function, node)
        if shows_tensor(attribute, node):
            key = key_of(function.value if attribute == "detach" else _unmoved(function.value))
            if key is not None and key not in ("self", self._owner.own_name):
                self._uses.add(("used", key))
        elif attribute == "size" and node.args:
            self._uses.add(("sized", key_of(function.value)))
        elif attribute in _CONVERTS and node.args:
            self._uses.add(("converted", key_of(node.args[0])))
        elif attribute in TAKES_LOSS and len(node.args) == 1:
            key = key_of(node.args[0])
            if key is not None and key.endswith("loss"):
                self._uses.add(("used", key))
        elif attribute in _OF_MODULES and not node.args:
            self.trained.add(key_of(function.value))
        elif attribute in OF_MAPPINGS and not node.args:
            self.mappings.add(key_of(function.value))
        elif attribute in MUTATORS:
            key = key_of(function.value)
            if key is not None and (key in self._env or "." in key or key in self._parameters):
                if isinstance(function.value, ast.Attribute):
                    self._set_as.setdefault(key, function.value)
                self._set(key, self._new(Changed(node)))

    def _count(self, *read: ast.expr | None) -> None:
        """Note what is read as a number."""
        bindings = (self._env.get(node.id) for node in read if isinstance(node, ast.Name))
        self.counted.update(filter(None, bindings))
        for node in read:
            if isinstance(node, ast.Name | ast.BinOp):
                self.plain.update(one.id for one in ast.walk(node) if isinstance(one, ast.Name))

    def _go_through(self, iterable: ast.expr) -> None:
        """Note what a loop goes through, one by one or with something else: `enumerate(sizes)`, `zip(rows, sizes)`."""
        parts = iterable.args if isinstance(iterable, ast.Call) else [iterable]
        self.plain.update(one.id for one in parts if isinstance(one, ast.Name))

    def _compare(self, node: ast.Compare) -> None:
        self._children(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], _ORDERS) and number(node.comparators[0]) is not None:
            self._count(node.left)

    def _bounds(self, node: ast.Slice) -> None:
        self._children(node)
        self._count(node.lower, node.upper)

    def _given(self, function: ast.Attribute, node: ast.Call) -> None:
        """`torch.sigmoid(x)`, `F.mse_loss(x, self.y)`; what NumPy is given as well may be an array."""
        root = root_of(function.value, ast.Attribute)
        if root is None or root.id not in self._packages or root.id in self._parameters:
            return
        most = 2 if function.attr in TAKES_TENSORS else 1
        of_numpy = self._packages[root.id] == "numpy"
        if not (of_numpy or most > 1 or function.attr in TAKES_TENSOR):
            return
        if not of_numpy and names.resolve(self._owner, function) not in (
            f"torch.{function.attr}",
            f"torch.nn.functional.{function.attr}",
        ):
            return
        if of_numpy:
            parts = (one.value if isinstance(one, ast.Subscript) else one for one in node.args[:most])
            self.given_to_numpy.update(self._env.get(one.id) or one.id for one in parts if isinstance(one, ast.Name))
            return
        given = node.args[:most]
        self.given_to_torch.update(self._env.get(one.id) or one.id for one in given if isinstance(one, ast.Name))
        self._uses |= {("used", key_of(one)) for one in given if isinstance(one, ast.Attribute)}

    def _subscript(self, node: ast.Subscript) -> None:
        if has_slice(node.slice):
            self.sliced.add(key_of(node.value))
        elif isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            self.mappings.add(key_of(node.value))
        self._read(node.value)
        self._read(node.slice)

    def _boolean(self, node: ast.BoolOp) -> None:
        narrowed: list[tuple[str, Binding | None]] = []
        for value in node.values:
            self._read(value)
            narrowed += self._narrow(value, isinstance(node.op, ast.And))
        self._widen(narrowed)

    def _chosen(self, node: ast.IfExp) -> None:
        self._read(node.test)
        for true, part in ((True, node.body), (False, node.orelse)):
            narrowed = self._narrow(node.test, true)
            self._read(part)
            self._widen(narrowed)

    def _named(self, node: ast.NamedExpr) -> None:
        self._read(node.value)
        self._bind(node.target, self._new(Assigned(node.value)))
        self._walruses.append(node.target.id)

    def _yield(self, node: ast.Yield) -> None:
        if node.value is not None:
            self._read(node.value)
            self.yielded.append(self._new(Assigned(node.value)))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self._read(node.generators[0].iter)
        mark = len(self._journal)
        before = len(self._walruses)
        around, self._uses = self._uses, set()
        own: dict[str, Binding] = {}
        for generator in node.generators:
            if generator is not node.generators[0]:
                self._read(generator.iter)
            self._bind(generator.target, self._new(Iterated(generator.iter)))
            self._go_through(generator.iter)
            own.update((name, self._env[name]) for part in ast.walk(generator.target) for name in bound_by(part))
            for test in generator.ifs:
                self._read(test)
                self._narrow(test, True)
        if isinstance(node, ast.DictComp):
            self._read(node.key)
            self._read(node.value)
        else:
            self._read(node.elt)
        changes = self._take_back(mark)
        shown = _of_tensors(self._uses)
        self.of_comprehensions.update((binding, name in shown) for name, binding in own.items())
        # What is called alike around the comprehension is something else.
        around.update((how, key) for how, key in self._uses if key not in own)
        self._uses = around
        # They are names of what is around the comprehension.
        bound = {name: changes[name] for name in self._walruses[before:] if name in changes}
        self._apply(self._joined({}, False, bound, False))

    def _used_by_short(self, call: ast.Call) -> Iterator[str]:
        """What a call gives to a short function that uses it as only a tensor can be: `def run_backward(loss): loss.backward()`."""
        short = short_functions.called(self._owner, call) if call.args or call.keywords else None
        for name in _used_as_tensors(short) if short is not None else ():
            given = short.argument(call, name)  # type: ignore[union-attr]
            key = key_of(given) if given is not None else None
            if key is not None and key not in ("self", self._owner.own_name):
                yield key

    def _lambda(self, node: ast.Lambda) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._read(default)
        mark = len(self._journal)
        parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        over = self._owner.flow.mapped_over(node) if len(parameters) == 1 else None
        own: dict[str, Binding] = {
            name: self._new(Parameter(name) if over is None else Iterated(over)) for name in parameters
        }
        for name, binding in own.items():
            self._set(name, binding)
        around, self._uses = self._uses, set()
        self._read(node.body)
        self._take_back(mark)
        shown = _of_tensors(self._uses)
        for name, binding in own.items():
            if isinstance(binding, Parameter):
                binding.used = name in shown
            else:
                self.of_comprehensions[binding] = name in shown
        # What is called like a parameter around the lambda is something else.
        around.update((how, key) for how, key in self._uses if key is not None and key.partition(".")[0] not in own)
        self._uses = around


def _of_tensors(uses: Iterable[tuple[str, str | None]]) -> frozenset[str]:
    """The names and attributes that are used as only a tensor can be, and not made one of."""
    keys: dict[str, set[str]] = {how: set() for how in ("used", "sized", "placed", "converted")}
    for how, key in uses:
        if key is not None:
            keys[how].add(key)
    return frozenset((keys["used"] | (keys["sized"] & keys["placed"])) - keys["converted"])


def _used_as_tensors(short: Function) -> frozenset[str]:
    """The parameters of a short function that it uses as only tensors can be."""
    return kept(short, "used as tensors", lambda: frozenset(_owners(short)) & short.positions.keys())


def _owners(short: Function) -> Iterator[str]:
    for call in short_functions.uses(short):
        func = call.func
        if not isinstance(func, ast.Attribute):
            continue
        if isinstance(func.value, ast.Name) and shows_tensor(func.attr, call):
            yield func.value.id
        loss = call.args[0] if func.attr in TAKES_LOSS and len(call.args) == 1 else None
        if isinstance(loss, ast.Name) and loss.id.endswith("loss"):
            yield loss.id


_OF_SAME_KIND = frozenset("clone to cuda cpu float double half long int bool".split())
"""Methods that give a tensor where they are a tensor's."""


def shows_tensor(method: str, call: ast.Call) -> bool:
    """Whether nothing but a tensor has a method that is called so: `x.unsqueeze(0)`, `x.view(-1, 3)`."""
    if method in TENSOR_ONLY:
        return not (call.args and (method == "backward" or method in GIVEN_NOTHING))
    if method == "long":
        return not (call.args or call.keywords)
    # An array is viewed as another dtype.
    return method == "view" and (len(call.args) > 2 or any(isinstance(number(one), int) for one in call.args))


def _unmoved(node: ast.expr) -> ast.expr:
    """The `x` of `x.clone()`, `x.to(device)`, `x.float()`, and of several of these."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_SAME_KIND:
        node = node.func.value
    return node


def _only_narrowed(binding: Binding | None, split: Binding | None) -> bool:
    """Whether a name is what it was where two paths parted, whatever tests have said of it since."""
    while binding is not split and isinstance(binding, Narrowed):
        binding = binding.before
    return binding is split


def _nothing(bindings: Bindings, node: ast.AST) -> None:
    """Imports are looked up by name."""


_READ: dict[type[ast.AST], tuple[str, ...]] = {kind: tuple(reversed(fields)) for kind, fields in CHILDREN.items()}
"""The fields of nodes that hold what is read, in the order it is evaluated."""
_STATEMENTS: dict[type[ast.stmt], Callable[[Bindings, Any], None]] = {
    ast.AnnAssign: Bindings._declare,
    AnnotatedAssign: Bindings._declare,
    PairedAssign: Bindings._assign,
    ast.AugAssign: Bindings._augment,
    ast.Return: Bindings._return,
    ast.Raise: Bindings._raise,
    ast.Break: Bindings._leave,
    ast.Continue: Bindings._leave,
    ast.Import: _nothing,
    ast.ImportFrom: _nothing,
    ast.If: Bindings._if,
    ast.Assert: Bindings._assert,
    ast.For: Bindings._for,
    ast.AsyncFor: Bindings._for,
    ast.While: Bindings._loop,
    ast.With: Bindings._with,
    ast.AsyncWith: Bindings._with,
    ast.Try: Bindings._try,
    ast.Match: Bindings._match,
    ast.FunctionDef: Bindings._function,
    ast.AsyncFunctionDef: Bindings._function,
    ast.ClassDef: Bindings._class,
    ast.Delete: Bindings._delete,
}
if sys.version_info >= (3, 11):
    _STATEMENTS[ast.TryStar] = Bindings._try
_EXPRESSIONS: dict[type[ast.expr], Callable[[Bindings, Any], None]] = {
    ast.Call: Bindings._call,
    ast.BinOp: Bindings._binary,
    ast.BoolOp: Bindings._boolean,
    ast.Compare: Bindings._compare,
    ast.Slice: Bindings._bounds,
    ast.IfExp: Bindings._chosen,
    ast.Subscript: Bindings._subscript,
    ast.NamedExpr: Bindings._named,
    ast.Yield: Bindings._yield,
    ast.ListComp: Bindings._comprehension,
    ast.SetComp: Bindings._comprehension,
    ast.GeneratorExp: Bindings._comprehension,
    ast.DictComp: Bindings._comprehension,
    ast.Lambda: Bindings._lambda,
}
