"""Trees in one form: what may be written in several ways that mean the same is in the tree as facts, rules and patterns look for it."""

from __future__ import annotations

import ast
import copy
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..system.regex import regex

_COMPARES = regex(r"[=!<>](?:=|(?<=[<>]))")
"""`==`, `!=`, `<`, `>=`, and arrows."""
_APPLIED = regex(r"^\w+ = \w+\.apply\b(?!\()", re.MULTILINE)
"""A name for what runs a function of autograd."""
_MATCHES = regex(r"^[ \t]+case\b[^\n]{1,200}:", re.MULTILINE)
"""A case of a `match`, perhaps."""
_LITERAL_ENDS = ("'", '"', *"0123456789", "True", "False", "None")
_BLOCKS = ("body", "orelse", "finalbody")
_SEVERAL = frozenset((ast.Tuple, ast.List))
_BEGUN_AND_TAKEN = 2
"""How often an iterator is named that one loop goes through."""
_ONCE = (ast.If, ast.With, ast.AsyncWith, ast.Try)
"""Statements that run their blocks once at most."""
_LEAVES = (ast.Break, ast.Continue)
_FUNCTIONS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef))
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
"""What each comparison is where its sides change places."""


class AnnotatedAssign(ast.Assign, ast.AnnAssign):
    """`x: T = v` outside of classes: an `ast.Assign` with one target for all who ask for one, and an `ast.AnnAssign` besides."""

    _fields = ("targets", "annotation", "value")
    value: ast.expr

    def __init__(self, node: ast.AnnAssign, value: ast.expr) -> None:
        super().__init__(targets=[node.target], value=value)
        self.target, self.annotation, self.simple = node.target, node.annotation, node.simple
        ast.copy_location(self, node)


class PairedAssign(ast.Assign):
    """One of the assignments that `a, b = x, y` is: `a = x`. Each has the place of the whole statement, and knows all of them."""

    _fields = ("targets", "value")

    def __init__(self, whole: ast.Assign, target: ast.expr, value: ast.expr, together: list[PairedAssign]) -> None:
        super().__init__(targets=[target], value=value)
        ast.copy_location(self, whole)
        self.together = together
        together.append(self)


AnnotatedAssign.__name__ = "AnnAssign"  # by which `ast.unparse` and visitors go
PairedAssign.__name__ = "Assign"
KINDS_OF_NODES: tuple[type[ast.AST], ...] = (
    *(kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)),
    AnnotatedAssign,
    PairedAssign,
)
"""All that a tree may be made of."""


_COMPOUND = frozenset(
    kind for kind in KINDS_OF_NODES if issubclass(kind, ast.stmt) and {"body", "cases"} & {*kind._fields}
)


def bring_to_normal_form(tree: ast.Module, text: str) -> None:
    """Make of the tree of a text `x > 0` of `0 < x`, of `x: T = v` outside of classes an assignment, of `a, b = x, y` two, loops that take the next of an iterator until there is none `for` loops, and of a `match` that compares alone an `if`. All nodes keep their places."""
    if "match" in text and _MATCHES.search(text) is not None:
        _compare_cases(tree)
    _bring_assignments(tree)
    if "while" in text and "next" in text and ("StopIteration" in text or "None)" in text):
        _go_through_iterators(tree)
    compared = [one.start() for one in _COMPARES.finditer(text) if _is_behind_literal(text, one.start())]
    if compared:
        _put_literals_last(tree, list(_lines_at(text, compared)))
    if "Function" in text and _APPLIED.search(text) is not None:
        _define_applied(tree)


def _compare_cases(tree: ast.Module) -> None:
    """Make `if kind == "a": ... elif isinstance(kind, list): ... else: ...` of `match kind:` whose cases ask for no parts: `case "a":`, `case list():`, `case _:`."""
    todo: list[ast.AST] = [tree]
    while todo:
        part = todo.pop()
        for block in [getattr(part, field) for field in _BLOCKS if hasattr(part, field)]:
            for at, statement in enumerate(block):
                if isinstance(statement, ast.Match):
                    block[at] = _as_choices(statement) or statement
            todo += (one for one in block if type(one) in _COMPOUND)
        todo += (*getattr(part, "handlers", ()), *getattr(part, "cases", ()))


