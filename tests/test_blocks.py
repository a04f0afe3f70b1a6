"""Which places stand in loops, told without a tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.text.blocks import in_loops

SENDS = re.compile(rb"send\(")


def is_found(text: str) -> bool:
    return any(True for _ in in_loops(text.encode(), SENDS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("send()", False),
        ("for x in y:\n    pass\nsend()", False),
        ("for x in y:\n    pass\nif x:\n    send()", False),
        ("for x in y:\n    def f():\n        send()", False),
        ("x = [send() for x in y]", False),
        ("format = 1\nif format:\n    send()", False),
        ("def f():\n    for x in y:\n        pass\n    send()", False),
        ("for x in y:\n    pass\nelse:\n    send()", False),
        ("for x in y:\n    send()", True),
        ("for x in y: send()", True),
        ("for x in send():\n    pass", True),
        ("for x in y: send(); send()", True),
        ("while x:\n\tif y:\n\t\tsend()", True),
        ("async for x in y:\n    try:\n        send()\n    finally:\n        pass", True),
        ("for x in y:\n    if x:\n        pass\n    else:\n        send()", True),
        ("for x in y:\n    class A:\n        send()", True),
        ("for x in y:\n    f(\n        1,\n        send(),\n    )", True),
        ("for x in y:\n    pass\n    # what is sent\n\n    send()", True),
    ],
)
def test_what_stands_in_a_loop(text: str, expected: bool) -> None:
    assert is_found(text) == expected


_HEADS = ("for x in y:", "while x:", "if x:", "with x:", "def f():", "try:", "else:", "pass")


@given(st.lists(st.tuples(st.sampled_from(_HEADS), st.integers(0, 4)), max_size=12))
def test_what_is_found_stands_in_a_loop(blocks: list[tuple[str, int]]) -> None:
    lines, depth = [], 0
    for head, wanted in blocks:
        depth = min(depth, wanted)
        if head in ("else:", "pass"):
            lines.append(f"{'    ' * depth}pass")
            continue
        lines += [f"{'    ' * depth}{head}"]
        depth += 1
        lines.append(f"{'    ' * depth}send()")
        if head == "try:":
            lines += [f"{'    ' * (depth - 1)}finally:", f"{'    ' * depth}pass"]
    text = "\n".join(lines)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    found = {match.start() for match in in_loops(text.encode(), SENDS)}

    def expected(node: ast.AST, inside: bool) -> Iterator[int]:
        inside = isinstance(node, ast.For | ast.While) or (inside and not isinstance(node, ast.FunctionDef))
        for child in ast.iter_child_nodes(node):
            if inside and isinstance(child, ast.Call):
                yield starts[child.lineno - 1] + child.col_offset
            yield from expected(child, inside)

    assert found == set(expected(ast.parse(text), inside=False))
