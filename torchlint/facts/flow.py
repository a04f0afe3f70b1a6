"""What encloses what in one function: parents, loops, guards. Nested functions are other functions."""

from __future__ import annotations

import ast
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..system.cached import cached_property
from ..text.normal_form import KINDS_OF_NODES
from . import names
from .nodes import FLAGS, Choice, choice, names_in, required, without_not

if TYPE_CHECKING:
    from .consumers import Consumers
    from .module import Function

Loop = ast.For | ast.AsyncFor | ast.While
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# Fields that hold no nodes, or nodes that say nothing by themselves (`ast.Load`, `ast.Add`).
_LEFT_OUT = frozenset(
    """ctx op ops name id attr arg level module type_comment kind conversion is_async simple rest kwd_attrs asname
    type_ignores tag lineno""".split()
)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_PLAIN = frozenset(
    (
        ast.Attribute, ast.Subscript, ast.Slice, ast.Call, ast.keyword, ast.Starred, ast.BinOp, ast.UnaryOp, ast.Compare,
        ast.Tuple, ast.List, ast.Set, ast.Dict, ast.JoinedStr, ast.FormattedValue, ast.Await, ast.Yield, ast.YieldFrom,
        ast.NamedExpr,
    )
)  # fmt: skip
"""Nodes that run what is below them whenever they run, once."""
_OPEN = _PLAIN - {ast.Call, ast.NamedExpr}
_ARMS = frozenset((ast.If, ast.IfExp))
_FAR = 8
"""How many of these a node may lie in before it is noted which of them is the outermost."""
NEAREST = 50
"""How many conditions of one `elif` chain, one block or one `or` are told of: no more says something new of a place."""
_SAID = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call, ast.Attribute, ast.Subscript, ast.Name)
"""What a flag may be assigned that says something where the flag is asked for."""
_EXITS = frozenset(("exit", "_exit", "abort", "skip", "fail"))


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that hold further nodes of the same function, the last first."""
    if kind in (ast.FunctionDef, ast.AsyncFunctionDef):
        return ("decorator_list",)
    if kind is ast.ClassDef:
        # Statements of a class body run where the class statement stands; its methods do not.
        return ("body", "keywords", "bases", "decorator_list")
    if kind in (ast.Constant, ast.MatchSingleton, ast.Global, ast.Nonlocal):
        return ()
    return tuple(field for field in reversed(kind._fields) if field not in _LEFT_OUT)


CHILDREN: dict[type[ast.AST], tuple[str, ...]] = {
    kind: _fields(kind) for kind in KINDS_OF_NODES if not issubclass(kind, ast.expr_context | ast.operator)
}


class Guard(NamedTuple):
    """A condition that decides whether a place is reached: `test`, which begins with no `not`, was true (or false) on the way there.

    `block` is the list of statements it opens, None where an earlier `if ...: continue` gives the condition.
    """

    test: ast.expr
    true: bool
    block: tuple[ast.stmt, ...] | None
    node: ast.AST
    asked: Guard | None = None
    """The condition as it stands there, where that asks for a flag and this is what the flag was assigned."""

    @property
    def otherwise(self) -> list[ast.stmt]:
        """The block of an `if` that runs where the condition comes out the other way; empty where there is none."""
        if not isinstance(self.node, ast.If):
            return []
        true = (self.asked or self).true
        return self.node.orelse if true is without_not(self.node.test, True)[1] else self.node.body


_LETS_THROUGH = frozenset(
    ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast", "record_function")
)
"""Contexts of torch, which keep no exception back."""


def _last(block: Sequence[ast.stmt]) -> ast.stmt:
    """The statement that ends a block: `return f(x)` of `with torch.no_grad(): return f(x)`."""
    last = block[-1]
    while isinstance(last, ast.With) and all(map(_lets_through, last.items)):
        last = last.body[-1]
    return last


def _lets_through(item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and names.last(item.context_expr.func) in _LETS_THROUGH


def _ends(statement: ast.stmt) -> bool:
    """`return`, `raise`, `break`, `continue`, `sys.exit()`, `assert False`: nothing behind it runs."""
    statement = _last([statement])
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return names.chain(statement.value.func) in (["exit"], ["quit"], ["sys", "exit"], ["os", "_exit"])
    return isinstance(statement, _ENDS)


def _leaves_unless_failing(statement: ast.stmt) -> bool:
    """`with suppress(E): return f(x)`, `try: return f(x)`: what stands behind runs after an exception that was kept back."""
    return isinstance(statement, ast.With | ast.AsyncWith | ast.Try) and isinstance(statement.body[-1], ast.Return)


class Block:
    """The statements of one block by their place in it, and the conditions under which they leave it."""

    __slots__ = ("_end", "_exits", "_left", "_places", "index", "statements")

    def __init__(self, block: list[ast.stmt]) -> None:
        self.statements = block
        self.index = {statement: at for at, statement in enumerate(block)}
        exits = [(at, guard) for at, statement in enumerate(block) if (guard := _exit(statement)) is not None]
        self._places = [at for at, _ in exits]
        self._exits = [guard for _, guard in exits]
        self._left = next((at for at, statement in enumerate(block) if _leaves_unless_failing(statement)), len(block))
        self._end = next((at for at, statement in enumerate(block) if _ends(statement)), len(block))

    def before(self, statement: ast.stmt) -> Iterator[Guard]:
        """What earlier statements make sure of, the nearest ones, the last first: after `if c: continue`, `c` is false."""
        end = bisect_left(self._places, self.index[statement])
        return reversed(self._exits[max(0, end - NEAREST) : end])

    def is_ended(self, statement: ast.stmt) -> bool:
        """Whether an earlier statement ends the block for good: nothing gets to this one."""
        return self._end < self.index[statement]

    def is_left(self, statement: ast.stmt) -> bool:
        """Whether only an exception that was kept back leads to a statement: `with suppress(E): return f(x)` is before it."""
        return self._left < self.index[statement]


class Flow:
    """The nodes of one function in source order, and each one's parent."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._blocks: dict[ast.AST, dict[str, Block]] = {}
        self._first: dict[ast.AST, ast.AST] = {}
        self._flags: dict[ast.Name, ast.expr | None] = {}
        self._loops: dict[ast.stmt, list[Loop]] = {}
        self._outermost: dict[frozenset[type[ast.AST]], dict[ast.AST, ast.AST]] = {_PLAIN: {}, _OPEN: {}}
        self.nodes: list[ast.AST] = []
        self.parents: dict[ast.AST, ast.AST] = {}
        stack = roots(function)
        self.parents.update(dict.fromkeys(stack, function.node))
        stack.reverse()
        self._walk(stack)

    def _walk(self, stack: list[ast.AST]) -> None:
        parents = self.parents
        append = self.nodes.append
        pop, push = stack.pop, stack.append
        while stack:
            node = pop()
            append(node)
            for field in CHILDREN[type(node)]:
                value = getattr(node, field)
                if type(value) is list:
                    for child in reversed(value):
                        if type(child) in CHILDREN:  # a `None` key, a name that is declared global
                            parents[child] = node
                            push(child)
                elif value is not None:
                    parents[value] = node
                    push(value)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Every node around `node`, innermost first, up to the function (left out)."""
        parents = self.parents
        top = self.function.node
        current = parents.get(node)
        while current is not None and current is not top:
            yield current
            current = parents.get(current)

    def expressions(self, node: ast.AST) -> Iterator[ast.AST]:
        """What is around `node` inside its statement, innermost first."""
        return itertools.takewhile(lambda parent: not isinstance(parent, ast.stmt), self.ancestors(node))

    def upwards(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Every node around `node`, innermost first, up to the function (left out), each behind the node below it."""
        for parent in self.ancestors(node):
            yield node, parent
            node = parent

    def arms(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """The conditions and `try` around a node, innermost first, each with the branch of it that the node is in."""
        for child, parent in self.upwards(node):
            if isinstance(parent, ast.If) and child is not parent.test:
                yield parent, "body" if self.inside(parent, "body", child) else "orelse"
            elif isinstance(parent, ast.IfExp) and child is not parent.test:
                yield parent, "body" if child is parent.body else "orelse"
            elif isinstance(parent, ast.Try) and child in parent.handlers:
                yield parent, "handler"
            elif isinstance(parent, ast.Try) and self.inside(parent, "body", child):
                yield parent, "body"

    def argument_of(self, node: ast.AST) -> ast.AST | None:
        """What is around an expression; the call, where that is given it by name."""
        around = self.parents.get(node)
        return self.parents.get(around) if isinstance(around, ast.keyword) else around

    def takers(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """The calls and `:=` around `node`, and what else `around` gives, as far as its statement, with the node below each."""
        for child, parent in self.around(node, through=_OPEN):
            yield child, parent
            if isinstance(parent, ast.stmt):
                return

    def around(
        self, node: ast.AST, arms: int = 0, through: frozenset[type[ast.AST]] = _PLAIN
    ) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Every node around `node` that may say whether or how often it runs, innermost first, up to the function itself.

        Each comes behind the node below it; those that are `through` are left out. Of an `elif` chain, whose arms lie in
        each other, only the innermost `arms` ones and the first `if` are among them.
        """
        parents = self.parents
        top = self.function.node
        child = node
        left = arms
        while child is not top and child in parents:
            parent = parents[child]
            if type(parent) in through:
                child = self._outermost_of(parent, through)
                continue
            if type(child) not in _ARMS or not is_elif(parent, child):
                left = arms
            elif left:
                left -= 1
            else:
                child = self._first_if(child)
                continue
            yield child, parent
            child = parent

    def _outermost_of(self, node: ast.AST, kinds: frozenset[type[ast.AST]]) -> ast.AST:
        """The outermost of the nodes of some kinds that lie in each other, from one of them on."""
        passed: list[ast.AST] = []
        parents, known = self.parents, self._outermost[kinds]
        while (parent := parents[node]).__class__ in kinds and node not in known:
            passed.append(node)
            node = parent
        outermost = known.get(node, node)
        if len(passed) > _FAR:
            known.update(dict.fromkeys(passed, outermost))
        return outermost

    def _first_if(self, node: ast.AST) -> ast.AST:
        """The `if` whose `elif` a statement is."""
        passed: list[ast.AST] = []
        while node not in self._first and is_elif(parent := self.parents[node], node):
            passed.append(node)
            node = parent
        first = self._first.get(node, node)
        self._first.update(dict.fromkeys(passed, first))
        return first

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around the node, itself if it is one."""
        parents = self.parents
        for _ in range(_FAR):
            if isinstance(node, ast.stmt):
                return node
            node = parents[node]
        around = (parent for _, parent in self.around(node))
        return node if isinstance(node, ast.stmt) else next(one for one in around if isinstance(one, ast.stmt))

    def assignment(self, name: str) -> ast.Assign | None:
        """The statement that alone binds a local name, where it is a plain assignment: `x = value`, `x = y = value`."""
        stores = self.stores.get(name, ())
        made = self.parents.get(stores[0]) if len(stores) == 1 else None
        return made if isinstance(made, ast.Assign) else None

    def chain(self, node: ast.AST) -> list[ast.stmt]:
        """The statements around the node, innermost first."""
        found = [node] if isinstance(node, ast.stmt) else []
        found += [a for a in self.ancestors(node) if isinstance(a, ast.stmt)]
        return found

    def _blocks_of(self, parent: ast.AST) -> dict[str, Block]:
        """The blocks of a compound statement by their fields."""
        if parent not in self._blocks:
            fields = ((field, getattr(parent, field, None)) for field in ("body", "orelse", "finalbody"))
            self._blocks[parent] = {field: Block(block) for field, block in fields if type(block) is list and block}
        return self._blocks[parent]

    def block(self, statement: ast.stmt) -> Block | None:
        """The block that a statement stands in."""
        parent = self.parents.get(statement, self.function.node)
        return next((block for block in self._blocks_of(parent).values() if statement in block.index), None)

    def inside(self, parent: ast.AST, field: str, child: ast.AST) -> bool:
        """Whether a node is a statement of a block of a compound statement."""
        block = self._blocks_of(parent).get(field)
        return block is not None and child in block.index

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops whose body runs the node again and again, innermost first; comprehensions are not loops here."""
        if not self.function.has_loops:
            return []
        tested: list[Loop] = []
        for child, parent in self.around(node):
            if isinstance(child, ast.stmt):
                return tested + self._loops_of(child)
            if isinstance(parent, ast.Lambda) and self.mapped_over(parent) is None:
                break
            if isinstance(parent, ast.While) and child is parent.test:
                tested.append(parent)
        return tested

    def _loops_of(self, statement: ast.stmt) -> list[Loop]:
        """The loops around a statement, which all places in it share."""
        if statement not in self._loops:
            self._loops[statement] = [
                parent
                for child, parent in self.around(statement)
                if isinstance(parent, _LOOPS) and self.inside(parent, "body", child)
            ]
        return self._loops[statement]

    def mapped_over(self, node: ast.Lambda) -> ast.expr | None:
        """What a lambda is called with the elements of, where it stands: `xs` of `map(lambda x: x.cuda(), xs)`."""
        match self.parents.get(node):
            case ast.Call(func=ast.Name(id="map" | "filter"), args=[first, over], keywords=[]) if first is node:
                return over
        return None

    def comprehension(self, node: ast.AST) -> Comprehension | None:
        """The innermost comprehension that evaluates the node once an element."""
        for child, parent in self.around(node):
            if isinstance(parent, ast.comprehension):
                owner = self.parents[parent]
                assert isinstance(owner, _COMPREHENSIONS)
                # The first iterable of a comprehension is evaluated once: leave the comprehension too.
                return self.comprehension(owner) if owner.generators[0] is parent and child is parent.iter else owner
            if isinstance(parent, _COMPREHENSIONS):
                return parent
            if isinstance(parent, ast.stmt | ast.Lambda):
                return None
        return None

    def guards(self, node: ast.AST, within: ast.AST | None = None) -> Iterator[Guard]:
        """The conditions that dominate the node, innermost first, as far out as `within` (left out); behind a flag, what it was assigned."""
        return itertools.chain.from_iterable(self.readings(node, within))

    def readings(self, node: ast.AST, within: ast.AST | None = None) -> Iterator[list[Guard]]:
        """Each of these conditions as it stands there, and what flags in it were assigned."""
        return ([guard, *self._said_by_flags(guard)] for guard in self._asked(node, within))

    def _said_by_flags(self, guard: Guard) -> Iterator[Guard]:
        """What the flags were assigned that a condition asks for: `step % 10 == 0` of `if due:` behind `due = step % 10 == 0`."""
        todo, seen = [(guard.test, guard.true)], set[str]()
        while todo and len(seen) < FLAGS:
            test, true = todo.pop()
            if not isinstance(test, ast.Name | ast.BoolOp):
                continue
            for part, holds in required(test, true):
                made = self.said_by(part) if isinstance(part, ast.Name) and part.id not in seen else None
                if made is not None and isinstance(part, ast.Name):
                    seen.add(part.id)
                    todo.append(without_not(made, holds))
                    yield Guard(*todo[-1], guard.block, guard.node, guard)

    def said_by(self, flag: ast.Name) -> ast.expr | None:
        """The condition that a name was assigned before it is read, where it and what it is made of are what they were then."""
        if flag not in self._flags:
            self._flags[flag] = self._assigned_before(flag)
        return self._flags[flag]

    def choice(self, statement: ast.If) -> Choice:
        """The choice that an `if` makes; of a flag, what that was assigned."""
        made = choice(statement)
        said = self.said_by(made.test) if isinstance(made.test, ast.Name) else None
        if said is None:
            return made
        test, true = without_not(said, made.true)
        return made._replace(test=test, true=true)

    def tests(self, node: ast.expr) -> list[ast.If]:
        """The `if`s that ask for a value: `if loss < low: ...`, or `done = loss < low` and then `if done: ...`."""
        statement = self.statement(node)
        if isinstance(statement, ast.If):
            return [statement] if contains(statement.test, node) else []
        if not isinstance(statement, ast.Assign) or not isinstance(flag := statement.targets[0], ast.Name):
            return []
        reads = [read for read in self.loads.get(flag.id, ()) if self.said_by(read) is statement.value]
        return [test for read in reads if isinstance(self.statement(read), ast.If) for test in self.tests(read)]

    def _assigned_before(self, flag: ast.Name) -> ast.expr | None:
        stores = self.stores.get(flag.id, ()) if flag in self.parents else ()
        before = max((one for one in stores if _start(one) < _start(flag)), key=_start, default=None)
        made = self.parents.get(before) if before is not None else None
        if (
            before is None
            or not isinstance(made, ast.Assign)
            or len(made.targets) > 1
            or not isinstance(made.value, _SAID)
        ):
            return None
        named = names_in(made.value)
        if flag.id in named or not named.isdisjoint(self.globals) or flag.id in self.globals:
            return None
        block = self.block(made)
        if block is None or not any(one in block.index for one in self.chain(flag)):
            return None
        again = [loop for loop in self.loops(flag) if not contains(loop, made)]
        since = [store for name in (flag.id, *named) for store in self.stores.get(name, ())]
        changed = any(
            _start(before) < _start(store) < _start(flag) or any(contains(loop, store) for loop in again)
            for store in since
        )
        return None if changed else made.value

    def _asked(self, node: ast.AST, within: ast.AST | None) -> Iterator[Guard]:
        """The conditions that dominate the node, as they stand there."""
        for child, parent in self.around(node, NEAREST):
            for block in self._blocks_of(parent).values() if isinstance(child, ast.stmt) else ():
                if child in block.index:
                    yield from block.before(child)
            if parent is within:
                return
            if isinstance(parent, ast.If):
                if self.inside(parent, "body", child):
                    yield Guard(*without_not(parent.test, True), tuple(parent.body), parent)
                elif self.inside(parent, "orelse", child):
                    yield Guard(*without_not(parent.test, False), tuple(parent.orelse), parent)
            elif isinstance(parent, ast.IfExp):
                if child is parent.body:
                    yield Guard(*without_not(parent.test, True), None, parent)
                elif child is parent.orelse:
                    yield Guard(*without_not(parent.test, False), None, parent)
            elif isinstance(parent, ast.BoolOp) and child in parent.values:
                true = isinstance(parent.op, ast.And)
                at = parent.values.index(child)
                for value in parent.values[max(0, at - NEAREST) : at]:
                    yield Guard(*without_not(value, true), None, parent)

    def in_handler(self, node: ast.AST, within: ast.AST | None = None) -> bool:
        """Whether the node only runs after an exception, or for the text of one (before `within`, seen from inside)."""
        for child, parent in self.around(node):
            if isinstance(child, ast.stmt) and (block := self.block(child)) is not None and block.is_left(child):
                return True
            if parent is within:
                return False
            if isinstance(parent, ast.ExceptHandler) or (isinstance(parent, ast.Assert) and child is parent.msg):
                return True
        return False

    def contexts(self, node: ast.AST) -> Iterator[ast.expr]:
        """The context managers entered around the node, innermost first."""
        for child, parent in self.around(node):
            if isinstance(parent, ast.With | ast.AsyncWith) and self.inside(parent, "body", child):
                yield from self._entered_by_stack(parent, child)
                yield from (item.context_expr for item in reversed(parent.items))

    def _entered_by_stack(self, block: ast.With | ast.AsyncWith, place: ast.AST) -> Iterator[ast.expr]:
        """What the statements of a block in front of a place enter by its stack: `with ExitStack() as stack: stack.enter_context(torch.no_grad())`."""
        stacks = stacks_of(block)
        for statement in block.body if stacks else ():
            if statement is place:
                return
            match statement:
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="enter_context"), args=[entered])
                ) if name in stacks:
                    yield entered

    def is_behind_end(self, node: ast.AST) -> bool:
        """Whether a place is behind a statement of a block around it that leaves that in any case."""
        return any(
            child in block.index and block.is_ended(child)
            for child, parent in self.around(node, NEAREST)
            if isinstance(child, ast.stmt)
            for block in self._blocks_of(parent).values()
        )

    def ends_in_exit(self, block: tuple[ast.stmt, ...], *, leaves_function: bool) -> bool:
        """Whether a block ends by leaving: `raise`, `sys.exit()`, `break`, and `return` where that ends the loop too."""
        last = _last(block)
        if isinstance(last, ast.Raise | ast.Break):
            return True
        if isinstance(last, ast.Return):
            return leaves_function
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
            return names.last(last.value.func) in _EXITS
        return False

    def is_left_behind(self, guard: Guard, *, leaves_function: bool) -> bool:
        """Whether what a condition lets through ends by leaving: its block, or the rest of one behind `if step < last: continue`."""
        if guard.block is None:
            around = self.block(guard.node) if isinstance(guard.node, ast.If) else None
            if around is None or next(around.before(around.statements[-1])).node is not guard.node:
                return False
            return self.ends_in_exit((around.statements[-1],), leaves_function=leaves_function)
        return self.ends_in_exit(guard.block, leaves_function=leaves_function)

    @cached_property
    def consumers(self) -> Consumers:
        from .consumers import Consumers

        return Consumers(self)

    @cached_property
    def returns(self) -> list[ast.Return]:
        return [node for node in self.nodes if isinstance(node, ast.Return)]

    @property
    def returned(self) -> list[ast.expr]:
        """What the function's `return x` give; nothing for a bare `return`."""
        return [one.value for one in self.returns if one.value is not None]

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    def calls_between(self, first: int, last: int) -> list[ast.Call]:
        """The calls that begin on lines `first` to `last`, by line."""
        calls = self._calls_by_line
        return calls[bisect_left(calls, first, key=_line) : bisect_right(calls, last, key=_line)]

    def calls_within(self, node: ast.stmt | ast.expr) -> list[ast.Call]:
        """The calls that begin on the lines of a statement, or of an expression, by line."""
        return self.calls_between(node.lineno, node.end_lineno or node.lineno)

    def calls_in(self, loop: Loop) -> list[ast.Call]:
        """The calls that run on each iteration of a loop, by line: not what its `else` or its iterable calls."""
        return [call for call in self.calls_within(loop) if loop in self.loops(call)]

    @cached_property
    def _calls_by_line(self) -> list[ast.Call]:
        return sorted(self.calls, key=_line)

    def calls_named(self, name: str) -> list[ast.Call]:
        """The calls of anything whose name ends in `name`."""
        return self._calls_by_name.get(name, [])

    @cached_property
    def _calls_by_name(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for call in self.calls:
            found.setdefault(names.last(call.func), []).append(call)
        return found

    @property
    def stores(self) -> dict[str, list[ast.Name]]:
        """Where each local name is bound by assignment, loop or `with`."""
        return self._names[1]

    def stores_within(self, name: str, node: ast.stmt) -> list[ast.Name]:
        """Where a name is bound on the lines of a statement."""
        first, last = node.lineno, node.end_lineno or node.lineno
        if name not in self._stores_by_line:
            self._stores_by_line[name] = sorted(self.stores.get(name, ()), key=_line)
        stores = self._stores_by_line[name]
        return stores[bisect_left(stores, first, key=_line) : bisect_right(stores, last, key=_line)]

    @cached_property
    def _stores_by_line(self) -> dict[str, list[ast.Name]]:
        return {}

    @cached_property
    def _names(self) -> tuple[dict[str, list[ast.Name]], dict[str, list[ast.Name]]]:
        """Where each name is read, and where it is bound."""
        read: dict[str, list[ast.Name]] = {}
        bound: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                (read if type(node.ctx) is ast.Load else bound).setdefault(node.id, []).append(node)
        return read, bound

    @cached_property
    def targets(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        """Where each name or dotted name is bound: `x`, `self.x`."""
        found: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                parts = names.chain(node)
                if parts is not None:
                    found.setdefault(".".join(parts), []).append(node)
        return found

    @cached_property
    def counted(self) -> dict[str, list[ast.AugAssign]]:
        """Where something is added to a dotted name, or taken from it: `self.n += 1`."""
        found: dict[str, list[ast.AugAssign]] = {}
        for node in self.nodes:
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
                found.setdefault(".".join(names.chain(node.target) or ()), []).append(node)
        return found

    @cached_property
    def stored_in(self) -> dict[str, list[ast.Subscript]]:
        """Where something is stored in what a name or dotted name holds: `x[i] = v`, `self.x[i] = v`; `x[]` for `x[i][j] = v`."""
        found: dict[str, list[ast.Subscript]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                element = isinstance(node.value, ast.Subscript)
                parts = names.chain(node.value.value if isinstance(node.value, ast.Subscript) else node.value)
                if parts is not None:
                    found.setdefault(".".join(parts) + "[]" * element, []).append(node)
        return found

    @cached_property
    def written_by_methods(self) -> frozenset[str]:
        """The dotted names of what a method writes into, as those of torch do whose names end so: `x.copy_(v)`."""
        written = (
            call.func.value for call in self.calls if isinstance(call.func, ast.Attribute) and call.func.attr[-1] == "_"
        )
        return frozenset(".".join(names.chain(one) or ()) for one in written)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of all parameters."""
        function = self.function
        if isinstance(function.node, ast.Module):
            return frozenset()
        rest = (function.node.args.vararg, function.node.args.kwarg)
        return frozenset(p.arg for p in (*function.parameters, *rest) if p is not None)

    @property
    def loads(self) -> dict[str, list[ast.Name]]:
        """Where each name is read in this function (nested functions not counted)."""
        return self._names[0]

    @cached_property
    def globals(self) -> frozenset[str]:
        """Names declared `global` or `nonlocal`."""
        return frozenset(
            name for node in self.nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
        )


def _line(call: ast.expr) -> int:
    return call.lineno


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def roots(function: Function) -> list[ast.AST]:
    """The parts of a function that are evaluated when it is defined or run: the defaults of its parameters, its statements."""
    return [*function.defaults.values(), *function.node.body]


def contains(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether the lines and columns of `inner` lie within `outer` (both of one file)."""
    start = (outer.lineno, outer.col_offset)  # type: ignore[attr-defined]
    end = (outer.end_lineno, outer.end_col_offset)  # type: ignore[attr-defined]
    first = (inner.lineno, inner.col_offset)  # type: ignore[attr-defined]
    last = (inner.end_lineno, inner.end_col_offset)  # type: ignore[attr-defined]
    return start <= first and last <= end


def stacks_of(block: ast.With | ast.AsyncWith) -> set[str]:
    """The names of the stacks of contexts that a block leaves: `with ExitStack() as stack:`."""
    return {
        item.optional_vars.id
        for item in block.items
        if isinstance(item.optional_vars, ast.Name)
        and isinstance(item.context_expr, ast.Call)
        and names.last(item.context_expr.func) in ("ExitStack", "AsyncExitStack")
    }


def is_elif(parent: ast.AST, child: ast.AST) -> bool:
    """Whether a statement is the `elif` of another one, or an `if` that is all of its `else`; of expressions likewise."""
    if type(child) is ast.If and type(parent) is ast.If:
        return len(parent.orelse) == 1 and parent.orelse[0] is child
    return type(child) is ast.IfExp and type(parent) is ast.IfExp and parent.orelse is child


def _exit(statement: ast.stmt) -> Guard | None:
    """What holds after a statement because it leaves the block otherwise."""
    if isinstance(statement, ast.If):
        leaves = isinstance(_last(statement.body), _ENDS)
        if leaves and not (statement.orelse and isinstance(_last(statement.orelse), _ENDS)):
            return Guard(*without_not(statement.test, False), None, statement)
        if not leaves and statement.orelse and isinstance(_last(statement.orelse), _ENDS):
            return Guard(*without_not(statement.test, True), None, statement)
    return None