def _as_choices(statement: ast.Match) -> ast.If | None:
    """The `if` that says the same as a `match`; each case stands where its pattern does."""
    asked, made = statement.subject, list[ast.If]()
    if not _is_plain(asked):
        return None
    *cases, last = statement.cases
    orelse: list[ast.stmt] = []
    if last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None:
        orelse = [*_bound(last.pattern, asked), *last.body]
    else:
        cases.append(last)
    for case in cases:
        pattern = case.pattern
        inner = pattern.pattern if isinstance(pattern, ast.MatchAs) else pattern
        test = _asking(inner, asked) if inner is not None else None
        if test is None or (case.guard is not None and inner is not pattern):
            return None
        if case.guard is not None:
            test = ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), test)
        binds = _bound(pattern, asked) if isinstance(pattern, ast.MatchAs) else []
        choice = ast.copy_location(ast.If(test, [*binds, *case.body], []), pattern)
        choice.end_lineno, choice.end_col_offset = statement.end_lineno, statement.end_col_offset
        made.append(choice)
    for outer, choice in pairwise(made):
        outer.orelse = [choice]
    if not made:
        return None
    made[-1].orelse = orelse
    return ast.copy_location(made[0], statement)


def _is_plain(asked: ast.expr) -> bool:
    """A name, or dotted name, or what it has under a constant: what may be asked again and again."""
    while isinstance(asked, ast.Attribute | ast.Subscript):
        if isinstance(asked, ast.Subscript) and not isinstance(asked.slice, ast.Constant):
            return False
        asked = asked.value
    return isinstance(asked, ast.Name)


def _bound(pattern: ast.MatchAs, asked: ast.expr) -> list[ast.stmt]:
    """`other = kind` of `case other:`."""
    if pattern.name is None:
        return []
    value = _placed(asked, pattern)
    target = ast.copy_location(ast.Name(pattern.name, ast.Store()), pattern)
    return [ast.copy_location(ast.Assign([target], value), pattern)]


def _asking(pattern: ast.pattern, asked: ast.expr) -> ast.expr | None:
    """What a pattern asks: `kind == "a"` of `"a"`, `kind is None`, `isinstance(kind, list)` of `list()`, any of these of several; None where it asks for parts."""
    test: ast.expr
    match pattern:
        case ast.MatchValue(value=value):
            test = ast.Compare(_placed(asked, pattern), [ast.Eq()], [value])
        case ast.MatchSingleton(value=single):
            constant = ast.copy_location(ast.Constant(single), pattern)
            test = ast.Compare(_placed(asked, pattern), [ast.Is()], [constant])
        case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
            called = ast.copy_location(ast.Name("isinstance", ast.Load()), pattern)
            test = ast.Call(called, [_placed(asked, pattern), cls], [])
        case ast.MatchOr(patterns=several):
            tests = [_asking(one, asked) for one in several]
            test = ast.BoolOp(ast.Or(), [one for one in tests if one is not None])
            if None in tests:
                return None
        case _:
            return None
    return ast.copy_location(test, pattern)


def _bring_assignments(tree: ast.Module) -> None:
    """Make assignments of those that say a type, but for the fields of classes, and several of those that take several things."""
    blocks: list[tuple[list[ast.stmt], bool]] = [(tree.body, False)]
    while blocks:
        block, of_class = blocks.pop()
        several: list[tuple[int, list[ast.stmt]]] = []
        for at, statement in enumerate(block):
            kind = type(statement)
            if isinstance(statement, ast.AnnAssign):
                if statement.value is not None and not of_class:
                    block[at] = AnnotatedAssign(statement, statement.value)
            elif kind is ast.Assign:
                if type(statement.value) in _SEVERAL and type(statement.targets[0]) in _SEVERAL:  # type: ignore[attr-defined]
                    several.append((at, _paired(statement)))  # type: ignore[arg-type]
            elif kind in _COMPOUND:
                inner = kind is ast.ClassDef or (of_class and kind not in _FUNCTIONS)
                for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                    blocks += [(getattr(part, field), inner) for field in _BLOCKS if hasattr(part, field)]
        for at, made in reversed(several):
            block[at : at + 1] = made


