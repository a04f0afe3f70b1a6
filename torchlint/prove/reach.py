"""Which lines a run has to come to for a change to have had its say."""

from __future__ import annotations

import ast
import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, ast.ClassDef)


@dataclass(frozen=True)
class Part:
    """A function in which something is different, or what stands outside of all: one of `lines` has to run."""

    file: str
    name: str
    lines: frozenset[int]


def parts(file: str, before: bytes | None, after: bytes | None) -> tuple[Part, ...]:
    """What is different in a Python file, by the lines of the new one; nothing where only comments are.

    Of a function that only lost lines, any line of what is left of it will do.
    """
    old, new = _tree(before), _tree(after)
    if old is None or new is None or ast.dump(old) == ast.dump(new):
        return ()
    gone: set[int] = set()
    come: set[int] = set()
    matcher = difflib.SequenceMatcher(None, _lines(before), _lines(after), autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            gone.update(range(a + 1, b + 1))
            come.update(range(c + 1, d + 1))
    found = {part.name: part for part in _parts(file, new, come)}
    bodies = {node.name: _body(node) for node in ast.walk(new) if isinstance(node, _Function)}
    for part in _parts(file, old, gone):
        if part.name not in found and part.name in bodies:
            found[part.name] = Part(file, part.name, bodies[part.name])
    return tuple(found.values())


def _tree(source: bytes | None) -> ast.Module | None:
    try:
        return ast.parse(source or b"")
    except (SyntaxError, ValueError):
        return None


def _lines(source: bytes | None) -> list[bytes]:
    return (source or b"").splitlines()


def _parts(file: str, tree: ast.Module, changed: Iterable[int]) -> Iterator[Part]:
    found: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    spans = list(_spans(tree))
    for line in changed:
        around = [span for span in spans if span.first <= line <= span.last]
        if around:
            inner = min(around, key=lambda span: (span.last - span.first, -span.first))
            found[inner.function].update(inner.lines)
    for (name, _), lines in found.items():
        yield Part(file, name, frozenset(lines))


@dataclass(frozen=True)
class _Span:
    """A statement's own lines (of a compound one its head), in which function it is, and the lines that show it ran."""

    first: int
    last: int
    function: tuple[str, int]
    lines: frozenset[int]


def _spans(node: ast.AST, function: tuple[str, int] = ("", 0)) -> Iterator[_Span]:
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, _Function):
            inside = (child.name, child.lineno)
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            # what stands above a function, and its parameters, matter when it runs
            yield _Span(first, max(child.body[0].lineno - 1, child.lineno), inside, _body(child))
        elif isinstance(child, _COMPOUND):
            below = getattr(child, "body", None) or getattr(child, "cases", None)
            head = max(
                child.lineno, (below[0].lineno if below and hasattr(below[0], "lineno") else child.lineno + 1) - 1
            )
            yield _Span(child.lineno, head, function, frozenset(range(child.lineno, head + 1)))
        elif isinstance(child, ast.stmt) and not _is_text(child):
            last = child.end_lineno or child.lineno
            yield _Span(child.lineno, last, function, frozenset(range(child.lineno, last + 1)))
        yield from _spans(child, inside)


def _body(function: _Function) -> frozenset[int]:
    return frozenset(line for one in function.body for line in range(one.lineno, (one.end_lineno or one.lineno) + 1))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
