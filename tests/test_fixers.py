"""What every fixer keeps to, by its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FIXERS = sorted((Path(__file__).parents[1] / "fixers").glob("[!_]*.py"))


def nodes(path: Path) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """The nodes of a file, each with what is around it, innermost first."""
    todo: list[tuple[ast.AST, list[ast.AST]]] = [(ast.parse(path.read_text("utf-8")), [])]
    while todo:
        node, around = todo.pop()
        yield node, around
        todo += [(child, [node, *around]) for child in ast.iter_child_nodes(node)]


def called(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names


def test_fixers_are_found() -> None:
    assert "avoidable_copy" in {path.stem for path in FIXERS}


@pytest.mark.parametrize("path", FIXERS, ids=lambda path: str(path.stem))
def test_no_fixer_reads_a_message(path: Path) -> None:
    """What a rule meant it tells in `finding.told`."""
    assert [] == [node.lineno for node, _ in nodes(path) if isinstance(node, ast.Attribute) and node.attr == "message"]


@pytest.mark.parametrize("path", FIXERS, ids=lambda path: str(path.stem))
def test_no_fixer_pastes_raw_text(path: Path) -> None:
    """`operand` knows where parentheses are needed; raw text may be compared, or shown in a title."""
    raw = [
        (node.lineno, around)  # type: ignore[attr-defined]
        for node, around in nodes(path)
        if called(node, "text", "code", "decode") or (called(node, "short") and not is_shown(around))
    ]

    assert [] == [line for line, around in raw if not is_compared(around)]


def is_compared(around: list[ast.AST]) -> bool:
    """Whether a text goes into a comparison, as it is or in small letters."""
    inner = [node for node in around if not isinstance(node, ast.Attribute) and not called(node, "lower")]
    return isinstance(inner[0], ast.Compare)


def is_shown(around: list[ast.AST]) -> bool:
    """Whether a text stands in the first argument of `Fix(...)`."""
    at = next((i for i, node in enumerate(around) if isinstance(node, ast.Call)), 0)
    call = around[at]
    title = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Fix"
    return title and isinstance(call, ast.Call) and around[at - 1] is call.args[0]


@pytest.mark.parametrize("path", FIXERS, ids=lambda path: str(path.stem))
def test_no_fixer_writes_an_import(path: Path) -> None:
    """`spelled` knows which name is bound at a place, and adds an import where one is needed."""
    assert [] == [node.lineno for node, _ in nodes(path) if called(node, "add_import")]  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", FIXERS, ids=lambda path: str(path.stem))
def test_no_fixer_writes_torch_by_its_name(path: Path) -> None:
    """Code that a fixer puts together names torch by `spelled` alone: the program may call it something else."""
    written = [
        (node.lineno, node.value)
        for node, around in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "torch." in node.value and is_code(around)
    ]

    assert [] == written


def is_code(around: list[ast.AST]) -> bool:
    """Whether a string is part of what a fixer writes: of a formatted string, or of what makes an edit."""
    call = next((node for node in around if isinstance(node, ast.Call)), None)
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("Fix", "spelled")
    named |= call is not None and called(call, "there")  # a key of the table of versions
    inside = any(isinstance(node, ast.FunctionDef) for node in around)
    formatted = isinstance(around[0], ast.JoinedStr) and inside and not named
    written = call is not None and called(call, "replace", "add_decorator", "add_argument", "insert_before")
    return formatted or (written and not is_module(call))


def is_module(call: ast.Call | None) -> bool:
    """Whether an edit changes the module of a `from module import name`."""
    return call is not None and isinstance(call.args[0], ast.Attribute) and call.args[0].attr == "module"