def _paired(whole: ast.Assign) -> list[ast.stmt]:
    """`a = x` and `b = y` of `a, b = x, y`, where no value is made of what an earlier target is, or is a part of: not of `a, b = b, a`."""
    targets, values = (getattr(one, "elts", []) for one in (whole.targets[0], whole.value))
    has_star = any(isinstance(one, ast.Starred) for one in (*targets, *values))
    if has_star or len(whole.targets) > 1 or len(targets) != len(values) or len(targets) < 2:
        return [whole]
    bound: set[str] = set()
    for target, value in zip(targets, values, strict=True):
        if bound and any(isinstance(one, ast.Name) and one.id in bound for one in ast.walk(value)):
            return [whole]
        bound |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    together: list[PairedAssign] = []
    return [PairedAssign(whole, *pair, together) for pair in zip(targets, values, strict=True)]


def _go_through_iterators(tree: ast.Module) -> None:
    """Make `for x in rows:` of what goes through an iterator by hand: `it = iter(rows)`, `while True:` with `x = next(it)`, left by its `StopIteration`."""
    todo: list[tuple[ast.AST, ast.AST, list[ast.stmt]]] = [(tree, tree, [])]
    while todo:
        part, scope, above = todo.pop()
        blocks: list[list[ast.stmt]] = [getattr(part, field) for field in _BLOCKS if hasattr(part, field)]
        for block in blocks:
            for at in reversed(range(len(block))):
                loop = _taking(block[at])
                if loop is not None:
                    block[at] = loop
                    _take_begun(block, at, loop, scope, above)
            for at, one in enumerate(block):
                if isinstance(one, _ONCE):
                    todo.append((one, scope, [*above, *block[:at]]))
                elif type(one) in _COMPOUND:
                    todo.append((one, one if type(one) in _FUNCTIONS else scope, []))
        todo += [(one, scope, above) for one in (*getattr(part, "handlers", ()), *getattr(part, "cases", ()))]


def _taking(statement: ast.stmt) -> ast.For | None:
    """The `for` loop that a statement is: of `while True:`, `try: x = next(it)`, `except StopIteration: break` or with the `try` around it."""
    match statement:
        case ast.While(
            body=[
                ast.Try(
                    [ast.Assign([target], taken), *first],
                    [ast.ExceptHandler(ast.Name("StopIteration"), None, [*end, ast.Break() | ast.Return() as left])],
                    then,
                    [],
                ),
                *rest,
            ]
        ) if _is_endless(statement) and not any(isinstance(one, _LEAVES) for part in end for one in ast.walk(part)):
            orelse = end if isinstance(left, ast.Break) else [*end, left]
            return _through(statement, target, taken, [*first, *then, *rest], orelse)
        case ast.Try(
            [ast.While(body=[ast.Assign([target], taken), *rest]) as loop],
            [ast.ExceptHandler(ast.Name("StopIteration"), None, [ast.Pass()])],
            [],
            [],
        ) if _is_endless(loop):
            return _through(loop, target, taken, rest, [])
        case ast.While(
            test=ast.Compare(ast.NamedExpr(target, taken), [ast.IsNot()], [ast.Constant(value=None)]),
            body=body,
            orelse=[],
        ):
            return _through(statement, target, _without_default(taken), body, [])
        case ast.While(
            body=[
                ast.Assign([ast.Name() as target], taken),
                ast.If(
                    ast.Compare(ast.Name(id=tested), [ast.Is()], [ast.Constant(value=None)]),
                    [ast.Break() | ast.Return() as left],
                    [],
                ),
                *rest,
            ]
        ) if _is_endless(statement) and tested == target.id:
            end = [left] if isinstance(left, ast.Return) else []
            return _through(statement, target, _without_default(taken), rest, end)
    return None


def _without_default(taken: ast.expr) -> ast.expr:
    """`next(it)` of `next(it, None)`, and nothing that takes of anything else."""
    match taken:
        case ast.Call(ast.Name("next") as called, [iterator, ast.Constant(value=None)], []):
            return ast.copy_location(ast.Call(called, [iterator], []), taken)
    return ast.Constant(None)


def _is_endless(loop: ast.While) -> bool:
    return isinstance(loop.test, ast.Constant) and loop.test.value in (True, 1) and not loop.orelse


def _through(
    loop: ast.While, target: ast.expr, taken: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]
) -> ast.For | None:
    """A loop through the iterator of which a call takes the next; none where that is another one in time."""
    match taken:
        case ast.Call(ast.Name("next"), [ast.Name() | ast.Attribute() as iterator], []):
            pass
        case ast.Call(ast.Attribute(ast.Name() | ast.Attribute() as iterator, "__next__"), [], []):
            pass
        case _:
            return None
    parts = [one for part in (*body, *orelse, target) for one in ast.walk(part)]
    if any(isinstance(one, type(iterator)) and _is_bound(one, iterator) for one in parts):
        return None
    through = ast.For(target=target, iter=iterator, body=body or [ast.copy_location(ast.Pass(), taken)], orelse=orelse)
    return ast.copy_location(through, loop)


def _is_bound(one: ast.AST, iterator: ast.Name | ast.Attribute) -> bool:
    """Whether a node binds the name that an iterator has, or deletes it."""
    if isinstance(one, ast.Name) and isinstance(iterator, ast.Name):
        return one.id == iterator.id and not isinstance(one.ctx, ast.Load)
    if isinstance(one, ast.Attribute) and isinstance(iterator, ast.Attribute):
        bound = one.attr == iterator.attr and not isinstance(one.ctx, ast.Load)
        return bound and ast.dump(one.value) == ast.dump(iterator.value)
    return False


def _take_begun(block: list[ast.stmt], at: int, loop: ast.For, scope: ast.AST, above: list[ast.stmt]) -> None:
    """Have a loop go through what its iterator is begun of, where nothing else takes from that: `rows` of `it = iter(rows)`.

    Where that stands right above, both statements are one; it may also stand `above` the statement that the block is of.
    """
    name = loop.iter.id if isinstance(loop.iter, ast.Name) else None
    if name is None or sum(isinstance(one, ast.Name) and one.id == name for one in ast.walk(scope)) != _BEGUN_AND_TAKEN:
        return
    before = [*above, *block[:at]]
    for place, statement in enumerate(before):
        match statement:
            case ast.Assign([ast.Name(id=bound)], ast.Call(ast.Name("iter"), [rows], [])) if bound == name:
                if at and statement is block[at - 1]:
                    loop.iter, loop.lineno, loop.col_offset = rows, statement.lineno, statement.col_offset
                    del block[at - 1]
                elif not _binds(before[place + 1 :], rows):
                    loop.iter = _placed(rows, loop.iter)
                return


def _binds(block: list[ast.stmt], rows: ast.expr) -> bool:
    """Whether statements may have a name, or dotted name, stand for something else; so does all that is no name."""
    while isinstance(rows, ast.Attribute):
        rows = rows.value
    if not isinstance(rows, ast.Name):
        return True
    nodes = (one for part in block for one in ast.walk(part))
    return any(isinstance(one, ast.Name) and one.id == rows.id and type(one.ctx) is not ast.Load for one in nodes)


def _placed(rows: ast.expr, at: ast.expr | ast.pattern) -> ast.expr:
    """A name, or dotted name, once more, at another place."""
    again = copy.deepcopy(rows)
    for one in ast.walk(again):
        if isinstance(one, ast.expr):
            ast.copy_location(one, at)
    return again


def _define_applied(tree: ast.Module) -> None:
    """Make `def roi_pool(x, boxes): return RoIPool.apply(x, boxes)` of `roi_pool = RoIPool.apply`, where the function of autograd stands in the same file."""
    bound = Counter(one.name for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef))
    assigned = (one.targets[0] for one in tree.body if isinstance(one, ast.Assign))
    bound.update(one.id for one in assigned if isinstance(one, ast.Name))
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef) and bound[one.name] == 1}
    for at, one in enumerate(tree.body):
        match one:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Attribute(value=ast.Name(id=owner), attr="apply")
            ) if bound[name] == 1 and owner in classes:
                forward = _forward_of(classes[owner])
                if forward is not None:
                    tree.body[at] = _defined(name, one, forward)


def _forward_of(klass: ast.ClassDef) -> ast.FunctionDef | None:
    """The static `forward(ctx, ...)` of a function of autograd."""
    bases = [one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in klass.bases]
    if not any(one.endswith("Function") for one in bases):
        return None
    for one in klass.body:
        if isinstance(one, ast.FunctionDef) and one.name == "forward":
            decorators = [getattr(by, "id", "") for by in one.decorator_list]
            return one if "staticmethod" in decorators and (one.args.posonlyargs or one.args.args) else None
    return None


def _defined(name: str, alias: ast.Assign, forward: ast.FunctionDef) -> ast.FunctionDef:
    """A function of that name which hands all that `forward` takes behind its context to `apply`; all its nodes stand at the alias."""
    taken = copy.deepcopy(forward.args)
    (taken.posonlyargs or taken.args).pop(0)
    taken.kwonlyargs, taken.kw_defaults, taken.kwarg = [], [], None  # `apply` takes nothing by name
    given: list[ast.expr] = [ast.Name(one.arg, ast.Load()) for one in (*taken.posonlyargs, *taken.args)]
    taken.defaults = taken.defaults[-len(given) :] if given else []
    if taken.vararg is not None:
        given.append(ast.Starred(ast.Name(taken.vararg.arg, ast.Load()), ast.Load()))
    result = ast.Return(ast.Call(alias.value, given, []))
    made = ast.FunctionDef(name, taken, [result], [])
    made.returns, made.type_comment = None, None
    for part in (made, result, result.value, *(part for one in (taken, *given) for part in ast.walk(one))):
        ast.copy_location(part, alias)  # type: ignore[type-var]
    return made


def _is_behind_literal(text: str, at: int) -> bool:
    """Whether a literal may stand in front of a place, and spaces: `0 < x`, `"train" == mode`."""
    while at and text[at - 1] == " ":
        at -= 1
    return text.endswith(_LITERAL_ENDS, 0, at)


def _lines_at(text: str, places: Iterable[int]) -> Iterator[int]:
    """The numbers of the lines of some places in order, as Python counts them."""
    number, since = 1, 0
    for at in places:
        number += text.count("\n", since, at) + text.count("\r", since, at) - text.count("\r\n", since, at)
        since = at
        yield number


def _put_literals_last(tree: ast.Module, lines: Sequence[int]) -> None:
    """Make `x > 0` of `0 < x` on some lines, whose numbers are in order."""
    todo: list[ast.AST] = [tree]
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            if _touches(child, lines):
                todo.append(child)
                if isinstance(child, ast.Compare) and len(child.ops) == 1:
                    _put_literal_last(child)


def _touches(node: ast.AST, lines: Sequence[int]) -> bool:
    """Whether a node stands on any of some lines, or has no place of its own; decorators stand in front of what they decorate."""
    if not isinstance(node, ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword):
        return True
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= (node.end_lineno or first)


def _put_literal_last(test: ast.Compare) -> None:
    """Make `x > 0` of `0 < x`, where both sides stay the nodes that they are: facts look for what is compared on the left."""
    left, right, turned = test.left, test.comparators[0], TURNED.get(type(test.ops[0]))
    if turned is not None and _is_literal(left) and not _is_literal(right):
        test.left, test.ops, test.comparators = right, [turned()], [left]


def _is_literal(node: ast.expr) -> bool:
    """A number, with a sign perhaps, a text, a truth value or None."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
